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
from typing import NamedTuple

import numpy as np

__all__ = ["AVAILABLE", "ISA", "hadamard"]

_ISAS = ("avx512", "avx2", "baseline")
_FILES = {"win32": ("mercer.dll", "libmercer.dll"), "darwin": ("libmercer.dylib",)}.get(sys.platform, ("libmercer.so",))

# CFUNCTYPE, unlike PYFUNCTYPE, releases the GIL during the call: tiles on several threads run at once.
_ROWS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)


class _Struct(ctypes.Structure):
    """The kernels of one instruction set: ``mercer_kernels`` of ``csrc/mercer.h``, field by field."""

    _fields_ = (("hadamard_f32", _ROWS), ("hadamard_f64", _ROWS))


class _Kernels(NamedTuple):
    """The fields of the struct, read once: ctypes makes a new function object at every access."""

    hadamard_f32: Callable[[int, int, int], None]
    hadamard_f64: Callable[[int, int, int], None]


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


def _kernels(library: ctypes.CDLL, isa: str) -> _Kernels:
    struct = library.mercer_isa_kernels(isa.encode()).contents
    return _Kernels(*(getattr(struct, name) for name in _Kernels._fields))


def _pick(forced: str) -> tuple[str | None, _Kernels | None]:
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


def hadamard(X: np.ndarray) -> None:
    r"""Replace every row x of X by :math:`H x`, with H the Walsh-Hadamard matrix of Sylvester's (natural) order.

    H is not normalised: applied twice it multiplies by the width.  All instruction sets give the same bits.

    Parameters
    ----------
    X : ndarray of shape (n_rows, width)
        Overwritten.  C-contiguous, float32 or float64; the width is a power of two.
    """
    if _TABLE is None:
        raise RuntimeError("mercer's compiled core is not loaded; ask mercer._core.AVAILABLE before calling it")
    if not isinstance(X, np.ndarray):
        raise TypeError(f"X must be a NumPy array, got {type(X).__name__}")
    if X.ndim != 2:
        raise ValueError(f"X must have 2 dimensions, got shape {X.shape}")
    if X.dtype == np.float32:
        kernel = _TABLE.hadamard_f32
    elif X.dtype == np.float64:
        kernel = _TABLE.hadamard_f64
    else:
        raise TypeError(f"X must be float32 or float64 in the machine's byte order, got {X.dtype.str}")
    rows, width = X.shape
    flags = X.flags
    if width < 1 or width & (width - 1):
        raise ValueError(f"the width of X must be a power of two, got {width}")
    if not (flags.c_contiguous and flags.aligned):
        raise ValueError(f"X must be C-contiguous and aligned, got strides {X.strides} for shape {X.shape}")
    if not flags.writeable:
        raise ValueError("X is transformed in place but is read-only")
    kernel(X.ctypes.data, rows, width)
