"""Diagnosis of a kernel on given rows in plain words: similarities, bandwidth and columns, with advice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh

from .._random import RandomState, Stream, as_seed
from .._rows import ArrayRows
from .._tiles import single_threaded_blas
from ..data import SourceTable
from ..data.table_rows import placed
from ..kernels import Kernel
from ..kernels.base import check_matrix
from ..kernels.parse import as_kernel
from ..learn.argument_types import MemoryArgument
from .certificate import codes_of_targets
from .samples import drawn, most_rows, preparation_of

Matrix = NDArray[np.float64]

DIAGNOSED_ROWS = 1000
"""The number of rows whose kernel matrix is examined."""
TABLE_ROWS = 20_000
"""The number of rows drawn from a table."""
FEWEST_ROWS = 16
RIDGE = 1e-3
"""The penalty of the effective dimension, in units of the mean k(x, x)."""
PENALTIES = tuple(10.0**power for power in range(-6, 2))
"""Penalties of ridge regression that are tried, in the same units."""
LENGTHS = (-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 6.0)
"""The lengths that are tried with a target, as base-2 logarithms of their ratio to that of the kernel."""
LENGTH_ROWS = 500
"""The number of rows on which lengths are compared."""
WORTH = 0.05
"""Another length is recommended if it reduces the error by at least this share ..."""
LEAST_GAIN = 0.01
"""... which must also be at least this share of the variance of the targets."""
UNLIKE, ALIKE = 0.02, 0.98
"""A median similarity below the first means that rows are unrelated; above the second, that all look the same."""
SPREAD = 100.0
"""If standard deviations of columns differ by more than this factor, the smaller ones have no influence."""
DOMINANT = 0.9
"""If a column has at least this share of the total variance, it dominates."""
FAR = 20.0
"""A value further from the median than this many interquartile ranges is an outlier."""
COMPARED_ROWS = 10_000
"""The number of rows on which columns are compared."""
MANY = 0.05
"""A share of duplicates above this value is reported."""


@dataclass(frozen=True)
class Finding:
    """One property that was examined.

    Parameters
    ----------
    name : str
        The property.
    serious : bool
        Whether something should be done about it.
    words : str
        The result of the examination.
    advice : str, default=""
        What to do about it; empty if nothing has to be done.
    """

    name: str
    serious: bool
    words: str
    advice: str = ""

    def __str__(self) -> str:
        mark = "!" if self.serious else " "
        told = f"{mark} {self.name}: {self.words}"
        return f"{told}\n    -> {self.advice}" if self.advice else told


@dataclass(frozen=True)
class Diagnosis:
    """The result of :func:`diagnose`.

    Parameters
    ----------
    kernel : str
        The kernel, with a number in every field.
    n_rows : int
        The number of rows of the data.
    n_columns : int
        The number of columns of the data.
    sampled : int
        The number of rows whose kernel matrix was examined.
    effective_dimension : float
        The trace of K (K + n r)^-1 on these rows, with r a thousandth of the mean of k(x, x): roughly the number of
        features that a machine with a small penalty uses.
    median_similarity : float
        The median over pairs of k(x, y) / sqrt(k(x, x) k(y, y)).
    findings : tuple of Finding
        What was found, in order.
    """

    kernel: str
    n_rows: int
    n_columns: int
    sampled: int
    effective_dimension: float
    median_similarity: float
    findings: tuple[Finding, ...]

    @property
    def concerns(self) -> tuple[Finding, ...]:
        """The findings that require action."""
        return tuple(finding for finding in self.findings if finding.serious)

    def __str__(self) -> str:
        """Return the diagnosis in plain words, one finding per line; exclamation marks mark serious ones."""
        head = f"{self.kernel} on {self.n_rows:,} rows and {self.n_columns:,} columns"
        return "\n".join([head, *map(str, self.findings)])

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as plain dictionaries and lists.

        Returns
        -------
        dict
            The fields by name.
        """
        return {**asdict(self), "findings": [asdict(finding) for finding in self.findings]}

    def to_json(self) -> str:
        """Return the diagnosis as JSON.

        Returns
        -------
        str
            The fields by name, as JSON.
        """
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)


