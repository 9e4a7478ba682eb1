"""KernelCCA: the directions that two views of the same rows have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from .._array import Array, dense, is_foreign, to_numpy
from .._checks import check_positive, check_whole
from .._random import RandomState
from ..data import ArrayTable, Table
from ..data.block import Block, recut, without_weightless
from ..gpu.device import Device, Tensor
from ..gpu.exchange import in_kind_of_rows
from ..maps.array_layouts import floats
from ..scale import lazily
from .argument_types import KernelArgument, MapArgument, WeightArgument
from .context import FitContext
from .estimates.memory_estimates import Extent, check_after
from .estimates.time_forecast import DECOMPOSITION, Work, sums_work
from .features.device_features import tensor_features
from .features.prepared_rows import Chunk, PreparedRows
from .machine import KernelMachine
from .map_choice import check_map_choice
from .passes.fit_passes import Passes
from .passes.fit_tasks import tells_callbacks
from .passes.progress import Progress, Reporter
from .pca import signs_towards
from .statistics import Moments
from .statistics.feature_sums import feature_sums

Matrix = NDArray[np.float64]


class SecondView(Table):
    """The targets of a table as rows in their own right, leaving out rows of weight 0."""

    def __init__(self, table: Table, as_matrix: Callable[[Any], Matrix]):
        self._table, self._as_matrix = table, as_matrix
        self._head: Block | None = None

    @property
    def n_rows(self) -> int:
        if isinstance(self._table, ArrayTable):  # it keeps rows of weight 0 if X contains kernel values
            return sum(block.X.shape[0] for block in self.blocks())
        return self._table.n_rows

    def head(self) -> Block:
        if self._head is None:
            self._head = super().head()
        return self._head

    def blocks(self, start: int = 0) -> Iterator[Block]:
        given = (Block(self._as_matrix(block.y), None, block.weight) for block in self._table.targets())
        return islice(recut(map(without_weightless, given)), start, None)


class View(KernelMachine):
    """The features of the second view."""

    _set_last = "map_"

    def fit(self, table: Table, passes: Passes) -> Self:
        """Learn the map and the preparation of rows, in passes of the fit of both views.

        Parameters
        ----------
        table : Table
            The rows of the second view.
        passes : Passes
            The passes of the fit.

        Returns
        -------
        View
            The fitted view itself.
        """
        self._start(self._table(table, None, None, reset=True), exact=True, passes=passes)
        return self

    def features(self, X: Any) -> NDArray[Any]:
        """Return the features of rows."""
        return self._by_rows(X, self.features_of)

    def tensors(self, X: Matrix, device: Device) -> Tensor:
        """Return the features on a device, of rows that are few enough to be mapped at once."""
        prepared = self._by_rows(X, lambda rows, first: dense(rows), len(X), 1)
        return tensor_features(self.map_, device, prepared.dtype)(device.sent(prepared), 0)


class KernelCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):
    r"""Canonical correlation analysis with kernels, in one pass over the rows.

    It finds the directions among the features of X and of Y along which the two views of a row agree most.

    Parameters
    ----------
    kernel : Kernel, str, callable or None, default=None
        The kernel of X: a kernel of :mod:`mercer.kernels`, text that describes one such as ``"gaussian(0.5)"``, a
        function of two rows, or "precomputed". None means ``Gaussian("scale")``. With "precomputed", ``fit`` expects
        the square kernel matrix in place of rows, and predictions expect the kernel values of new rows against the
        training rows, of which only the columns ``map_.component_indices_`` are used. A function and "precomputed"
        require :class:`mercer.Nystrom`, which "auto" uses.
    n_components : int or None, default=None
        The number of features of the map of X, D. More features approximate the kernel better and take more time. None
        means 1024.
    map : str or FeatureMap, default="auto"
        The map that computes the features of X: "auto", the name of a map such as "RandomFourier", or a FeatureMap,
        which has its own kernel, width and seed. "auto" uses the rules of :func:`mercer.feature_map`, or
        :class:`mercer.Nystrom` with all rows as landmarks, which is exact, if at most ``n_components`` rows are
        distinct.
    kernel_y : Kernel, str, callable or None, default=None
        The kernel of Y, like ``kernel`` for X.
    n_components_y : int or None, default=None
        The number of features of the map of Y. None means 1024.
    map_y : str or FeatureMap, default="auto"
        The map that computes the features of Y, like ``map`` for X.
    n_directions : int, default=2
        The number of pairs of directions to compute.
    alpha : float, default=0.01
        The regularisation rho, as a share of the largest eigenvalue of the moments of a view. Without it, any two views
        of few rows are perfectly correlated.
    scale : {"auto", "standard", "common", "log", "unit", "minmax"} or None, default="auto"
        How rows of both views are scaled before the maps: columns to mean 0 and variance 1 ("standard"), all columns by
        the same factor ("common"), the same after asinh in one unit for all columns ("log"), rows to norm 1 ("unit"),
        columns to the range from 0 to 1 ("minmax"), or not at all (None). "auto" chooses by the values in the rows, and
        then also tames heavy tails, pools rare levels and drops constant columns; for a kernel that is given with its
        bandwidths it means None. Zeros of sparse rows stay zeros. "unit" does not change a Y with one column, of which
        it would keep only the signs. If columns have more than 512 levels in total, zeros in the columns of rare
        levels, found in fewer than one row in 32, stay zeros too.
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
        The seed of the maps. Equal integers give equal models.
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
    correlations_ : ndarray of shape (n_directions,)
        The regularised correlations, largest first.
    x_directions_ : ndarray of shape (n_directions, D)
        The directions among the features of X.
    y_directions_ : ndarray of shape (n_directions, D)
        The directions among the features of Y.
    x_mean_ : ndarray of shape (D,)
        The mean of the features of X.
    y_mean_ : ndarray of shape (D,)
        The mean of the features of Y.
    view_y_ : View
        The map and the preparation of Y.
    map_ : FeatureMap
        The fitted map of X.
    preparation_ : Preparation
        What was learned about the columns of X: their levels, means and scales.
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
    With whitened moments :math:`(C_{xx} + \rho I)^{-1/2} C_{xy} (C_{yy} + \rho I)^{-1/2} = U S V^\top`, the directions
    are given by the singular vectors of the largest singular values, which are the regularised correlations.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import KernelCCA
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-3, 3, size=500)
    >>> X, Y = np.column_stack([t, rng.normal(size=500)]), np.column_stack([np.cos(t), rng.normal(size=500)])
    >>> model = KernelCCA(n_components=64, n_components_y=64, n_directions=1, random_state=0).fit(X, Y)
    >>> U, V = model.transform(X, Y)
    >>> bool(np.corrcoef(U[:, 0], V[:, 0])[0, 1] > 0.9)
    True
    """

    _set_last = "correlations_"
    _kernel_names: ClassVar[tuple[str, ...]] = ("kernel", "kernel_y")

    def __init__(
        self,
        kernel: KernelArgument = None,
        *,
        n_components: int | None = None,
        map: MapArgument = "auto",
        kernel_y: KernelArgument = None,
        n_components_y: int | None = None,
        map_y: MapArgument = "auto",
        n_directions: int = 2,
        alpha: float = 0.01,
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
        self.kernel_y = kernel_y
        self.n_components_y = n_components_y
        self.map_y = map_y
        self.n_directions = n_directions
        self.alpha = alpha

    @tells_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> Self:
        """Fit directions to rows of two views.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), or None, default=None
            The second view, a matrix of numbers or a single column. None uses the targets of a table.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights of the rows. A row of weight 2 counts as two rows.

        Returns
        -------
        KernelCCA
            The fitted learner itself.
        """
        return self.fit_table(self.table_to_fit(X, y, sample_weight), FitContext(device=Device.of(X)))

    def _labelled(self, X: Any, y: Any, sample_weight: WeightArgument, reset: bool) -> Table:
        if not isinstance(X, Table):
            y = self._second(y)
            check_consistent_length(X, y)
        return self._table(X, y, sample_weight, reset)

    def fit_table(self, table: Table, context: FitContext) -> Self:
        if table.n_rows < 2:
            raise ValueError(f"correlations need at least 2 rows, found n_samples={table.n_rows}")
        passes = self._begin_fit(table, context)
        rows = self._start(table, exact=True, passes=passes)
        second = SecondView(table, self._second)
        self.view_y_ = self.second_view(second.head().X.shape[1]).fit(second, passes)
        passes.report.expect(self._expected(rows.n_rows, self.map_.n_components_ + self.view_y_.map_.n_components_))
        self._solve(self._moments(rows), passes.report)
        return self

    def check_arguments(self) -> None:
        super().check_arguments()
        check_whole("n_directions", self.n_directions)
        check_positive("alpha", self.alpha)
        check_map_choice(self.kernel_y, self.n_components_y, self.map_y, has_pilot=False)

    def _expected(self, n_rows: int, width: int) -> list[Work]:
        return [sums_work(n_rows, width), Work("solution", DECOMPOSITION * float(width) ** 3)]

    def bytes_needed(self, extent: Extent, memory: int | None = None) -> int:
        return extent.sums(copies=3)  # for both views together, or for the first if there is no second yet

    def second_view(self, n_columns: int | None = None) -> View:
        """Return the second view, not fitted.

        Parameters
        ----------
        n_columns : int or None, default=None
            The number of its columns, if it is to be fitted.

        Returns
        -------
        View
            The view.
        """
        return View(
            self.kernel_y,
            n_components=self.n_components_y,
            map=clone(self.map_y) if not isinstance(self.map_y, str) else self.map_y,
            scale=None if self.scale == "unit" and n_columns == 1 else self.scale,
            missing=self.missing,
            unknown=self.unknown,
            dates=self.dates,
            random_state=self.map_.seed_ if isinstance(self.map_y, str) else None,
            n_jobs=1,
        )

    @staticmethod
    def _second(y: Any) -> Matrix:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        Y = check_array(to_numpy(y), ensure_2d=False, dtype=np.float64, input_name="y")
        return Y[:, None] if Y.ndim == 1 else Y

    def _moments(self, rows: PreparedRows) -> Moments:
        widths = self.map_.n_components_, self.view_y_.map_.n_components_
        extent = Extent(sum(widths), itemsize=rows.dtype.itemsize, n_jobs=self.n_jobs)
        check_after(self, extent, rows.passes.context.memory)

        def part(Z: Array, chunk: Chunk) -> Moments:
            Y = self._second(chunk.y)
            if is_foreign(Z):  # all features together, since products of targets are not made on the device
                device = Device.holding(Z)
                both = device.torch.hstack([Z, self.view_y_.tensors(Y, device).to(Z.dtype)])
                return Moments.of(both, np.zeros((len(Y), 0)), chunk.weight)
            return Moments.of(Z, self.view_y_.features(Y).astype(np.float64), chunk.weight)

        found = Moments(*feature_sums(self, part, rows, 8 * sum(widths) ** 2, "sums"))
        return found if rows.passes.device is None else found.parted(widths[0])

    def _solve(self, moments: Moments, report: Reporter) -> None:
        centred = moments.centred(True)
        roots = [inverse_root(gram, float(self.alpha)) for gram in (centred.gram, centred.squares)]
        U, S, V = np.linalg.svd(roots[0] @ centred.cross @ roots[1])
        count = min(int(self.n_directions), len(S))
        total = np.sqrt(float(moments.weight[0]))
        x_directions, y_directions = roots[0] @ U[:, :count] * total, roots[1] @ V[:count].T * total
        signs = signs_towards(centred.feature_mean, x_directions)
        self._refuse_overflow(x_directions, y_directions, S)
        report.end()
        self.x_directions_, self.y_directions_ = (x_directions * signs).T, (y_directions * signs).T
        self.x_mean_, self.y_mean_ = centred.feature_mean, centred.target_mean
        self.correlations_ = S[:count]

    @lazily
    @in_kind_of_rows
    def transform(self, X: Any, y: Any = None) -> Any:
        """Return the canonical variates of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), or None, default=None
            The second view of the rows.

        Returns
        -------
        ndarray of shape (n_samples, n_directions), or tuple of two of these
            The variates of X; if y is given, a tuple of the variates of X and of y.
        """
        check_is_fitted(self)
        U = self.linear_values(X, self.x_directions_, -(self.x_directions_ @ self.x_mean_))
        if y is None:
            return U
        return U, self.view_y_.linear_values(self._second(y), self.y_directions_, -(self.y_directions_ @ self.y_mean_))

    @property
    def _n_features_out(self) -> int:
        return len(self.correlations_)

    def array_layout(self) -> dict[str, Any]:
        if not hasattr(self, "view_y_"):
            raise ValueError("a KernelCCA needs a second view, found none")
        x, y = self.map_.n_components_, self.view_y_.map_.n_components_
        directions = {"x_directions_": floats(None, x), "y_directions_": floats(None, y)}
        return {"correlations_": floats(None), "x_mean_": floats(x), "y_mean_": floats(y)} | directions

    def check_arrays(self) -> None:
        self._refuse_unless(all(hasattr(self, name) for name in self.array_layout()))
        self._refuse_unless(len(self.correlations_) == len(self.x_directions_) == len(self.y_directions_))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def inverse_root(gram: Matrix, alpha: float) -> Matrix:
    """Return (gram + rho I)^(-1/2), with rho relative to the largest eigenvalue."""
    values, vectors = np.linalg.eigh(gram)
    shifted = np.maximum(values, 0.0) + alpha * max(float(values[-1]), 0.0)
    return (vectors * np.divide(1.0, np.sqrt(shifted), out=np.zeros_like(shifted), where=shifted > 0.0)) @ vectors.T
