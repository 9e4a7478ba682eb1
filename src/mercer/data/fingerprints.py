"""Short texts that identify inputs, so that interrupted work is resumed only on the same ones."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .frames import columns, is_frame, plain


def digest(*parts: Any) -> str:
    """Return a text that depends on the text of all parts."""
    return hashlib.blake2b("\x00".join(map(str, parts)).encode(), digest_size=16).hexdigest()


def hashed(X: Any) -> str:
    """Hash every entry of an array or data frame, with its shape and types."""
    if X is None:
        return "none"
    if is_frame(X):
        here = {name: plain(part) for name, part in columns(X).items()}
        return digest(X.shape, *(digest(name, hashed(part)) for name, part in here.items()))
    if sp.issparse(X):
        return digest(X.shape, *map(hashed, (X.data, X.indices, X.indptr)))
    array = np.asarray(X)
    if array.dtype == object:
        return digest(array.shape, *map(repr, array.ravel().tolist()))
    entries = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return digest(array.shape, array.dtype, hashlib.blake2b(entries.data, digest_size=16).hexdigest())


WHOLE = 1 << 18
"""Files up to this size are hashed in full; larger ones are sampled."""
END, SAMPLE, SAMPLES = 1 << 16, 1 << 12, 32


def sampled(path: Path) -> str:
    """Hash a file's beginning, its end and samples between them, at places that depend on its size."""
    state = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        places = [(0, size)] if size <= WHOLE else [(0, END), *_between(size), (size - END, END)]
        for place, length in places:
            file.seek(place)
            state.update(file.read(length))
    return digest(size, state.hexdigest())


def _between(size: int) -> list[tuple[int, int]]:
    """Return places in a file of this size, away from its ends."""
    room = size - 2 * END - SAMPLE
    drawn = (hashlib.blake2b(f"{size} {number}".encode(), digest_size=8).digest() for number in range(SAMPLES))
    return [(END + int.from_bytes(word, "big") % room, SAMPLE) for word in drawn]
