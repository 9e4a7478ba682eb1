"""Helpers for the launches of kernels: tables on the device, and marks for rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..device import Tensor

if TYPE_CHECKING:
    import torch

Writer = Callable[[Any, Any], Any]
"""Writes the features of float32 rows on a device to ``out``, and returns a nonzero mark for every row that must be
mapped differently. Rows and ``out`` are tensors, and the rows of ``out`` are contiguous."""

LONGEST_PHASE = 32.0
"""Phases up to this one have an error below 1e-5 in float32."""


def longest_phase() -> float:
    """Return the longest phase for which float32 has enough digits, in half turns."""
    return LONGEST_PHASE / math.pi


def sent(device: torch.device, *arrays: NDArray[Any]) -> list[Tensor]:
    """Return copies of NumPy arrays on a device: numbers in float32, integers unchanged."""
    import torch

    def copied(array: NDArray[Any]) -> Tensor:
        array = array.astype(np.float32) if array.dtype.kind == "f" else array.astype(np.int32)
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    return [copied(array) for array in arrays]


def marks(X: Tensor) -> Tensor:
    """Return one byte per row, initially 0."""
    import torch

    return X.new_zeros(X.shape[0], dtype=torch.uint8)
