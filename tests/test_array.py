"""Rows in memory: masked entries are gaps, and indices of sparse matrices must be within their bounds."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import OrthogonalFourier
from mercer._array import to_numpy
from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier, KernelRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + X[:, 1]


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (np.array([1, 2, 3], dtype=np.int8), [1.0, np.nan, 3.0]),
        (np.array([1.5, 2.0, 3.0], dtype=np.float32), [1.5, np.nan, 3.0]),
        (np.array([True, True, False]), [1.0, np.nan, 0.0]),
        (np.array([2, 3, 4], dtype="datetime64[D]"), np.array([2, "NaT", 4], dtype="datetime64[D]")),
        (np.array(["a", "b", "c"]), np.array(["a", None, "c"], dtype=object)),
    ],
)
def test_masked_entries_are_missing_values(values, wanted):
    found = to_numpy(np.ma.array(values, mask=[False, True, False]))
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == values.dtype or values.dtype.kind not in "fM"
    assert to_numpy(np.ma.array(values)).dtype == values.dtype


def test_no_estimator_takes_what_lies_beneath_a_mask_for_data():
    masked = np.ma.array(X, mask=X > 1.0)
    gaps = np.where(X > 1.0, np.nan, X)
    model = KernelRegressor(random_state=0).fit(masked, Y)
    np.testing.assert_array_equal(model.predict(masked), KernelRegressor(random_state=0).fit(gaps, Y).predict(gaps))
    for act in (OrthogonalFourier(n_components=4).fit, Gaussian(1.0)):
        with pytest.raises(ValueError, match="contains NaN"):
            act(masked)
    for model in (KernelRegressor(), KernelClassifier()):
        with pytest.raises(ValueError, match="contains NaN"):
            model.fit(X, np.ma.array((Y > 0).astype(int), mask=Y > 1.0))


def broken(format: str, fault: str) -> sp.spmatrix:
    """A sparse matrix with an index out of bounds."""
    rows = sp.random(60, 8, density=0.3, format=format, random_state=0)
    if format == "coo":
        rows.col[3] = {"beyond": 8, "negative": -1}[fault]
    elif fault in ("beyond", "negative"):
        rows.indices[3] = 10_000 if fault == "beyond" else -1
    else:
        rows.indptr[5] = {"falls": rows.indptr[6] + 3, "ends late": 0}[fault]
        if fault == "ends late":
            rows.indptr[-1] += 10_000
    return rows


@pytest.mark.parametrize(
    ("format", "fault"),
    [("coo", "beyond"), ("coo", "negative")]
    + [(one, fault) for one in ("csr", "csc") for fault in ("beyond", "negative", "falls", "ends late")],
)
def test_indices_that_lead_out_of_a_sparse_matrix_are_refused(format, fault):
    rows = broken(format, fault)
    fitted = OrthogonalFourier(n_components=4, random_state=0).fit(X @ np.eye(3, 8))
    for act in (OrthogonalFourier(n_components=4).fit, fitted.transform, Gaussian(1.0)):
        with pytest.raises(ValueError, match="of a sparse matrix"):
            act(rows)
    with pytest.raises(ValueError, match="of a sparse matrix"):
        KernelRegressor().fit(rows, Y)


@pytest.mark.parametrize("format", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
def test_sound_matrices_of_every_format_are_taken(format):
    rows = sp.csr_matrix(np.where(abs(X) > 1.0, X, 0.0)).asformat(format)
    wanted = OrthogonalFourier(n_components=4, random_state=0).fit_transform(rows.toarray())
    np.testing.assert_allclose(OrthogonalFourier(n_components=4, random_state=0).fit_transform(rows), wanted)


@pytest.mark.parametrize("unit", ["datetime64[D]", "timedelta64[s]"])
def test_maps_and_targets_refuse_times_whose_gaps_would_be_numbers(unit):
    times = np.arange(60).astype(unit)
    with pytest.raises(ValueError, match=r"expected numbers, found .*64"):
        OrthogonalFourier(n_components=4).fit(times[:, None])
    with pytest.raises(ValueError, match=r"expected targets that are numbers, found .*64"):
        KernelRegressor().fit(X, times)


def test_maps_refuse_columns_of_times_by_name():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"height": X[:, 0], "born": np.arange(60).astype("datetime64[s]")})
    with pytest.raises(ValueError, match="expected columns of numbers, found dates in 'born'"):
        OrthogonalFourier(n_components=4).fit(frame)
