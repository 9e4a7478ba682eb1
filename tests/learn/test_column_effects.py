"""The effect of columns on predictions: gradients against differences, and laws of explanations and importances."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import mercer
from mercer.kernels import AdditiveChi2, Gaussian, Laplacian, Linear, Polynomial
from mercer.learn import KernelClassifier, KernelRegressor

STEP = 1e-5


def rows(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)) * [1.0, 30.0, 0.02, 1.0]
    X[:, 3] = np.exp(2.0 * X[:, 3])  # heavy tails
    return X, np.sin(2.0 * X[:, 0]) + 0.05 * X[:, 1] + 0.3 * np.log(X[:, 3])


def differences(values, X, columns):
    """Central differences, with steps in the size of each column."""
    found = []
    for column in range(columns):
        step = STEP * max(1e-3, float(np.abs(X[:, column]).max()))
        moved = np.zeros(X.shape)
        moved[:, column] = step
        found.append((values(X + moved) - values(X - moved)) / (2.0 * step))
    return np.moveaxis(np.array(found), 0, -1)


@pytest.mark.parametrize("scale", ["standard", "common", "minmax", "unit", None])
@pytest.mark.parametrize("map", ["nystrom", "random_fourier"])
def test_gradients_go_through_every_scale(scale, map):
    X, y = rows()
    if scale in (None, "unit", "common"):
        X = X / [1.0, 30.0, 0.02, 10.0]
    model = KernelRegressor("gaussian('scale')", map=map, n_components=80, alpha=1e-3, scale=scale, random_state=0)
    model.fit(X, y)
    found = model.gradient(X[:20])
    size = np.abs(found).max(axis=0)
    np.testing.assert_allclose(found / size, differences(model.predict, X[:20], 4) / size, rtol=1e-4, atol=1e-5)


def test_gradients_go_through_tamed_tails_and_learned_scales_of_columns():
    X, y = rows(600)
    y = y + np.random.default_rng(1).normal(scale=0.2, size=len(y))  # or large coefficients that cancel
    model = KernelRegressor(random_state=0).fit(X, y)
    assert model.preparation_.tamed is not None
    assert model.preparation_.column_scales is not None
    inside = X[~model.extrapolates(X)][:40]
    found = model.gradient(inside)
    size = np.abs(found).max(axis=0)
    np.testing.assert_allclose(found / size, differences(model.predict, inside, 4) / size, rtol=1e-3, atol=1e-3)


def test_rows_beyond_reach_have_the_slope_of_the_logarithm():
    X, y = rows()
    kernel = "gaussian('scale')"
    model = KernelRegressor(kernel, map="random_fourier", n_components=40, extrapolate="free", random_state=0)
    far = np.array([[20.0, 3.0], [-50.0, -1e3], [0.1, 0.1]])
    model.fit(X[:, :2], y)
    assert np.abs(model.preparation_(far)).max() > 12.0
    np.testing.assert_allclose(model.gradient(far), differences(model.predict, far, 2), rtol=1e-3, atol=1e-7)


def test_classes_and_targets_have_gradients_of_their_own():
    X, y = rows()
    two = KernelClassifier("gaussian('scale')", C=1.0, n_components=60, random_state=0).fit(X, y > 0.0)
    expected = differences(two.decision_function, X[:9], 4)
    np.testing.assert_allclose(two.gradient(X[:9]), expected, rtol=1e-3, atol=1e-5)
    three = KernelClassifier("gaussian('scale')", C=1.0, n_components=60, random_state=0)
    three.fit(X, np.digitize(y, [-0.3, 0.3]))
    assert three.gradient(X[:9]).shape == (9, 3, 4)
    np.testing.assert_allclose(
        three.gradient(X[:9]), differences(three.decision_function, X[:9], 4), rtol=1e-3, atol=1e-5
    )
    several = KernelRegressor("gaussian('scale')", n_components=60, alpha=0.1, random_state=0)
    several.fit(X, np.column_stack([y, X[:, 0]]))
    np.testing.assert_allclose(several.gradient(X[:9]), differences(several.predict, X[:9], 4), rtol=1e-3, atol=1e-5)


def frame(n_rows=200, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "kind": rng.choice(["a", "b", "c"], size=n_rows),
            "same": 1.0,
            "age": np.where(rng.uniform(size=n_rows) < 0.2, np.nan, rng.normal(size=n_rows)),
        }
    )
    y = table["size"] ** 2 + (table["kind"] == "b") + 0.5 * table["age"].fillna(1.0)
    return table, y.to_numpy()


def test_frames_have_one_entry_per_level_and_none_at_gaps():
    table, y = frame()
    model = KernelRegressor("gaussian('scale')", alpha=1e-2, scale="auto", random_state=0).fit(table, y)
    found = model.gradient(table[:30])
    names = model.preparation_.encoded_labels(4)
    assert names == ["size", "kind=a", "kind=b", "kind=c", "same", "age"]
    assert found.shape == (30, 6)
    gaps = table["age"][:30].isna().to_numpy()
    assert gaps.any()
    assert (found[gaps, 5] == 0.0).all()
    assert (found[~gaps, 5] != 0.0).all()
    assert (found[:, 4] == 0.0).all()  # a constant column is left out
    for name, place in (("size", 0), ("age", 5)):
        up, down = table[:30].copy(), table[:30].copy()
        up[name] += 1e-5
        down[name] -= 1e-5
        expected = (model.predict(up) - model.predict(down)) / 2e-5
        np.testing.assert_allclose(found[:, place], np.where(np.isnan(expected), 0.0, expected), atol=1e-4)
    explained = model.explain(table[:30])
    assert explained.shape == (30, 4)
    assert (explained[:, 2] == 0.0).all()


@pytest.mark.parametrize("scale", ["standard", "common", "log", "minmax", "unit", None])
def test_gradients_of_rows_with_gaps_and_their_indicators(scale):
    X, y = rows()
    X = X / [1.0, 30.0, 0.02, 10.0]
    X[np.random.default_rng(1).uniform(size=X.shape) < 0.2] = np.nan
    given = {"missing": "indicator", "extrapolate": "free", "random_state": 0}
    model = KernelRegressor("gaussian('scale')", n_components=60, alpha=0.1, scale=scale, **given).fit(X, y)
    found, steps = model.gradient(X[:40]), 1e-6 * np.eye(4)
    known = ~np.isnan(X[:40])
    expected = np.stack([(model.predict(X[:40] + h) - model.predict(X[:40] - h)) / 2e-6 for h in steps], axis=1)
    size = np.abs(found).max(axis=0)
    np.testing.assert_allclose(found / size, np.where(known, expected, 0.0) / size, rtol=1e-3, atol=1e-4)


def test_sparse_rows_have_the_gradients_of_dense_ones():
    X, y = rows()
    X = np.where(np.abs(X) > 0.5 * X.std(axis=0), X, 0.0)
    model = KernelRegressor("gaussian('scale')", alpha=0.1, n_components=50, scale="standard", random_state=0)
    model.fit(sp.csr_array(X), y)
    found = model.gradient(sp.csr_array(X[:7]))
    np.testing.assert_allclose(found, differences(model.predict, X[:7], 4), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.gradient(mercer.data.open(X[:7])), found, rtol=1e-12)


def test_many_levels_make_sparse_rows_with_the_same_effects():
    rng = np.random.default_rng(0)
    names = [f"n{one}" for one in rng.integers(0, 600, size=1500)]
    table = pd.DataFrame({"size": rng.normal(size=1500), "name": names})
    y = table["size"].to_numpy() + (table["name"] < "n3")
    given = {"alpha": 0.1, "n_components": 60, "scale": "standard", "preparation": None, "random_state": 0}
    model = KernelRegressor("gaussian('scale')", **given).fit(table, y)
    assert model.preparation_.sparse_levels
    up, down = table[:9].copy(), table[:9].copy()
    up["size"] += 1e-5
    down["size"] -= 1e-5
    found = model.gradient(table[:9])
    assert found.shape == (9, 1 + len(set(names)))
    np.testing.assert_allclose(found[:, 0], (model.predict(up) - model.predict(down)) / 2e-5, rtol=1e-3, atol=1e-6)
    assert model.importances(table).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("map", ["nystrom", "random_fourier", "tensor_sketch"])
def test_explanations_add_up(map):
    """The integral of gradients along a line is the difference of its ends."""
    X, y = rows(400)
    kernel = Polynomial(3, gamma="scale", coef0=1.0) if map == "tensor_sketch" else "gaussian('scale')"
    model = KernelRegressor(kernel, map=map, n_components=90, alpha=0.1, scale="standard", random_state=0)
    model.fit(X, y)
    start = X[:50]
    found = model.explain(X[50:80], baseline=start)
    centre = model.preparation_(start).mean(axis=0, keepdims=True)
    at_centre = model.map_.transform(centre) @ model.coef_ + model.intercept_
    inside = ~model.extrapolates(X[50:80])
    expected = model.predict(X[50:80]) - at_centre
    np.testing.assert_allclose(found.sum(axis=1)[inside], expected[inside], rtol=1e-6, atol=1e-6)


def test_explanations_add_up_across_kinks():
    X = np.random.default_rng(0).normal(size=(30, 2))
    Y = np.stack([np.sin(X[:, 0]), np.abs(X[:, 1])], axis=1)
    model = KernelRegressor(Laplacian(1.0), map="nystrom", n_components=30, alpha=0.1, preparation=None)
    model.set_params(extrapolate="free").fit(X, Y)
    start = X.mean(axis=0, keepdims=True)
    expected = model.predict(X) - model.predict(start)
    few, more = (model.explain(X, baseline=start, n_points=count) for count in (16, None))
    off, left = (np.abs(found.sum(axis=2) - expected) / np.abs(found).sum(axis=2) for found in (few, more))
    assert off.max() > 0.1
    assert left.max() < 0.02
    assert np.median(left) < 1e-3
    smooth = model.set_params(kernel=Gaussian(0.1)).fit(X, Y)
    np.testing.assert_array_equal(smooth.explain(X), smooth.explain(X, n_points=16))


def test_explanations_that_do_not_add_up_come_with_a_warning():
    """The decision values turn hundreds of times between the baseline and the rows."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = KernelRegressor(Gaussian(1e6), map="random_fourier", n_components=40, alpha=0.1, preparation=None)
    model.set_params(extrapolate="free", random_state=0).fit(X, X[:, 0])
    with pytest.warns(UserWarning, match=r"contributions of \d rows are off by more than 5%"):
        model.explain(X[:5], baseline=X[5:])
    model.explain(X[:5], baseline=X[5:], n_points=16)


