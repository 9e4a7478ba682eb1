r"""One scale per column from the mean squared gradient of a machine: the alternative for very many columns.

If a machine has learned :math:`f(x) = \sum_l k(x, x_l)\,\beta_l`, a column along which f hardly changes says little
about the target. The mean over rows of :math:`(\partial f / \partial x_j)^2`, summed over targets, is the diagonal of
the average gradient outer product (Radhakrishnan, Beaglehole, Pandit and Belkin, Mechanism for feature learning in
neural networks and backpropagation-free machine learning models, Science 2024), and its root the scale of column j.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels import Kernel
from ...kernels.base import BLOCK_ELEMENTS

Matrix = NDArray[np.float64]

SMALLEST_SCALE = 1e-3
"""The scale of a column along which nothing changes, relative to the largest scale."""


class GradientSquares(NamedTuple):
    """Weighted sums over rows of squared derivatives, one per column, and of weights."""

    sums: Matrix
    weight: float

    @classmethod
    def of(
        cls,
        X: NDArray[np.floating],
        kernel: Kernel,
        landmarks: Matrix,
        coefficients: Matrix,
        weight: Matrix | None = None,
    ) -> GradientSquares:
        """Return the sums over one block of dense rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_columns)
        kernel : Kernel
            A kernel with derivatives (``kernel.has_gradient``).
        landmarks : ndarray of shape (n_landmarks, n_columns)
        coefficients : ndarray of shape (n_landmarks,) or (n_landmarks, n_targets)
            The coefficients of the kernel's values at the landmarks, one column per target.
        weight : ndarray of shape (n_rows,), default=None
        """
        kernel.check_resolved()
        landmarks = np.asarray(landmarks, dtype=np.float64)
        coefficients = np.asarray(coefficients, dtype=np.float64).reshape(len(landmarks), -1)
        weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
        sums = np.zeros(X.shape[1])
        step = max(1, BLOCK_ELEMENTS // max(landmarks.shape))
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            rows = np.asarray(X[part], dtype=np.float64)
            for column in coefficients.T:
                weights = np.broadcast_to(column, (len(rows), len(column)))
                sums += weight[part] @ kernel.gradients(rows, landmarks, weights) ** 2
        return cls(sums, float(weight.sum()))

    def merge(self, other: GradientSquares) -> GradientSquares:
        """Return the sums over the rows of both."""
        return GradientSquares(self.sums + other.sums, self.weight + other.weight)

    def mean(self) -> Matrix:
        """Return the mean squared derivative along every column."""
        return self.sums / self.weight

    def scales(self) -> Matrix:
        """Return the numbers by which to multiply columns: roots of the means, with a mean square of 1.

        They are all 1 if nothing changes along any column. Because of the mean square of 1, columns of equal spread
        keep their mean squared distances, so that a bandwidth keeps its meaning.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Linear
        >>> steep = GradientSquares.of(np.eye(2), Linear(), np.eye(2), np.array([3.0, 4.0]))
        >>> (steep.scales() * np.sqrt(12.5)).round(12)
        array([3., 4.])
        """
        means = self.mean()
        largest = float(means.max(initial=0.0))
        if not largest > 0.0:
            return np.ones(len(means))
        roots = np.maximum(np.sqrt(means / largest), SMALLEST_SCALE)
        return roots / np.sqrt(np.mean(roots**2))
