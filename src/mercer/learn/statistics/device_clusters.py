"""Rows and the centres nearest to them, for features on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...gpu.device import Tensor
from ..cluster_space import Centres
from ..features.device_features import DeviceFeatures

Matrix = NDArray[np.float64]


def device_distances(
    design: DeviceFeatures, centres: Centres, lengths: NDArray[Any] | None
) -> Callable[[slice, Tensor], Tensor]:
    """Return a function of the places and the features of rows that computes squared distances to all centres.

    ``lengths`` are the squared lengths of all rows, if they are not those of their features.
    """
    torch = design.device.torch
    points, squares = design.sent(centres.points.T), design.sent(centres.lengths)

    def at(places: slice, Z: Tensor) -> Tensor:
        own = torch.linalg.vector_norm(Z, dim=1).square_() if lengths is None else design.sent(lengths[places])
        return (Z @ points).mul_(-2.0).add_(own[:, None]).add_(squares).clamp_min_(0.0)

    return at


def device_moved(
    design: DeviceFeatures, centres: Centres, lengths: NDArray[Any] | None, what: str
) -> tuple[Matrix, Matrix, Matrix]:
    """Return the sums of features and the numbers of the rows nearest to each centre, and their squared distances."""
    torch, device, count = design.device.torch, design.device, len(centres.points)
    distances = device_distances(design, centres, lengths)
    sums, counts, least = (device.zeros(shape, np.float64) for shape in (centres.points.shape, (count,), (1,)))

    def work(places: slice, Z: Tensor) -> None:
        found = distances(places, Z)
        labels = found.argmin(dim=1, keepdim=True)
        own = torch.zeros_like(found).scatter_(1, labels, 1.0)
        totals, numbers = own.T @ Z, own.sum(dim=0, dtype=torch.float64)
        nearest = found.gather(1, labels).sum(dtype=torch.float64)
        sums.add_(totals)
        counts.add_(numbers)
        least.add_(nearest)

    design.visit_all(work, what)
    return device.received(sums), device.received(counts), device.received(least)


def device_nearest(design: DeviceFeatures, centres: Centres, lengths: NDArray[Any] | None) -> NDArray[np.int32]:
    """Return the number of the nearest centre, for every row."""
    distances = device_distances(design, centres, lengths)
    labels = np.empty(design.n_rows, dtype=np.int32)

    def work(places: slice, Z: Tensor) -> None:
        labels[places] = design.device.received(distances(places, Z).argmin(dim=1))

    design.visit_all(work, "labels")
    return labels
