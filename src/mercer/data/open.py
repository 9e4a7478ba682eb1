"""``open``: rows from files and from what is in memory, as one table."""

from __future__ import annotations

import glob
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._checks import check_choice
from .._formats import FORMATS, format_of
from .._memory import as_bytes
from .block import without_duplicates
from .columns import Columns, NamedColumns, NumberedColumns, Roles
from .file_table import Given, SourceTable
from .frames import is_frame
from .libsvm import LibsvmFile, agree
from .numpy_files import NpzFile
from .sources import FrameSource, MatrixSource, Reading, Source, implementation
from .table import Table


def open(
    source: Any,
    target: Any = None,
    *,
    weight: Any = None,
    columns: Sequence[Any] | None = None,
    exclude: Any = (),
    format: str | None = None,
    memory: Any = None,
    dtype: Any = None,
    drop: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    zero_based: Any = "auto",
    n_features: int | None = None,
) -> SourceTable:
    """Rows from files or from memory, for any map or learner, block by block.

    Learners and maps take the table in place of X, and read it as often as they need; what fits into ``memory`` is
    read once. A file that changes between being opened and the end of the work is an error. Columns of several
    files, or of a model and a file, match by name: another order is fine, a missing column is an error, and an extra
    one is ignored with a warning. Whole numbers in one file and fractions in the next widen. Dates become the number of
    days since 1970-01-01, times of day and durations numbers of days.

    Parameters
    ----------
    source : path, folder, pattern like "train/*.parquet", sequence of paths; or a matrix or frame
        Parquet, Arrow IPC and CSV (read by pyarrow: ``pip install 'mercer[io]'``), LIBSVM, ``.npy`` and ``.npz``. Of a
        folder all files of one format are taken, by name, except names that begin with a dot or an underscore. Files
        without rows are skipped; ``notes`` has their number. In memory: NumPy and SciPy matrices, pandas and polars
        frames, Arrow tables. Categories are levels, wherever they are and also where they are numbers.
    target : name of a column, sequence of names, number of a column that has no name, array, or None
        An ``.npz`` file has a matrix X and, of this name, an array beside it. LIBSVM files bring their labels.
    weight : name or number of a column, array, or None
        A row of weight 2 counts as two rows, one of weight 0 as none.
    columns : names (or numbers) of the features, in this order; None is all that are neither target nor weight
    exclude : name (or number) of a column that is no feature, such as an id, or a sequence of them
        One that is not there is an error.
    format : "csv", "parquet", "arrow", "libsvm", "numpy", or None
        None goes by the ends of the names.
    memory : int, text like "2GB", or None
        Rows are kept between passes where they take no more than this. None keeps none. A compressed matrix in an
        ``.npz`` file that is stored column by column is refused where it takes more, as it must be held whole.
    dtype : float32, float64, or None
        None is float32 where all columns of numbers are, and else float64.
    drop : bool
        Whether to leave out rows with a gap or an infinity, a target among them; ``dropped`` tells how many. Else
        infinities and missing targets are errors, and gaps are left to learners.
    delimiter : what stands between the fields of CSV, or None
        None is a tab for ``.tsv`` and a comma for others, unless the first lines show that it is another of comma,
        semicolon, tab and bar: that one is then used, and ``notes`` says so.
    encoding : that of CSV, such as "latin-1" or "utf-16"; None is UTF-8
    zero_based : "auto", True or False
        Whether the columns of LIBSVM files are counted from 0; "auto" does where any file has an index 0.
    n_features : how many columns LIBSVM files have; None goes by the largest index

    Returns
    -------
    table : SourceTable
        With ``names``, ``n_rows``, ``blocks()``, ``split()`` and ``fingerprint()``.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> table = mercer.data.open(X, target=2)
    >>> table.n_rows, table.width
    (1000, 2)
    >>> model = mercer.KernelRegressor(n_components=32, random_state=0).fit(table)
    >>> model.predict(table).shape
    (1000,)
    """
    most = None if memory is None else as_bytes(memory)
    sources = sources_of(source, format, Reading(delimiter, encoding, most))
    notes = warned(agree([file for file in sources if isinstance(file, LibsvmFile)], zero_based, n_features))
    sources, skipped = with_rows(sources)
    asked = target, weight
    target, weight = (beside(sources, part) for part in asked)
    given = Given(*(np.asarray(part) if is_given(part) else None for part in (target, weight)))
    roles = Roles(*(None if is_given(part) else as_role(part) for part in (target, weight)))
    kind: Callable[..., Columns] = NamedColumns if isinstance(sources[0].schema, dict) else NumberedColumns
    chosen = kind(sources, columns, roles, dtype, listed(exclude))
    notes += (*skipped, *warned((*(note for file in sources for note in file.notes), *chosen.notes)))
    named = Roles(*(as_role(part) if isinstance(part, str) else None for part in asked))
    return SourceTable(chosen, given, bool(drop), most or 0, notes, named)


