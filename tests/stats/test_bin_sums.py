"""Sums in bins do not depend on how the rows are cut."""

import numpy as np
import pytest

from mercer.stats.bin_sums import BinSums


def added(Z, cuts, most=4):
    sums = BinSums(Z.shape[1], most)
    for part in np.split(Z, cuts):
        sums.add(len(part), lambda first, count, size, part=part: binned(part, first, count, size))
    return sums


def binned(Z, first, count, size):
    return np.array([Z[first + k * size : first + (k + 1) * size].sum(axis=0) for k in range(count)])


@pytest.mark.parametrize("n_rows", [1, 7, 8, 9, 63, 64, 65, 200])
@pytest.mark.parametrize("step", [1, 3, 8, 50, 1000])
def test_sums_hold_every_row_once(n_rows, step):
    Z = np.arange(2.0 * n_rows).reshape(-1, 2)
    sums = added(Z, range(step, n_rows, step))
    assert sums.n_rows == n_rows
    np.testing.assert_allclose(sums.total(), Z.sum(axis=0))
    assert len(sums.bins) <= 8
    assert all(size < sums.size and size & (size - 1) == 0 for size in sums.rest)
    bins, counts = sums.parts()
    assert counts.sum() == n_rows
    np.testing.assert_allclose(bins.sum(axis=0), Z.sum(axis=0))


def test_bins_have_the_rows_that_follow_each_other():
    Z = np.arange(40.0)[:, None]
    sums = added(Z, [])
    assert sums.size == 8
    np.testing.assert_array_equal(sums.bins[:, 0], Z[:, 0].reshape(5, 8).sum(axis=1))


@pytest.mark.parametrize(("left", "right"), [(3, 100), (100, 3), (37, 41), (64, 64)])
def test_merged_sums_hold_the_rows_of_both(left, right):
    Z = np.random.default_rng(0).normal(size=(left + right, 3))
    sums, other = added(Z[:left], []), added(Z[left:], [])
    kept = other.parts()[0].copy()
    sums.merge(other)
    assert sums.n_rows == left + right
    assert len(sums.bins) <= 8
    np.testing.assert_allclose(sums.total(), Z.sum(axis=0))
    np.testing.assert_array_equal(other.parts()[0], kept)


def test_larger_bins_are_a_copy():
    sums = added(np.ones((9, 1)), [])
    larger = sums.at_size(8)
    assert (larger.size, larger.bins.tolist(), sorted(larger.rest)) == (8, [[8.0]], [1])
    assert sums.size == 2
