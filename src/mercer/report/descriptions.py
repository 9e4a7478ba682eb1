"""One plain sentence about each kernel and map."""

from __future__ import annotations

from typing import Any

from ..kernels import Kernel
from ..maps import FeatureMap


def of_kernel(kernel: Any) -> str:
    """Return the sense in which a kernel regards rows as similar."""
    return kernel.description if isinstance(kernel, Kernel) else Kernel.description


def of_map(map: FeatureMap) -> str:
    """Return what the features of a fitted map are, and what they are for."""
    return (
        f"Every row becomes {map.n_components_:,} numbers, whose inner products stand for the kernel: "
        f"{map.description.features}. "
        "A linear model of these numbers is a kernel machine."
    )
