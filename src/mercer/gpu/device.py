"""A device on which torch computes: its name, its memory, and what happens when that is full."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import is_cupy_array, is_torch_array
from numpy.typing import DTypeLike, NDArray

from .._caller import warn_caller
from .shortage import is_shortage

Tensor = Any

ON_THE_PROCESSOR = "torch:cpu"
"""The device name with which the code for devices runs on the CPU, for tests."""
LEAST_ROWS = 64
"""The number of rows of the smallest tile, which is not halved any further."""


@dataclass(frozen=True)
class Device:
    """A device of torch.

    Parameters
    ----------
    name : str
        "cuda", "cuda:1" and so on; or "torch:cpu", with which the same code runs on the CPU and can be tested.

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
        """Return the device with this name, or None for None; raise an error if torch or the device is missing."""
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
                found = f"{count} of them" if count else f"none{_why_none(torch)}"
                raise ValueError(f"device={name!r} needs a GPU that torch can use, but torch found {found}")
        return cls(name)

    @classmethod
    def of(cls, X: Any) -> Device | None:
        """Return the GPU that holds an array of torch or CuPy, or None for everything in CPU memory."""
        if is_torch_array(X) and X.device.type == "cuda":
            return cls.named(f"cuda:{X.device.index or 0}")
        return cls.named(f"cuda:{X.device.id}") if is_cupy_array(X) else None

    @classmethod
    def holding(cls, tensor: Tensor) -> Device:
        """Return the device that holds a tensor, including the CPU."""
        return cls.at(tensor.device)

    @classmethod
    def at(cls, place: Any) -> Device:
        """Return the device that torch knows as ``place``, including the CPU."""
        return cls(ON_THE_PROCESSOR if place.type == "cpu" else f"cuda:{place.index or 0}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (self.name,)  # without the module, which cannot be sent to another process

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
        """Return torch's type for a type of NumPy."""
        return getattr(self.torch, np.dtype(dtype).name)

    def sent(self, array: NDArray[Any] | Tensor, dtype: DTypeLike | None = None) -> Tensor:
        """Return a NumPy array as a tensor on the device, of this type or its own, always in separate memory.

        A tensor stays where it is, and is copied only to change its type.
        """
        if is_torch_array(array):
            return array if dtype is None else array.to(self.type_of(dtype))
        array = np.ascontiguousarray(array)
        wanted = self.type_of(array.dtype if dtype is None else dtype)
        if self.is_cuda:
            # Torch would warn about a view of read-only memory, but here it is only read.
            source = self.torch.from_numpy(array if array.flags.writeable else array.copy())
            return source.to(self.place).to(wanted)
        return self.torch.tensor(array, dtype=wanted)

    def received(self, tensor: Tensor) -> NDArray[Any]:
        """Return a tensor as a NumPy array."""
        return tensor.detach().cpu().numpy()

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> Tensor:
        """Return an uninitialised tensor."""
        return self.torch.empty(shape, dtype=self.type_of(dtype), device=self.place)

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> Tensor:
        """Return a tensor of zeros."""
        return self.torch.zeros(shape, dtype=self.type_of(dtype), device=self.place)

    def eigh(self, matrix: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the eigenvalues of a symmetric matrix in increasing order, and its eigenvectors."""
        values, vectors = self.torch.linalg.eigh(self.sent(matrix))
        return self.received(values), self.received(vectors)

    def memory(self) -> int | None:
        """Return the bytes of the device's memory; None for the CPU, whose memory is checked elsewhere."""
        return int(self.torch.cuda.mem_get_info(self.place)[1]) if self.is_cuda else None

    def free_memory(self) -> float:
        """Return the bytes that are still free for tensors."""
        if not self.is_cuda:
            return float("inf")
        held = self.torch.cuda.memory_reserved(self.place) - self.torch.cuda.memory_allocated(self.place)
        return float(self.torch.cuda.mem_get_info(self.place)[0] + held)

    def synchronise(self) -> None:
        """Wait until all submitted work is done."""
        if self.is_cuda:
            self.torch.cuda.synchronize(self.place)

    def forget(self) -> None:
        """Release the memory that torch keeps for later."""
        if self.is_cuda:
            self.torch.cuda.empty_cache()


def check_name(name: object) -> None:
    """Refuse a text that cannot be the name of a device, whether or not the device exists."""
    if name is None or name in (ON_THE_PROCESSOR, "cuda"):
        return
    if isinstance(name, str) and name.startswith("cuda:") and name[5:].isdecimal():
        return
    raise ValueError(f"device must be None, 'cuda', 'cuda:0' and so on, or {ON_THE_PROCESSOR!r}, found {name!r}")


def _why_none(torch: Any) -> str:
    """Return a remark if torch was built without support for GPUs, so that drivers need not be suspected."""
    return "" if torch.version.cuda or torch.version.hip else f": torch {torch.__version__} is built for CPUs only"


class DeviceTiles:
    """Rows cut into tiles that are halved, with a single warning, if the device has no memory for them.

    Parameters
    ----------
    device : Device
        The device.
    rows : int
        The initial number of rows of a tile.
    """

    def __init__(self, device: Device, rows: int):
        self.device = device
        self.rows = max(rows, 1)
        self._is_told = False

    def run(self, work: Callable[[slice], None], n_rows: int) -> None:
        """Call ``work`` on consecutive tiles; if a call runs out of memory, repeat it with half the rows.

        Therefore ``work`` must add its results to anything else only at its end.
        """
        start = 0
        while start < n_rows:
            stop = min(start + self.rows, n_rows)
            try:
                work(slice(start, stop))
            except RuntimeError as error:
                if not is_shortage(error) or stop - start <= LEAST_ROWS:
                    raise
            else:
                start = stop
                continue
            self._halve(stop - start)  # outside the handler, since its error keeps the frames and their tensors alive

    def _halve(self, rows: int) -> None:
        self.device.forget()
        self.rows = max(LEAST_ROWS, rows // 2)
        if not self._is_told:
            self._is_told = True
            warn_caller(
                f"{self.device.name} has too little memory for {rows} rows at once; "
                f"continuing with {self.rows}, which takes longer"
            )
