"""Reports to callbacks, and the state of a learner after a callback has ended its fit."""

from __future__ import annotations

import itertools
import re
import sys
import time
from io import StringIO
from itertools import groupby, pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from mercer import RandomFourier, data
from mercer.data import Blocks
from mercer.kernels import Gaussian
from mercer.learn import KernelCCA, KernelClassifier, KernelKMeans, KernelNovelty, KernelPCA, KernelRegressor
from mercer.learn.estimates import time_forecast
from mercer.learn.passes import progress, progress_bar
from mercer.learn.solvers import conjugate_gradients
from mercer.persist import train

from ..tables import every_value

N = 5000


def problem(dtype=np.float64):
    X = np.random.default_rng(0).normal(size=(N, 3)).astype(dtype)
    return X, (np.linalg.norm(X, axis=1) > 1.5).astype(int) + (X[:, 0] > 0.5)


def features():
    return RandomFourier(Gaussian(0.3), n_components=20, random_state=0)


AS_THEY_ARE = {"scale": None, "missing": "error"}
LEARNERS = {
    "ridge": (KernelRegressor(scale="standard", kernel=None, alpha=1.0, preparation=None), {"scales", "sums"}),
    "gcv": (KernelRegressor(alpha="loo", kernel=None, preparation=None), {"sums", "leave-one-out errors"}),
    "squared": (
        KernelClassifier(loss="squared", keep_statistics=True, kernel=None, C=1.0, preparation=None),
        {"labels", "sums"},
    ),
    "held": (
        KernelClassifier(tol=1e-6, kernel=None, C=1.0, preparation=None),
        {"labels", "features", "gradient", "curvature", "conjugate gradients", "decision values"},
    ),
    "streamed": (
        KernelClassifier(loss="logistic", memory=1000, tol=1e-6, kernel=None, C=1.0, preparation=None),
        {"labels", "gradient", "curvature", "conjugate gradients", "decision values"},
    ),
    "clusters": (KernelKMeans(n_clusters=3, n_init=2, **AS_THEY_ARE), {"features", "clusters", "inertia", "labels"}),
    "batches": (
        KernelKMeans(n_clusters=3, batch_rows=1000, memory=1000, max_iter=5, **AS_THEY_ARE),
        {"clusters", "inertia", "labels"},
    ),
    "components": (KernelPCA(), {"scales", "sums"}),
    "novelty": (KernelNovelty(), {"scales", "sums"}),
    "correlations": (KernelCCA(n_components_y=20, **AS_THEY_ARE), {"map", "sums"}),
}


def use(model, X):
    return (model.predict if hasattr(model, "predict") else model.transform)(X)


@every_value(name=LEARNERS, jobs=[1, 2])
def test_every_pass_is_reported(name, jobs):
    X, y = problem()
    seen = []
    learner, expected = LEARNERS[name]
    told = clone(learner).set_params(map=features(), n_jobs=jobs, callback=seen.append).fit(X, y)
    untold = clone(learner).set_params(map=features(), n_jobs=jobs).fit(X, y)
    np.testing.assert_array_equal(use(told, X[:100]), use(untold, X[:100]))
    assert {p.what for p in seen} == expected | {"solution"}
    assert {p.number for p in seen} == set(range(1, max(p.number for p in seen) + 1))
    for number, tellings in groupby(sorted(seen, key=lambda p: p.number), key=lambda p: p.number):
        mine = list(tellings)
        assert len({p.what for p in mine}) == 1, number
        assert all(before.rows < after.rows for before, after in pairwise(mine))
        assert mine[-1].rows == mine[-1].n_rows == N
        assert mine[-1].seconds_left == 0.0
        assert all(p.rows_per_second > 0.0 for p in mine)


@every_value(memory=[None, 1000], jobs=[1, 2])
def test_the_objective_is_that_of_the_solver(memory, jobs):
    X, y = problem()
    seen = []
    model = KernelClassifier(
        map=features(), memory=memory, n_jobs=jobs, callback=seen.append, C=1.0, preparation=None
    ).fit(X, y)
    told = list(dict.fromkeys(p.objective for p in seen if p.what == "gradient"))
    *before, unbalanced, last = told  # the last one with the best intercepts, for probabilities
    assert (*before, last) == model.convergence_.objectives
    assert unbalanced >= last == seen[-1].objective
    assert {p.objective for p in seen if p.what in ("labels", "map", "features")} == {None}


