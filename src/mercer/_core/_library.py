"""The shared library: finding it, choosing an instruction set, and reading its functions from its own table.

The library describes itself (``mercer_functions`` in ``csrc/mercer.h``): each function with its signature, each struct
with its fields. Nothing from ``csrc/kernels.h`` is repeated here.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

_ISAS = ("avx512", "avx2", "baseline")
_FILES = {"win32": ("mercer.dll", "libmercer.dll"), "darwin": ("libmercer.dylib",)}.get(sys.platform, ("libmercer.so",))
_SOURCES = Path(__file__).parents[3] / "csrc"
"""The sources of the library, where the package is used from its source tree."""
_TYPES: dict[str, Any] = {
    "P": ctypes.c_void_p,
    "N": ctypes.c_size_t,
    "q": ctypes.c_int64,
    "i": ctypes.c_int,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
    "v": None,
}

Table = dict[str, Any]
"""The functions and the structs of one instruction set, by name."""


class _Entry(ctypes.Structure):
    """``mercer_entry`` of ``csrc/mercer.h``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("types", ctypes.c_char_p),
        ("declaration", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
    )


def _load() -> ctypes.CDLL | None:
    """Load the shared library, or return None if the package was built without it."""
    # An editable install keeps the Python files in the source tree and the library in site-packages. The search path of
    # the package then names both folders; in a plain install it names just one.
    for folder in sys.modules[str(__package__).partition(".")[0]].__path__:
        for name in _FILES:
            path = Path(folder, name)
            if path.is_file():
                return _open(path)
    return None


def _open(path: Path) -> ctypes.CDLL:
    """Load a shared library, and refuse one that was not built from the sources of this package."""
    library = ctypes.CDLL(os.fspath(path))
    try:
        library.mercer_functions.argtypes = [ctypes.c_char_p]
        library.mercer_functions.restype = ctypes.POINTER(_Entry)
    except AttributeError:
        raise _outdated(path, "it has no table of functions") from None
    if (_SOURCES / "kernels.h").is_file():
        built = {entry.declaration.decode(): _base_name(entry) for entry in _entries(library)}
        declared = _declared(_SOURCES)
        if differing := {(built | declared)[declaration] for declaration in built.keys() ^ declared.keys()}:
            raise _outdated(path, f"it differs from {_SOURCES} in {', '.join(sorted(differing))}")
    return library


def _base_name(entry: _Entry) -> str:
    """Return the name without the precision."""
    return str(entry.name.decode()).removesuffix("_f32").removesuffix("_f64")


def _outdated(path: Path, why: str) -> ImportError:
    return ImportError(
        f"the compiled core {path} does not belong to these Python files: {why}. Build it again with `make` or `pip "
        f"install --editable .`, or set MERCER_ISA=none to run without it",
        path=os.fspath(path),
    )


def _declared(sources: Path) -> dict[str, str]:
    """Return the declarations in the headers by name, as the compiler writes them into the library."""
    kernels, structs = (
        re.sub(r"/\*.*?\*/", "", (sources / name).read_text(encoding="utf-8"), flags=re.DOTALL)
        for name in ("kernels.h", "mercer.h")
    )
    functions = re.findall(r"^(?:KERNEL|KERNEL_F64|FUNCTION)\(([^,()]+), (\w+),\s*(\(.*?\))\)$", kernels, re.M | re.S)
    declared = {f"{result} {name} {' '.join(arguments.split())}": name for result, name, arguments in functions}
    for name, text in re.findall(r"^#define (\w+)\(FIELD\)((?:.*\\\n)+.*)", structs, re.M):
        fields = re.findall(r"FIELD\((.*), (\w+)\)", text)
        declared["".join(f"{kind} {field};" for kind, field in fields)] = name.lower()
    return declared


def _entries(library: ctypes.CDLL, isa: str = "baseline") -> Iterator[_Entry]:
    """Yield the table of an instruction set, up to the entry without a name that closes it."""
    table, place = library.mercer_functions(isa.encode()), 0
    while table[place].name is not None:
        yield table[place]
        place += 1


def _supported(library: ctypes.CDLL) -> tuple[str, ...]:
    """Return the instruction sets that both the library and the machine have, best first."""
    return tuple(isa for isa in _ISAS if library.mercer_functions(isa.encode()))


def _kernels(library: ctypes.CDLL, isa: str) -> Table:
    """Make Python functions and structs from the entries of an instruction set, once, as each takes microseconds."""
    return {entry.name.decode(): _made(entry) for entry in _entries(library, isa)}


def _made(entry: _Entry) -> Any:
    types = [_TYPES[letter] for letter in entry.types.decode()]
    if entry.function is None:
        names = re.findall(r"(\w+);", entry.declaration.decode())
        fields = tuple(zip(names, types, strict=True))
        return type(entry.name.decode(), (ctypes.Structure,), {"_fields_": fields})
    # CFUNCTYPE, unlike PYFUNCTYPE, releases the GIL during the call: tiles on several threads run at once.
    return ctypes.CFUNCTYPE(*types)(entry.function)


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


def named(name: str) -> Any:
    """Return the function or struct with this name; the name of a kernel ends with its precision."""
    if _TABLE is None:
        raise RuntimeError("mercer's compiled core is not loaded; check mercer._core.AVAILABLE before calling it")
    return _TABLE[name]


def kernel(name: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """Return the kernel with this name for this precision."""
    if dtype == np.float32:
        return named(name + "_f32")
    if dtype == np.float64:
        return named(name + "_f64")
    raise TypeError(f"X must be float32 or float64 in the machine's byte order, got {dtype.str}")
