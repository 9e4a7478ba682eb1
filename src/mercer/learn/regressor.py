"""KernelRegressor: ridge regression on features, from one pass over the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from .._checks import check_choice, is_number
from .._random import RandomState
from ..data import Table
from ..maps.array_layouts import floats
from .argument_types import AlphaArgument, KernelArgument, MapArgument, WeightArgument
from .context import FitContext
from .map_choice import is_narrow
from .memory_estimates import Extent
from .moment_machine import AdditiveMachine, can_add_rows
from .prepared_rows import Chunk, PreparedRows
from .progress import Progress, Reporter
from .solvers.ridge import LeaveOneOut, Path, Posterior, best_of, solve_ridge
from .statistics import Centred, Moments
from .time_forecast import DECOMPOSITION, Work

Matrix = NDArray[np.float64]

RULES = ("gcv", "loo")


class KernelRegressor(MultiOutputMixin, RegressorMixin, AdditiveMachine):
    r"""Ridge regression with a kernel, in time and memory linear in the number of rows.

    The learner for numbers. One pass sums :math:`Z^\top Z` and :math:`Z^\top Y` over blocks of rows, whose features are
    never held all at once; then :math:`(Z^\top Z + \alpha I)\,w = Z^\top Y` is solved, about the means where there is
    an intercept. Sums can be added to, merged and taken back: see ``partial_fit``, ``merge`` and ``forget``.

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
    alpha : float, sequence of floats, "gcv" or "loo", default=1.0
        How strongly large coefficients are held back. Of several values the best by generalised cross-validation is
        taken. "gcv" tries 25 of them; "loo" takes the best of those by the exact error of leaving out one row with all
        of its weight, which needs a second pass.
    fit_intercept : bool, default=True
        Whether predictions have a constant, which is not regularised.
    keep_statistics : bool, default=False
        Whether ``fit`` keeps the sums, which take 8 D^2 bytes: ``merge``, ``forget`` and standard deviations need
        them. ``partial_fit`` always does.
    scale : {"standard", "unit", "minmax"} or None, default=None
        How rows are scaled before the map: columns of mean 0 and variance 1, rows of norm 1, columns from 0 to 1, or
        as they are. Zeros of sparse rows stay zeros.
        Where columns have more than 512 levels in all, so do those of levels that fewer than one row in 32 has.
    missing : {"error", "mean"}, default="error"
        Whether missing values are refused or filled with the mean of their column. The mean of a column of levels is
        the share of each, or of those alone whose zeros do not stay zeros, as above.
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
        coefficients are found. If it raises an error, ``fit`` ends with that error and nothing is fitted;
        ``partial_fit``, ``merge`` and ``forget`` leave everything as it was.

    Attributes
    ----------
    coef_ : ndarray of shape (D,) or (n_targets, D)
        The coefficients of the features.
    intercept_ : float or ndarray of shape (n_targets,)
        The constants of the predictions.
    alpha_ : float
        The alpha that was taken.
    alphas_ : ndarray of shape (n_alphas,)
        The alphas that were tried, where there were several.
    scores_ : ndarray of shape (n_alphas, n_targets)
        The mean squared error that each of them would have on new rows, as estimated.
    statistics_ : Moments or None
        The sums over the rows, where they are kept.
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
    >>> from mercer.learn import KernelRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(2000, 2))
    >>> y = np.sin(X[:, 0]) * np.cos(X[:, 1])
    >>> model = KernelRegressor(n_components=256, alpha="gcv", random_state=0).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.99)
    True
    """

    def __init__(
        self,
        kernel: KernelArgument = None,
        *,
        n_components: int | None = None,
        map: MapArgument = "auto",
        alpha: AlphaArgument = 1.0,
        fit_intercept: bool = True,
        keep_statistics: bool = False,
        scale: str | None = None,
        missing: str = "error",
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
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.keep_statistics = keep_statistics

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : dense or CSR matrix, pandas or polars frame, or a table (:func:`mercer.data.open`)
        y : array of shape (n_rows,) or (n_rows, n_targets); None where X is a table, which brings it
        sample_weight : array of shape (n_rows,) or None
            A row of weight 2 counts as two rows.
        """
        return self.fit_table(self.table_to_fit(X, y, sample_weight), FitContext())

    def fit_table(self, table: Table, context: FitContext) -> Self:
        self._fit_sums(self._start(table, exact=True, passes=self._begin_fit(table, context)))
        return self

    @available_if(can_add_rows)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> Self:
        """Learn from more rows.

        The first call also does what :meth:`prepare` does, with its rows: scales, levels and bandwidths then stay.
        Not for ``alpha="loo"``, which looks at all rows twice.

        Parameters
        ----------
        X, y, sample_weight : as for ``fit``
        """
        if not self.is_prepared:
            self.prepare(X, y, sample_weight)
        return self._add(X, y, sample_weight)

    @property
    def sums_suffice(self) -> bool:
        return not (isinstance(self.alpha, str) and self.alpha == "loo")

    @property
    def _least_alpha(self) -> float:
        return 0.0 if isinstance(self.alpha, str) else float(np.min(self.alpha))

    def bytes_needed(self, extent: Extent) -> int:
        if is_number(self.alpha):
            return extent.sums(copies=3)
        return extent.sums(copies=5, exact=True)  # a decomposition works on two more

    def _expected(self, n_rows: int, width: int) -> list[Work]:
        sums, solution = super()._expected(n_rows, width)
        if is_number(self.alpha):
            return [sums, solution]
        decomposition = Work("decomposition", DECOMPOSITION * float(width) ** 3)
        again = [] if self.sums_suffice else [sums._replace(what="leave-one-out errors")]
        return [sums, decomposition, *again, Work("solution", float(width) ** 2)]

    def check_arguments(self) -> None:
        super().check_arguments()
        check_alpha(self.alpha)

    def _labelled(self, X: Any, y: Any, sample_weight: WeightArgument, reset: bool) -> Table:
        if not isinstance(X, Table):
            if y is None:
                raise ValueError("requires y to be passed, but the target y is None")
            y = checked_targets(y)
            check_consistent_length(X, y)
        table = self._table(X, y, sample_weight, reset)
        if reset or self.statistics_ is None:  # else it is known, and what does not fit is refused later
            self._single = np.ndim(table.head().y) <= 1
        return table

    def _targets(self, chunk: Chunk) -> tuple[Matrix, Matrix | None]:
        Y = checked_targets(chunk.y)
        return Y.reshape(len(Y), -1), chunk.weight

    def _solve(self, moments: Moments, rows: PreparedRows | None, report: Reporter | None) -> None:
        intercept, centred = bool(self.fit_intercept), moments.centred(bool(self.fit_intercept))
        tried: dict[str, Matrix] = {}
        if is_number(self.alpha):
            alpha = float(np.asarray(self.alpha))
            coef = solve_ridge(moments, alpha, intercept, self._precision)
        else:
            if not np.isfinite(np.diag(centred.squares)).all():
                raise ValueError("the squares of the targets overflow, so alpha cannot be chosen: scale them down")
            path = Path.of(moments, intercept, self._precision)
            if report is not None:
                report.done("decomposition")
            alphas = path.alphas() if isinstance(self.alpha, str) else np.asarray(self.alpha, dtype=np.float64)
            scores, hits = self._errors(path, alphas, centred, rows)
            alpha = float(alphas[best_of(scores, np.diag(centred.squares))])
            coef, tried = path.coefficients(alpha), {"alphas_": alphas, "scores_": scores} | hits
        if not np.isfinite(coef).all():
            raise ValueError("the coefficients overflow: scale the targets or the rows down")
        offset = centred.offset(coef)
        self._refuse_overflow(offset)
        if report is not None:
            report.end()
        for name in ("alphas_", "scores_", "hits_"):  # of a path that was tried before
            self.__dict__.pop(name, None)
        self.__dict__.update(tried)
        self.alpha_ = alpha
        self.intercept_ = float(offset[0]) if self._single else offset
        self.coef_ = coef[:, 0] if self._single else np.ascontiguousarray(coef.T)

    def _errors(
        self, path: Path, alphas: Matrix, centred: Centred, rows: PreparedRows | None
    ) -> tuple[Matrix, dict[str, Matrix]]:
        """The mean squared error that every alpha would have on new rows, one column per target.

        Beside it ``hits_``, where the context asks for it.
        """
        if isinstance(self.alpha, str) and self.alpha == "loo":
            assert rows is not None  # sums that change are not offered for this rule
            left_out = LeaveOneOut(path, alphas, centred.feature_mean, centred.target_mean)
            counted = rows.passes.context.counts_hits

            def part(Z: NDArray[Any], chunk: Chunk) -> tuple[Matrix, ...]:
                return left_out.errors_and_hits(Z, *self._targets(chunk), counted)

            sums, *hits = self._summed(part, rows, 8 * self.map_.n_components_, "leave-one-out errors")
            return sums / path.weight, {"hits_": hits[0] / path.weight} if counted else {}
        return np.stack([path.gcv(alpha) for alpha in alphas.tolist()]), {}

    # -- model files ---------------------------------------------------------------------------------------------------

    learned_types: ClassVar[dict[str, Any]] = {
        "_single": bool,
        "_precision": float,
        "alpha_": float,
        "intercept_": float,
    }

    @property
    def _n_targets(self) -> int | None:
        return 1 if getattr(self, "_single", True) else None

    def array_layout(self) -> dict[str, Any]:
        width, targets = self.map_.n_components_, self._n_targets
        return super().array_layout() | {
            "coef_": floats(width) if targets == 1 else floats(None, width),
            "intercept_": floats(targets),
            "alphas_": floats(None, least=0.0),
            "scores_": floats(None, targets, finite=False),
        }

    def _check_coefficients(self, targets: int) -> None:
        self._refuse_unless(all(hasattr(self, name) for name in self.learned_types))
        self._refuse_unless(np.ndim(self.intercept_) == np.ndim(self.coef_) - 1 and np.size(self.intercept_) == targets)
        self._refuse_unless(hasattr(self, "scores_") == hasattr(self, "alphas_"))
        if hasattr(self, "scores_"):
            self._refuse_unless(self.scores_.shape == (len(self.alphas_), targets))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = is_narrow(self)
        return tags

    # -- predictions ---------------------------------------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The targets of rows.

        Parameters
        ----------
        X : dense or CSR matrix, pandas or polars frame, or a table
        return_std : bool
            Whether to give the standard deviation of a new observation too: the noise about the fit, and what the rows
            of ``fit`` leave open of the coefficients. Needs the sums: ``keep_statistics=True``, or ``partial_fit``.

        Returns
        -------
        y : float64 array of shape (n_rows,) or (n_rows, n_targets); with ``return_std`` a tuple with the deviations
        """
        check_is_fitted(self)
        # In float64, like the targets of fit: float32 has no digits left beside an intercept of 1e9.
        y = self.linear_values(X, np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_), np.float64)
        y = y[:, 0] if self._single else y
        return (y, self._deviations(X)) if return_std else y

    def score(self, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> float:
        """The coefficient of determination of the predictions.

        Parameters
        ----------
        X, y, sample_weight : as for ``fit``
        """
        if isinstance(X, Table):
            observed, predicted, weight = self.observed(X, self.predict)
            return float(r2_score(observed, predicted, sample_weight=weight))
        return float(super().score(X, y, sample_weight))

    def _deviations(self, X: Any) -> NDArray[Any]:
        posterior = Posterior.of(self._held(), self.alpha_, bool(self.fit_intercept), self._precision)
        if posterior is None:
            raise ValueError(
                f"standard deviations need a larger alpha than {self.alpha_:g}: the features are dependent"
            )
        deviations = self._by_rows(X, lambda rows, first: posterior.deviations(self.features_of(rows, first)))
        return deviations[:, 0] if self._single else deviations


def check_alpha(alpha: AlphaArgument) -> None:
    """A number that is not negative, several, or a rule."""
    if isinstance(alpha, str):
        check_choice("alpha", alpha, RULES)
        return
    values = np.atleast_1d(np.asarray(alpha, dtype=np.float64)) if not isinstance(alpha, bool) else np.zeros(0)
    if values.ndim != 1 or len(values) == 0 or not (np.isfinite(values).all() and (values >= 0.0).all()):
        raise ValueError(f"alpha must be a number of at least 0, several, or one of {RULES}, found {alpha!r}")


def checked_targets(y: Any) -> Matrix:
    """Targets as float64, one column per target where there are several."""
    if y is None:
        raise ValueError("the blocks must bring y, found X alone")
    return check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", ensure_min_samples=0)
