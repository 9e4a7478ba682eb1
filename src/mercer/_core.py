"""The compiled core: the only file that knows the shared library.

The library (``csrc/``) holds every hot kernel once per instruction set.  The best one that the machine runs is picked
at import; the environment variable ``MERCER_ISA`` forces another (``avx512``, ``avx2``, ``baseline``) or, as ``none``,
leaves the library unloaded.  Without the library, as in a pure wheel, ``AVAILABLE`` is False and callers use their
NumPy code.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["AVAILABLE", "ISA", "fastfood", "hadamard", "hadamard_sketch", "srht", "structured", "waves"]

_ISAS = ("avx512", "avx2", "baseline")
_FILES = {"win32": ("mercer.dll", "libmercer.dll"), "darwin": ("libmercer.dylib",)}.get(sys.platform, ("libmercer.so",))

# The fields of ``mercer_kernels`` in ``csrc/mercer.h``, each there for float and double: a letter an argument, p for a
# pointer, n for a size, x for a number of the type.
_SIGNATURES = {
    "hadamard": "pnn",
    "waves": "pnnpnnxpp",
    "structured": "pnnpnpnpnxppp",
    "fastfood": "pnnpppnpnpnxppp",
    "hadamard_sketch": "ppnpnnppnnxxnpp",
    "srht": "pnnpnnpnxpp",
}
_NUMBERS = {"f32": ctypes.c_float, "f64": ctypes.c_double}

Table = dict[str, Callable[..., None]]


class RowParts(NamedTuple):
    """A dense matrix (no indices, no starts) or the parts of a CSR one."""

    values: NDArray[Any]
    indices: NDArray[Any] | None = None
    starts: NDArray[np.int64] | None = None


def _field(signature: str, number: Any) -> Any:
    # CFUNCTYPE, unlike PYFUNCTYPE, releases the GIL during the call: tiles on several threads run at once.
    types = {"p": ctypes.c_void_p, "n": ctypes.c_size_t, "x": number}
    return ctypes.CFUNCTYPE(None, *(types[letter] for letter in signature))


class _Struct(ctypes.Structure):
    """The kernels of one instruction set: ``mercer_kernels`` of ``csrc/mercer.h``, field by field."""

    _fields_ = tuple(
        (f"{name}_{suffix}", _field(signature, number))
        for name, signature in _SIGNATURES.items()
        for suffix, number in _NUMBERS.items()
    )


def _load() -> ctypes.CDLL | None:
    """Load the shared library, or return None where the package was built without."""
    # An editable install keeps the Python files in the source tree and the library in site-packages; the package's
    # search path then names both folders, and in a plain install just the one.
    for folder in sys.modules[__package__].__path__:
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
    return {field[0]: getattr(struct, field[0]) for field in _Struct._fields_}


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


def _kernel(name: str, dtype: Any) -> Callable[..., None]:
    """The kernel for this precision."""
    if _TABLE is None:
        raise RuntimeError("mercer's compiled core is not loaded; ask mercer._core.AVAILABLE before calling it")
    if dtype == np.float32:
        return _TABLE[name + "_f32"]
    if dtype == np.float64:
        return _TABLE[name + "_f64"]
    raise TypeError(f"X must be float32 or float64 in the machine's byte order, got {dtype.str}")


def _checked(name: str, array: Any, dtype: Any, shape: tuple[int, ...] | None = None, written: bool = False) -> int:
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


def _two_dimensional(name: str, array: Any) -> tuple[int, int]:
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array, got {type(array).__name__}")
    if array.ndim != 2:
        raise ValueError(f"{name} must have 2 dimensions, got shape {array.shape}")
    return array.shape


def _check_power_of_two(what: str, width: int) -> None:
    if width < 1 or width & (width - 1):
        raise ValueError(f"{what} must be a power of two, got {width}")


def hadamard(X: NDArray[Any]) -> None:
    r"""Replace every row x of X by :math:`H x`, with H the Walsh-Hadamard matrix of Sylvester's (natural) order.

    H is not normalised: applied twice it multiplies by the width.  All instruction sets give the same bits.

    Parameters
    ----------
    X : ndarray of shape (n_rows, width)
        Overwritten.  C-contiguous, float32 or float64; the width is a power of two.
    """
    rows, width = _two_dimensional("X", X)
    kernel = _kernel("hadamard", X.dtype)
    _check_power_of_two("the width of X", width)
    kernel(_checked("X", X, X.dtype, written=True), rows, width)


def waves(phases: NDArray[Any], offset: NDArray[Any], scale: float, out: NDArray[Any]) -> NDArray[Any]:
    """Write Fourier features of phases: scale (cos p, sin p) in pairs, scale cos(p + offset) for those without partner.

    Parameters
    ----------
    phases : ndarray of shape (n_rows, count), float32 or float64
    offset : one for all phases without a partner, or one for each
    scale : a number
    out : ndarray of shape (n_rows, width), count <= width <= 2 count
        Written to.  The first width - count phases make pairs.

    Returns
    -------
    longest : the largest abs(p) of every row, NaN where one is NaN
        Beyond 4096 in float32 and 2**22 in float64 the features of a row are worthless.
    """
    (rows, count), (_, width) = _two_dimensional("phases", phases), _two_dimensional("out", out)
    dtype, longest = phases.dtype, np.empty(rows, dtype=phases.dtype)
    _check_width(count, width)
    singles = 2 * count - width
    period = 1 if len(offset) == 1 else singles
    arguments = _checked("phases", phases, dtype), rows, count, _checked("offset", offset, dtype, (period,)), period
    _kernel("waves", dtype)(
        *arguments, width, scale, _checked("out", out, dtype, (rows, width), True), longest.ctypes.data
    )
    return longest


def structured(
    X: NDArray[Any], signs: NDArray[Any], radii: NDArray[Any], offset: NDArray[Any], scale: float, out: NDArray[Any]
) -> NDArray[Any]:
    """Write the features :func:`waves` of phases radii * (H D3 H D2 H D1 x), block by block.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32 or float64
    signs : ndarray of shape (n_blocks, 3, size), of the same type; size is a power of two, no less than n_features
    radii : one for every phase, at most n_blocks size
    offset : that of the last feature, where the width of ``out`` is odd
    scale, out : as for :func:`waves`
    """
    (rows, n), dtype, (blocks, _, size) = _two_dimensional("X", X), X.dtype, signs.shape
    _check_blocks(n, blocks, size, len(radii))
    _check_rows(rows, out)
    longest, scratch = np.empty(rows, dtype=dtype), np.empty(blocks * size, dtype=dtype)
    _kernel("structured", dtype)(
        _checked("X", X, dtype),
        rows,
        n,
        _checked("signs", signs, dtype, (blocks, 3, size)),
        size,
        *_wave_arguments(radii, offset, scale, out, dtype),
        longest.ctypes.data,
        scratch.ctypes.data,
    )
    return longest


def fastfood(
    X: NDArray[Any],
    signs: NDArray[Any],
    orders: NDArray[np.int32],
    directions: NDArray[Any],
    radii: NDArray[Any],
    offset: NDArray[Any],
    scale: float,
    out: NDArray[Any],
) -> NDArray[Any]:
    """Write the features :func:`waves` of phases radii * (H G P H B x), block by block.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32 or float64
    signs, orders, directions : ndarrays of shape (n_blocks, size): B and G of the type of X, P a permutation
    radii, offset, scale, out : as for :func:`structured`
    """
    (rows, n), dtype, (blocks, size) = _two_dimensional("X", X), X.dtype, signs.shape
    _check_blocks(n, blocks, size, len(radii))
    _check_rows(rows, out)
    if orders.min() < 0 or orders.max() >= size:
        raise ValueError(f"orders must be permutations of 0 to {size - 1}")
    longest, scratch = np.empty(rows, dtype=dtype), np.empty((blocks + 1) * size, dtype=dtype)
    _kernel("fastfood", dtype)(
        _checked("X", X, dtype),
        rows,
        n,
        _checked("signs", signs, dtype, (blocks, size)),
        _checked("orders", orders, np.int32, (blocks, size)),
        _checked("directions", directions, dtype, (blocks, size)),
        size,
        *_wave_arguments(radii, offset, scale, out, dtype),
        longest.ctypes.data,
        scratch.ctypes.data,
    )
    return longest


def _wave_arguments(
    radii: NDArray[Any], offset: NDArray[Any], scale: float, out: NDArray[Any], dtype: Any
) -> tuple[int, int, int, int, float, int]:
    """What kernels that make phases themselves take of the rest of a Fourier map."""
    count, width = len(radii), out.shape[1]
    _check_width(count, width)
    addresses = _checked("radii", radii, dtype), _checked("offset", offset, dtype, (1,))
    return addresses[0], count, addresses[1], width, scale, _checked("out", out, dtype, out.shape, True)


def hadamard_sketch(
    rows: RowParts, places: NDArray[np.int32], signs: NDArray[Any], constant: float, scale: float, out: NDArray[Any]
) -> None:
    """Write the features of a product of complex count sketches, each under the Walsh-Hadamard transform.

    Parameters
    ----------
    rows : the parts of a dense or CSR matrix of float32 or float64
    places : ndarray of shape (degree, n_features + 1): where an entry goes among 2 size buckets, real ones first
    signs : ndarray of that shape, in the type of the rows: what it is multiplied by
    constant : one more entry of every row
    scale : what the features are multiplied by
    out : ndarray of shape (n_rows, width), written to; size is the power of two from half the width on
    """
    dtype, (degree, columns), (n_rows, width) = rows.values.dtype, signs.shape, _two_dimensional("out", out)
    size = 1 << ((width + 1) // 2 - 1).bit_length()
    if places.min() < 0 or places.max() >= 2 * size:
        raise ValueError(f"places must be from 0 to {2 * size - 1}")
    indices = starts = 0
    if rows.indices is None:
        values = _checked("X", rows.values, dtype, (n_rows, columns - 1))
    else:
        values, indices = _checked("X", rows.values, dtype), _checked("indices", rows.indices, rows.indices.dtype)
        starts = _checked("starts", rows.starts, np.int64, (n_rows + 1,))
        _check_csr(rows, columns - 1)
    scratch = np.empty(4 * size, dtype=dtype)
    _kernel("hadamard_sketch", dtype)(
        values,
        indices,
        0 if rows.indices is None else rows.indices.itemsize,
        starts,
        n_rows,
        columns - 1,
        _checked("places", places, np.int32, signs.shape),
        _checked("signs", signs, dtype, signs.shape),
        degree,
        size,
        constant,
        scale,
        width,
        _checked("out", out, dtype, (n_rows, width), True),
        scratch.ctypes.data,
    )


def srht(X: NDArray[Any], signs: NDArray[Any], outputs: NDArray[np.int32], scale: float, out: NDArray[Any]) -> None:
    """Write the features of a product of outputs of transforms H diag(complex signs) x.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32 or float64
    signs : ndarray of shape (n_blocks, degree, 2, n_features), of the same type: real and imaginary parts
    outputs : ndarray of shape (degree, count): which output of its block's transform a feature takes
    scale : what the features are multiplied by
    out : ndarray of shape (n_rows, width), width 2 count or one less, written to
    """
    (rows, n), (_, width) = _two_dimensional("X", X), _two_dimensional("out", out)
    dtype, (blocks, degree, _, _), count = X.dtype, signs.shape, outputs.shape[1]
    size = 1 << (n - 1).bit_length()
    _check_blocks(n, blocks, size, count)
    if count != (width + 1) // 2:
        raise ValueError(f"{count} outputs make {2 * count} features or one less, got {width}")
    if outputs.min() < 0 or outputs.max() >= size:
        raise ValueError(f"outputs must be from 0 to {size - 1}")
    scratch = np.empty(2 * size + 4 * count, dtype=dtype)
    _kernel("srht", dtype)(
        _checked("X", X, dtype),
        rows,
        n,
        _checked("signs", signs, dtype, (blocks, degree, 2, n)),
        degree,
        size,
        _checked("outputs", outputs, np.int32, (degree, count)),
        width,
        scale,
        _checked("out", out, dtype, (rows, width), True),
        scratch.ctypes.data,
    )


def _check_csr(rows: RowParts, columns: int) -> None:
    """Refuse indices that would read or write elsewhere."""
    indices, starts = rows.indices, rows.starts
    if indices is None or starts is None or indices.dtype not in (np.int32, np.int64):
        raise TypeError("the indices of CSR rows must be int32 or int64")
    if len(indices) and not (indices.min() >= 0 and indices.max() < columns):
        raise ValueError(f"the indices of CSR rows must be from 0 to {columns - 1}")
    if starts[0] < 0 or starts[-1] > len(indices) or (np.diff(starts) < 0).any():
        raise ValueError(f"the starts of CSR rows must rise from 0 to at most {len(indices)}")


def _check_rows(rows: int, out: Any) -> None:
    if _two_dimensional("out", out)[0] != rows:
        raise ValueError(f"out must have {rows} rows, got {out.shape[0]}")


def _check_width(count: int, width: int) -> None:
    if not count <= width <= 2 * count:
        raise ValueError(f"{count} phases make from {count} to {2 * count} features, got {width}")


def _check_blocks(n: int, blocks: int, size: int, count: int) -> None:
    _check_power_of_two("the size of a block", size)
    if n > size:
        raise ValueError(f"X must have at most {size} columns, got {n}")
    if not (blocks - 1) * size < count <= blocks * size:
        raise ValueError(f"{blocks} blocks of {size} do not make {count}")
