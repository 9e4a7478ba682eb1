"""Reports to the callbacks of scikit-learn 1.9 and later, and the progress bar for any version."""

from __future__ import annotations

import itertools
import pickle
from io import StringIO

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer.learn import (
    ConformalClassifier,
    ConformalRegressor,
    KernelCCA,
    KernelClassifier,
    KernelKMeans,
    KernelNovelty,
    KernelPCA,
    KernelRegressor,
    ProgressBar,
)
from mercer.learn.passes import progress

callback = pytest.importorskip("sklearn.callback", reason="before scikit-learn 1.9 there are no callbacks")

GIVEN = {"n_components": 16, "random_state": 0}
LEARNERS = {
    "regressor": KernelRegressor("gaussian(0.3)", alpha=0.5, preparation=None, **GIVEN),
    "open": KernelRegressor(**GIVEN),
    "classifier": KernelClassifier("gaussian(0.3)", C=1.0, preparation=None, **GIVEN),
    "components": KernelPCA(**GIVEN),
    "correlations": KernelCCA(**GIVEN),
    "clusters": KernelKMeans(n_clusters=2, **GIVEN),
    "novelty": KernelNovelty(**GIVEN),
    "intervals": ConformalRegressor(KernelRegressor("gaussian(0.3)", alpha=0.5, preparation=None, **GIVEN)),
    "split": ConformalRegressor(KernelRegressor(loss="huber", alpha=0.5, preparation=None, **GIVEN), random_state=0),
    "sets": ConformalClassifier(KernelClassifier("gaussian(0.3)", C=1.0, preparation=None, **GIVEN), random_state=0),
}


class Log:
    """A callback that records what is reported to it, and is passed on to inner estimators."""

    max_propagation_depth = None

    def __init__(self, fails: str = "") -> None:
        self.told: list[tuple[str, str, str]] = []
        self.scores: list[float] = []
        self._fails = fails

    def setup(self, estimator, context):
        self.told.append(("setup", type(estimator).__name__, context.task_name))

    def teardown(self, estimator, context):
        self.told.append(("teardown", type(estimator).__name__, context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.told.append(("begin", type(estimator).__name__, context.task_name))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.told.append(("end", type(estimator).__name__, context.task_name))
        if self._fails and context.task_name == self._fails:
            raise KeyboardInterrupt
        if fitted_estimator is not None and hasattr(fitted_estimator, "score") and y is not None:
            self.scores.append(fitted_estimator.score(X, y))


def problem(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=n)


def targets(name, X, y):
    return {"classifier": y > 0.0, "sets": y > 0.0, "correlations": np.stack([y, X[:, 0]], axis=1)}.get(name, y)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_fit_is_a_hundred_tasks(name):
    X, y = problem()
    log, learner = Log(), clone(LEARNERS[name])
    y = targets(name, X, y)
    learner.set_callbacks(log).fit(X, y)
    who = type(learner).__name__
    assert log.told[0] == ("setup", who, "fit")
    assert log.told[1] == ("begin", who, "fit")
    assert log.told[-2:] == [("end", who, "fit"), ("teardown", who, "fit")]
    inside = [told for told in log.told if told[2] != "fit"]
    assert [kind for kind, *_ in inside] == 100 * ["begin", "end"]
    plain = clone(LEARNERS[name]).fit(X, y)
    assert set(vars(learner)) - set(vars(plain)) == {"_skl_callbacks"}
    np.testing.assert_equal(told_by(learner, X), told_by(plain, X))


def told_by(learner, X):
    return learner.predict(X) if hasattr(learner, "predict") else learner.transform(X)


def test_tasks_are_named_after_passes(monkeypatch):
    ticks = itertools.count(step=0.0005)
    monkeypatch.setattr(progress, "perf_counter", lambda: next(ticks))  # every step takes as long as any other
    X, _ = problem()
    log = Log()
    KernelPCA(callback=None, **GIVEN).set_callbacks(log).fit(X)
    assert {"sums", "solution"} <= {what for _, _, what in log.told}


def test_the_fit_that_has_ended_can_be_scored():
    X, y = problem()
    monitor, learner = callback.ScoringMonitor(scoring="r2"), clone(LEARNERS["regressor"])
    learner.set_callbacks(monitor).fit(X, y)
    assert monitor.get_logs().data[-1]["r2"] == pytest.approx(learner.score(X, y))


def test_a_fit_that_fails_is_torn_down():
    X, _ = problem()
    log, learner = Log(fails="solution"), KernelPCA(**GIVEN)
    with pytest.raises(KeyboardInterrupt):
        learner.set_callbacks(log).fit(X)
    assert log.told[-1] == ("teardown", "KernelPCA", "fit")
    assert ("end", "KernelPCA", "fit") not in log.told
    assert set(vars(learner)) & {"fit_tasks", "_callback_fit_ctx", "directions_"} == set()


def test_without_callbacks_nothing_is_kept():
    X, y = problem()
    learner = clone(LEARNERS["regressor"]).set_callbacks(Log()).set_callbacks().fit(X, y)
    assert not any(name.startswith("_skl") for name in vars(learner))


def test_pipelines_and_searches_pass_callbacks_on():
    X, y = problem()
    log = Log()
    make_pipeline(StandardScaler(), clone(LEARNERS["regressor"])).set_callbacks(log).fit(X, y)
    assert sum(who == "KernelRegressor" for _, who, _ in log.told) == 202
    log = Log()
    GridSearchCV(clone(LEARNERS["regressor"]), {"alpha": [0.1, 1.0]}, cv=2).set_callbacks(log).fit(X, y)
    assert sum(who == "KernelRegressor" for _, who, _ in log.told) == 5 * 202


def test_a_learner_around_another_passes_callbacks_on():
    X, y = problem()
    log = Log()
    clone(LEARNERS["split"]).set_callbacks(log).fit(X, y)
    assert ("begin", "KernelRegressor", "fit") in log.told
    assert log.scores


def test_the_progress_bar_of_scikit_learn_works(capsys):
    X, y = problem()
    pytest.importorskip("rich")
    clone(LEARNERS["open"]).set_callbacks(callback.ProgressBar()).fit(X, y)
    assert "KernelRegressor - fit" in capsys.readouterr().out


def test_a_learner_with_callbacks_is_pickled():
    X, y = problem()
    learner = clone(LEARNERS["regressor"]).set_callbacks(callback.ProgressBar()).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(learner)).predict(X), learner.predict(X))
    function, arguments = learner.for_parts()
    assert not any(name.startswith("_skl") for name in vars(function(*arguments)))


