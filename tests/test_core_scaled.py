"""Compiled scaling of columns against its formula, on every instruction set of this machine."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import _core

from .test_core import compiled


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (5, 7), (3, 16), (4, 50)])
def test_columns_are_shifted_and_scaled_to_the_bit(isa, shape, dtype):
    rng = np.random.default_rng(0)
    X = (100.0 + rng.normal(size=shape)).astype(dtype)
    offset, factor = rng.normal(size=(2, shape[1])).astype(dtype)
    memory = np.full(X.size + 8, 7, dtype=dtype)
    assert _core.scaled(X, offset, factor, memory[4 : 4 + X.size].reshape(shape)) is None
    np.testing.assert_array_equal(memory[4 : 4 + X.size].reshape(shape), (X - offset) * factor)
    assert (memory[:4] == 7).all()
    assert (memory[4 + X.size :] == 7).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", [0, 15, 16, 36])
def test_the_first_row_that_is_not_finite_is_returned(isa, column, bad, dtype):
    X = np.ones((6, 37), dtype=dtype)
    X[2, column] = X[4, 0] = bad
    assert _core.scaled(X, np.zeros(37, dtype=dtype), np.ones(37, dtype=dtype), np.empty_like(X)) == 2


@compiled
def test_bad_input_is_named():
    X, row = np.ones((2, 3)), np.ones(3)
    with pytest.raises(ValueError, match=r"offset must have shape \(3,\), got \(2,\)"):
        _core.scaled(X, np.ones(2), row, np.empty((2, 3)))
    with pytest.raises(TypeError, match="factor must be float64, got float32"):
        _core.scaled(X, row, row.astype(np.float32), np.empty((2, 3)))
    with pytest.raises(ValueError, match=r"out must have shape \(2, 3\), got \(3, 2\)"):
        _core.scaled(X, row, row, np.empty((3, 2)))
