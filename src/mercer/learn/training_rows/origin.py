"""The facts that a learner remembers about its training table: its columns, and how to recognise its rows."""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ...data import SourceTable, Table
from ...data.block import Block, rows_of
from ...data.fingerprints import digest
from ...data.frames import NUMBERS, columns, is_frame, kind_of, levels, numbers
from ...data.partitioned_files import PartitionedFiles
from ...data.times import TIMES

FIRST_ROWS = 16
"""The number of rows whose fingerprints are remembered."""


def remember(model: BaseEstimator, X: Any) -> None:
    """Record on a learner by which fingerprints it can recognise its training rows."""
    X = X.source if isinstance(X, PartitionedFiles) else X
    model.target_name_ = X.target_name if isinstance(X, Table) else None
    model.weight_name_ = X.weight_name if isinstance(X, Table) else None
    model.first_rows_ = row_prints(rows_of(X.head(), slice(0, FIRST_ROWS))) if isinstance(X, SourceTable) else ()


def has_seen(model: BaseEstimator, table: Table) -> bool:
    """Return whether a learner was probably trained on a table, whose first block has most rows it remembers."""
    known = getattr(model, "first_rows_", ())
    if not known or not isinstance(table, SourceTable):
        return False
    return 2 * len(set(known).intersection(row_prints(model.matched_table(table).head()))) > len(known)


def row_prints(block: Block) -> tuple[str, ...]:
    """Return a fingerprint of every row with its target, independent of file format and precision."""
    targets = np.zeros((block.X.shape[0], 0), dtype=np.uint8) if block.y is None else entry_bytes([np.asarray(block.y)])
    rows = sparse_rows(block.X) if sp.issparse(block.X) else entry_bytes(parts_of(block.X))
    # bytes, since the text of every number would take far longer than a prediction does
    return tuple(
        blake2b(bytes(row) + bytes(y), digest_size=4).hexdigest() for row, y in zip(rows, targets, strict=True)
    )


def parts_of(X: Any) -> list[Any]:
    """Return matrices and columns that together are the rows of X."""
    return list(columns(X).values()) if is_frame(X) else [X]


def sparse_rows(X: Any) -> list[bytes]:
    """Return the nonzero entries of every row, with their columns, as bytes."""
    held = sp.csr_array(X, dtype=np.float64, copy=True)
    held.sum_duplicates()
    held.eliminate_zeros()
    places, values = held.indices.astype("<i8"), single(held.data)
    ends = [slice(*pair) for pair in pairwise(held.indptr.tolist())]
    return [places[part].tobytes() + values[part].tobytes() for part in ends]


def entry_bytes(parts: list[Any]) -> NDArray[np.uint8]:
    """Return rows as bytes: numbers and times with the precision of float32, levels by their fingerprints."""
    held = [part for part in parts if has_numbers(part)]
    levelled = [part for part in parts if not has_numbers(part)]
    found = [single(as_matrix(numbers(part))) for part in held] + [as_matrix(level_prints(part)) for part in levelled]
    return np.concatenate([np.ascontiguousarray(part).view(np.uint8) for part in found], axis=1)


def has_numbers(part: Any) -> bool:
    """Return whether entries are numbers, or times, which are numbers of days."""
    return kind_of(part) in (*NUMBERS, *TIMES)


def as_matrix(part: NDArray[Any]) -> NDArray[Any]:
    return part.reshape(len(part), -1)


def single(values: Any) -> NDArray[np.float32]:
    """Return numbers in float32, with one zero and one NaN."""
    with np.errstate(over="ignore"):
        rounded = np.asarray(values).astype("<f4") + np.float32(0)
    rounded[np.isnan(rounded)] = np.nan
    return rounded


def level_prints(part: Any) -> NDArray[np.uint64]:
    """Return a number for every level, independent of its position."""
    given = levels(part)
    known = {level: int(digest(repr(level))[:16], 16) for level in set(given.ravel().tolist())}
    return np.array([known[level] for level in given.ravel().tolist()], dtype="<u8").reshape(given.shape)
