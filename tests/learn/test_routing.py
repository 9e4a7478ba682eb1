"""scikit-learn's metadata routing and set_output: weights that are passed on, data frames that are returned."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import RandomFourier
from mercer.learn import KernelCCA, KernelClassifier, KernelKMeans, KernelPCA, KernelRegressor

from ..tables import first_of_class, obeying

GIVEN = {"n_components": 16, "random_state": 0}


def problem(n=90):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=n), rng.random(n) + 0.1


def machines():
    return {
        "regressor": KernelRegressor("gaussian(0.3)", alpha=0.5, preparation=None, **GIVEN),
        "classifier": KernelClassifier("gaussian(0.3)", C=1.0, loss="squared", preparation=None, **GIVEN),
    }


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_weights_reach_a_learner_in_a_pipeline(routing, kind):
    X, y, weight = problem()
    y = y if kind == "regressor" else y > 0.0
    learner = machines()[kind].set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    whole = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), learner)
    whole.fit(X, y, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    alone = machines()[kind].fit(scaled, y, sample_weight=weight)
    np.testing.assert_array_equal(whole[-1].coef_, alone.coef_)
    assert not np.array_equal(whole[-1].coef_, machines()[kind].fit(scaled, y).coef_)
    assert whole.score(X, y, sample_weight=weight) == pytest.approx(alone.score(scaled, y, weight))


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_weights_reach_every_fold(routing, kind):
    X, y, weight = problem()
    y = y if kind == "regressor" else y > 0.0
    learner = machines()[kind].set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    found = cross_validate(learner, X, y, params={"sample_weight": weight}, cv=3, return_estimator=True)
    folds = cross_validate(learner, X, y, params={"sample_weight": np.ones(90)}, cv=3)
    assert not np.allclose(found["test_score"], folds["test_score"])
    name = "alpha" if kind == "regressor" else "C"
    search = GridSearchCV(learner, {name: [0.1, 1.0]}, cv=3).fit(X, y, sample_weight=weight)
    best = machines()[kind].set_params(**search.best_params_).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(search.best_estimator_.coef_, best.coef_)


def test_weights_that_were_not_requested_are_an_error(routing):
    X, y, weight = problem()
    with pytest.raises(ValueError, match="sample_weight"):
        make_pipeline(StandardScaler(), machines()["regressor"]).fit(X, y, sample_weight=weight)


def test_decays_are_routed(routing):
    learner = machines()["regressor"].set_partial_fit_request(sample_weight=True, decay=True)
    asked = learner.get_metadata_routing().partial_fit.requests
    assert asked == {"sample_weight": True, "decay": True}


@pytest.mark.parametrize("row", first_of_class(obeying()))
def test_maps_give_polars_frames(row):
    X = row.sample(40, 5)
    map = row(16, random_state=0).set_output(transform="polars").fit(X)
    found = map.transform(X)
    assert isinstance(found, pl.DataFrame)
    assert found.columns == map.get_feature_names_out().tolist()
    np.testing.assert_array_equal(found.to_numpy(), map.set_output(transform="default").transform(X))


@pytest.mark.parametrize(
    "model",
    [
        KernelPCA("gaussian(0.3)", **GIVEN),
        KernelKMeans("gaussian(0.3)", n_clusters=3, **GIVEN),
        KernelCCA("gaussian(0.3)", **GIVEN),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("framed", [False, True])
def test_learners_give_polars_frames(model, framed):
    X, y, _ = problem()
    rows = pl.DataFrame(X, schema=["a", "b", "c"]) if framed else X
    plain = model.fit(rows, np.stack([y, X[:, 1]], axis=1)).transform(rows)
    found = model.set_output(transform="polars").transform(rows)
    assert isinstance(found, pl.DataFrame)
    assert found.columns == model.get_feature_names_out().tolist()
    np.testing.assert_array_equal(found.to_numpy(), plain)
    model.set_output(transform="default")


def test_a_pipeline_of_polars_frames():
    X, y, _ = problem()
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    whole = make_pipeline(StandardScaler(), RandomFourier(n_components=8, random_state=0)).set_output(
        transform="polars"
    )
    found = whole.fit_transform(frame, y)
    assert found.columns == [f"randomfourier{place}" for place in range(8)]
