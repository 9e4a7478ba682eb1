"""Compiled Fourier features against NumPy's cosines, on every instruction set of this machine."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import hadamard as hadamard_matrix

from mercer import _core

from .test_core import DTYPES, compiled

LIMITS = {np.float32: 4096.0, np.float64: 2.0**22}


def expected_waves(phases, offset, scale, width):
    """The definition, in float64."""
    pairs = width - phases.shape[1]
    wide = phases.astype(np.float64)
    features = np.empty((len(phases), width))
    features[:, 0 : 2 * pairs : 2] = np.cos(wide[:, :pairs])
    features[:, 1 : 2 * pairs : 2] = np.sin(wide[:, :pairs])
    # The sum is rounded before its cosine is computed.
    features[:, 2 * pairs :] = np.cos((phases[:, pairs:] + offset.astype(phases.dtype)).astype(np.float64))
    return scale * features


def phases_of(rows, count, dtype, limit, seed=0):
    rng = np.random.default_rng([seed, rows, count])
    phases = rng.uniform(-limit, limit, size=(rows, count))
    phases[::2] = rng.normal(size=phases[::2].shape)
    return phases.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 2, 7, 16, 33, 100])
def test_waves_are_cosines_and_sines(isa, count, dtype):
    phases = phases_of(9, count, dtype, LIMITS[dtype])
    for width in sorted({count, (3 * count + 1) // 2, 2 * count - 1, 2 * count}):
        singles = 2 * count - width
        for period in {1, max(1, singles)}:
            offset = np.linspace(0.1, 6.2, period).astype(dtype)
            out = np.full((9, width), np.nan, dtype=dtype)
            longest = _core.waves(phases, offset, 0.7, out)
            expected = expected_waves(phases, offset if period > 1 else offset[:1], 0.7, width)
            assert np.abs(out - expected).max() <= 0.7 * 1.5 * np.finfo(dtype).eps
            shifted = phases.copy()
            shifted[:, count - singles :] += offset
            np.testing.assert_array_equal(longest, np.abs(shifted).max(axis=1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_phases(isa, dtype):
    eighths = np.pi / 4 * np.arange(-40, 41)
    near = np.concatenate([eighths, np.nextafter(eighths, 9.0), [0.0, -0.0, 1e-30, 5e-324]]).astype(dtype)[None, :]
    out = np.empty((1, 2 * near.shape[1]), dtype=dtype)
    _core.waves(near, np.zeros(1, dtype=dtype), 1.0, out)
    assert np.abs(out - expected_waves(near, np.zeros(1), 1.0, out.shape[1])).max() <= 1.5 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_phase_that_is_not_a_number_shows_in_the_longest(isa, dtype, wrong):
    phases = phases_of(3, 40, dtype, 1.0)
    phases[1, 23] = wrong
    longest = _core.waves(phases, np.zeros(1, dtype=dtype), 1.0, np.empty((3, 80), dtype=dtype))
    assert not longest[1] <= LIMITS[dtype]
    assert (longest[[0, 2]] <= LIMITS[dtype]).all()


ROTATIONS = [(5, 64, 64, 128), (64, 64, 150, 299), (100, 128, 7, 14), (300, 512, 130, 259), (700, 1024, 1500, 3000)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "size", "count", "width"), ROTATIONS)
def test_sign_rotations(isa, n, size, count, width, dtype):
    rng, H = np.random.default_rng(0), hadamard_matrix(size)
    X, blocks = rng.normal(size=(37, n)).astype(dtype), -(-count // size)
    signs = rng.choice([-1.0, 1.0], size=(blocks, 3, size)).astype(dtype)
    radii, offset = rng.random(count).astype(dtype) / size**1.5, np.array([0.4], dtype=dtype)
    padded = np.pad(X.astype(np.float64), ((0, 0), (0, size - n)))
    turned = [((padded * a) @ H * b) @ H * c @ H for a, b, c in signs.astype(np.float64)]
    phases = np.concatenate(turned, axis=1)[:, :count] * radii * np.pi
    tolerance = 40 * np.finfo(dtype).eps * (1.0 + np.abs(phases).max())
    expected = expected_waves(phases, np.pi * offset.astype(np.float64), 0.5, width)
    for rows in (1, 6, 37):  # fewer than are turned together, and more than one block's signs serve at once
        out = np.full((rows, width), np.nan, dtype=dtype)
        longest = _core.structured(X[:rows], signs, radii, offset, 0.5, out)
        np.testing.assert_allclose(out, expected[:rows], atol=tolerance)
        # The phase of an odd last feature has the offset.
        np.testing.assert_allclose(longest, np.abs(phases[:rows]).max(axis=1), atol=1.3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_rotated_row_does_not_depend_on_those_next_to_it(isa, dtype):
    rng = np.random.default_rng(2)
    X, signs = rng.normal(size=(40, 90)).astype(dtype), rng.choice([-1.0, 1.0], size=(2, 3, 128)).astype(dtype)
    radii, offset = (rng.random(200) / 128).astype(dtype), np.zeros(1, dtype=dtype)

    whole = np.empty((40, 400), dtype=dtype)
    _core.structured(X, signs, radii, offset, 0.5, whole)
    for cut in (1, 3, 33):
        for part, rows in ((whole[:cut], X[:cut]), (whole[cut:], X[cut:])):
            out = np.empty_like(part)
            _core.structured(rows, signs, radii, offset, 0.5, out)
            np.testing.assert_array_equal(out, part)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_row_that_is_not_finite_shows_in_the_longest(isa, dtype, wrong):
    X, signs, offset = np.ones((7, 70), dtype=dtype), np.ones((3, 3, 128), dtype=dtype), np.zeros(1, dtype=dtype)
    X[4, 69] = wrong
    longest = _core.structured(X, signs, np.full(300, 1e-6, dtype=dtype), offset, 1.0, np.empty((7, 600), dtype=dtype))
    np.testing.assert_array_equal(longest <= 32.0, np.arange(7) != 4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("n", "size", "count", "width"),
    [(1, 1, 3, 6), (2, 2, 9, 17), (5, 8, 20, 39), (64, 64, 64, 128), (300, 512, 130, 259)],
)
def test_fastfood(isa, n, size, count, width, dtype):
    rng, H = np.random.default_rng(1), hadamard_matrix(size)
    X, blocks = rng.normal(size=(6, n)).astype(dtype), -(-count // size)
    signs = rng.choice([-1.0, 1.0], size=(blocks, size)).astype(dtype)
    orders = np.stack([rng.permutation(size) for _ in range(blocks)]).astype(np.int32)
    directions = rng.normal(size=(blocks, size)).astype(dtype)
    radii, offset = rng.random(count).astype(dtype) / size, np.array([0.4], dtype=dtype)
    padded = np.pad(X.astype(np.float64), ((0, 0), (0, size - n)))
    parts = zip(signs.astype(np.float64), orders, directions.astype(np.float64), strict=True)
    phases = np.concatenate([(((padded * s) @ H)[:, o] * g) @ H for s, o, g in parts], axis=1)[:, :count]
    phases *= np.pi * radii
    tables = _core.fastfood_tables(signs, orders, directions, dtype)
    tolerance = 40 * np.finfo(dtype).eps * (1.0 + np.abs(phases).max())
    for rows in (1, 4, 6):
        out = np.full((rows, width), np.nan, dtype=dtype)
        longest = _core.fastfood(X[:rows], tables, radii, offset, 0.5, out)
        expected = expected_waves(phases[:rows], np.pi * offset.astype(np.float64), 0.5, width)
        np.testing.assert_allclose(out, expected, atol=tolerance)
        # The phase of an odd last feature has the offset.
        np.testing.assert_allclose(longest, np.abs(phases[:rows]).max(axis=1), atol=1.3)


@compiled
def test_bad_input_is_named():
    phases, offset = np.zeros((2, 3)), np.zeros(1)
    with pytest.raises(ValueError, match="3 phases make from 3 to 6 features, got 7"):
        _core.waves(phases, offset, 1.0, np.empty((2, 7)))
    with pytest.raises(ValueError, match=r"out must have shape \(2, 6\), got \(1, 6\)"):
        _core.waves(phases, offset, 1.0, np.empty((1, 6)))
    with pytest.raises(TypeError, match="offset must be float64, got float32"):
        _core.waves(phases, offset.astype(np.float32), 1.0, np.empty((2, 6)))
    with pytest.raises(ValueError, match="out must be C-contiguous"):
        _core.waves(phases, offset, 1.0, np.empty((6, 2)).T)
    with pytest.raises(ValueError, match=r"offset must have shape \(2,\), got \(3,\)"):
        _core.waves(phases, np.zeros(3), 1.0, np.empty((2, 4)))
    signs, radii = np.ones((1, 3, 4)), np.ones(3)
    with pytest.raises(ValueError, match="X must have at most 4 columns, got 5"):
        _core.structured(np.zeros((2, 5)), signs, radii, offset, 1.0, np.empty((2, 6)))
    with pytest.raises(ValueError, match="2 blocks of 4 do not make 3"):
        _core.structured(np.zeros((2, 4)), np.ones((2, 3, 4)), radii, offset, 1.0, np.empty((2, 6)))
    with pytest.raises(ValueError, match="the size of a block must be a power of two, got 3"):
        _core.structured(np.zeros((2, 3)), np.ones((1, 3, 3)), radii, offset, 1.0, np.empty((2, 6)))
    large = np.ones((1, 3, 64)), np.ones(3), offset, 1.0
    with pytest.raises(ValueError, match="the size of a block must be at least 64, got 4"):
        _core.structured(np.zeros((2, 4)), signs, radii, offset, 1.0, np.empty((2, 6)))
    with pytest.raises(ValueError, match="3 phases make 6 features or one less, got 4"):
        _core.structured(np.zeros((2, 4)), *large, np.empty((2, 4)))
    with pytest.raises(ValueError, match=r"out must have shape \(2, 6\), got \(3, 6\)"):
        _core.structured(np.zeros((2, 4)), *large, np.empty((3, 6)))
    ones, orders = np.ones((1, 4)), np.array([[0, 1, 2, 3]], dtype=np.int32)
    with pytest.raises(ValueError, match="orders must be permutations of 0 to 3"):
        _core.fastfood_tables(ones, orders + 1, ones, np.float64)
    with pytest.raises(ValueError, match="signs, orders and directions must have one shape"):
        _core.fastfood_tables(ones, orders, np.ones((1, 8)), np.float64)
    with pytest.raises(ValueError, match="the size of a block must be a power of two, got 3"):
        _core.fastfood_tables(ones[:, :3], orders[:, :3], ones[:, :3], np.float64)
    tables = _core.fastfood_tables(ones, orders, ones, np.float64)
    with pytest.raises(ValueError, match="3 phases make 6 features or one less, got 4"):
        _core.fastfood(np.zeros((2, 4)), tables, radii, offset, 1.0, np.empty((2, 4)))
    with pytest.raises(ValueError, match="X must have at most 4 columns, got 5"):
        _core.fastfood(np.zeros((2, 5)), tables, radii, offset, 1.0, np.empty((2, 6)))
    with pytest.raises(TypeError, match="signs must be float32, got float64"):
        _core.fastfood(np.zeros((2, 4), np.float32), tables, radii, offset, 1.0, np.empty((2, 6), np.float32))
