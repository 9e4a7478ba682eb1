"""The only file where randomness enters.

A :class:`Stream` is an endless, addressable supply of raw 64-bit words: Philox keyed by the seed and a path of names.
Everything else (signs, buckets, permutations, normals) is made from those words here, so that a new NumPy release
cannot change a map, and the same integer gives the same parameters on every machine.

Draws are laid out feature by feature, so that the first features of a larger map are those of the smaller one.
"""

from __future__ import annotations

import hashlib
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ._memory import check_memory

RandomState = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None
"""The types that scikit-learn's users pass as ``random_state``."""

SEED_BITS = 128


def as_seed(random_state: RandomState) -> int:
    """Return the integer that determines all randomness: an int itself, or 128 bits drawn once from anything else.

    >>> as_seed(7)
    7
    """
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        seed = int(random_state)
        if not 0 <= seed < 1 << SEED_BITS:
            raise ValueError(f"random_state must be an integer in [0, 2**{SEED_BITS}), found {seed}")
        return seed
    if random_state is None:
        entropy = np.random.SeedSequence().entropy
        assert isinstance(entropy, int)
        return entropy
    if isinstance(random_state, np.random.Generator):
        words = random_state.integers(0, 1 << 32, size=4, dtype=np.uint64)
    elif isinstance(random_state, np.random.RandomState):
        words = random_state.randint(0, 1 << 32, size=4, dtype=np.uint64)
    else:
        raise ValueError(
            "random_state must be an int, a numpy Generator, a numpy RandomState or None, "
            f"found {type(random_state).__name__}"
        )
    return sum(int(word) << (32 * place) for place, word in enumerate(words))


class Stream:
    """Random words at an address; ``stream.child(...)`` is an independent stream.

    Every draw starts at the beginning of its stream, so a stream is used for one quantity and ``child`` for the next.

    >>> rng = Stream(0, "example")
    >>> rng.child("signs").signs((2, 3)).shape
    (2, 3)
    >>> bool((rng.words(5)[:3] == rng.words(3)).all())
    True
    """

    def __init__(self, seed: int, *path: str | int, mirror: bool = False):
        self.seed = seed
        self.path = path
        self.mirror = mirror

    def child(self, *names: str | int) -> Stream:
        """Return the independent stream with these names."""
        return Stream(self.seed, *self.path, *names, mirror=self.mirror)

    def mirrored(self) -> Stream:
        """Return the antithetic stream: every bit is flipped, so that its uniforms are 1 minus those of this one."""
        return Stream(self.seed, *self.path, mirror=not self.mirror)

    def words(self, count: int, start: int = 0) -> NDArray[np.uint64]:
        """Return ``count`` raw words, beginning with number ``start``."""
        check_memory((count,), 8, "the random numbers of a map")
        # The address contains the type, so that child(1) and child("1") differ; no repr contains the separator.
        address = "\x00".join([str(self.seed), *(repr(name) for name in self.path)])
        key = int.from_bytes(hashlib.blake2b(address.encode(), digest_size=16).digest(), "little")
        philox = np.random.Philox(key=key)
        philox.advance(start // 4)  # one step is four words
        words = philox.random_raw(start % 4 + count)[start % 4 :]
        return ~words if self.mirror else words

    def _bits(self, count: int) -> NDArray[np.uint8]:
        octets = self.words(-(-count // 64)).astype("<u8", copy=False).view(np.uint8)
        return np.unpackbits(octets, count=count, bitorder="little")

    def signs(self, shape: tuple[int, ...]) -> NDArray[np.int8]:
        """Draw independent fair signs, +1 or -1."""
        bits = self._bits(int(np.prod(shape)))
        return (1 - 2 * bits.view(np.int8)).reshape(shape)

    def quarter_turns(self, shape: tuple[int, ...]) -> NDArray[np.int8]:
        """Draw independent fair complex signs 1, i, -1, -i, as the exponents 0, 1, 2, 3 of i."""
        bits = self._bits(2 * int(np.prod(shape))).view(np.int8)
        return (bits[0::2] + 2 * bits[1::2]).reshape(shape)

    def buckets(self, count: int, shape: tuple[int, ...]) -> NDArray[np.int32]:
        """Draw independent uniform integers in [0, count), for count < 2**31."""
        words = self.words(int(np.prod(shape)))
        size = np.uint64(count)
        half = np.uint64(32)
        low = (words & np.uint64(0xFFFFFFFF)) * size
        # The high word of the 96-bit product is uniform up to count / 2**64, without a rejection loop.
        high = ((words >> half) * size + (low >> half)) >> half
        return high.astype(np.int32).reshape(shape)

    def hashes(self, bits: int, shape: tuple[int, ...]) -> NDArray[np.int32]:
        """Draw independent uniform integers of ``bits`` bits; fewer bits are the low bits of the same draws."""
        words = self.words(int(np.prod(shape)))
        return (words & np.uint64((1 << bits) - 1)).astype(np.int32).reshape(shape)

    def permutation(self, count: int) -> NDArray[np.int32]:
        """Draw a uniformly random order of 0 .. count-1."""
        return np.argsort(self.words(count), kind="stable").astype(np.int32)

    def orders(self, count: int, length: int) -> NDArray[np.int64]:
        """Draw independent, uniformly random orders of 0 .. length-1, one per row."""
        return np.argsort(self.words(count * length).reshape(count, length), axis=1, kind="stable")

    def subset(self, bits: int, count: int) -> NDArray[np.int64]:
        """Draw ``count`` distinct integers of ``bits`` bits, all sets equally likely, without listing all integers."""
        draws, mask = 2 * count, np.uint64((1 << bits) - 1)
        while True:  # a longer draw starts with the shorter one, so its length does not affect the result
            integers = (self.words(draws) & mask).astype(np.int64)
            _, first = np.unique(integers, return_index=True)
            if len(first) >= count:
                return integers[np.sort(first)[:count]]
            draws *= 2

    def uniforms(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Draw independent uniforms in the open interval (0, 1)."""
        words = self.words(int(np.prod(shape))) >> np.uint64(12)
        return ((words.astype(np.float64) + 0.5) * 2.0**-52).reshape(shape)

    def normals(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Draw independent standard normals."""
        return ndtri(self.uniforms(shape))

    def categories(self, probabilities: NDArray[np.float64], count: int) -> NDArray[np.int32]:
        """Draw independent indices with these probabilities."""
        edges = np.cumsum(probabilities)
        # Rounding may leave the last edge below 1; a draw beyond it must give an index of positive probability.
        last = int(np.flatnonzero(probabilities)[-1])
        found = np.searchsorted(edges / edges[-1], self.uniforms((count,)), side="right")
        return np.minimum(found, last).astype(np.int32)
