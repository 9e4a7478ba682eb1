"""The interface through which a solver uses the features of all rows, wherever they are computed and stored."""

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
    """Features Z of n rows, and a column of ones if there is an intercept.

    A solver passes over them repeatedly. Every product is one pass over the rows, with ``what`` as its purpose.
    """

    n_rows: int
    n_features: int
    dtype: Any
    intercept: bool
    n_jobs: int | None

    @property
    def width(self) -> int:
        """The number of features, plus one if there is an intercept."""
        ...

    @property
    def most_sample_bytes(self) -> float | None:
        """The memory for the features of a sample, if a solver does not use second moments; otherwise None."""
        ...

    @property
    def passes(self) -> Passes:
        """The passes of the fit."""
        ...

    @passes.setter
    def passes(self, passes: Passes) -> None: ...

    @property
    def n_passes(self) -> int:
        """The number of passes over all rows."""
        ...

    @n_passes.setter
    def n_passes(self, count: int) -> None: ...

    def kept(self, what: str, make: Callable[..., NDArray[Any]], *arguments: Any, passes: int = 1) -> NDArray[Any]:
        """Return the result of ``make``, computed in ``passes`` passes unless it is known already."""
        ...

    def whole(self) -> NDArray[Any]:
        """Return the features of all rows, which must be few."""
        ...

    def coefficients(self, W: Matrix) -> Matrix:
        """Return W in terms of the features of the map."""
        ...

    def products(self, W: Matrix, what: str) -> NDArray[Any]:
        """Return Z W for all rows."""
        ...

    def decision_values(self, W: Matrix, what: str) -> Any:
        """Return Z W in the form that losses expect: an array, or a tensor on the device of the features."""
        ...

    def row_values(self, F: Any) -> Any:
        """Return decision values of all rows in the form that losses expect."""
        ...

    def step_values(self, G: Any) -> Any:
        """Return coefficients in the form that the products of a step expect, kept until the step is found."""
        ...

    def transposed(self, R: NDArray[Any], what: str, rows: RowNumbers | None = None) -> Matrix:
        """Return Z' R, where R is 0 in all rows except those that are given."""
        ...

    def curved(self, W: Any, bend: Bend, what: str, rows: RowNumbers | None = None) -> Any:
        """Return Z' bend(Z W), in one pass, for ``W`` from :meth:`step_values`."""
        ...

    def moments(self, h: NDArray[Any], alone: bool) -> NDArray[Any]:
        """Return Z' diag(h) Z over the rows with positive h; ``alone`` if no other threads are running."""
        ...