def test_explanations_start_at_the_landmarks_or_at_the_rows():
    X, y = rows()
    known = KernelRegressor("gaussian('scale')", map="nystrom", n_components=40, alpha=0.1, random_state=0).fit(X, y)
    landmarks = X[known.map_.component_indices_]
    np.testing.assert_allclose(known.explain(X[:5]), known.explain(X[:5], baseline=landmarks), rtol=1e-9, atol=1e-12)
    other = KernelRegressor("gaussian('scale')", map="random_fourier", n_components=40, alpha=0.1, random_state=0)
    other.fit(X, y)
    np.testing.assert_allclose(other.explain(X[:5]), other.explain(X[:5], baseline=X[:5]), rtol=1e-12)
    with pytest.raises(ValueError, match="n_points must be"):
        other.explain(X[:5], n_points=0)


@pytest.mark.parametrize("scale", ["standard", None])
def test_importances_of_a_linear_model_are_shares_of_its_variance(scale):
    X, _ = rows()
    weights = np.array([1.0, 0.02, 0.0, 0.0])
    y = X @ weights
    model = KernelRegressor(Linear(), alpha=1e-8, scale=scale, random_state=0).fit(X, y)
    variance = weights**2 * X.var(axis=0)
    np.testing.assert_allclose(model.importances(X), variance / variance.sum(), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.explain(X, baseline=X), (X - X.mean(axis=0)) * weights, rtol=1e-4, atol=1e-6)


