"""Short texts that tell inputs apart, for whoever goes on with work on them."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from .frames import columns, frame_rows, is_frame, is_numeric, levels, numbers

SAMPLED = 1024
"""Rows of an array that are looked at."""


def digest(*parts: Any) -> str:
    """A text that hangs on the text of all parts."""
    return hashlib.blake2b("\x00".join(map(str, parts)).encode(), digest_size=16).hexdigest()


def sketched(X: Any) -> str:
    """The shape and types of an array or frame, and a hash of rows at equal distances."""
    if X is None:
        return "none"
    rows = np.unique(np.linspace(0, max(0, X.shape[0] - 1), SAMPLED).astype(np.int64))[: X.shape[0]]
    if is_frame(X):
        some = columns(frame_rows(X, rows))
        parts = [(name, numbers(part) if is_numeric(part) else levels(part)) for name, part in some.items()]
        return digest(X.shape, *(digest(name, part.dtype, part.tolist()) for name, part in parts))
    some = X[rows]
    if sp.issparse(some):
        return digest(X.shape, X.dtype, X.nnz, *(part.tolist() for part in (some.data, some.indices, some.indptr)))
    return digest(X.shape, X.dtype, np.asarray(some).tolist())
