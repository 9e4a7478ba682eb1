"""KernelPCA: the directions of largest variance among features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from .._checks import check_whole
from .._random import RandomState
from .._tiles import single_threaded_blas
from ..data import Table
from ..maps import FeatureMap
from ..maps.array_layouts import floats
from ..scale import lazily
from .argument_types import KernelArgument, MapArgument, WeightArgument
from .context import FitContext
from .estimates.memory_estimates import Extent, check_after, known_width
from .estimates.time_forecast import DECOMPOSITION, Work, sums_work
from .features.prepared_rows import Chunk
from .fitting.placement import landmark_root
from .machine import KernelMachine
from .map_choice import expected_map
from .passes.progress import Progress
from .solvers.choice import has_many_landmarks
from .statistics import Moments

Matrix = NDArray[np.float64]

LEAST_PRECISION = 1e-10
"""The assumed relative precision of kernel values. Sums of them are multiplied twice by the inverse of their factor,
which multiplies the rounding errors of sums by one over this value, while directions below it are lost.
"""
TURNED_PRECISION = float(np.finfo(np.float64).eps) / LEAST_PRECISION
"""The relative precision of sums after this multiplication."""
ACROSS = 1e-8
"""A vector whose product with another is below this share of its length counts as orthogonal to it."""


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):
    r"""Principal component analysis with a kernel, in one pass over the rows.

    Use it for pictures of data, and for a few numbers that keep most of a kernel's variance. With a map that is exact,
    as "auto" uses for at most ``n_components`` rows, the components are those of scikit-learn's KernelPCA.

    Parameters
    ----------
    kernel : Kernel, str, callable or None, default=None
        The kernel: a kernel of :mod:`mercer.kernels`, text that describes one such as ``"gaussian(0.5)"``, a function
        of two rows, or "precomputed". None means ``Gaussian("scale")``. With "precomputed", ``fit`` expects the square
        kernel matrix in place of rows, and predictions expect the kernel values of new rows against the training rows,
        of which only the columns ``map_.component_indices_`` are used. A function and "precomputed" require
        :class:`mercer.Nystrom`, which "auto" uses.
    n_components : int or None, default=None
        The number of features of the map, D. More features approximate the kernel better and take more time. None means
        1024.
    map : str or FeatureMap, default="auto"
        The map that computes the features: "auto", the name of a map such as "RandomFourier", or a FeatureMap, which
        has its own kernel, width and seed. "auto" uses the rules of :func:`mercer.feature_map`, or
        :class:`mercer.Nystrom` with all rows as landmarks, which is exact, if at most ``n_components`` rows are
        distinct.
    n_directions : int, default=2
        The number of principal components to compute. There are fewer if the features span fewer dimensions.
    scale : {"auto", "standard", "common", "unit", "minmax"} or None, default="auto"
        How rows are scaled before the map: columns to mean 0 and variance 1 ("standard"), all columns by the same
        factor ("common"), rows to norm 1 ("unit"), columns to the range from 0 to 1 ("minmax"), or not at all (None).
        "auto" chooses by the values in the rows, and then also tames heavy tails, pools rare levels and drops constant
        columns; for a kernel that is given with its bandwidths it means None. Zeros of sparse rows stay zeros. If
        columns have more than 512 levels in total, so do the zeros of levels that fewer than one row in 32 has.
    missing : {"auto", "error", "mean", "indicator"}, default="auto"
        What is done about missing values: "error" refuses them, "mean" fills them with the mean of their column, and
        "indicator" also adds a column that marks them. In a column of levels the fill value is the frequency of each
        level, or only of levels whose zeros do not stay zeros (see ``scale``). "auto" is "indicator", with a warning
        about missing values in columns that had none in ``fit``.
    unknown : {"error", "ignore"}, default="error"
        Whether a level that ``fit`` has not seen is refused, or treated as none of the known levels.
    dates : {"number", "parts"}, default="number"
        How dates in data frames and files become numbers: "number" is the number of days since 1970-01-01, midnight
        UTC, with a fraction for the time of day; "parts" adds the year, month (1 to 12), day of the month, weekday
        (Monday is 0) and hour. Durations and times of day become numbers of days in both cases.
    random_state : int, Generator, RandomState or None, default=None
        The seed of the map. Equal integers give equal models.
    n_jobs : int or None, default=None
        The number of threads. None means as many as BLAS may use, -1 one per core.
    callback : callable or None, default=None
        A function that is called with a :class:`mercer.learn.Progress` after every block of rows, in every pass, and
        once when the coefficients are known. If it raises an error, ``fit`` ends with that error and nothing is fitted.

    Attributes
    ----------
    directions_ : ndarray of shape (n_directions, D)
        The directions among the features, each with the sign that turns it towards ``mean_``. If ``map_`` has
        ``whiten=False``, its features are plain kernel values, and directions are coefficients for these; directions
        whose eigenvalues are below 1e-5 of the largest are then left out, because rounding errors would dominate them.
    mean_ : ndarray of shape (D,)
        The mean of the features.
    eigenvalues_ : ndarray of shape (n_directions,)
        The sums of squares of the components over the rows of ``fit``, largest first.
    explained_ratio_ : ndarray of shape (n_directions,)
        Their shares of the variance of all features.
    map_ : FeatureMap
        The fitted map.
    preparation_ : Preparation
        What was learned about the columns: their levels, means and scales.
    target_name_ : str, int, tuple of str or None
        The column of the targets in the table from which the rows came: its name, or its number if columns have no
        names.
    weight_name_ : str, int or None
        The column of the weights in that table.
    first_rows_ : tuple of str
        Fingerprints of the first rows of that table, by which they are recognised.
    n_features_in_ : int
        The number of columns that ``fit`` has seen.
    feature_names_in_ : ndarray of str
        Their names, if all of them are text.

    Notes
    -----
    The components of a row are :math:`V^\top (z - \bar z)`, where V contains the eigenvectors of :math:`\sum_i (z_i -
    \bar z)(z_i - \bar z)^\top` with the largest eigenvalues. With :class:`mercer.Nystrom` and at least 512 landmarks,
    but fewer than rows, no whitened features are computed: plain kernel values are summed, and the sums are whitened
    once.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(1000, 5))
    >>> KernelPCA(n_components=128, n_directions=3, random_state=0).fit_transform(X).shape
    (1000, 3)
    """

    _set_last = "directions_"

    def __init__(
        self,
        kernel: KernelArgument = None,
        *,
        n_components: int | None = None,
        map: MapArgument = "auto",
        n_directions: int = 2,
        scale: str | None = "auto",
        missing: str = "auto",
        unknown: str = "error",
        dates: str = "number",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        callback: Callable[[Progress], None] | None = None,
    ):
        super().__init__(
            kernel,
            n_components=n_components,
            map=map,
            scale=scale,
            missing=missing,
            unknown=unknown,
            dates=dates,
            random_state=random_state,
            n_jobs=n_jobs,
            callback=callback,
        )
        self.n_directions = n_directions

    def fit(self, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> Self:
        """Fit principal components to rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : None
            Ignored; present because scikit-learn's pipelines pass it.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights of the rows. A row of weight 2 counts as two rows.

        Returns
        -------
        KernelPCA
            The fitted learner itself.
        """
        return self.fit_table(self.table_to_fit(X, y, sample_weight), FitContext())

    def fit_table(self, table: Table, context: FitContext) -> Self:
        rows = self._start(table, exact=True, passes=self._begin_fit(table, context))
        width = self.map_.n_components_
        rows.passes.report.expect(self._expected(rows.n_rows, width))
        check_after(self, Extent(width, rows.n_rows, itemsize=rows.dtype.itemsize, n_jobs=self.n_jobs), context.memory)
        plain = has_many_landmarks(self.map_, rows.n_rows, known_width(self))
        eps = float(np.finfo(rows.dtype).eps)

        def part(Z: NDArray[Any], chunk: Chunk) -> Moments:
            return Moments.of(Z, np.zeros((len(Z), 0)), chunk.weight, exact=plain)

        moments = Moments(*self._summed(part, rows, 8 * width * width, "sums"))
        mean, root = moments.features / moments.weight[0], None
        if plain:
            root = landmark_root(self.map_, max(LEAST_PRECISION, eps), self.n_jobs)
            with single_threaded_blas():
                moments, eps = moments.turned(root.factor.solve), max(TURNED_PRECISION, eps)
        centred = moments.centred(True)
        values, vectors = largest_eigenpairs(centred.gram, int(self.n_directions), moments.rounding(eps))
        vectors = vectors * signs_towards(centred.feature_mean, vectors)
        total = float(np.trace(centred.gram))
        if root is not None:
            with single_threaded_blas():
                vectors = root.coefficients(vectors)
        self._refuse_overflow(values, vectors, mean)
        rows.passes.report.end()
        self.mean_ = mean
        self.eigenvalues_ = values
        self.explained_ratio_ = values / (total if total > 0.0 else 1.0)
        self.directions_ = np.ascontiguousarray(vectors.T)
        return self

    def _to_fit(self, chosen: FeatureMap, n_rows: int) -> FeatureMap:
        many = has_many_landmarks(chosen, n_rows, known_width(self))
        return clone(chosen).set_params(whiten=False) if many else chosen

    def check_arguments(self) -> None:
        super().check_arguments()
        check_whole("n_directions", self.n_directions)

    def _expected(self, n_rows: int, width: int) -> list[Work]:
        return [sums_work(n_rows, width), Work("solution", DECOMPOSITION * float(width) ** 3)]

    def bytes_needed(self, extent: Extent, memory: int | None = None) -> int:
        # Sums, centred sums, workspace of their decomposition, and the factor of landmarks.
        if has_many_landmarks(expected_map(self, extent.n_rows), extent.n_rows, extent.width):
            return extent.sums(copies=4, exact=True) + 8 * extent.square
        return extent.sums(copies=4)

    @lazily
    def transform(self, X: Any) -> NDArray[Any]:
        """Return the principal components of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples, n_directions)
            The components.
        """
        check_is_fitted(self)
        return self.linear_values(X, self.directions_, -(self.directions_ @ self.mean_))

    @property
    def _n_features_out(self) -> int:
        return len(self.directions_)

    def array_layout(self) -> dict[str, Any]:
        width = self.map_.n_components_
        values = {"eigenvalues_": floats(None), "explained_ratio_": floats(None)}
        return {"mean_": floats(width), "directions_": floats(None, width)} | values

    def check_arrays(self) -> None:
        self._refuse_unless(all(hasattr(self, name) for name in self.array_layout()))
        self._refuse_unless(len(self.directions_) == len(self.eigenvalues_) == len(self.explained_ratio_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def largest_eigenpairs(gram: Matrix, count: int, rounding: float) -> tuple[Matrix, Matrix]:
    """Return at most ``count`` eigenpairs, largest first, without values up to ``rounding``; at least one."""
    width = len(gram)
    values, vectors = scipy.linalg.eigh(gram, subset_by_index=[max(0, width - count), width - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = max(1, int(np.count_nonzero(values > rounding)))
    return np.maximum(values[:kept], 0.0), vectors[:, :kept]


def signs_towards(mean: Matrix, vectors: Matrix) -> Matrix:
    """Return the signs that turn vectors towards the mean of the features, or make their largest entry positive.

    The first rule does not depend on the coordinates of the features; the second is for vectors orthogonal to the mean.
    """
    along = mean @ vectors
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None, :], axis=0)[0]
    clear = np.abs(along) > ACROSS * np.linalg.norm(mean)
    return np.where(np.where(clear, along, largest) < 0.0, -1.0, 1.0)
