"""Bandwidths that are one number for all columns or one number per column."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._array import Array, canonical_csr, send
from .._checks import check_positive
from .._rows import Rows
from .bandwidth import LearnedBandwidth, check_bandwidth
from .families import ShiftInvariant


class ColumnBandwidths(LearnedBandwidth, ShiftInvariant):
    """Base class of shift-invariant kernels whose bandwidth may be a tuple with one number per column.

    Such a kernel is the kernel of bandwidth 1 between ``coordinates(X)``, the rows with rescaled columns.
    """

    def __post_init__(self) -> None:
        widths = getattr(self, self.bandwidth_field)
        if not isinstance(widths, tuple):
            check_bandwidth(self.bandwidth_field, widths, ", or a tuple with one number per column")
        elif not widths:
            raise ValueError(f"{self.bandwidth_field} must be a number or one number per column, found none")
        else:
            for column, width in enumerate(widths):
                check_positive(f"{self.bandwidth_field} of column {column}", width)

    @property
    def width(self) -> float:
        """The bandwidth between ``coordinates(X)``: the field itself, or 1 if it has one number per column."""
        value = getattr(self, self.bandwidth_field)
        return 1.0 if isinstance(value, tuple) else float(value)

    def factor(self, widths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the factors by which columns are multiplied so that these bandwidths become 1.

        Parameters
        ----------
        widths : ndarray of shape (n_features,)
            One bandwidth per column.

        Returns
        -------
        ndarray of shape (n_features,)
            One factor per column.
        """
        return widths

    @property
    def factors(self) -> NDArray[np.float64] | None:
        """The factor of every column, or None if all columns share a bandwidth."""
        value = getattr(self, self.bandwidth_field)
        return self.factor(np.array(value, dtype=np.float64)) if isinstance(value, tuple) else None

    @property
    def chart(self) -> Hashable:
        factors = self.factors
        return None if factors is None else tuple(factors.tolist())

    def coordinates(self, X: Array) -> Array:
        factors = self.factors
        if factors is None:
            return X
        self._check_columns(X.shape[1])
        if sp.issparse(X):
            X = canonical_csr(X)
            entries = X.data * factors[X.indices].astype(X.dtype)
            return type(X)((entries, X.indices, X.indptr), shape=X.shape)
        return X * send(factors, X)

    def coordinate_slopes(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.coordinates(np.ones_like(X))

    def spectral_block(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.replace(**{self.bandwidth_field: self.width}).gram(X, Y)

    def _with_learned_bandwidth(self, rows: Rows) -> Self:
        if self.factors is not None:
            self._check_columns(rows.n_features)
        return super()._with_learned_bandwidth(rows)

    def _check_columns(self, n_features: int) -> None:
        widths: Any = getattr(self, self.bandwidth_field)
        if len(widths) != n_features:
            raise ValueError(
                f"{self.bandwidth_field} of {type(self).__name__} has {len(widths)} numbers, one per column, but X has "
                f"{n_features} columns: give one number for all of them, or {n_features}"
            )
