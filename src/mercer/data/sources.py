"""The interface of file formats: the columns of one file or object, and its rows as they are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

from .block import BLOCK_ROWS, Block, rows_of
from .fingerprints import digest, hashed, sampled
from .frames import columns, frame_rows, kind_of, row_label, settled

NUMBERS_AT_ONCE = 1 << 18
"""The approximate count of numbers read at once, few enough to stay in cache while columns become rows."""


class SourceError(ValueError):
    """Raised for faulty rows; the message names the file and the row or line in it."""


class MissingColumnError(SourceError):
    """Raised if a requested column does not exist; ``column`` is its name or number."""

    def __init__(self, message: str, column: Any):
        super().__init__(message)
        self.column = column


def implementation(place: str) -> Any:
    """Load what reads or writes a format, given its place in :mod:`mercer._formats`."""
    module, name = place.split(".")
    return getattr(import_module(f".{module}", __package__), name)


class Source(ABC):
    """The rows of one file or object.

    ``name`` is its name in messages. A format implements ``schema``, ``n_rows`` and ``read``.
    """

    name: str

    @property
    def notes(self) -> tuple[str, ...]:
        """The assumptions that were made about the file, in words."""
        return ()

    @property
    @abstractmethod
    def schema(self) -> dict[str, str] | int:
        """The kinds of the columns by name (see :func:`kind_of`), or their number if they have no names."""

    @property
    @abstractmethod
    def n_rows(self) -> int: ...

    @abstractmethod
    def read(self, start: int, names: tuple[str, ...]) -> Iterator[Any]:
        """Yield all rows from number ``start`` on, in raw blocks of any size.

        A raw block is a data frame with at least the columns of these names, or a :class:`Block` if columns have no
        names.
        """

    def as_written(self, names: tuple[str, ...]) -> Iterator[Any]:
        """Yield all rows with the given columns as they are stored, of any type, in data frames of any size."""
        return self.read(0, names)

    @property
    def unsigned(self) -> frozenset[str]:
        """The integer columns without negative values, if the file does not say what type they have."""
        return frozenset()

    @abstractmethod
    def fingerprint(self) -> str: ...

    def place(self, row: int) -> str:
        """Return the name of the row with this number for messages, such as a line of the file."""
        return f"row {row}"

    def widened(self, width: int) -> Source | None:
        """Return the rows padded with columns of zeros, if the format omits zeros; otherwise None."""
        return None

    def find_places(self) -> None:  # noqa: B027  most formats tell where their rows are
        """Find out where reading can start, once for all copies of this source."""

    def check(self) -> None:  # noqa: B027  what is in memory cannot be checked
        """Raise an error if the rows have changed since they were opened."""


class Stamp(NamedTuple):
    """The size, times and so on of a file, from which a later change is noticed."""

    size: int
    nanoseconds: int

    @classmethod
    def of(cls, path: Path) -> Stamp:
        status = path.stat()
        return cls(status.st_size, status.st_mtime_ns)


class Reading(NamedTuple):
    """Options for reading files: the details of CSV, and the bytes that rows may take."""

    delimiter: str | None = None
    encoding: str | None = None
    memory: int | None = None
    decimal: str | None = None


class FileSource(Source):
    """One file, in the state in which it was opened."""

    format: ClassVar[str]
    """The name of the format, for messages."""

    def __init__(self, path: Path):
        self.path = path
        self.name = str(path)
        self._stamp = Stamp.of(path)

    @classmethod
    def of(cls, path: Path, reading: Reading) -> FileSource:
        """Open the file at a path, with the options that its format supports."""
        return cls(path)

    @cached_property
    def _fingerprint(self) -> str:
        with self.reading():
            return digest(self.path.resolve(), *self._stamp, sampled(self.path))

    def fingerprint(self) -> str:
        return self._fingerprint

    def check(self) -> None:
        try:
            now = Stamp.of(self.path)
        except FileNotFoundError as error:
            raise SourceError(f"{self.name} has disappeared since it was opened") from error
        if now != self._stamp:
            raise SourceError(
                f"{self.name} has changed since it was opened: {self._stamp.size} bytes then, {now.size} now"
                if now.size != self._stamp.size
                else f"{self.name} has been written to since it was opened"
            )

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Make every error name the file, which must be the same before and after."""
        self.check()
        try:
            yield
        except (SourceError, ImportError, MemoryError):
            raise
        except Exception as error:  # any error that a reader raises concerns this file
            self.check()
            raise SourceError(f"{self.name} cannot be read as {self.format}: {error}") from error
        self.check()


class FrameSource(Source):
    """A data frame in memory."""

    def __init__(self, X: Any):
        self._X = settled(X)
        self.name = type(X).__name__

    @property
    def schema(self) -> dict[str, str]:
        return {name: kind_of(column) for name, column in columns(self._X).items()}

    @property
    def n_rows(self) -> int:
        return int(self._X.shape[0])

    def read(self, start: int, names: tuple[str, ...]) -> Iterator[Any]:
        for first in range(start, self.n_rows, BLOCK_ROWS):
            yield frame_rows(self._X, slice(first, first + BLOCK_ROWS))

    def place(self, row: int) -> str:
        return row_label(self._X, row)

    def fingerprint(self) -> str:
        return hashed(self._X)


class MatrixSource(Source):
    """A matrix in memory, dense or CSR, with or without targets."""

    def __init__(self, X: Any, y: Any = None, name: str | None = None):
        self._all = Block(X, y)
        self.name = type(X).__name__ if name is None else name

    @property
    def schema(self) -> int:
        return int(self._all.X.shape[1])

    @property
    def n_rows(self) -> int:
        return int(self._all.X.shape[0])

    def read(self, start: int, names: tuple[str, ...]) -> Iterator[Any]:
        for first in range(start, self.n_rows, BLOCK_ROWS):
            yield rows_of(self._all, slice(first, first + BLOCK_ROWS))

    def fingerprint(self) -> str:
        return digest(hashed(self._all.X), hashed(self._all.y))


def rows_at_once(width: int) -> int:
    """Return how many rows to read at once: a multiple of a block, so that few are held at a time."""
    return BLOCK_ROWS * max(1, NUMBERS_AT_ONCE // BLOCK_ROWS // max(1, width))


def recut_frames(frames: Iterator[Any], start: int, width: int) -> Iterator[Any]:
    """Skip the first ``start`` rows of data frames, and cut large ones."""
    step = rows_at_once(width)
    for frame in frames:
        rows = frame.shape[0]
        for first in range(start, rows, step):
            yield frame_rows(frame, slice(first, first + step))
        start = max(0, start - rows)


def arrow(part: str = "") -> ModuleType:
    """Return a module of pyarrow, which only files need."""
    from importlib import import_module

    try:
        return import_module(f"pyarrow{part}")
    except ImportError as error:
        raise ImportError(
            "Parquet, Arrow and CSV files are read by pyarrow, which is not installed: pip install 'mercer[io]'"
        ) from error
