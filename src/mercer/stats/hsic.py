"""The test of independence by the Hilbert-Schmidt independence criterion."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._checks import check_choice, check_jobs, check_whole
from .._random import RandomState, Stream, as_seed
from .._tiles import run_tiles, single_threaded_blas
from ..maps import FeatureMap
from .bin_sums import BinSums
from .mapped_rows import CHUNK_ROWS, as_columns, learn_map, map_for, mapped, refuse_other_features
from .mmd import about_mean
from .result import KernelTestResult, warn_of_few

Matrix = NDArray[np.float64]

METHODS = ("permutation", "wild")
BINS = 128
"""Half the largest number of bins of products, for random signs."""
TOGETHER = 8
"""The number of permutations whose products are computed at once."""
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""The rounding error of a feature and of a sum of products, as a share of their size."""


class HSICTest:
    """Test whether two sets of columns are independent, with rows in batches, in linear time and memory.

    Parameters
    ----------
    kernel_x : Kernel, str, callable, FeatureMap or None, default=None
        The kernel for X, or a map. :class:`mercer.Nystrom` with landmarks by "rpcholesky" computes the features of a
        kernel. None means ``Gaussian("median")``.
    kernel_y : Kernel, str, callable, FeatureMap or None, default=None
        The kernel for Y, or a map.
    n_components : int, default=64
        The number of landmarks for each.
    n_permutations : int, default=199
        The number of permutations with which the statistic is compared.
    method : {"permutation", "wild"}, default="permutation"
        Whether the statistic is compared with those of permuted rows, or of rows with random signs; see Notes.
    random_state : int, Generator, RandomState or None, default=None
        The seed of landmarks and permutations.
    n_jobs : int or None, default=None
        The number of threads.

    Attributes
    ----------
    map_x_ : FeatureMap
        The fitted map for X.
    map_y_ : FeatureMap
        The fitted map for Y.

    Notes
    -----
    The statistic is the squared norm of the covariance between the features of X and those of Y, which estimates the
    Hilbert-Schmidt independence criterion.

    With ``method="permutation"``, rows of Y are permuted within every 1,024 consecutive rows, and one covariance is
    kept for each permutation. These are also permutations of all rows, so the level is exact. Since covariances add up,
    rows can arrive in batches and parts can be merged. The time is that of a product of D x D' numbers for every row
    and permutation.

    ``method="wild"`` keeps sums of products in at most 256 bins of consecutive rows, which are given random signs. This
    takes the time of a single product. It keeps the level if there are many rows (at least a few hundred), also for
    rows that depend on the rows shortly before them. There is a warning if there are fewer than 32.

    What is learned from X does not depend on Y, and vice versa. Columns are used in their own units.

    References
    ----------
    Gretton et al., A kernel statistical test of independence, NIPS 2007.
    Chwialkowski, Sejdinovic and Gretton, A wild bootstrap for degenerate kernel tests, NIPS 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats import HSICTest
    >>> rng = np.random.default_rng(0)
    >>> test = HSICTest(random_state=0)
    >>> for _ in range(10):
    ...     angle = rng.uniform(0, 2 * np.pi, size=100)
    ...     noise = 0.3 * rng.normal(size=(2, 100))
    ...     test = test.update(np.cos(angle) + noise[0], np.sin(angle) + noise[1])
    >>> test.result().pvalue
    0.005
    """

    def __init__(
        self,
        kernel_x: Any = None,
        kernel_y: Any = None,
        *,
        n_components: int = 64,
        n_permutations: int = 199,
        method: str = "permutation",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        for name, value in (("n_components", n_components), ("n_permutations", n_permutations)):
            check_whole(name, value)
        check_choice("method", method, METHODS)
        check_jobs(n_jobs)
        self.kernel_x = kernel_x
        self.kernel_y = kernel_y
        self.n_components = n_components
        self.n_permutations = n_permutations
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs
        self._seed = as_seed(random_state)

    def prepare(self, X: Any, Y: Any) -> Self:
        """Learn bandwidths and landmarks from rows, which are not tested; all previous rows are discarded.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples,) or (n_samples, n_features)
            Rows of the first set of columns.
        Y : array-like or data frame of shape (n_samples,) or (n_samples, n_features)
            Rows of the second set of columns.

        Returns
        -------
        HSICTest
            The test itself.
        """
        maps, means = [], []
        for kernel, rows in ((self.kernel_x, X), (self.kernel_y, Y)):
            chosen = map_for(kernel, self.n_components, self.n_jobs)
            means.append(learn_map(chosen, [as_columns(rows)], self._seed))
            maps.append(chosen)
        self.map_x_: FeatureMap = maps[0]
        self.map_y_: FeatureMap = maps[1]
        self._means = means
        self._begin()
        return self

    def _begin(self) -> None:
        """Discard all rows."""
        widths = [map.n_components_ for map in (self.map_x_, self.map_y_)]
        self._rows = self._chunks = 0
        self._waiting = [np.zeros((0, width)) for width in widths]
        self._totals = [np.zeros(width) for width in widths]
        self._squares = np.zeros(2)
        # The first entry belongs to the unpermuted rows.
        kept = 1 + self.n_permutations if self.method == "permutation" else 0
        self._products = np.zeros((kept, *widths))
        self._bins = BinSums((widths[0] + 1) * (widths[1] + 1), BINS)

    def fresh(self) -> Self:
        """Return a copy of this prepared test without rows, for another part of the rows, to be merged later.

        Returns
        -------
        HSICTest
            A copy.
        """
        self._check_prepared()
        other = type(self)(
            self.kernel_x,
            self.kernel_y,
            n_components=self.n_components,
            n_permutations=self.n_permutations,
            method=self.method,
            random_state=self._seed,
            n_jobs=self.n_jobs,
        )
        other.map_x_, other.map_y_, other._means = self.map_x_, self.map_y_, self._means
        other._begin()
        return other

    def update(self, X: Any, Y: Any) -> Self:
        """Add rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples,) or (n_samples, n_features)
            Rows of the first set of columns.
        Y : array-like or data frame of shape (n_samples,) or (n_samples, n_features)
            The same rows of the second set of columns.

        Returns
        -------
        HSICTest
            The test itself.
        """
        X, Y = as_columns(X), as_columns(Y)
        counts = [rows.shape[0] if hasattr(rows, "shape") else len(rows) for rows in (X, Y)]
        if counts[0] != counts[1]:
            raise ValueError(f"X and Y must have the same number of rows, found {counts[0]} and {counts[1]}")
        if not hasattr(self, "map_x_"):
            self.prepare(X, Y)
        with single_threaded_blas():
            for U, V in zip(mapped(self.map_x_, X), mapped(self.map_y_, Y), strict=True):
                self._add(*(Z - mean.astype(Z.dtype) for Z, mean in zip((U, V), self._means, strict=True)))
        return self

    def _add(self, U: NDArray[Any], V: NDArray[Any]) -> None:
        """Add the features of some rows, centred about means of some rows so that no digits are lost."""
        for total, Z in zip(self._totals, (U, V), strict=True):
            total += Z.sum(axis=0, dtype=np.float64)
        self._squares += [np.einsum("ij,ij->", Z, Z, dtype=np.float64) for Z in (U, V)]
        self._rows += len(U)
        if self.method == "wild":
            pair = [np.concatenate([Z, np.ones((len(Z), 1), dtype=Z.dtype)], axis=1) for Z in (U, V)]
            self._bins.add(len(U), binned_products(*pair))
            return
        if len(self._waiting[0]):
            U, V = (np.concatenate([old, Z]) for old, Z in zip(self._waiting, (U, V), strict=True))
        full = len(U) - len(U) % CHUNK_ROWS
        for first in range(0, full, CHUNK_ROWS):
            rows = slice(first, first + CHUNK_ROWS)
            self._permute(U[rows], V[rows], self._products)
            self._chunks += 1
        self._waiting = [U[full:], V[full:]]

    def _permute(self, U: NDArray[Any], V: NDArray[Any], products: Matrix) -> None:
        """Add the products of a chunk of rows, unpermuted and permuted."""
        orders = Stream(self._seed, "HSICTest", self._chunks).orders(self.n_permutations, len(U))
        orders = np.concatenate([np.arange(len(U))[None, :], orders])

        def multiply(part: slice) -> None:
            products[part] += np.matmul(U.T, V[orders[part]])

        run_tiles(multiply, len(orders), TOGETHER, self.n_jobs)

    def merge(self, other: HSICTest) -> Self:
        """Add the rows of another test with the same features, permutations and method.

        Parameters
        ----------
        other : HSICTest
            A test that started as ``fresh()``, or was prepared with the same seed and rows.

        Returns
        -------
        HSICTest
            The test itself.
        """
        self._check_prepared()
        other._check_prepared()
        refuse_other_features(self.map_x_, other.map_x_)
        refuse_other_features(self.map_y_, other.map_y_)
        ours, theirs = ((test.method, test.n_permutations) for test in (self, other))
        if ours != theirs:
            raise ValueError(f"both tests must have the same method and permutations, found {ours} and {theirs}")
        for total, more in zip(self._totals, other._totals, strict=True):
            total += more
        self._squares += other._squares
        self._rows += other._rows
        self._bins.merge(other._bins)
        self._products += other._products
        self._chunks += other._chunks
        if self.method == "permutation":
            waiting = [np.concatenate(pair) for pair in zip(self._waiting, other._waiting, strict=True)]
            if len(waiting[0]) > CHUNK_ROWS:  # a single chunk that is slightly longer
                self._permute(waiting[0], waiting[1], self._products)
                self._chunks += 1
                waiting = [Z[:0] for Z in waiting]
            self._waiting = waiting
        return self

    def result(self) -> KernelTestResult:
        """Test the rows added so far.

        Returns
        -------
        KernelTestResult
            The statistic, the p-value, and the statistics of the permutations.
        """
        self._check_prepared()
        if self._rows < 4:
            raise ValueError(f"expected at least 4 rows, found {self._rows}")
        if self.method == "wild":
            warn_of_few(self._rows, "use method='permutation'")
        with single_threaded_blas():
            norms = self._permuted() if self.method == "permutation" else self._signed()
        return KernelTestResult.of(norms[0], norms[1:], self.method, self._noise)

    @property
    def _noise(self) -> float:
        """The rounding error of the norm of a covariance.

        Features are rounded before their mean is subtracted: those of equal rows may differ from it by that much.
        """
        x, y = (float(np.linalg.norm(mean)) for mean in self._means)
        u, v = np.sqrt(self._squares / self._rows).tolist()
        return ROUNDING * (x * v + u * y + u * v)

    def _permuted(self) -> Matrix:
        """Return the squared norms of covariances of the unpermuted and the permuted rows."""
        n, products = self._rows, self._products
        if len(self._waiting[0]):
            products = products.copy()
            self._permute(self._waiting[0], self._waiting[1], products)
        by_means = np.outer(*self._totals) / n
        return np.array([float(((one - by_means) ** 2).sum()) for one in products]) / n**2

    def _signed(self) -> Matrix:
        """Return the squared norms for the rows themselves, and for bins with random signs."""
        n, widths = self._rows, [len(total) for total in self._totals]
        bins, counts = self._bins.parts()
        parts = bins.reshape(len(bins), widths[0] + 1, widths[1] + 1)
        mean_x, mean_y = (total / n for total in self._totals)
        products = parts[:, :-1, :-1] - parts[:, :-1, -1:] * mean_y - mean_x[:, None] * parts[:, -1:, :-1]
        products = products + counts[:, None, None] * np.outer(mean_x, mean_y)
        observed = products.sum(axis=0)
        centred = about_mean(products.reshape(len(bins), -1), counts)
        signs = Stream(self._seed, "HSICTest", "signs").signs((self.n_permutations, len(bins)))
        turned = signs.astype(np.float64) @ centred
        return np.concatenate([[(observed**2).sum()], (turned * turned).sum(axis=1)]) / n**2

    def _check_prepared(self) -> None:
        if not hasattr(self, "map_x_"):
            raise ValueError("the test has no rows yet: call update or prepare first")


def binned_products(U: NDArray[Any], V: NDArray[Any]) -> Any:
    """Return a function that gives the sums of products of features over bins, for :class:`BinSums`."""

    def summed(first: int, count: int, size: int) -> Matrix:
        left, right = (Z[first : first + count * size].reshape(count, size, -1) for Z in (U, V))
        return np.matmul(left.transpose(0, 2, 1), right).reshape(count, -1).astype(np.float64)

    return summed


def hsic_test(
    X: Any,
    Y: Any,
    kernel_x: Any = None,
    kernel_y: Any = None,
    *,
    n_components: int = 64,
    n_permutations: int = 199,
    method: str = "permutation",
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> KernelTestResult:
    """Test whether two sets of columns are independent, by the Hilbert-Schmidt independence criterion.

    This is :class:`HSICTest` on all rows at once.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples,) or (n_samples, n_features)
        The first set of columns.
    Y : array-like or data frame of shape (n_samples,) or (n_samples, n_features)
        The second set of columns, for the same rows.
    kernel_x : Kernel, str, callable, FeatureMap or None, default=None
        The kernel for X, or a map. None means ``Gaussian("median")``.
    kernel_y : Kernel, str, callable, FeatureMap or None, default=None
        The kernel for Y, or a map.
    n_components : int, default=64
        The number of landmarks for each.
    n_permutations : int, default=199
        The number of permutations with which the statistic is compared.
    method : {"permutation", "wild"}, default="permutation"
        The method; see :class:`HSICTest`.
    random_state : int, Generator, RandomState or None, default=None
        The seed of landmarks and permutations.
    n_jobs : int or None, default=None
        The number of threads.

    Returns
    -------
    KernelTestResult
        The statistic, the p-value, and the statistics of the permutations.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats import hsic_test
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 1000))
    >>> hsic_test(x, noise, random_state=0).pvalue > 0.05, hsic_test(x, x**2 + noise, random_state=0).pvalue
    (True, 0.005)
    """
    test = HSICTest(
        kernel_x,
        kernel_y,
        n_components=n_components,
        n_permutations=n_permutations,
        method=method,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    return test.update(X, Y).result()
