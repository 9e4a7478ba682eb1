"""Blocks: rows as they are read, with their targets and weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._rows import BLOCK_ROWS as BLOCK_ROWS
from .frames import frame_rows, is_frame, stacked_frames


class Block(NamedTuple):
    """Consecutive rows; ``y`` and ``weight`` may be None."""

    X: Any
    y: Any = None
    weight: NDArray[np.float64] | None = None


def part_of(X: Any, rows: Any) -> Any:
    """Return some rows of a matrix or a data frame."""
    if is_frame(X):
        return frame_rows(X, rows)
    if sp.issparse(X) and isinstance(rows, slice):  # SciPy would copy the rows
        first, last, _ = rows.indices(X.shape[0])
        begin, end = int(X.indptr[first]), int(X.indptr[max(first, last)])
        starts = X.indptr[first : max(first, last) + 1] - begin
        return type(X)((X.data[begin:end], X.indices[begin:end], starts), shape=(len(starts) - 1, X.shape[1]))
    return X[rows]


def without_duplicates(X: Any) -> Any:
    """Return the matrix with duplicate CSR entries added up, as statistics assume."""
    if not sp.issparse(X) or X.has_canonical_format:
        return X
    summed = X.copy()
    summed.sum_duplicates()
    return X if summed.nnz == X.nnz else summed


def stacked(parts: list[Any]) -> Any:
    """Concatenate the rows of matrices or data frames."""
    if len(parts) == 1:
        return parts[0]
    if is_frame(parts[0]):
        return stacked_frames(parts)
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def rows_of(block: Block, rows: Any) -> Block:
    """Return some rows of a block."""
    return Block(part_of(block.X, rows), *(None if item is None else item[rows] for item in block[1:]))


def concatenated(blocks: list[Block]) -> Block:
    """Concatenate consecutive blocks, with weights of 1 if only some blocks have weights."""
    if len(blocks) == 1:
        return blocks[0]
    X = stacked([block.X for block in blocks])
    y = None if blocks[0].y is None else stacked([block.y for block in blocks])
    if all(block.weight is None for block in blocks):
        return Block(X, y)
    return Block(X, y, stacked([np.ones(b.X.shape[0]) if b.weight is None else b.weight for b in blocks]))


def without_weightless(block: Block) -> Block:
    """Drop the rows of weight 0, which do not count."""
    if block.weight is None or block.weight.all():
        return block
    return rows_of(block, np.flatnonzero(block.weight))


def recut(parts: Iterable[Block]) -> Iterator[Block]:
    """Recut blocks of any size into blocks of ``BLOCK_ROWS`` rows, except for the last."""
    waiting: list[Block] = []
    count = 0
    for block in parts:
        start = 0
        while start < block.X.shape[0]:
            waiting.append(rows_of(block, slice(start, start + BLOCK_ROWS - count)))
            taken = waiting[-1].X.shape[0]
            start, count = start + taken, count + taken
            if count == BLOCK_ROWS:
                yield concatenated(waiting)
                waiting, count = [], 0
    if waiting:
        yield concatenated(waiting)