@pytest.mark.parametrize("make", [KernelRegressor, KernelClassifier])
def test_a_pilot_is_a_part_of_the_fit(monkeypatch, make):
    ticks = itertools.count(step=0.001)  # before the pilot, the whole of which is expected to take longer
    monkeypatch.setattr(progress, "perf_counter", lambda: next(ticks))
    X, y = problem()
    seen = []
    make(n_components=16, random_state=0, callback=seen.append).fit(X, y)
    first = [p for p in seen if p.number == 1]
    assert all(p.share < 0.1 for p in first)
    assert all(p.total_seconds_left > 1.0 for p in first)
    assert seen[-1].share == 1.0


def test_the_objective_of_clusters_is_their_inertia():
    X, _ = problem()
    seen = []
    model = KernelKMeans(map=features(), n_clusters=3, n_init=1, callback=seen.append).fit(X)
    told = list(dict.fromkeys(p.objective for p in seen if p.what == "clusters"))
    assert told[0] is None
    assert all(later < earlier for earlier, later in pairwise(told[1:]))
    assert [p.what for p in seen[-2:]] == ["labels", "solution"]
    assert seen[-1].objective == model.inertia_


def test_speed_and_what_is_left(monkeypatch):
    clock = iter(np.arange(0.0, 1000.0, 2.0))
    monkeypatch.setattr(progress, "perf_counter", lambda: float(next(clock)))
    X, y = problem()
    seen = []
    KernelRegressor(map=features(), n_jobs=1, callback=seen.append, alpha=1.0, preparation=None).fit(X, y)
    first, last = seen[-3:-1]
    assert (first.rows_per_second, last.rows_per_second) == (4096 / 2.0, N / 4.0)
    assert first.seconds_left == pytest.approx((N - 4096) / 2048.0)
    assert last.seconds_left == 0.0


# -- the whole fit -----------------------------------------------------------------------------------------------------


def shares_are_sound(seen):
    assert all(before.share <= after.share for before, after in pairwise(seen))  # not even re-estimates take any back
    assert all(0.0 <= p.share <= 1.0 and 0.0 <= p.total_seconds_left < 1e6 for p in seen)
    assert all(before.seconds <= after.seconds for before, after in pairwise(seen))
    assert [p.share for p in seen if p.what == "solution"] == [seen[-1].share] == [1.0]
    assert seen[-1].total_seconds_left == 0.0


@every_value(name=LEARNERS, jobs=[2, 1])
def test_the_share_of_the_fit_rises_to_one(name, jobs):
    X, y = problem()
    seen = []
    clone(LEARNERS[name][0]).set_params(map=features(), n_jobs=jobs, callback=seen.append).fit(X, y)
    shares_are_sound(seen)


@every_value(loss=["squared_hinge", "logistic"], method=["conjugate gradients", "newton"])
def test_the_share_of_many_steps_rises_to_one(loss, method, monkeypatch):
    monkeypatch.setattr(conjugate_gradients, "is_cheaper", lambda *_: method != "newton")
    X, y = problem()
    seen = []
    model = KernelClassifier(map=features(), loss=loss, C=100.0, callback=seen.append, preparation=None).fit(
        X[:1500], y[:1500]
    )
    shares_are_sound(seen)
    assert model.convergence_.method == method


def test_files_and_batches_have_shares_too(tmp_path):
    X, y = problem()
    seen = []
    pd.DataFrame(X, columns=list("abc")).assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    KernelClassifier(map=features(), callback=seen.append, C=1.0, preparation=None).fit(
        data.open(tmp_path / "rows.csv", target="y")
    )
    shares_are_sound(seen)
    seen.clear()
    KernelRegressor(map=features(), callback=seen.append, alpha=1.0, preparation=None).prepare(X).partial_fit(X, y)
    shares_are_sound([p for p in seen if p.what != "map"])


