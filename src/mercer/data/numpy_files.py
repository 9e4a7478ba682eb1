"""NumPy's files, mapped into memory where they are not compressed. Nothing is ever unpickled."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .rows import BLOCK_ROWS
from .sources import FileSource, SourceError
from .tables import Block


class NpyFile(FileSource):
    """One ``.npy`` file with a matrix of numbers."""

    format = "NumPy's .npy"

    def _load(self) -> NDArray[Any]:
        return np.load(self.path, mmap_mode="r", allow_pickle=False)

    def _matrix(self) -> NDArray[Any]:
        X = self._load()
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise SourceError(f"{self.name} must hold a matrix of numbers, found shape {X.shape} of {X.dtype}")
        return X

    @cached_property
    def _shape(self) -> tuple[int, int]:
        with self.reading():
            rows, columns = self._matrix().shape
            return rows, columns

    @property
    def schema(self) -> int:
        return self._shape[1]

    @property
    def n_rows(self) -> int:
        return self._shape[0]

    def batches(self, start: int, names: tuple[str, ...]) -> Iterator[Block]:
        with self.reading():
            X = self._matrix()
            for first in range(start, X.shape[0], BLOCK_ROWS):
                self.check()  # since to touch what is mapped and no longer there ends the process
                yield Block(np.array(X[first : first + BLOCK_ROWS]))


class NpzFile(NpyFile):
    """One ``.npz`` file: the matrix is named X, or is the only one."""

    format = "NumPy's .npz"

    @cached_property
    def _member(self) -> str:
        with np.load(self.path, allow_pickle=False) as file:
            if "X" in file.files:
                return "X"
            matrices = [name for name in file.files if file[name].ndim == 2]
            if len(matrices) != 1:
                raise SourceError(f"{self.name} must have an array X or one matrix, found {', '.join(file.files)}")
            return matrices[0]

    def _load(self) -> NDArray[Any]:
        return self._mapped() if self._stored is not None else self._unpacked

    @cached_property
    def _stored(self) -> int | None:
        """Where the matrix begins in the file; None where it is compressed."""
        with zipfile.ZipFile(self.path) as archive:
            member = archive.getinfo(f"{self._member}.npy")
        if member.compress_type != zipfile.ZIP_STORED:
            return None
        with open(self.path, "rb") as file:
            file.seek(member.header_offset + 26)  # of a header of 30 bytes, before a name and more
            return member.header_offset + 30 + sum(struct.unpack("<HH", file.read(4)))

    def _mapped(self) -> NDArray[Any]:
        assert self._stored is not None
        with open(self.path, "rb") as file:
            file.seek(self._stored)
            read = npy.read_array_header_1_0 if npy.read_magic(file) == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = read(file)
            if dtype.hasobject:
                raise SourceError(f"{self.name} must hold a matrix of numbers, found objects")
            return np.memmap(file, dtype, "r", file.tell(), shape, "F" if fortran else "C")

    @cached_property
    def _unpacked(self) -> NDArray[Any]:
        return self.array(self._member)

    def array(self, name: str) -> NDArray[Any]:
        """Another array of the file, in memory."""
        with self.reading(), np.load(self.path, allow_pickle=False) as file:
            if name not in file.files:
                raise SourceError(f"{self.name} has no array {name!r}; it has {', '.join(map(repr, file.files))}")
            return np.asarray(file[name])
