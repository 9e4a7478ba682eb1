"""CUDA C++ kernels: compiled on first use by NVIDIA's run-time compiler, and launched on torch's current stream.

No compiler is needed on the machine: the run-time compiler and its Python bindings come with torch's builds for CUDA.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._caller import warn_caller

if TYPE_CHECKING:
    import torch

SOURCES = Path(__file__).parent / "cuda"
MOST_STATIC_BYTES = 48 * 1024
"""The bytes of shared memory that a kernel may use without requesting them."""
SHARED_BYTES = 227 * 1024
"""The bytes that it may request on large GPUs since 2022; others have less."""


@dataclass(frozen=True)
class Kernel:
    """One kernel for one size of its problem.

    Parameters
    ----------
    name : str
        The name of the source file and of the function in it.
    threads : int
        Threads per block.
    shared : int, default=0
        Bytes of shared memory per block.
    constants : tuple of (str, int)
        Macros that the source is compiled with.
    """

    name: str
    threads: int
    shared: int = 0
    constants: tuple[tuple[str, int], ...] = ()


def launch(kernel: Kernel, blocks: int, device: torch.device, arguments: Sequence[Any]) -> None:
    """Run a kernel on many blocks of threads, after everything that is queued on torch's current stream.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    blocks : int
        The number of blocks.
    device : torch.device
        The device.
    arguments : sequence of tensor, int, float or ctypes value
        The arguments. A plain int is passed as a C int, a float as a C float.
    """
    import torch
    from cuda.bindings import driver

    values = [argument.data_ptr() if hasattr(argument, "data_ptr") else argument for argument in arguments]
    types = [_ctype(argument) for argument in arguments]
    values = [value.value if isinstance(value, ctypes._SimpleCData) else value for value in values]
    with torch.cuda.device(device):
        function = _loaded(kernel, torch.cuda.current_device())
        stream = torch.cuda.current_stream().cuda_stream
        grid, block = (blocks, 1, 1), (kernel.threads, 1, 1)
        parameters = tuple(values), tuple(types)
        _checked(driver.cuLaunchKernel(function, *grid, *block, kernel.shared, stream, parameters, 0))


@cache
def is_available() -> bool:
    """Return whether kernels can be compiled here; a warning says so once if not."""
    try:
        import cuda.bindings.nvrtc  # noqa: F401
    except ImportError:
        warn_caller(
            "features are computed by torch, which takes up to 90 times as long as Mercer's kernels: these need "
            "the package cuda-bindings, which comes with torch 2.10 and later for CUDA"
        )
        return False
    return True


def runs_on(place: torch.device) -> bool:
    """Return whether kernels can be compiled for a device of torch."""
    return place.type == "cuda" and is_available()


def most_shared_bytes(place: torch.device) -> int:
    """Return how much shared memory a block of threads may have on a device of torch, of which the CPU is any."""
    import torch

    if place.type != "cuda":
        return SHARED_BYTES
    return int(getattr(torch.cuda.get_device_properties(place), "shared_memory_per_block_optin", SHARED_BYTES))


def _ctype(argument: Any) -> Any:
    if hasattr(argument, "data_ptr"):
        return ctypes.c_void_p
    if isinstance(argument, ctypes._SimpleCData):
        return type(argument)
    return ctypes.c_float if isinstance(argument, float) else ctypes.c_int


@cache
def _loaded(kernel: Kernel, device: int) -> Any:
    """Return the function of a kernel on a device that is current."""
    import torch
    from cuda.bindings import driver

    module = _checked(driver.cuModuleLoadData(_machine_code(kernel, torch.cuda.get_device_capability(device))))
    function = _checked(driver.cuModuleGetFunction(module, kernel.name.encode()))
    if kernel.shared > MOST_STATIC_BYTES:
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        _checked(driver.cuFuncSetAttribute(function, attribute, kernel.shared))
    return function


@cache
def _machine_code(kernel: Kernel, capability: tuple[int, int]) -> bytes:
    from cuda.bindings import nvrtc

    headers = sorted(SOURCES.glob("*.cuh"))
    texts, names = [path.read_bytes() for path in headers], [path.name.encode() for path in headers]
    source = (SOURCES / f"{kernel.name}.cu").read_bytes()
    program = _checked(nvrtc.nvrtcCreateProgram(source, f"{kernel.name}.cu".encode(), len(texts), texts, names))
    options = ["--std=c++17", f"--gpu-architecture=sm_{capability[0]}{capability[1]}"]
    options += [f"-D{name}={value}" for name, value in kernel.constants]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    if int(status) != 0:
        log = b" " * _checked(nvrtc.nvrtcGetProgramLogSize(program))
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(f"{kernel.name}.cu could not be compiled with {options}: {log.decode(errors='replace')}")
    code = b" " * _checked(nvrtc.nvrtcGetCUBINSize(program))
    _checked(nvrtc.nvrtcGetCUBIN(program, code))
    nvrtc.nvrtcDestroyProgram(program)
    return code


def _checked(result: tuple[Any, ...]) -> Any:
    """Return what a function of the driver or the compiler returned, without its status."""
    status, *values = result
    if int(status) != 0:
        raise RuntimeError(f"CUDA reports {status.name}")
    return values[0] if values else None
