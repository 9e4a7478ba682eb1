"""KernelKMeans: clusters of features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._array import Array, squares
from .._checks import check_positive, check_whole, is_number
from .._memory import as_bytes
from .._random import RandomState, Stream
from .._tiles import sum_in_order
from ..data import Table
from ..gpu.device import Device, Tensor
from ..gpu.exchange import in_kind_of_rows
from ..maps import FeatureMap
from ..maps.array_layouts import Leaf, floats
from ..scale import lazily
from .argument_types import KernelArgument, MapArgument, MemoryArgument, WeightArgument
from .cluster_space import Centres, FeatureSpace, LandmarkSpace
from .context import FitContext
from .estimates.memory_estimates import Extent, check_after, known_width
from .estimates.time_forecast import Work, features_work, steps_left
from .features.device_features import DeviceFeatures
from .features.feature_matrix import FeatureChunk, FeatureMatrix, feature_matrix
from .features.partitioned_features import HeldPart, PartitionedFeatures, made, warn_of_little_room
from .features.prepared_rows import PreparedRows
from .fitting.placement import landmark_root, placement_of
from .machine import KernelMachine
from .map_choice import expected_map
from .passes.checkpoint_state import Arrays
from .passes.fit_passes import after_chunks
from .passes.fit_tasks import tells_callbacks
from .passes.progress import Progress
from .solvers.choice import has_landmark_values, has_many_landmarks
from .statistics.device_clusters import device_moved, device_nearest
from .statistics.device_sums import RowValues

Matrix = NDArray[np.float64]

USUAL_PASSES = 15
"""The number of passes that a start is expected to take, until one has ended."""
SEED_ROWS = 100
"""The number of rows per cluster from which the first centres are drawn."""
EQUAL = 1e-6
"""Inertias that differ by no more than this share are taken to belong to the same clusters."""


class Clustering(NamedTuple):
    """Coordinates of centres, the sum of squared distances to the nearest ones, and the number of passes."""

    centres: Matrix
    inertia: float
    n_iter: int


class KernelKMeans(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, KernelMachine):
    """K-means with a kernel: clusters of any shape, in time and memory linear in the number of rows.

    Centres are means of features, and a row belongs to the nearest one: Lloyd's iterations, starting from centres drawn
    by k-means++. With ``batch_rows``, each step uses only that many rows, taken in turn, and centres move by smaller
    and smaller shares; this is for far more rows than are needed. With :class:`mercer.Nystrom` and at least 512
    landmarks, but fewer than rows, no whitened features are computed: centres are combinations of plain kernel values,
    and distances from them are the distances of the kernel itself.

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
    n_clusters : int, default=8
        The number of clusters.
    n_init : int, default=3
        The number of starts from different centres; the clusters with the smallest inertia are kept.
    max_iter : int, default=100
        The largest number of passes over the rows per start.
    tol : float, default=1e-4
        Iterations stop when the inertia decreases by less than this share of its value.
    batch_rows : int or None, default=None
        The number of rows that are used before the centres move. None means all rows.
    memory : int, str or None, default=None
        The largest amount of memory for features, in bytes or as text like "2GB". Features that fit are kept between
        passes; otherwise they are computed again in every pass. None means a quarter of the machine's memory.
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
    labels_ : ndarray of shape (n_rows,)
        The cluster of every row of ``fit``.
    centres_ : ndarray of shape (n_clusters, D)
        The centres, among the features. If ``map_`` has ``whiten=False``, its features are plain kernel values, and the
        centres are coefficients for these.
    centre_lengths_ : ndarray of shape (n_clusters,)
        The squared lengths of the centres.
    inertia_ : float
        The sum of squared distances to the nearest centres.
    n_iter_ : int
        The number of passes of the best start.
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

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import KernelKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(200, 2)) + centre for centre in (-4, 0, 4)])
    >>> model = KernelKMeans(n_clusters=3, n_components=64, random_state=0).fit(X)
    >>> sorted(np.bincount(model.labels_).tolist())[0] > 150
    True
    """

    _set_last = "centres_"

    def __init__(
        self,
        kernel: KernelArgument = None,
        *,
        n_components: int | None = None,
        map: MapArgument = "auto",
        n_clusters: int = 8,
        n_init: int = 3,
        max_iter: int = 100,
        tol: float = 1e-4,
        batch_rows: int | None = None,
        memory: MemoryArgument = None,
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
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.batch_rows = batch_rows
        self.memory = memory

    @tells_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit clusters to rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : None
            Ignored; present because scikit-learn's pipelines pass it.

        Returns
        -------
        KernelKMeans
            The fitted learner itself.
        """
        return self.fit_table(self.table_to_fit(X, y), FitContext(device=Device.of(X)))

    @in_kind_of_rows
    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int32]:
        """Fit clusters to rows and return the cluster of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : None
            Ignored; present because scikit-learn's pipelines pass it.

        Returns
        -------
        ndarray of shape (n_samples,)
            The number of the nearest centre, for every row.
        """
        return self.fit(X).labels_

    def _labelled(self, X: Any, y: Any, sample_weight: WeightArgument, reset: bool) -> Table:
        if sample_weight is not None:
            raise TypeError("KernelKMeans does not support weights, found sample_weight")
        return super()._labelled(X, y, sample_weight, reset)

    def fit_table(self, table: Table, context: FitContext) -> Self:
        if table.head().weight is not None:
            raise ValueError("KernelKMeans does not support weights, found blocks with weights")
        rows = self._start(table, exact=True, passes=self._begin_fit(table, context))
        if rows.n_rows < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} must not exceed the number of rows, found n_samples={rows.n_rows}"
            )
        width = self.map_.n_components_
        most = min(as_bytes(self.memory), float("inf") if context.memory is None else context.memory)
        rows.passes.report.expect(self._expected(rows.n_rows, width))
        check_after(self, Extent(width, rows.n_rows, itemsize=rows.dtype.itemsize, n_jobs=self.n_jobs), context.memory)
        space = self._space(rows)
        design = self._design(rows, space, most)
        sample = space.whole(rows.sample(self._rows_sampled))
        rng = Stream(self.map_.seed_, "KernelKMeans")
        starts = [spread_rows(sample, self.n_clusters, rng.child(i)) for i in range(self.n_init)]
        found: list[Clustering] = []
        for start, centres in enumerate(starts):
            found.append(self._ended(design, space, centres, start))
            left = (len(starts) - len(found)) * [round(np.mean([one.n_iter for one in found]))]
            design.passes.report.expect(self._passes(design.n_rows, width, left))
        # The first of those that agree up to rounding, so that rounding does not decide how clusters are numbered.
        least = min(one.inertia for one in found)
        best = next(one for one in found if one.inertia <= least * (1.0 + EQUAL))
        settled = space.centres(best.centres)
        labels = nearest(design, space, settled)
        self._refuse_overflow(*settled, np.array(best.inertia))
        design.passes.report.end()
        self.labels_ = labels
        self.inertia_, self.n_iter_ = best.inertia, best.n_iter
        self.centre_lengths_, self.centres_ = settled.lengths, settled.points
        return self

    def _to_fit(self, chosen: FeatureMap, n_rows: int) -> FeatureMap:
        many = has_many_landmarks(chosen, n_rows, known_width(self))
        return clone(chosen).set_params(whiten=False) if many else chosen

    def _design(self, rows: PreparedRows, space: FeatureSpace, most: float) -> FeatureMatrix:
        """Return the features of all rows."""
        width = self.map_.n_components_
        if rows.passes.partitions is None:
            return clustered_features(self, rows, space, self.n_jobs, most)
        parts, needed = rows.passes.partitions.parts, rows.n_rows * width * rows.dtype.itemsize
        if needed <= most:
            warn_of_little_room(parts, needed)
        making = partial(made, rows.apart(self.n_jobs), partial(clustered_rows, self, most / rows.n_rows))
        return PartitionedFeatures(parts.kept(making), rows, width, False, self.n_jobs)

    def space_there(self, rows: PreparedRows) -> FeatureSpace:
        """Return the space in which the clusters lie, for rows of a partition: without what only centres need.

        Parameters
        ----------
        rows : PreparedRows
            The rows of the partition.

        Returns
        -------
        FeatureSpace
            The space.
        """
        if not self._is_plain:
            return FeatureSpace(self.features_of)
        return LandmarkSpace(self.features_of, self.map_.kernel_, None, rows.n_rows, rows.dtype)

    def _space(self, rows: PreparedRows) -> FeatureSpace:
        """Return the space in which the clusters of these rows lie."""
        if not self._is_plain:
            return FeatureSpace(self.features_of)
        root = landmark_root(self.map_, float(np.finfo(rows.dtype).eps), self.n_jobs)
        return LandmarkSpace(self.features_of, self.map_.kernel_, root, rows.n_rows, rows.dtype)

    @property
    def _is_plain(self) -> bool:
        """Whether features are kernel values at landmarks, which are not coordinates."""
        return has_landmark_values(self.map_) and self.map_.gives_kernel_values

    def bytes_needed(self, extent: Extent, memory: int | None = None) -> int:
        if has_many_landmarks(expected_map(self, extent.n_rows), extent.n_rows, extent.width):
            return 8 * extent.square  # the factor of the kernel matrix of the landmarks
        return 0

    def check_arguments(self) -> None:
        super().check_arguments()
        for name in ("n_clusters", "n_init", "max_iter"):
            check_whole(name, getattr(self, name))
        check_positive("tol", self.tol)
        if self.batch_rows is not None:
            check_whole("batch_rows", self.batch_rows, alternatives=" or None")
        as_bytes(self.memory)

    @property
    def _rows_sampled(self) -> int:
        return max(1000, SEED_ROWS * int(self.n_clusters))

    def _expected(self, n_rows: int, width: int) -> list[Work]:
        starts = int(self.n_init) * [min(USUAL_PASSES, int(self.max_iter))]
        return [Work("features", features_work(n_rows, width)), *self._passes(n_rows, width, starts)]

    def _passes(self, n_rows: int, width: int, starts: list[int]) -> list[Work]:
        """Return the work of all starts, given the number of passes of each, and of the final labels."""
        size = 2.0 * n_rows * width * int(self.n_clusters)
        clusters, inertia = (Work(what, size) for what in ("clusters", "inertia"))
        ends = [work for count in starts for work in [*(count * [clusters]), inertia]]
        return [*ends, Work("labels", size), Work("solution", 0.0)]

    def _ended(self, design: FeatureMatrix, space: FeatureSpace, centres: Matrix, start: int) -> Clustering:
        """Return the result of a start, computed unless a checkpoint contains it."""
        checkpoint = design.passes.context.checkpoint
        if checkpoint is None:
            return self._lloyd(design, space, centres, start)

        def make() -> Arrays:
            found = self._lloyd(design, space, centres, start)
            return found.centres, np.array([found.inertia, found.n_iter])

        found, (inertia, n_iter) = checkpoint.kept(f"clusters {start}", make)
        return Clustering(found, float(inertia), int(n_iter))

    def _lloyd(self, design: FeatureMatrix, space: FeatureSpace, centres: Matrix, start: int) -> Clustering:
        last, passes = np.inf, 0
        design.passes.report.objective = None
        weight, falls = np.zeros(len(centres)), list[float]()
        checkpoint, name = design.passes.context.checkpoint, f"start {start}"
        if checkpoint is not None and name in checkpoint.found:
            centres, weight, numbers = checkpoint.found[name]
            last, passes = float(numbers[0]), int(numbers[1])
        while passes < int(self.max_iter):
            passes += 1
            left = steps_left(falls, float(self.tol), USUAL_PASSES - passes + 1 + len(falls))
            here = min(round(left), int(self.max_iter) - passes + 1)
            others = (int(self.n_init) - start - 1) * [max(passes + here - 1, 1)]
            design.passes.report.expect(self._passes(design.n_rows, design.width, [here, *others]))
            if self.batch_rows is None:
                sums, counts, inertia = all_moved(design, space, centres, "clusters")
                centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1.0)[:, None], centres)
            else:
                centres, weight, inertia = self._in_batches(design, space, centres, weight)
            if last - inertia <= float(self.tol) * inertia:
                break
            if np.isfinite(last):
                falls.append((last - inertia) / max(inertia, np.finfo(np.float64).tiny))
            last = design.passes.report.objective = inertia
            if checkpoint is not None:
                checkpoint.put(name, (centres, weight, np.array([last, passes])))
        inertia = all_moved(design, space, centres, "inertia")[2]
        design.passes.report.objective = inertia
        return Clustering(centres, inertia, passes)

    def _in_batches(
        self, design: FeatureMatrix, space: FeatureSpace, centres: Matrix, weight: Matrix
    ) -> tuple[Matrix, Matrix, float]:
        """Make one pass in which centres move after every few chunks, towards the mean of their rows so far."""
        total, batch, size, done = 0.0, [], 0, 0
        tell = design.passes.begin("clusters")
        for part in design.chunks():
            batch.append(part)
            size, done = size + part.stop - done, part.stop
            if size >= int(self.batch_rows or 0) or done == design.n_rows:
                sums, counts, inertia = moved(design, space, iter(batch), centres, tell)
                weight = weight + counts
                share = np.divide(counts, weight, out=np.zeros_like(counts), where=weight > 0)[:, None]
                centres = (1.0 - share) * centres + share * sums / np.maximum(counts, 1.0)[:, None]
                total, batch, size = total + inertia, [], 0
        return centres, weight, total

    @lazily
    def _distances(self, X: Any) -> NDArray[Any]:
        """Return squared distances to the centres."""
        centres, is_plain = Centres(self.centres_, self.centre_lengths_), self._is_plain
        device = Device.named(self.device) or Device.of(X)
        if device is not None:
            return self._distances_on(device, X, centres)

        def part(prepared: Array, first: int) -> NDArray[Any]:
            Z = self.features_of(prepared, first)
            return centres.distances(Z, self.map_.kernel_.diag(prepared) if is_plain else squares(Z))

        return self._by_rows(X, part)

    def _distances_on(self, device: Device, X: Any, centres: Centres) -> NDArray[Any]:
        """Return squared distances to the centres, computed on a device."""
        torch, is_plain = device.torch, self._is_plain

        def values(dtype: DTypeLike) -> RowValues:
            points = device.sent(centres.points.T, dtype)

            def products_and_lengths(Z: Tensor) -> Tensor:
                return torch.hstack([Z @ points, torch.linalg.vector_norm(Z, dim=1, keepdim=True).square_()])

            return RowValues(device, self.map_, products_and_lengths, len(centres.points) + 1, dtype)

        def part(prepared: Array, found: NDArray[Any]) -> NDArray[Any]:
            own = self.map_.kernel_.diag(prepared) if is_plain else found[:, -1]
            return centres.distances_of(found[:, :-1], own)

        return self.values_on_device(X, values, part)

    @lazily
    @in_kind_of_rows
    def transform(self, X: Any) -> NDArray[Any]:
        """Return the distances of rows to all centres: of features or, with many landmarks, of the kernel itself.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            The distances.
        """
        check_is_fitted(self)
        return np.sqrt(self._distances(X))

    @lazily
    @in_kind_of_rows
    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the clusters of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The number of the nearest centre, for every row.
        """
        check_is_fitted(self)
        return self._distances(X).argmin(axis=1).astype(np.int32)

    @in_kind_of_rows
    def memberships(self, X: Any, fuzziness: float = 2.0) -> NDArray[Any]:
        r"""Return the degree to which rows belong to every cluster, as shares that sum to 1.

        They are the memberships of fuzzy k-means: the inverse squared distances to the centres to the power
        :math:`1 / (m - 1)`, with the fuzziness m, divided by their sum. A row at a centre belongs to that centre only,
        and the largest share belongs to the cluster that ``predict`` returns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        fuzziness : float, default=2.0
            A number above 1: near 1, every row belongs to one cluster; the larger it is, the more equal the shares are.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            The shares, in the precision of the rows.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.learn import KernelKMeans
        >>> X = np.array([[0.0], [0.1], [5.0], [5.1], [2.55]])
        >>> model = KernelKMeans("linear", n_clusters=2, scale=None, random_state=0).fit(X[:4])
        >>> np.sort(model.memberships(X[[0, 4]]), axis=1).round(2)
        array([[0. , 1. ],
               [0.5, 0.5]])
        """
        if not is_number(fuzziness) or not 1.0 < float(fuzziness) < np.inf:
            raise ValueError(f"fuzziness must be a finite number above 1, found {fuzziness!r}")
        check_is_fitted(self)
        found = self._distances(X)
        squares = found.astype(np.float64)
        least = squares.min(axis=1, keepdims=True)
        # Relative to the nearest centre, so that no power overflows; several centres at distance 0 share the row.
        ratios = np.divide(least, squares, out=(squares == least).astype(np.float64), where=squares > 0.0)
        with np.errstate(under="ignore"):
            shares = ratios ** (1.0 / (float(fuzziness) - 1.0))
        return (shares / shares.sum(axis=1, keepdims=True)).astype(found.dtype, copy=False)

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the sum of squared distances to the nearest centres.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : None
            Ignored; present because scikit-learn's pipelines pass it.

        Returns
        -------
        float
            The score; larger is better.
        """
        check_is_fitted(self)
        return -float(self._distances(X).min(axis=1).sum())

    @property
    def _n_features_out(self) -> int:
        return len(self.centres_)

    learned_types: ClassVar[dict[str, Any]] = {"inertia_": float, "n_iter_": int}

    def array_layout(self) -> dict[str, Any]:
        labels = Leaf(("int32",), (None,), least=0)
        centres = floats(None, self.map_.n_components_)
        return {"centres_": centres, "centre_lengths_": floats(None), "labels_": labels}

    def check_arrays(self) -> None:
        if hasattr(self, "centres_") and not hasattr(self, "centre_lengths_"):
            self.centre_lengths_ = squares(self.centres_)  # older files do not have it
        self._refuse_unless(all(hasattr(self, name) for name in (*self.array_layout(), *self.learned_types)))
        self._refuse_unless(int(self.labels_.max(initial=0)) < len(self.centres_) == len(self.centre_lengths_))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def all_moved(
    design: FeatureMatrix, space: FeatureSpace, coordinates: Matrix, what: str
) -> tuple[Matrix, Matrix, float]:
    """Return the result of :func:`moved` for all rows, in one pass."""
    if isinstance(design, DeviceFeatures):
        totals, counts, inertia = device_moved(design, space.centres(coordinates), space.known_lengths, what)
        return space.sums(totals), counts, float(inertia[0])
    tell = design.passes.begin(what)
    return moved(design, space, design.chunks(), coordinates, tell)


