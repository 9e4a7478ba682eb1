"""Loading of the shared library, and what every call of a kernel checks."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ISAS = ("avx512", "avx2", "baseline")
_FILES = {"win32": ("mercer.dll", "libmercer.dll"), "darwin": ("libmercer.dylib",)}.get(sys.platform, ("libmercer.so",))

# The fields of ``mercer_kernels`` in ``csrc/mercer.h``, each there for float and double: a letter an argument, p for a
# pointer, n for a size, x for a number of the type; after > what the kernel returns, if anything.
_SIGNATURES = {
    "hadamard": "pnn",
    "waves": "pnnpnnxpp",
    "structured": "pnnpnppnxppp",
    "fastfood": "pnnpppnppnxppp",
    "hadamard_sketch": "ppnpnnppnnxxnpp>n",
    "srht": "pnnxpnnpnnxppnp>n",
    "tensor_sketch": "pnnppnnppppnxpp>n",
    "sign_products": "pnnpppnpnnnpnnp>n",
    "pack_signs": "pnnpn",
    "sparse_sign_products": "ppnpnnpppnpnpnnp>n",
    "additive": "pnpnpp>n",
    "craft": "pnnpnpnxpp>n",
    "spread": "pnnp",
    "pack": "pnnnnpp",
    "product": "pnnpnpp>n",
    "matrix_waves": "ppnpnnpnpnnxppp",
    "scaled": "pnnppp>n",
    "narrow": "pnnpnp",
    "narrow_transposed": "pnnpnp",
}
# Those after them, which are there for double alone.
_DOUBLE_SIGNATURES = {
    "radial": "pnnppnppnx",
    "pairs": "ppnppnnnnxp",
}
# Functions outside those tables, of which there is one for every machine; an i is an int.
_PLAIN_SIGNATURES = {"libsvm": "pnnnppppp>i", "count": "pni>n"}
REGISTER = 16
"""Numbers that the widest register holds."""
_NUMBERS = {"f32": ctypes.c_float, "f64": ctypes.c_double}

Table = dict[str, Callable[..., Any]]


def _field(signature: str, number: Any) -> Any:
    # CFUNCTYPE, unlike PYFUNCTYPE, releases the GIL during the call: tiles on several threads run at once.
    types = {"p": ctypes.c_void_p, "n": ctypes.c_size_t, "i": ctypes.c_int, "x": number}
    arguments, _, result = signature.partition(">")
    return ctypes.CFUNCTYPE(types[result] if result else None, *(types[letter] for letter in arguments))


class _Struct(ctypes.Structure):
    """The kernels of one instruction set: ``mercer_kernels`` of ``csrc/mercer.h``, field by field."""

    _fields_ = tuple(
        (f"{name}_{suffix}", _field(signature, number))
        for name, signature in _SIGNATURES.items()
        for suffix, number in _NUMBERS.items()
    ) + tuple((f"{name}_f64", _field(signature, ctypes.c_double)) for name, signature in _DOUBLE_SIGNATURES.items())


def _load() -> ctypes.CDLL | None:
    """Load the shared library, or return None where the package was built without."""
    # An editable install keeps the Python files in the source tree and the library in site-packages; the package's
    # search path then names both folders, and in a plain install just the one.
    for folder in sys.modules[str(__package__).partition(".")[0]].__path__:
        for name in _FILES:
            path = Path(folder, name)
            if path.is_file():
                library = ctypes.CDLL(os.fspath(path))
                library.mercer_isa_supported.argtypes = [ctypes.c_char_p]
                library.mercer_isa_kernels.argtypes = [ctypes.c_char_p]
                library.mercer_isa_kernels.restype = ctypes.POINTER(_Struct)
                return library
    return None


def _supported(library: ctypes.CDLL) -> tuple[str, ...]:
    """Return the instruction sets that both the library and the machine have, best first."""
    return tuple(isa for isa in _ISAS if library.mercer_isa_supported(isa.encode()))


def _kernels(library: ctypes.CDLL, isa: str) -> Table:
    # Read once: ctypes makes a new function object at every access.
    struct = library.mercer_isa_kernels(isa.encode()).contents
    kernels = {field[0]: getattr(struct, field[0]) for field in _Struct._fields_}
    plain = {
        name: _field(signature, None)((f"mercer_{name}", library)) for name, signature in _PLAIN_SIGNATURES.items()
    }
    return kernels | plain


def _pick(forced: str) -> tuple[str | None, Table | None]:
    """Choose the instruction set: the best one, unless ``forced`` (the value of ``MERCER_ISA``) is not empty."""
    if forced not in ("", "none", *_ISAS):
        raise ValueError(f"MERCER_ISA must be one of {', '.join(_ISAS)} or none, got {forced!r}")
    library = None if forced == "none" else _load()
    if library is None:
        if forced in _ISAS:
            raise ValueError(f"MERCER_ISA={forced}, but this installation of mercer has no compiled core")
        return None, None
    supported = _supported(library)
    if forced and forced not in supported:
        raise ValueError(f"MERCER_ISA={forced}, but this machine and build support only {', '.join(supported)}")
    isa = forced or supported[0]
    return isa, _kernels(library, isa)


ISA, _TABLE = _pick(os.environ.get("MERCER_ISA", ""))
AVAILABLE = ISA is not None


def plain(name: str) -> Callable[..., Any]:
    """The function of this name, or the kernel with its precision in its name."""
    if _TABLE is None:
        raise RuntimeError("mercer's compiled core is not loaded; ask mercer._core.AVAILABLE before calling it")
    return _TABLE[name]


def kernel(name: str, dtype: Any) -> Callable[..., Any]:
    """The kernel for this precision."""
    if dtype == np.float32:
        return plain(name + "_f32")
    if dtype == np.float64:
        return plain(name + "_f64")
    raise TypeError(f"X must be float32 or float64 in the machine's byte order, got {dtype.str}")


def checked(name: str, array: Any, dtype: Any, shape: tuple[int, ...] | None = None, written: bool = False) -> int:
    """The address of an array that a kernel can read, or write, as it stands."""
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


def checked_columns(name: str, array: Any, dtype: Any, rows: int) -> tuple[int, int]:
    """The address of a block of columns that a kernel can write, and how many numbers its rows are apart."""
    n_rows, width = two_dimensional(name, array)
    if n_rows != rows:
        raise ValueError(f"{name} must have {rows} rows, got {n_rows}")
    if array.dtype != dtype:
        raise TypeError(f"{name} must be {np.dtype(dtype).name}, got {array.dtype}")
    apart, within = array.strides
    if (width > 1 and within != array.itemsize) or apart % array.itemsize or not array.flags.aligned:
        raise ValueError(f"{name} must be columns of a C-contiguous array, got strides {array.strides}")
    if not array.flags.writeable:
        raise ValueError(f"{name} is written to but is read-only")
    return array.ctypes.data, apart // array.itemsize


def two_dimensional(name: str, array: Any) -> tuple[int, int]:
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array, got {type(array).__name__}")
    if array.ndim != 2:
        raise ValueError(f"{name} must have 2 dimensions, got shape {array.shape}")
    return array.shape


def first_of(finite: int, rows: int) -> int | None:
    """What a kernel returned as the first row that overflowed, in Python's terms."""
    return finite if finite < rows else None