def diagnose(
    kernel: Kernel | str,
    X: Any,
    y: Any = None,
    *,
    names: Sequence[str] | None = None,
    max_rows: int = DIAGNOSED_ROWS,
    random_state: RandomState = 0,
) -> Diagnosis:
    r"""Describe how a kernel sees rows, and what to do about it, in plain words.

    It examines the effective dimension of the kernel matrix; the bandwidth (with a target, by the leave-one-out error
    of kernel ridge regression at other lengths); and the columns: scales, constants, duplicates, tails. Rows are not
    prepared: if the kernel will be used on scaled rows, scale them first.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel of :mod:`mercer.kernels`, or text that describes one.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        At least 16 rows.
    y : array-like of shape (n_samples,) or None, default=None
        Numbers or classes to predict.
    names : sequence of str or None, default=None
        The names of the columns. None uses the names of a data frame, or numbers the columns.
    max_rows : int, default=1000
        The number of rows sampled for the kernel matrix.
    random_state : int, Generator, RandomState or None, default=0
        Determines the sample.

    Returns
    -------
    Diagnosis
        Printed, it reads as a list; ``concerns`` are the findings that require action.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(400, 3)) * [1.0, 1.0, 1000.0]
    >>> found = mercer.diagnose("gaussian('scale')", X)
    >>> print(*(finding.words for finding in found.concerns), sep="\n")
    the largest standard deviation of a column (column 2) is 1e+03 times the smallest (column 1)
    column 2 has 100 % of all variance: distances reflect only this column
    """
    names = _names(X, names)
    X = check_matrix(X)
    n, d = X.shape
    if n < FEWEST_ROWS:
        raise ValueError(f"diagnose needs at least {FEWEST_ROWS} rows, found n_samples={n}")
    if y is not None and len(y) != n:
        raise ValueError(f"y must have one entry per row of X, found {len(y)} for {n} rows")
    seed = as_seed(random_state)
    rows = ArrayRows(X, Stream(seed).child("rows"))
    resolved = as_kernel(kernel).resolve(rows)
    resolved.check_rows(X)
    numbers = ArrayRows(X, Stream(seed, "diagnose")).choose(max_rows)
    sample = X[numbers].astype(np.float64)
    with single_threaded_blas():
        K = resolved(sample)
        values = np.maximum(eigh(K, eigvals_only=True)[::-1], 0.0)
        similarity = _similarity(K)
        dimension = _effective_dimension(values)
        targets = None if y is None else codes_of_targets(np.asarray(y)[numbers])[1]
        findings = [
            *_dimension(values, dimension),
            *_bandwidth(resolved, sample, similarity, targets),
            *_scales(X, names, resolved),
            *_duplicates(X, names),
            *_tails(X, names),
        ]
    return Diagnosis(repr(resolved), n, d, len(numbers), dimension, similarity, tuple(findings))


def diagnose_table(
    kernel: Kernel | str,
    table: SourceTable,
    *,
    scale: str | None = "auto",
    memory: MemoryArgument = None,
    seed: int = 0,
    **preparing: Any,
) -> Diagnosis:
    """Diagnose a table's rows, prepared as a learner would see them.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel of :mod:`mercer.kernels`, or text that describes one.
    table : SourceTable
        The rows, with or without a target.
    scale : {"auto", "standard", "unit", "minmax"} or None, default="auto"
        How columns are scaled. "auto" is "standard", or None for kernels that accept no negative values.
    memory : int, str or None, default=None
        The largest number of bytes, or text such as "2GB", for the rows, of which there are at most 20,000.
    seed : int, default=0
        Determines the rows that are drawn.
    **preparing : object
        The arguments ``missing`` and ``dates`` of :class:`mercer.KernelRegressor`.

    Returns
    -------
    Diagnosis
        The result of :func:`diagnose` for these rows.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> found = mercer.choose.diagnose_table("gaussian('median')", mercer.data.open(X, target=2))
    >>> found.n_columns, len(found.concerns)
    (2, 0)
    """
    kernel = as_kernel(kernel)
    if scale == "auto":
        scale = None if kernel.domain_is_non_negative else "standard"
    block, numbers = drawn(table, min(TABLE_ROWS, most_rows(table, memory)), seed)
    preparation = preparation_of(table, scale, **preparing)
    X = placed(table, preparation, block.X, numbers)
    names = None if table.names is None else preparation.labels(len(table.names))
    found = diagnose(kernel, X, block.y, names=names, random_state=seed)
    return replace(found, n_rows=table.n_rows)


