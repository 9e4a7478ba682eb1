"""A device that torch computes on: what it is called, what it holds, and what happens when it is full."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import is_cupy_array, is_torch_array
from numpy.typing import DTypeLike, NDArray

from .._caller import warn_caller

Tensor = Any

ON_THE_PROCESSOR = "torch:cpu"
"""The name by which everything that is written for devices runs on the processor."""
LEAST_ROWS = 64
"""Rows of a tile that is not halved any more."""


@dataclass(frozen=True)
class Device:
    """A device of torch.

    Parameters
    ----------
    name : str
        "cuda", "cuda:1" and so on, or "torch:cpu": the same code on the processor, by which it can be tested.

    Examples
    --------
    >>> from mercer.gpu.device import Device
    >>> Device.named(None) is None
    True
    >>> Device.named("tpu")
    Traceback (most recent call last):
        ...
    ValueError: device must be None, 'cuda', 'cuda:0' and so on, or 'torch:cpu', found 'tpu'
    """

    name: str

    @classmethod
    def named(cls, name: str | None) -> Device | None:
        """The device of this name, None for None; an error where torch or the device itself is missing."""
        if name is None:
            return None
        check_name(name)
        try:
            import torch
        except ImportError as error:
            raise ImportError(f"device={name!r} needs torch: install mercer[gpu]") from error
        if name != ON_THE_PROCESSOR:
            count = torch.cuda.device_count() if torch.cuda.is_available() else 0
            number = int(name.partition(":")[2] or 0)
            if number >= count:
                found = f"{count} of them" if count else "none"
                raise ValueError(f"device={name!r} needs a GPU that torch can use, and it found {found}")
        return cls(name)

    @classmethod
    def of(cls, X: Any) -> Device | None:
        """The GPU that an array of torch or CuPy is on; None for everything in the memory of the processor."""
        if is_torch_array(X) and X.device.type == "cuda":
            return cls.named(f"cuda:{X.device.index or 0}")
        return cls.named(f"cuda:{X.device.id}") if is_cupy_array(X) else None

    @classmethod
    def holding(cls, tensor: Tensor) -> Device:
        """The device that a tensor is on, the processor included."""
        return cls.at(tensor.device)

    @classmethod
    def at(cls, place: Any) -> Device:
        """The device that torch knows as ``place``, the processor included."""
        return cls(ON_THE_PROCESSOR if place.type == "cpu" else f"cuda:{place.index or 0}")

    @cached_property
    def torch(self) -> Any:
        """The module."""
        import torch

        return torch

    @property
    def is_cuda(self) -> bool:
        """Whether it is a GPU."""
        return self.name != ON_THE_PROCESSOR

    @cached_property
    def place(self) -> Any:
        """The device as torch knows it."""
        return self.torch.device(self.name if self.is_cuda else "cpu")

    def type_of(self, dtype: DTypeLike) -> Any:
        """The type of torch that NumPy's type is."""
        return getattr(self.torch, np.dtype(dtype).name)

    def sent(self, array: NDArray[Any] | Tensor, dtype: DTypeLike | None = None) -> Tensor:
        """An array of NumPy as a tensor on the device, of this type or its own; never the same memory.

        A tensor that is there is only changed in its type.
        """
        if is_torch_array(array):
            return array if dtype is None else array.to(self.type_of(dtype))
        array = np.ascontiguousarray(array)
        wanted = self.type_of(array.dtype if dtype is None else dtype)
        if self.is_cuda:
            # A view of read-only memory that is only read: torch would warn of it.
            source = self.torch.from_numpy(array if array.flags.writeable else array.copy())
            return source.to(self.place).to(wanted)
        return self.torch.tensor(array, dtype=wanted)

    def received(self, tensor: Tensor) -> NDArray[Any]:
        """A tensor as an array of NumPy."""
        return tensor.detach().cpu().numpy()

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> Tensor:
        """A tensor that is to be written to."""
        return self.torch.empty(shape, dtype=self.type_of(dtype), device=self.place)

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> Tensor:
        """A tensor of zeros."""
        return self.torch.zeros(shape, dtype=self.type_of(dtype), device=self.place)

    def eigh(self, matrix: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The eigenvalues of a symmetric matrix, which rise, and its eigenvectors."""
        values, vectors = self.torch.linalg.eigh(self.sent(matrix))
        return self.received(values), self.received(vectors)

    def memory(self) -> int | None:
        """Bytes that the device has; None for the processor, whose memory others look after."""
        return int(self.torch.cuda.mem_get_info(self.place)[1]) if self.is_cuda else None

    def free_memory(self) -> float:
        """Bytes that a tensor can still take."""
        if not self.is_cuda:
            return float("inf")
        held = self.torch.cuda.memory_reserved(self.place) - self.torch.cuda.memory_allocated(self.place)
        return float(self.torch.cuda.mem_get_info(self.place)[0] + held)

    def synchronise(self) -> None:
        """Wait until all that was asked for is done."""
        if self.is_cuda:
            self.torch.cuda.synchronize(self.place)

    @property
    def shortage(self) -> type[BaseException]:
        """The error that tells that the device is full."""
        return self.torch.OutOfMemoryError

    def forget(self) -> None:
        """Give back what torch keeps for later."""
        if self.is_cuda:
            self.torch.cuda.empty_cache()


def check_name(name: Any) -> None:
    """Refuse what is no name of a device, whether or not there is one."""
    if name is None or name in (ON_THE_PROCESSOR, "cuda"):
        return
    if isinstance(name, str) and name.startswith("cuda:") and name[5:].isdecimal():
        return
    raise ValueError(f"device must be None, 'cuda', 'cuda:0' and so on, or {ON_THE_PROCESSOR!r}, found {name!r}")


class DeviceTiles:
    """Rows cut into tiles that are halved, which is said once, when the device has no room for them.

    Parameters
    ----------
    device : Device
    rows : int
        Rows of a tile to begin with.
    """

    def __init__(self, device: Device, rows: int):
        self.device = device
        self.rows = max(rows, 1)
        self._is_told = False

    def run(self, work: Callable[[slice], None], n_rows: int) -> None:
        """Call ``work`` on consecutive tiles; what has failed for want of room is called again with half the rows.

        So ``work`` is to add what it has found to anything else at its end.
        """
        start = 0
        while start < n_rows:
            stop = min(start + self.rows, n_rows)
            try:
                work(slice(start, stop))
            except self.device.shortage:
                if stop - start <= LEAST_ROWS:
                    raise
            else:
                start = stop
                continue
            self._halve(stop - start)  # outside of the handler, whose error holds the frames and their tensors

    def _halve(self, rows: int) -> None:
        self.device.forget()
        self.rows = max(LEAST_ROWS, rows // 2)
        if not self._is_told:
            self._is_told = True
            warn_caller(
                f"{self.device.name} has no room for {rows} rows at once: it goes on with {self.rows}, which takes "
                "longer"
            )
