"""The test of two samples by the maximum mean discrepancy."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._checks import check_choice, check_jobs, check_whole
from .._random import RandomState, Stream, as_seed
from .._tiles import single_threaded_blas
from ..maps import FeatureMap
from .bin_sums import BinSums
from .mapped_rows import as_columns, learn_map, map_for, mapped, refuse_other_features
from .result import KernelTestResult, warn_of_few

Matrix = NDArray[np.float64]

METHODS = ("auto", "permutation", "wild")
BINS = 1024
"""Half the largest number of bins of a sample."""
LEAST_BINS = 32
"""The number of bins that each sample must have for a permutation, unless they are single rows."""
TOGETHER = 64
"""The number of permutations that are summed at once."""


class MMDTest:
    r"""Test whether two samples come from the same distribution, with rows in batches, in linear time and memory.

    Parameters
    ----------
    kernel : Kernel, str, callable, FeatureMap or None, default=None
        The kernel, or a map. :class:`mercer.Nystrom` with landmarks by "rpcholesky" computes the features of a kernel.
        None means ``Gaussian("median")``.
    n_components : int, default=256
        The number of landmarks.
    n_permutations : int, default=999
        The number of permutations with which the statistic is compared.
    method : {"auto", "permutation", "wild"}, default="auto"
        "auto" means "permutation" if both samples have enough bins, otherwise "wild"; see Notes.
    random_state : int, Generator, RandomState or None, default=None
        The seed of landmarks and permutations.
    n_jobs : int or None, default=None
        The number of threads that compute features.

    Attributes
    ----------
    map_ : FeatureMap
        The fitted map.

    Notes
    -----
    The statistic is :math:`\|\bar z_X - \bar z_Y\|^2`, the squared distance between the mean features of the samples,
    which estimates the squared maximum mean discrepancy.

    With ``method="permutation"``, sums of at most 2,048 bins of consecutive rows are kept for each sample, all of the
    same size, and whole bins are exchanged between the samples. These are also permutations of the rows, so the test
    has exactly its level, however many rows there are, at the cost of a few thousand.

    With ``method="wild"``, or if one sample is so much larger that the other would fill fewer than 32 bins of that
    size, bins centred about their own mean are given random signs instead. This keeps the level if there are many rows,
    and there is a warning if a sample has fewer than 32.
    It also works for rows that depend on the rows shortly before them, as in a time series, if bins are longer than
    this dependence. Bins are single rows up to 2,048 rows of a sample, and have n / 2,048 to n / 1,024 rows beyond.

    Bandwidth and landmarks are learned from the rows of ``prepare``, or otherwise of the first ``update``. For an exact
    level in a stream, these rows should not be among those tested. Columns are used in their own units: standardise
    columns with different ones.

    References
    ----------
    Gretton et al., A kernel two-sample test, JMLR 2012.
    Domingo-Enrich, Dwivedi and Mackey, Cheap permutation testing, 2025, for permutations of bins.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats import MMDTest
    >>> rng = np.random.default_rng(0)
    >>> test = MMDTest(random_state=0)
    >>> for _ in range(10):
    ...     test = test.update(rng.normal(size=(200, 3)), rng.normal(size=(200, 3)) * [1.0, 1.0, 1.3])
    >>> test.result().pvalue
    0.001
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_components: int = 256,
        n_permutations: int = 999,
        method: str = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        for name, value in (("n_components", n_components), ("n_permutations", n_permutations)):
            check_whole(name, value)
        check_choice("method", method, METHODS)
        check_jobs(n_jobs)
        self.kernel = kernel
        self.n_components = n_components
        self.n_permutations = n_permutations
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs
        self._seed = as_seed(random_state)

    def prepare(self, X: Any, Y: Any = None) -> Self:
        """Learn the bandwidth and the landmarks from rows, which are not tested; all previous rows are discarded.

        Parameters
        ----------
        X : array-like, data frame or Table
            Rows of the first sample.
        Y : array-like, data frame, Table or None, default=None
            Rows of the second sample.

        Returns
        -------
        MMDTest
            The test itself.
        """
        chosen = map_for(self.kernel, self.n_components, self.n_jobs)
        learn_map(chosen, [as_columns(one) for one in (X, Y) if one is not None], self._seed)
        self.map_: FeatureMap = chosen
        self._sums = self._empty()
        return self

    def _empty(self) -> tuple[BinSums, BinSums]:
        width = self.map_.n_components_
        return BinSums(width, BINS), BinSums(width, BINS)

    def fresh(self) -> Self:
        """Return a copy of this prepared test without rows, for another part of the rows, to be merged later.

        Returns
        -------
        MMDTest
            A copy.
        """
        self._check_prepared()
        other = type(self)(
            self.kernel,
            n_components=self.n_components,
            n_permutations=self.n_permutations,
            method=self.method,
            random_state=self._seed,
            n_jobs=self.n_jobs,
        )
        other.map_ = self.map_
        other._sums = other._empty()
        return other

    def update(self, X: Any = None, Y: Any = None) -> Self:
        """Add rows of the first sample, of the second, or of both; the numbers of rows may differ.

        Parameters
        ----------
        X : array-like, data frame, Table or None, default=None
            Rows of the first sample.
        Y : array-like, data frame, Table or None, default=None
            Rows of the second sample.

        Returns
        -------
        MMDTest
            The test itself.
        """
        given = [one for one in (X, Y) if one is not None]
        if given and not hasattr(self, "map_"):
            self.prepare(*given)
        for sums, rows in zip(getattr(self, "_sums", ()), (X, Y), strict=False):
            if rows is not None:
                for Z in mapped(self.map_, as_columns(rows)):
                    sums.add(len(Z), binned(Z))
        return self

    def merge(self, other: MMDTest) -> Self:
        """Add the rows of another test with the same features.

        Parameters
        ----------
        other : MMDTest
            A test that started as ``fresh()``, or was prepared with the same seed and rows.

        Returns
        -------
        MMDTest
            The test itself.
        """
        self._check_prepared()
        other._check_prepared()
        refuse_other_features(self.map_, other.map_)
        for ours, theirs in zip(self._sums, other._sums, strict=True):
            ours.merge(theirs)
        return self

    def result(self) -> KernelTestResult:
        """Test the rows added so far.

        Returns
        -------
        KernelTestResult
            The statistic, the p-value, and the statistics of the permutations.
        """
        self._check_prepared()
        x, y = self._sums
        if min(x.n_rows, y.n_rows) < 2:
            raise ValueError(f"expected at least 2 rows of each sample, found {x.n_rows} and {y.n_rows}")
        size = max(x.size, y.size)
        largest = x.at_size(size), y.at_size(size)
        permutes = size == 1 or min(len(one.bins) for one in largest) >= LEAST_BINS
        if self.method == "permutation" and not permutes:
            raise ValueError(
                f"method='permutation' needs at least {LEAST_BINS} bins of {size} rows of each sample, "
                f"found {x.n_rows} and {y.n_rows} rows; give fewer of the larger sample, or method='wild'"
            )
        difference = x.total() / x.n_rows - y.total() / y.n_rows
        statistic = float(difference @ difference)
        with single_threaded_blas():
            if permutes and self.method != "wild":
                return KernelTestResult.of(statistic, self._permuted(*largest), "permutation")
            remedy = "permute them" if permutes else f"give at most {2 * BINS:,} of the other sample, to permute them"
            warn_of_few(min(x.n_rows, y.n_rows), remedy)
            return KernelTestResult.of(statistic, self._signed(x, y), "wild")

    def _permuted(self, x: BinSums, y: BinSums) -> Matrix:
        """Return the statistic after exchanging bins of the same size; rows that fill no bin stay where they are."""
        bins = np.concatenate([x.bins, y.bins])
        staying, total = x.total() - x.bins.sum(axis=0), x.total() + y.total()
        rng, n, m = Stream(self._seed, "MMDTest", "permutations"), x.n_rows, y.n_rows

        def differences(first: int, count: int) -> Matrix:
            orders = rng.child(first).orders(count, len(bins))
            of_x = np.zeros((count, len(bins)))
            np.put_along_axis(of_x, orders[:, : len(x.bins)], 1.0, axis=1)
            return (of_x @ bins + staying) * (1.0 / n + 1.0 / m) - total / m

        return self._null(differences)

    def _signed(self, x: BinSums, y: BinSums) -> Matrix:
        """Return the statistic after giving random signs to bins, centred about the mean of their sample."""
        rng = Stream(self._seed, "MMDTest", "signs")
        samples = [about_mean(*one.parts()) / one.n_rows for one in (x, y)]

        def differences(first: int, count: int) -> Matrix:
            streams = (rng.child(first, side) for side in ("x", "y"))
            left, right = (
                stream.signs((count, len(bins))).astype(np.float64) @ bins
                for stream, bins in zip(streams, samples, strict=True)
            )
            return left - right

        return self._null(differences)

    def _null(self, differences: Any) -> Matrix:
        """Return the squared lengths of differences of means, given by a function of the first one and their number."""
        found = [
            differences(first, min(TOGETHER, self.n_permutations - first))
            for first in range(0, self.n_permutations, TOGETHER)
        ]
        return np.concatenate([(part * part).sum(axis=1) for part in found])

    def _check_prepared(self) -> None:
        if not hasattr(self, "map_"):
            raise ValueError("the test has no rows yet: call update or prepare first")


