"""ConformalRegressor: intervals from the predictions of a regressor."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..._array import to_numpy
from ..._checks import check_choice, check_probability, check_whole
from ..._random import RandomState
from ...data.block import part_of
from ...gpu.exchange import in_kind_of_rows
from ...scale import lazily
from ..argument_types import WeightArgument
from ..map_choice import is_exact
from ..passes.fit_tasks import inner_fit, tells_of_estimator
from ..regressor import KernelRegressor
from ..targets.regression_targets import checked_targets
from .conformal_predictor import ConformalPredictor
from .groups import known_codes, learned_groups, warn_of_small
from .left_out_machines import LeftOutMachines, without_each, without_folds
from .order_statistics import bound, rank, smallest
from .splittable_rows import RowsHere, SplittableRows, rows_in_memory, splittable

Matrix = NDArray[np.float64]

METHODS = ("auto", "split", "jackknife+", "cv+")
MOST_EACH = 2048
"""The largest number of rows left out one by one: each takes D numbers, and D operations for every new row."""
ROWS_AT_ONCE = 1024
"""The number of new rows whose intervals are computed together."""


class ConformalRegressor(RegressorMixin, ConformalPredictor):
    r"""Intervals that contain the target of a new row with a given probability, for any regressor.

    Nothing is assumed about the distribution of the targets, only that new rows come from the same source as the rows
    of ``fit``, in random order. With a coverage of :math:`1 - \alpha`, over the draw of all rows:

    - ``"split"`` sets a share of the rows aside, and widens predictions by the :math:`\lceil (1-\alpha)(n+1) \rceil`-th
      smallest of their n absolute residuals. It covers with a probability of at least :math:`1 - \alpha`, and at most
      :math:`1 - \alpha + 1 / (n + 1)` if no residuals are equal [1]_. With two or more quantiles, such as
      ``loss="quantile", quantile=[0.05, 0.95]``, it widens the outermost ones, so that intervals are wide where targets
      scatter [2]_.
    - ``"jackknife+"`` learns from all rows and leaves out each of at most 2,048 by itself, in closed form and without
      another fit. It covers with a probability of at least :math:`1 - 2\alpha`, and of :math:`1 - \alpha` in practice
      [3]_.
    - ``"cv+"`` does the same with ``n_folds`` folds, whose sums are subtracted from the sums over all rows; every row
      is used for calibration. Its guarantee is weaker than that of the jackknife+ by :math:`\sqrt{2 / n}`.

    The last two require ``KernelRegressor(loss="squared")``. Their guarantees only cover what is recomputed without the
    left-out rows, which is the coefficients. The kernel, the map, the preparation and alpha are chosen from all rows,
    so a left-out row has influenced them; ``benchmarks/README.md`` contains measured coverages. "split" has no such
    reservation.

    Parameters
    ----------
    estimator : KernelRegressor
        The regressor, which is cloned and not changed. It must have one target.
    method : {"auto", "split", "jackknife+", "cv+"}, default="auto"
        How residuals of rows outside the training rows are found. If the loss is squared and the map is not "exact",
        "auto" means "jackknife+" for up to 2,048 rows and "cv+" for more; otherwise it means "split".
    coverage : float, default=0.9
        The share of new targets that intervals should contain.
    holdout : float, default=0.25
        The share of rows that "split" sets aside.
    n_folds : int, default=10
        The number of folds of "cv+".
    random_state : int, Generator, RandomState or None, default=None
        The seed that chooses the rows that are set aside or left out.

    Attributes
    ----------
    estimator_ : KernelRegressor
        The fitted regressor.
    method_ : str
        The method that was used.
    residuals_ : ndarray of shape (n_calibration_rows,)
        The errors of predictions on the rows that were set aside or left out; for quantiles, how far a target is
        outside the outermost ones, with negative values inside.
    groups_ : ndarray of shape (n_groups,)
        The groups, in order.
    group_codes_ : ndarray of shape (n_calibration_rows,)
        The number of the group of each of these rows.
    left_out_ : LeftOutMachines or None
        The machines without some rows; None for "split".
    is_grouped_ : bool
        Whether ``fit`` was given groups.
    seed_ : int
        The seed that was used.
    n_features_in_ : int
        The number of columns that ``fit`` has seen.

    References
    ----------
    .. [1] Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, Distribution-free predictive inference for regression, JASA
      2018.
    .. [2] Romano, Patterson and Candes, Conformalized quantile regression, NeurIPS 2019.
    .. [3] Barber, Candes, Ramdas and Tibshirani, Predictive inference with the jackknife+, Annals of Statistics 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import ConformalRegressor, KernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(1500, 1))
    >>> y = np.sin(X[:, 0]) + rng.normal(scale=0.3, size=1500)
    >>> model = ConformalRegressor(KernelRegressor(n_components=64, random_state=0), random_state=0)
    >>> low, high = model.fit(X[:1000], y[:1000]).predict_interval(X[1000:]).T
    >>> model.method_, bool(0.87 < np.mean((low <= y[1000:]) & (y[1000:] <= high)) < 0.93)
    ('jackknife+', True)
    """

    def __init__(
        self,
        estimator: KernelRegressor,
        *,
        method: Literal["auto", "split", "jackknife+", "cv+"] = "auto",
        coverage: float = 0.9,
        holdout: float = 0.25,
        n_folds: int = 10,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.method = method
        self.coverage = coverage
        self.holdout = holdout
        self.n_folds = n_folds
        self.random_state = random_state

    def check_arguments(self) -> None:
        """Refuse invalid arguments."""
        if not isinstance(self.estimator, KernelRegressor):
            raise TypeError(f"expected a KernelRegressor as estimator, found {type(self.estimator).__name__}")
        super().check_arguments()
        check_choice("method", self.method, METHODS)
        check_whole("n_folds", self.n_folds, 2)
        if self.method in ("jackknife+", "cv+") and not self._sums_suffice:
            raise ValueError(
                f"method={self.method!r} subtracts rows from sums, which requires loss='squared', a kernel other than "
                f"'precomputed' and a map other than 'exact', found loss={self.estimator.loss!r}, "
                f"kernel={self.estimator.kernel!r} and map={self.estimator.map!r}; use method='split'"
            )

    @property
    def _sums_suffice(self) -> bool:
        """Whether rows can be left out of the sums of the estimator."""
        model = self.estimator
        pairwise = model.__sklearn_tags__().input_tags.pairwise
        return model.loss == "squared" and not is_exact(model) and not pairwise and model.solver in ("auto", "features")

    @tells_of_estimator
    def fit(self, X: Any, y: Any = None, sample_weight: WeightArgument = None, groups: Any = None) -> Self:
        """Fit the regressor to rows, and learn how large its errors are on rows outside the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Dask collection
            The rows. Of a Dask collection, the rows that are set aside come to this process.
        y : array-like of shape (n_samples,), default=None
            The targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights of the rows for the regressor. All residuals count equally.
        groups : array-like of shape (n_samples,) or None, default=None
            Groups of rows, each of which is covered separately, by the residuals of its own rows.

        Returns
        -------
        ConformalRegressor
            The fitted predictor itself.
        """
        self.check_arguments()
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        given = splittable(X, y, sample_weight)
        targets = checked_targets(given.targets)
        check_consistent_length(X if isinstance(given, RowsHere) else targets, targets)
        known, codes = learned_groups(groups, len(targets))
        order = self._shuffled(given)
        method = self._method(given)
        if method == "split":
            rows = self._fit_split(given, targets, order)
        else:
            rows = self._fit_left_out(method, given, targets, order)
        self.method_, self.groups_, self.group_codes_ = method, known, codes[rows]
        self.is_grouped_ = groups is not None
        warn_of_small(known, self.group_codes_, float(self.coverage), self.is_grouped_)
        return self

    def _method(self, given: SplittableRows) -> str:
        is_here = isinstance(given, RowsHere)
        if self.method == "cv+" and not is_here:
            raise ValueError("method='cv+' needs all rows in memory: use method='split' with Dask collections")
        if self.method != "auto":
            return self.method
        if not self._sums_suffice:
            return "split"
        if len(given.targets) <= MOST_EACH:
            return "jackknife+"
        return "cv+" if is_here else "split"

    def _fit_split(self, given: SplittableRows, y: Matrix, order: NDArray[Any]) -> NDArray[Any]:
        """Fit to most rows; return the numbers of those that were set aside."""
        kept, aside = self._kept_and_aside(order)
        self.estimator_ = clone(self.estimator)
        with inner_fit(self, self.estimator_):
            given.fit(self.estimator_, kept)
        self.left_out_: LeftOutMachines | None = None
        low, high = self._outermost(given.rows(aside))
        self.residuals_ = np.maximum(low - y[aside], y[aside] - high)
        return aside

    def _fit_left_out(self, method: str, given: SplittableRows, y: Matrix, order: NDArray[Any]) -> NDArray[Any]:
        """Fit to all rows and leave some out; return their numbers."""
        self.estimator_ = clone(self.estimator).set_params(keep_statistics=True)
        with inner_fit(self, self.estimator_):
            given.fit(self.estimator_)
        chosen = np.sort(order[:MOST_EACH] if method == "jackknife+" else order)
        weights = None if given.weight is None else given.weight[chosen]
        if method == "jackknife+":
            own = np.ones(len(chosen)) if weights is None else weights
            left_out = without_each(self.estimator_, given.rows(chosen), y[chosen], own)
        elif len(order) < 2:
            raise ValueError(f"method='cv+' needs at least two rows of positive weight, found n_samples={len(order)}")
        else:
            folds = np.empty(len(y), dtype=np.int64)
            folds[order] = np.arange(len(order)) % min(int(self.n_folds), len(order))
            left_out = without_folds(self.estimator_, given.rows(chosen), y[chosen], weights, folds[chosen])
        self.left_out_, self.residuals_ = left_out, np.abs(left_out.residuals)
        if not self.estimator.keep_statistics:  # the sums are no longer needed
            self.estimator_.set_params(keep_statistics=False).statistics_ = None
        return chosen

    def _outermost(self, X: Any) -> tuple[Matrix, Matrix]:
        """Return the smallest and the largest prediction for every row, which differ for quantiles."""
        predicted = to_numpy(self.estimator_.predict(X))
        return (predicted, predicted) if predicted.ndim == 1 else (predicted.min(axis=1), predicted.max(axis=1))

    def predict(self, X: Any) -> Any:
        """Return the predictions of the regressor.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predictions.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @lazily
    @in_kind_of_rows
    def predict_interval(self, X: Any, coverage: float | None = None, groups: Any = None) -> Matrix:
        """Return the intervals of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or data frame
            The rows.
        coverage : float or None, default=None
            A coverage to use instead of the one given to the constructor; nothing has to be fitted again.
        groups : array-like of shape (n_samples,) or None, default=None
            The groups of the rows, if ``fit`` was given groups.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            The lower and the upper bound; infinite if there are too few calibration rows for this coverage.
        """
        check_is_fitted(self)
        level = float(self.coverage if coverage is None else coverage)
        check_probability("coverage", level)
        X = rows_in_memory(X)
        n_rows = int(X.shape[0])
        codes = known_codes(groups, self.groups_, self.is_grouped_, n_rows)
        bounds = np.empty((n_rows, 2))
        for first in range(0, n_rows, ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            self._fill(bounds[rows], part_of(X, rows), codes[rows], level)
        return bounds

    def _fill(self, bounds: Matrix, X: Any, codes: NDArray[Any], coverage: float) -> None:
        """Write the bounds of some rows."""
        if self.left_out_ is None:
            low, high = self._outermost(X)
            widths = np.array([bound(self.residuals_[self.group_codes_ == one], coverage) for one in np.unique(codes)])
            width = widths[np.searchsorted(np.unique(codes), codes)]
            bounds[:, 0], bounds[:, 1] = np.minimum(low - width, high), np.maximum(high + width, low)
            return
        machines = self.left_out_
        centres = self.estimator_.predict_by(machines.coef, machines.intercept, X)
        for one in np.unique(codes):
            rows, own = codes == one, self.group_codes_ == one
            place, machine, residuals = rank(coverage, int(own.sum())), machines.machine[own], self.residuals_[own]
            bounds[rows, 0] = smallest(centres[rows], machine, -residuals, int(own.sum()) + 1 - place)
            bounds[rows, 1] = smallest(centres[rows], machine, residuals, place)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self.estimator.__sklearn_tags__().regressor_tags.poor_score
        tags.target_tags = self.estimator.__sklearn_tags__().target_tags
        tags.target_tags.multi_output = False
        return tags
