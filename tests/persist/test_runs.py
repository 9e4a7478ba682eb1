"""Runs that end early continue where they stopped, to the byte."""

from __future__ import annotations

import os
import re
import shutil
from functools import partial
from io import StringIO
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import mercer
from mercer import Nystrom, RandomMaclaurin
from mercer.data import Blocks
from mercer.kernels import Gaussian, Maclaurin
from mercer.learn import KernelCCA, KernelClassifier, KernelKMeans, KernelNovelty, KernelPCA, KernelRegressor
from mercer.persist import CheckpointError, NotStoredError, train
from mercer.persist.checkpoints import Checkpoints, read_checkpoint

from .small_runs import CHUNK, ROWS, checkpoint_of, features, problem

pytestmark = pytest.mark.usefixtures("small_blocks")

AGAIN = ("labels", "levels", "scales", "map", "features", "preconditioner", "solution")
"""The passes that a resumed run repeats."""


def few_landmarks():
    return Nystrom(Gaussian(0.3), n_components=12, random_state=0)


NEWTON = {"map": features(), "tol": 1e-3, "C": 10.0, "preparation": None}
MODELS = {
    "ridge": KernelRegressor(map=features(), keep_statistics=True, alpha=1.0, preparation=None),
    "gcv": KernelRegressor(map=features(), alpha="gcv", scale="standard", preparation=None),
    "loo": KernelRegressor(map=features(), alpha="loo", n_jobs=2, preparation=None),
    "landmarks": KernelRegressor(n_components=20, map="Nystrom", random_state=0, kernel=None, alpha=1.0,
                                 preparation=None),
    "exact-ridge": KernelRegressor(Gaussian(0.3), map="exact", alpha="loo", random_state=0),
    "squared": KernelClassifier(map=features(), loss="squared", C=1.0, preparation=None),
    "squared-landmarks": KernelClassifier(map=few_landmarks(), loss="squared", solver="landmarks", C=1.0,
                                          preparation=None),
    "corners-landmarks": KernelRegressor(map=few_landmarks(), loss="quantile", solver="landmarks", tol=1e-3, alpha=1.0,
                                         preparation=None),
    "open": KernelRegressor(n_components=20, random_state=0),
    "open-hinge": KernelClassifier(n_components=20, columns=None, tol=1e-3, random_state=0),
    "hinge": KernelClassifier(**NEWTON),
    "wide": KernelRegressor(map=features(), solver="wide", memory=1000, alpha=0.01, preparation=None),
    "wide-rows": KernelRegressor(map=features(), solver="wide", memory=1000, alpha=10.0, tol=1e-4, preparation=None),
    "wide-hinge": KernelClassifier(solver="wide", memory=1000, **NEWTON),
    "hinge-two": KernelClassifier(memory=1000, n_jobs=2, **NEWTON),
    "softmax": KernelClassifier(loss="logistic", fit_intercept=False, **NEWTON),
    "softmax-streamed": KernelClassifier(loss="logistic", memory=1000, **NEWTON),
    "tasks": KernelClassifier(loss="logistic", **NEWTON),
    "path": KernelClassifier(map=features(), tol=1e-3, C=[0.3, 3.0, 30.0], preparation=None),
    "path-streamed": KernelClassifier(map=features(), loss="logistic", tol=1e-3, C=[0.3, 3.0], memory=1000, n_jobs=2,
                                      preparation=None),
    "path-held-out": KernelClassifier(map=features(), tol=1e-3, C="holdout", solver="wide", preparation=None),
    "path-landmarks": KernelClassifier(map=Nystrom(Gaussian(0.3), n_components=12, random_state=0), tol=1e-3,
                                       C=[30.0, 0.3], solver="landmarks"),
    "path-wide-rows": KernelRegressor(map=features(), solver="wide", memory=1000, alpha=[100.0, 30.0, 10.0], tol=1e-3,
                                      preparation=None),
    "path-landmarks-ridge": KernelRegressor(map=few_landmarks(), solver="landmarks", alpha="holdout",
                                            preparation=None),
    "path-squared": KernelClassifier(map=features(), loss="squared", C="loo", preparation=None),
    "path-ridge": KernelRegressor(map=features(), alpha="holdout", preparation=None),
    "path-huber": KernelRegressor(map=features(), loss="huber", alpha=[0.1, 1.0, 10.0], preparation=None),
    "path-quantile": KernelRegressor(map=features(), loss="quantile", alpha=[0.1, 3.0], tol=1e-2, preparation=None),
    "pca": KernelPCA(map=features()),
    "novelty": KernelNovelty(map=features(), keep_statistics=True),
    "cca": KernelCCA(map=features(), map_y=features(8, 1)),
    "kmeans": KernelKMeans(n_clusters=3, n_init=3, tol=1e-9, map=features()),
    "kmeans-once": KernelKMeans(n_clusters=3, n_init=1, tol=1e-3, map=features()),
    "kmeans-batches": KernelKMeans(n_clusters=3, n_init=2, max_iter=4, batch_rows=64, memory=1000, map=features()),
}  # fmt: skip


