"""Rows from text in the format of LIBSVM, by the compiled core or, without it, by the same rules in Python."""

from __future__ import annotations

import ctypes
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _library

FAULTS = (
    "",
    "expected a label, found {found!r}",
    "expected one label, found several: {found!r}",
    "expected index:value, found {found!r}",
    "an index must not be negative, found {found!r}",
    "an index must have at most 18 digits, found {found!r}",
    "indices count from 1, found {found!r}: zero_based=True counts them from 0",
    "indices must increase, found {found!r} after a larger one",
    "an index must not be repeated, found {found!r} again",
    "expected a number after the colon, found {found!r}",
)
"""The messages for faults, in the order of csrc/mercer.h."""
LABEL, LABELS, ENTRY, NEGATIVE, INDEX, BASE, ORDER, TWICE, VALUE = range(1, 10)

NUMBER = re.compile(rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE)
BLANKS = b" \t\r"


class LibsvmRows(NamedTuple):
    """Rows as CSR, or their counts alone; ``least`` and ``most`` are the extreme indices as they stand in the text."""

    n_lines: int
    n_rows: int
    n_entries: int
    least: int
    most: int
    labels: NDArray[np.float64] | None = None
    starts: NDArray[Any] | None = None
    indices: NDArray[Any] | None = None
    values: NDArray[np.float64] | None = None


class LibsvmError(ValueError):
    """Raised for a faulty line; lines are counted from 0."""

    def __init__(self, what: int, line: int, found: bytes):
        shown = found[:40].decode(errors="replace")
        super().__init__(FAULTS[what].format(found=shown))
        self.line = line


def libsvm(text: bytes | memoryview, base: int = 0, index: DTypeLike = np.int64, count: bool = False) -> LibsvmRows:
    """Return the rows of text in which every line ends with a line break.

    Parameters
    ----------
    text : bytes or memoryview
        Lines of "label index:value ..."; they may be empty, or have comments after #.
    base : int, default=0
        The number subtracted from every index.
    index : dtype, default=int64
        The type of the indices, int32 or int64.
    count : bool, default=False
        Whether only to count rows and entries, without reading values.

    Returns
    -------
    LibsvmRows
        The rows, or their counts.

    Raises
    ------
    LibsvmError
        If a line is faulty; the error has the number of the first such line.
    """
    letters = np.frombuffer(text, dtype=np.uint8)
    if len(letters) == 0 or letters[-1] != ord("\n"):
        raise ValueError("the last line of the text has no line break")
    if not _library.AVAILABLE:
        return _in_python(bytes(text), base, index, count)
    found = _library.named("mercer_libsvm_found")()
    address, size = letters.ctypes.data, len(letters)
    lines, colons = (0, 0) if count else (_library.named("count")(address, size, letter) for letter in b"\n:")
    labels, values = np.empty(lines), np.empty(colons)
    starts, indices = np.empty(lines + 1, dtype=index), np.empty(colons, dtype=index)
    arrays = [None if count else array.ctypes.data for array in (labels, starts, indices, values)]
    what = _library.named("libsvm")(address, size, base, starts.itemsize, *arrays, ctypes.addressof(found))
    if what:
        raise LibsvmError(what, found.line, _token(bytes(text[found.offset : found.offset + 64])))
    counted = LibsvmRows(found.line, found.rows, found.entries, found.least if found.entries else -1, found.most)
    if count:
        return counted
    rows, entries = found.rows, found.entries
    return counted._replace(
        labels=labels[:rows], starts=starts[: rows + 1], indices=indices[:entries], values=values[:entries]
    )


def _token(text: bytes) -> bytes:
    return re.split(rb"[ \t\r\n#]", text, maxsplit=1)[0]


def _in_python(text: bytes, base: int, index: DTypeLike, count: bool) -> LibsvmRows:
    labels: list[float] = []
    starts, indices, values = [0], [], []
    for number, line in enumerate(text[:-1].split(b"\n")):
        tokens = re.split(rb"[ \t\r]+", line.split(b"#", 1)[0].strip(BLANKS))
        if tokens == [b""]:
            continue
        labels.append(_label(tokens[0], number))
        rest = tokens[1:]
        if rest and rest[0].startswith(b"qid:"):
            if not re.fullmatch(rb"qid:[0-9]+", rest[0]):
                raise LibsvmError(ENTRY, number, rest[0])
            rest = rest[1:]
        last = -1
        for token in rest:
            last, value = _entry(token, number, base, last, count)
            indices.append(last)
            values.append(value)
        starts.append(len(indices))
    places = np.array(indices, dtype=np.int64)
    least, most = (int(places.min()), int(places.max())) if len(places) else (-1, -1)
    counted = LibsvmRows(text.count(b"\n"), len(labels), len(indices), least, most)
    if count:
        return counted
    return counted._replace(
        labels=np.array(labels),
        starts=np.array(starts, dtype=index),
        indices=(places - base).astype(index),
        values=np.array(values),
    )


def _label(token: bytes, line: int) -> float:
    if b"," in token and NUMBER.fullmatch(token.split(b",", 1)[0]):
        raise LibsvmError(LABELS, line, token)
    if not NUMBER.fullmatch(token):
        raise LibsvmError(LABEL, line, token)
    return float(token)


def _entry(token: bytes, line: int, base: int, last: int, count: bool) -> tuple[int, float]:
    place, colon, value = token.partition(b":")
    if token.startswith(b"-"):
        raise LibsvmError(NEGATIVE, line, token)
    if not (colon and re.fullmatch(rb"[0-9]+", place)):
        raise LibsvmError(ENTRY, line, token)
    if len(place) > 18:
        raise LibsvmError(INDEX, line, token)
    found = int(place)
    if found < base:
        raise LibsvmError(BASE, line, token)
    if found <= last:
        raise LibsvmError(TWICE if found == last else ORDER, line, token)
    if count:
        return found, 0.0
    if not NUMBER.fullmatch(value):
        raise LibsvmError(VALUE, line, token)
    return found, float(value)