def _names(X: Any, names: Sequence[str] | None) -> list[str]:
    if names is None and hasattr(X, "columns"):
        names = [str(name) for name in X.columns]
    width = np.shape(X)[1] if len(np.shape(X)) == 2 else 0
    if names is not None and len(names) != width:
        raise ValueError(f"names must contain {width} names, one per column, found {len(names)}")
    return [f"column {place}" for place in range(width)] if names is None else [repr(str(name)) for name in names]


# -- the kernel matrix -------------------------------------------------------------------------------------------------


def _effective_dimension(values: NDArray[np.float64]) -> float:
    penalty = RIDGE * float(values.sum())  # n times a share of the mean diagonal
    return float((values / (values + penalty)).sum()) if penalty > 0.0 else 0.0


def _similarity(K: Matrix) -> float:
    sizes = np.sqrt(np.maximum(K.diagonal(), 0.0))
    sizes[sizes == 0.0] = 1.0
    return float(np.median((K / np.outer(sizes, sizes))[np.triu_indices(len(K), 1)]))


def _dimension(values: NDArray[np.float64], dimension: float) -> list[Finding]:
    total = float(values.sum()) or 1.0
    for_most = int(np.searchsorted(np.cumsum(values), 0.99 * total)) + 1
    words = (
        f"{dimension:.0f} for {len(values):,} sampled rows at a small penalty; {for_most:,} directions have 99 % of "
        "the trace"
    )
    if for_most > 0.9 * len(values):
        return [
            Finding(
                "effective dimension",
                True,
                words,
                "no map with fewer features than rows comes close: use a wider kernel, or the exact machine "
                "(map='exact')",
            )
        ]
    if for_most < 0.2 * len(values):
        return [Finding("effective dimension", False, f"{words}; landmarks (Nystrom) suit such kernels best")]
    return [Finding("effective dimension", False, words)]