@pytest.mark.parametrize("name", ["ridge", "held", "clusters"])
def test_a_run_that_continues_has_shares_too(name, tmp_path):
    X, y = problem()
    model = clone(LEARNERS[name][0]).set_params(map=features())
    what = {"ridge": "sums", "held": "conjugate gradients", "clusters": "clusters"}[name]
    with pytest.raises(StopError):
        train(clone(model), X, y, output=tmp_path / "m", every=0.0, progress=stopping_in(what, 5000))
    seen = []
    train(clone(model), X, y, output=tmp_path / "m", resume=True, progress=seen.append)
    shares_are_sound(seen)


def test_the_time_left_is_that_of_all_passes(monkeypatch):
    """If every block of rows takes a second, the remaining time is known as soon as sums have been timed."""
    now, seen = [0.0], []
    monkeypatch.setattr(progress, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time_forecast, "LEAST", 0.0)  # solutions take no time here
    X, y = problem()

    def second(told):
        seen.append(told)
        now[0] += 1.0

    KernelRegressor(map=features(), alpha="loo", n_jobs=1, callback=second, preparation=None).fit(X, y)
    sums = next(place for place, p in enumerate(seen) if p.what == "sums")
    for place in range(sums + 1, len(seen) - 1):
        true = len(seen) - 1 - place
        assert true - 2.0 <= seen[place].total_seconds_left <= true + 2.0, place


def test_steps_are_extrapolated_on_a_logarithmic_scale():
    assert time_forecast.steps_left([1e-1, 1e-2], 1e-4, 8) == 2.0
    assert time_forecast.steps_left([1e-1, 1e-2, 1e-4], 1e-4, 8) == 0.0
    assert time_forecast.steps_left([], 1e-4, 8) == 8.0
    assert time_forecast.steps_left([np.inf], 1e-4, 8) == 7.0
    assert time_forecast.steps_left([1e-1, 1.0], 1e-1, 8) == 22.0  # a rising gap counts as one falling by a tenth
    assert time_forecast.steps_left([1.0, 0.5, 1e-2], 1e-4, 8, window=1) == 2.0


