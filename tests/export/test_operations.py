"""Operations on symbols compared with operations on arrays, at sizes that small maps do not have."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from mercer._array import count_sketch, hadamard, irfft, rfft
from mercer.export import NotExportedError
from mercer.export import namespace as xp
from mercer.export.symbol import Symbol
from mercer.export.tracing import new_tracing


def computed(function, X):
    """The output of the graph of a function of rows."""
    tracing = new_tracing()
    found = function(tracing.begin(X.shape[1], X.dtype))
    tracing.graph.add_output("found", found.name, found.dtype, ("rows", *found.shape[1:]))
    content = tracing.graph.model("test", {}).SerializeToString()
    return onnxruntime.InferenceSession(content).run(None, {"X": X})[0]


def assert_same(function, X, tolerance=1e-13):
    found, expected = computed(function, X), function(X)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * np.abs(expected).max())


def rows(width, n=3):
    return np.random.default_rng(0).normal(size=(n, width))


@pytest.mark.parametrize("width", [1, 2, 64, 128, 4096, 8192])
def test_hadamard_transforms(width):
    assert_same(hadamard, rows(width))


def test_hadamard_transforms_of_several_rows_each():
    assert_same(lambda X: hadamard(X[:, None, :] * np.array([[1.0], [-2.0]])), rows(256))


def test_entries_in_one_bucket_are_added():
    buckets, signs = np.array([1, 0, 1, 1], dtype=np.int32), np.array([1, -1, -1, 1], dtype=np.int8)
    assert_same(lambda X: count_sketch(X, buckets, signs, 3), rows(4))


@pytest.mark.parametrize("width", [2, 3, 8, 63, 100, 513])
def test_fourier_transforms_there_and_back(width):
    assert_same(lambda X: irfft(rfft(X) * rfft(X + 1.0), width), rows(width), tolerance=1e-12)


@pytest.mark.parametrize("power", range(1, 12))
def test_powers(power):
    assert_same(lambda X: X**power, rows(3))


@pytest.mark.parametrize("values", [[0.0, 1e-30, -1e-9], [0.1, -0.5, 1e6], [1e200, -1e300, 3.0]])
def test_inverse_hyperbolic_sines_and_logarithms(values):
    X = np.array([values])
    np.testing.assert_allclose(computed(xp.arcsinh, X), np.arcsinh(X), rtol=4e-15, atol=0.0)
    positive = np.abs(X)
    np.testing.assert_allclose(computed(xp.log1p, positive), np.log1p(positive), rtol=4e-15, atol=0.0)


def test_slices_and_new_axes():
    assert_same(lambda X: X[:, 1:3, None][:, :, 0], rows(4))
    assert_same(lambda X: X[:, None, 2], rows(4))
    assert_same(lambda X: 2.0 / (3.0 - X[:, -1:] - X), rows(4) / 10.0)


def test_equal_steps_are_one_step():
    tracing = new_tracing()
    X = tracing.begin(3, np.dtype(np.float64))
    assert (X + 1.0).name == (X + 1.0).name
    assert (X + 1.0).name != (X + 2.0).name


def test_types_follow_numpy():
    X = new_tracing().begin(3, np.dtype(np.float32))
    assert (X * 2.0).dtype == np.float32
    assert (X * np.ones(3)).dtype == np.float64
    assert (np.ones(3, np.float32) * X).dtype == np.float32
    assert isinstance(np.ones((2, 3), np.float32).T[:3, :1].T * X, Symbol)
    assert (X > 0.0).dtype == np.bool_


def test_steps_that_no_graph_has_are_refused():
    X = new_tracing().begin(3, np.dtype(np.float64))
    with pytest.raises(NotExportedError, match="depends on the values of the rows"):
        bool(X > 0.0)
    with pytest.raises(NotExportedError, match="rows are selected from a tile"):
        X[:2]
