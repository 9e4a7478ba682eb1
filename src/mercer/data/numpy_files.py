"""NumPy's files, read one block at a time; nothing is unpickled, and nothing is mapped into memory."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .._memory import check_room
from .block import BLOCK_ROWS, Block
from .sources import FileSource, Reading, SourceError

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
READ_BYTES = 1 << 18
"""The number of bytes read at once for a checksum."""
LOCAL_HEADER = 30
"""The bytes before the name of a member in a zip file; the last four hold the lengths of the name and of the rest."""


class Header(NamedTuple):
    """The description of an array: its shape, its order, its type, and where its bytes start."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]
    start: int

    @property
    def size(self) -> int:
        """The number of bytes of the header and the array."""
        return self.start + math.prod(self.shape) * self.dtype.itemsize

    @classmethod
    def of(cls, file: Any) -> Header:
        """Read the header at the beginning of an open file."""
        version = npy.read_magic(file)
        if version not in HEADERS:
            raise ValueError(f"version {version[0]}.{version[1]} of the format is not one for numbers")
        shape, by_columns, dtype = HEADERS[version](file)
        if dtype.hasobject:
            raise ValueError("it contains Python objects, and reading these would run code")
        return cls(shape, by_columns, dtype, file.tell())


def fill(file: Any, array: NDArray[Any]) -> None:
    """Read bytes into a contiguous array."""
    # Read rather than mapped, because touching a page of a file that was truncated meanwhile crashes the process.
    left = array.reshape(-1).view(np.uint8).data
    while len(left):
        count = file.readinto(left)
        if not count:
            raise ValueError(f"it ends {len(left):,} bytes too early")
        left = left[count:]


