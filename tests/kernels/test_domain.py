"""Bad arguments and bad rows: one clear error, never a wrong number."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import (
    AdditiveChi2,
    Cauchy,
    Exponential,
    Gaussian,
    Hellinger,
    Intersection,
    JensenShannon,
    Laplacian,
    Linear,
    Maclaurin,
    Matern,
    Polynomial,
    SkewedChi2,
    VovkInfinite,
    VovkReal,
)

FORMS = [np.asarray, sp.csr_array, sp.csr_matrix]
every_form = pytest.mark.parametrize("form", FORMS, ids=["dense", "csr_array", "csr_matrix"])
LEAVES = [Linear(), Polynomial(2), Exponential(), VovkReal(2), Gaussian(), Laplacian(), Cauchy(), Matern(), Matern(0.7)]
LEAVES += [AdditiveChi2(), Hellinger(), Intersection(), JensenShannon()]


# -- arguments ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [0, -1.0, math.inf, math.nan, "auto", "Scale", None, True, 1j, [1.0], np.array([1.0])], ids=repr
)
@pytest.mark.parametrize("cls", [Gaussian, Laplacian, Cauchy, Exponential, Polynomial, Matern])
def test_bandwidth(cls, value):
    field = "length_scale" if cls is Matern else "gamma"
    with pytest.raises(ValueError, match=f"{field} must be a positive finite number, 'scale' or 'median'"):
        cls(**{field: value})


@pytest.mark.parametrize("value", [0, -2, 2.0, "2", None, True, math.inf], ids=repr)
@pytest.mark.parametrize("cls", [Polynomial, VovkReal])
def test_degree(cls, value):
    with pytest.raises(ValueError, match="degree must be a whole number of at least 1"):
        cls(value)


@pytest.mark.parametrize("value", [0, -0.5, math.inf, math.nan, "scale", None], ids=repr)
def test_nu(value):
    with pytest.raises(ValueError, match="nu must be a positive finite number, found"):
        Matern(value)


@pytest.mark.parametrize("value", [math.inf, math.nan, "1", None], ids=repr)
def test_coef0(value):
    with pytest.raises(ValueError, match="coef0 must be a finite number"):
        Polynomial(2, coef0=value)


def test_negative_coef0_is_exact_but_has_no_series():
    kernel = Polynomial(2, coef0=-1.0)
    assert kernel([[3.0]])[0, 0] == 64.0
    with pytest.raises(ValueError, match="coef0 must not be negative"):
        kernel.series(3)


@pytest.mark.parametrize(
    ("coefficients", "reason"),
    [
        ((1.0, -2.0), "a_1 = -2.0 is negative"),
        ([0, 0, -1], "a_2 = -1.0 is negative"),
        (np.array([-1e-300]), "a_0 = -1e-300 is negative"),
        ((1.0, math.nan), "a_1 must be a finite number"),
        ((math.inf,), "a_0 must be a finite number"),
        ((1.0, "2"), "a_1 must be a finite number"),
        ((1.0, None), "a_1 must be a finite number"),
        ([[1.0, 2.0]], "a_0 must be a finite number"),
        ((), "must not be empty"),
        ([], "must not be empty"),
    ],
    ids=repr,
)
def test_maclaurin_coefficients(coefficients, reason):
    with pytest.raises(ValueError, match=reason):
        Maclaurin(coefficients)


def test_a_function_that_turns_negative():
    kernel = Maclaurin(lambda n: 1.0 if n < 3 else -1.0)
    with pytest.raises(ValueError, match=r"a_3 = -1\.0 is negative"):
        kernel([[0.5]])
    with pytest.raises(ValueError, match="a_3"):
        kernel.series(5)
    assert kernel.series(3).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("degree", [1, 8, 20])
def test_a_function_may_start_late_and_skip(degree):
    assert Maclaurin(lambda n: float(n == degree))([[2.0]], [[0.5], [1.0], [0.0]]).tolist() == [[1.0, 2.0**degree, 0.0]]


def test_a_function_that_does_not_settle():
    with pytest.raises(ValueError, match="has not settled"):
        Maclaurin(lambda n: 1.0)([[1.0]])
    with pytest.raises(ValueError, match="has not settled"):
        Maclaurin(lambda n: 0.0)([[1.0]])


@pytest.mark.parametrize("options", [{"tol": 0.0}, {"tol": -1e-9}, {"radius": 0.0}, {"radius": math.nan}], ids=repr)
def test_maclaurin_options(options):
    with pytest.raises(ValueError, match=r"must be (a )?positive"):
        Maclaurin((1.0,), **options)


# -- domains -----------------------------------------------------------------------------------------------------------


@every_form
def test_vovk_infinite_needs_norms_below_one(form):
    rows = form(np.array([[0.5, 0.5], [0.0, 0.9], [0.8, 0.6], [3.0, 0.0]]))
    message = "defined for rows of squared norm below 1; row 2 has 1"
    for kernel in (VovkInfinite(), 2 * VovkInfinite(), VovkInfinite() + Linear(), Linear() * VovkInfinite()):
        for call in (lambda k=kernel: k(rows), lambda k=kernel: k.diag(rows), lambda k=kernel: k(rows[:2], rows)):
            with pytest.raises(ValueError, match=message):
                call()
        assert np.isfinite(kernel(rows[:2])).all()


def test_float32_rows_are_judged_in_float64():
    row = np.array([[0.6042988300323486, -0.5094656348228455, 0.6125909686088562]], dtype=np.float32)
    assert float((row * row).sum()) < 1.0 < float((row.astype(float) ** 2).sum())
    with pytest.raises(ValueError, match="row 0"):
        VovkInfinite()(row)
    inside = np.array([[np.nextafter(np.float32(1), np.float32(0))]])
    assert VovkInfinite()(inside)[0, 0] > 1e6
    with pytest.raises(ValueError, match="row 0"):
        VovkInfinite()(np.array([[1e200]]))


def test_maclaurin_radius():
    kernel = Maclaurin(lambda n: 1.0, radius=1.0)
    assert kernel([[0.5]])[0, 0] == pytest.approx(4 / 3)
    with pytest.raises(ValueError, match="row 1 has 4"):
        kernel([[0.5], [2.0]])


def test_a_composition_looks_at_the_inner_values():
    kernel = VovkInfinite().of(Polynomial(2))
    assert kernel([[0.5]])[0, 0] == pytest.approx(16 / 15)
    with pytest.raises(ValueError, match="inner kernel value below 1; row 1 has 16"):
        kernel([[0.5], [2.0]])
    with pytest.raises(ValueError, match="inner kernel value below 1; row 0 has 1"):
        VovkInfinite().of(Gaussian())([[5.0]])
    with pytest.raises(ValueError, match="squared norm below 1"):
        Linear().of(VovkInfinite())([[2.0]])
    assert VovkInfinite().of(0.5 * Gaussian())([[100.0]])[0, 0] == 2.0


# -- overflow ----------------------------------------------------------------------------------------------------------


@every_form
@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Polynomial(2),
        Polynomial(5, coef0=1.0),
        Exponential(),
        VovkReal(3),
        Maclaurin((0.0, 0.0, 1.0)),
        3 * Linear() + Gaussian(),
        Linear() * Laplacian(),
        Polynomial(3).of(Linear()),
    ],
    ids=repr,
)
def test_overflow_names_the_row(kernel, form):
    rows = form(np.array([[1.0, 0.0], [2.0, 1.0], [1e200, 0.0], [1.0, 1.0]]))
    with pytest.raises(ValueError, match=r"overflows float64 at row [02] of X and row 2 of Y"):
        kernel(rows)
    with pytest.raises(ValueError, match="overflows float64 at row 2 of X:"):
        kernel.diag(rows)


@every_form
def test_overflow_of_float32(form):
    rows = np.array([[1.0], [1e10], [1e20]])
    assert np.isfinite(Polynomial(3)(form(rows))).all()
    with pytest.raises(ValueError, match="overflows float32 at row 0 of X and row 2 of Y"):
        Polynomial(3)(form(rows.astype(np.float32)))
    with pytest.raises(ValueError, match="overflows float32 at row 1 of X:"):
        Polynomial(3).diag(form(rows.astype(np.float32)))


def test_an_overflow_in_a_late_block_names_the_right_row(monkeypatch):
    monkeypatch.setattr("mercer.kernels.base.BLOCK_ELEMENTS", 64)
    rows = np.ones((40, 1))
    rows[33] = 1e200
    with pytest.raises(ValueError, match="overflows float64 at row 33 of X and row 0 of Y"):
        Linear()(rows, 1e150 * rows[:8])


@every_form
@pytest.mark.parametrize(
    "kernel", [Laplacian(), Cauchy(), Gaussian(), Matern(0.7), Matern(2.5), Matern(99.0)], ids=repr
)
@pytest.mark.parametrize("far", [1e100, 1e200])
def test_far_rows_give_zero(kernel, form, far):
    gram = kernel(form(np.array([[0.0, 1.0], [far, 0.0]])))
    np.testing.assert_array_equal(np.diag(gram), 1.0)
    assert max(gram[0, 1], gram[1, 0]) <= 1e-100


# -- rows --------------------------------------------------------------------------------------------------------------


@every_form
@pytest.mark.parametrize("kernel", LEAVES, ids=repr)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_rows_that_are_not_finite_are_refused(kernel, form, bad):
    rows = form(np.array([[1.0, 0.0], [bad, 0.0]]))
    fine = np.ones((1, 2))
    for call in (lambda: kernel(rows), lambda: kernel.diag(rows), lambda: kernel(rows, fine)):
        with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
            call()
    with pytest.raises(ValueError, match=r"Input Y contains (NaN|infinity)"):
        kernel(fine, rows)


@every_form
@pytest.mark.parametrize("kernel", LEAVES, ids=repr)
def test_widths_must_agree(kernel, form):
    with pytest.raises(ValueError, match="X has 3 columns but Y has 2"):
        kernel(form(np.ones((4, 3))), form(np.ones((4, 2))))


@pytest.mark.parametrize(
    "rows",
    [[1.0, 2.0], 3.0, np.empty((0, 2)), np.empty((2, 0)), np.ones((2, 2, 2)), [["a"]], np.array([[1j]])],
    ids=str,
)
def test_arguments_that_are_not_rows_are_refused(rows):
    with pytest.raises(ValueError, match=r"2D|minimum|dim|string|omplex"):
        Gaussian()(rows)


@pytest.mark.parametrize(
    "kernel",
    [SkewedChi2(), AdditiveChi2(), VovkInfinite(), VovkInfinite().of(0.5 * Gaussian())],
    ids=repr,
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_looking_for_rows_outside_the_domain_holds_blocks_only(kernel, dtype):
    X = np.full((60_000, 200), 1e-3, dtype=dtype)
    tracemalloc.start()
    kernel.check_rows(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 45e6  # float64 copies of all rows would be 96 MB
