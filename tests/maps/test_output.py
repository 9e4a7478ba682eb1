"""``transform(X, out=...)``, and entries of rows that are checked tile by tile."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from mercer import AdditiveMap, HadamardSketch, Nystrom, RandomFourier, RandomMaclaurin, TensorSketch
from mercer.kernels import AdditiveChi2, Polynomial, VovkInfinite
from mercer.maps.row_checks import row_check

from ..tables import ROWS, sample_rows

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")

N = 600
"""Three tiles."""
CHOSEN = (
    "TensorSketch(Polynomial(degree=2",
    "HadamardSketch(Polynomial(degree=4",
    "RandomMaclaurin(Polynomial(degree=3",
)
CHOSEN += (
    "RandomFourier(Gaussian",
    "StructuredFourier(Gaussian",
    "Nystrom(Gaussian(gamma=2.0))",
    "Compressed-TensorSk",
)
CHOSEN += ("AdditiveMap(AdditiveChi2", "Stack-HadamardSketch-RandomMaclaurin", "ComplexSketch(Polynomial(degree=2")
some = pytest.mark.parametrize("row", [pytest.param(row, id=row.id) for row in ROWS if row.id.startswith(CHOSEN)])


def test_some_rows_of_the_table_are_chosen():
    assert all(any(row.id.startswith(name) for row in ROWS) for name in CHOSEN)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@some
def test_the_same_bits_in_the_array_that_was_given(row, form, dtype):
    X = form(row.sample(N).astype(dtype))
    features = row(24, random_state=0, n_jobs=2).fit(X)
    Z = features.transform(X)
    if sp.issparse(Z):
        with pytest.raises(ValueError, match="out must be None if sparse rows have sparse features"):
            features.transform(X, out=np.empty(Z.shape, dtype=dtype))
        return
    out = np.full(Z.shape, np.nan, dtype=dtype)
    assert features.transform(X, out=out) is out
    np.testing.assert_array_equal(out, Z)


@needs_torch
@some
def test_the_same_bits_in_a_tensor(row):
    X = torch.from_numpy(row.sample(N).astype(np.float32))
    features = row(24, random_state=0).fit(X)
    Z = features.transform(X)
    out = torch.full(Z.shape, torch.nan)
    assert features.transform(X, out=out) is out
    assert torch.equal(out, Z)


def read_only(Z):
    Z.flags.writeable = False
    return Z


REFUSED = {
    "rows": (lambda Z: Z[:-1], ValueError, r"out must have shape \(8, 6\) and dtype float32, found \(7, 6\)"),
    "width": (lambda Z: np.zeros((8, 7), Z.dtype), ValueError, r"shape \(8, 6\) .* found \(8, 7\)"),
    "dimensions": (lambda Z: Z.ravel(), ValueError, r"shape \(8, 6\) .* found \(48,\)"),
    "dtype": (lambda Z: Z.astype(np.float64), ValueError, "dtype float32, found .* float64"),
    "byte order": (lambda Z: Z.astype(">f4"), ValueError, "dtype float32, found .* >f4"),
    "columns first": (np.asfortranarray, ValueError, "C-contiguous and writeable"),
    "every second row": (lambda Z: np.repeat(Z, 2, axis=0)[::2], ValueError, "C-contiguous and writeable"),
    "read-only": (read_only, ValueError, "C-contiguous and writeable"),
    "a list": (lambda Z: Z.tolist(), TypeError, "out must be a NumPy array, found list"),
    "sparse": (sp.csr_array, TypeError, "out must be a NumPy array, found csr_array"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_unsuitable_outputs_are_refused(form, case):
    make, error, message = REFUSED[case]
    X = form(sample_rows().astype(np.float32))
    features = HadamardSketch(n_components=6, random_state=0).fit(X)
    with pytest.raises(error, match=message):
        features.transform(X, out=make(np.zeros((8, 6), dtype=np.float32)))


@pytest.mark.parametrize("shift", [0, 39])
@pytest.mark.parametrize("make", [TensorSketch, RandomFourier])
def test_rows_that_would_be_overwritten_are_refused(make, shift):
    memory = np.zeros(100)
    memory[:40] = sample_rows().ravel()
    X, out = memory[:40].reshape(8, 5), memory[shift : shift + 48].reshape(8, 6)
    stored = sp.csr_array(X)
    stored.data = memory[:40]
    features = make(n_components=6, random_state=0).fit(X)
    for rows in (X, stored):
        with pytest.raises(ValueError, match="out must not overlap X"):
            features.transform(rows, out=out)
    beside = memory[40:88].reshape(8, 6)
    np.testing.assert_array_equal(features.transform(X, out=beside), features.transform(X))


@needs_torch
def test_unsuitable_tensors_are_refused():
    X = torch.from_numpy(sample_rows(d=6))
    features = TensorSketch(n_components=6, random_state=0).fit(X)
    for out in (np.zeros((8, 6)), torch.zeros((8, 6), dtype=torch.float32), torch.zeros((8, 5), dtype=X.dtype)):
        with pytest.raises((TypeError, ValueError), match="out must"):
            features.transform(X, out=out)
    with pytest.raises(ValueError, match="out must not overlap X"):
        features.transform(X, out=X)
    with pytest.raises(TypeError, match="found Tensor"):
        features.transform(X.numpy(), out=torch.zeros((8, 6), dtype=X.dtype))


def test_a_frame_of_what_was_given():
    pandas = pytest.importorskip("pandas")
    X = sample_rows(N)
    features = HadamardSketch(n_components=6, random_state=0).fit(X)
    Z, out = features.transform(X), np.full((N, 6), np.nan)
    frame = features.set_output(transform="pandas").transform(X, out=out)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == [f"hadamardsketch{i}" for i in range(6)]
    np.testing.assert_array_equal(out, Z)
    np.testing.assert_array_equal(frame.to_numpy(), Z)


@pytest.mark.parametrize("make", [HadamardSketch, Nystrom])
def test_out_is_no_metadata(make):
    X = sample_rows(60)
    y = X.sum(axis=1)
    expected = make_pipeline(make(n_components=8, random_state=0), Ridge()).fit(X, y).predict(X)
    with sklearn.config_context(enable_metadata_routing=True):
        features = make(n_components=8, random_state=0)
        assert not hasattr(features, "set_transform_request")
        assert "out" not in str(features.get_metadata_routing())
        found = make_pipeline(features, Ridge()).fit(X, y).predict(X)
    np.testing.assert_array_equal(found, expected)


# -- entries -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_entry_of_the_last_tile_is_named_by_its_row(n_jobs, form):
    X = sample_rows(N)
    features = RandomMaclaurin(n_components=8, random_state=0, n_jobs=n_jobs).fit(X)
    X[590, 2] = np.nan
    with pytest.raises(ValueError, match="NaN" if form is sp.csr_array else r"(?s)NaN.*row 590, column 2"):
        features.transform(form(X))


@pytest.mark.parametrize("kernel", [AdditiveChi2(), VovkInfinite()])
def test_a_row_outside_the_domain_is_named(kernel):
    X = np.abs(sample_rows(N))
    make = AdditiveMap if kernel == AdditiveChi2() else RandomMaclaurin
    features = make(kernel, n_components=8, random_state=0, n_jobs=2).fit(X)
    X[[580, 590]] *= -9.0
    with pytest.raises(ValueError, match="row 580"):
        features.transform(X)


def test_the_first_row_that_overflows_is_named():
    X = sample_rows(2000)
    features = HadamardSketch(Polynomial(4), n_components=8, random_state=0, n_jobs=2).fit(X)
    X[300:] *= 1e100
    for _ in range(5):
        with pytest.raises(ValueError, match="row 300 overflow"):
            features.transform(X)


def test_rows_that_are_said_to_be_finite_are_not_looked_at():
    X = np.array([[1.0, np.nan]])
    refused = []
    for assumed in (False, True):
        with sklearn.config_context(assume_finite=assumed):
            check = row_check(X, lambda rows: None, lambda assumed=assumed: refused.append(assumed))
        with ThreadPoolExecutor(1) as pool:  # if nothing is configured
            pool.submit(check, X).result()
    assert refused == [False]