class Terminal(StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("name", ["components", "open"])
def test_our_bar_ends_its_line(name):
    X, y = problem()
    screen = Terminal()
    learner = clone(LEARNERS[name]).set_params(callback=ProgressBar(screen))
    for lines in (1, 2):  # the same bar serves every fit
        learner.fit(X, y)
        assert screen.getvalue().count("\n") == lines
        assert "100 %" in screen.getvalue().splitlines()[-1]


def test_our_bar_is_quiet_where_lines_cannot_be_overwritten():
    X, _ = problem()
    file = StringIO()
    KernelPCA(callback=ProgressBar(file), **GIVEN).fit(X)
    assert not file.getvalue()


def test_our_bar_is_shown_in_a_notebook():
    X, _ = problem()
    screen = type("OutStream", (StringIO,), {"__module__": "ipykernel.iostream"})()
    KernelPCA(callback=ProgressBar(screen), **GIVEN).fit(X)
    assert "100 %" in screen.getvalue()


def test_our_bar_is_pickled_and_copied():
    model = KernelPCA(callback=ProgressBar(Terminal()), **GIVEN)
    assert pickle.loads(pickle.dumps(model)).callback.stream is None
    assert clone(model).callback.stream is model.callback.stream


def test_warnings_of_a_fit_with_callbacks_point_at_its_caller():
    X = np.repeat(problem()[0][:, :1], 2, axis=1)
    learner = KernelRegressor("linear()", n_components=4, alpha=0.0, random_state=0, preparation=None)
    with pytest.warns(UserWarning, match="linearly dependent") as found:
        learner.set_callbacks(Log()).fit(X, X[:, 0])
    assert [one.filename for one in found] == [__file__]
