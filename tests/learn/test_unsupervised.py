"""Principal components, canonical correlations and clusters, against exact ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import KernelPCA as ExactPCA

import mercer
from mercer import Nystrom, RandomFourier
from mercer.data import Blocks
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.learn import KernelCCA, KernelKMeans, KernelPCA
from mercer.learn.context import FitContext
from mercer.learn.estimates.memory_estimates import Extent
from mercer.learn.solvers import choice


def rows(n=200, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def features(seed=0, **arguments):
    return RandomFourier(Gaussian(0.3), n_components=32, random_state=seed, **arguments)


def test_an_exact_map_gives_the_exact_principal_components():
    X = rows()
    model = KernelPCA(Gaussian(0.2), n_directions=5, random_state=0).fit(X[:150])
    exact = ExactPCA(5, kernel="rbf", gamma=0.2, eigen_solver="dense").fit(X[:150])
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-9)
    ours, theirs = model.transform(X), exact.transform(X)
    np.testing.assert_allclose(ours * np.sign((ours * theirs).sum(axis=0)), theirs, atol=1e-8)


def test_components_of_features():
    X, weight = rows(), np.random.default_rng(1).random(200)
    model = KernelPCA(map=features(), n_directions=3).fit(X, sample_weight=weight)
    Z = model.map_.transform(X)
    Z = Z - weight @ Z / weight.sum()
    values = np.linalg.eigvalsh((Z * weight[:, None]).T @ Z)[::-1]
    np.testing.assert_allclose(model.eigenvalues_, values[:3], rtol=1e-10)
    np.testing.assert_allclose(model.explained_ratio_, values[:3] / values.sum(), rtol=1e-10)
    T = model.transform(X)
    np.testing.assert_allclose((T * weight[:, None]).T @ T, np.diag(values[:3]), atol=1e-10)


def test_signs_are_fixed():
    X = rows(9000)
    parts = [X[start : start + 1000] for start in range(0, 9000, 1000)]
    one = KernelPCA(map=features(), n_directions=3).fit(X)
    other = KernelPCA(map=features(), n_directions=3, n_jobs=2).fit(Blocks(parts))
    np.testing.assert_array_equal(one.directions_, other.directions_)
    assert (one.directions_ @ one.mean_ > 0).all()


def test_fewer_components_than_requested():
    X = np.repeat(rows(4), 10, axis=0)
    model = KernelPCA(n_directions=30, random_state=0).fit(X)
    assert model.transform(X).shape == (40, 3)
    assert model.get_feature_names_out().tolist() == ["kernelpca0", "kernelpca1", "kernelpca2"]


def test_correlations_of_linear_kernels_are_those_of_the_generalised_eigenproblem():
    rng = np.random.default_rng(2)
    shared = rng.normal(size=(300, 2))
    X = np.column_stack([shared + 0.5 * rng.normal(size=(300, 2)), rng.normal(size=(300, 2))])
    Y = np.column_stack([shared @ rng.normal(size=(2, 2)) + 0.5 * rng.normal(size=(300, 2)), rng.normal(size=300)])
    model = KernelCCA(Linear(), kernel_y=Linear(), alpha=0.02, n_directions=3, random_state=0).fit(X, Y)
    A, B = X - X.mean(axis=0), Y - Y.mean(axis=0)
    P, Q = (M.T @ M + 0.02 * np.linalg.eigvalsh(M.T @ M)[-1] * np.eye(M.shape[1]) for M in (A, B))
    C = A.T @ B
    squares = scipy.linalg.eigh(C @ np.linalg.solve(Q, C.T), P, eigvals_only=True)[::-1]
    np.testing.assert_allclose(model.correlations_**2, squares[:3], rtol=1e-8)
    U, V = model.transform(X, Y)
    cross = U.T @ V / 300
    np.testing.assert_allclose(cross, np.diag(model.correlations_), atol=1e-8)
    np.testing.assert_array_equal(model.transform(X), U)


def test_what_two_views_share_is_found():
    rng = np.random.default_rng(3)
    t = rng.uniform(-3, 3, size=1000)
    X, Y = np.column_stack([t, rng.normal(size=1000)]), np.column_stack([np.cos(t), rng.normal(size=1000)])
    model = KernelCCA(n_components=64, n_components_y=64, random_state=0).fit(X[:500], Y[:500])
    U, V = model.transform(X[500:], Y[500:])
    assert np.corrcoef(U[:, 0], V[:, 0])[0, 1] > 0.9
    shuffled = KernelCCA(n_components=64, n_components_y=64, random_state=0).fit(X[:500], Y[rng.permutation(500)])
    assert shuffled.correlations_[0] < model.correlations_[0]


def test_rows_of_norm_one_leave_a_single_target_as_it_is():
    """A single column of positive numbers would lose all information; two columns are scaled."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = 10.0 + np.arctan2(X[:, 1], X[:, 0])  # which rows of norm 1 still distinguish
    model = KernelCCA(n_components=64, n_components_y=64, scale="unit", random_state=0).fit(X, y)
    assert model.correlations_[0] > 0.9
    assert (model.preparation_.scale, model.view_y_.preparation_.scale) == ("unit", None)
    both = KernelCCA(n_components=64, n_components_y=64, scale="unit", random_state=0).fit(
        X, np.column_stack([y, X[:, 0]])
    )
    assert both.view_y_.preparation_.scale == "unit"