def test_progress_of_frames_and_blocks_is_reported():
    X, y = problem()
    frame = pd.DataFrame(X, columns=list("abc")).assign(sign=np.where(y > 0, "plus", "minus"))
    seen = []
    blocks = Blocks([(frame[start : start + 1000], y[start : start + 1000]) for start in range(0, N, 1000)])
    KernelClassifier(map=features(), loss="squared", callback=seen.append, C=1.0, preparation=None).fit(blocks)
    assert [(p.number, p.what) for p in seen[::2]] == [*((1, "levels and labels"), (2, "sums"), (3, "solution"))]
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
    for what in passes | {"solution"}:
        model = clone(learner).set_params(map=features(), n_jobs=2).fit(X[:300], y[:300])
        with pytest.raises(StopError):
            model.set_params(callback=stopping_in(what, 5000)).fit(X, y)
        with pytest.raises(NotFittedError):
            use(model, X[:100])
    again = model.set_params(callback=None).fit(X, y)
    expected = clone(learner).set_params(map=features(), n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(use(again, X[:100]), use(expected, X[:100]))


@pytest.mark.parametrize(
    ("learner", "more"),
    [
        (KernelRegressor(kernel=None, alpha=1.0, preparation=None), {}),
        (KernelClassifier(loss="squared", kernel=None, C=1.0, preparation=None), {"classes": [0, 1, 2]}),
    ],
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
    # After a failed fit, batches start from the beginning, with their own classes and map.
    with pytest.raises(StopError):
        model.set_params(callback=stopping_in("sums")).fit(X, y)
    model.set_params(callback=None).partial_fit(X[:1000], y[:1000], **more)
    np.testing.assert_array_equal(model.coef_, before)


# -- the bar -----------------------------------------------------------------------------------------------------------


class Terminal(StringIO):
    def isatty(self):
        return True


def states(n=5, objective=None):
    return [
        progress.Progress(2, "sums", 100 * k, 100 * n, 50.0, 2.0 * (n - k), objective, k / n, 3.0 * k, 60.0 * (n - k))
        for k in range(1, n + 1)
    ]


def test_the_bar_is_one_line_that_is_written_over(monkeypatch):
    now, stream = [0.0], Terminal()
    monkeypatch.setattr(progress_bar, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress_bar, "TICK", 1e6)
    monkeypatch.setenv("COLUMNS", "120")
    with progress_bar.Bar(stream) as bar:
        for state in states():
            bar(state._replace(objective=1.25 if state.rows < 300 else None))
            now[0] += 0.06  # every other state comes too soon
    lines = stream.getvalue().split("\r")[1:]
    assert [re.search(r"\d+ of 500 rows", line)[0] for line in lines] == [f"{k} of 500 rows" for k in (100, 300, 500)]
    assert "[" + 4 * "#" + 20 * " " + "]" in lines[0]
    full = "[" + 24 * "#" + "] 100 %, 0:15, 0:00 left; pass 2, sums: 500 of 500 rows"
    assert lines[-1].rstrip(" \n") == full
    assert lines[-1].endswith("\n")
    assert stream.getvalue().count("\n") == 1
    assert all(len(later.rstrip("\n")) >= len(line.rstrip()) for line, later in pairwise(lines))


def test_the_bar_keeps_to_one_line_of_a_narrow_terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setenv("COLUMNS", "40")
    with progress_bar.Bar(stream) as bar:
        bar(states()[0])
    assert len(stream.getvalue().rstrip("\n")) == 40  # with the return before it


def test_the_clock_of_the_bar_runs_between_reports(monkeypatch):
    now, stream = [0.0], Terminal()
    monkeypatch.setattr(progress_bar, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress_bar, "TICK", 0.01)
    with progress_bar.Bar(stream) as bar:
        bar(states()[0])
        now[0] = 100.0
        deadline = time.monotonic() + 10.0
        while "left" not in stream.getvalue().split("\r")[-1] or stream.getvalue().count("\r") < 2:
            assert time.monotonic() < deadline
            time.sleep(0.005)
    assert "20 %, 0:03, 4:00 left" in stream.getvalue()
    assert "20 %, 1:43, 2:20 left" in stream.getvalue()


def test_the_bar_shows_the_objective_and_hours():
    told = progress.Progress(12, "conjugate gradients", 10, 40, 1.5e6, 5.0, 1234.5678, 0.25, 61.0, 3725.0)
    line = progress_bar.Bar.line(told)
    assert line.startswith("[######" + 18 * " " + "]  25 %, 1:01, 1:02:05 left; pass 12, conjugate gradients")
    assert line.endswith("10 of 40 rows, objective 1234.57")


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (
            KernelClassifier(map=features(), C=1.0, preparation=None),
            r"fitted in .*s: \d+ passes over 5,000 rows, \d+ Newton steps?, gap \de-",
        ),
        (KernelRegressor(map=features(), alpha=1.0, preparation=None), r"fitted in .*s: 1 pass over 5,000 rows$"),
    ],
)
def test_a_run_ends_with_a_line_of_what_was_done(learner, words, tmp_path, monkeypatch):
    X, y = problem()
    monkeypatch.setattr(sys, "stderr", Terminal())
    train(learner, X, y, output=tmp_path / "model", progress="bar")
    shown = sys.stderr.getvalue()
    assert re.match(words, shown.splitlines()[-1])
    assert " 100 %, " in shown
    assert shown.count("\n") == 2


def test_the_bar_is_only_shown_in_terminals(capsys):
    stream = StringIO()
    with progress_bar.Bar(stream) as bar:
        bar(states()[0])
    with progress_bar.Bar() as bar:
        bar(states()[0])
    assert stream.getvalue() == capsys.readouterr().err == ""
    with progress_bar.Bar(Terminal()) as bar:  # nothing was reported, so no line is ended
        pass
    assert bar._stream.getvalue() == ""


def test_a_resumed_pass_reports_the_speed_of_its_own_rows(monkeypatch):
    now, seen = [0.0], []
    monkeypatch.setattr(progress, "perf_counter", lambda: now[0])
    tell = progress.Reporter([seen.append], 1000).begin("sums", 600)
    now[0] = 2.0
    tell(800)
    assert (seen[0].rows, seen[0].rows_per_second, seen[0].seconds_left) == (800, 100.0, 2.0)