def moved(
    design: FeatureMatrix,
    space: FeatureSpace,
    parts: Iterator[FeatureChunk],
    coordinates: Matrix,
    tell: Callable[[int], None] | None,
) -> tuple[Matrix, Matrix, float]:
    """Return the sums and numbers of the rows nearest to each centre at some coordinates, and their squared distances.

    ``tell`` is called with the number of rows that are done.
    """
    centres = space.centres(coordinates)
    if isinstance(design, PartitionedFeatures):
        work_there, arguments = partial(moved_there, centres), [None] * len(design.parts)
        totals, counts, inertia = design.summed("clusters", work_there, arguments, 8 * coordinates.size)
        return space.sums(totals), counts, float(inertia[0])
    totals, counts, inertia = sums_moved(design, space, parts, centres, tell)
    return space.sums(totals), counts, float(inertia[0])


def sums_moved(
    design: FeatureMatrix,
    space: FeatureSpace,
    parts: Iterator[FeatureChunk],
    centres: Centres,
    tell: Callable[[int], None] | None,
) -> tuple[Matrix, ...]:
    """Return the sums of features and the numbers of the rows nearest to each centre, and their squared distances."""

    def work(part: FeatureChunk) -> tuple[Matrix, Matrix, Matrix]:
        Z = part.features().values()
        distances = centres.distances(Z, space.lengths(part, Z))
        labels = distances.argmin(axis=1)
        own = np.zeros((len(Z), len(centres.points)), dtype=Z.dtype)
        own[np.arange(len(Z)), labels] = 1
        least = np.array([distances.min(axis=1).sum(dtype=np.float64)])
        return (own.T @ Z).astype(np.float64), own.sum(axis=0, dtype=np.float64), least

    return sum_in_order(work, parts, design.n_jobs, 8 * centres.points.size, after_chunks(tell))


