"""The text of a CSV file before it is parsed: its encoding, its delimiter, and the positions of its lines."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from .sources import SourceError, arrow

DELIMITERS = (",", ";", "\t", "|")
LOOKED_AT = 20
"""The number of lines from which the delimiter is inferred."""
HEAD_BYTES = 1 << 16
MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16",
         codecs.BOM_UTF16_BE: "utf-16"}  # fmt: skip
"""The byte order marks with which files declare their encoding."""


def check_encoding(encoding: Any) -> str:
    """Return the requested encoding, by default UTF-8, or raise a ValueError if Python does not know it."""
    if encoding is None:
        return "utf-8"
    try:
        return codecs.lookup(encoding).name
    except (LookupError, TypeError):
        raise ValueError(
            f"encoding must be the name of one that Python knows, such as 'utf-8' or 'latin-1', found {encoding!r}"
        ) from None


def check_marks(path: Path, encoding: str) -> None:
    """Refuse a file that declares or shows that it is not UTF-8, if it is to be read as UTF-8."""
    if encoding != "utf-8":
        return
    with arrow().input_stream(str(path)) as file:
        head = file.read(HEAD_BYTES)
    found = next((name for mark, name in MARKS.items() if head.startswith(mark)), None)
    if found is None and b"\x00" in head[:1000]:
        raise SourceError(
            f"{path} contains zero bytes, unlike UTF-8 text: if it is UTF-16 without a byte order mark, give "
            f"encoding='utf-16-le'"
        )
    if found is not None:
        raise SourceError(f"{path} is {found.upper()} text, not UTF-8: give encoding='{found}'")


def not_utf8(path: Path, where: str = "") -> SourceError:
    """Make the error for a file that is not UTF-8."""
    return SourceError(
        f"{path} is not UTF-8 text{where}: give the encoding it was written in, such as encoding='latin-1' (western "
        "Europe) or encoding='cp1252' (Windows)"
    )


@contextmanager
def opened(path: Path, encoding: str) -> Iterator[TextIO]:
    """Open a file as text, decompressed if necessary; undecodable bytes become question marks."""
    plain = "utf-8-sig" if encoding == "utf-8" else encoding
    with arrow().input_stream(str(path)) as file, io.TextIOWrapper(file, plain, "replace", newline="") as text:
        yield text


def found_delimiter(path: Path, encoding: str, expected: str) -> str:
    """Return the delimiter, which differs from the expected one only if the first lines leave no doubt.

    That is the case if the header does not contain the expected delimiter outside quotes, and another one splits it and
    all first lines into the same number of fields, more than one.
    """
    with opened(path, encoding) as text:
        lines = first_lines(text)
    if widths(lines[:1], expected) != {1}:
        return expected
    for other in DELIMITERS:
        found = widths(lines, other)
        if other != expected and len(found) == 1 and found != {1}:
            return other
    return expected


def first_lines(text: TextIO) -> list[str]:
    """Return about ``LOOKED_AT`` lines, ending with one that does not end inside quotes."""
    lines, quotes, size, complete = list[str](), 0, 0, 0
    for line in text:
        lines.append(line)
        quotes, size = quotes + line.count('"'), size + len(line)
        complete = len(lines) if quotes % 2 == 0 else complete
        if size > HEAD_BYTES or (len(lines) >= LOOKED_AT and complete == len(lines)):
            break
    return lines[:complete]


def widths(lines: list[str], delimiter: str) -> set[int]:
    """Return the distinct numbers of fields of non-empty lines."""
    try:
        return {len(row) for row in csv.reader(lines, delimiter=delimiter) if row}
    except csv.Error:
        return set()


def line_of(path: Path, encoding: str, delimiter: str, row: int) -> int | None:
    """Return the line on which a row starts, as an editor counts, or None if that cannot be determined.

    The header is the first line that is not empty. Empty lines and line breaks inside quotes count in an editor.
    """
    with opened(path, encoding) as text:
        reader = csv.reader(text, delimiter=delimiter)
        count, before = -1, 0
        try:
            for fields in reader:
                count += bool(fields)
                if fields and count == row + 1:
                    return before + 1
                before = reader.line_num
        except csv.Error:  # a field too long for Python's reader
            return None
    return None
