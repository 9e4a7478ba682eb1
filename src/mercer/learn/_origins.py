"""What a learner remembers of the table that it was fitted on: its columns, and how to know its rows again."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import SourceTable, Table
from ..data.fingerprints import digest
from ..data.frames import Frame, columns, is_frame, is_numeric, levels, numbers
from ..data.tables import Block, rows_of

FIRST_ROWS = 16
"""Rows that are remembered, by their fingerprints."""


def remember(model: Any, X: Any) -> None:
    """Give a learner what it is to remember of its rows."""
    model.target_name_ = X.target_name if isinstance(X, Table) else None
    model.weight_name_ = X.weight_name if isinstance(X, Table) else None
    model.first_rows_ = row_prints(rows_of(X.head(), slice(0, FIRST_ROWS))) if isinstance(X, SourceTable) else ()


def has_seen(model: Any, table: Table) -> bool:
    """Whether a learner seems to have learned from rows of a table: most that it remembers are in the first block."""
    known = getattr(model, "first_rows_", ())
    if not known or not isinstance(table, SourceTable):
        return False
    return 2 * len(set(known).intersection(row_prints(model._adopted(table, reset=False).head()))) > len(known)


def row_prints(block: Block) -> tuple[str, ...]:
    """A short text for every row with its target, the same in whatever file and precision it is stored."""
    X, count = block.X, block.X.shape[0]
    if is_frame(X):
        parts = [np.asarray(part).tolist() for part in columns(rounded(X)).values()]
        rows: list[Any] = list(zip(*parts, strict=True))
    elif sp.issparse(X):
        held = sp.csr_array(X, dtype=np.float32, copy=True)
        held.sort_indices()
        ends = [slice(*pair) for pair in pairwise(held.indptr.tolist())]
        rows = [(held.indices[part].tolist(), held.data[part].tolist()) for part in ends]
    else:
        rows = np.asarray(X, dtype=np.float32).tolist()
    targets = [None] * count if block.y is None else np.asarray(block.y).tolist()
    return tuple(digest(*pair)[:8] for pair in zip(rows, targets, strict=True))


def rounded(X: Any) -> Any:
    """A frame whose numbers have the precision of float32."""
    return Frame(
        {
            name: numbers(part).astype(np.float32) if is_numeric(part) else levels(part)
            for name, part in columns(X).items()
        }
    )