def test_lloyds_iterations_on_features():
    X = rows(500)
    model = KernelKMeans(map=features(), n_clusters=4, n_init=5, tol=1e-9, max_iter=300).fit(X)
    Z = model.map_.transform(X)
    for cluster, centre in enumerate(model.centres_):
        np.testing.assert_allclose(centre, Z[model.labels_ == cluster].mean(axis=0), atol=1e-10)
    distances = ((Z[:, None, :] - model.centres_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.labels_, distances.argmin(axis=1))
    np.testing.assert_allclose(model.inertia_, distances.min(axis=1).sum(), rtol=1e-10)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.transform(X) ** 2, distances, atol=1e-10)
    np.testing.assert_allclose(model.score(X), -model.inertia_, rtol=1e-10)
    reference = KMeans(4, n_init=5, random_state=0).fit(Z)
    assert model.inertia_ < 1.05 * reference.inertia_


def test_streams_and_threads_give_the_same_clusters():
    X = rows(9000)
    held = KernelKMeans(map=features(), n_clusters=3, n_init=1, n_jobs=1).fit(X)
    streamed = KernelKMeans(map=features(), n_clusters=3, n_init=1, n_jobs=2, memory=1000).fit(X)
    np.testing.assert_array_equal(held.centres_, streamed.centres_)
    np.testing.assert_array_equal(held.labels_, streamed.labels_)


def test_batches_come_close_to_one_fit():
    X = rows(20000)
    whole = KernelKMeans(map=features(), n_clusters=5).fit(X)
    batches = KernelKMeans(map=features(), n_clusters=5, batch_rows=4096).fit(X)
    assert batches.inertia_ < 1.05 * whole.inertia_


def test_more_clusters_than_rows():
    with pytest.raises(ValueError, match="n_clusters=8 must not exceed the number of rows, found n_samples=5"):
        KernelKMeans().fit(rows(5))


