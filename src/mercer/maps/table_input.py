"""Tables in place of matrices: the names of columns, and features computed block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from .._array import Array
from .._memory import check_memory
from .._random import Stream
from ..data import Rows, SourceTable, Table, as_rows
from ..data.columns import Roles
from ..data.frames import columns, is_frame, numbers
from ..data.table_rows import RowError, TableRows, placed
from ..scale import is_collection, table_of
from .executor import features, sparse_features
from .row_checks import check_rows

if TYPE_CHECKING:
    from .estimator import FeatureMap


def adopt_columns(estimator: Any, table: SourceTable) -> None:
    """Record the columns that an estimator is fitted on, as scikit-learn does for matrices and data frames."""
    estimator.n_features_in_ = table.width
    if table.names is not None:
        estimator.feature_names_in_ = np.array(table.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def matched_columns(estimator: Any, table: SourceTable) -> SourceTable:
    """Return the table restricted to the columns that an estimator was fitted on."""
    apart = Roles(*(getattr(estimator, name, None) for name in ("target_name_", "weight_name_"))).all()
    return table.matched(getattr(estimator, "feature_names_in_", None), estimator.n_features_in_, apart)


def numeric(X: Array) -> Any:
    """Return the rows of a block of a table as a matrix of numbers; refuse missing values."""
    if is_frame(X):
        X = np.column_stack([numbers(column) for column in columns(X).values()])
    values = X.data if sp.issparse(X) else X
    if not np.isfinite(values).all():
        place = int(np.argmin(np.isfinite(values).ravel()))
        row = int(np.searchsorted(X.indptr, place, side="right")) - 1 if sp.issparse(X) else place // X.shape[1]
        raise RowError(row, "Input X contains NaN or infinity in {row}")
    return X


def rows_to_fit(map: FeatureMap, X: Array, rng: Stream) -> Rows:
    """Return the rows of a matrix or table for fitting a map, and record the columns in the map."""
    if is_collection(X):
        X = table_of(X)
    if not isinstance(X, Table):
        return as_rows(map.validated(X, reset=True), rng)
    head = X.head().X
    if isinstance(X, SourceTable):
        if X.levels:
            raise ValueError(
                f"a map needs columns of numbers, found levels in {X.levels[0]!r}: "
                "use a learner of mercer.learn, which encodes levels as numbers"
            )
        adopt_columns(map, X)
    else:
        validate_data(map, head, skip_check_array=True, reset=True)
    return TableRows(X, numeric, rng.child("rows"))


def feature_blocks(map: FeatureMap, table: Table, out: Any = None) -> Iterator[Any]:
    """Yield the features of a table's rows block by block, written to ``out`` if it is given."""
    table = table.features()
    if isinstance(table, SourceTable):
        table = matched_columns(map, table)
    first = 0
    for block in table.blocks():
        rows = range(first, first + block.X.shape[0])
        X = placed(table, numeric, block.X, rows)
        if X.shape[1] != map.n_features_in_:
            raise ValueError(f"a block has {X.shape[1]} columns, but {map.n_features_in_} are expected")
        check_rows(map.kernel_, X, first, table.where)
        if sp.issparse(X) and map.fitted_.keeps_sparse:
            yield sparse_features(map.fitted_, X, map.n_jobs, lambda checked: None)
        else:
            into = None if out is None else out[rows.start : rows.stop]
            yield features(map.fitted_, X, map.n_jobs, first, into)
        first = rows.stop


def table_features(map: FeatureMap, table: Table, out: Any = None) -> Any:
    """Return the features of all rows of a table, written to ``out`` if it is given."""
    table = table.features()
    head = table.head().X
    head = placed(table, numeric, head, range(head.shape[0]))
    if sp.issparse(head) and map.fitted_.keeps_sparse:
        if out is not None:
            raise ValueError("out must be None if sparse rows have sparse features, found an array")
        return sp.vstack(list(feature_blocks(map, table)), format="csr")
    shape = (table.n_rows, map.n_components_)
    if out is None:
        check_memory(shape, head.dtype.itemsize, "the array of features")
        out = np.empty(shape, dtype=head.dtype)
    elif not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != head.dtype:
        found = f"{out.shape} and {out.dtype}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"out must be a NumPy array of shape {shape} and dtype {head.dtype}, found {found}")
    for _ in feature_blocks(map, table, out):
        pass
    return out
