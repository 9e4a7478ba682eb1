"""Which rows are different ones, where there are few of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._array import canonical_csr
from ..data.training_rows import Chunk


def distinct_rows(chunks: Iterable[Chunk], most: int) -> NDArray[np.int64] | None:
    """The number of the first of every different row of positive weight, None where there are more than ``most``.

    A row that is there twice is one row, and so is a row of weight 2; one of weight 0 is none. Reads no further than it
    takes to find too many.
    """
    found: dict[bytes, int] = {}
    for chunk in chunks:
        counted = np.arange(chunk.X.shape[0]) if chunk.weight is None else np.flatnonzero(chunk.weight > 0.0)
        for place, row in _different(chunk.X[counted]):
            found.setdefault(hashlib.blake2b(row, digest_size=16).digest(), chunk.first + int(counted[place]))
            if len(found) > most:
                return None
    return np.sort(np.fromiter(found.values(), dtype=np.int64, count=len(found)))


def _different(X: Any) -> Iterator[tuple[int, bytes]]:
    """The places and bytes of different rows, in order; some may be given more than once."""
    if sp.issparse(X):
        X = canonical_csr(X).copy()
        X.eliminate_zeros()
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        yield from ((place, X.indices[a:b].tobytes() + X.data[a:b].tobytes()) for place, (a, b) in enumerate(ends))
        return
    X = np.ascontiguousarray(X) + 0.0  # so that -0 is 0
    if X.shape[0] > 0 and X.dtype != object:
        whole = X.view(np.dtype((np.void, X.dtype.itemsize * X.shape[1]))).ravel()
        for place in np.sort(np.unique(whole, return_index=True)[1]):
            yield int(place), X[place].tobytes()
