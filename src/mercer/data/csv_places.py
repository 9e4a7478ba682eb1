"""Positions in a CSV file at which a row starts, so that reading can start there.

Only uncompressed files are searched, and only if their quotes leave no doubt: a field with a quote is enclosed in
quotes as a whole, and quotes inside it are doubled. Elsewhere it is uncertain which line breaks end a row.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .sources import arrow

PLACE_BYTES = 1 << 20
"""The approximate distance of two places."""
PLAIN = ("utf-8", "ascii", "iso8859-1", "cp1252")
"""Encodings in which the bytes of line breaks and quotes stand for nothing else."""
BREAK, RETURN, QUOTE = b'\n\r"'


class Place(NamedTuple):
    """The position in bytes at which a row starts, and its number."""

    offset: int
    row: int


def found_places(path: Path, encoding: str, delimiter: str, n_rows: int) -> tuple[Place, ...]:
    """Return places in a file that has so many rows; none if it is not certain where its rows start."""
    if encoding not in PLAIN or not delimiter.isascii() or is_compressed(path):
        return ()
    places: list[Place] = []
    lines, is_inside = 0, False  # whether a quote is open at the beginning of a text
    with open(path, "rb") as file:
        for offset, text in texts(file):
            if (text[np.flatnonzero(text == RETURN) + 1] != BREAK).any():
                return ()
            ends, quotes = np.flatnonzero(text == BREAK), np.flatnonzero(text == QUOTE)
            if not are_certain(text, quotes, ord(delimiter), is_inside):
                return ()
            ends = ends[(is_inside + np.searchsorted(quotes, ends)) % 2 == 0]
            if len(ends):
                filled = line_lengths(text, ends) > 0
                filled[0] |= is_inside
                if lines + filled[0]:  # otherwise the header is still to come
                    places.append(Place(offset + int(ends[0]) + 1, lines + int(filled[0]) - 1))
                lines += int(np.count_nonzero(filled))
            is_inside = bool((is_inside + len(quotes)) % 2)
    return tuple(places) if lines == n_rows + 1 and not is_inside else ()


def is_compressed(path: Path) -> bool:
    """Return whether Arrow decompresses a file of this name."""
    with arrow().input_stream(str(path)) as file:
        return isinstance(file, arrow().CompressedInputStream)


def texts(file: BinaryIO) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Yield the bytes of whole lines, with their positions; a missing last line break is added."""
    offset = len(codecs.BOM_UTF8) if file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8 else 0
    file.seek(offset)
    held = b""
    while more := file.read(PLACE_BYTES):
        held += more
        stop = held.rfind(b"\n") + 1
        if stop:
            yield offset, np.frombuffer(held[:stop], dtype=np.uint8)
            offset, held = offset + stop, held[stop:]
    if held:
        yield offset, np.frombuffer(held + b"\n", dtype=np.uint8)


def are_certain(text: NDArray[np.uint8], quotes: NDArray[np.int64], delimiter: int, is_inside: bool) -> bool:
    """Return whether all quotes enclose fields or are doubled inside them; line breaks end a text."""
    opening, closing = quotes[int(is_inside) :: 2], quotes[1 - int(is_inside) :: 2]
    before = np.where(opening == 0, BREAK, text[opening - 1])
    return bool(
        np.isin(before, (delimiter, BREAK, QUOTE)).all()
        and np.isin(text[closing + 1], (delimiter, BREAK, RETURN, QUOTE)).all()
    )


def line_lengths(text: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many bytes of a row there are before each of its ends."""
    lengths = np.diff(ends, prepend=-1) - 1
    returned = (ends > 0) & (text[ends - 1] == RETURN)
    found: NDArray[np.int64] = lengths - (returned & (lengths > 0))
    return found
