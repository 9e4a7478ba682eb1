"""float32, torch, and results that do not depend on how the rows were cut."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import mercer
from mercer import Nystrom, RandomMaclaurin, TaylorSketch, TensorSketch, TreeSketch, _core
from mercer._array import dense, hadamard, hadamard_reference
from mercer._tiles import TILE
from mercer.kernels import Gaussian, Laplacian, Polynomial, VovkInfinite
from mercer.maps._fourier import Frequencies

from ..tables import every_value, first_of_class, first_of_kind, obeying, sample_rows

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")


@pytest.mark.parametrize("row", first_of_class(obeying()))
def test_float32_stays_and_is_close_to_float64(row):
    X = row.sample(40)
    sketch = row(32, random_state=0).fit(X)
    exact = sketch.transform(X.astype(np.float32).astype(np.float64))
    single = sketch.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    assert exact.dtype == np.float64
    np.testing.assert_allclose(single, exact, rtol=1e-3, atol=2e-5 * np.abs(exact).max())
    assert row(32, random_state=0).fit(X.astype(np.float32)).transform(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4])
def test_long_phases_keep_their_digits_in_float32(scale):
    X = (scale * sample_rows(40)).astype(np.float32)
    sketch = RandomMaclaurin(Polynomial(2).of(Laplacian()), n_components=64, random_state=0).fit(X)
    for rows in (X, sp.csr_array(X)):
        np.testing.assert_allclose(sketch.transform(rows), sketch.transform(X.astype(np.float64)), atol=1e-6)


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", obeying())
def test_torch_gives_what_numpy_gives(row, dtype):
    X = row.sample(300).astype(dtype)
    sketch = row(32, random_state=0).fit(X)
    expected = sketch.transform(X)
    Z = sketch.transform(torch.from_numpy(X))
    assert isinstance(Z, torch.Tensor)
    assert Z.dtype == getattr(torch, dtype)
    tolerance = 1e-11 if dtype == "float64" else 2e-5
    np.testing.assert_allclose(Z.numpy(), expected, rtol=100 * tolerance, atol=tolerance * np.abs(expected).max())


@needs_torch
def test_a_map_can_be_fitted_on_torch():
    X = sample_rows(300)
    for sketch in (TensorSketch(random_state=0), TaylorSketch(Gaussian("median"), random_state=0)):
        expected = sketch.fit(X).parameters_
        fitted = sketch.fit(torch.from_numpy(X))
        assert isinstance(fitted.transform(torch.from_numpy(X)), torch.Tensor)
        for left, right in zip(expected[:1], fitted.parameters_[:1], strict=True):
            np.testing.assert_array_equal(left, right)


@needs_torch
def test_kernel_error_takes_torch():
    X = sample_rows(50)
    sketch = TensorSketch(random_state=0).fit(X)
    error = mercer.kernel_error(sketch, torch.from_numpy(X))
    assert error.relative == pytest.approx(mercer.kernel_error(sketch, X).relative)


@needs_torch
def test_torch_input_is_checked():
    sketch = TensorSketch().fit(sample_rows())
    with pytest.raises(ValueError, match="X has 3 features, but TensorSketch is expecting 5"):
        sketch.transform(torch.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"(?s)NaN or infinity.*row 0, column 0"):
        sketch.transform(torch.full((2, 5), float("nan")))
    for wrong in (torch.zeros(5), torch.zeros((0, 5))):
        with pytest.raises(ValueError, match="2-dimensional array of at least one row, found shape"):
            sketch.transform(wrong)
    with pytest.raises(ValueError, match=r"float32 or float64, found torch\.int64"):
        sketch.transform(torch.zeros((2, 5), dtype=torch.int64))
    with pytest.raises(ValueError, match="row 1 has 5"):
        TaylorSketch(VovkInfinite()).fit(sample_rows()).transform(torch.tensor([[0.0] * 5, [1.0] * 5]))


MATRIX_FREE = (
    mercer.Fastfood,
    mercer.HadamardSketch,
    mercer.StructuredFourier,
    mercer.TensorSketch,
    mercer.TreeSketch,
)


@every_value(row=first_of_class(obeying()), form=[np.float64, np.float32, sp.csr_array])
def test_threads_and_aligned_chunks_give_the_same_bits(row, form):
    X = row.sample(3 * TILE + 50)
    X = sp.csr_array(X) if form is sp.csr_array else X.astype(form)
    sketch = row(32, random_state=0, n_jobs=1).fit(X)
    whole = dense(sketch.transform(X))
    np.testing.assert_array_equal(dense(sketch.set_params(n_jobs=3).transform(X)), whole)
    for cut in (TILE, 2 * TILE):
        parts = [dense(sketch.transform(X[:cut])), dense(sketch.transform(X[cut:]))]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.skipif(not _core.AVAILABLE, reason="BLAS sums in an order that depends on the number of rows")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "make",
    [
        lambda: mercer.RandomFourier(Laplacian(0.1), n_components=301),
        lambda: mercer.RandomFourier(Gaussian(0.001), n_components=77, form="offset"),
        lambda: mercer.OrthogonalFourier(Gaussian(0.001), n_components=600),
        lambda: mercer.QuasiFourier(Gaussian(0.001), n_components=64),
        lambda: Nystrom(Gaussian(0.001), n_components=150),
        lambda: Nystrom(Polynomial(2, coef0=1.0), n_components=100),
    ],
)
def test_packed_products_leave_all_cuts_free(make, dtype):
    X = np.random.default_rng(0).normal(size=(TILE + 130, 300)).astype(dtype)
    sketch = make().set_params(random_state=0, n_jobs=1).fit(X)
    whole = sketch.transform(X)
    for cut in (1, 13, 100, 257):
        np.testing.assert_array_equal(np.concatenate([sketch.transform(X[:cut]), sketch.transform(X[cut:])]), whole)
    np.testing.assert_array_equal(sketch.set_params(n_jobs=3).transform(X), whole)


@pytest.mark.parametrize("row", first_of_class(obeying()))
def test_any_other_chunks_agree_to_a_few_ulp(row):
    X = row.sample(TILE + 30)
    sketch = row(32, random_state=0).fit(X)
    whole = sketch.transform(X)
    for cut in (1, 7, 100):
        parts = np.concatenate([sketch.transform(X[:cut]), sketch.transform(X[cut:])])
        if isinstance(sketch, MATRIX_FREE):
            np.testing.assert_array_equal(parts, whole)
        scale = np.abs(whole).max(axis=1, keepdims=True)
        random = getattr(sketch.parameters_, "random", sketch.parameters_)
        if isinstance(random, Frequencies):  # a phase is rounded before its cosine is computed
            scale *= 1.0 + np.abs(X @ random.frequencies.T).max(axis=1, keepdims=True)
        inner = getattr(sketch, "map_", sketch)
        if isinstance(inner, Nystrom):  # a kernel value is rounded before it is divided by the root of an eigenvalue
            values = np.abs(inner.kernel_(X, inner.parameters_.landmarks)) @ np.abs(inner.parameters_.whitening)
            scale += np.linalg.norm(values, axis=1, keepdims=True)
        ulp = np.spacing(scale)
        assert (np.abs(parts - whole) <= 8 * ulp).all()


@pytest.mark.parametrize("row", first_of_kind(obeying("nested")))
def test_a_larger_map_starts_with_the_smaller_one(row):
    X = row.sample()
    large = row(96, random_state=4).fit_transform(X)
    for width in (2, 8, 32, 64):
        small = row(width, random_state=4).fit_transform(X)
        np.testing.assert_allclose(np.sqrt(width) * small, np.sqrt(96) * large[:, :width], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 1), (5, 8), (2, 3, 64)])
def test_the_reference_transform_is_the_compiled_one(shape, dtype):
    X = np.random.default_rng(0).normal(size=shape).astype(dtype)
    before, expected = X.copy(), X @ scipy.linalg.hadamard(shape[-1]).astype(dtype)
    for transform in (hadamard, hadamard_reference):
        np.testing.assert_allclose(transform(X), expected, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-5)
    assert hadamard(X).dtype == dtype
    np.testing.assert_array_equal(X, before)


def test_wide_rows_take_smaller_tiles():
    from mercer._tiles import SMALLEST_TILE, tile_rows

    assert tile_rows(1) == TILE
    assert tile_rows(10**9) == SMALLEST_TILE
    assert TreeSketch(Polynomial(4), n_components=3).fit(sample_rows()).construction_.scratch > 0


@every_value(row=obeying(), form=[np.float64, np.float32, sp.csr_array])
def test_the_compiled_path_is_the_reference(row, form):
    X = row.sample(40)
    X = sp.csr_array(X) if form is sp.csr_array else X.astype(form)
    for width in (33, 40):
        sketch = row(width, random_state=0).fit(X)
        fitted = sketch.fitted_.on(X)
        native = fitted.native(X.dtype)
        if native is None:
            continue
        out = np.empty((40, sketch.n_components_), dtype=X.dtype)
        assert native(X, out) is None
        expected = fitted.apply(X)
        digits = 1e-13 if X.dtype == np.float64 else 1e-5  # a phase of 32 has no more in float32
        np.testing.assert_allclose(out, expected, atol=digits * np.abs(expected).max())
