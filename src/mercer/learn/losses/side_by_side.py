"""Several losses, one per target, combined into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._array import Array, namespace
from .base import Bend, Loss
from .row_values import Values


class SideBySide(Loss):
    """The losses of several targets of the same rows, whose columns share every product with the features."""

    def __init__(self, losses: Sequence[Loss]):
        self.losses = losses
        ends = np.cumsum([loss.n_columns for loss in losses]).tolist()
        self.columns = [slice(end - loss.n_columns, end) for end, loss in zip(ends, losses, strict=True)]
        self.n_columns = ends[-1]
        self.tasks = np.repeat(np.arange(len(losses)), [loss.n_columns for loss in losses])
        self.has_idle_rows = any(loss.has_idle_rows for loss in losses)
        firsts = [columns.start for columns in self.columns]
        self.problems = np.concatenate([first + loss.problems for first, loss in zip(firsts, losses, strict=True)])

    def _each(self, name: str, F: Values) -> list[Any]:
        """Return the results of every loss for its own columns."""
        return [getattr(loss, name)(F[:, columns]) for loss, columns in zip(self.losses, self.columns, strict=True)]

    def mean_weight(self) -> float:
        return max(loss.mean_weight() for loss in self.losses)

    def scaled(self, factor: NDArray[np.float64] | float) -> Loss:
        return SideBySide([loss.scaled(factor) for loss in self.losses])

    def value(self, F: Values) -> NDArray[np.float64]:
        return np.concatenate(self._each("value", F))

    def slope(self, F: Values) -> Values:
        return namespace(F).concat(self._each("slope", F), axis=1)

    def curvature(self, F: Values) -> Values:
        return namespace(F).concat(self._each("curvature", F), axis=1)

    def bend(self, F: Values) -> Bend:
        bends = self._each("bend", F)
        if all(bend.diagonal is not None for bend in bends):
            return Bend.of(namespace(F).concat([bend.diagonal for bend in bends], axis=1))
        return bend_beside(bends, self.columns)


def bend_beside(bends: Sequence[Bend], columns: Sequence[slice]) -> Bend:
    """Return the bend of concatenated columns, from the bends of groups of columns."""
    both = list(zip(bends, columns, strict=True))

    def apply(rows: Array, V: Values) -> Values:
        return namespace(V).concat([bend(rows, V[:, mine]) for bend, mine in both], axis=1)

    def of_rows(rows: slice) -> Bend:
        return bend_beside([bend.part(rows) for bend in bends], columns)

    return Bend(apply, None, of_rows, any(bend.on_device for bend in bends))
