"""Weighted sums over rows of features on a device and of targets in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .device import Device, Tensor
from .precision import full_precision
from .split_products import add_second_moments, mirrored

Matrix = NDArray[np.float64]


def trace_of_tensor(device: Device, Z: Tensor, weight: Matrix | None) -> float:
    """Return the trace of Z' diag(weight) Z."""
    squares = (Z * Z).sum(dim=1, dtype=device.torch.float64)
    return float(squares.sum() if weight is None else device.sent(weight) @ squares)


def moments_of_tensor(device: Device, Z: Tensor, Y: Matrix, weight: Matrix | None, exact: bool) -> tuple[Any, ...]:
    """Return sums over rows of z z', z y', y y', z, y and 1, and the number of rows; products of targets use the CPU.

    Parameters
    ----------
    device : Device
        The device.
    Z : tensor of shape (n_rows, n_features)
        The features.
    Y : ndarray of shape (n_rows, n_targets)
        The targets.
    weight : ndarray of shape (n_rows,) or None
        The weights.
    exact : bool
        Whether products of float32 features are computed in float64.
    """
    torch = device.torch
    w = np.ones(len(Y)) if weight is None else weight
    total, targets = float(w.sum()), w @ Y
    # A large mean of the targets would leave a float32 product no digits, so products are centred about the mean.
    mean = targets / (total or 1.0)
    deviations = Y - mean
    sent_weight = device.sent(w)
    features = Z.double().T @ sent_weight
    root = sent_weight.sqrt().to(Z.dtype)
    scaled = Z if weight is None or bool((weight == 1.0).all()) else Z * root[:, None]
    used = scaled.double() if exact else scaled
    gram = torch.zeros((Z.shape[1], Z.shape[1]), dtype=torch.float64, device=device.place)
    with full_precision(device):
        add_second_moments(device, scaled, gram, exact)
        cross = (used.T @ (device.sent(deviations) * root.double()[:, None]).to(used.dtype)).double()
    cross += features[:, None] * device.sent(mean)
    with np.errstate(over="ignore"):
        squares = (deviations * w[:, None]).T @ deviations + total * np.outer(mean, mean)
    rows = np.array([float(len(Y))])
    return mirrored(gram), cross, squares, features, targets, np.array([total]), rows
