"""KernelRegressor: linear regression on features, from one pass over the rows where the loss is squared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import d2_pinball_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._array import to_numpy
from .._checks import check_choice, check_positive, check_share, check_whole, is_number
from .._memory import as_bytes
from .._random import RandomState
from ..data import Table
from ..data.block import Block
from ..gpu.device import Device
from ..gpu.exchange import in_kind_of_rows
from ..maps.array_layouts import floats
from ..maps.nystrom_parameters import restored
from .argument_types import KernelArgument, MapArgument, MemoryArgument, PenaltyArgument, WeightArgument
from .context import FitContext
from .estimates.memory_estimates import Extent, known_width
from .estimates.time_forecast import DECOMPOSITION, Work, exact_works, features_work, usual_works
from .features.design import Design
from .features.prepared_rows import Chunk, PreparedRows
from .fitting.exact_ridge import exact_ridge
from .fitting.exact_rows import ExactRows
from .fitting.landmark_fit import LandmarkFit
from .fitting.loss_fit import features_of_rows, minimised, warn_unless_converged
from .fitting.penalty_path import (
    GCV,
    HOLDOUT,
    LOO,
    STRENGTHS,
    PathFit,
    PenaltyPath,
    check_penalty,
    is_several,
    rule_of,
)
from .losses import TargetLoss
from .map_choice import OPEN, exact_map, expected_map, is_exact, is_narrow, is_open
from .moment_machine import AdditiveMachine, Factor, can_add_rows
from .passes.progress import Progress, Reporter
from .passes.scan_plan import ScanPlan
from .pilot.choice import Choice
from .solvers.choice import WITH_CORNERS, SolverCost, check_exact_values, works_on_landmarks, works_wide
from .solvers.conjugate_gradients import solver_for
from .solvers.newton import Report, Solution
from .solvers.ridge import N_ALPHAS, Posterior, RidgeEnd, best_of, relative, solve_ridge
from .statistics import Moments
from .targets.regression_losses import (
    LOSSES,
    Columns,
    check_counts,
    check_loss_arguments,
    columns_of_loss,
    default_delta,
)
from .targets.regression_targets import AllTargets, Units, checked_targets
from .training_rows.region import Region, decays, has_linear_term
from .validation.calibration import KeptRows

Matrix = NDArray[np.float64]

LossName = Literal["squared", "huber", "quantile", "epsilon_insensitive", "poisson"]

SOLVERS = ("auto", "features", "landmarks", "wide")
ADVICE = "raise max_iter, tol or alpha"
RULES = (GCV, LOO, HOLDOUT)
EXTRAPOLATE = ("auto", "clip", "free")
PATH = ("alphas_", "scores_", "hits_", "penalty_path_")
"""What choosing among several alphas leaves."""
ITERATED = ("convergence_", "n_iter_", "objective_", "gap_")
"""What a solver that iterates leaves."""


class KernelRegressor(MultiOutputMixin, RegressorMixin, AdditiveMachine):
    r"""Regression with a kernel, in time and memory linear in the number of rows.

    The learner for numbers. It minimises

    .. math:: \sum_i s_i\, \ell(y_i, \langle w, z_i\rangle + b) + \tfrac{\alpha}{2} \|w\|^2

    over the features z of rows with weights s, for every target by itself. With r the residual
    :math:`y - \langle w, z\rangle - b`, the loss is

    - ``"squared"``, :math:`r^2 / 2`: ridge regression for the mean. One pass sums :math:`Z^\top Z` and
      :math:`Z^\top Y` over blocks of rows, whose features are never held all at once; then
      :math:`(Z^\top Z + \alpha I)\,w = Z^\top Y` is solved, about the means where there is an intercept. Sums can be
      added to, merged and taken back: see ``partial_fit``, ``merge`` and ``forget``.
    - ``"huber"``, :math:`r^2 / 2` up to :math:`|r| = \delta` and :math:`\delta (|r| - \delta / 2)` beyond: the mean
      where a few targets are far off, and ridge regression where delta is large.
    - ``"quantile"``, :math:`\max(q r, (q - 1) r)`: the q-quantile of the targets; several give intervals.
    - ``"epsilon_insensitive"``, :math:`\max(0, |r| - \varepsilon)`: the median, where less than epsilon is no error.
    - ``"poisson"``, :math:`e^f - y f` with :math:`f = \langle w, z\rangle + b`: the mean of counts, :math:`e^f`.

    All but the first take the Newton method of :class:`KernelClassifier`, which goes over the rows a few dozen times.
    Corners of a loss are smoothed, ever less from stage to stage, until the objective of the loss itself is certain to
    be within ``tol`` of the least one.

    Parameters
    ----------
    kernel : Kernel, str, callable or None, default="auto"
        The kernel whose features are learned on: a kernel of :mod:`mercer.kernels`, text that describes one such as
        ``"gaussian(0.5)"``, a function of two rows, or "precomputed". "auto" tries Gaussian and Matern kernels of
        several bandwidths on at most 4,000 rows and takes the smoothest of the best, together with whatever else is
        left open: see ``choice_``. None is ``Gaussian("scale")``, which is tried on nothing. With "precomputed",
        ``fit`` takes the square kernel matrix in place of rows, and predictions take the values of new
        rows against those of ``fit``, of which only the columns ``map_.component_indices_`` are read. A function and
        "precomputed" need :class:`mercer.Nystrom`, which "auto" takes.
    n_components : int or None, default=None
        The number of features of the map, its width D. More features approximate the kernel better and take more
        time. None is 1024, and up to 4096 where kernel, penalty or columns are tried on some rows, doubling the
        features lowers the error there, and the fit stays within a budget of operations.
    map : str or FeatureMap, default="auto"
        The map that makes the features: "auto", the name of a map such as "RandomFourier", or a FeatureMap, which
        brings its own kernel, width and seed. "auto" is :class:`mercer.Nystrom` where the kernel is "auto" too, else
        the first choice of :func:`mercer.feature_map`; and Nystrom on all rows, which is exact, where no more than
        ``n_components`` of them differ. Where ``n_components`` and ``solver`` are left open too and there are up to
        twice as many rows as features, it is "exact" if a count of operations finds that no more expensive.
        "exact" is kernel ridge regression itself, with a coefficient for every row: for ``loss="squared"``, a kernel of
        :mod:`mercer.kernels` and as many rows as their kernel matrix, 8 n^2 bytes, has room for.
    loss : {"squared", "huber", "quantile", "epsilon_insensitive", "poisson"}, default="squared"
        What a residual costs, as above.
    alpha : float, sequence of floats, "gcv", "loo", "holdout" or "auto", default="auto"
        How strongly large coefficients are held back. With ``loss="squared"``, of several values the best by
        generalised cross-validation is taken. "gcv" tries 25 of them; "loo" takes the best of those by the exact error
        of leaving out one row with all of its weight, and "holdout" by the error on one row in five, which the seed of
        the map chooses; both need a second pass.

        Generalised cross-validation takes all rows to have the same leverage. Where columns have heavy tails or a few
        rows lie far out they do not, and it may choose next to no penalty. ``fit`` checks the alpha that was chosen on
        a sample of about 2,048 rows, each left out by itself, and warns where another alpha has a far smaller error on
        them: give "loo" there. With ``partial_fit``, ``merge`` and ``forget`` only sums are left of the rows,
        and nothing is checked.

        With other losses the features are made once, and each alpha, from the largest to the least, is fitted from the
        coefficients of the one before. Of several values that of the least mean loss on rows left out is taken: each by
        itself, by one Newton step from the coefficients of all, see :mod:`mercer.learn.fitting.penalty_path`. "loo"
        does so with eleven, from 1e-3 to 1e2, for a linear loss over the spread of the targets, and for "poisson" times
        their mean. "holdout" takes their mean loss on one row in five that is held out of these fits; all rows are then
        fitted with the best. There is no "gcv" for them.

        "auto" is "loo" for squares. For other losses, and solvers that take one alpha, it is that of least
        leave-one-out error in ridge regression on at most 4,000 rows, in the unit of the loss; 1 for a FeatureMap, a
        function and "precomputed", and where rows are few.
    delta : float or None, default=None
        With ``loss="huber"``, the residual beyond which it counts by its size and not by its square, in the unit of
        the targets. None is 1.35 standard deviations of the residuals, which are estimated as 1.4826 times their
        median size in a first fit; for that one, as the same of the targets about their median. Of several alphas the
        first fit takes the one in the middle.
    quantile : float or list of floats, default=0.5
        With ``loss="quantile"``, the share of targets that are to be below the predictions. Of a list all are learned
        at once, and predictions have a column for each. They do not cross: those of a row are put in order, which
        brings none further from its quantile.
    epsilon : float, default=0.1
        With ``loss="epsilon_insensitive"``, the residual up to which there is no error, in the unit of the targets.
    extrapolate : {"auto", "clip", "free"}, default="auto"
        What predictions may be on rows unlike those of ``fit``. "clip" keeps them between the least and the largest
        target that was learned from, and a tenth of that range beyond on either side: features of rows far away mean
        little, and what coefficients make of them can be anything. "free" leaves predictions as they are. "auto" clips
        them, unless a kernel that is linear, or a sum with a linear kernel, asks for a trend that goes on, or
        ``map="exact"`` for the predictions of the kernel machine itself. On landmarks of a kernel of the distance it
        also predicts rows outside the region of ``fit``, widened by a tenth, as the nearest rows on its surface: a wide
        kernel has not decayed there, and its large coefficients no longer cancel.
        :meth:`extrapolates` tells which rows are unlike those of ``fit``. Models from files of earlier versions do not
        know the range of their targets and are free.
    fit_intercept : bool, default=True
        Whether predictions have a constant, which is not regularised.
    solver : {"auto", "features", "landmarks", "wide"}, default="auto"
        "landmarks" is for :class:`mercer.Nystrom`, and one positive alpha where the loss is "squared": it works on
        kernel values at the landmarks, step by step, and makes no whitened features and no sums of their products,
        which takes D times less time where landmarks are many; ``map_`` then has ``whiten=False``. Losses with corners
        need the features of the rows that their smoothed corners reach, which are made in passing. There are no sums:
        ``partial_fit`` begins anew. "features" works on the features of the map: by sums over the rows where the loss
        is "squared", and step by step elsewhere. "wide", for any map, and one positive alpha where the loss is
        "squared", makes no second moments, whose memory is 4 D^2 bytes or more: it goes over the rows step by step,
        with the kernel matrix of a sample of them. "auto" takes whichever a count of operations finds cheaper, and
        "wide" where second moments do not fit in memory.
    tol : float, default=0.0001
        Losses that iterate stop when the objective is certain to be within this distance of the least one, relative to
        it, or when no step lowers it any more. A warning is given where the distance is not certain at the end. On
        landmarks, the rounding of float32 rows can hide a distance below 1e-3 of a loss with corners.
    max_iter : int, default=100
        The largest number of Newton steps, for a loss with corners in every stage; of steps of conjugate gradients
        there may be five times as many.
    memory : int, str or None, default=None
        How much memory the features may take where the loss iterates, in bytes or as text like "2GB". Within it they
        are kept between passes; where they would take more, they are made again in every pass. None is a quarter of
        the machine's memory.
    keep_statistics : bool, default=False
        Whether ``fit`` keeps the sums of ``loss="squared"``, which take 8 D^2 bytes: ``merge``, ``forget`` and
        standard deviations need them. ``partial_fit`` always does.
    preparation : {"auto", None}, default="auto"
        What is done to columns before the kernel sees them. With "auto", ``scale`` and ``missing`` are chosen by the
        rows where they are "auto"; and unless the kernel is given with its bandwidths, which makes it one for rows in
        their own units, heavy tails are tamed, rare levels share a column and constant columns are left out. None
        leaves rows as they are, and gaps are errors. ``preparation_.describe()`` tells what was done.
    columns : {"auto", "learned", None}, default="auto"
        Whether every column is multiplied by a scale of its own, which is learned on some 800 rows by leave-one-out,
        or, of more than 256 columns, taken from gradients. "auto" learns them where the kernel is "auto", and takes
        them where they lower the error on rows that were held out of everything. "learned" takes them in any case.
    scale : {"auto", "standard", "common", "unit", "minmax"} or None, default="auto"
        How rows are scaled before the map: columns of mean 0 and variance 1, all columns by the same factor, rows of
        norm 1, columns from 0 to 1, or as they are. "auto" is what suits the rows, by what they look like and, where
        the kernel is "auto", by trials; it is None for a kernel that is given with its bandwidths. Zeros of sparse rows
        stay zeros. Where columns have more than 512 levels in all, so do those of levels that fewer than one row in 32
        has.
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
    device : str or None, default=None
        Where the arithmetic is done: "cuda", or "cuda:1" and so on, for a GPU that torch can use (``mercer[gpu]``).
        None is the processor, unless the rows themselves are tensors on a GPU. The map is the same everywhere;
        predictions agree to the precision of the rows. Model files do not hold it. "torch:cpu" runs what is written
        for GPUs on the processor, to test it.
    callback : callable or None, default=None
        Called with a :class:`mercer.learn.Progress` after every block of rows, in every pass, and once when the
        coefficients are found. If it raises an error, ``fit`` ends with that error and nothing is fitted;
        ``partial_fit``, ``merge`` and ``forget`` leave everything as it was.

    Attributes
    ----------
    coef_ : ndarray of shape (D,) or (n_targets, D)
        The coefficients of the features; of a list of quantiles one row for each, of several targets one after another.
    intercept_ : float or ndarray of shape (n_targets,)
        The constants of the predictions.
    alpha_ : float
        The alpha that was taken.
    choice_ : Choice or None
        What trials on some of the rows have chosen: ``kernel``, ``scale``, ``alpha``, ``learned_columns``,
        ``n_components``, the errors on rows held out, and all ``trials``. None where rows are too few to choose by.
        There is none where nothing was tried.
    delta_ : ndarray of shape (n_targets,)
        The delta of ``loss="huber"`` for every target.
    quantiles_ : tuple of floats
        The quantiles that were learned, where ``quantile`` is a list.
    convergence_ : Report
        Where the loss iterates, how the solver came to its end: the objective after every step, or after every stage of
        a loss with corners, in units of the targets' spread; the passes over the rows; the distance to the least one.
    n_iter_ : int
        The number of steps of the solver, at least 1.
    objective_ : float
        The objective above at the end, summed over targets.
    gap_ : float
        How far it is at most above the least one, as a share of it; where the solver iterates, of several targets the
        largest. An estimate where ``solver_.name`` is "wide", or "landmarks" and the loss has no corners.
    penalty_path_ : PenaltyPath
        Where there were several alphas, from the largest to the least: ``penalties``, their ``scores``, ``objectives``
        and ``n_iter``, and the ``rule`` of the scores. Scores are the mean loss on new rows, as estimated, summed over
        targets: squared errors over the variance of the targets, other losses in units of their spread.
    alphas_ : ndarray of shape (n_alphas,)
        With ``loss="squared"``, the alphas that were tried, where there were several.
    scores_ : ndarray of shape (n_alphas, n_targets)
        The mean squared error that each of them would have on new rows, as estimated.
    solver_ : SolverCost
        The ``name`` of the solver that was taken, the operations that were ``expected`` of it, and its ``operations``
        by the passes that were made. Nothing is decided by time.
    statistics_ : Moments or None
        The sums over the rows, where they are kept.
    target_range_ : ndarray of shape (2, n_targets)
        The least and the largest target of the rows that were learned from.
    region_ : Region
        The region of these rows: the ``least`` and the ``most`` of every prepared column, see :meth:`extrapolates`.
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

    Bounds between which four of five targets are, and the median:

    >>> noisy = y + np.random.default_rng(1).normal(scale=0.3, size=2000)
    >>> model = KernelRegressor(n_components=64, loss="quantile", quantile=[0.1, 0.5, 0.9], random_state=0)
    >>> low, middle, high = model.fit(X[:1500], noisy[:1500]).predict(X[1500:]).T
    >>> bool(0.75 < np.mean((low <= noisy[1500:]) & (noisy[1500:] <= high)) < 0.85)
    True
    """

    can_be_exact = True
    _has_number_targets = True

    def __init__(
        self,
        kernel: KernelArgument = "auto",
        *,
        n_components: int | None = None,
        map: MapArgument = "auto",
        loss: LossName = "squared",
        alpha: PenaltyArgument = "auto",
        delta: float | None = None,
        quantile: float | Sequence[float] = 0.5,
        epsilon: float = 0.1,
        extrapolate: Literal["auto", "clip", "free"] = "auto",
        fit_intercept: bool = True,
        solver: Literal["auto", "features", "landmarks", "wide"] = "auto",
        tol: float = 1e-4,
        max_iter: int = 100,
        memory: MemoryArgument = None,
        keep_statistics: bool = False,
        preparation: str | None = "auto",
        columns: str | None = "auto",
        scale: str | None = "auto",
        missing: str = "auto",
        unknown: str = "error",
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
        self.loss = loss
        self.alpha = alpha
        self.delta = delta
        self.quantile = quantile
        self.epsilon = epsilon
        self.extrapolate = extrapolate
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.device = device
        self.keep_statistics = keep_statistics
        self.preparation = preparation
        self.columns = columns

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
        return self.fit_table(self.table_to_fit(X, y, sample_weight), FitContext(device=Device.of(X)))

    def fit_table(self, table: Table, context: FitContext) -> Self:
        if self._is_open:
            return self._fit_open(table, context, lambda machine, plan: machine._fit_plan(plan))
        return self._fit_settled(table, context, lambda machine, plan: machine._fit_plan(plan))

    def _fit_plan(self, plan: ScanPlan) -> None:
        """Learn by scans of a table, with arguments that are settled."""
        if is_exact(self):
            self._fit_exact(plan)
        elif self.iterates(plan.table.n_rows, plan.passes.context.memory):
            self._fit_loss(plan)
        else:
            rows = self._learn_map(self._learn_preparation(plan), True, plan)
            kept = KeptRows(self.map_.seed_, rows.n_rows, lambda y, first: by_column(checked_targets(y)))
            self._fit_sums(rows, None if is_number(self.alpha) or self._rule != GCV else kept)

    def _pilot_targets(self, block: Block) -> Matrix:
        targets = checked_targets(block.y)
        targets = targets.reshape(len(targets), -1)
        weight = np.ones(len(targets)) if block.weight is None else block.weight
        return Units.of(targets[weight > 0.0], weight[weight > 0.0], True).within(targets)

    _penalty_argument = "alpha"

    def _penalty_by_pilot(self, choice: Choice | None, targets: NDArray[Any] | None) -> Any:
        if choice is None:
            return 1.0
        if self.loss == "squared":
            leaves_out = targets is not None and self.solver in ("auto", "features")
            return LOO if leaves_out else choice.alpha
        return choice.alpha * self._curvature(targets, choice.trials[-1].error)

    def _penalties_given(self, targets: NDArray[Any]) -> Matrix | None:
        if isinstance(self.alpha, str):
            return None
        # Residuals are not known yet. Were they as small as they may become, the largest penalties would go unnoticed.
        return np.atleast_1d(np.asarray(self.alpha, dtype=np.float64)) / self._curvature(targets, 1.0)

    def _curvature(self, targets: NDArray[Any] | None, error: float) -> float:
        """How curved the loss is beside squares, where residuals have this error in units of the targets' variance."""
        if self.loss == "poisson":  # whose curvature is the mean
            return float(np.mean(np.asarray(targets, dtype=np.float64))) or 1.0
        if self.loss in WITH_CORNERS:  # which count a residual by its size and not by its square
            residual = float(np.std(np.asarray(targets, dtype=np.float64))) * float(np.sqrt(error))
            return 0.5 / (residual or 0.5)
        return 1.0

    def _penalty_by_rule(self, n_rows: int, memory: int | None) -> Any:
        by_rows_left_out = is_exact(self) or (self.solver in ("auto", "features") and not self.iterates(n_rows, memory))
        if self.loss == "squared" and by_rows_left_out:
            return LOO
        return None if self._can_be_tried else 1.0

    def iterates(self, n_rows: int, memory: int | None = None) -> bool:
        if is_exact(self):
            return False
        if self.loss != "squared" or works_on_landmarks(self, expected_map(self, n_rows), n_rows):
            return True
        return works_wide(self, Extent(known_width(self), n_rows, n_jobs=self.n_jobs), memory)

    def _suits_exactness(self, several_tasks: bool) -> bool:
        return self.loss == "squared" and not self.keep_statistics and self._rule != HOLDOUT

    @property
    def _n_factors(self) -> int:
        if is_number(self.alpha):
            return 1
        tried = N_ALPHAS if isinstance(self.alpha, str) else int(np.size(self.alpha))
        return 2 * tried + (2 if self._rule == GCV else 1)  # which leaves out rows to be checked

    @property
    def _penalty_beside_squares(self) -> float:
        return np.inf if isinstance(self.alpha, str) else self._least_alpha

    @property
    def has_one_penalty(self) -> bool:
        if is_open(self.alpha):  # a pilot gives one where no rows are left out
            return self.solver not in ("auto", "features")
        return is_number(self.alpha) and float(np.asarray(self.alpha)) > 0.0

    def _fit_exact(self, plan: ScanPlan) -> None:
        """Ridge regression in which every row has a coefficient."""
        found = AllTargets()
        plan.add("targets", found)
        draft = self._learn_preparation(plan)
        targets, weight = found.found()
        check_exact_values(draft.map)
        rows = ExactRows(self._prepared_rows(draft, plan), draft.seed, draft.map, self.n_jobs)
        ridge = exact_ridge(rows, targets, weight, self.alpha, bool(self.fit_intercept), left_out=False)
        beta, offset = ridge.solution.beta, ridge.solution.offset
        self._refuse_overflow(beta, offset)
        plan.passes.report.end()
        if ridge.tried is not None:
            self.alphas_, self.scores_ = ridge.tried.alphas, ridge.tried.scores
            self.penalty_path_ = path_of(self._rule, *ridge.tried, ridge.spread / float(weight.sum()))
        self.map_, self.alpha_, self.n_iter_ = ridge.map, ridge.alpha, 1
        self.objective_, self.gap_ = ridge.end
        self.solver_ = SolverCost.of_exact_squares(len(beta), self._n_factors)
        self.statistics_, self._precision = None, float(np.finfo(np.float64).eps)
        self.intercept_ = float(offset[0]) if self._single else offset
        self.region_ = Region.of(restored(ridge.map.parameters_.landmarks, ridge.map.n_features_in_))
        self.target_range_ = range_of(targets, weight)
        self.coef_ = beta[:, 0] if self._single else np.ascontiguousarray(beta.T)

    def _fit_loss(self, plan: ScanPlan) -> None:
        """Coefficients of least loss, by a solver that goes over the rows again and again."""
        found = AllTargets()
        plan.add("targets", found)
        draft = self._learn_preparation(plan)
        targets, weight = found.found()
        if self.loss == "poisson":
            check_counts(targets, weight, self._single)
        rows = self._prepared_rows(draft, plan)
        chosen = exact_map(self, rows) or draft.map
        levels = np.size(self.quantile) if self.loss == "quantile" else 1
        self._n_columns = targets.shape[1] * levels
        design: Design
        if works_on_landmarks(self, chosen, rows.n_rows):
            alpha = self._least_alpha / float(weight.sum()) if self.loss == "squared" else np.inf
            self.map_, design, _ = LandmarkFit.of(self, rows, draft.seed, self.n_columns, alpha).chosen(chosen)
        else:
            self.map_ = chosen.fit_rows(rows, draft.seed)
            plan.passes.report.expect(self._expected(rows.n_rows, self.map_.n_components_))
            design = features_of_rows(self, rows, self.n_columns)
        solution, columns, delta = self._least_loss(design, targets, weight)
        W, width = solution.W, self.map_.n_components_
        objective = columns.objective(W, width, design.products(W, "decision values"))
        coef, offset = columns.own(design.coefficients(W), width, bool(self.fit_intercept))
        self._refuse_overflow(coef, offset)
        plan.passes.report.end()
        if self.loss == "huber":
            self.delta_ = delta
        if self.loss == "quantile" and np.ndim(self.quantile):
            self.quantiles_ = tuple(np.asarray(self.quantile, dtype=np.float64).tolist())
        self.convergence_ = report = solution.report
        self.n_iter_, self.gap_, self.objective_ = max(1, report.n_iter), report.gap, objective
        self.solver_ = SolverCost.of(report)
        self.alpha_, self.statistics_ = columns.alpha, None
        self.target_range_ = range_of(targets, weight)
        self._keep_region(rows)
        self.intercept_ = float(offset[0]) if self._one_column else offset
        self.coef_ = coef[0] if self._one_column else coef

    def _least_loss(self, design: Design, targets: Matrix, weight: Matrix) -> tuple[Solution, Columns, Matrix]:
        """The solution, the columns of decision values under the alpha that is taken, and Huber's delta of each."""
        if not is_several(self.alpha):
            alpha = float(np.asarray(self.alpha))
            delta, start = self._delta_and_start(design, targets, weight, alpha)
            columns = self._columns(targets, weight, delta, alpha)
            return minimised(self, design, columns.loss, start, ADVICE)[0], columns, delta
        rule, alphas = rule_of(self.alpha), self._several(targets, weight)
        delta, _ = self._delta_and_start(design, targets, weight, alphas[len(alphas) // 2])
        columns = self._columns(targets, weight, delta, 1.0)
        path = PathFit(design, columns.loss, weight, self.map_.seed_, float(self.tol), int(self.max_iter))
        found = path.chosen([1.0 / alpha for alpha in alphas], rule)
        warn_unless_converged(found.solution.report, ADVICE)
        self.penalty_path_ = found.path(rule, alphas)
        assert isinstance(found.loss, TargetLoss)
        return found.solution, columns._replace(loss=found.loss, alpha=alphas[found.place]), delta

    def _several(self, targets: Matrix, weight: Matrix) -> tuple[float, ...]:
        """The alphas to choose from, which fall; those of a rule alone are in the unit that the loss has."""
        if not isinstance(self.alpha, str):
            return tuple(np.unique(np.asarray(self.alpha, dtype=np.float64))[::-1].tolist())
        unit = 1.0
        if self.loss == "poisson":
            unit = float((weight @ targets / weight.sum()).mean())
        elif self.loss in WITH_CORNERS:
            unit = 1.0 / float(Units.of(targets, weight, bool(self.fit_intercept)).spread.mean())
        return tuple(unit / strength for strength in STRENGTHS)

    def _columns(self, targets: Matrix, weight: Matrix, delta: Matrix, alpha: float) -> Columns:
        asked: dict[str, Any] = {"delta": delta, "quantile": self.quantile, "epsilon": float(self.epsilon)}
        return columns_of_loss(self.loss, targets, weight, alpha, bool(self.fit_intercept), **asked)

    def _delta_and_start(
        self, design: Design, targets: Matrix, weight: Matrix, alpha: float
    ) -> tuple[Matrix, Matrix | None]:
        """Huber's delta of every target and, where a first fit tells it, the coefficients of that one."""
        if self.loss != "huber" or self.delta is not None:
            return np.full(targets.shape[1], 0.0 if self.delta is None else float(self.delta)), None

        def make() -> tuple[NDArray[Any], ...]:
            centre = Units.of(targets[weight > 0.0], weight[weight > 0.0], bool(self.fit_intercept)).centre
            first = self._columns(targets, weight, default_delta(targets - centre, weight), alpha)
            W = solver_for(design, first.loss).minimise(float(self.tol), int(self.max_iter)).W
            delta = default_delta(first.residuals(design.products(W, "decision values")), weight)
            return delta, W, np.array([design.n_passes])

        checkpoint = design.passes.context.checkpoint
        delta, W, passes = make() if checkpoint is None else checkpoint.settled("delta", make)
        design.n_passes = int(passes[0])
        return delta, W

    def _keep_region(self, rows: PreparedRows, before: Region | None = None) -> None:
        super()._keep_region(rows, before)
        if rows.extremes is not None and rows.extremes.targets is not None:
            found = rows.extremes.targets
            if before is not None and hasattr(self, "target_range_"):
                found = found.joined(Region(*self.target_range_))
            self.target_range_ = np.stack(found)

    def _join_regions(self, other: Self) -> None:
        super()._join_regions(other)
        if hasattr(self, "target_range_") and hasattr(other, "target_range_"):
            self.target_range_ = np.stack(Region(*self.target_range_).joined(Region(*other.target_range_)))
        else:
            self.__dict__.pop("target_range_", None)

    @property
    def clips(self) -> bool:
        """Whether predictions are kept near the targets that were learned from."""
        if not hasattr(self, "target_range_"):
            return False
        if self.extrapolate != "auto":
            return self.extrapolate == "clip"
        return not (is_exact(self) or has_linear_term(self.map_.kernel_))

    @property
    def predicted_region(self) -> Region | None:
        """The region to whose surface rows outside are moved before they are predicted; None where they stay."""
        if self.extrapolate != "auto" or is_exact(self) or not hasattr(self, "region_"):
            return None
        return self.region_.widened() if self.map_.has_landmarks and decays(self.map_.kernel_) else None

    @property
    def has_one_target(self) -> bool:
        """Whether the targets of ``fit`` were one number for every row."""
        return self._single

    @property
    def _one_column(self) -> bool:
        """Whether predictions have one number for every row."""
        return self._single and not hasattr(self, "quantiles_")

    @available_if(can_add_rows)
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: WeightArgument = None, *, decay: float = 1.0
    ) -> Self:
        """Learn from more rows.

        The first call also does what :meth:`prepare` does, with its rows: scales, levels and bandwidths then stay.
        Not for ``alpha="loo"``, which looks at all rows twice, and for ``loss="squared"`` alone.

        Parameters
        ----------
        X, y, sample_weight : as for ``fit``
        decay : float, default=1.0
            What rows of earlier calls count from now on, as a share of what they counted before. A row that is n calls
            old then counts decay ** n: about half after h rows with ``decay=0.5 ** (len(X) / h)``, or after a time of h
            with ``decay=0.5 ** (elapsed / h)``. Where rows are to leave all at once, use :meth:`forget`, with the
            weight that they have come to as ``sample_weight``.
        """
        check_share("decay", decay)
        self._make_ready(X, y, sample_weight)
        return self._add(X, y, sample_weight, decay)

    @property
    def sums_suffice(self) -> bool:
        return self.loss == "squared" and self._rule in (GCV, OPEN) and not is_exact(self)

    @property
    def holds_rows(self) -> bool:
        return self.loss != "squared"

    @property
    def may_iterate(self) -> bool:
        return self.loss != "squared" or is_exact(self) or (self.has_one_penalty and not self.keep_statistics)

    @property
    def n_columns(self) -> int:
        """Columns of decision values, as far as the targets are known."""
        return getattr(self, "_n_columns", 1)

    @property
    def holds_all_features(self) -> bool:
        return False

    @property
    def _least_alpha(self) -> float:
        return 0.0 if isinstance(self.alpha, str) else float(np.min(self.alpha))

    def bytes_needed(self, extent: Extent, memory: int | None = None) -> int:
        if is_exact(self):
            return extent.exact_ridge()
        if works_on_landmarks(self, expected_map(self, extent.n_rows), extent.n_rows):
            return extent.landmarks(self.loss in WITH_CORNERS)
        if extent.n_rows and works_wide(self, extent, memory):
            return extent.wide(squared=self.loss == "squared")
        if self.loss != "squared":
            several = is_several(self.alpha) and rule_of(self.alpha) == LOO
            return extent.newton() + (extent.left_out() if several else 0)
        if is_number(self.alpha):
            return extent.sums(copies=3)
        return extent.sums(copies=5, exact=True)  # a decomposition works on two more

    def _expected(self, n_rows: int, width: int) -> list[Work]:
        if is_exact(self):
            return exact_works(n_rows, 1 if is_number(self.alpha) else N_ALPHAS)
        if self.loss != "squared":
            return [Work("features", features_work(n_rows, width)), *usual_works(n_rows, width, self.n_columns)]
        sums, solution = super()._expected(n_rows, width)
        if is_number(self.alpha):
            return [sums, solution]
        decomposition = Work("decomposition", DECOMPOSITION * float(width) ** 3)
        second = {LOO: "leave-one-out errors", HOLDOUT: "held-out sums"}
        again = [] if self.sums_suffice else [sums._replace(what=second[self._rule])]
        return [sums, decomposition, *again, Work("solution", float(width) ** 2)]

    def check_arguments(self) -> None:
        super().check_arguments()
        check_choice("loss", self.loss, LOSSES)
        if not is_open(self.alpha):
            check_alpha(self.loss, self.alpha)
        if is_exact(self) and (self.loss != "squared" or self.solver != "auto" or self.keep_statistics):
            raise ValueError(
                "map='exact' of a regressor is for loss='squared', solver='auto' and keep_statistics=False, found "
                f"loss={self.loss!r}, solver={self.solver!r} and keep_statistics={self.keep_statistics!r}"
            )
        if is_exact(self) and isinstance(self.alpha, str) and self.alpha == HOLDOUT:
            raise ValueError(
                "map='exact' leaves out every row by itself: expected a number, several, 'gcv' or 'loo' as "
                f"alpha, found {self.alpha!r}"
            )
        check_loss_arguments(self.delta, self.quantile, self.epsilon)
        check_choice("extrapolate", self.extrapolate, EXTRAPOLATE)
        check_choice("solver", self.solver, SOLVERS)
        check_positive("tol", self.tol)
        check_whole("max_iter", self.max_iter)
        as_bytes(self.memory)
        if self.solver == "wide" and not self.may_iterate:
            raise ValueError(
                "solver='wide' makes no sums over rows: give one positive alpha and keep_statistics=False, found "
                f"alpha={self.alpha!r} and keep_statistics={self.keep_statistics!r}"
            )
        if self.keep_statistics and self.loss != "squared":
            raise ValueError(f"keep_statistics is for loss='squared', found loss={self.loss!r}")

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
        return by_column(checked_targets(chunk.y)), chunk.weight

    def _solve(
        self,
        moments: Moments,
        rows: PreparedRows | None,
        report: Reporter | None,
        kept: KeptRows | None = None,
    ) -> Factor | None:
        intercept, centred = bool(self.fit_intercept), moments.centred(bool(self.fit_intercept))
        tried: dict[str, Any] = {}
        if is_number(self.alpha):
            alpha = float(np.asarray(self.alpha))
            coef, factor = solve_ridge(moments, alpha, intercept, self._precision)
        else:
            rule = self._rule
            given = None if isinstance(self.alpha, str) else np.asarray(self.alpha, dtype=np.float64)
            found, spread = self._tried(rule, given, moments, rows, report), np.diag(centred.squares)
            place = best_of(found.scores, spread)
            alpha = float(found.alphas[place])
            objectives = np.array([found.path.objective(one) for one in found.alphas.tolist()])
            path = path_of(rule, found.alphas, found.scores, objectives, spread / float(moments.weight[0]))
            tried = {"alphas_": found.alphas, "scores_": found.scores, "penalty_path_": path} | found.hits
            factor, coef = None, found.path.coefficients(alpha)
            if kept is not None:
                self._check_gcv("alpha", found, found.alphas, place, centred, kept.all())
            if rule == HOLDOUT:
                coef, factor = solve_ridge(moments, alpha, intercept, self._precision)
        if not np.isfinite(coef).all():
            raise ValueError("the coefficients overflow: scale the targets or the rows down")
        offset = centred.offset(coef)
        self._refuse_overflow(offset)
        if report is not None:
            report.end()
        for name in (*PATH, *ITERATED, "delta_", "quantiles_"):  # of a fit before
            self.__dict__.pop(name, None)
        self.__dict__.update(tried)
        self.alpha_, self.n_iter_ = alpha, 1
        self.objective_, self.gap_ = RidgeEnd.at(coef, alpha, centred)
        self.solver_ = self._cost(moments, None if is_number(self.alpha) else self._rule)
        self.intercept_ = float(offset[0]) if self._single else offset
        self.coef_ = coef[:, 0] if self._single else np.ascontiguousarray(coef.T)
        return factor

    @property
    def _rule(self) -> str:
        """How alpha is chosen where the loss is squared: of several values, by generalised cross-validation."""
        return self.alpha if isinstance(self.alpha, str) else GCV

    # -- model files ---------------------------------------------------------------------------------------------------

    learned_types: ClassVar[dict[str, Any]] = {
        "_single": bool,
        "_precision": float,
        "alpha_": float,
        "intercept_": float,
        "quantiles_": tuple[float, ...],
        "convergence_": Report,
        "n_iter_": int,
        "objective_": float,
        "gap_": float,
        "penalty_path_": PenaltyPath,
        "solver_": SolverCost,
        "choice_": Choice | None,
    }

    @property
    def _n_targets(self) -> int | None:
        return 1 if getattr(self, "_single", True) and not hasattr(self, "quantiles_") else None

    def array_layout(self) -> dict[str, Any]:
        width, targets = self.map_.n_components_, self._n_targets
        return super().array_layout() | {
            "coef_": floats(width) if targets == 1 else floats(None, width),
            "intercept_": floats(targets),
            "target_range_": floats(2, None),
            "delta_": floats(None, least=0.0),
            "alphas_": floats(None, least=0.0),
            "scores_": floats(None, targets, finite=False),
        }

    def _check_coefficients(self, targets: int) -> None:
        iterated = ITERATED if hasattr(self, "convergence_") or self.loss != "squared" else ("_precision",)
        self._refuse_unless(all(hasattr(self, name) for name in ("_single", "alpha_", "intercept_", *iterated)))
        levels = len(getattr(self, "quantiles_", (0.5,)))
        self._refuse_unless(targets % levels == 0)
        if hasattr(self, "target_range_"):  # which older files do not have
            least, most = self.target_range_
            self._refuse_unless(len(least) * levels == targets and bool((least <= most).all()))
        self._refuse_unless(np.ndim(self.intercept_) == np.ndim(self.coef_) - 1 and np.size(self.intercept_) == targets)
        self._refuse_unless(hasattr(self, "scores_") == hasattr(self, "alphas_"))
        if hasattr(self, "scores_"):
            self._refuse_unless(self.scores_.shape == (len(self.alphas_), targets))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = is_narrow(self) or self.loss == "quantile"
        tags.target_tags.positive_only = self.loss == "poisson"
        return tags

    # -- predictions ---------------------------------------------------------------------------------------------------

    @in_kind_of_rows
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The targets of rows: their means, or their quantiles.

        Parameters
        ----------
        X : dense or CSR matrix, pandas or polars frame, or a table
        return_std : bool
            Whether to give the standard deviation of a new observation too: the noise about the fit, and what the rows
            of ``fit`` leave open of the coefficients. Needs the sums of ``loss="squared"``: ``keep_statistics=True``,
            or ``partial_fit``.

        Returns
        -------
        y : float64 array of shape (n_rows,) or (n_rows, n_targets); with ``return_std`` a tuple with the deviations
            With a list of quantiles the last axis has one entry for each, in their order. See ``extrapolate`` for
            what they are on rows unlike those of ``fit``.
        """
        check_is_fitted(self)
        if return_std and self.loss != "squared":
            raise ValueError(f"standard deviations need loss='squared', found loss={self.loss!r}")
        y = self._predicted(X, np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_))
        y = y[:, 0] if self._single else y
        if hasattr(self, "quantiles_"):
            return y
        return (y, self._deviations(X)) if return_std else y

    def _predicted(self, X: Any, coef: Matrix, intercept: Matrix) -> Matrix:
        """Predictions by coefficients, each within the range of its targets."""
        # In float64, like the targets of fit: float32 has no digits left beside an intercept of 1e9.
        size = self.size_of_predictions()
        size = None if size is None else np.resize(size, len(coef))
        y = self.linear_values(X, coef, intercept, np.float64, size, within=self.predicted_region)
        if self.loss == "poisson":
            with np.errstate(over="ignore" if self.clips else "warn"):
                y = np.exp(y)
        if hasattr(self, "quantiles_"):
            y = without_crossings(y.reshape(len(y), -1, len(self.quantiles_)), self.quantiles_)
        if self.clips:
            least, most = Region(*self.target_range_).widened()
            y = np.clip(y, *(one if y.ndim == 2 else one[:, None] for one in (least, most)))
        return y

    def predict_by(self, coef: Matrix, intercept: Matrix, X: Any) -> Matrix:
        """What other coefficients of the same features predict, for one target.

        Parameters
        ----------
        coef : ndarray of shape (n_machines, D)
        intercept : ndarray of shape (n_machines,)
        X : dense or CSR matrix, pandas or polars frame, or a table

        Returns
        -------
        ndarray of shape (n_rows, n_machines)
        """
        check_is_fitted(self)
        return self._predicted(X, coef, intercept)

    def size_of_predictions(self) -> Matrix | None:
        """How large they are, before a link, one number per row of coefficients; None where nothing tells."""
        if not hasattr(self, "target_range_"):
            return None
        least, most = self.target_range_
        levels = len(getattr(self, "quantiles_", (0.5,)))
        return np.ones_like(least) if self.loss == "poisson" else np.repeat(most - least, levels)

    def score(self, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> float:
        """The coefficient of determination of the predictions.

        With ``loss="quantile"`` that of its loss: how much less it is than for the quantile of all targets, as a share;
        of several quantiles the mean.

        Parameters
        ----------
        X, y, sample_weight : as for ``fit``
        """
        if isinstance(X, Table):
            y, predicted, sample_weight = self.observed(X, self.predict)
        else:
            predicted, y = to_numpy(self.predict(X)), to_numpy(y)
        if self.loss != "quantile":
            return float(r2_score(y, predicted, sample_weight=sample_weight))
        levels = np.atleast_1d(np.asarray(self.quantile, dtype=np.float64)).tolist()
        each = np.moveaxis(predicted, -1, 0) if hasattr(self, "quantiles_") else [predicted]
        scores = [
            d2_pinball_score(y, one, alpha=level, sample_weight=sample_weight)
            for one, level in zip(each, levels, strict=True)
        ]
        return float(np.mean(scores))

    def posterior(self) -> Posterior:
        """What the rows of ``fit`` leave open of the coefficients; needs their sums, as ``return_std`` does.

        Returns
        -------
        Posterior
        """
        posterior = Posterior.of(self._held(), self.alpha_, bool(self.fit_intercept), self._precision)
        if posterior is None:
            raise ValueError(
                f"standard deviations need a larger alpha than {self.alpha_:g}: the features are dependent"
            )
        return posterior

    def _deviations(self, X: Any) -> NDArray[Any]:
        posterior = self.posterior()
        deviations = self._by_rows(X, lambda rows, first: posterior.deviations(self.features_of(rows, first)))
        return deviations[:, 0] if self._single else deviations


def check_alpha(loss: str, alpha: PenaltyArgument) -> None:
    """A number that is not negative, several, or a rule; where the loss iterates, positive ones."""
    if loss != "squared":
        if isinstance(alpha, str) and alpha == GCV:
            raise ValueError(f"alpha='gcv' is for loss='squared', found loss={loss!r}: take 'loo' or 'holdout'")
        check_penalty("alpha", alpha, (LOO, HOLDOUT))
        return
    if isinstance(alpha, str):
        check_choice("alpha", alpha, RULES)
        return
    values = np.atleast_1d(np.asarray(alpha, dtype=np.float64)) if not isinstance(alpha, bool) else np.zeros(0)
    if values.ndim != 1 or len(values) == 0 or not (np.isfinite(values).all() and (values >= 0.0).all()):
        raise ValueError(f"alpha must be a number of at least 0, several, or one of {RULES}, found {alpha!r}")


def by_column(Y: Matrix) -> Matrix:
    """Targets, one column each."""
    return Y.reshape(len(Y), -1)


def range_of(targets: Matrix, weight: Matrix) -> Matrix:
    """The least and the largest target of the rows that count."""
    counted = targets[weight > 0.0]
    return np.stack([counted.min(axis=0), counted.max(axis=0)])


def path_of(rule: str, alphas: Matrix, scores: Matrix, objectives: Matrix, variance: Matrix) -> PenaltyPath:
    """What several alphas have found, from the largest to the least; scores are in units of the targets' variance."""
    order = np.argsort(-alphas, kind="stable")
    penalties, means, least = (tuple(part[order].tolist()) for part in (alphas, relative(scores, variance), objectives))
    return PenaltyPath(rule, penalties, means, least, (1,) * len(alphas))


def without_crossings(y: Matrix, levels: Sequence[float]) -> Matrix:
    """Quantiles, of these levels along the last axis, in the order of their levels."""
    ranks = np.argsort(np.argsort(levels, kind="stable"), kind="stable")
    return np.sort(y, axis=-1)[..., ranks]