class NpyFile(FileSource):
    """One ``.npy`` file with a matrix of numbers."""

    format = "NumPy's .npy"

    @classmethod
    def of(cls, path: Path, reading: Reading) -> NpyFile:
        return NpzFile(path, reading.memory) if path.name.lower().endswith(".npz") else NpyFile(path)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Open the file of the matrix at its beginning."""
        with open(self.path, "rb") as file:
            yield file

    def _described(self) -> Header:
        """Return the header of the matrix, after checking that the file is long enough for it."""
        with self._opened() as file:
            header = Header.of(file)
        if self._stamp.size < header.size:
            raise ValueError(f"shape {header.shape} takes {header.size:,} bytes, and it has {self._stamp.size:,}")
        return header

    @cached_property
    def _header(self) -> Header:
        with self.reading():
            header = self._described()
        if len(header.shape) != 2 or header.dtype.kind not in "biuf":
            found = f"shape {header.shape} of {header.dtype}"
            raise SourceError(f"{self.name} must hold a matrix of numbers, found {found}")
        return header

    @property
    def schema(self) -> int:
        return self._header.shape[1]

    @property
    def n_rows(self) -> int:
        return self._header.shape[0]

    def read(self, start: int, names: tuple[str, ...]) -> Iterator[Block]:
        header = self._header
        with self.reading(), self._opened() as file:
            before = file.tell()
            for first in range(start, header.shape[0], BLOCK_ROWS):
                yield Block(rows_of(file, before, header, first, min(BLOCK_ROWS, header.shape[0] - first)))


def rows_of(file: Any, before: int, header: Header, first: int, count: int) -> NDArray[Any]:
    """Read some rows of a matrix whose header starts ``before`` bytes into a file."""
    (rows, width), start, step = header.shape, before + header.start, header.dtype.itemsize
    if not header.by_columns:
        X = np.empty((count, width), dtype=header.dtype)
        place = start + first * width * step
        if file.tell() != place:
            file.seek(place)
        fill(file, X)
        return X
    columns = np.empty((width, count), dtype=header.dtype)
    for number, column in enumerate(columns):
        file.seek(start + (number * rows + first) * step)
        fill(file, column)
    return columns.T


class NpzFile(NpyFile):
    """One ``.npz`` file, in which the matrix is named X or is the only one."""

    format = "NumPy's .npz"

    def __init__(self, path: Path, memory: int | None = None):
        super().__init__(path)
        self._memory = memory  # for a matrix that cannot be read one block at a time; None means all of the machine's

    def _names(self, archive: zipfile.ZipFile) -> list[str]:
        return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]

    @cached_property
    def _member(self) -> zipfile.ZipInfo:
        with zipfile.ZipFile(self.path) as archive:
            names, chosen = self._names(archive), "X"
            if chosen not in names:
                matrices = [name for name in names if len(self._header_of(archive, name).shape) == 2]
                if len(matrices) != 1:
                    raise SourceError(f"{self.name} must have an array X or one matrix, found {', '.join(names)}")
                chosen = matrices[0]
            return archive.getinfo(f"{chosen}.npy")

    def _header_of(self, archive: zipfile.ZipFile, name: str) -> Header:
        """Return the header of an array, after checking that it is as long as the archive says."""
        member = archive.getinfo(f"{name}.npy")
        with archive.open(member) as file:
            header = Header.of(file)
        if header.size != member.file_size:
            found = f"{member.file_size:,} bytes in the archive"
            raise ValueError(f"array {name!r} of shape {header.shape} takes {header.size:,} bytes, and has {found}")
        return header

    def _described(self) -> Header:
        with zipfile.ZipFile(self.path) as archive:
            return self._header_of(archive, self._member.filename.removesuffix(".npy"))

    @property
    def _is_stored(self) -> bool:
        return self._member.compress_type == zipfile.ZIP_STORED

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        if self._is_stored:  # rows can be read from anywhere, once the checksum has been verified
            place = self._verified
            with open(self.path, "rb") as file:
                file.seek(place)
                yield file
            return
        with zipfile.ZipFile(self.path) as archive, archive.open(self._member) as file:
            yield file  # reading it to its end verifies the checksum

    @cached_property
    def _verified(self) -> int:
        """Return the position of the matrix in the file, after reading all of it and verifying its checksum."""
        member = self._member
        with open(self.path, "rb") as file:
            file.seek(member.header_offset)
            local = file.read(LOCAL_HEADER)
            lengths = np.frombuffer(local[-4:], dtype="<u2")
            place = member.header_offset + LOCAL_HEADER + int(lengths.sum())
            file.seek(place)
            left, found = member.file_size, 0
            while left > 0 and (part := file.read(min(left, READ_BYTES))):
                left, found = left - len(part), zlib.crc32(part, found)
        if left > 0 or found != member.CRC:
            raise ValueError(f"the checksum of {member.filename!r} is wrong: the file is damaged")
        return place

    def read(self, start: int, names: tuple[str, ...]) -> Iterator[Block]:
        if not self._header.by_columns or self._is_stored:
            yield from super().read(start, names)
            return
        with self.reading():
            X = self._unpacked
        for first in range(start, X.shape[0], BLOCK_ROWS):
            yield Block(np.array(X[first : first + BLOCK_ROWS]))

    @cached_property
    def _unpacked(self) -> NDArray[Any]:
        """Return the matrix in memory, because it is compressed and every row is spread over all of it."""
        needed = self._header.size
        what = f"the rows of {self.name}, compressed column by column (np.savez would leave them to be read in blocks),"
        check_room(needed, what, self._memory)
        return self.array(self._member.filename.removesuffix(".npy"))

    def array(self, name: str) -> NDArray[Any]:
        """Read an array of the file into memory."""
        with self.reading(), zipfile.ZipFile(self.path) as archive:
            names = self._names(archive)
            if name not in names:
                raise SourceError(f"{self.name} has no array {name!r}; it has {', '.join(map(repr, names))}")
            header = self._header_of(archive, name)
            check_room(header.size, f"the entries of {name!r} in {self.name}", None)
            with archive.open(f"{name}.npy") as file:
                file.read(header.start)
                entries = np.empty(math.prod(header.shape), dtype=header.dtype)
                fill(file, entries)
                file.read(1)  # so that the checksum is verified
            return entries.reshape(header.shape, order="F" if header.by_columns else "C")