def targets(name, X, y):
    if name == "hinge-two":
        return y == "far"
    if name == "tasks":
        return np.column_stack([y, np.where(X[:, 2] > 0, "up", "down")])
    if name in ("loo", "cca"):
        return np.column_stack([X[:, 0] ** 2, X[:, 1]])
    return X[:, 0] ** 2 if isinstance(MODELS[name], KernelRegressor) else y


SUMS = ("ridge", "gcv", "loo", "landmarks", "pca", "novelty", "cca")
"""Models based on sums, which continue at the row where they stopped."""

# Other learners do the same one by one: sums, landmarks, and steps of a solver.
ALIKE = (
    "path-landmarks-ridge",
    "gcv",
    "landmarks",
    "softmax",
    "tasks",
    "cca",
    "path-streamed",
    "path-held-out",
    "path-squared",
    "path-huber",
)


@pytest.mark.parametrize("most", [20, pytest.param(10_000, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name in ALIKE else ()) for name in MODELS]
)
def test_a_run_continues_from_every_checkpoint_to_the_same_bytes(name, most, tmp_path):
    model, (X, y) = MODELS[name], problem()
    y = targets(name, X, y)
    names, output = (tmp_path / "model.checkpoint", tmp_path / "model.checkpoint.previous"), tmp_path / "model"
    told, states = [], []

    def record(progress):
        told.append(progress)
        states.append(names[0].read_bytes() if names[0].exists() else None)

    train(clone(model), X, y, output=output, every=0.0, progress=record)
    whole = output.read_bytes()
    assert os.listdir(tmp_path) == ["model"]
    last = None
    kept = [k for k, state in enumerate(states) if state not in (None, last) and (last := state)]
    assert len(kept) > 3
    for k in kept[:: 1 if len(kept) < most else len(kept) // 6]:
        names[0].write_bytes(states[k])
        rest = []
        train(clone(model), X, y, output=output, resume=True, progress=rest.append)
        assert output.read_bytes() == whole, k
        ours, theirs = (sum(one.what not in AGAIN for one in some) for some in (rest, told[k + 1 :]))
        lost = 0 if name in SUMS else 3 * -(-ROWS // CHUNK)  # passes of Newton and k-means are kept whole
        assert theirs <= ours <= theirs + lost, k


@pytest.mark.parametrize("name", ["ridge", "loo", "hinge", "kmeans"])
def test_a_run_that_ends_with_an_error_continues(name, tmp_path):
    model, (X, y) = MODELS[name], problem()
    y = targets(name, X, y)
    train(clone(model), X, y, output=tmp_path / "whole")
    mercer.save(clone(model).fit(X, y), tmp_path / "fitted")
    assert (tmp_path / "fitted").read_bytes() == (tmp_path / "whole").read_bytes()

    class Stop:
        seen = 0

        def __call__(self, progress):
            self.seen += 1
            if self.seen in (3, 8, 12, 26):
                raise ArithmeticError(str(self.seen))

    stop, stops = Stop(), 0
    while True:
        try:
            train(clone(model), X, y, output=tmp_path / "model", every=0.0, resume=True, progress=stop)
            break
        except ArithmeticError:
            stops += 1
            assert not (tmp_path / "model").exists()
            assert not (tmp_path / "model.lock").exists()
    assert stops >= 2
    assert (tmp_path / "model").read_bytes() == (tmp_path / "whole").read_bytes()


# -- what a run goes on from -------------------------------------------------------------------------------------------


def test_seeds_that_were_drawn_are_drawn_no_more(tmp_path):
    X = problem()[0]
    for source in (None, np.random.default_rng(0), np.random.RandomState(0)):
        model = KernelCCA(n_components=12, n_components_y=8, random_state=source)
        path = checkpoint_of(model, X, X[:, :1], tmp_path)
        seeds = read_checkpoint(path).seeds
        shutil.copy(path, tmp_path / "kept")
        for name in ("first", "second"):
            shutil.copy(tmp_path / "kept", path)
            found = train(model, X, X[:, :1], output=tmp_path / name, checkpoint=path, resume=True)
            assert [found.map_.seed_, found.view_y_.map_.seed_] == seeds
        assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


@pytest.mark.parametrize("kind", ["blocks", "frame", "weights"])
def test_rows_of_every_kind(kind, tmp_path):
    X = problem()[0]
    weight = np.where(X[:, 1] > 1.0, 0.0, 1.0 + X[:, 1] ** 2) if kind == "weights" else None
    if kind == "frame":
        X = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "high", "low"), "c": X[:, 2]})
    target = np.arange(float(ROWS))
    cuts = (0, 10, 150, ROWS)
    parts = [(X[a:b], target[a:b]) for a, b in pairwise(cuts)]
    given = {"blocks": (Blocks(parts),)}.get(kind, (X, target, weight))
    model = KernelRegressor(map=features(), alpha=1.0, preparation=None)
    mercer.save(clone(model).fit(*given), tmp_path / "whole")
    seen = []

    def stop(progress):
        seen.append(progress.what)
        if seen.count("sums") == 4:
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        train(clone(model), *given, output=tmp_path / "model", every=0.0, progress=stop)
    rest = []
    train(clone(model), *given, output=tmp_path / "model", resume=True, progress=rest.append)
    assert next(one.rows for one in rest if one.what == "sums") == 5 * CHUNK
    assert (tmp_path / "model").read_bytes() == (tmp_path / "whole").read_bytes()


