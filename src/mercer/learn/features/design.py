"""What a solver sees of the features of all rows, whoever makes them and wherever they are held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..losses import Bend
from ..passes.fit_passes import Passes
from .chosen_rows import RowNumbers

Matrix = NDArray[np.float64]


class Design(Protocol):
    """Features Z of n rows, and a column of ones where there is an intercept.

    A solver goes through them again and again. Every product is one pass over the rows, of which ``what`` tells the
    purpose.
    """

    n_rows: int
    n_features: int
    dtype: Any
    intercept: bool
    n_jobs: int | None

    @property
    def width(self) -> int:
        """Features, and one more where there is an intercept."""
        ...

    @property
    def most_sample_bytes(self) -> float | None:
        """What the features of a sample may take, where a solver does without second moments; else None."""
        ...

    @property
    def passes(self) -> Passes:
        """Those of the fit."""
        ...

    @passes.setter
    def passes(self, passes: Passes) -> None: ...

    @property
    def n_passes(self) -> int:
        """How often all rows were gone through."""
        ...

    @n_passes.setter
    def n_passes(self, count: int) -> None: ...

    def kept(self, what: str, make: Callable[..., NDArray[Any]], *arguments: Any, passes: int = 1) -> NDArray[Any]:
        """What ``make`` finds in ``passes`` passes, unless it is known already."""
        ...

    def whole(self) -> NDArray[Any]:
        """The features of all rows, which must be few."""
        ...

    def coefficients(self, W: Matrix) -> Matrix:
        """What W is in the features of the map."""
        ...

    def products(self, W: Matrix, what: str) -> NDArray[Any]:
        """Z W for all rows."""
        ...

    def decision_values(self, W: Matrix, what: str) -> Any:
        """The same where losses take it: an array, or a tensor on the device that features are on."""
        ...

    def row_values(self, F: Any) -> Any:
        """Decision values of all rows where losses take them, wherever they are."""
        ...

    def transposed(self, R: NDArray[Any], what: str, rows: RowNumbers | None = None) -> Matrix:
        """Z' R, where R is 0 in all rows but those that are given."""
        ...

    def curved(self, W: Matrix, bend: Bend, what: str, rows: RowNumbers | None = None) -> Matrix:
        """Z' bend(Z W), in one pass."""
        ...

    def moments(self, h: NDArray[Any], alone: bool) -> NDArray[Any]:
        """Z' diag(h) Z over the rows where h is positive; ``alone`` where no other threads are at work."""
        ...
