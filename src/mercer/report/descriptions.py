"""One plain sentence about each kernel and map."""

from __future__ import annotations

from typing import Any

from ..kernels import Kernel
from ..maps import FeatureMap


def of_kernel(kernel: Any) -> str:
    """Return a sentence about which rows are similar to a kernel."""
    return kernel.description if isinstance(kernel, Kernel) else Kernel.description


def of_map(map: FeatureMap) -> str:
    """Return a description of the features of a fitted map and of their purpose."""
    return (
        f"Every row becomes {map.n_components_:,} numbers, whose inner products approximate the kernel: "
        f"{map.description.features}. "
        "A linear model of these numbers is a kernel machine."
    )