def _bandwidth(kernel: Kernel, X: Any, similarity: float, targets: Matrix | None) -> list[Finding]:
    words = f"the median similarity of two rows is {similarity:.3g}"
    if targets is not None:  # targets say more about the bandwidth than distances do
        step = -(-X.shape[0] // LENGTH_ROWS)
        return _lengths(kernel, X[::step], targets[::step] - targets[::step].mean(axis=0), words)
    if kernel.is_shift_invariant and similarity < UNLIKE:
        words += ": rows hardly resemble each other"
        return [Finding("bandwidth", True, words, "widen it: a smaller gamma, or a larger length")]
    if similarity > ALIKE:
        words += ": all rows look the same"
        return [
            Finding("bandwidth", True, words, "narrow it: a larger gamma, or a smaller length; or scale the columns")
        ]
    return [Finding("bandwidth", False, words)]


def _lengths(kernel: Kernel, X: Any, targets: Matrix, words: str) -> list[Finding]:
    """Return leave-one-out errors at other lengths: scaling rows up is the same as narrowing the kernel."""
    errors = {}
    for length in LENGTHS:
        try:
            errors[length] = _left_out_error(kernel(X * 2.0**-length), targets)
        except ValueError:  # outside the kernel's domain
            continue
    here = errors[0.0]
    best = min(errors, key=lambda length: errors[length])
    words += f"; kernel ridge regression explains {100.0 * (1.0 - here):.1f} % of the target variance (leave-one-out)"
    if errors[best] < min((1.0 - WORTH) * here, here - LEAST_GAIN):
        how, change = ("wider", "divide") if best > 0.0 else ("narrower", "multiply")
        factor = 2.0 ** abs(best)
        words += f", and {100.0 * (1.0 - errors[best]):.1f} % with a kernel that is {how} by a factor of {factor:g}"
        advice = (
            f"{change} gamma by {factor**2:g}, or gamma of a Laplacian by {factor:g} ("
            f"{'multiply' if best > 0.0 else 'divide'} a length by {factor:g}), or let mercer.tune search it"
        )
        return [Finding("bandwidth", True, words, advice)]
    return [Finding("bandwidth", False, f"{words}; other lengths are hardly better")]


def _left_out_error(K: Matrix, targets: Matrix) -> float:
    """Return the smallest unexplained share of the variance over all penalties, when each row is left out in turn."""
    values, vectors = eigh(K)
    values = np.maximum(values, 0.0)
    size, projected = float(values.mean()) or 1.0, vectors.T @ targets
    total = float(((targets - targets.mean(axis=0)) ** 2).sum()) or 1.0
    errors = []
    for penalty in PENALTIES:
        shrunk = 1.0 / (values + penalty * size)
        residual = (vectors @ (shrunk[:, None] * projected)) / ((vectors**2) @ shrunk)[:, None]
        errors.append(float((residual**2).sum()) / total)
    return min(errors)


# -- columns -----------------------------------------------------------------------------------------------------------


def _moments(X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and standard deviations of columns; sparse rows are not copied into a dense matrix."""
    if sp.issparse(X):
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        square = np.asarray(X.multiply(X).mean(axis=0), dtype=np.float64).ravel()
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0))
    return X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)


def _scales(X: Any, names: list[str], kernel: Kernel) -> list[Finding]:
    _, deviations = _moments(X)
    constant = np.flatnonzero(deviations == 0.0)
    found = []
    if len(constant):
        found.append(
            Finding("constant columns", True, _listed(constant, names, "is the same in every row"), "drop them")
        )
    varied = np.flatnonzero(deviations > 0.0)
    if len(varied) < 2:
        return found
    scale = "standardise the columns: scale='standard' of a learner"
    if kernel.domain_is_non_negative:
        scale = "check that the columns are counts of the same kind"
    least, most = varied[np.argmin(deviations[varied])], varied[np.argmax(deviations[varied])]
    ratio = deviations[most] / deviations[least]
    words = (
        f"the largest standard deviation of a column ({names[most]}) is {ratio:.2g} times the smallest ({names[least]})"
    )
    found.append(Finding("scales", bool(ratio > SPREAD), words, scale if ratio > SPREAD else ""))
    share = deviations[most] ** 2 / float((deviations**2).sum())
    if share > DOMINANT:
        words = f"{names[most]} has {100.0 * share:.0f} % of all variance: distances reflect only this column"
        found.append(Finding("scales", True, words, scale))
    return found


def _listed(places: NDArray[np.int64], names: list[str], what: str) -> str:
    """Return a sentence that names some columns and says what they have in common."""
    shown = ", ".join(names[place] for place in places[:3])
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return f"{shown}{more} {what if len(places) == 1 else what.replace('is ', 'are ').replace('has ', 'have ')}"


def _duplicates(X: Any, names: list[str]) -> list[Finding]:
    if sp.issparse(X):
        return []
    share = 1.0 - _different(X) / len(X)
    advice = "duplicates across a split make scores look better than they are: drop them, or weight one of each"
    words = f"{100.0 * share:.1f} % of the rows repeat another row"
    found = [Finding("duplicate rows", share > MANY, words, advice if share > MANY else "")]
    some = X[:: max(1, len(X) // COMPARED_ROWS)]
    _, first = np.unique(some, axis=1, return_index=True)
    again = np.setdiff1d(np.arange(X.shape[1]), first)
    again = again[some[:, again].std(axis=0) > 0.0]
    if len(again):
        words = _listed(again, names, "is equal to another column")
        found.append(Finding("duplicate columns", True, words, "drop them: they count twice in every distance"))
    return found


def _different(X: NDArray[Any]) -> int:
    """Return the number of distinct rows."""
    X = np.ascontiguousarray(X) + 0.0  # turns -0 into 0
    return len(np.unique(X.view(np.dtype((np.void, X.dtype.itemsize * X.shape[1])))))


def _tails(X: Any, names: list[str]) -> list[Finding]:
    if sp.issparse(X):
        return []
    low, middle, high = np.quantile(X, (0.25, 0.5, 0.75), axis=0)
    width = high - low
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.where(width > 0.0, np.abs(X - middle).max(axis=0) / width, 0.0)
    heavy = np.flatnonzero(distance > FAR)
    if not len(heavy):
        return [Finding("tails", False, "no column has outliers")]
    worst = heavy[np.argmax(distance[heavy])]
    words = (
        _listed(heavy, names, f"has values more than {FAR:g} interquartile ranges from the median")
        + f" ({names[worst]}: {distance[worst]:.0f})"
    )
    return [
        Finding(
            "tails",
            True,
            words,
            "use logarithms or ranks, or clip them: under any kernel, such rows are unlike all others",
        )
    ]