def binned(Z: NDArray[Any]) -> Any:
    """Return a function that gives the sums of bins of consecutive rows of Z, for :class:`BinSums`."""

    def summed(first: int, count: int, size: int) -> Matrix:
        return Z[first : first + count * size].reshape(count, size, -1).sum(axis=1, dtype=np.float64)

    return summed


def about_mean(bins: Matrix, counts: Matrix) -> Matrix:
    """Return centred sums of bins with these counts, scaled to the variance that they have about the true mean."""
    n = counts.sum()
    centred = bins - np.outer(counts, bins.sum(axis=0) / n)
    return centred / np.sqrt(1.0 - counts @ counts / n**2)  # the share of the variance that the sample mean removes


def mmd_test(
    X: Any,
    Y: Any,
    kernel: Any = None,
    *,
    n_components: int = 256,
    n_permutations: int = 999,
    method: str = "auto",
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> KernelTestResult:
    """Test whether two samples come from the same distribution, by the maximum mean discrepancy.

    This is :class:`MMDTest` on all rows at once. Bandwidth and landmarks are learned from rows of both samples
    together, so that the level is exact with ``method="permutation"``.

    Parameters
    ----------
    X : array-like, data frame or Table
        The first sample.
    Y : array-like, data frame or Table
        The second sample, with the same columns.
    kernel : Kernel, str, callable, FeatureMap or None, default=None
        The kernel, or a map. None means ``Gaussian("median")``.
    n_components : int, default=256
        The number of landmarks.
    n_permutations : int, default=999
        The number of permutations with which the statistic is compared.
    method : {"auto", "permutation", "wild"}, default="auto"
        The method; see :class:`MMDTest`.
    random_state : int, Generator, RandomState or None, default=None
        The seed of landmarks and permutations.
    n_jobs : int or None, default=None
        The number of threads that compute features.

    Returns
    -------
    KernelTestResult
        The statistic, the p-value, and the statistics of the permutations.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats import mmd_test
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(2000, 3)), rng.normal(size=(3000, 3))
    >>> mmd_test(X, Y, random_state=0).pvalue > 0.05, mmd_test(X, Y + 0.2, random_state=0).pvalue
    (True, 0.001)
    """
    test = MMDTest(
        kernel,
        n_components=n_components,
        n_permutations=n_permutations,
        method=method,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    return test.prepare(X, Y).update(X, Y).result()
