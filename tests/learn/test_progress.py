"""What callbacks are told, and what is left of a fit that a callback ends."""

from __future__ import annotations

import re
from io import StringIO
from itertools import groupby, pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from mercer import RandomFourier
from mercer.data import ArrayTable, Blocks
from mercer.kernels import Gaussian
from mercer.learn import KernelCCA, KernelClassifier, KernelKMeans, KernelPCA, KernelRegressor, _bar
from mercer.learn import _progress as progress

N = 5000


def problem(dtype=np.float64):
    X = np.random.default_rng(0).normal(size=(N, 3)).astype(dtype)
    return X, (np.linalg.norm(X, axis=1) > 1.5).astype(int) + (X[:, 0] > 0.5)


def features():
    return RandomFourier(Gaussian(0.3), n_components=20, random_state=0)


LEARNERS = {
    "ridge": (KernelRegressor(scale="standard"), {"scales", "map", "sums"}),
    "gcv": (KernelRegressor(alpha="loo"), {"map", "sums", "leave-one-out errors"}),
    "squared": (KernelClassifier(loss="squared", keep_statistics=True), {"labels", "map", "sums"}),
    "held": (
        KernelClassifier(tol=1e-6),
        {"labels", "map", "features", "gradient", "curvature", "conjugate gradients", "decision values"},
    ),
    "streamed": (
        KernelClassifier(loss="logistic", memory=1000, tol=1e-6),
        {"labels", "map", "gradient", "curvature", "conjugate gradients", "decision values"},
    ),
    "clusters": (KernelKMeans(n_clusters=3, n_init=2), {"map", "features", "clusters", "inertia", "labels"}),
    "batches": (
        KernelKMeans(n_clusters=3, batch_rows=1000, memory=1000, max_iter=5),
        {"map", "clusters", "inertia", "labels"},
    ),
    "components": (KernelPCA(), {"map", "sums"}),
    "correlations": (KernelCCA(n_components_y=20), {"map", "sums"}),
}


def use(model, X):
    return (model.predict if hasattr(model, "predict") else model.transform)(X)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("name", LEARNERS)
def test_every_pass_is_told_of(name, jobs):
    X, y = problem()
    seen = []
    learner, expected = LEARNERS[name]
    told = clone(learner).set_params(map=features(), n_jobs=jobs, callback=seen.append).fit(X, y)
    untold = clone(learner).set_params(map=features(), n_jobs=jobs).fit(X, y)
    np.testing.assert_array_equal(use(told, X[:100]), use(untold, X[:100]))
    assert {p.what for p in seen} == expected
    assert {p.number for p in seen} == set(range(1, max(p.number for p in seen) + 1))
    for number, tellings in groupby(sorted(seen, key=lambda p: p.number), key=lambda p: p.number):
        mine = list(tellings)
        assert len({p.what for p in mine}) == 1, number
        assert all(before.rows < after.rows for before, after in pairwise(mine))
        assert mine[-1].rows == mine[-1].n_rows == N
        assert mine[-1].seconds_left == 0.0
        assert all(p.rows_per_second > 0.0 for p in mine)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("memory", [None, 1000])
def test_the_objective_is_that_of_the_solver(memory, jobs):
    X, y = problem()
    seen = []
    model = KernelClassifier(map=features(), memory=memory, n_jobs=jobs, callback=seen.append).fit(X, y)
    told = list(dict.fromkeys(p.objective for p in seen if p.what == "gradient"))
    assert tuple(told) == model.convergence_.objectives
    assert {p.objective for p in seen if p.what in ("labels", "map", "features")} == {None}


def test_the_objective_of_clusters_is_their_inertia():
    X, _ = problem()
    seen = []
    model = KernelKMeans(map=features(), n_clusters=3, n_init=1, callback=seen.append).fit(X)
    told = list(dict.fromkeys(p.objective for p in seen if p.what == "clusters"))
    assert told[0] is None
    assert all(later < earlier for earlier, later in pairwise(told[1:]))
    assert seen[-1].what == "labels"
    assert seen[-1].objective == model.inertia_


def test_speed_and_what_is_left(monkeypatch):
    clock = iter(np.arange(0.0, 1000.0, 2.0))
    monkeypatch.setattr(progress, "perf_counter", lambda: float(next(clock)))
    X, y = problem()
    seen = []
    KernelRegressor(map=features(), n_jobs=1, callback=seen.append).fit(X, y)
    first, last = seen[-2:]
    assert (first.rows_per_second, last.rows_per_second) == (4096 / 2.0, N / 4.0)
    assert first.seconds_left == pytest.approx((N - 4096) / 2048.0)
    assert last.seconds_left == 0.0


