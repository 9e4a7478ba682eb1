"""Projections learned from the rows: the papers' matrices formed as a whole, against the streamed ones."""

import tracemalloc

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from mercer import Compressed, RandomFourier, TaylorSketch, TensorSketch, kernel_error
from mercer._random import Stream
from mercer.data import ArrayRows
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.maps import _compression
from mercer.maps._compression import STREAM_ROWS, gaussian_rows, hadamard_columns, hadamard_sketch, sign_rows

from ..tables import sample_rows

METHODS = ("tefm-g", "tefm-s")
WIDTH = 24


def fourier():
    return RandomFourier(Gaussian(0.3))


def cloud(n, d=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def fitted(X, method, **options):
    options = {"n_components": WIDTH, "random_state": 5, "n_jobs": 1} | options
    return Compressed(fourier(), method=method, **options).fit(X)


def wide_features(sketch, X):
    return sketch.map_.fitted_.apply(X)


def theta(method, rng, n):
    """The paper's Theta, as a whole."""
    if method == "tefm-g":
        blocks = range(-(-n // STREAM_ROWS))
        return np.concatenate([rng.child("theta", block).normals((STREAM_ROWS, WIDTH)) for block in blocks])[:n]
    size = 1 << (n - 1).bit_length()
    columns = rng.child("columns").subset(size.bit_length() - 1, WIDTH)
    return sign_rows(rng, 0, n)[:, None] * scipy.linalg.hadamard(size)[:n, columns] / np.sqrt(WIDTH)


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks of 64 rows, so that a few hundred rows are several."""
    monkeypatch.setattr(_compression, "MOST_ROWS", 64)


@pytest.mark.parametrize("n", [64, 300, 512])
@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.usefixtures("small_chunks")
def test_the_gram_matrix_is_that_of_the_paper(method, power, n):
    X = cloud(n)
    sketch = fitted(X, method, power=power)
    F = wide_features(sketch, X)
    assert F.shape == (n, 4 * WIDTH)
    Y = F.T @ theta(method, Stream(5, "Compressed"), n)
    for _ in range(power):
        Y = F.T @ (F @ Y)
    Q, _ = np.linalg.qr(Y)
    Z = sketch.transform(X)
    np.testing.assert_allclose(Z @ Z.T, F @ Q @ Q.T @ F.T, rtol=1e-8, atol=1e-8)
    projection = sketch.parameters_.projection
    np.testing.assert_allclose(projection.T @ projection, np.eye(WIDTH), atol=1e-13)
    np.testing.assert_allclose(projection @ projection.T, Q @ Q.T, atol=1e-8)
    np.testing.assert_allclose(Z, F @ projection, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("chunk", [64, 128, 256])
@pytest.mark.parametrize("n", [200, 256])
def test_the_streamed_transform_is_the_hadamard_matrix(n, chunk):
    rng, F = Stream(5, "Compressed"), np.eye(n)
    sketch = hadamard_sketch(rng, n, chunk, WIDTH)
    parts = [sketch(F[start : start + chunk], start) for start in range(0, n, chunk)]
    np.testing.assert_allclose(sum(parts), theta("tefm-s", rng, n), rtol=1e-14, atol=1e-15)
    assert len(set(hadamard_columns(rng, n, WIDTH))) == WIDTH


def test_columns_are_drawn_evenly():
    counts = np.zeros(16)
    for seed in range(4000):
        counts[Stream(seed).subset(4, 5)] += 1
    # Each count is binomial with mean 1,250 and deviation 29: five deviations, 16 counts, are exceeded once in 1e5.
    assert np.abs(counts - 1250).max() < 5 * 29.3
    np.testing.assert_array_equal(Stream(1).subset(10, 300)[:50], Stream(1).subset(10, 50))
    np.testing.assert_array_equal(np.sort(Stream(1).subset(3, 8)), np.arange(8))


def test_rows_of_theta_are_found_by_their_number():
    rng = Stream(2)
    whole = gaussian_rows(rng, 0, 500, 3)
    assert whole.shape == (500, 3)
    assert len(np.unique(whole)) == whole.size
    np.testing.assert_array_equal(gaussian_rows(rng, 128, 200, 3), whole[128:328])
    np.testing.assert_array_equal(sign_rows(rng, 128, 200), sign_rows(rng, 0, 500)[128:328])
    signs = sign_rows(rng, 0, 128)
    assert (signs[:64] != signs[64:]).any()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.usefixtures("small_chunks")
def test_blocks_and_threads_do_not_change_a_bit(method, form, monkeypatch):
    X = form(cloud(300) * (cloud(300, seed=1) > 0))
    expected = fitted(X, method).parameters_.projection
    for n_jobs in (2, 5, None):
        np.testing.assert_array_equal(fitted(X, method, n_jobs=n_jobs).parameters_.projection, expected)
    for size in (1, 7, 64, 100, 299):
        monkeypatch.setattr("mercer._rows.BLOCK_ROWS", size)
        np.testing.assert_array_equal(fitted(X, method, n_jobs=2).parameters_.projection, expected)


@pytest.mark.parametrize("method", METHODS)
def test_other_chunks_change_the_last_digits_only(method, monkeypatch):
    X = cloud(300)
    expected = fitted(X, method).transform(X)
    monkeypatch.setattr(_compression, "CHUNK_BYTES", 1)
    np.testing.assert_allclose(fitted(X, method).transform(X), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_the_distance_from_the_wide_map_falls_with_the_power(method):
    X, new = cloud(600), cloud(200, seed=1)
    lost, distances = [], []
    for power in (0, 1, 3):
        sketches = [fitted(X, method, power=power, random_state=seed) for seed in range(5)]
        lost.append(np.mean([np.vdot(F, F) - np.vdot(Z, Z) for F, Z in map(both(X), sketches)]))
        distances.append(np.mean([np.linalg.norm(F @ F.T - Z @ Z.T) for F, Z in map(both(new), sketches)]))
    best = np.mean([np.linalg.eigvalsh(F.T @ F)[:-WIDTH].sum() for F, _ in map(both(X), sketches)])
    assert lost[0] > 1.1 * lost[1] > 1.1 * lost[2]
    assert best < lost[2] < 1.25 * best
    assert distances[0] > 1.1 * distances[1] > 1.1 * distances[2]


def both(X):
    return lambda sketch: (wide_features(sketch, X), sketch.transform(X))


@pytest.mark.parametrize("method", METHODS)
def test_tefm_is_better_than_the_inner_map_and_than_a_random_projection(method):
    X, new = cloud(600), cloud(200, seed=1)
    errors = {}
    for name in (method, "craft"):
        sketches = [Compressed(fourier(), n_components=64, method=name, random_state=seed).fit(X) for seed in range(4)]
        errors[name] = np.mean([kernel_error(sketch, new).relative for sketch in sketches])
    plain = [fourier().set_params(n_components=64, random_state=seed).fit(X) for seed in range(4)]
    plain_error = np.mean([kernel_error(sketch, new).relative for sketch in plain])
    assert errors[method] < 0.8 * plain_error
    assert errors[method] < 0.8 * errors["craft"]


@pytest.mark.parametrize("method", METHODS)
def test_a_projection_never_adds(method):
    X, new = cloud(300), cloud(50, seed=1)
    sketch = fitted(X, method)
    for rows in (X, new):
        F, Z = wide_features(sketch, rows), sketch.transform(rows)
        assert np.linalg.eigvalsh(F @ F.T - Z @ Z.T).min() > -1e-12
        values, narrowed = (np.linalg.eigvalsh(M @ M.T) for M in (F, Z))
        assert (narrowed <= values + 1e-12).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2, 5, 8, 23, 24])
def test_rows_that_fit_in_the_width_are_exact(method, n):
    X = cloud(n)
    sketch = fitted(X, method)
    Z, F = sketch.transform(X), wide_features(sketch, X)
    assert Z.shape == (n, WIDTH)
    np.testing.assert_allclose(Z @ Z.T, F @ F.T, rtol=1e-12, atol=1e-12)
    assert sketch.captured_ == 1.0
    projection = sketch.parameters_.projection
    np.testing.assert_allclose(projection.T @ projection, np.eye(WIDTH), atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("power", [0, 1])
def test_rows_of_low_rank_are_exact(method, power):
    once = cloud(10)
    X = np.concatenate([once] * 6)
    sketch = fitted(X, method, power=power)
    Z, F = sketch.transform(X), wide_features(sketch, X)
    np.testing.assert_allclose(Z @ Z.T, F @ F.T, rtol=1e-11, atol=1e-11)
    linear = Compressed(TensorSketch(Linear()), method=method, n_components=WIDTH, power=power, random_state=0).fit(X)
    Z, F = linear.transform(X), wide_features(linear, X)
    np.testing.assert_allclose(Z @ Z.T, F @ F.T, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("method", METHODS)
def test_the_last_digits_of_the_rows_do_not_choose_the_directions_left_over(method):
    X = np.concatenate([cloud(10)] * 6)
    new = cloud(20, seed=1)
    grams = [Z @ Z.T for Z in (fitted(rows, method).transform(new) for rows in (X, 0.3 * X + 0.7 * X))]
    np.testing.assert_allclose(*grams, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_zeros(method):
    X = np.zeros((60, 3))
    sketch = Compressed(TensorSketch(Linear()), method=method, n_components=8, random_state=0).fit(X)
    np.testing.assert_array_equal(sketch.transform(X), np.zeros((60, 8)))
    assert np.isfinite(sketch.transform(np.ones((2, 3)))).all()


@pytest.mark.parametrize("method", METHODS)
def test_what_is_captured_is_at_least_what_is_said(method):
    X = cloud(500)
    for power in (1, 2):
        sketch = fitted(X, method, power=power)
        F, Z = both(X)(sketch)
        share = np.vdot(Z, Z) / np.vdot(F, F)
        before = fitted(X, method, power=power - 1).transform(X)
        assert np.vdot(before, before) / np.vdot(F, F) < sketch.captured_ <= share
        assert sketch.captured_ > 0.9 * share
    assert fitted(np.concatenate([X[:10]] * 6), method).captured_ == pytest.approx(1.0, abs=1e-12)
    assert fitted(X, method, power=0).captured_ is None
    assert fitted(X, "craft").captured_ is None


@pytest.mark.parametrize("method", METHODS)
def test_float32_rows_teach_what_float64_rows_teach(method):
    X = cloud(300).astype(np.float32)
    single, double = (fitted(rows, method) for rows in (X, X.astype(np.float64)))
    np.testing.assert_array_equal(single.parameters_.projection, double.parameters_.projection)
    assert single.transform(X).dtype == np.float32


@pytest.mark.parametrize("method", METHODS)
def test_fold_of_a_learned_projection(method):
    X = cloud(100)
    sketch = fitted(X, method)
    coef = cloud(2, WIDTH)
    inner = sketch.map_.transform(X)
    np.testing.assert_allclose(inner @ sketch.fold(coef).T, sketch.transform(X) @ coef.T, rtol=1e-10, atol=1e-12)
    assert sketch.fold(coef[0].astype(np.float32)).dtype == np.float32
    assert sketch.fold([1] * WIDTH).dtype == np.float64


def test_the_default_factor_is_the_papers():
    X = cloud(40)
    assert fitted(X, "craft").map_.n_components_ == 8 * WIDTH
    assert fitted(X, "tefm-s").map_.n_components_ == 4 * WIDTH
    assert fitted(X, "tefm-g", factor=2).map_.n_components_ == 2 * WIDTH


@pytest.mark.usefixtures("small_chunks")
def test_refusals():
    X = sample_rows()
    with pytest.raises(ValueError, match="power must be a whole number of at least 0, found -1"):
        fitted(X, "tefm-g", power=-1)
    with pytest.raises(NotImplementedError, match="the mean of Compressed is not known: tefm-s learns its projection"):
        fitted(X, "tefm-s").mean(X)
    X = cloud(300)
    X[270] = 1e200
    with pytest.raises(ValueError, match="the features of row 270 overflow float64"):
        Compressed(TensorSketch(Polynomial(2)), method="tefm-g", random_state=0).fit(X)


def test_the_wide_features_are_never_held_as_a_whole():
    class Watched(TensorSketch):
        class construction(TensorSketch.construction):  # noqa: N801
            def apply(self, params, X):
                Watched.seen = max(getattr(Watched, "seen", 0), X.shape[0])
                return super().apply(params, X)

    sizes = []

    class Rows(ArrayRows):
        def blocks(self):
            for block in super().blocks():
                sizes.append(block.shape[0])
                yield block

    X = cloud(10_000)
    sketch = Compressed(Watched(Linear()), n_components=8, method="tefm-g", random_state=0).fit(X)
    sketch.construction_.draw(Stream(0), Rows(X, Stream(0)))
    assert Watched.seen <= 256
    assert sizes == 2 * [4096, 4096, 1808]
    wide = _compression.Tefm(None, ArrayRows(X, Stream(0)), 8192, 1)
    assert wide.chunk_rows * 8192 * 8 <= 32 * 2**20


@pytest.mark.parametrize("method", METHODS)
def test_extra_memory_of_fit_does_not_grow_with_the_rows(method):
    X = cloud(20_000)
    sketch = Compressed(RandomFourier(Gaussian(0.3)), n_components=64, method=method, random_state=0, n_jobs=1)
    sketch.fit(X[:3000])
    tracemalloc.start()
    sketch.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24e6  # all wide features would be 41 MB, a chunk of them is 4


def test_a_learned_projection_of_a_biased_map():
    X = sample_rows(200)
    sketch = Compressed(TaylorSketch(Gaussian(0.5)), n_components=16, method="tefm-g", random_state=0).fit(X)
    assert kernel_error(sketch, X).relative < 0.05
