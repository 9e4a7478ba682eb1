"""Machines on landmarks whose kernel values are in partitions: Hessians are summed where these are."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.partitions import Sums
from ..features.partitioned_features import HeldPart, PartitionedFeatures
from .landmarks import LandmarkFeatures, LandmarkRoot


class PartitionedLandmarkFeatures(LandmarkFeatures):
    """The features of rows in partitions, as a solver uses them.

    Parameters
    ----------
    values : PartitionedFeatures
        The kernel values of all rows at the landmarks.
    root : LandmarkRoot
        The factor of the kernel matrix of the landmarks.
    """

    values: PartitionedFeatures

    def __init__(self, values: PartitionedFeatures, root: LandmarkRoot):
        super().__init__(values, root)

    def moments(self, h: NDArray[Any], alone: bool) -> NDArray[Any]:
        """Return Z' diag(h) Z over the rows with positive h, from features that are made in the partitions."""
        self.n_passes += 1
        arguments = [h[part] for part in self.values.table.slices()]
        held = np.dtype(self.dtype).itemsize * self.width**2
        return self.values.summed("curvature", partial(landmark_moments, self.root), arguments, held)[0]


def landmark_moments(root: LandmarkRoot, part: HeldPart, h: NDArray[Any]) -> Sums:
    """Return the second moments of the features of one partition, weighted by the curvature of its rows."""
    return (LandmarkFeatures(part.features, root).moments(h, True),)