def warned(notes: tuple[str, ...]) -> tuple[str, ...]:
    """Notes, of which whoever opens a table is warned."""
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=3)
    return notes


def beside(sources: list[Source], part: Any) -> Any:
    """Targets or weights, read where they are arrays in the files of the rows."""
    files = [source for source in sources if isinstance(source, NpzFile)]
    return np.concatenate([file.array(part) for file in files]) if files and isinstance(part, str) else part


def is_given(part: Any) -> bool:
    """Whether targets or weights are an array, and not named as columns are."""
    if not hasattr(part, "__len__") or isinstance(part, str):
        return False
    return hasattr(part, "dtype") or any(not isinstance(one, str) for one in part)  # an array of text is labels


def as_role(part: Any) -> Any:
    return part if part is None or isinstance(part, str | int | np.integer) else tuple(part)


def listed(names: Any) -> tuple[Any, ...]:
    """Names or numbers of columns, or one alone, each once."""
    alone = isinstance(names, str | int | np.integer)
    return tuple(dict.fromkeys((names,) if alone else () if names is None else names))


def with_rows(sources: list[Source]) -> tuple[list[Source], tuple[str, ...]]:
    """The sources that have rows, and a note on others."""
    full = [source for source in sources if source.n_rows > 0]
    if not full:
        raise ValueError(f"there are no rows in {', '.join(source.name for source in sources[:5])}")
    empty = len(sources) - len(full)
    return full, (f"{empty} of {len(sources)} files have no rows and were skipped",) if empty else ()


def sources_of(source: Any, format: str | None, reading: Reading) -> list[Source]:
    """One source for each file or object."""
    if isinstance(source, str | os.PathLike):
        return from_files(paths_of(Path(source), format), format, reading)
    if isinstance(source, Table):
        raise TypeError(f"a {type(source).__name__} is a table already: give it to a learner as it is")
    if is_frame(source):
        return [FrameSource(source)]
    if sp.issparse(source):
        return [MatrixSource(without_duplicates(source.tocsr()))]
    if isinstance(source, np.ndarray):
        if source.ndim != 2:
            raise ValueError(f"a matrix of rows must have 2 dimensions, found shape {source.shape}")
        return [MatrixSource(source)]
    if isinstance(source, Iterable):
        paths = list(source)
        if paths and all(isinstance(path, str | os.PathLike) for path in paths):
            return from_files([Path(path) for path in paths], format, reading)
    raise TypeError(f"rows come from paths, matrices and frames, found {type(source).__name__}")


def paths_of(source: Path, format: str | None) -> list[Path]:
    """The files that a path, a folder or a pattern names, by name."""
    if source.is_dir():
        inside = (path for path in source.rglob("*") if path.is_file() and not path.name.startswith((".", "_")))
        found = [path for path in inside if format is not None or format_of(path) is not None]
    else:
        found = [source] if source.exists() else [Path(path) for path in glob.glob(str(source), recursive=True)]
    if not found:
        raise FileNotFoundError(f"no files of rows are found at {source}")
    return sorted(found)


def from_files(paths: list[Path], format: str | None, reading: Reading) -> list[Source]:
    """Files of one format."""
    if format is not None:
        check_choice("format", format, tuple(FORMATS))
    formats = {path: format or format_of(path) for path in paths}
    for path, found in formats.items():
        if found is None:
            raise ValueError(f"the name of {path} tells no format: give format, one of {tuple(FORMATS)}")
        if found != formats[paths[0]]:
            raise ValueError(f"files of one table have one format, found {paths[0]} and {path}")
    reader = implementation(FORMATS[str(formats[paths[0]])].reader)
    return [reader.of(path, reading) for path in paths]
