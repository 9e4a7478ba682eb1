"""KernelNovelty: rows that are unlike the training rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg
from numpy.typing import DTypeLike, NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from .._array import Array, squares
from .._checks import check_positive, check_probability, check_truth
from .._random import RandomState
from .._tiles import single_threaded_blas
from ..data import Table
from ..gpu.device import Device, Tensor
from ..gpu.exchange import in_kind_of_rows
from ..maps import FeatureMap
from ..maps.array_layouts import floats
from ..scale import lazily
from .argument_types import KernelArgument, MapArgument, WeightArgument
from .context import FitContext
from .estimates.memory_estimates import Extent, check_after
from .estimates.time_forecast import Work, sums_work
from .features.prepared_rows import Chunk, PreparedRows
from .machine import KernelMachine, as_given, row_stream
from .passes.fit_tasks import tells_callbacks
from .passes.progress import Progress, Reporter
from .statistics import Moments, chunk_rows
from .statistics.device_sums import RowValues
from .statistics.feature_sums import feature_sums
from .statistics.kept_sample import KeptSample, Sampling

Matrix = NDArray[np.float64]

EXACT_SUMS = 1e-4
"""Below this alpha, products of features are summed in float64: the error of float32 would be as large."""
ONE_ROW = 2.0
"""Adding or removing one of n rows changes a score by at most this number divided by n, as a share."""


class KernelNovelty(OutlierMixin, KernelMachine):
    r"""Novelty detection with a kernel, in one pass over the rows: scores, p-values, and rows in batches.

    Parameters
    ----------
    kernel : Kernel, str, callable or None, default=None
        The kernel: a kernel of :mod:`mercer.kernels`, text that describes one such as ``"gaussian(0.5)"``, or a
        function of two rows, which requires :class:`mercer.Nystrom`. None means ``Gaussian("scale")``.
    n_components : int or None, default=None
        The number of features of the map, D. More features approximate the kernel better and take more time. None means
        1024.
    map : str or FeatureMap, default="auto"
        The map that computes the features: "auto", the name of a map such as "RandomFourier", or a FeatureMap, which
        has its own kernel, width and seed. "auto" uses the rules of :func:`mercer.feature_map`, or
        :class:`mercer.Nystrom` with all rows as landmarks, which is exact, if at most ``n_components`` rows are
        distinct.
    level : float, default=0.05
        The share of usual rows, like the rows of ``fit``, that ``predict`` calls novel.
    alpha : float, default=0.01
        The number added to the diagonal of the covariance, as a share of its trace. A small value looks for rows in
        directions that the rows of ``fit`` do not have; with a large value the score is the distance from their mean,
        similar to a density.
    keep_statistics : bool, default=False
        Whether ``fit`` keeps its sums, so that ``partial_fit`` and ``merge`` can add to them.
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
    offset_ : float
        ``decision_function`` is ``score_samples`` minus this value.
    left_out_scores_ : ndarray of shape (n_kept,)
        The scores of rows of ``fit``, each by a model without it and raised by 2 / n, in increasing order.
    mean_ : ndarray of shape (D,)
        The mean of the features.
    whitening_ : ndarray of shape (D, D)
        The lower triangular matrix W with :math:`W^\top W = (\Sigma + \lambda I)^{-1}`.
    penalty_ : float
        The :math:`\lambda` of the formula.
    statistics_ : Moments or None
        The sums over all rows, if they are kept.
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
    The score of a row is its squared Mahalanobis distance from the mean of the features,

    .. math:: s(x) = (z - \bar z)^\top (\Sigma + \lambda I)^{-1} (z - \bar z), \qquad
        \lambda = \alpha \operatorname{tr} \Sigma,

    where :math:`\Sigma` is their covariance. With landmarks, the part of :math:`k(x, x)` that the features miss is
    added, divided by :math:`\lambda`, so that a row far from all landmarks has a high score. If all rows are landmarks,
    as with ``map="auto"`` and at most ``n_components`` rows, this is the distance in the space of the kernel itself.

    The p-value of a row is the share of rows of ``fit`` whose scores, each by a model without it, are at least as high.
    A formula gives these scores, for at most 1,024 rows, from the same sums. They are raised by a share of 2 / n, the
    largest change that leaving out one row can cause. Otherwise, if rows repeat, as counts do, a new row could be more
    novel than equal rows of ``fit``. Therefore a row from the same distribution is called novel with a probability of
    about ``level``, and less often if rows repeat.

    References
    ----------
    Hoffmann, Kernel PCA for novelty detection, Pattern Recognition 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import KernelNovelty
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = KernelNovelty(random_state=0).fit(X)
    >>> model.predict([[0.0, 0.5], [5.0, 5.0]])
    array([ 1, -1])
    >>> model.pvalues([[0.0, 0.5], [5.0, 5.0]]).round(3)
    array([0.818, 0.002])
    """

    _set_last = "whitening_"
    keep_statistics: bool
    statistics_: Moments | None
    _kept: KeptSample | None

    def __init__(
        self,
        kernel: KernelArgument = None,
        *,
        n_components: int | None = None,
        map: MapArgument = "auto",
        level: float = 0.05,
        alpha: float = 0.01,
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
        self.level = level
        self.alpha = alpha
        self.keep_statistics = keep_statistics

    def check_arguments(self) -> None:
        super().check_arguments()
        check_probability("level", self.level)
        check_positive("alpha", self.alpha)
        check_truth("keep_statistics", self.keep_statistics)
        if self._is_pairwise:
            raise ValueError("KernelNovelty needs k(x, x) of new rows, which kernel='precomputed' does not provide")

    # -- learning ------------------------------------------------------------------------------------------------------

    @tells_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the detector to rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : None
            Ignored; present because scikit-learn's pipelines pass it.

        Returns
        -------
        KernelNovelty
            The fitted detector itself.
        """
        return self.fit_table(self.table_to_fit(X, y), FitContext(device=Device.of(X)))

    def _labelled(self, X: Any, y: Any, sample_weight: WeightArgument, reset: bool) -> Table:
        if sample_weight is not None:
            raise TypeError("KernelNovelty does not support weights, found sample_weight")
        return super()._labelled(X, y, sample_weight, reset)

    def fit_table(self, table: Table, context: FitContext) -> Self:
        if table.head().weight is not None:
            raise ValueError("KernelNovelty does not support weights, found blocks with weights")
        rows = self._start(table, exact=True, passes=self._begin_fit(table, context))
        moments, kept = self._looked_at(rows, 0, self._landmark_rows(rows.n_rows))
        self._solve(moments, kept, rows.passes.report)
        self.statistics_ = moments if self.keep_statistics else None
        self._kept = kept if self.keep_statistics else None
        return self

    def prepare(self, X: Any, y: Any = None) -> Self:
        """Learn scales, levels, bandwidths and the map from these rows, but not which rows are usual.

        Otherwise ``partial_fit`` learns them from its first batch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : None
            Ignored; present because scikit-learn's pipelines pass it.

        Returns
        -------
        KernelNovelty
            The detector itself.
        """
        table = self.table_to_fit(X, y)
        self._start(table, exact=False, passes=self._begin(table, FitContext(device=Device.of(X))))
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more rows.

        Scales, bandwidths and the map come from ``prepare`` or from the first batch. What ``fit`` learned without
        ``keep_statistics`` is discarded.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : None
            Ignored; present because scikit-learn's pipelines pass it.

        Returns
        -------
        KernelNovelty
            The detector itself.
        """
        held, sample = getattr(self, "statistics_", None), getattr(self, "_kept", None)
        is_ready = held is not None or (hasattr(self, "map_") and not hasattr(self, "whitening_"))
        if is_ready:
            self.check_arguments()
            table = self._labelled(*as_given(X, y, None), reset=False)
            stream, passes = row_stream(self.map_.seed_), self._begin(table, FitContext(device=Device.of(X)))
            rows = PreparedRows(table, self.preparation_, stream, passes)
            moments, kept = self._looked_at(rows, 0 if held is None else int(held.rows[0]))
        else:
            table = self.table_to_fit(X, y)
            rows = self._start(table, exact=False, passes=self._begin(table, FitContext(device=Device.of(X))))
            moments, kept = self._looked_at(rows, 0, self._landmark_rows(rows.n_rows))
        if held is not None and sample is not None:
            moments, kept = held.plus(moments), sample.plus(kept)
        self._solve(moments, kept, rows.passes.report)
        self.statistics_, self._kept = moments, kept
        return self

    def merge(self, other: Self) -> Self:
        """Learn what another detector with the same map and preparation has learned from its own rows.

        Parameters
        ----------
        other : KernelNovelty
            The other detector, with its sums, which ``partial_fit`` and ``keep_statistics=True`` keep.

        Returns
        -------
        KernelNovelty
            The detector itself.
        """
        if not isinstance(other, KernelNovelty):
            raise TypeError(f"expected another KernelNovelty to merge with, found {type(other).__name__}")
        for one in (self, other):
            check_is_fitted(one)
        ours, theirs = self.statistics_, other.statistics_
        sample, more = self._kept, other._kept
        if ours is None or theirs is None or sample is None or more is None:
            raise ValueError("there are no sums to merge: give keep_statistics=True, or use partial_fit")
        difference = self._difference(other)
        if difference is not None:
            raise ValueError(f"learners with different features cannot be merged: {difference}")
        moments, kept = ours.plus(theirs), sample.plus(more)
        self._solve(moments, kept, None)
        self.statistics_, self._kept = moments, kept
        return self

    def _looked_at(
        self, rows: PreparedRows, first: int, landmarks: NDArray[np.int64] | None = None
    ) -> tuple[Moments, KeptSample]:
        """Return the sums over rows, starting with this number, and a sample of those that are not landmarks."""
        width = self.map_.n_components_
        extent = Extent(width, rows.n_rows, itemsize=rows.dtype.itemsize, n_jobs=self.n_jobs)
        rows.passes.report.expect(self._expected(rows.n_rows, width))
        check_after(self, extent, rows.passes.context.memory)
        watcher = Sampling(row_stream(self.map_.seed_).child("kept"), first, landmarks, self._left)

        def part(Z: NDArray[Any], chunk: Chunk) -> Moments:
            return Moments.of(Z, np.zeros((len(Z), 0)), None, exact=float(self.alpha) < EXACT_SUMS)

        moments = Moments(*feature_sums(self, part, rows, 8 * width * width, "sums", watcher))
        if watcher.n_seen < rows.n_rows:  # if sums are resumed
            for chunk in rows.chunks(chunk_rows(width, rows.dtype.itemsize)):
                if chunk.first not in watcher.seen:
                    watcher.watch(self.features_of(chunk.X, chunk.first), chunk)
        assert watcher.kept is not None
        return moments, watcher.kept

    def _landmark_rows(self, n_rows: int) -> NDArray[np.int64] | None:
        """Return the rows that are landmarks, unless all are: they fit better than new rows would."""
        numbers = getattr(self.map_, "component_indices_", None)
        has_all = not isinstance(self.map, FeatureMap) and not isinstance(getattr(self.map_, "landmarks", ""), str)
        return None if numbers is None or has_all or len(numbers) >= n_rows else numbers

    def _left(self, X: Array, Z: NDArray[Any]) -> NDArray[Any]:
        """Return the part of k(x, x) that landmarks miss; 0 for other maps, which are correct only on average."""
        return self._missed(X, squares(Z))

    def _missed(self, X: Array, lengths: NDArray[Any]) -> NDArray[Any]:
        """Return the part of k(x, x) that landmarks miss, given the squared lengths of features."""
        if not self.map_.has_landmarks:
            return np.zeros_like(lengths)
        return np.maximum(self.map_.kernel_.diag(X) - lengths, 0)

    def _solve(self, moments: Moments, kept: KeptSample, report: Reporter | None) -> None:
        """Compute the whitening of the features, and the scores that rows would have if they had been left out."""
        n = float(moments.rows[0])
        if n < 2:
            raise ValueError(f"a covariance needs at least 2 rows, found n_samples={int(n)}")
        if not len(kept.keys):
            raise ValueError("all rows are landmarks, so none can be left out: use fewer landmarks")
        centred = moments.centred(True)
        penalty = float(self.alpha) * (float(np.trace(centred.gram)) / n or 1.0)
        self._refuse_overflow(centred.gram)
        with single_threaded_blas():
            whitening = inverse_factor(centred.gram / n, penalty)
            about = (kept.features - centred.feature_mean).T
            others = shifted_factor(centred.gram / (n - 1.0), penalty)
            q = squares(scipy.linalg.solve_triangular(others, about, lower=True, check_finite=False).T)
        # Without row i the covariance loses a term of rank one, and the mean is further away from the row.
        ratio = n / (n - 1.0)
        scores = np.sort(ratio**2 * q / (1.0 - ratio / (n - 1.0) * q) + kept.left / penalty) * (1.0 + ONE_ROW / n)
        self._refuse_overflow(whitening, scores)
        if report is not None:
            report.end()
        self.mean_, self.penalty_, self.left_out_scores_ = centred.feature_mean, penalty, scores
        # The score with the level as its p-value; the largest score if there are too few for that.
        above = max(int(np.floor(float(self.level) * (len(scores) + 1))) - 1, 0)
        self.offset_ = -float(scores[len(scores) - 1 - above])
        self.whitening_ = whitening

    def _expected(self, n_rows: int, width: int) -> list[Work]:
        return [sums_work(n_rows, width), Work("solution", 2.0 * float(width) ** 3)]

    def bytes_needed(self, extent: Extent, memory: int | None = None) -> int:
        return extent.sums(copies=5)  # sums, sums about the mean, a factor and two inverses

    @property
    def is_prepared(self) -> bool:
        return hasattr(self, "whitening_")

    # -- scores --------------------------------------------------------------------------------------------------------

    @lazily
    @in_kind_of_rows
    def score_samples(self, X: Any) -> NDArray[Any]:
        """Return minus the squared Mahalanobis distances of rows: the lower, the more novel.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The scores.
        """
        return self._scores(X)

    def _scores(self, X: Any) -> NDArray[Any]:
        """Return the scores of rows, in NumPy."""
        check_is_fitted(self)
        device = Device.named(self.device) or Device.of(X)
        if device is not None:
            return self._scores_on(device, X)

        def part(prepared: Array, first: int) -> NDArray[Any]:
            Z = self.features_of(prepared, first)
            centred = Z - self.mean_.astype(Z.dtype)
            distances = squares(centred @ self.whitening_.T.astype(Z.dtype))
            return -(distances + self._left(prepared, Z) / Z.dtype.type(self.penalty_))

        return self._by_rows(X, part)

    def _scores_on(self, device: Device, X: Any) -> NDArray[Any]:
        """Return the scores of rows, computed on a device."""
        norm = device.torch.linalg.vector_norm

        def values(dtype: DTypeLike) -> RowValues:
            mean, whitening = device.sent(self.mean_, dtype), device.sent(self.whitening_.T, dtype)

            def distances_and_lengths(Z: Tensor) -> Tensor:
                parts = [(Z - mean) @ whitening, Z]
                return device.torch.stack([norm(part, dim=1) for part in parts], dim=1).square_()

            return RowValues(device, self.map_, distances_and_lengths, 2, dtype)

        def part(prepared: Array, found: NDArray[Any]) -> NDArray[Any]:
            return -(found[:, 0] + self._missed(prepared, found[:, 1]) / found.dtype.type(self.penalty_))

        return self.values_on_device(X, values, part)

    @lazily
    @in_kind_of_rows
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return ``score_samples`` minus the offset, which is negative for novel rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The shifted scores.
        """
        return self._shifted(X)

    def _shifted(self, X: Any) -> NDArray[Any]:
        scores = self._scores(X)
        return scores - scores.dtype.type(self.offset_)

    @lazily
    @in_kind_of_rows
    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return which rows are novel.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples,)
            -1 for novel rows, and 1 for rows like the rows of ``fit``.
        """
        return np.where(self._shifted(X) < 0.0, -1, 1)

    @lazily
    @in_kind_of_rows
    def pvalues(self, X: Any) -> NDArray[np.float64]:
        """Return p-values: the share of rows of ``fit`` that are at least as novel, each by a model without it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The p-values, between 1 / (1 + n_kept) and 1.
        """
        scores, known = -self._scores(X).astype(np.float64), self.left_out_scores_
        as_high = len(known) - np.searchsorted(known, scores, side="left").astype(np.float64)
        return (1.0 + as_high) / (1.0 + len(known))

    # -- model files ---------------------------------------------------------------------------------------------------

    learned_types: ClassVar[dict[str, Any]] = {"offset_": float, "penalty_": float}

    def array_layout(self) -> dict[str, Any]:
        width = self.map_.n_components_
        sums = ((width, width), (width, 0), (0, 0), (width,), (0,), (1,), (1,))
        return {
            "mean_": floats(width),
            "whitening_": floats(width, width),
            "left_out_scores_": floats(None, least=0.0),
            "statistics_": Moments(*(floats(*shape) for shape in sums)),
            "_kept": KeptSample(floats(None, least=0.0, most=1.0), floats(None, width), floats(None, least=0.0)),
        }

    def check_arrays(self) -> None:
        self.statistics_ = getattr(self, "statistics_", None)
        self._kept = getattr(self, "_kept", None)
        needed = ("mean_", "whitening_", "left_out_scores_", *self.learned_types)
        self._refuse_unless(all(hasattr(self, name) for name in needed))
        self._refuse_unless(self.penalty_ > 0.0 and bool((np.diff(self.left_out_scores_) >= 0.0).all()))
        self._refuse_unless((self.statistics_ is None) == (self._kept is None))
        if self._kept is not None:
            self._refuse_unless(len({len(part) for part in self._kept}) == 1)


def shifted_factor(covariance: Matrix, penalty: float) -> NDArray[np.floating]:
    """Return the lower triangular matrix L with L L' = covariance + penalty I."""
    shifted = covariance.copy()
    shifted[np.diag_indices_from(shifted)] += penalty
    return np.linalg.cholesky(shifted)


def inverse_factor(covariance: Matrix, penalty: float) -> Matrix:
    """Return the lower triangular matrix W with W' W the inverse of covariance + penalty I."""
    inverse, _ = scipy.linalg.lapack.dtrtri(shifted_factor(covariance, penalty), lower=1)
    return np.ascontiguousarray(inverse)