def test_importances_are_mean_squared_gradients_times_variances():
    """By differences and covariances: levels are drawn together, and indicators of gaps with their column."""
    table, y = frame()
    model = KernelRegressor("gaussian('scale')", alpha=1e-2, scale="auto", random_state=0).fit(table, y)
    P = model.preparation_(table)
    slopes = differences(lambda rows: model.map_.transform(rows) @ model.coef_, P, P.shape[1])
    groups = {0: [0], 1: [1, 2, 3], 3: [4, 5]}  # sizes, levels, ages and whether one is missing
    assert model.preparation_.prepared_sources(4).tolist() == [0, 1, 1, 1, 3, 3]
    totals = np.zeros(4)
    for source, columns in groups.items():
        covariance = np.cov(P[:, columns], rowvar=False, bias=True).reshape(len(columns), -1)
        totals[source] = np.mean([one[columns] @ covariance @ one[columns] for one in slopes])
    np.testing.assert_allclose(model.importances(table), totals / totals.sum(), rtol=1e-4)


def test_units_do_not_matter_and_unused_columns_have_none():
    X, y = rows()
    X = np.column_stack([X, np.ones(len(X))])
    model = KernelRegressor("gaussian('scale')", alpha=0.1, scale="standard", map="nystrom", random_state=0)
    found = model.fit(X, y).importances(X)
    assert found[4] == 0.0
    assert found.sum() == pytest.approx(1.0)
    assert (found >= 0.0).all()
    other = model.fit(X * [1e3, 1e-3, 7.0, 2.0, 1.0] + 5.0, y).importances(X * [1e3, 1e-3, 7.0, 2.0, 1.0] + 5.0)
    np.testing.assert_allclose(other, found, rtol=1e-5)
    nothing = model.fit(X, np.zeros(len(X)))
    np.testing.assert_array_equal(nothing.importances(X), np.zeros(5))


