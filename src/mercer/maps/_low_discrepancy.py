"""Points that fill the unit cube more evenly than random ones, each of them uniformly distributed over seeds.

SciPy's scrambling takes its randomness from NumPy's generators, whose streams may change; here the points are scrambled
with words from a :class:`~mercer._random.Stream`. A longer sequence starts with the shorter one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from .._memory import check_memory
from .._random import Stream

SOBOL_BITS = 30
DIGITS = 52
"""The binary digits of a point: as many as float64 can hold after the half unit that keeps points off 0 and 1."""


def sobol(rng: Stream, count: int, dimension: int) -> NDArray[np.float64]:
    """Return the first points of the Sobol sequence under a random digital shift, one per row.

    Coordinates beyond the last dimension of the sequence are independent; the sequence would have no advantage there.
    """
    check_memory((count, dimension), 8, "the points of a sequence")
    known = min(dimension, qmc.Sobol.MAXDIM)
    points = qmc.Sobol(known, scramble=False, bits=SOBOL_BITS).random_base2(max(0, count - 1).bit_length())
    digits = (points[:count] * 2.0**SOBOL_BITS).astype(np.uint64) << np.uint64(DIGITS - SOBOL_BITS)
    shift = rng.child("shift").words(known) >> np.uint64(64 - DIGITS)
    shifted = ((digits ^ shift).astype(np.float64) + 0.5) * 2.0**-DIGITS
    return np.concatenate([shifted, rng.child("rest").uniforms((count, dimension - known))], axis=1)


def first_primes(count: int) -> NDArray[np.int64]:
    """Return the first ``count`` primes: 2, 3, 5, ..."""
    # The n-th prime is below n (log n + log log n) from n = 6 on.
    limit = 15 if count < 6 else math.ceil(count * (math.log(count) + math.log(math.log(count))))
    sieve = np.ones(limit + 1, dtype=bool)
    sieve[:2] = False
    for number in range(2, math.isqrt(limit) + 1):
        if sieve[number]:
            sieve[number * number :: number] = False
    return np.flatnonzero(sieve)[:count]


def halton(rng: Stream, count: int, dimension: int) -> NDArray[np.float64]:
    """Return the first points of the Halton sequence, with every digit scrambled by a random linear map."""
    check_memory((count, dimension), 8, "the points of a sequence")
    points = np.empty((count, dimension))
    for place, prime in enumerate(first_primes(dimension).tolist()):
        length = math.ceil(DIGITS / math.log2(prime))
        factors = 1 + rng.child("factors", place).buckets(prime - 1, (length,)).astype(np.int64)
        shifts = rng.child("shifts", place).buckets(prime, (length,)).astype(np.int64)
        rest, point = np.arange(count), np.zeros(count)
        for position in range(length):
            rest, digit = np.divmod(rest, prime)
            point += (factors[position] * digit + shifts[position]) % prime * float(prime) ** -(position + 1)
        points[:, place] = point
    return np.clip(points, 2.0 ** -(DIGITS + 1), 1.0 - 2.0 ** -(DIGITS + 1))
