"""Rows that may have their own coefficient: the map of kernel values at them, and their kernel matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.base import clone

from ..._memory import check_room
from ..._tiles import TILE, run_tiles
from ...maps import FeatureMap
from ...maps.nystrom_parameters import restored
from ..features.prepared_rows import PreparedRows

RowNumbers = NDArray[np.int64]

TOGETHER = 2048
"""The number of rows of a kernel matrix that are computed together."""


class ExactRows(NamedTuple):
    """Where rows with a coefficient and their kernel values come from.

    Parameters
    ----------
    rows : PreparedRows
    seed : int
        The seed of the map.
    asked : FeatureMap
        Nystrom with the kernel of the machine, not fitted.
    n_jobs : int or None
    """

    rows: PreparedRows
    seed: int
    asked: FeatureMap
    n_jobs: int | None

    def map_at(self, numbers: RowNumbers) -> FeatureMap:
        """Return the map of kernel values at these rows."""
        return clone(self.asked).set_params(landmarks=numbers, whiten=False).fit_rows(self.rows, self.seed)

    def gram(self, map: FeatureMap, known: NDArray[Any], dtype: DTypeLike, what: str) -> NDArray[Any]:
        """Return the kernel matrix of the rows of a map, of which the first have a known one.

        ``what`` describes the rows in the error if there is not enough memory.
        """
        landmarks = restored(map.parameters_.landmarks, map.n_features_in_)
        count, dtype = landmarks.shape[0], np.dtype(dtype)
        check_room(count**2 * dtype.itemsize, f"the kernel matrix of {count} {what}", self.rows.passes.context.memory)
        gram = np.empty((count, count), dtype=dtype)
        gram[: len(known), : len(known)] = known
        for start in range(len(known), count, TOGETHER):  # the lower half, which is copied to the upper one
            stop = min(start + TOGETHER, count)
            write = map.kernel_.values_at(landmarks[:stop], dtype)

            def work(some: slice, start: int = start, stop: int = stop, write: Any = write) -> None:
                rows = slice(start + some.start, start + some.stop)
                values = np.empty((rows.stop - rows.start, stop), dtype=dtype)
                write(landmarks[rows].astype(dtype), values)
                gram[rows, :stop] = values
                gram[:start, rows] = values[:, :start].T

            run_tiles(work, stop - start, TILE, self.n_jobs)
        return gram
