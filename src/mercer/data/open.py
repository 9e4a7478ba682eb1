"""``open``: a table of rows from files or from memory."""

from __future__ import annotations

import difflib
import glob
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

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
    dtype: DTypeLike | None = None,
    drop: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    zero_based: Any = "auto",
    n_features: int | None = None,
) -> SourceTable:
    """Open rows from files or from memory as one table that is read block by block.

    Learners and maps accept the table in place of X and read it as often as they need; what fits into ``memory`` is
    read once. It is an error if a file changes after it was opened. Columns of several files, or of a model and a file,
    are matched by name: their order does not matter, a missing column is an error, and an extra one is ignored with a
    warning. Integers in one file and fractions in the next are widened. Dates become the number of days since
    1970-01-01; times of day and durations become numbers of days.

    Parameters
    ----------
    source : str, path-like, sequence of paths, matrix or data frame
        A file, a folder, a pattern like ``"train/*.parquet"`` or a sequence of paths: Parquet, Arrow IPC and CSV (read
        by pyarrow: ``pip install 'mercer[io]'``), LIBSVM, ``.npy`` and ``.npz``. From a folder, all files of one format
        are read in the order of their names, except names that begin with a dot or an underscore. Files without rows
        are skipped; ``notes`` says how many. In memory: NumPy and SciPy matrices, pandas and polars data frames, and
        Arrow tables. Categorical columns are levels, even if the categories are numbers.
    target : str, sequence of str, int, array-like or None, default=None
        The name of the target column or several names, the number of a column without a name, or the targets
        themselves. In an ``.npz`` file, the name of an array next to the matrix X. LIBSVM files include their labels.
    weight : str, int, array-like or None, default=None
        The name or number of the weight column, or the weights themselves. A row of weight 2 counts as two rows, and
        one of weight 0 does not count.
    columns : sequence of str or int, or None, default=None
        The names or numbers of the features, in this order. None means all columns except target and weight.
    exclude : str, int or sequence, default=()
        The names or numbers of columns that are not features, such as an id. A name that does not exist is an error.
    format : {"csv", "parquet", "arrow", "libsvm", "numpy"} or None, default=None
        The format. None infers it from the file names.
    memory : int, str or None, default=None
        Rows are kept between passes if they take no more than this number of bytes, or text like "2GB". None keeps
        none. A compressed matrix in an ``.npz`` file that is stored column by column must be held as a whole, and is
        refused if it takes more.
    dtype : {float32, float64} or None, default=None
        The type of the features. None means float32 if all columns of numbers have that type, and float64 otherwise.
    drop : bool, default=False
        Whether to drop rows with missing or infinite values, targets included; ``dropped`` is their number. Otherwise
        infinite values and missing targets are errors, and missing features are left to learners.
    delimiter : str or None, default=None
        The delimiter of CSV files. None means a tab for ``.tsv`` and a comma for others, unless the first lines show
        that it is another one of comma, semicolon, tab and bar, which is then used and mentioned in ``notes``.
    encoding : str or None, default=None
        The encoding of CSV files, such as "latin-1" or "utf-16". None means UTF-8.
    decimal : {".", ","} or None, default=None
        The decimal mark of numbers in CSV files. None means a point, unless fields are not separated by commas and the
        first rows have columns that are numbers only with decimal commas, and none that are numbers only with points:
        then it is a comma, which ``notes`` mentions.
    zero_based : {"auto", True, False}, default="auto"
        Whether the columns of LIBSVM files are counted from 0; "auto" means that they are if any file has an index 0.
    n_features : int or None, default=None
        The number of columns of LIBSVM files. None means the largest index.

    Returns
    -------
    SourceTable
        The table, with ``names``, ``n_rows``, ``blocks()``, ``split()`` and ``fingerprint()``.

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
    sources = sources_of(source, format, Reading(delimiter, encoding, most, decimal))
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
    """Issue each note as a warning that points at the call that opened the table."""
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=3)
    return notes


def beside(sources: list[Source], part: Any) -> Any:
    """Return targets or weights, read from the files of the rows if they are arrays there."""
    files = [source for source in sources if isinstance(source, NpzFile)]
    return np.concatenate([file.array(part) for file in files]) if files and isinstance(part, str) else part


def is_given(part: Any) -> bool:
    """Return whether targets or weights are given as an array rather than by the names of columns."""
    if not hasattr(part, "__len__") or isinstance(part, str):
        return False
    return hasattr(part, "dtype") or any(not isinstance(one, str) for one in part)  # an array of text is labels


def as_role(part: Any) -> Any:
    return part if part is None or isinstance(part, str | int | np.integer) else tuple(part)


def listed(names: Any) -> tuple[Any, ...]:
    """Return names or numbers of columns, or a single one, without repetitions."""
    alone = isinstance(names, str | int | np.integer)
    return tuple(dict.fromkeys((names,) if alone else () if names is None else names))


def with_rows(sources: list[Source]) -> tuple[list[Source], tuple[str, ...]]:
    """Return the sources that have rows, and a note about the others."""
    full = [source for source in sources if source.n_rows > 0]
    if not full:
        raise ValueError(f"there are no rows in {', '.join(source.name for source in sources[:5])}")
    empty = len(sources) - len(full)
    return full, (f"{empty} of {len(sources)} files have no rows and were skipped",) if empty else ()


def sources_of(source: Any, format: str | None, reading: Reading) -> list[Source]:
    """Return one source per file or object."""
    if isinstance(source, str | os.PathLike):
        return from_files(paths_of(Path(source), format), format, reading)
    if isinstance(source, Table):
        raise TypeError(f"a {type(source).__name__} is a table already: pass it directly to a learner")
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


def similar_name(path: Path) -> str:
    """Return a hint about a file in the same folder whose name is similar; nothing if there is none."""
    there = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, there, n=1, cutoff=0.75)
    return f"; did you mean {str(path.with_name(near[0]))!r}?" if near else ""


def paths_of(source: Path, format: str | None) -> list[Path]:
    """Return the files that a path, a folder or a pattern refers to, in the order of their names."""
    if source.is_dir():
        inside = (path for path in source.rglob("*") if path.is_file() and not path.name.startswith((".", "_")))
        found = [path for path in inside if format is not None or format_of(path) is not None]
    else:
        found = [source] if source.exists() else [Path(path) for path in glob.glob(str(source), recursive=True)]
    if not found:
        raise FileNotFoundError(f"no files of rows found at {source}{similar_name(source)}")
    return sorted(found)


def from_files(paths: list[Path], format: str | None, reading: Reading) -> list[Source]:
    """Return sources for files of one format."""
    if format is not None:
        check_choice("format", format, tuple(FORMATS))
    formats = {path: format or format_of(path) for path in paths}
    for path, found in formats.items():
        if found is None:
            raise ValueError(
                f"cannot tell the format of {path} from its name: give format, one of {', '.join(FORMATS)}"
            )
        if found != formats[paths[0]]:
            raise ValueError(f"all files of a table must have one format, found {paths[0]} and {path}")
    reader = implementation(FORMATS[str(formats[paths[0]])].reader)
    return [reader.of(path, reading) for path in paths]