class ClusteredRows(NamedTuple):
    """The features of the rows of a partition, and the space in which their clusters lie."""

    design: FeatureMatrix
    space: FeatureSpace

    def chunks(self, rows: NDArray[np.int64] | None = None) -> Iterator[FeatureChunk]:
        """Return the features of all rows, or of some."""
        return self.design.chunks(rows)


def clustered_rows(machine: KernelKMeans, room: float, rows: PreparedRows) -> ClusteredRows:
    """Return the features of the rows of a partition, kept if they take at most ``room`` bytes per row."""
    space = machine.space_there(rows)
    return ClusteredRows(clustered_features(machine, rows, space, rows.passes.n_jobs, room * rows.n_rows), space)


def clustered_features(
    machine: KernelKMeans, rows: PreparedRows, space: FeatureSpace, n_jobs: int | None, most: float
) -> FeatureMatrix:
    """Return features of rows, kept if they take at most this many bytes or, on a device, if they fit there."""
    width = machine.map_.n_components_
    if rows.passes.device is None:
        return feature_matrix(rows, space.features, width, False, n_jobs, most)
    space.measure(rows)
    place = placement_of(rows.passes)
    if rows.n_rows * width * rows.dtype.itemsize > place.room(machine, 0, None):
        return place.streamed(rows, machine.map_, False, n_jobs)
    held: FeatureMatrix = place.held(rows, width, False, n_jobs)
    place.fill(held, rows, machine.map_, slice(0, width))
    return held


