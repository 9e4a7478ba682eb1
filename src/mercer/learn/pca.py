"""KernelPCA: the directions of largest variance among features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted

from .._array import Array, is_foreign, is_sparse, to_numpy
from .._checks import check_positive, check_truth, check_whole
from .._random import RandomState
from .._tiles import single_threaded_blas
from ..data import Table
from ..gpu.device import Device
from ..gpu.exchange import in_kind_of_rows
from ..maps import FeatureMap
from ..maps.array_layouts import floats
from ..scale import lazily
from .argument_types import KernelArgument, MapArgument, WeightArgument
from .context import FitContext
from .estimates.memory_estimates import Extent, check_after, known_width
from .estimates.time_forecast import DECOMPOSITION, Work, sums_work
from .features.prepared_rows import Chunk, PreparedRows
from .fitting.placement import landmark_root
from .machine import KernelMachine, row_stream
from .map_choice import expected_map
from .passes.fit_tasks import tells_callbacks
from .passes.progress import Progress, Reporter
from .solvers.choice import has_many_landmarks
from .statistics import Moments
from .statistics.feature_sums import feature_sums

Matrix = NDArray[np.float64]

LEAST_PRECISION = 1e-10
"""The assumed relative precision of kernel values; directions below it are lost.

Sums are multiplied twice by the inverse of a factor, which divides their rounding errors by this value.
"""
TURNED_PRECISION = float(np.finfo(np.float64).eps) / LEAST_PRECISION
"""The relative precision of sums after this multiplication."""
ACROSS = 1e-8
"""If the product of two vectors is below this share of their length, they count as orthogonal."""


class RowSums(NamedTuple):
    """Weighted sums over prepared rows x with features z, for pre-images: z x' and x."""

    products: Matrix
    totals: Matrix

    @classmethod
    def of(cls, Z: Array, X: Any, weight: Matrix | None) -> Self:
        """Return the sums over one chunk; the sums of tensors stay on the device."""
        if is_foreign(Z):
            precise = X.double()
            weighted = precise if weight is None else precise * Device.holding(Z).sent(weight)[:, None]
            return cls(Z.T.double() @ weighted, weighted.sum(dim=0))
        precise = X.astype(np.float64)
        weighted = precise if weight is None else precise * weight[:, None]
        return cls(Z.T.astype(np.float64) @ weighted, weighted.sum(axis=0))

    def centred(self, moments: Moments) -> Matrix:
        """Return the centred products."""
        return self.products - np.outer(moments.features, self.totals / float(moments.weight[0]))


def joined(ours: RowSums | None, theirs: RowSums | None) -> RowSums | None:
    """Return the sums over both sets of rows; None if one of them was not kept."""
    if ours is None or theirs is None:
        return None
    return RowSums(ours.products + theirs.products, ours.totals + theirs.totals)


