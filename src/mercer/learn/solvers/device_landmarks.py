"""Machines on landmarks whose kernel values are on a device, where all intermediate results of a step stay."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ...gpu.device import Device, Tensor
from ...gpu.precision import full_precision
from ...gpu.triangular import DeviceTriangular
from ..features.chosen_rows import RowNumbers
from ..features.device_features import DeviceFeatures
from ..losses import Bend
from .landmarks import ROUNDING, TRIES, CoefficientChange, LandmarkFeatures
from .newton import Matrix, Values


class DeviceRoot(CoefficientChange):
    """The factor T of the kernel matrix of the landmarks, on a device: what :class:`LandmarkRoot` is on processors.

    Parameters
    ----------
    device : Device
    gram : tensor of shape (n_landmarks, n_landmarks)
        The kernel matrix in float64.
    precision : float
        The relative precision of the kernel values that T is used with.
    """

    factor: DeviceTriangular

    def __init__(self, device: Device, gram: Tensor, precision: float):
        self.device = device
        count, diagonal = len(gram), gram.diagonal().clone()
        self.mean_diagonal = float(diagonal.mean())
        added = max(ROUNDING * precision, count * float(np.finfo(np.float64).eps)) * (self.mean_diagonal or 1.0)
        for _ in range(TRIES):
            gram.diagonal().copy_(diagonal + added)
            try:
                self.factor = DeviceTriangular.factor(device, gram).inverted()
                break
            except np.linalg.LinAlgError:
                added *= 10.0
        else:
            raise ValueError("the kernel matrix of the landmarks is not positive semi-definite")

    @cached_property
    def _single(self) -> DeviceTriangular:
        """T in float32, for products whose errors the next Newton step corrects."""
        return self.factor.rounded(np.float32)

    @cached_property
    def _gram(self) -> dict[Any, Tensor]:
        return {}

    def turn(self, dtype: DTypeLike) -> DeviceTriangular:
        """Return T in this precision."""
        return self._single if dtype == np.float32 else self.factor

    def preconditioner(self, curvature: float, intercept: bool, dtype: DTypeLike) -> DeviceTriangular:
        """Return the factor of I + c T'T, bordered by the row of an intercept that is not regularised."""
        count, eps = len(self.factor), float(np.finfo(dtype).eps)
        with full_precision(self.device):
            if dtype not in self._gram:
                self._gram[dtype] = self.factor.gram(dtype)
            hessian = self.device.zeros((count + intercept, count + intercept), dtype)
            self.device.torch.mul(self._gram[dtype], curvature, out=hessian[:count, :count])
            inner = hessian.diagonal()[:count]
            inner.mul_(1.0 + ROUNDING * eps).add_(1.0)
            if intercept:
                hessian[count, :count] = curvature * self.factor.lower.sum(dim=0)
                hessian[count, count] = curvature * count * (1.0 + 1e3 * eps) + eps
            return DeviceTriangular.factor(self.device, hessian).inverted()


class DeviceLandmarkFeatures(LandmarkFeatures):
    """The features Z = k(X, L) T^-T with kernel values and T on a device.

    Parameters
    ----------
    values : DeviceFeatures
    root : DeviceRoot
    """

    values: DeviceFeatures
    root: DeviceRoot  # type: ignore[assignment]

    def __init__(self, values: DeviceFeatures, root: DeviceRoot):
        super().__init__(values, root)  # type: ignore[arg-type]

    def decision_values(self, W: Matrix, what: str) -> Any:
        A, count = self.root.coefficients(W), self.n_features
        F = self.values.products_of(self.values.sent(A[:count]), what)
        return F.add_(self.values.sent(A[count])) if self.intercept else F

    def row_values(self, F: Any) -> Any:
        return self.values.sent(F)

    def step_values(self, G: Any) -> Tensor:
        """Coefficients on the device, in float64."""
        return self.values.device.sent(G, np.float64)

    def curved(self, W: Tensor, bend: Bend, what: str, rows: RowNumbers | None = None) -> Tensor:
        device, count = self.values.device, self.n_features
        with full_precision(device):
            root, sent = self.root.turn(self.dtype), self.values.sent(W)
            offsets = sent[count] if self.intercept else device.zeros((W.shape[1],), self.dtype)
            G, totals = self.values.curved_by(root.solved_transposed(sent[:count]), offsets, bend, what, rows)
            found = root.solved(G.to(sent.dtype)).double()
        return device.torch.vstack([found, totals[None]]) if self.intercept else found

    def moments(self, h: Values, alone: bool) -> Values:
        root = self.root.turn(self.dtype)

        def turned(K: Tensor) -> Tensor:
            with full_precision(self.values.device):
                return root.solved(K.T).T

        return self.values.moments_of(h, turned)
