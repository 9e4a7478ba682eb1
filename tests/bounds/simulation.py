"""Estimates over many seeds, and the comparison of a frequency with a bound.

Seeds are fixed. The binomial test has a false-alarm rate of 1e-6 for a bound that is attained; these bounds are not, so
none is expected.
"""

from __future__ import annotations

import math

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from scipy.stats import binom

from mercer.kernels import Exponential, Linear, Maclaurin, Polynomial, VovkInfinite, VovkReal

FALSE_ALARM = 1e-6
SEEDS = 200
ONES = np.full((1, 64), 0.125)

KERNELS = [
    Linear(),
    Polynomial(3, gamma=0.5, coef0=1.0),
    Exponential(0.7),
    VovkReal(4),
    VovkInfinite(),
    Maclaurin((0.0, 0.0, 2.0, 0.0, 1.0)),
    Maclaurin(lambda n: math.exp(-math.lgamma(n + 1)) if n % 2 else 0.0),
    0.5 * Exponential() + Linear() * Polynomial(2),
]

kernels = st.sampled_from(KERNELS)
positive = st.floats(0.01, 10.0)
probabilities = st.floats(1e-12, 0.99)
bases = st.floats(1.1, 4.0)
fast = settings(derandomize=True, deadline=None, max_examples=30)


def rows(n=5, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) / 2.0 + 0.3


def estimates(sketch, X, seeds=SEEDS):
    """<Z(x), Z(y)> of all pairs, seed by seed."""
    sketch.set_params(n_jobs=1)
    drawn = (sketch.set_params(random_state=seed).fit(X).transform(X) for seed in range(seeds))
    return np.array([Z @ Z.T for Z in drawn])


def assert_at_most(events, bound):
    """Check that the frequency of an event, along the first axis, exceeds ``bound`` by no more than binomial errors."""
    seeds, count = len(events), np.sum(events, axis=0)
    assert np.all(binom.sf(count - 1, seeds, bound) >= FALSE_ALARM), (count / seeds, bound)