def check_power_of_two(what: str, width: int) -> None:
    if width < 1 or width & (width - 1):
        raise ValueError(f"{what} must be a power of two, got {width}")


def check_blocks(n: int, blocks: int, size: int, count: int) -> None:
    check_power_of_two("the size of a block", size)
    if n > size:
        raise ValueError(f"X must have at most {size} columns, got {n}")
    if not (blocks - 1) * size < count <= blocks * size:
        raise ValueError(f"{blocks} blocks of {size} do not make {count}")


def scratch(count: int, dtype: Any) -> Any:
    """Room for so many numbers, on a cache line's boundary: a register that straddles two is loaded at half speed."""
    room = np.empty(count * dtype.itemsize + 64, dtype=np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + count * dtype.itemsize].view(dtype)


def aligned(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """A copy in this type, on a cache line's boundary: for tables that kernels read over and over."""
    copy: NDArray[Any] = scratch(array.size, np.dtype(dtype)).reshape(array.shape)
    copy[...] = array
    return copy


def padded(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """The numbers of an array in this type, on a cache line's boundary, and a register of zeros after them."""
    numbers: NDArray[Any] = scratch(array.size + REGISTER, np.dtype(dtype))
    numbers[: array.size], numbers[array.size :] = array.ravel(), 0
    return numbers