def learns_preimages(machine: KernelPCA) -> bool:
    """Return whether ``fit`` learns pre-images; if not, raise an AttributeError that says how to get them."""
    if machine.fit_inverse_transform:
        return True
    raise AttributeError("inverse_transform needs pre-images: fit with fit_inverse_transform=True")


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):
    r"""Principal component analysis with a kernel, in one pass over the rows.

    Use it to draw pictures of data, or to keep most of a kernel's variance in a few numbers. If the map is exact, as
    with "auto" and at most ``n_components`` rows, the components are the same as those of scikit-learn's KernelPCA.

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
    fit_inverse_transform : bool, default=False
        Whether to learn pre-images too, for :meth:`inverse_transform`; only for dense rows of numbers.
    alpha : float, default=1.0
        The ridge penalty of pre-images.
    keep_statistics : bool, default=False
        Whether to keep the sums of ``fit``, to which :meth:`partial_fit` can add rows.
    scale : {"auto", "standard", "common", "log", "unit", "minmax"} or None, default="auto"
        How rows are scaled before the map: columns to mean 0 and variance 1 ("standard"), all columns by the same
        factor ("common"), the same after asinh in one unit for all columns ("log", a logarithm that keeps 0 and signs,
        for counts and amounts), rows to norm 1 ("unit"), columns to the range from 0 to 1 ("minmax"), or not at all
        (None). "auto" chooses by the values in the rows, and then also tames heavy tails, pools rare levels and drops
        constant columns; for a kernel that is given with its bandwidths it means None. Zeros of sparse rows stay zeros.
        If columns have more than 512 levels in total, so do zeros in the columns of rare levels, found in fewer than
        one row in 32.
    missing : {"auto", "error", "mean", "indicator"}, default="auto"
        How missing values are treated: "error" refuses them, "mean" fills them with the mean of their column, and
        "indicator" also adds a column that marks them. In a column of levels, the frequencies of the levels take the
        place of a missing one, except where zeros stay zeros (see ``scale``). "auto" is "indicator", with a warning
        about missing values in columns that had none in ``fit``.
    unknown : {"auto", "error", "ignore"}, default="auto"
        What to do with a level that ``fit`` has not seen: "error" refuses it, and "ignore" treats it as a rare level if
        the rare levels of its column are pooled, and as none of the known levels otherwise. "auto" is "ignore", with a
        warning in the second case.
    dates : {"number", "parts"}, default="number"
        How dates in data frames and files become numbers: "number" is the number of days since 1970-01-01, midnight
        UTC, with a fraction for the time of day; "parts" adds the year, month (1 to 12), day of the month, weekday
        (Monday is 0) and hour. Durations and times of day become numbers of days in both cases.
    random_state : int, Generator, RandomState or None, default=None
        The seed of the map. Equal integers give equal models.
    n_jobs : int or None, default=None
        The number of threads. None means as many as BLAS may use, -1 one per core.
    device : str or None, default=None
        Where to compute: "cuda", "cuda:1" and so on for a GPU that torch can use (``mercer[gpu]``). None means the CPU,
        unless the rows themselves are tensors on a GPU. The map is the same everywhere, and results agree to the
        precision of the rows. Model files do not contain it. "torch:cpu" runs the code for GPUs on the CPU, for tests.
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
    preimages_ : ndarray of shape (n_directions, n_prepared_columns) or None
        The change of a prepared row for one unit of each component, with ``fit_inverse_transform=True``.
    row_mean_ : ndarray of shape (n_prepared_columns,) or None
        The mean of prepared rows, with ``fit_inverse_transform=True``.
    statistics_ : Moments or None
        The sums over all rows, with ``keep_statistics=True`` or after ``partial_fit``.
    row_sums_ : RowSums or None
        The sums that pre-images need.
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
        fit_inverse_transform: bool = False,
        alpha: float = 1.0,
        keep_statistics: bool = False,
        scale: str | None = "auto",
        missing: str = "auto",
        unknown: str = "auto",
        dates: str = "number",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        device: str | None = None,
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
        self.device = device
        self.n_directions = n_directions
        self.fit_inverse_transform = fit_inverse_transform
        self.alpha = alpha
        self.keep_statistics = keep_statistics

    @tells_callbacks
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
        return self.fit_table(self.table_to_fit(X, y, sample_weight), FitContext(device=Device.of(X)))

    def fit_table(self, table: Table, context: FitContext) -> Self:
        rows = self._start(table, exact=True, passes=self._begin_fit(table, context))
        moments, row_sums = self._sums(rows)
        self._solve(moments, row_sums, float(np.finfo(rows.dtype).eps), rows.passes.report, rows.passes.device)
        self.statistics_ = moments if self.keep_statistics else None
        self.row_sums_ = row_sums if self.keep_statistics else None
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> Self:
        """Learn from more rows.

        Scales, bandwidths and the map come from the first batch, or from a ``fit`` with ``keep_statistics=True``. What
        a ``fit`` without it has learned is discarded.

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
        held, held_rows = getattr(self, "statistics_", None), getattr(self, "row_sums_", None)
        if held is None:
            table = self.table_to_fit(X, y, sample_weight)
            rows = self._start(table, exact=False, passes=self._begin_fit(table, FitContext(device=Device.of(X))))
        else:
            self.check_arguments()
            table = self._labelled(X, y, sample_weight, reset=False)
            passes = self._begin(table, FitContext(device=Device.of(X)))
            rows = PreparedRows(table, self.preparation_, row_stream(self.map_.seed_), passes)
        moments, row_sums = self._sums(rows)
        eps = float(np.finfo(rows.dtype).eps)
        if held is not None:
            moments, eps = held.plus(moments), max(eps, self._precision)
            row_sums = joined(held_rows, row_sums)
        self._solve(moments, row_sums, eps, rows.passes.report, rows.passes.device)
        self.statistics_, self.row_sums_ = moments, row_sums
        return self

    def merge(self, other: Self) -> Self:
        """Learn what another learner with the same map and preparation has learned from its own rows.

        Parameters
        ----------
        other : KernelPCA
            The other learner, with its sums, which ``partial_fit`` and ``keep_statistics=True`` keep.

        Returns
        -------
        KernelPCA
            The learner itself.
        """
        if not isinstance(other, KernelPCA):
            raise TypeError(f"expected another KernelPCA to merge with, found {type(other).__name__}")
        for one in (self, other):
            check_is_fitted(one)
        ours, theirs = self.statistics_, other.statistics_
        if ours is None or theirs is None:
            raise ValueError("there are no sums to merge: give keep_statistics=True, or use partial_fit")
        difference = self._difference(other)
        if difference is not None:
            raise ValueError(f"learners with different features cannot be merged: {difference}")
        moments, row_sums = ours.plus(theirs), joined(self.row_sums_, other.row_sums_)
        self._solve(moments, row_sums, max(self._precision, other._precision), None)
        self.statistics_, self.row_sums_ = moments, row_sums
        return self

    @property
    def _is_plain(self) -> bool:
        """Whether features are plain kernel values at many landmarks, whose sums are whitened at the end."""
        return (
            has_many_landmarks(self.map_, np.iinfo(np.int64).max, known_width(self)) and self.map_.gives_kernel_values
        )

    def _sums(self, rows: PreparedRows) -> tuple[Moments, RowSums | None]:
        """Return the sums over rows, and the sums that pre-images need."""
        width, exact, inverse = self.map_.n_components_, self._is_plain, bool(self.fit_inverse_transform)
        rows.passes.report.expect(self._expected(rows.n_rows, width))
        check_after(
            self,
            Extent(width, rows.n_rows, itemsize=rows.dtype.itemsize, n_jobs=self.n_jobs),
            rows.passes.context.memory,
        )
        if inverse:
            self._check_rows_have_preimages(rows)

        def part(Z: NDArray[Any], chunk: Chunk) -> tuple[Any, ...]:
            moments = Moments.of(Z, np.zeros((len(Z), 0)), chunk.weight, exact=exact)
            return (*moments, *RowSums.of(Z, chunk.X, chunk.weight)) if inverse else moments

        found = feature_sums(self, part, rows, 8 * width * (width + (rows.n_features if inverse else 0)), "sums")
        count = len(Moments._fields)
        return Moments(*found[:count]), RowSums(*found[count:]) if inverse else None

    def _check_rows_have_preimages(self, rows: PreparedRows) -> None:
        columns = self.preparation_.columns or ()
        odd = next((column for column in columns if column.holds != "numbers"), None)
        if odd is not None:
            raise ValueError(
                f"fit_inverse_transform=True is for columns of numbers, found {odd.holds} in column {odd.name!r}"
            )
        if self._is_pairwise or is_sparse(next(iter(rows.chunks(1))).X):
            found = "kernel values" if self._is_pairwise else "sparse rows"
            raise ValueError(f"fit_inverse_transform=True is for dense rows of numbers, found {found}")

    def _solve(
        self,
        moments: Moments,
        row_sums: RowSums | None,
        eps: float,
        report: Reporter | None,
        device: Device | None = None,
    ) -> None:
        """Set components, and pre-images if their sums were kept."""
        mean, root, precision = moments.features / moments.weight[0], None, eps
        cross = None if row_sums is None else row_sums.centred(moments)
        if self._is_plain:
            root = landmark_root(self.map_, max(LEAST_PRECISION, eps), self.n_jobs)
            with single_threaded_blas():
                moments, eps = moments.turned(root.factor.solve), max(TURNED_PRECISION, eps)
                cross = None if cross is None else root.factor.solve(cross)
        centred = moments.centred(True)
        values, vectors = largest_eigenpairs(centred.gram, int(self.n_directions), moments.rounding(eps), device)
        vectors = vectors * signs_towards(centred.feature_mean, vectors)
        total = float(np.trace(centred.gram))
        # Ridge of the rows on all features has these coefficients along the directions, which are eigenvectors.
        preimages = None if cross is None else (vectors.T @ cross) / (values + float(self.alpha))[:, None]
        if root is not None:
            with single_threaded_blas():
                vectors = root.coefficients(vectors)
        self._refuse_overflow(values, vectors, mean, *([] if preimages is None else [preimages]))
        if report is not None:
            report.end()
        self._precision = precision
        self.mean_ = mean
        self.eigenvalues_ = values
        self.explained_ratio_ = values / (total if total > 0.0 else 1.0)
        self.preimages_ = preimages
        self.row_mean_ = None if row_sums is None else row_sums.totals / float(moments.weight[0])
        self.directions_ = np.ascontiguousarray(vectors.T)

    def _to_fit(self, chosen: FeatureMap, n_rows: int) -> FeatureMap:
        many = has_many_landmarks(chosen, n_rows, known_width(self))
        return clone(chosen).set_params(whiten=False) if many else chosen

    def check_arguments(self) -> None:
        super().check_arguments()
        check_whole("n_directions", self.n_directions)
        check_positive("alpha", self.alpha)
        for name in ("fit_inverse_transform", "keep_statistics"):
            check_truth(name, getattr(self, name))

    def _expected(self, n_rows: int, width: int) -> list[Work]:
        return [sums_work(n_rows, width), Work("solution", DECOMPOSITION * float(width) ** 3)]

    def bytes_needed(self, extent: Extent, memory: int | None = None) -> int:
        # Sums, centred sums, workspace of their decomposition, and the factor of landmarks.
        if has_many_landmarks(expected_map(self, extent.n_rows), extent.n_rows, extent.width):
            return extent.sums(copies=4, exact=True) + 8 * extent.square
        return extent.sums(copies=4)

    @lazily
    @in_kind_of_rows
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

    @available_if(learns_preimages)
    @in_kind_of_rows
    def inverse_transform(self, X: Any) -> NDArray[np.float64]:
        r"""Return rows that approximately have these components: their pre-images.

        They are the ridge regression of rows on features, along the directions: with eigenvalues :math:`\lambda`,
        components c and the directions V, :math:`\bar x + \sum_j c_j (\lambda_j + \alpha)^{-1} V_j^\top \sum_i (z_i -
        \bar z)(x_i - \bar x)^\top`, and the preparation of the columns is then reversed. They need no pass over the
        rows other than the one of ``fit``, and can be learned in batches and merged. Pre-images are linear in the
        components, so with few directions they are coarser than the pre-images of scikit-learn, which trains a second
        kernel machine on the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_directions)
            Components, as ``transform`` returns them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The rows. With ``scale="unit"`` their norms are about 1.
        """
        check_is_fitted(self)
        if self.preimages_ is None or self.row_mean_ is None:
            raise ValueError("pre-images were not learned: fit again with fit_inverse_transform=True")
        components = check_array(to_numpy(X), dtype=np.float64, input_name="X")
        if components.shape[1] != len(self.directions_):
            raise ValueError(f"expected {len(self.directions_)} components, found {components.shape[1]} columns")
        return self.preparation_.undone(components @ self.preimages_ + self.row_mean_, int(self.n_features_in_))

    @property
    def _n_features_out(self) -> int:
        return len(self.directions_)

    learned_types: ClassVar[dict[str, Any]] = {"_precision": float}

    def array_layout(self) -> dict[str, Any]:
        width = self.map_.n_components_
        sums = ((width, width), (width, 0), (0, 0), (width,), (0,), (1,), (1,))
        return {
            "mean_": floats(width),
            "directions_": floats(None, width),
            "eigenvalues_": floats(None),
            "explained_ratio_": floats(None),
            "preimages_": floats(None, None),
            "row_mean_": floats(None),
            "statistics_": Moments(*(floats(*shape) for shape in sums)),
            "row_sums_": RowSums(floats(width, None), floats(None)),
        }

    def check_arrays(self) -> None:
        for name in ("preimages_", "row_mean_", "statistics_", "row_sums_"):
            self.__dict__.setdefault(name, None)
        self._refuse_unless(all(hasattr(self, name) for name in self.array_layout()))
        self._refuse_unless(len(self.directions_) == len(self.eigenvalues_) == len(self.explained_ratio_))
        self._refuse_unless((self.preimages_ is None) == (self.row_mean_ is None))
        if self.preimages_ is not None and self.row_mean_ is not None:
            shape = len(self.directions_), len(self.row_mean_)
            width = self.preparation_.width(int(self.n_features_in_))
            self._refuse_unless(self.preimages_.shape == shape and shape[1] == width)
        if self.statistics_ is not None:
            self._refuse_unless(self.statistics_.weight[0] > 0.0 and hasattr(self, "_precision"))
            self._refuse_unless((self.row_sums_ is None) == (self.preimages_ is None))
        if self.row_sums_ is not None and self.row_mean_ is not None:
            columns = len(self.row_mean_)
            self._refuse_unless(self.row_sums_.products.shape[1] == len(self.row_sums_.totals) == columns)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def largest_eigenpairs(
    gram: Matrix, count: int, rounding: float, device: Device | None = None
) -> tuple[Matrix, Matrix]:
    """Return at most ``count`` eigenpairs, largest first, without values up to ``rounding``; at least one."""
    width = len(gram)
    least = max(0, width - count)
    if device is None:
        values, vectors = scipy.linalg.eigh(gram, subset_by_index=[least, width - 1])
    else:
        values, vectors = device.eigh(gram)
        values, vectors = values[least:], vectors[:, least:]
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