def test_outputs_count_alike():
    X, y = rows()
    both = KernelRegressor("gaussian('scale')", n_components=300, alpha=0.1, scale="standard", random_state=0)
    both.fit(X, np.column_stack([y, 1e4 * X[:, 2]]))
    each = [
        KernelRegressor("gaussian('scale')", n_components=300, alpha=0.1, scale="standard", random_state=0)
        .fit(X, target)
        .importances(X)
        for target in (y, X[:, 2])
    ]
    np.testing.assert_allclose(both.importances(X), np.mean(each, axis=0), rtol=1e-6)


def test_machines_with_landmarks_have_importances_of_themselves(tmp_path):
    X, y = rows()
    model = KernelRegressor("gaussian('scale')", map="nystrom", n_components=50, alpha=0.1, random_state=0).fit(X, y)
    expected = model.importances(X[model.map_.component_indices_])
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-9)
    exact = KernelRegressor("gaussian('scale')", map="exact", alpha=0.1, random_state=0).fit(X, y)
    np.testing.assert_allclose(exact.feature_importances_, exact.importances(X), rtol=1e-6)
    mercer.save(model, tmp_path / "columns.mercer")
    loaded = mercer.load(tmp_path / "columns.mercer")
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)
    np.testing.assert_array_equal(loaded.gradient(X[:5]), model.gradient(X[:5]))
    fourier = KernelRegressor("gaussian('scale')", map="random_fourier", alpha=0.1).fit(X, y)
    assert not hasattr(fourier, "feature_importances_")
    assert not hasattr(KernelRegressor(), "feature_importances_")


def test_importances_of_more_rows_are_those_of_evenly_spaced_ones(monkeypatch):
    X, y = rows()
    monkeypatch.setattr("mercer.learn.column_effects.MOST_ROWS", 100)
    model = KernelRegressor("gaussian('scale')", alpha=0.1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.importances(X), model.importances(X[::3]))


def test_columns_that_matter_can_be_selected():
    from sklearn.feature_selection import SelectFromModel

    X, _ = rows()
    learner = KernelRegressor("gaussian('scale')", map="nystrom", scale="standard", alpha=0.1)
    chosen = SelectFromModel(learner, importance_getter="feature_importances_")  # coef_ is of features
    assert chosen.fit(X, np.sin(2.0 * X[:, 0])).get_support().tolist() == [True, False, False, False]


def test_what_has_no_derivatives_says_so():
    X = np.abs(rows()[0])
    for kernel in (AdditiveChi2(), lambda x, y: float(np.exp(-np.abs(x - y).sum()))):
        model = KernelRegressor(kernel, map="nystrom", n_components=5, alpha=0.1, random_state=0).fit(X[:40], X[:40, 0])
        with pytest.raises(ValueError, match="has no derivatives with respect to columns"):
            model.gradient(X[:3])
        assert not hasattr(model, "feature_importances_")
    model = KernelRegressor("precomputed", alpha=0.1).fit(Gaussian(0.5)(X[:40]), X[:40, 0])
    with pytest.raises(ValueError, match="has no derivatives with respect to columns"):
        model.gradient(Gaussian(0.5)(X[:40])[:3])


def test_importances_need_two_rows():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = KernelRegressor(n_components=16, random_state=0).fit(pd.DataFrame(X, columns=["a", "b"]), X[:, 0])
    with pytest.raises(ValueError, match="expected at least 2, found 1"):
        model.importances(pd.DataFrame(X[:1], columns=["a", "b"]))
    with pytest.raises(ValueError, match=r"found 0|0 sample"):
        model.importances(pd.DataFrame(X[:0], columns=["a", "b"]))
