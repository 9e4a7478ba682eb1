"""Rows so far apart that their distances leave float64: refused by kernels that are not 0 there, and 0 for others."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import Nystrom
from mercer.kernels import Cauchy, Gaussian, Laplacian, Linear, Matern

SIZES = [1.0, 1e100, 1e149, 1e151, 1e153, 1e154, 1e155, 1e160]
WIDE = [
    (lambda s: Gaussian(0.1 / s / s), Gaussian(0.1)),
    (lambda s: Matern(1.5, length_scale=2.0 * s), Matern(1.5, length_scale=2.0)),
    (lambda s: Matern(0.7, length_scale=2.0 * s), Matern(0.7, length_scale=2.0)),
    (lambda s: Matern(30.0, length_scale=2.0 * s), Matern(30.0, length_scale=2.0)),
    (lambda s: Cauchy(0.3 / s), Cauchy(0.3)),
    (lambda s: Laplacian(0.2 / s), Laplacian(0.2)),
    (lambda s: 0.5 * Gaussian(0.1 / s / s) + Laplacian(0.2 / s), 0.5 * Gaussian(0.1) + Laplacian(0.2)),
]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("size", [*SIZES, 1e302, 1e306])
@pytest.mark.parametrize(("wide", "kernel"), WIDE, ids=[repr(kernel) for _, kernel in WIDE])
def test_the_right_value_or_an_error(wide, kernel, size, form):
    X = np.random.default_rng(0).normal(size=(6, 3))
    if size <= 1e150:  # what float64 can do is done
        np.testing.assert_allclose(wide(size)(form(X * size)), kernel(X), rtol=1e-9)
        return
    with contextlib.suppress(ValueError):
        np.testing.assert_allclose(wide(size)(form(X * size)), kernel(X), rtol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_row_is_named(form):
    X = np.ones((4, 2))
    X[2] = 1e155
    for kernel in (Gaussian(1e-310), 2.0 * Gaussian(1e-310) * Linear(), Matern(0.5, length_scale=1e155)):
        with pytest.raises(ValueError, match=r"squared norm up to 2\.5e\+302, .* overflow float64; row 2 has inf"):
            kernel(form(X))
    for rows in (X, X[2:]):
        with pytest.raises(ValueError, match="scale the rows down"):
            Nystrom(Gaussian(1e-310)).fit(rows)
    with pytest.raises(ValueError, match=r"1-norm up to .*; row 2 has 2e"):
        Laplacian(1e-307)(form(X * 1e152))
    with pytest.raises(ValueError, match=r"largest entry up to .*; row 2 has 1e"):
        Cauchy(1e-307)(form(X * 1e152))


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(1e9), Matern(), Matern(0.7), Cauchy(), Laplacian(1e9)])
def test_narrow_kernels_of_far_rows_are_0(kernel):
    X = np.array([[1e160, 0.0], [1e160, 1e-12], [0.0, 0.0], [-1e200, 1e300]])
    found = kernel(X)
    np.testing.assert_array_equal(np.diag(found), 1.0)
    assert found[0, 1] > 0.9
    np.testing.assert_array_equal(found[2:, :2], 0.0)
    assert found[2, 3] == 0.0
