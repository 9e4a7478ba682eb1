"""Leave-one-out errors of ridge regression for rows whose features are on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .device import Device, Tensor
from .precision import full_precision
from .split_products import Halves, split_product

Matrix = NDArray[np.float64]

HIGH = 0.25
"""Above this leverage, float32 has too few digits of 1 minus the leverage: such rows are rotated again in float64."""


class LeftOutErrors:
    """The errors e / (1 - h) of rows that are left out, for every alpha and target.

    Parameters
    ----------
    device : Device
    vectors : ndarray of shape (n_features, n_features)
        The eigenvectors of the second moments.
    shrunk : ndarray of shape (n_features, n_alphas)
        1 / (eigenvalue + alpha).
    coef : ndarray of shape (n_features, n_alphas, n_targets)
        Coefficients in the coordinates of the eigenvectors.
    feature_mean : ndarray of shape (n_features,)
    of_intercept : float
        The contribution of an intercept to every leverage.
    """

    def __init__(
        self,
        device: Device,
        vectors: Matrix,
        shrunk: Matrix,
        coef: Matrix,
        feature_mean: Matrix,
        of_intercept: float,
    ):
        self.device, self.of_intercept = device, of_intercept
        self._vectors, self._shrunk, self._mean = (device.sent(one) for one in (vectors, shrunk, feature_mean))
        self._coef = device.sent(coef.reshape(len(coef), -1))
        self._shape = coef.shape[1:]
        self._halves: Halves | None = None

    def residuals_and_leverages(self, Z: Tensor, deviations: Matrix, weight: Matrix) -> tuple[Tensor, Tensor]:
        """Return residuals and leverages of rows for every alpha; ``deviations`` are the targets minus their means."""
        sent, w = self.device.sent(deviations), self.device.sent(weight)
        if Z.dtype == self.device.torch.float64:
            return self._by(self._turned_exactly(Z), sent, w)
        residuals, leverages = self._by(self._turned(Z), sent, w)
        high = (leverages > HIGH).any(dim=1).nonzero()[:, 0]
        if len(high):
            residuals[high], leverages[high] = self._by(self._turned_exactly(Z[high]), sent[high], w[high])
        return residuals, leverages

    def _turned(self, Z: Tensor) -> Tensor:
        """Return features in the coordinates of the eigenvectors, as accurate as float32."""
        if self._halves is None:
            self._halves = Halves.of(self.device, self._vectors.float())
        centred = Z - self._mean.float()
        return split_product(self.device, Halves.of(self.device, centred), self._halves)

    def _turned_exactly(self, Z: Tensor) -> Tensor:
        return (Z.double() - self._mean) @ self._vectors

    def _by(self, turned: Tensor, deviations: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        kind = turned.dtype
        with full_precision(self.device):
            fitted = (turned @ self._coef.to(kind)).double().reshape(len(turned), *self._shape)
            leverages = turned.square_() @ self._shrunk.to(kind)
        return deviations[:, None] - fitted, weight[:, None] * (leverages.double() + self.of_intercept)

    def sums(self, Z: Tensor, Y: Matrix, target_mean: Matrix, weight: Matrix | None, counted: bool) -> tuple[Any, ...]:
        """Return weighted sums of squared errors, one row per alpha, and for class codes of correct predictions."""
        torch, w = self.device.torch, np.ones(len(Y)) if weight is None else weight
        residuals, leverages = self.residuals_and_leverages(Z, Y - target_mean, w)
        errors = residuals / (1.0 - leverages).clamp_min_(0.0)[:, :, None]
        sent = self.device.sent(w)
        squares = torch.tensordot(sent, torch.where(errors.isnan(), 0.0, errors).square_(), dims=1)
        if not counted:
            return (squares,)
        codes = self.device.sent(Y)
        predicted = codes[:, None] - errors
        if codes.shape[1] == 1:
            hits = codes * predicted[:, :, 0] > 0.0
        else:
            guess = torch.where(predicted.isnan(), -torch.inf, predicted).argmax(dim=2)
            hits = guess == codes.argmax(dim=1)[:, None]
        return squares, sent @ hits.double()