OTHERS = {
    "width": (
        lambda X, y: (KernelRegressor(map=features(13), alpha=1.0, preparation=None), X, y),
        "map__n_components is 13 here and 12 there",
    ),
    "kernel": (
        lambda X, y: (KernelRegressor(map=features().set_params(kernel=Gaussian(0.4)), alpha=1.0), X, y),
        r"map__kernel is Gaussian\(gamma=0.4\) here and Gaussian\(gamma=0.3\) there",
    ),
    "map": (
        lambda X, y: (KernelRegressor(map="RandomFourier", alpha=1.0, preparation=None), X, y),
        "map is 'RandomFourier' here and RandomFourier",
    ),
    "alpha": (
        lambda X, y: (KernelRegressor(map=features(), alpha=np.ones(2), preparation=None), X, y),
        r"alpha is array float64 \(2,\)",
    ),
    "learner": (lambda X, y: (KernelPCA(map=features()), X, y), "the learner is KernelPCA here and KernelRegressor"),
    "fewer rows": (
        lambda X, y: (KernelRegressor(map=features(), alpha=1.0, preparation=None), X[1:], y[1:]),
        "number of rows is 199 here and 200",
    ),
    "rows": (
        lambda X, y: (KernelRegressor(map=features(), alpha=1.0, preparation=None), X + 1e-12, y),
        "the data's fingerprint is",
    ),
    "targets": (
        lambda X, y: (KernelRegressor(map=features(), alpha=1.0, preparation=None), X, y + 1e-12),
        "the data's fingerprint is",
    ),
    "weights": (
        lambda X, y: (KernelRegressor(map=features(), alpha=1.0, preparation=None), X, y, np.full(ROWS, 2.0)),
        "the data's fingerprint is",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_checkpoint_of_another_run_is_refused_and_stays(name, tmp_path):
    X = problem()[0]
    path = checkpoint_of(KernelRegressor(map=features(), alpha=1.0, preparation=None), X, X[:, 0], tmp_path)
    before, (make, reason) = path.read_bytes(), OTHERS[name]
    with pytest.raises(CheckpointError, match=f"belongs to another run: .*{reason}"):
        train(*make(X, X[:, 0]), output=tmp_path / "model", every=0.0, resume=True)
    assert path.read_bytes() == before
    assert not (tmp_path / "model").exists()


def test_a_series_given_by_a_function_is_identified_by_its_coefficients(tmp_path):
    X = problem()[0]

    for make in (
        lambda ratio: KernelRegressor(
            Maclaurin(lambda n: ratio**n, radius=4.0), n_components=12, random_state=0, alpha=1.0, preparation=None
        ),
        lambda ratio: KernelRegressor(
            map=RandomMaclaurin(0.7 * Maclaurin(lambda n: ratio**n), n_components=12, random_state=0), alpha=1.0
        ),
    ):
        rows = X / 8.0
        path = checkpoint_of(make(0.5), rows, X[:, 0], tmp_path)
        shutil.copy(path, tmp_path / "kept")
        rest = []
        train(make(0.5), rows, X[:, 0], output=tmp_path / "model", resume=True, progress=rest.append)
        assert next(one.rows for one in rest if one.what == "sums") == 5 * CHUNK
        (tmp_path / "kept").rename(path)
        with pytest.raises(CheckpointError, match=r"kernel is \w+ with the series \w+ here and \w+ with the series"):
            train(make(0.25), rows, X[:, 0], output=tmp_path / "model", resume=True)
        path.unlink()


def test_a_checkpoint_of_another_version_is_refused(tmp_path, monkeypatch):
    X = problem()[0]
    checkpoint_of(KernelRegressor(map=features(), alpha=1.0, preparation=None), X, X[:, 0], tmp_path)
    monkeypatch.setattr(np, "__version__", "9.9.9")
    with pytest.raises(CheckpointError, match=r"the version of numpy is 9\.9\.9 here and"):
        train(
            KernelRegressor(map=features(), alpha=1.0, preparation=None),
            X,
            X[:, 0],
            output=tmp_path / "model",
            resume=True,
        )


def test_without_resume_a_run_starts_again(tmp_path):
    X = problem()[0]
    checkpoint_of(KernelRegressor(map=features(), alpha=1.0, preparation=None), X, X[:, 0], tmp_path)
    train(KernelRegressor(map=features(9), alpha=1.0, preparation=None), X, X[:, 0], output=tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]
    assert mercer.load(tmp_path / "model").map_.n_components_ == 9


def test_checkpoints_are_written_after_so_many_seconds(tmp_path, monkeypatch):
    X = problem()[0]
    now = [0.0]
    monkeypatch.setattr("mercer.persist.training.time.monotonic", lambda: now[0])
    written = []
    write = Checkpoints.write
    monkeypatch.setattr(Checkpoints, "write", lambda self, what: (written.append(what.begun.rows), write(self, what)))

    def later(progress):
        now[0] += 1.0

    train(
        KernelRegressor(map=features(), alpha=1.0, preparation=None),
        X,
        X[:, 0],
        output=tmp_path / "model",
        every=3.0,
        progress=later,
    )
    assert written == [4 * CHUNK, ROWS]  # a chunk takes a second, and the first pass computes the sums


def test_the_bar_is_shown_in_a_terminal(tmp_path, monkeypatch):
    X, y = problem()
    stream = StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("COLUMNS", "120")
    train(clone(MODELS["hinge"]), X, y, output=tmp_path / "model", progress="bar")
    bar = r"\r\[#{24}\] 100 %, 0:\d\d, 0:00 left; pass \d+, solution: 200 of 200 rows, objective [\d.]+ *\n"
    assert re.search(
        bar + r"fitted in [\d.]+ m?s: \d+ passes over 200 rows, \d+ Newton steps, gap .*\n$", stream.getvalue()
    )


# -- arguments ---------------------------------------------------------------------------------------------------------


def test_what_could_not_be_saved_is_refused_before_the_fit(tmp_path):
    X = problem()[0]

    class Mine(KernelRegressor):
        pass

    for model, error, reason in (
        (
            KernelRegressor(callback=print, kernel=None, alpha=1.0, preparation=None),
            ValueError,
            "give progress= instead",
        ),
        (
            KernelRegressor(map=Nystrom(lambda x, y: float(x @ y)), alpha=1.0, preparation=None),
            NotStoredError,
            "map.kernel is the function",
        ),
        (Mine(), NotStoredError, "not one of the learners"),
        (features(), NotStoredError, "RandomFourier is not one of the learners"),
    ):
        with pytest.raises(error, match=reason):
            train(model, X, X[:, 0], output=tmp_path / "model")
        assert not hasattr(model, "map_")
    for given, error, reason in (
        ({"every": -1}, ValueError, "every must be a number of seconds"),
        ({"every": "60"}, ValueError, "every must be a number of seconds"),
        ({"progress": "line"}, ValueError, "progress must be a function, 'bar' or None, found 'line'"),
        ({"checkpoint": tmp_path / "model"}, ValueError, "the output '.*' and the checkpoint '.*' are the same file"),
        ({"output": tmp_path}, IsADirectoryError, "expected the name of a file as output"),
        ({"output": tmp_path / "nowhere" / "model"}, FileNotFoundError, "nowhere"),
        ({"checkpoint": tmp_path / "nowhere" / "model"}, FileNotFoundError, "nowhere"),
    ):
        with pytest.raises(error, match=reason):
            train(
                KernelRegressor(kernel=None, alpha=1.0, preparation=None),
                X,
                X[:, 0],
                **({"output": tmp_path / "model"} | given),
            )
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "model",
    [
        partial(KernelRegressor, alpha="gcv"),
        KernelPCA,
        KernelCCA,
        partial(KernelClassifier, solver="newton"),
        partial(KernelClassifier, loss="squared", solver="newton"),  # "auto" does without second moments
        partial(KernelClassifier, loss="squared", keep_statistics=True),
    ],
)
def test_sums_that_do_not_fit_are_refused_before_any_pass(model, tmp_path):
    X, y = problem()
    seen = []
    for given in ({"n_components": 2000, "map": "RandomFourier"}, {"map": features(2000)}):
        learner = model(**given)
        with pytest.raises(
            MemoryError, match=r"the sums over 2000 features .* need at least 0\.\d+ GiB; memory allows"
        ):
            train(learner, X, y if isinstance(learner, KernelClassifier) else X[:, 0], output=tmp_path / "model",
                  memory="16MB", progress=seen.append)  # fmt: skip
    assert seen == []
    assert os.listdir(tmp_path) == []
    few = model(n_components=2000)  # landmarks are no more than rows
    train(few, X, y if isinstance(few, KernelClassifier) else X[:, 0], output=tmp_path / "model", memory="16MB")


def test_limits_of_the_process_and_its_group_are_those_of_the_machine(monkeypatch, tmp_path):
    resource = pytest.importorskip("resource")
    from mercer import _memory

    has = _memory.physical_memory()
    with monkeypatch.context() as patch:
        patch.setattr(resource, "getrlimit", lambda which: (has - 1, has))
        assert _memory.physical_memory() == has - 1
    (tmp_path / "limit").write_text("1048576\n")
    (tmp_path / "none").write_text("max\n")
    monkeypatch.setattr(_memory, "GROUP_LIMITS", (str(tmp_path / "none"), str(tmp_path / "limit")))
    assert _memory.physical_memory() == 2**20
    X = problem()[0]
    with pytest.raises(MemoryError, match=r"this machine has 0\.00098 GiB"):
        KernelRegressor(map=features(1000), alpha=1.0, preparation=None).fit(X, X[:, 0])


def test_what_another_run_is_writing_stays(tmp_path):
    X = problem()[0]
    others = [tmp_path / name for name in (".model.v2.abcdefgh.tmp", ".model.v2.checkpoint.abcdefgh.tmp")]
    own = tmp_path / ".model.abcd_123.tmp"
    for path in (*others, own):
        path.touch()
    train(KernelRegressor(map=features(), alpha=1.0, preparation=None), X, X[:, 0], output=tmp_path / "model")
    assert all(path.exists() for path in others)
    assert not own.exists()


@pytest.mark.parametrize("name", ["pca", "kmeans", "kmeans-batches"])
def test_machines_on_plain_kernel_values_continue(name, tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.learn.solvers.choice.LEAST_LANDMARKS", 4)
    monkeypatch.setitem(MODELS, name, clone(MODELS[name]).set_params(map=few_landmarks()))
    test_a_run_continues_from_every_checkpoint_to_the_same_bytes(name, 20, tmp_path)
    assert mercer.load(tmp_path / "model").map_.whiten is False


@pytest.mark.parametrize(
    "arguments",
    [
        {"map": "nystrom", "solver": "landmarks"},
        {"map": "nystrom", "solver": "landmarks", "C": 1e5},
        pytest.param({"map": "nystrom", "solver": "landmarks", "C": [1.0, 1e5]}, marks=pytest.mark.full),
        pytest.param({"map": "exact"}, marks=pytest.mark.full),
    ],
)
def test_machines_on_landmarks_continue_from_every_stage(arguments, tmp_path, monkeypatch):
    """The first machine, the one on all landmarks and the exact one have passes of the same names, and so have the
    fits for smaller weights with which the one for a large weight begins."""
    monkeypatch.setattr("mercer.learn.fitting.landmark_fit.LEAST_PILOT", 8)
    monkeypatch.setattr("mercer.learn.fitting.exact_hinge.CANDIDATE_LANDMARKS", 24)
    X, y = problem()
    model = KernelClassifier(Gaussian(0.3), n_components=24, random_state=0, **({"C": 10.0} | arguments))
    checkpoint, output, states = tmp_path / "model.checkpoint", tmp_path / "model", []

    def record(progress):
        states.append(checkpoint.read_bytes() if checkpoint.exists() else None)

    train(clone(model), X, y, output=output, every=0.0, progress=record)
    whole, kept = output.read_bytes(), list(dict.fromkeys(state for state in states if state is not None))
    assert len(kept) > 10
    for state in kept[:: max(1, len(kept) // 10)]:
        checkpoint.write_bytes(state)
        train(clone(model), X, y, output=output, resume=True)
        assert output.read_bytes() == whole
