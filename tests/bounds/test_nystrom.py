"""Guarantees for uniform landmarks: the proof line by line, the bound against simulation, and the claim that fails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import bounds
from mercer._random import Stream
from mercer.kernels import Gaussian, Laplacian, Polynomial

from .simulation import assert_at_most, fast, positive, probabilities, rows

ROWS = 96
GRAMS = {
    "wide": Gaussian(0.1)(rows(ROWS)),
    "narrow": Gaussian(20.0)(rows(ROWS)),
    "rough": 3.0 * Laplacian(0.5)(rows(ROWS)),
    "unequal": Polynomial(2, coef0=0.1)(rows(ROWS)),
    "groups": np.equal.outer(np.arange(ROWS) % 12, np.arange(ROWS) % 12).astype(np.float64),
}


def landmarks(count, seed, n=ROWS):
    return np.sort(Stream(seed).permutation(n)[:count])


def nystrom(K, chosen, rank):
    """C W_k^+ C', W_k the best matrix of this rank."""
    values, vectors = np.linalg.eigh(K[np.ix_(chosen, chosen)])
    values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    kept = values > 1e-12 * values[0]
    features = K[:, chosen] @ (vectors[:, kept] / np.sqrt(values[kept]))
    return features @ features.T


def sampling_error(K, chosen):
    """||M - M^||_F, from the Gram matrix alone."""
    weights = np.full(len(K), 1.0)
    weights[chosen] -= len(K) / len(chosen)
    return math.sqrt(max(0.0, weights @ K**2 @ weights))


def best(K, rank):
    return np.sort(np.abs(np.linalg.eigvalsh(K)))[::-1][rank:]


@pytest.mark.parametrize("name", GRAMS)
@pytest.mark.parametrize(("count", "rank"), [(5, 5), (12, 12), (12, 4), (60, 20)])
def test_the_error_is_at_most_that_of_the_sample(name, count, rank):
    K = GRAMS[name]
    for seed in range(8):
        chosen = landmarks(count, seed)
        error, sample = np.linalg.eigvalsh(K - nystrom(K, chosen, rank)), sampling_error(K, chosen)
        excess = sample if rank == count else 2.0 * sample
        floor = np.zeros(1) if rank == count else best(K, rank)
        for norm in (2, np.inf):
            assert np.linalg.norm(error, norm) <= np.linalg.norm(floor, norm) + excess + 1e-8


@pytest.mark.parametrize("name", GRAMS)
def test_the_sample_is_as_good_as_the_proof_says(name):
    K, n, c, seeds = GRAMS[name], ROWS, 10, 400
    found = np.array([sampling_error(K, landmarks(c, seed)) for seed in range(seeds)])
    exact = n**2 / c * (n - c) / (n - 1) * (np.mean(np.diag(K) ** 2) - np.sum(K**2) / n**2)
    squares = found**2
    assert abs(squares.mean() - exact) <= 5.0 * squares.std() / math.sqrt(seeds)  # false alarm 6e-7
    swapped = landmarks(c + 1, 0)
    moved = abs(sampling_error(K, swapped[1:]) - sampling_error(K, swapped[:-1]))
    assert moved <= n / c * math.sqrt(2.0) * np.diag(K).max()


@pytest.mark.parametrize("name", GRAMS)
@pytest.mark.parametrize(("count", "rank"), [(6, 6), (24, 24), (24, 8), (80, 80)])
def test_errors_are_as_small_as_promised(name, count, rank):
    K, largest = GRAMS[name], np.diag(GRAMS[name]).max()
    floor = 0.0 if rank == count else np.linalg.norm(best(K, rank))
    found = [np.linalg.norm(K - nystrom(K, landmarks(count, seed), rank)) - floor for seed in range(60)]
    for delta in (0.5, 0.1):
        bound = bounds.nystrom_error(count, ROWS, delta=delta, largest=largest, truncated=rank < count)
        assert_at_most(np.array(found) / ROWS >= bound, delta)