# -- plain kernel values at many landmarks -----------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Gaussian(0.05), Gaussian(1.0), Linear()])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_components_on_plain_kernel_values(kernel, dtype, weighted, monkeypatch):
    """They agree with those of whitened features, up to the digits that float32 and the order of sums leave."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4)).astype(dtype)
    weight = rng.uniform(0.0, 2.0, len(X)) if weighted else None
    arguments = {"map": Nystrom(kernel, n_components=60, random_state=0), "n_directions": 5}
    whitened = KernelPCA(**arguments).fit(X, sample_weight=weight)
    monkeypatch.setattr(choice, "LEAST_LANDMARKS", 10)
    plain = KernelPCA(**arguments).fit(X, sample_weight=weight)
    assert (whitened.map_.whiten, plain.map_.whiten) == (True, False)
    assert len(plain.eigenvalues_) == len(whitened.eigenvalues_)
    close = 1e-6 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(plain.eigenvalues_, whitened.eigenvalues_, rtol=close)
    np.testing.assert_allclose(plain.explained_ratio_, whitened.explained_ratio_, rtol=10 * close)
    ours, theirs = plain.transform(X), whitened.transform(X)
    assert ours.dtype == dtype
    scale = np.abs(theirs).max()
    signs = np.sign((ours * theirs).sum(axis=0))
    np.testing.assert_allclose(signs * ours, theirs, atol=scale * (1e-4 if dtype == np.float64 else 3e-2))


def test_components_on_plain_kernel_values_out_of_blocks_threads_and_files(monkeypatch, tmp_path):
    monkeypatch.setattr(choice, "LEAST_LANDMARKS", 10)
    X = np.random.default_rng(0).normal(size=(900, 4))
    arguments = {"map": Nystrom(Gaussian(0.1), n_components=60, random_state=0)}
    model = KernelPCA(n_jobs=1, **arguments).fit(X)
    other = KernelPCA(n_jobs=2, **arguments).fit(Blocks([X[:300], X[300:]]))
    np.testing.assert_array_equal(model.directions_, other.directions_)
    sparse = KernelPCA(**arguments).fit(sp.csr_array(X))
    np.testing.assert_allclose(sparse.eigenvalues_, model.eigenvalues_, rtol=1e-9)
    mercer.save(model, tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").transform(X), model.transform(X))
    extent = Extent(1024, 10_000, n_jobs=1)
    assert KernelPCA(map="nystrom").bytes_needed(extent) >= KernelPCA().bytes_needed(extent) + 8 * 1024**2


def clusters_by_kernel(model, X, K, at_landmarks, landmarks):
    """Squared distances, computed only from the kernel, to the means of the clusters that a model has found."""
    projected = at_landmarks @ np.linalg.pinv(landmarks, rcond=1e-12) @ at_landmarks.T
    shares = np.eye(model.n_clusters)[model.labels_] / np.bincount(model.labels_)
    return np.diag(K)[:, None] - 2 * projected @ shares + np.diag(shares.T @ projected @ shares)


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Polynomial(2, coef0=1.0)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_clusters_on_plain_kernel_values(kernel, dtype, monkeypatch):
    """Every row is nearest to the mean of its cluster, by distances that need no features."""
    monkeypatch.setattr(choice, "LEAST_LANDMARKS", 10)
    X = rows(500).astype(dtype)
    arguments = {"map": Nystrom(kernel, n_components=30, random_state=0), "n_clusters": 4, "tol": 1e-9, "max_iter": 300}
    model = KernelKMeans(**arguments).fit(X)
    assert not model.map_.whiten
    L = X[model.map_.component_indices_].astype(np.float64)
    distances = clusters_by_kernel(model, X, kernel(X), kernel(X.astype(np.float64), L), kernel(L))
    digits = {"rtol": 1e-5, "atol": 1e-7} if dtype == np.float64 else {"rtol": 1e-2, "atol": 1e-3}
    found = model.transform(X)
    assert found.dtype == dtype
    np.testing.assert_allclose(found**2, distances, **digits)
    np.testing.assert_allclose(model.inertia_, distances.min(axis=1).sum(), rtol=1e-3)
    np.testing.assert_allclose(-model.score(X), model.inertia_, rtol=1e-3)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert (distances[np.arange(len(X)), model.labels_] <= distances.min(axis=1) + digits["atol"]).all()


def test_clusters_on_plain_kernel_values_are_those_of_whitened_features(monkeypatch):
    X = np.concatenate([rows(300) + centre for centre in (-6.0, 0.0, 6.0)])
    arguments = {"map": Nystrom(Gaussian(0.1), n_components=50, random_state=0), "n_clusters": 3}
    whitened = KernelKMeans(**arguments).fit(X)
    monkeypatch.setattr(choice, "LEAST_LANDMARKS", 10)
    plain = KernelKMeans(**arguments).fit(X)
    assert (whitened.map_.whiten, plain.map_.whiten) == (True, False)
    np.testing.assert_array_equal(plain.labels_, whitened.labels_)
    np.testing.assert_allclose(plain.centre_lengths_, whitened.centre_lengths_, rtol=1e-6)


def test_clusters_on_plain_kernel_values_out_of_blocks_threads_and_files(monkeypatch, tmp_path):
    monkeypatch.setattr(choice, "LEAST_LANDMARKS", 10)
    X = rows(9000)
    arguments = {"map": Nystrom(Gaussian(0.1), n_components=40, random_state=0), "n_clusters": 3, "n_init": 1}
    model = KernelKMeans(n_jobs=1, **arguments).fit(X)
    other = KernelKMeans(n_jobs=2, memory=1000, **arguments).fit(Blocks([X[:700], X[700:]]))
    np.testing.assert_array_equal(model.centres_, other.centres_)
    np.testing.assert_array_equal(model.labels_, other.labels_)
    batches = KernelKMeans(batch_rows=4096, **arguments).fit(X)
    assert batches.inertia_ < 1.05 * model.inertia_
    sparse = KernelKMeans(**arguments).fit(sp.csr_array(X))
    np.testing.assert_allclose(sparse.inertia_, model.inertia_, rtol=1e-9)
    mercer.save(model, tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").transform(X), model.transform(X))


@pytest.mark.parametrize("machine", [KernelPCA, KernelKMeans])
def test_the_factor_of_many_landmarks_is_counted(machine):
    model, extent = machine(), Extent(1024, 10_000, n_jobs=1)
    others = model.bytes_needed(extent)
    assert model.set_params(map="nystrom").bytes_needed(extent) >= others + 8 * 1024**2
    table, context = model.set_params(n_components=600).table_to_fit(rows(700)), FitContext(memory=8 * 600**2)
    with pytest.raises(MemoryError, match="features and their solution"):
        model.fit_table(table, context)


def test_clusters_of_older_files_have_lengths(tmp_path, monkeypatch):
    X = rows(60)
    model = KernelKMeans(map=features(), n_clusters=3).fit(X)
    layout = KernelKMeans.array_layout
    with monkeypatch.context() as older:
        older.setattr(
            KernelKMeans,
            "array_layout",
            lambda self: {name: leaf for name, leaf in layout(self).items() if name != "centre_lengths_"},
        )
        mercer.save(model, tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").transform(X), model.transform(X))


UNSUPERVISED = (KernelPCA(), KernelKMeans(n_clusters=2, n_init=1), KernelCCA())


def fitted(learner, X, **arguments):
    model = clone(learner).set_params(n_components=24, random_state=0, **arguments)
    return model.fit(X, X[:, :1]) if isinstance(learner, KernelCCA) else model.fit(X)


@pytest.mark.parametrize("learner", UNSUPERVISED, ids=lambda one: type(one).__name__)
def test_units_of_columns_do_not_matter_unless_rows_are_to_stay_as_they_are(learner):
    X = rows()
    units = X * np.array([1.0, 1e-3, 1e4, 1.0])
    ours, theirs = fitted(learner, X).transform(X), fitted(learner, units).transform(units)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)
    as_they_are = {"scale": None, "missing": "error"}
    ours, theirs = fitted(learner, X, **as_they_are), fitted(learner, units, **as_they_are)
    assert theirs.preparation_.factor is None
    assert not np.allclose(ours.transform(X), theirs.transform(units), atol=1e-2)


@pytest.mark.parametrize("learner", UNSUPERVISED, ids=lambda one: type(one).__name__)
def test_gaps_are_filled_and_marked_unless_they_are_to_be_refused(learner):
    X = rows()
    X[::5, 1] = np.nan
    model = fitted(learner, X)
    assert model.map_.n_features_in_ == 5
    assert np.isfinite(model.transform(X)).all()
    with pytest.raises(ValueError, match="NaN"):
        fitted(learner, X, missing="error")


def test_a_kernel_with_its_bandwidth_takes_rows_as_they_are():
    X = rows() * 1e3
    assert KernelPCA(Gaussian(1e-6), random_state=0).fit(X).preparation_.factor is None
    assert KernelPCA(Gaussian("scale"), random_state=0).fit(X).preparation_.factor is not None
