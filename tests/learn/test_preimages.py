"""KernelPCA in batches, and pre-images of components."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

import mercer
from mercer import Nystrom, RandomFourier
from mercer.kernels import Gaussian, Linear
from mercer.learn import KernelPCA


def rows(n=240, seed=0):
    """Rows near a curve, in columns of different sizes."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-2.0, 2.0, size=n)
    return np.stack([t, np.sin(2.0 * t), t**2], axis=1) * [1.0, 20.0, 0.1] + 0.01 * rng.normal(size=(n, 3)) + 3.0


def machine(**arguments):
    features = RandomFourier(Gaussian(0.3), n_components=40, random_state=0)
    return KernelPCA(
        map=features,
        **({"n_directions": 5, "fit_inverse_transform": True, "alpha": 0.7, "missing": "error"} | arguments),
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_preimages_are_ridge_regression_on_components(weighted):
    X = rows()
    weight = np.random.default_rng(1).random(len(X)) + 0.5 if weighted else None
    model = machine(scale="standard").fit(X, sample_weight=weight)
    components = model.transform(X)
    ridge = Ridge(alpha=0.7).fit(components, model.preparation_(X), sample_weight=weight)
    expected = ridge.predict(components) / model.preparation_.factor + model.preparation_.offset
    np.testing.assert_allclose(model.inverse_transform(components), expected, rtol=0.0, atol=1e-9)


def test_with_all_directions_they_are_ridge_regression_on_features():
    X = rows()
    model = machine(scale=None, n_directions=40).fit(X)
    Z = model.features_at(X)
    expected = Ridge(alpha=0.7, solver="svd").fit(Z, X).predict(Z)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), expected, rtol=0.0, atol=1e-6)


def test_a_linear_kernel_gives_rows_back():
    X = rows()
    model = KernelPCA(Linear(), n_directions=3, fit_inverse_transform=True, alpha=1e-9, random_state=0).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, rtol=0.0, atol=1e-5 * np.abs(X).max())


def test_plain_values_at_many_landmarks_have_the_preimages_of_whitened_ones():
    X = rows(700)
    arguments = {"n_directions": 6, "fit_inverse_transform": True, "scale": "standard", "alpha": 0.5}
    landmarks = np.arange(520)
    plain = KernelPCA(map=Nystrom(Gaussian(30.0), n_components=520, landmarks=landmarks), **arguments)
    plain.set_params(n_components=None).fit(X)
    whitened = KernelPCA(map=Nystrom(Gaussian(30.0), n_components=520, landmarks=landmarks, rank=520), **arguments)
    whitened.fit(X)
    found, expected = (model.inverse_transform(model.transform(X)) for model in (plain, whitened))
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-4 * np.ptp(X, axis=0).max())


@pytest.mark.parametrize("scale", ["auto", "standard", "common", "minmax", None])
def test_columns_are_restored_in_their_own_units(scale):
    X = rows()
    X = np.column_stack([X, np.full(len(X), 7.0), np.random.default_rng(2).standard_cauchy(len(X))])
    model = KernelPCA("gaussian(0.1)", n_directions=60, fit_inverse_transform=True, alpha=1e-6, random_state=0)
    model.set_params(scale=scale, missing="mean", n_components=240).fit(X)
    prepared = model.preparation_(X)
    np.testing.assert_allclose(model.preparation_.undone(prepared, 5), X, rtol=1e-9, atol=1e-9)
    assert model.inverse_transform(model.transform(X)).shape == X.shape


def test_columns_beyond_reach_scaled_again_and_with_gaps_are_restored():
    X = rows()
    X[::7, 1] = np.nan
    preparation = KernelPCA("gaussian(0.1)", scale="auto", random_state=0).fit(X).preparation_
    preparation = preparation.with_column_scales(np.linspace(0.5, 2.0, preparation.width(3)))
    far = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    far[0] = [1e4, 3.0, -1e3]
    np.testing.assert_allclose(preparation.undone(preparation(far), 3), far, rtol=1e-9)


# -- batches -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_batches_and_merges_are_one_pass(dtype):
    X, weight = rows().astype(dtype), np.random.default_rng(1).random(240)
    whole = machine(scale=None).fit(X, sample_weight=weight)
    batches, halves = machine(scale=None), [machine(scale=None) for _ in range(2)]
    for start in range(0, 240, 40):
        part = slice(start, start + 40)
        batches.partial_fit(X[part], sample_weight=weight[part])
        halves[start // 120].partial_fit(X[part], sample_weight=weight[part])
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    for model in (batches, halves[0].merge(halves[1])):
        assert model.statistics_.rows[0] == 240
        for name in ("eigenvalues_", "explained_ratio_", "mean_", "row_mean_"):
            expected = getattr(whole, name)
            np.testing.assert_allclose(
                getattr(model, name), expected, rtol=0.0, atol=tolerance * np.abs(expected).max()
            )
        expected = whole.inverse_transform(whole.transform(X))
        np.testing.assert_allclose(
            model.inverse_transform(model.transform(X)), expected, rtol=0.0, atol=tolerance * np.abs(expected).max()
        )


def test_kept_sums_continue_also_from_a_file(tmp_path):
    X = rows()
    model = machine(scale="standard", keep_statistics=True).fit(X[:120])
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.inverse_transform(model.transform(X)), model.inverse_transform(model.transform(X))
    )
    for one in (model, again):
        one.partial_fit(X[120:])
    np.testing.assert_array_equal(again.directions_, model.directions_)
    np.testing.assert_array_equal(again.preimages_, model.preimages_)
    assert model.statistics_.rows[0] == 240
    dropped = machine().fit(X)
    assert dropped.statistics_ is dropped.row_sums_ is None


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_what_has_no_preimages():
    X = rows()
    without = KernelPCA(random_state=0).fit(X)
    assert not hasattr(without, "inverse_transform")
    assert hasattr(machine(), "inverse_transform")
    with pytest.raises(AttributeError, match="inverse_transform") as refused:
        _ = without.inverse_transform
    assert "fit with fit_inverse_transform=True" in str(refused.value.__cause__)
    with pytest.raises(ValueError, match="were not learned: fit again with fit_inverse_transform=True"):
        without.set_params(fit_inverse_transform=True).inverse_transform(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="expected 5 components, found 2 columns"):
        machine().fit(X).inverse_transform(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="found sparse rows"):
        machine(scale=None).fit(sp.csr_array(X))
    with pytest.raises(ValueError, match="found kernel values"):
        KernelPCA("precomputed", fit_inverse_transform=True).fit(X @ X.T)
    frame = pd.DataFrame({"size": X[:, 0], "town": ["oslo", "rome"] * 120})
    with pytest.raises(ValueError, match="found levels in column 'town'"):
        machine().fit(frame)


def test_what_cannot_be_merged():
    X = rows()
    model = machine(scale=None).partial_fit(X)
    with pytest.raises(ValueError, match="no sums to merge"):
        model.merge(machine(scale=None).fit(X))
    with pytest.raises(TypeError, match="expected another KernelPCA"):
        model.merge(RandomFourier())
    with pytest.raises(ValueError, match="different features cannot be merged"):
        model.merge(machine(scale="standard").partial_fit(X))


@pytest.mark.parametrize("wrong", [{"alpha": 0.0}, {"fit_inverse_transform": 1}, {"keep_statistics": "yes"}])
def test_arguments(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        machine(**wrong).fit(rows())