def test_the_root_of_n_over_c_is_false():
    c, measured, needed = 20, [], []
    for n in (400, 1600, 6400):
        groups = np.arange(n) % c
        missed = [c - len(np.unique(groups[landmarks(c, seed, n)])) for seed in range(30)]
        measured.append(np.mean(np.sqrt(missed)) * n / c)  # ||K - K^||_F: a block of ones for every missed group
        assert measured[-1] == pytest.approx(n / math.sqrt(math.e * c), rel=0.1)
        needed.append(measured[-1] / math.sqrt(n / c))
        assert measured[-1] <= n * bounds.nystrom_error(c, n, delta=0.5)
    assert needed[1] > 1.8 * needed[0]  # the constant of O(sqrt(n / c)) would have to grow with sqrt(n)
    assert needed[2] > 1.8 * needed[1]


def test_missed_groups_are_the_error():
    K, chosen = GRAMS["groups"], landmarks(12, 3)
    missed = 12 - len(np.unique(chosen % 12))
    assert missed > 0
    assert np.linalg.norm(K - nystrom(K, chosen, 12)) == pytest.approx(math.sqrt(missed) * ROWS / 12)


@fast
@given(st.integers(1, 10**6), st.integers(1, 10**6), probabilities, positive)
def test_nystrom_error_is_the_formula(n, c, delta, largest):
    c = min(c, n)
    error = bounds.nystrom_error(c, n, delta=delta, largest=largest)
    mean = math.sqrt((n - c) / (n - 1) / c) if n > 1 else 0.0
    deviation = math.sqrt(2.0) * largest / c * math.sqrt(min(c, n - c) * math.log(1.0 / delta) / 2.0)
    assert error == pytest.approx(largest * mean + deviation, rel=1e-9, abs=1e-300)
    assert bounds.nystrom_error(c, n, delta=delta, largest=largest, truncated=True) == pytest.approx(2.0 * error)
    if c < n:
        assert bounds.nystrom_error(c + 1, n, delta=delta, largest=largest) <= error
    assert bounds.nystrom_error(c, n, delta=delta / 2.0, largest=largest) >= error
    assert bounds.nystrom_error(n, n, delta=delta) == 0.0


@fast
@given(st.integers(1, 10**6), st.floats(1e-3, 2.0), probabilities, st.booleans())
def test_landmarks_invert_the_error(n, epsilon, delta, truncated):
    count = bounds.nystrom_landmarks(n, epsilon=epsilon, delta=delta, truncated=truncated)
    assert 1 <= count <= n
    assert bounds.nystrom_error(count, n, delta=delta, truncated=truncated) <= epsilon
    assert count == 1 or bounds.nystrom_error(count - 1, n, delta=delta, truncated=truncated) > epsilon


def test_arguments_outside_the_hypotheses_are_refused():
    with pytest.raises(ValueError, match="n_landmarks must be at most n_rows=5, found 6"):
        bounds.nystrom_error(6, 5, delta=0.1)
    for landmarks_, n_rows in ((0, 5), (2.5, 5), (2, 0)):
        with pytest.raises(ValueError, match="must be a whole number of at least 1"):
            bounds.nystrom_error(landmarks_, n_rows, delta=0.1)
    with pytest.raises(ValueError, match="delta must be a probability"):
        bounds.nystrom_landmarks(5, epsilon=0.1, delta=0.0)
    with pytest.raises(ValueError, match="epsilon must be a positive finite number"):
        bounds.nystrom_landmarks(5, epsilon=0.0, delta=0.1)
    with pytest.raises(ValueError, match="largest must be a positive finite number"):
        bounds.nystrom_error(2, 5, delta=0.1, largest=-1.0)
    with pytest.raises(ValueError, match="truncated must be one of"):
        bounds.nystrom_error(2, 5, delta=0.1, truncated="no")
