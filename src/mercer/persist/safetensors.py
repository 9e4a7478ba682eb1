"""Reading and writing the safetensors format: a length, a JSON header, then all arrays without gaps."""

from __future__ import annotations

import json
import math
import os
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .validation import as_dict, as_list, as_text, as_whole, check_names, read_json, refuse

MAX_HEADER = 16 * 2**20
LARGEST = 2**62
DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I8": "|i1"}
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}


class Tensor(NamedTuple):
    """The location of an array: its type, its shape, and its bytes counted from the end of the header."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


class Header(NamedTuple):
    """The header before the arrays: text by name, the locations of the arrays, and the length of the header itself."""

    metadata: dict[str, str]
    tensors: dict[str, Tensor]
    length: int


def header_bytes(arrays: dict[str, NDArray[Any]], metadata: dict[str, str]) -> bytes:
    """Return the length and the header; the arrays follow in the order of :func:`in_order`."""
    entries: dict[str, Any] = {"__metadata__": metadata}
    place = 0
    for name in in_order(arrays):
        array = arrays[name]
        entries[name] = {
            "dtype": NAMES[array.dtype.newbyteorder("<")],
            "shape": list(array.shape),
            "data_offsets": [place, place + array.nbytes],
        }
        place += array.nbytes
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER:
        raise ValueError(
            f"the header of the model file would take {len(text)} bytes, but at most {MAX_HEADER} are allowed"
        )
    return len(text).to_bytes(8, "little") + text


def in_order(arrays: dict[str, NDArray[Any]]) -> list[str]:
    """Return names in the order of the arrays: those with large entries first, so that all stay aligned."""
    return sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))


def is_fortran(array: NDArray[Any]) -> bool:
    """Return whether an array is stored by columns, which a safetensors header does not record."""
    return bool(array.flags.f_contiguous and not array.flags.c_contiguous)


def array_bytes(array: NDArray[Any]) -> memoryview:
    """Return the bytes by rows, little-endian."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return little.reshape(-1).view(np.uint8).data


def read_header(file: BinaryIO) -> Header:
    """Return the header of an open file, checked against the file's size; the first array follows."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    first = file.read(8)
    if len(first) < 8:
        refuse(f"a model file starts with the length of its header in 8 bytes, found {len(first)}")
    length = int.from_bytes(first, "little")
    if length > MAX_HEADER:
        refuse(
            f"it does not start like a model file, with the length of a header of at most {MAX_HEADER} bytes (found "
            f"{length})"
        )
    if 8 + length > size:
        refuse(f"the header should have {length} bytes, but the file ends after {size - 8} of them")
    text = file.read(length)
    if len(text) < length:
        refuse(f"the header should have {length} bytes, found {len(text)}")
    if not text.startswith(b"{"):
        refuse("the header must start with '{'")
    entries = read_json(text, "the header")
    metadata = as_dict(entries.pop("__metadata__", {}), "__metadata__")
    tensors = {name: _tensor(name, entry) for name, entry in entries.items()}
    _check_places(tensors, size - 8 - length)
    return Header({name: as_text(value, f"__metadata__ {name!r}") for name, value in metadata.items()}, tensors, length)


def _tensor(name: str, entry: object) -> Tensor:
    what = f"tensor {name!r:.80}"
    entry = as_dict(entry, what)
    check_names(entry, ("dtype", "shape", "data_offsets"), what)
    dtype = as_text(entry.get("dtype"), f"the dtype of {what}")
    if dtype not in DTYPES:
        refuse(f"{what} must have a dtype of {', '.join(DTYPES)}, found {dtype!r:.20}")
    lengths = as_list(entry.get("shape"), f"the shape of {what}")
    if len(lengths) > 4:
        refuse(f"{what} must have at most 4 axes, found {len(lengths)}")
    shape = tuple(as_whole(length, f"the shape of {what}", 0, LARGEST) for length in lengths)
    offsets = as_list(entry.get("data_offsets"), f"the offsets of {what}")
    if len(offsets) != 2:
        refuse(f"{what} must have 2 offsets, found {len(offsets)}")
    start, stop = (as_whole(offset, f"an offset of {what}", 0, LARGEST) for offset in offsets)
    needed = math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize  # Python's integers do not overflow
    if stop - start != needed:
        refuse(f"{what} of shape {shape} needs {needed} bytes, but its offsets {start} and {stop} cover {stop - start}")
    return Tensor(dtype, shape, start, stop)


def _check_places(tensors: dict[str, Tensor], size: int) -> None:
    """Refuse gaps, overlaps, and bytes after the last array."""
    place = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].start, item[1].stop)):
        if tensor.start != place:
            wrong = "overlaps the previous one" if tensor.start < place else "leaves a gap before it"
            refuse(f"tensor {name!r:.80} {wrong}: expected offset {place}, found {tensor.start}")
        place = tensor.stop
    if place != size:
        refuse(f"the arrays should take {place} bytes after the header, found {size}")


def array_of(payload: memoryview, tensor: Tensor) -> NDArray[Any]:
    """Return a copy of an array, in the byte order of the machine."""
    code = np.dtype(DTYPES[tensor.dtype])
    array = np.frombuffer(payload[tensor.start : tensor.stop], dtype=code).reshape(tensor.shape)
    return np.array(array, dtype=code.newbyteorder("="), order="C")
