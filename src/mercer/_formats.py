"""The file formats for rows, one entry each, without heavy imports.

The code that reads and writes a format is in :mod:`mercer.data`. The formats that ``open`` and ``write`` accept, their
messages and the help of the command line come from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any, NamedTuple


class Format(NamedTuple):
    """One file format.

    Parameters
    ----------
    name : str
        Its name in ``mercer.data.open`` and ``--format``.
    title : str
        The name that users are shown.
    endings : tuple of str
        The file name endings that are read as this format; ``.gz`` may follow.
    reader : str
        The module of ``mercer.data`` and the class in it, a ``FileSource``.
    written : tuple of str
        The file name endings that are written in this format, the usual one first; empty if it cannot be written.
    writer : str
        The module of ``mercer.data`` and the function in it that writes blocks to an open file.
    has_names : bool
        Whether columns have names.
    has_labels : bool
        Whether rows come with their targets.
    """

    name: str
    title: str
    endings: tuple[str, ...]
    reader: str
    written: tuple[str, ...] = ()
    writer: str = ""
    has_names: bool = True
    has_labels: bool = False

    @property
    def written_name(self) -> str:
        """The format's name in ``mercer.data.write``, which writes only one of NumPy's two file types."""
        return self.written[0].removeprefix(".") if self.written else ""


FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        Format("csv", "CSV", (".csv", ".tsv"), "csv.CsvFile", (".csv",), "write.write_csv"),
        Format(
            "parquet",
            "Parquet",
            (".parquet", ".pq"),
            "parquet.ParquetFile",
            (".parquet", ".pq"),
            "write.write_parquet",
        ),
        Format(
            "arrow",
            "Arrow IPC",
            (".arrow", ".feather", ".ipc"),
            "arrow_ipc.ArrowFile",
            (".arrow", ".feather"),
            "write.write_arrow",
        ),
        Format(
            "libsvm",
            "LIBSVM",
            (".libsvm", ".svmlight", ".svm"),
            "libsvm.LibsvmFile",
            has_names=False,
            has_labels=True,
        ),
        Format(
            "numpy",
            "NumPy",
            (".npy", ".npz"),
            "numpy_files.NpyFile",
            (".npy",),
            "write.write_npy",
            has_names=False,
        ),
    )
}
WRITTEN: dict[str, Format] = {format.written_name: format for format in FORMATS.values() if format.written}
"""The formats that can be written, by their names in ``mercer.data.write``."""


def format_of(path: PurePath) -> str | None:
    """Return the format that a file name implies, or None."""
    name = path.name.lower().removesuffix(".gz")
    return next((format.name for format in FORMATS.values() if name.endswith(format.endings)), None)


def format_to_write(path: Any, *, with_names: bool = False, hint: str = "") -> str:
    """Return the format that the name of a file to be written implies.

    Parameters
    ----------
    path : str or path-like
        The file to be written.
    with_names : bool, default=False
        Whether the format must keep the names of columns.
    hint : str, default=""
        An alternative, for the message about a name that implies no format.

    Returns
    -------
    str
        The name of the format.
    """
    name = PurePath(path).name.lower()
    written = {key: format for key, format in WRITTEN.items() if format.has_names or not with_names}
    for key, format in written.items():
        if name.endswith(format.written):
            return key
    known = ", ".join(ending for format in written.values() for ending in format.written)
    raise ValueError(f"cannot tell the format to write from the name {path}: end it in {known}{hint}")


def usual_endings(*, with_names: bool = False) -> str:
    """List the endings of files that can be written, one per format, as part of a sentence."""
    return either(format.written[0] for format in WRITTEN.values() if format.has_names or not with_names)


def either(words: Iterable[str]) -> str:
    """Join words as in a sentence: ``a, b or c``."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