def moved_there(centres: Centres, part: HeldPart, argument: None) -> tuple[Matrix, ...]:
    design, space = part.features
    if isinstance(design, DeviceFeatures):
        return device_moved(design, centres, space.known_lengths, "clusters")
    return sums_moved(design, space, design.chunks(), centres, None)


def nearest_there(centres: Centres, part: HeldPart, argument: None) -> NDArray[np.int32]:
    design, space = part.features
    return nearest(design, space, centres)


def nearest(design: FeatureMatrix, space: FeatureSpace, centres: Centres) -> NDArray[np.int32]:
    """Return the number of the nearest centre, for every row."""
    if isinstance(design, PartitionedFeatures):
        return np.concatenate(list(design.parts.each(partial(nearest_there, centres))))
    if isinstance(design, DeviceFeatures):
        return device_nearest(design, centres, space.known_lengths)
    labels = np.empty(design.n_rows, dtype=np.int32)

    def work(part: FeatureChunk) -> tuple[Matrix]:
        Z = part.features().values()
        labels[part.rows] = centres.distances(Z, space.lengths(part, Z)).argmin(axis=1)
        return (np.zeros(1),)

    sum_in_order(work, design.chunks(), design.n_jobs, held=8, after=after_chunks(design.passes.begin("labels")))
    return labels


def spread_rows(Z: Matrix, count: int, rng: Stream) -> Matrix:
    """Draw rows by k-means++: each one with a probability proportional to its squared distance from the previous ones.

    Several candidates are drawn, and the one that leaves the smallest sum of squared distances is chosen.
    """
    uniforms = rng.uniforms((count, 2 + int(np.log(count))))
    chosen = [int(uniforms[0, 0] * len(Z))]
    lengths = squares(Z)

    def distances(numbers: Any) -> Matrix:
        return Centres(Z[numbers], lengths[numbers]).distances(Z, lengths)

    least = distances(chosen)[:, 0]
    for draw in uniforms[1:]:
        cumulated = np.cumsum(least)
        drawn = np.searchsorted(cumulated, draw * cumulated[-1], side="right").clip(0, len(Z) - 1)
        trials = np.minimum(least[:, None], distances(drawn))
        best = int(trials.sum(axis=0).argmin())
        chosen.append(int(drawn[best]))
        least = trials[:, best]
    return Z[chosen]
