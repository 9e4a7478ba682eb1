"""Checks of the arrays that wrappers pass to kernels, and the memory that kernels work in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

REGISTER = 16
"""The number of values in the widest register."""
CACHE_LINE = 64
"""Bytes."""


def checked(
    name: str, array: NDArray[Any], dtype: DTypeLike, shape: tuple[int, ...] | None = None, written: bool = False
) -> int:
    """Return the address of an array that a kernel can read, or write, without a copy."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array, got {type(array).__name__}")
    if array.dtype != dtype:
        raise TypeError(f"{name} must be {np.dtype(dtype).name}, got {array.dtype}")
    if shape is not None and array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise ValueError(
            f"{name} must be C-contiguous and aligned, got strides {array.strides} for shape {array.shape}"
        )
    if written and not array.flags.writeable:
        raise ValueError(f"{name} is written to but is read-only")
    return array.ctypes.data


def readable_columns(name: str, array: NDArray[Any], dtype: DTypeLike) -> tuple[int, int]:
    """Return the address of adjacent columns that a kernel can read, and the distance of their rows in numbers."""
    _, width = two_dimensional(name, array)
    if array.dtype != dtype:
        raise TypeError(f"{name} must be {np.dtype(dtype).name}, got {array.dtype}")
    apart, within = array.strides
    if (width > 1 and within != array.itemsize) or apart % array.itemsize or apart < 0 or not array.flags.aligned:
        raise ValueError(f"{name} must be columns of a C-contiguous array, got strides {array.strides}")
    return array.ctypes.data, apart // array.itemsize


def checked_columns(name: str, array: NDArray[Any], dtype: DTypeLike, rows: int) -> tuple[int, int]:
    """Return the address and distance of columns that a kernel writes, which must have this number of rows."""
    n_rows, _ = two_dimensional(name, array)
    if n_rows != rows:
        raise ValueError(f"{name} must have {rows} rows, got {n_rows}")
    found = readable_columns(name, array, dtype)
    if not array.flags.writeable:
        raise ValueError(f"{name} is written to but is read-only")
    return found


def two_dimensional(name: str, array: NDArray[Any]) -> tuple[int, int]:
    """Return the shape of a matrix."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array, got {type(array).__name__}")
    if array.ndim != 2:
        raise ValueError(f"{name} must have 2 dimensions, got shape {array.shape}")
    return array.shape


def first_of(finite: int, rows: int) -> int | None:
    """Convert a kernel's return value to the first row that overflowed, or None."""
    return finite if finite < rows else None


def check_power_of_two(what: str, width: int) -> None:
    if width < 1 or width & (width - 1):
        raise ValueError(f"{what} must be a power of two, got {width}")


def check_blocks(n: int, blocks: int, size: int, count: int) -> None:
    """Check that rows of n numbers fit into blocks of this size, and that this many blocks make ``count`` outputs."""
    check_power_of_two("the size of a block", size)
    if n > size:
        raise ValueError(f"X must have at most {size} columns, got {n}")
    if not (blocks - 1) * size < count <= blocks * size:
        raise ValueError(f"{blocks} blocks of {size} do not make {count}")


def scratch(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return memory for ``count`` numbers that starts a cache line: a register across two lines loads at half speed."""
    room = np.empty(count * dtype.itemsize + CACHE_LINE, dtype=np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + count * dtype.itemsize].view(dtype)


def aligned(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return a copy in this type that starts a cache line, for tables that kernels read over and over."""
    copy: NDArray[Any] = scratch(array.size, np.dtype(dtype)).reshape(array.shape)
    with np.errstate(over="ignore"):
        copy[...] = array
    return copy


def padded(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return the numbers of an array in this type, followed by a register of zeros, starting a cache line."""
    numbers: NDArray[Any] = scratch(array.size + REGISTER, np.dtype(dtype))
    numbers[: array.size], numbers[array.size :] = array.ravel(), 0
    return numbers
