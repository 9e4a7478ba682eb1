"""The formats of files that rows are read from and written to: one entry each, and nothing heavy to import.

What reads and writes a format is in :mod:`mercer.data`. The formats that ``open`` and ``write`` accept, their messages
and the help of the command line come from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any, NamedTuple


class Format(NamedTuple):
    """One format of files.

    Parameters
    ----------
    name : str
        What ``mercer.data.open`` and ``--format`` call it.
    title : str
        What people call it.
    endings : tuple of str
        How the names of files end that are read as this format; ``.gz`` may follow.
    reader : str
        The module of ``mercer.data`` and the class in it, a ``FileSource``.
    written : tuple of str
        How the names of files end that are written in this format, the usual ending first; empty where none are.
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
        """What ``mercer.data.write`` calls it: of NumPy's two kinds of files it writes one."""
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
"""The formats that are written, by the names that ``mercer.data.write`` has for them."""


def format_of(path: PurePath) -> str | None:
    """The format that the name of a file tells."""
    name = path.name.lower().removesuffix(".gz")
    return next((format.name for format in FORMATS.values() if name.endswith(format.endings)), None)


def format_to_write(path: Any, *, with_names: bool = False, hint: str = "") -> str:
    """The format that the name of a file to be written tells.

    Parameters
    ----------
    path : str or path
        The file to be written.
    with_names : bool, default=False
        Whether the format must keep the names of columns.
    hint : str, default=""
        What else a caller can do about a name that tells no format.
    """
    name = PurePath(path).name.lower()
    written = {key: format for key, format in WRITTEN.items() if format.has_names or not with_names}
    for key, format in written.items():
        if name.endswith(format.written):
            return key
    known = ", ".join(ending for format in written.values() for ending in format.written)
    raise ValueError(f"the name of {path} tells no format to write: end it in {known}{hint}")


def usual_endings(*, with_names: bool = False) -> str:
    """The endings of files that can be written, one per format, as a sentence lists them."""
    return either(format.written[0] for format in WRITTEN.values() if format.has_names or not with_names)


def either(words: Iterable[str]) -> str:
    """Words as a sentence lists them: ``a, b or c``."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
