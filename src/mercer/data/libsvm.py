"""LIBSVM files (also known as svmlight), plain or gzipped: sparse rows, read a few megabytes at a time."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._atomic import atomic_write
from .._checks import check_choice, check_whole
from .._core import LibsvmError, LibsvmRows, libsvm
from .block import Block
from .sources import FileSource, SourceError

READ_BYTES = 1 << 22
WRITTEN_ROWS = 1024


class Part(NamedTuple):
    """Some lines of a file: where they start, and the numbers of their first line and first row."""

    offset: int
    line: int
    row: int


class Survey(NamedTuple):
    """The results of a pass over the indices: parts of the file, its number of rows, and the extreme indices."""

    parts: tuple[Part, ...]
    n_rows: int
    least: int
    most: int


class LibsvmFile(FileSource):
    """One LIBSVM file; ``base`` and ``width`` are shared by all files of a table."""

    format = "LIBSVM"
    base = 0
    width = 0
    is_cut = False
    """Whether the last line lacks a line break, and so may be truncated."""

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        with self.reading(), open(self.path, "rb") as plain:
            if plain.read(2) == b"\x1f\x8b":
                plain.seek(0)
                with gzip.open(plain) as unpacked:
                    yield unpacked
            else:
                plain.seek(0)
                yield plain

    def _texts(self, file: Any) -> Iterator[tuple[int, memoryview]]:
        """Yield whole lines from the current position, with their positions; a missing last line break is added.

        All use the same memory, which grows only for a longer line: fresh pages would take as long as reading.
        """
        offset, room, held = file.tell(), bytearray(READ_BYTES + 1), 0
        while True:
            count = file.readinto(memoryview(room)[held:-1])
            held += count
            if held == 0:
                return
            if count == 0:  # the end of the file
                self.is_cut = True
                room[held : held + 1] = b"\n"
                held += 1
            stop = room.rfind(b"\n", 0, held) + 1
            if stop:
                yield offset, memoryview(room)[:stop]
                offset, held = offset + stop, held - stop
                room[:held] = room[stop : stop + held]
            elif held == len(room) - 1:  # the line is longer
                room = room + bytes(len(room))

    def _parsed(self, text: memoryview, line: int, **options: Any) -> LibsvmRows:
        try:
            return libsvm(text, **options)
        except LibsvmError as error:
            raise SourceError(f"{self.name}, line {line + error.line + 1}: {error}") from error

    @cached_property
    def survey(self) -> Survey:
        parts: list[Part] = []
        line, row, least, most = 0, 0, -1, -1
        with self._opened() as file:
            for offset, text in self._texts(file):
                parts.append(Part(offset, line, row))
                found = self._parsed(text, line, count=True)
                line, row = line + found.n_lines, row + found.n_rows
                most = max(most, found.most)
                least = found.least if least < 0 else min(least, found.least) if found.n_entries else least
        return Survey(tuple(parts), row, least, most)

    @property
    def schema(self) -> int:
        return self.width

    @property
    def n_rows(self) -> int:
        return self.survey.n_rows

    def widened(self, width: int) -> LibsvmFile | None:
        other = copy(self)
        other.width = width
        return other if self.width <= width else None

    def read(self, start: int, names: tuple[str, ...]) -> Iterator[Block]:
        index = np.int32 if self.width <= np.iinfo(np.int32).max else np.int64
        begin = max((part for part in self.survey.parts if part.row <= start), key=lambda part: part.offset)
        line, skipped = begin.line, start - begin.row
        with self._opened() as file:
            file.seek(begin.offset)
            for _, text in self._texts(file):
                rows = self._parsed(text, line, base=self.base, index=index)
                if rows.n_entries and rows.most - self.base >= self.width:
                    raise SourceError(f"{self.name} has changed: there is an index {rows.most} now")
                line += rows.n_lines
                X = sp.csr_array((rows.values, rows.indices, rows.starts), shape=(rows.n_rows, self.width))
                assert rows.labels is not None
                if skipped < rows.n_rows:
                    yield Block(X[skipped:] if skipped else X, rows.labels[skipped:])
                skipped = max(0, skipped - rows.n_rows)


def agree(files: list[LibsvmFile], zero_based: Any, n_features: int | None) -> tuple[str, ...]:
    """Make all files count columns from the same number: 0 if any has an index 0 and nothing else was requested.

    Return notes about what may be wrong with them.
    """
    if not files:
        return ()
    check_choice("zero_based", zero_based, ("auto", True, False))
    least = min((file.survey.least for file in files if file.survey.least >= 0), default=1)
    base = 0 if zero_based is True or (zero_based == "auto" and least == 0) else 1
    widest = max(files, key=lambda file: file.survey.most)
    width = widest.survey.most + 1 - base
    if n_features is not None:
        check_whole("n_features", n_features)
        if n_features < width:
            raise SourceError(f"{widest.name} has index {widest.survey.most}, but there are {n_features} features")
    for file in files:
        file.base, file.width = base, max(1, width) if n_features is None else int(n_features)
    return tuple(
        f"the last line of {file.name} has no line break: the file may be truncated" for file in files if file.is_cut
    )


def write_libsvm(path: str | os.PathLike[str], X: Any, y: Any = None, *, zero_based: bool = False) -> None:
    """Write rows in the LIBSVM format; numbers are read back bit for bit.

    The file appears only when it is complete, and replaces an existing one.

    Parameters
    ----------
    path : str or path-like
        The file to write.
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        The rows. Zeros are omitted.
    y : array-like of shape (n_rows,) or None, default=None
        The labels. None writes zeros.
    zero_based : bool, default=False
        Whether columns are counted from 0 instead of 1.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> import mercer
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.libsvm")
    >>> mercer.data.write_libsvm(path, np.array([[0.5, 0.0], [0.0, 3.0]]), [1, -1])
    >>> print(path.read_text(), end="")
    1 1:0.5
    -1 2:3
    >>> next(mercer.data.open(path).blocks()).X.toarray()
    array([[0.5, 0. ],
           [0. , 3. ]])
    """
    X = sp.csr_array(X)
    labels = np.zeros(X.shape[0]) if y is None else np.asarray(y)
    if labels.shape != (X.shape[0],):
        raise ValueError(f"y must have shape {(X.shape[0],)}, found {labels.shape}")
    with atomic_write(path) as file:
        for start in range(0, X.shape[0], WRITTEN_ROWS):
            rows = slice(start, start + WRITTEN_ROWS)
            file.writelines(line.encode("ascii") for line in lines_of(X[rows], labels[rows], 0 if zero_based else 1))


def lines_of(X: Any, y: Any, first: int) -> Iterator[str]:
    """Yield rows as text, with columns counted from ``first``."""
    X.sort_indices()
    entries = [
        f" {index + first}:{shortest(value)}" if value else ""
        for index, value in zip(X.indices.tolist(), X.data.astype(np.float64).tolist(), strict=True)
    ]
    for label, begin, end in zip(
        y.astype(np.float64).tolist(), X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True
    ):
        yield shortest(label) + "".join(entries[begin:end]) + "\n"


def shortest(value: float) -> str:
    """Return the shortest decimal that is read back as this number."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