def test_frames_and_blocks():
    X, y = problem()
    frame = pd.DataFrame(X, columns=list("abc")).assign(sign=np.where(y > 0, "plus", "minus"))
    seen = []
    blocks = Blocks([(frame[start : start + 1000], y[start : start + 1000]) for start in range(0, N, 1000)])
    KernelClassifier(map=features(), loss="squared", callback=seen.append).fit(blocks)
    assert [(p.number, p.what) for p in seen[::2]] == [(1, "labels"), (2, "levels"), (3, "map"), (4, "sums")]
    assert {p.n_rows for p in seen} == {N}


class StopError(Exception):
    pass


def stopping_in(what, rows=1):
    def stop(told):
        if told.what == what and told.rows >= rows:
            raise StopError

    return stop


@pytest.mark.parametrize("name", LEARNERS)
def test_a_callback_that_raises_leaves_nothing_fitted(name):
    X, y = problem()
    learner, passes = LEARNERS[name]
    for what in passes:
        model = clone(learner).set_params(map=features(), n_jobs=2).fit(X[:300], y[:300])
        with pytest.raises(StopError):
            model.set_params(callback=stopping_in(what, 5000)).fit(X, y)
        with pytest.raises(NotFittedError):
            use(model, X[:100])
    again = model.set_params(callback=None).fit(X, y)
    expected = clone(learner).set_params(map=features(), n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(use(again, X[:100]), use(expected, X[:100]))


@pytest.mark.parametrize(
    ("learner", "more"), [(KernelRegressor(), {}), (KernelClassifier(loss="squared"), {"classes": [0, 1, 2]})]
)
def test_a_batch_that_a_callback_ends_is_not_learned(learner, more):
    X, y = problem()
    model = learner.set_params(map=features()).partial_fit(X[:1000], y[:1000], **more)
    before = model.coef_.copy()
    model.set_params(callback=stopping_in("sums"))
    for change in (model.partial_fit, model.forget):
        with pytest.raises(StopError):
            change(X[:500], y[:500])
        np.testing.assert_array_equal(model.coef_, before)
        assert model.statistics_.rows[0] == 1000
    model.set_params(callback=None).partial_fit(X[1000:], y[1000:])
    whole = clone(learner).set_params(map=features()).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-10)
    # After a fit that failed, batches begin anew, with their own classes and map.
    with pytest.raises(StopError):
        model.set_params(callback=stopping_in("sums")).fit(X, y)
    model.set_params(callback=None).partial_fit(X[:1000], y[:1000], **more)
    np.testing.assert_array_equal(model.coef_, before)


# -- the bar -----------------------------------------------------------------------------------------------------------


class Terminal(StringIO):
    def isatty(self):
        return True


def states(n=5, objective=None):
    return [progress.Progress(2, "sums", 100 * k, 100 * n, 50.0, 2.0 * (n - k), objective) for k in range(1, n + 1)]


def test_the_bar_is_one_line_that_is_written_over(monkeypatch):
    now, stream = [0.0], Terminal()
    monkeypatch.setattr(_bar, "monotonic", lambda: now[0])
    with _bar.Bar(stream) as bar:
        for state in states():
            bar(state._replace(objective=1.25 if state.rows < 300 else None))
            now[0] += 0.06  # every other state comes too soon
    lines = stream.getvalue().split("\r")[1:]
    assert [re.search(r"\d+ of 500 rows", line)[0] for line in lines] == [f"{k} of 500 rows" for k in (100, 300, 500)]
    assert "[" + 4 * "#" + 20 * " " + "]" in lines[0]
    assert lines[-1].rstrip(" \n") == "2 sums       [" + 24 * "#" + "] 500 of 500 rows, 50/s, 0:00 left"
    assert lines[-1].endswith("\n")
    assert stream.getvalue().count("\n") == 1
    assert all(len(later.rstrip("\n")) >= len(line.rstrip()) for line, later in pairwise(lines))


def test_the_bar_tells_the_objective_and_minutes():
    line = _bar.Bar.line(progress.Progress(12, "conjugate gradients", 10, 40, 1.5e6, 3725.0, 1234.5678))
    assert line.startswith("12 conjugate gradients [######" + 18 * " " + "]")
    assert line.endswith("10 of 40 rows, 1,500,000/s, 62:05 left, objective 1234.57")


def test_the_bar_is_for_terminals_alone(capsys):
    stream = StringIO()
    with _bar.Bar(stream) as bar:
        bar(states()[0])
    with _bar.Bar() as bar:
        bar(states()[0])
    assert stream.getvalue() == capsys.readouterr().err == ""
    with _bar.Bar(Terminal()) as bar:  # nothing was told, no line is ended
        pass
    assert bar._stream.getvalue() == ""


def test_a_pass_that_is_taken_up_tells_the_speed_of_its_own_rows(monkeypatch):
    now, seen = [0.0], []
    monkeypatch.setattr(progress, "perf_counter", lambda: now[0])
    watch = progress.Watch(seen.append, ArrayTable(np.zeros((1000, 1))))
    tell = watch.begin("sums", 600)
    now[0] = 2.0
    tell(800)
    assert (seen[0].rows, seen[0].rows_per_second, seen[0].seconds_left) == (800, 100.0, 2.0)
