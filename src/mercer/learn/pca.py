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
"""To which kernel values are taken to be known, at least: sums of them are turned by the inverse of their factor twice,
which multiplies the rounding of sums by one over this, while directions below it are lost.
"""
TURNED_PRECISION = float(np.finfo(np.float64).eps) / LEAST_PRECISION
"""That of sums that were turned."""
ACROSS = 1e-8
"""A vector whose product with another is below this share of its length is across it."""


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):
    r"""Principal components with a kernel, from one pass over the rows.

    For pictures of data and for few numbers that keep most of a kernel's variance. The components of a row are
    :math:`V^\top (z - \bar z)` with V the eigenvectors of :math:`\sum_i (z_i - \bar z)(z_i - \bar z)^\top` of largest
    eigenvalues. Of :class:`mercer.Nystrom` with 512 landmarks or more, fewer than rows, no whitened features are made:
    sums are of plain kernel values, which are turned once. With a map that is exact, as "auto" takes where there are no
    more rows than ``n_components``, they are those of scikit-learn's KernelPCA.

    Parameters
    ----------
    kernel : Kernel, str, callable or None, default=None
        The kernel whose features are learned on: a kernel of :mod:`mercer.kernels`, text that describes one such as
        ``"gaussian(0.5)"``, a function of two rows, or "precomputed". None is ``Gaussian("scale")``. With
        "precomputed", ``fit`` takes the square kernel matrix in place of rows, and predictions take the values of new
        rows against those of ``fit``, of which only the columns ``map_.component_indices_`` are read. A function and
        "precomputed" need :class:`mercer.Nystrom`, which "auto" takes.
    n_components : int or None, default=None
        The number of features of the map, its width D; None is 1024. More features approximate the kernel better
        and take more time.
    map : str or FeatureMap, default="auto"
        The map that makes the features: "auto", the name of a map such as "RandomFourier", or a FeatureMap, which
        brings its own kernel, width and seed. "auto" takes the rules of :func:`mercer.feature_map`, or
        :class:`mercer.Nystrom` on all rows, which is exact, where no more than ``n_components`` of them differ.
    n_directions : int, default=2
        How many principal components to compute; fewer are given where the features span fewer.
    scale : {"auto", "standard", "common", "unit", "minmax"} or None, default="auto"
        How rows are scaled before the map: columns of mean 0 and variance 1, all columns by the same factor, rows of
        norm 1, columns from 0 to 1, or as they are. "auto" is what suits the rows, by what they look like, and then
        also tames heavy tails, pools rare levels and drops constant columns; it is None for a kernel that is given with
        its bandwidths. Zeros of sparse rows stay zeros, and where columns have more than 512 levels in all, so do those
        of levels that fewer than one row in 32 has.
    missing : {"auto", "error", "mean", "indicator"}, default="auto"
        Whether missing values are refused, or filled with the mean of their column; "indicator" adds a column that
        tells where they were. The mean of a column of levels is the share of each, or of those alone whose zeros do not
        stay zeros, as above. "auto" is "indicator", and warns of gaps in columns that had none in ``fit``.
    unknown : {"error", "ignore"}, default="error"
        Whether a level that was not seen in ``fit`` is refused, or encoded as none of the known ones.
    dates : {"number", "parts"}, default="number"
        How dates in frames and files become numbers: "number" is the days since 1970-01-01, midnight UTC, with a
        fraction for the time of day; "parts" adds the year, month (1 to 12), day of the month, weekday (Monday is 0)
        and hour. Durations and times of day are numbers of days either way.
    random_state : int, Generator, RandomState or None, default=None
        The seed of the map. Equal integers give equal models.
    n_jobs : int or None, default=None
        The number of threads; None is as many as BLAS may use, -1 one per core.
    callback : callable or None, default=None
        Called with a :class:`mercer.learn.Progress` after every block of rows, in every pass, and once when the
        coefficients are found. If it raises an error, ``fit`` ends with that error and nothing is fitted.

    Attributes
    ----------
    directions_ : ndarray of shape (n_directions, D)
        The directions among the features, each with the sign that turns it towards ``mean_``. Where ``map_`` has
        ``whiten=False`` its features are plain kernel values, and directions are coefficients of these; those whose
        eigenvalues are below 1e-5 of the largest are then left out, where rounding would reach them.
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
        The column of the targets in the table that the rows came from: its name, or its number where columns have none.
    weight_name_ : str, int or None
        The column of the weights in that table.
    first_rows_ : tuple of str
        Fingerprints of the first rows of that table, by which they are known again.
    n_features_in_ : int
        The number of columns that ``fit`` has seen.
    feature_names_in_ : ndarray of str
        Their names, where all of them are text.

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
        """Learn from rows.

        Parameters
        ----------
        X : dense or CSR matrix, pandas or polars frame, or a table (:func:`mercer.data.open`)
        y : ignored
        sample_weight : array of shape (n_rows,) or None
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
        # Sums, the same about the mean, and what their decomposition works on; beside them the factor of landmarks.
        if has_many_landmarks(expected_map(self, extent.n_rows), extent.n_rows, extent.width):
            return extent.sums(copies=4, exact=True) + 8 * extent.square
        return extent.sums(copies=4)

    @lazily
    def transform(self, X: Any) -> NDArray[Any]:
        """The principal components of rows.

        Parameters
        ----------
        X : dense or CSR matrix, pandas or polars frame, or a table
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
    """At most ``count`` eigenpairs, largest first, leaving out values up to ``rounding``; at least one."""
    width = len(gram)
    values, vectors = scipy.linalg.eigh(gram, subset_by_index=[max(0, width - count), width - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = max(1, int(np.count_nonzero(values > rounding)))
    return np.maximum(values[:kept], 0.0), vectors[:, :kept]


def signs_towards(mean: Matrix, vectors: Matrix) -> Matrix:
    """The signs that turn vectors towards the mean of the features, or make their largest entry positive.

    The first does not depend on the coordinates of the features; the second is for vectors across the mean.
    """
    along = mean @ vectors
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None, :], axis=0)[0]
    clear = np.abs(along) > ACROSS * np.linalg.norm(mean)
    return np.where(np.where(clear, along, largest) < 0.0, -1.0, 1.0)
