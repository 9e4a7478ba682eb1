"""Additive homogeneous kernels: their spectra, their domain, and values at the ends of float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.integrate import quad

from mercer.kernels import (
    AdditiveChi2,
    Composition,
    Gaussian,
    Hellinger,
    Intersection,
    JensenShannon,
    Linear,
    Polynomial,
    families,
    parse,
)

from .. import oracles

ADDITIVE = [AdditiveChi2(), Intersection(), JensenShannon(), Hellinger()]
every_kernel = pytest.mark.parametrize("kernel", ADDITIVE, ids=repr)
FORMS = {"dense": np.asarray, "csr_array": sp.csr_array, "csr_matrix": sp.csr_matrix}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
ENDS = [1e-308, 1e-300, 1e-5, 1.0, 3.0, 1e5, 1e300, 1e307]


@pytest.mark.parametrize("kernel", ADDITIVE[:3], ids=repr)
@pytest.mark.parametrize("ratio", [1.0, 0.9, 0.5, 0.1, 1e-3])
def test_the_spectrum_is_the_fourier_transform_of_the_kernel(kernel, ratio):
    # kappa is even, so that the transform of it is a cosine transform.
    expected = kernel([[1.0]], [[ratio]])[0, 0]
    turn = -math.log(ratio)
    if ratio == 1.0:
        found = 2.0 * quad(kernel.spectrum, 0.0, np.inf)[0]
    else:
        found = 2.0 * quad(kernel.spectrum, 0.0, np.inf, weight="cos", wvar=turn, limlst=500)[0]
    assert math.sqrt(ratio) * found == pytest.approx(expected, rel=1e-7)


def test_the_spectrum_of_hellinger_is_one_line():
    assert Hellinger().spectrum(np.array([0.0, 1.0, 2.0])).tolist() == [1.0, 0.0, 0.0]
    assert Hellinger().max_order == 0
    assert all(kernel.max_order is None for kernel in ADDITIVE[:3])


@pytest.mark.parametrize("kernel", ADDITIVE[:3], ids=repr)
def test_spectra_reach_zero_without_a_warning(kernel):
    w = np.array([0.0, 1.0, 1e3, 1e6])
    values = kernel.spectrum(w)
    assert np.isfinite(values).all()
    assert (np.diff(values) <= 0).all()
    steps = [kernel.step(order) for order in (1, 2, 3, 10, 100, 1000)]
    assert (np.diff(steps) < 0).all()


@every_kernel
@every_form
def test_values_at_the_ends_of_float64(kernel, form):
    values = np.array(ENDS)[:, None]
    gram = kernel(form(values))
    np.testing.assert_allclose(np.diag(gram), ENDS, rtol=1e-15)
    np.testing.assert_array_equal(gram, gram.T)
    # Scaled into the middle of the range, where the textbook's formula does not overflow.
    for i, j in ((0, 1), (1, 2), (3, 4), (6, 7), (2, 5), (2, 6)):
        scale = math.sqrt(ENDS[i]) * math.sqrt(ENDS[j])
        expected = oracles.value(kernel, [ENDS[i] / scale], [ENDS[j] / scale]) * scale
        assert gram[i, j] == pytest.approx(expected, rel=1e-12)
    # If the values are very far apart, the smaller of the two decides.
    expected = {"AdditiveChi2": 2e-300, "Intersection": 1e-300, "Hellinger": 1.0}
    logarithm = 600.0 * math.log(10.0)
    expected["JensenShannon"] = 1e-300 * (1.0 + logarithm) / (2.0 * math.log(2.0))
    assert gram[1, 6] == pytest.approx(expected[type(kernel).__name__], rel=1e-12)


@every_kernel
def test_subnormal_values(kernel):
    tiny = 5e-324
    gram = kernel(np.array([[tiny, 0.0], [4 * tiny, 8 * tiny], [1e308, 0.0]]))
    assert np.isfinite(gram).all()
    np.testing.assert_allclose(np.diag(gram)[:2], [tiny, 12 * tiny], rtol=0.1)
    assert (kernel(np.array([[0.0, -0.0]])) == 0.0).all()


@every_kernel
@every_form
def test_homogeneous_of_degree_one(kernel, form):
    X = np.random.default_rng(0).random((6, 5)) * (np.random.default_rng(1).random((6, 5)) < 0.7)
    np.testing.assert_allclose(kernel(form(7.3 * X)), 7.3 * kernel(form(X)), rtol=1e-13)


@every_kernel
def test_stored_zeros_and_halves_do_not_count(kernel):
    dense = np.array([[0.5, 0.0, 2.0], [0.0, 1.0, 1.0]])
    stored = sp.csr_array(
        (np.array([2.5, 0.5, -0.5, 0.0, 1.0, 1.0]), np.array([2, 0, 2, 0, 1, 2]), np.array([0, 3, 6])), shape=(2, 3)
    )
    before = stored.copy()
    np.testing.assert_allclose(kernel(stored), kernel(dense), rtol=1e-14)
    np.testing.assert_allclose(kernel.diag(stored), [2.5, 2.0], rtol=1e-14)
    np.testing.assert_array_equal(stored.data, before.data)
    np.testing.assert_array_equal(stored.indices, before.indices)


@every_kernel
@every_form
def test_negative_values_are_refused(kernel, form):
    good = form(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]]))
    bad = form(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, -0.25]]))
    message = r"Negative values in data passed to \w+\(\), which takes none: row 1, column 2 has -0\.25"
    kernels = [kernel, 2.0 * kernel, kernel + Linear(), Gaussian() * kernel, Polynomial(2).of(kernel)]
    for combined in kernels:
        assert combined.domain_is_non_negative
        for act in (lambda k=combined: k(bad), lambda k=combined: k(good, bad), lambda k=combined: k.diag(bad)):
            with pytest.raises(ValueError, match=message):
                act()
        combined(good)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(), 2.0 * Polynomial(2).of(Gaussian()) + Linear()], ids=repr)
def test_other_kernels_take_negative_values(kernel):
    assert kernel.domain_is_non_negative is False


def test_torch_rows_are_checked_too():
    torch = pytest.importorskip("torch")
    AdditiveChi2().check_rows(torch.tensor([[0.0, 1.0]]))
    with pytest.raises(ValueError, match="row 1, column 0 has -2"):
        AdditiveChi2().check_rows(torch.tensor([[0.0, 1.0], [-2.0, 1.0]]))


def test_rows_without_a_stored_entry():
    empty = sp.csr_array((3, 4))
    for kernel in ADDITIVE:
        np.testing.assert_array_equal(kernel(empty, np.ones((2, 4))), 0.0)
        np.testing.assert_array_equal(kernel.diag(empty), 0.0)


@every_kernel
def test_pieces_of_a_column_do_not_show(kernel, monkeypatch):
    X = np.random.default_rng(3).random((13, 4))
    X[:, 1] *= X[:, 1] < 0.5
    whole = kernel(X)
    monkeypatch.setattr(families, "CACHED_ELEMENTS", 30)
    np.testing.assert_allclose(kernel(X), whole, rtol=1e-14)


def test_wide_sparse_rows_cost_their_entries(monkeypatch):
    # A million columns of which two are shared: only these may be looked at.
    looked = []
    coordinate = Intersection.coordinate
    monkeypatch.setattr(Intersection, "coordinate", lambda self, x, y: (looked.append(1), coordinate(self, x, y))[1])
    rng = np.random.default_rng(4)
    X, Y = sp.lil_array((3, 10**6)), sp.lil_array((3, 10**6))
    for row in range(3):
        X[row, rng.integers(0, 5 * 10**5, 20)] = 1.0
        Y[row, rng.integers(5 * 10**5, 10**6, 20)] = 1.0
    X[0, 777] = Y[0, 777] = 2.0
    X[1, 999_999] = Y[2, 999_999] = 3.0
    gram = Intersection()(X.tocsr(), Y.tocsr())
    expected = np.zeros((3, 3))
    expected[0, 0], expected[1, 2] = 2.0, 3.0
    np.testing.assert_array_equal(gram, expected)
    assert len(looked) == 2


@every_kernel
def test_additive_kernels_are_parsed_and_composed(kernel):
    name = type(kernel).__name__
    assert parse(f"{name.lower()}()") == parse(f"{name}()") == parse(repr(kernel)) == kernel
    composed = parse(f"0.5 * polynomial(2).of({name}())")
    assert isinstance(composed.kernel, Composition)
    assert composed.kernel.inner == kernel
