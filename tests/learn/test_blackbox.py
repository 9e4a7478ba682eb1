"""Kernels of which only values are known: precomputed matrices and functions of two rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.decomposition import KernelPCA as ExactPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import cross_val_score

from mercer import Compressed, Nystrom
from mercer.data import Blocks
from mercer.kernels import Gaussian
from mercer.learn import KernelCCA, KernelClassifier, KernelKMeans, KernelPCA, KernelRegressor

KERNEL = Gaussian(0.3)


def gaussian(x, y):
    return float(np.exp(-0.3 * ((x - y) ** 2).sum()))


def problem(n=200, dtype=np.float64):
    X = np.random.default_rng(0).normal(size=(n, 3)).astype(dtype)
    return X, np.sin(X[:, 0]) + X[:, 1], (np.linalg.norm(X, axis=1) > 1.5).astype(int)


def fitted(learner, kernel, X, new, n_components, **arguments):
    _, numbers, classes = problem(len(X))
    targets = classes if learner is KernelClassifier else numbers
    model = learner(kernel, n_components=n_components, map="Nystrom", random_state=0, **arguments).fit(X, targets)
    for use in ("decision_function", "predict", "transform"):
        if hasattr(model, use):
            return model, getattr(model, use)(new)
    raise AssertionError(learner)


@pytest.mark.parametrize("n_components", [20, 80])
@pytest.mark.parametrize(
    ("learner", "arguments"),
    [
        (KernelRegressor, {"alpha": 0.1}),
        (KernelClassifier, {"C": 1.0, "tol": 1e-10}),
        (KernelClassifier, {"C": 1.0, "loss": "squared"}),
        (KernelPCA, {}),
        (KernelKMeans, {"n_clusters": 3, "n_init": 1}),
        (KernelCCA, {}),
    ],
)
def test_values_of_a_kernel_are_that_kernel(learner, arguments, n_components):
    X, new = problem(60)[0], np.random.default_rng(1).normal(size=(10, 3))
    model, expected = fitted(learner, KERNEL, X, new, n_components, **arguments)
    scale = np.abs(expected).max()
    matrix, found = fitted(learner, "precomputed", KERNEL(X), KERNEL(new, X), n_components, **arguments)
    np.testing.assert_allclose(found, expected, atol=1e-5 * scale)
    np.testing.assert_array_equal(matrix.map_.component_indices_, model.map_.component_indices_)
    np.testing.assert_allclose(
        fitted(learner, gaussian, X, new, n_components, **arguments)[1], expected, atol=1e-5 * scale
    )


def test_auto_takes_nystrom_and_all_rows_are_exact():
    X, y, _ = problem()
    K = KERNEL(X)
    model = KernelRegressor("precomputed", alpha=0.1, fit_intercept=False, random_state=0).fit(K[:150, :150], y[:150])
    assert isinstance(model.map_, Nystrom)
    exact = KernelRidge(alpha=0.1, kernel="precomputed").fit(K[:150, :150], y[:150])
    np.testing.assert_allclose(model.predict(K[150:, :150]), exact.predict(K[150:, :150]), atol=1e-7)
    components = KernelPCA("precomputed", n_directions=3, random_state=0).fit(K)
    np.testing.assert_allclose(
        components.eigenvalues_, ExactPCA(3, kernel="precomputed").fit(K).eigenvalues_, rtol=1e-8
    )
    assert isinstance(
        KernelRegressor(gaussian, n_components=9, random_state=0, alpha=1.0, preparation=None).fit(X[:20], y[:20]).map_,
        Nystrom,
    )


def test_only_the_columns_of_landmarks_are_read():
    X, y, _ = problem()
    K = KERNEL(X)
    model = KernelRegressor("precomputed", n_components=20, random_state=0, alpha=1.0).fit(K, y)
    others = np.setdiff1d(np.arange(200), model.map_.component_indices_)
    changed = K.copy()
    changed[:, others] = 7.0
    np.testing.assert_array_equal(model.predict(changed), model.predict(K))


@pytest.mark.parametrize(
    "model",
    [
        KernelClassifier("precomputed", random_state=0, C=1.0),
        KernelClassifier(map=Nystrom("precomputed", n_components=50, random_state=0), C=1.0, preparation=None),
        KernelClassifier(
            map=Compressed(Nystrom("precomputed"), n_components=20, random_state=0), C=1.0, preparation=None
        ),
    ],
)
def test_folds_are_cut_both_ways(model):
    X, _, y = problem()
    assert model.__sklearn_tags__().input_tags.pairwise
    assert cross_val_score(model, KERNEL(X), y, cv=3, error_score="raise").mean() > 0.8
    assert not KernelClassifier(gaussian, C=1.0, preparation=None).__sklearn_tags__().input_tags.pairwise
    # The other view of a correlation has a kernel of its own.
    assert not KernelCCA(kernel_y="precomputed", map_y=Nystrom("precomputed")).__sklearn_tags__().input_tags.pairwise


def test_both_views_may_be_matrices():
    X, y, _ = problem()
    Y = np.column_stack([np.cos(X[:, 0]), y])
    plain = KernelCCA(KERNEL, kernel_y=Gaussian(0.5), random_state=0).fit(X, Y)
    matrix = KernelCCA("precomputed", kernel_y="precomputed", random_state=0).fit(KERNEL(X), Gaussian(0.5)(Y))
    np.testing.assert_allclose(matrix.correlations_, plain.correlations_, rtol=1e-8)


def test_blocks_batches_sparse_and_float32_matrices():
    X, y, _ = problem()
    K = KERNEL(X)
    model = KernelRegressor("precomputed", n_components=30, random_state=0, alpha=1.0).fit(K, y)
    blocks = Blocks([(K[start : start + 70], y[start : start + 70]) for start in range(0, 200, 70)])
    again = KernelRegressor("precomputed", n_components=30, random_state=0, alpha=1.0).fit(blocks)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    sparse = KernelRegressor("precomputed", n_components=30, random_state=0, alpha=1.0).fit(sp.csr_array(K), y)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(K)), model.predict(K), atol=1e-9)
    single = KernelRegressor("precomputed", n_components=30, random_state=0, alpha=1.0).fit(K.astype(np.float32), y)
    assert single.predict(K.astype(np.float32)).dtype == np.float64
    # Batches: the matrix of the first rows, then values of more rows against them.
    batches = KernelRegressor("precomputed", n_components=30, random_state=0, alpha=1.0).prepare(K[:100, :100])
    batches.partial_fit(K[:100, :100], y[:100]).partial_fit(K[100:, :100], y[100:])
    one = KernelRegressor("precomputed", n_components=30, random_state=0, alpha=1.0).prepare(K[:100, :100])
    np.testing.assert_allclose(batches.coef_, one.partial_fit(K[:, :100], y).coef_, atol=1e-10)


@pytest.mark.parametrize(
    "learner",
    [
        KernelClassifier(tol=1e-10, kernel=None, C=1.0, preparation=None),
        KernelClassifier(loss="squared", kernel=None, C=1.0, preparation=None),
        KernelRegressor(kernel=None, alpha=1.0, preparation=None),
    ],
)
def test_rows_of_weight_0_are_ignored(learner):
    X, _, y = problem()
    weight = np.random.default_rng(2).integers(0, 3, size=200).astype(float)
    y[weight == 0.0] = 7  # no class of its own
    kept = np.flatnonzero(weight)
    K = KERNEL(X)
    learner.set_params(kernel="precomputed", random_state=0)
    found = learner.fit(K, y, weight).predict(K)
    expected = learner.fit(K[np.ix_(kept, kept)], y[kept], weight[kept]).predict(K[:, kept])
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_what_a_matrix_cannot_have():
    X, y, _ = problem(20)
    K = KERNEL(X)
    for arguments in ({"scale": "standard"}, {"missing": "mean"}):
        with pytest.raises(ValueError, match="kernel values, not columns, which cannot be scaled or filled: give"):
            KernelRegressor("precomputed", **({"alpha": 1.0} | arguments)).fit(K, y)
        with pytest.raises(ValueError, match="which cannot be scaled or filled"):
            KernelRegressor(map=Nystrom("precomputed"), **({"alpha": 1.0} | arguments)).fit(K, y)
    frame = pd.DataFrame(K).rename(columns=str).assign(**{"19": ["a", "b"] * 10})
    with pytest.raises(ValueError, match="expects kernel values, found levels in column '19'"):
        KernelRegressor("precomputed", alpha=1.0).fit(frame, y)
    with pytest.raises(ValueError, match=r"needs the square kernel matrix in fit, found shape \(20, 19\)"):
        KernelRegressor("precomputed", alpha=1.0).fit(K[:, 1:], y)
    with pytest.raises(ValueError, match="X has 3 features, but KernelRegressor is expecting 20"):
        KernelRegressor("precomputed", alpha=1.0).fit(K, y).predict(X)
    with pytest.raises(TypeError, match="returned 'near'; expected a number"):
        KernelRegressor(lambda x, y: "near", alpha=1.0, preparation=None).fit(X, y)


def test_a_function_sees_prepared_rows():
    X, y, _ = problem(60)
    scaled = KernelRegressor(
        gaussian, n_components=30, scale="standard", random_state=0, alpha=1.0, preparation=None
    ).fit(100.0 * X + 5.0, y)
    plain = KernelRegressor(
        KERNEL, n_components=30, map="Nystrom", scale="standard", random_state=0, alpha=1.0, preparation=None
    ).fit(X, y)
    np.testing.assert_allclose(scaled.predict(100.0 * X + 5.0), plain.predict(X), atol=1e-8)
