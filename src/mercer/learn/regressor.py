"""KernelRegressor: linear regression on features, in one pass over the rows if the loss is squared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import d2_pinball_score, r2_score
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._checks import check_choice, check_positive, check_share, check_whole, is_number
from .._memory import as_bytes
from .._random import RandomState
from ..data import Table
from ..data.block import Block
from ..gpu.device import Device
from ..gpu.exchange import in_kind_of_rows
from ..maps.array_layouts import floats
from ..maps.nystrom_parameters import restored
from ..scale import lazily
from .argument_types import KernelArgument, MapArgument, MemoryArgument, PenaltyArgument, WeightArgument
from .context import FitContext
from .estimates.memory_estimates import Extent, known_width
from .estimates.time_forecast import DECOMPOSITION, Work, exact_works, features_work, usual_works
from .features.design import Design
from .features.prepared_rows import Chunk, PreparedRows
from .fitting.exact_ridge import exact_ridge
from .fitting.exact_rows import ExactRows
from .fitting.landmark_fit import LandmarkFit
from .fitting.loss_fit import features_of_rows
from .fitting.penalty_path import (
    EVIDENCE,
    GCV,
    HOLDOUT,
    LOO,
    PenaltyPath,
    check_penalty,
    is_several,
    rule_of,
)
from .fitting.target_fit import alphas_to_try, least_target_loss
from .gaussian_process import GaussianProcessMachine
from .left_out.calibration import KeptRows
from .map_choice import OPEN, exact_map, expected_map, is_exact, is_narrow, is_open
from .moment_machine import Factor, can_add_rows
from .passes.fit_tasks import tells_callbacks
from .passes.progress import Progress, Reporter
from .passes.scan_plan import ScanPlan
from .pilot.choice import Choice
from .solvers.choice import WITH_CORNERS, SolverCost, check_exact_values, works_on_landmarks, works_wide
from .solvers.evidence import Evidence, most_evident
from .solvers.newton import Report
from .solvers.ridge import N_ALPHAS, RidgeEnd, best_of, relative, solve_ridge
from .statistics import Moments
from .targets.regression_losses import (
    LOSSES,
    check_counts,
    check_loss_arguments,
)
from .targets.regression_targets import AllTargets, Units, checked_targets
from .training_rows.region import Region, decays, has_linear_term

Matrix = NDArray[np.float64]

LossName = Literal["squared", "huber", "quantile", "epsilon_insensitive", "poisson"]

LANDMARKS, WIDE = "landmarks", "wide"
SOLVERS = ("auto", "features", LANDMARKS, WIDE)
RULES = (GCV, LOO, HOLDOUT, EVIDENCE)
EXTRAPOLATE = ("auto", "clip", "free")
PATH = ("alphas_", "scores_", "hits_", "penalty_path_")
"""The attributes that a choice among several alphas sets."""
ITERATED = ("convergence_", "n_iter_", "objective_", "gap_")
"""The attributes that an iterative solver sets."""


class KernelRegressor(MultiOutputMixin, RegressorMixin, GaussianProcessMachine):
    r"""Regression with a kernel, in time and memory linear in the number of rows.

    Use it to predict numbers. It minimises

    .. math:: \sum_i s_i\, \ell(y_i, \langle w, z_i\rangle + b) + \tfrac{\alpha}{2} \|w\|^2

    over the features z of rows with weights s, for each target separately. With r the residual :math:`y - \langle w,
    z\rangle - b`, the loss is

    - ``"squared"``, :math:`r^2 / 2`: ridge regression for the mean. One pass sums :math:`Z^\top Z` and :math:`Z^\top Y`
      over blocks of rows, whose features are never all in memory; then :math:`(Z^\top Z + \alpha I)\,w = Z^\top Y` is
      solved, centred about the means if there is an intercept. The sums can be extended, merged and reduced: see
      ``partial_fit``, ``merge`` and ``forget``.
    - ``"huber"``, :math:`r^2 / 2` up to :math:`|r| = \delta` and :math:`\delta (|r| - \delta / 2)` beyond: for the mean
      if a few targets are outliers. With a large delta it is ridge regression.
    - ``"quantile"``, :math:`\max(q r, (q - 1) r)`: for the q-quantile of the targets; several quantiles give intervals.
    - ``"epsilon_insensitive"``, :math:`\max(0, |r| - \varepsilon)`: for the median, if errors below epsilon do not
      matter.
    - ``"poisson"``, :math:`e^f - y f` with :math:`f = \langle w, z\rangle + b`: for the mean of counts, :math:`e^f`.

    All losses except the first use the Newton method of :class:`KernelClassifier`, which passes over the rows a few
    dozen times. Corners of a loss are smoothed, less and less from stage to stage, until the objective of the loss
    itself is certain to be within ``tol`` of its minimum.

    Parameters
    ----------
    kernel : Kernel, str, callable or None, default="auto"
        The kernel: a kernel of :mod:`mercer.kernels`, text that describes one such as ``"gaussian(0.5)"``, a function
        of two rows, or "precomputed". "auto" tries Gaussian and Matern kernels with several bandwidths on at most 4,000
        rows and chooses the smoothest of the best, together with everything else that is left open; see ``choice_``.
        None means ``Gaussian("scale")``, without any trials. With "precomputed", ``fit`` expects the square kernel
        matrix in place of rows, and predictions expect the kernel values of new rows against the training rows, of
        which only the columns ``map_.component_indices_`` are used. A function and "precomputed" require
        :class:`mercer.Nystrom`, which ``map="auto"`` uses.
    n_components : int or None, default=None
        The number of features of the map, D. More features approximate the kernel better and take more time. None means
        1024, and up to 4096 if kernel, penalty or column scales are chosen by trials, doubling the features reduces the
        error in them, and the fit stays within a budget of operations.
    map : str or FeatureMap, default="auto"
        The map that computes the features: "auto", the name of a map such as "RandomFourier", or a FeatureMap, which
        has its own kernel, width and seed. "auto" is :class:`mercer.Nystrom` if the kernel is "auto" too, and otherwise
        the first choice of :func:`mercer.feature_map`. If at most ``n_components`` rows are distinct, it is Nystrom
        with all of them as landmarks, which is exact. If ``n_components`` and ``solver`` are left open too and there
        are at most twice as many rows as features, it is "exact" unless a count of operations finds that more
        expensive.

        "exact" is kernel ridge regression itself, with a coefficient for every row. It requires ``loss="squared"``, a
        kernel of :mod:`mercer.kernels` and enough memory for the kernel matrix of the rows, 8 n^2 bytes.
    loss : {"squared", "huber", "quantile", "epsilon_insensitive", "poisson"}, default="squared"
        The loss of a residual, as above.
    alpha : float, sequence of floats, "gcv", "loo", "holdout", "evidence" or "auto", default="auto"
        The strength of the regularisation. With ``loss="squared"``, the best of several values is chosen by generalised
        cross-validation. "gcv" tries 25 values. "loo" chooses the best of these by the exact error of leaving out one
        row with all of its weight, and "holdout" by the error on one row in five, chosen by the seed of the map; both
        need a second pass. "evidence" chooses the alpha under which the targets are most likely, if they are a Gaussian
        process plus noise: see ``log_marginal_likelihood_``. It needs no second pass.

        Generalised cross-validation assumes that all rows have the same leverage. If columns have heavy tails or a few
        rows are outliers, this is wrong, and it may choose almost no penalty. Therefore ``fit`` checks the chosen alpha
        on a sample of about 2,048 rows, each left out by itself, and issues a warning if another alpha has a far
        smaller error on them: use "loo" then. ``partial_fit``, ``merge`` and ``forget`` only have sums of the rows, and
        check nothing.

        With other losses, features are computed once, and each alpha, from the largest to the smallest, is fitted
        starting from the coefficients of the previous one. Of several values the one with the smallest mean loss on
        left-out rows is chosen; each row is left out by itself, by one Newton step from the coefficients of all rows,
        see :mod:`mercer.learn.fitting.penalty_path`. "loo" tries eleven values from 1e-3 to 1e2, divided by the spread
        of the targets for a linear loss, and multiplied by their mean for "poisson". "holdout" uses the mean loss on
        one row in five, which is held out of these fits; finally all rows are fitted with the best value. "gcv" and
        "evidence" are not available for these losses.

        "auto" is "loo" for the squared loss. For other losses, and for solvers that accept a single alpha, it is the
        value with the smallest leave-one-out error in ridge regression on at most 4,000 rows, converted to the units of
        the loss. It is 1 for a FeatureMap, a function, "precomputed", and very few rows.
    delta : float or None, default=None
        With ``loss="huber"``, the residual beyond which the loss is linear instead of quadratic, in units of the
        targets. None means 1.35 standard deviations of the residuals, estimated as 1.4826 times their median absolute
        value in a first fit; the delta of that fit is found in the same way from the targets about their median. With
        several alphas the first fit uses the middle one.
    quantile : float or list of floats, default=0.5
        With ``loss="quantile"``, the share of targets that should be below the predictions. The quantiles of a list are
        all learned at once, and predictions have one column for each. They do not cross: the predictions for a row are
        sorted, which does not make any of them worse.
    epsilon : float, default=0.1
        With ``loss="epsilon_insensitive"``, the residual up to which there is no loss, in units of the targets.
    extrapolate : {"auto", "clip", "free"}, default="auto"
        How rows unlike the training rows are predicted. "clip" keeps predictions between the smallest and the largest
        target of the training rows, plus a tenth of that range on either side, because features of remote rows mean
        little and coefficients can turn them into any value. "free" leaves predictions as they are. "auto" clips them,
        unless the kernel is linear or a sum with a linear kernel, which implies that trends continue, or
        ``map="exact"`` requests the predictions of the kernel machine itself. On landmarks of a kernel of the distance,
        "auto" also predicts rows outside the region of ``fit``, widened by a tenth, like the nearest rows on its
        surface: a wide kernel has not decayed there, and its large coefficients no longer cancel. :meth:`extrapolates`
        shows which rows are unlike the training rows. Model files of earlier versions do not contain the range of the
        targets, and their predictions are not clipped.
    fit_intercept : bool, default=True
        Whether predictions have a constant term, which is not regularised.
    solver : {"auto", "features", "landmarks", "wide"}, default="auto"
        - "features" uses the features of the map: by sums over the rows if the loss is "squared", and iteratively
          otherwise.
        - "landmarks" is for :class:`mercer.Nystrom`. It works iteratively on kernel values at the landmarks and
          computes no whitened features and no sums of their products, which takes D times less time if there are many
          landmarks. ``map_`` then has ``whiten=False``, and there are no sums, so that ``partial_fit`` starts from the
          beginning. Losses with corners need the features of the rows near their smoothed corners, which are computed
          along the way. With ``keep_statistics=True`` it is "features".
        - "wide" is for any map. In place of second moments, which take at least 4 D^2 bytes, it works iteratively on
          the rows with the kernel matrix of a sample of them. With these two, every alpha must be positive, and
          several alphas are chosen as with other losses if the loss is "squared": "gcv" is then "loo", and "evidence"
          is refused.
        - "auto" uses the cheapest by a count of operations, and "wide" if second moments do not fit in memory.
    tol : float, default=0.0001
        Iterative solvers stop when the objective is certain to be within this distance of its minimum, relative to the
        minimum, or when no step reduces it any further. A warning is issued if the distance is not certain at the end.
        On landmarks, the rounding of float32 rows can hide a distance below 1e-3 for a loss with corners.
    max_iter : int, default=100
        The largest number of Newton steps, per stage for a loss with corners; there may be five times as many steps of
        conjugate gradients.
    memory : int, str or None, default=None
        The largest amount of memory for features if the solver iterates, in bytes or as text like "2GB". Features that
        fit are kept between passes; otherwise they are computed again in every pass. None means a quarter of the
        machine's memory.
    keep_statistics : bool, default=False
        Whether ``fit`` keeps the sums of ``loss="squared"``, which take 8 D^2 bytes: ``merge``, ``forget`` and standard
        deviations need them. ``partial_fit`` always does.
    preparation : {"auto", None}, default="auto"
        What is done to columns before the kernel sees them. With "auto", ``scale`` and ``missing`` are chosen by the
        rows if they are "auto"; and unless the kernel is given with its bandwidths, and therefore refers to rows in
        their own units, heavy tails are tamed, rare levels are pooled and constant columns are dropped. None leaves
        rows as they are and refuses missing values. ``preparation_.describe()`` says what was done.
    columns : {"auto", "learned", None}, default="auto"
        Whether each column is multiplied by its own scale, learned from some 800 rows by leave-one-out or, for
        more than 256 columns, computed from gradients. "auto" learns these scales if the kernel is "auto", and uses
        them if they reduce the error on rows held out from everything else. "learned" uses them in any case.
    scale : {"auto", "standard", "common", "log", "unit", "minmax"} or None, default="auto"
        How rows are scaled before the map: columns to mean 0 and variance 1 ("standard"), all columns by the same
        factor ("common"), the same after asinh in one unit for all columns ("log", a logarithm that keeps 0 and signs,
        for counts and amounts), rows to norm 1 ("unit"), columns to the range from 0 to 1 ("minmax"), or not at all
        (None). "auto" chooses by the values in the rows and, if the kernel is "auto", by trials; for a kernel that is
        given with its bandwidths it means None. Zeros of sparse rows stay zeros. If columns have more than 512 levels
        in total, so do zeros in the columns of rare levels, found in fewer than one row in 32.
    missing : {"auto", "error", "mean", "indicator"}, default="auto"
        How missing values are treated: "error" refuses them, "mean" fills them with the mean of their column, and
        "indicator" also adds a column that marks them. In a column of levels, the frequencies of the levels take the
        place of a missing one, except where zeros stay zeros (see ``scale``). "auto" is "indicator", with a warning
        about missing values in columns that had none in ``fit``.
    unknown : {"auto", "error", "ignore"}, default="auto"
        What to do with a level that ``fit`` has not seen: "error" refuses it, and "ignore" treats it as a rare level if
        the rare levels of its column are pooled, and as none of the known levels otherwise. "auto" is "ignore", with a
        warning in the second case.
    dates : {"auto", "number", "parts"}, default="auto"
        How dates in data frames and files become numbers: "number" is the number of days since 1970-01-01, midnight
        UTC, with a fraction for the time of day; "parts" adds the year, month (1 to 12), day of the month, weekday
        (Monday is 0) and hour, without which weekends and seasons cannot be learned. "auto" is "parts" if columns are
        prepared automatically (see ``preparation``), and otherwise "number". Durations and times of day always become
        numbers of days.
    random_state : int, Generator, RandomState or None, default=None
        The seed of the map. Equal integers give equal models.
    n_jobs : int or None, default=None
        The number of threads. None means as many as BLAS may use, -1 one per core.
    device : str or None, default=None
        Where to compute: "cuda", "cuda:1" and so on for a GPU that torch can use (``mercer[gpu]``). None means the CPU,
        unless the rows themselves are tensors on a GPU. The map is the same everywhere, and predictions agree to the
        precision of the rows. Model files do not contain it. "torch:cpu" runs the code for GPUs on the CPU, for tests.
    callback : callable or None, default=None
        A function that is called with a :class:`mercer.learn.Progress` after every block of rows, in every pass, and
        once when the coefficients are known. If it raises an error, ``fit`` ends with that error and nothing is fitted;
        ``partial_fit``, ``merge`` and ``forget`` then change nothing.

    Attributes
    ----------
    coef_ : ndarray of shape (D,) or (n_targets, D)
        The coefficients of the features; for a list of quantiles one row for each, with several targets one after
        another.
    intercept_ : float or ndarray of shape (n_targets,)
        The constants of the predictions.
    alpha_ : float
        The alpha that was used.
    choice_ : Choice or None
        What trials on some of the rows have chosen: ``kernel``, ``scale``, ``alpha``, ``learned_columns``,
        ``n_components``, the errors on held-out rows, and all ``trials``. None if there were too few rows for trials.
        The attribute does not exist if nothing was left open.
    column_scales_ : ndarray or None
        The learned scales by which prepared columns are multiplied. None if none are used.
    delta_ : ndarray of shape (n_targets,)
        The delta of ``loss="huber"`` for every target.
    quantiles_ : tuple of floats
        The quantiles that were learned, if ``quantile`` is a list.
    convergence_ : Report
        If the solver iterates, how it converged: the objective after every step, or after every stage of a loss with
        corners, in units of the targets' spread; the passes over the rows; the distance from the minimum.
    n_iter_ : int
        The number of steps of the solver, at least 1.
    objective_ : float
        The final value of the objective above, summed over targets.
    gap_ : float
        An upper bound of its distance from the minimum, relative to the minimum; the largest of several targets if the
        solver iterates. It is an estimate if ``solver_.name`` is "landmarks" and the loss has no corners, and may be
        one if it is "wide" and the loss is "squared".
    penalty_path_ : PenaltyPath
        If there were several alphas, from the largest to the smallest: ``penalties``, their ``scores``, ``objectives``
        and ``n_iter``, and the ``rule`` behind the scores. Scores estimate the mean loss on new rows, summed over
        targets: losses in units of the targets' spread or, unless the solver iterates, squared errors relative to their
        variance.
    alphas_ : ndarray of shape (n_alphas,)
        With ``loss="squared"``, the alphas that were tried, if there were several, unless the solver iterates.
    scores_ : ndarray of shape (n_alphas, n_targets)
        The estimated mean squared error of each of them on new rows.
    log_marginal_likelihood_ : float
        With sums and a positive alpha, the logarithm of the density of the targets, if they are a Gaussian process
        plus noise. The covariance of the process is the kernel of the features times ``noise / alpha_``, and the noise
        has the variance under which the targets are most likely. A larger value supports a kernel, a bandwidth or
        columns. The constant term has a flat prior; for several targets it is the sum. It does not exist if features
        are linearly dependent, or targets do not vary.
    solver_ : SolverCost
        The ``name`` of the solver that was used, the number of operations that was ``expected`` of it, and its
        ``operations`` by the passes that were made. Time plays no part in the choice.
    statistics_ : Moments or None
        The sums over the rows, if they are kept.
    target_range_ : ndarray of shape (2, n_targets)
        The smallest and the largest target of the training rows.
    region_ : Region
        The region of these rows: the smallest (``least``) and largest (``most``) value of every prepared column; see
        :meth:`extrapolates`.
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
    >>> from mercer.learn import KernelRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(2000, 2))
    >>> y = np.sin(X[:, 0]) * np.cos(X[:, 1])
    >>> model = KernelRegressor(n_components=256, alpha="gcv", random_state=0).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.99)
    True

    Intervals that contain four targets out of five, and the median:

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
        unknown: str = "auto",
        dates: str = "auto",
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

    @tells_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> Self:
        """Fit the regressor to rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), or None, default=None
            The targets. None if X is a table, which has its own.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights of the rows. A row of weight 2 counts as two rows.

        Returns
        -------
        KernelRegressor
            The fitted regressor itself.
        """
        return self.fit_table(self.table_to_fit(X, y, sample_weight), FitContext(device=Device.of(X)))

    def fit_table(self, table: Table, context: FitContext) -> Self:
        if self._is_open:
            return self._fit_open(table, context, lambda machine, plan: machine._fit_plan(plan))
        return self._fit_settled(table, context, lambda machine, plan: machine._fit_plan(plan))

    def _fit_plan(self, plan: ScanPlan) -> None:
        """Fit by scans of a table, with settled arguments."""
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

    def _penalty_by_pilot(self, choice: Choice | None, targets: NDArray[Any] | None) -> PenaltyArgument:
        if choice is None:
            return 1.0
        if self.loss == "squared":
            leaves_out = targets is not None and self.solver in ("auto", "features")
            return LOO if leaves_out else choice.alpha
        return choice.alpha * self._curvature(targets, choice.trials[-1].error)

    def _penalties_given(self, targets: NDArray[Any]) -> Matrix | None:
        if isinstance(self.alpha, str):
            return None
        # Residuals are not known yet. If they were assumed to be very small, the largest penalties would be missed.
        return np.atleast_1d(np.asarray(self.alpha, dtype=np.float64)) / self._curvature(targets, 1.0)

    def _curvature(self, targets: NDArray[Any] | None, error: float) -> float:
        """Return the curvature of the loss relative to squares; the error is in units of the targets' variance."""
        if self.loss == "poisson":  # its curvature is the mean
            return float(np.mean(np.asarray(targets, dtype=np.float64))) or 1.0
        if self.loss in WITH_CORNERS:  # linear in the residual instead of quadratic
            residual = float(np.std(np.asarray(targets, dtype=np.float64))) * float(np.sqrt(error))
            return 0.5 / (residual or 0.5)
        return 1.0

    def _penalty_by_rule(self, n_rows: int, memory: int | None) -> PenaltyArgument | None:
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
        return self.loss == "squared" and not self.keep_statistics and self._rule not in (HOLDOUT, EVIDENCE)

    @property
    def _n_factors(self) -> int:
        if is_number(self.alpha):
            return 1
        tried = N_ALPHAS if isinstance(self.alpha, str) else int(np.size(self.alpha))
        return 2 * tried + (2 if self._rule == GCV else 1)  # gcv also leaves out rows for its check

    @property
    def _penalty_beside_squares(self) -> float:
        return np.inf if isinstance(self.alpha, str) else self._least_alpha

    @property
    def has_one_penalty(self) -> bool:
        """Whether there is a single positive penalty, so that none has to be chosen from sums over the rows."""
        if is_open(self.alpha):  # a pilot chooses one if no rows are left out
            return self.solver not in ("auto", "features")
        return is_number(self.alpha) and float(np.asarray(self.alpha)) > 0.0

    def _fit_exact(self, plan: ScanPlan) -> None:
        """Fit ridge regression with a coefficient for every row."""
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
        """Fit coefficients with the smallest loss, by an iterative solver."""
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
            least = alphas_to_try(self, targets, weight)[-1] if is_several(self.alpha) else self._least_alpha
            alpha = least / float(weight.sum()) if self.loss == "squared" else np.inf
            self.map_, design, _ = LandmarkFit.of(self, rows, draft.seed, self.n_columns, alpha).chosen(chosen)
        else:
            self.map_ = chosen.fit_rows(rows, draft.seed)
            plan.passes.report.expect(self._expected(rows.n_rows, self.map_.n_components_))
            design = features_of_rows(self, rows, self.n_columns)
        solution, columns, delta, path = least_target_loss(self, design, targets, weight)
        W, width = solution.W, self.map_.n_components_
        objective = columns.objective(W, width, design.products(W, "decision values"))
        coef, offset = columns.own(design.coefficients(W), width, bool(self.fit_intercept))
        self._refuse_overflow(coef, offset)
        plan.passes.report.end()
        if path is not None:
            self.penalty_path_ = path
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
        """Whether predictions are kept near the training targets."""
        if not hasattr(self, "target_range_"):
            return False
        if self.extrapolate != "auto":
            return self.extrapolate == "clip"
        return not (is_exact(self) or has_linear_term(self.map_.kernel_))

    @property
    def predicted_region(self) -> Region | None:
        """The region to whose surface rows outside are moved before they are predicted; None if they are not moved."""
        if self.extrapolate != "auto" or is_exact(self) or not hasattr(self, "region_"):
            return None
        return self.region_.widened() if self.map_.has_landmarks and decays(self.map_.kernel_) else None

    @property
    def has_one_target(self) -> bool:
        """Whether the targets of ``fit`` were one number for every row."""
        return self._single

    @property
    def _one_column(self) -> bool:
        """Whether predictions have one number per row."""
        return self._single and not hasattr(self, "quantiles_")

    @available_if(can_add_rows)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: WeightArgument = None, *, decay: float = 1.0) -> Self:
        """Learn from more rows.

        The first call also does what :meth:`prepare` does, with its rows: scales, levels and bandwidths then stay
        fixed. It requires ``loss="squared"``, and is not available for ``alpha="loo"``, which needs all rows twice.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), or None, default=None
            The targets. None if X is a table, which has its own.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights of the rows. A row of weight 2 counts as two rows.
        decay : float, default=1.0
            How much the rows of earlier calls count from now on, as a share of what they counted before. A row that is
            n calls old then counts decay ** n. Set ``decay=0.5 ** (len(X) / h)`` to let a row count half after h rows,
            or ``decay=0.5 ** (elapsed / h)`` after a time of h. To drop rows at once, call :meth:`forget` with the
            weights that they have by then.

        Returns
        -------
        KernelRegressor
            The regressor itself.
        """
        check_share("decay", decay)
        self._make_ready(X, y, sample_weight)
        return self._add(X, y, sample_weight, decay)

    # -- what the arguments imply --------------------------------------------------------------------------------------

    @property
    def sums_suffice(self) -> bool:
        return self.loss == "squared" and self._rule in (GCV, EVIDENCE, OPEN) and not is_exact(self)

    @property
    def holds_rows(self) -> bool:
        return self.loss != "squared"

    @property
    def may_iterate(self) -> bool:
        if self.loss != "squared" or is_exact(self):
            return True
        return not self.keep_statistics and (self.has_one_penalty or self._has_steps_for_penalties)

    @property
    def _has_steps_for_penalties(self) -> bool:
        """Whether the solver chooses among several penalties, all of them positive, without sums over the rows."""
        if self.solver not in (LANDMARKS, WIDE) or is_open(self.alpha):
            return False
        return self.alpha != EVIDENCE if isinstance(self.alpha, str) else self._least_alpha > 0.0

    @property
    def n_columns(self) -> int:
        """The number of columns of decision values, as far as the targets are known."""
        return getattr(self, "_n_columns", 1)

    @property
    def holds_all_features(self) -> bool:
        """Whether the solver requires all features in memory, and copies them."""
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
        return extent.sums(copies=5, exact=True)  # a decomposition needs two more

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
                "map='exact' of a regressor requires loss='squared', solver='auto' and keep_statistics=False, found "
                f"loss={self.loss!r}, solver={self.solver!r} and keep_statistics={self.keep_statistics!r}"
            )
        if is_exact(self) and isinstance(self.alpha, str) and self.alpha in (HOLDOUT, EVIDENCE):
            raise ValueError(
                "map='exact' leaves out every row by itself: alpha must be a number, several numbers, 'gcv' or 'loo', "
                f"found {self.alpha!r}; map='nystrom' with as many components as rows is exact too"
            )
        check_loss_arguments(self.delta, self.quantile, self.epsilon)
        check_choice("extrapolate", self.extrapolate, EXTRAPOLATE)
        check_choice("solver", self.solver, SOLVERS)
        check_positive("tol", self.tol)
        check_whole("max_iter", self.max_iter)
        as_bytes(self.memory)
        if self.solver == WIDE and self.keep_statistics:
            raise ValueError("solver='wide' keeps no sums over rows: it requires keep_statistics=False, found True")
        if self.solver in (LANDMARKS, WIDE) and not self.keep_statistics and not self.may_iterate:
            raise ValueError(
                f"solver={self.solver!r} keeps no sums over rows: alpha must be a positive number, several, 'loo' or "
                f"'holdout', found {self.alpha!r}"
            )
        if self.keep_statistics and self.loss != "squared":
            raise ValueError(f"keep_statistics requires loss='squared', found loss={self.loss!r}")

    def _labelled(self, X: Any, y: Any, sample_weight: WeightArgument, reset: bool) -> Table:
        if not isinstance(X, Table):
            if y is None:
                raise ValueError("requires y to be passed, but the target y is None")
            y = checked_targets(y)
            check_consistent_length(X, y)
        table = self._table(X, y, sample_weight, reset)
        if reset or self.statistics_ is None:  # otherwise it is known, and a mismatch is refused later
            self._single = np.ndim(table.head().y) <= 1
        return table

    # -- coefficients from sums ----------------------------------------------------------------------------------------

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
        evidence: Evidence | None = None
        if is_number(self.alpha):
            alpha = float(np.asarray(self.alpha))
            coef, factor = solve_ridge(moments, alpha, intercept, self._precision)
        else:
            rule = self._rule
            given = None if isinstance(self.alpha, str) else np.asarray(self.alpha, dtype=np.float64)
            found, spread = self._tried(rule, given, moments, rows, report), np.diag(centred.squares)
            place = most_evident(found.scores) if rule == EVIDENCE else best_of(found.scores, spread)
            alpha = float(found.alphas[place])
            if alpha > 0.0 and found.path.weight > intercept:
                evidence = Evidence.of_path(found.path, alpha)
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
        for name in (*PATH, *ITERATED, "delta_", "quantiles_", "log_marginal_likelihood_"):  # from an earlier fit
            self.__dict__.pop(name, None)
        self.__dict__.update(tried)
        self.alpha_, self.n_iter_ = alpha, 1
        self.objective_, self.gap_ = RidgeEnd.at(coef, alpha, centred)
        weight = float(moments.weight[0]) - intercept
        if factor is not None and alpha > 0.0 and weight > 0.0:
            evidence = Evidence.of_factor(factor, alpha, coef, centred, weight)
        if evidence is not None and np.isfinite(evidence.log_likelihood):
            self.log_marginal_likelihood_ = evidence.log_likelihood
        self.solver_ = self._cost(moments, None if is_number(self.alpha) else self._rule)
        self.intercept_ = float(offset[0]) if self._single else offset
        self.coef_ = coef[:, 0] if self._single else np.ascontiguousarray(coef.T)
        return factor

    @property
    def _rule(self) -> str:
        """How alpha is chosen if the loss is squared: among several values, by generalised cross-validation."""
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
        "log_marginal_likelihood_": float,
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
        if hasattr(self, "target_range_"):  # older files do not have it
            least, most = self.target_range_
            self._refuse_unless(len(least) * levels == targets and bool((least <= most).all()))
        self._refuse_unless(np.ndim(self.intercept_) == np.ndim(self.coef_) - 1 and np.size(self.intercept_) == targets)
        self._refuse_unless(hasattr(self, "scores_") == hasattr(self, "alphas_"))
        if hasattr(self, "scores_"):
            self._refuse_unless(self.scores_.shape == (len(self.alphas_), targets))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = is_narrow(self) or self.loss == "quantile"
        tags.target_tags.positive_only = self.loss == "poisson"
        return tags

    # -- predictions ---------------------------------------------------------------------------------------------------

    @lazily
    @in_kind_of_rows
    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predict the targets of rows: their means, or their quantiles.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        return_std : bool, default=False
            Whether to return the standard deviation of a new observation as well: the noise about the fit, the
            uncertainty of the coefficients, and the part of the kernel that landmarks miss. It needs the sums of
            ``loss="squared"``: ``keep_statistics=True``, or ``partial_fit``.
        return_cov : bool, default=False
            Whether to return the covariance of new observations at all of these rows instead.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets), or tuple of two arrays
            The predictions in float64; with ``return_std``, a tuple with their standard deviations; with
            ``return_cov``, a tuple with their covariances, of shape (n_samples, n_samples) or (n_samples, n_samples,
            n_targets). With a list of quantiles the last axis has one entry for each, in their order. See
            ``extrapolate`` for rows unlike the training rows.
        """
        check_is_fitted(self)
        if return_std and return_cov:
            raise ValueError("return_std and return_cov cannot both be True: deviations follow from covariances")
        if (return_std or return_cov) and self.loss != "squared":
            raise ValueError(f"standard deviations require loss='squared', found loss={self.loss!r}")
        y = self._predicted(X, np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_))
        y = y[:, 0] if self._single else y
        if hasattr(self, "quantiles_"):
            return y
        if return_cov:
            covariances = self._covariances(X)
            return y, covariances[:, :, 0] if self._single else covariances
        if return_std:
            deviations = self._deviations(X)
            return y, deviations[:, 0] if self._single else deviations
        return y

    def _predicted(self, X: Any, coef: Matrix, intercept: Matrix) -> Matrix:
        """Return predictions from coefficients, each within the range of its targets."""
        # In float64, like the targets of fit: next to an intercept of 1e9, float32 has no digits left for the rest.
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
        """Return predictions with other coefficients of the same features, for one target.

        Parameters
        ----------
        coef : ndarray of shape (n_machines, D)
            The coefficients.
        intercept : ndarray of shape (n_machines,)
            The constants.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples, n_machines)
            The predictions.
        """
        check_is_fitted(self)
        return self._predicted(X, coef, intercept)

    def size_of_predictions(self) -> Matrix | None:
        """Return the size of predictions before a link.

        Returns
        -------
        ndarray of shape (n_columns,) or None
            One number per row of coefficients; None if it is not known.
        """
        if not hasattr(self, "target_range_"):
            return None
        least, most = self.target_range_
        levels = len(getattr(self, "quantiles_", (0.5,)))
        return np.ones_like(least) if self.loss == "poisson" else np.repeat(most - least, levels)

    def score(self, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> float:
        """Return the coefficient of determination of the predictions.

        With ``loss="quantile"`` it refers to that loss: the relative reduction compared with the quantile of all
        targets, averaged over several quantiles.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), or None, default=None
            The true targets. None if X is a table, which has its own.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights of the rows.

        Returns
        -------
        float
            The coefficient of determination.
        """
        y, predicted, weight = self._judged(X, y, sample_weight)
        if self.loss != "quantile":
            return float(r2_score(y, predicted, sample_weight=weight))
        levels = np.atleast_1d(np.asarray(self.quantile, dtype=np.float64)).tolist()
        each = np.moveaxis(predicted, -1, 0) if hasattr(self, "quantiles_") else [predicted]
        scores = [
            d2_pinball_score(y, one, alpha=level, sample_weight=weight) for one, level in zip(each, levels, strict=True)
        ]
        return float(np.mean(scores))


def check_alpha(loss: str, alpha: PenaltyArgument) -> None:
    """Refuse alphas other than nonnegative numbers or a rule; iterative losses require positive numbers."""
    if loss != "squared":
        if isinstance(alpha, str) and alpha in (GCV, EVIDENCE):
            raise ValueError(f"alpha={alpha!r} requires loss='squared', found loss={loss!r}; use 'loo' or 'holdout'")
        check_penalty("alpha", alpha, (LOO, HOLDOUT))
        return
    if isinstance(alpha, str):
        check_choice("alpha", alpha, RULES)
        return
    values = np.atleast_1d(np.asarray(alpha, dtype=np.float64)) if not isinstance(alpha, bool) else np.zeros(0)
    if values.ndim != 1 or len(values) == 0 or not (np.isfinite(values).all() and (values >= 0.0).all()):
        raise ValueError(f"alpha must be a number of at least 0, several, or one of {RULES}, found {alpha!r}")


def by_column(Y: Matrix) -> Matrix:
    """Return targets with one column each."""
    return Y.reshape(len(Y), -1)


def range_of(targets: Matrix, weight: Matrix) -> Matrix:
    """Return the smallest and the largest target of rows with positive weight."""
    counted = targets[weight > 0.0]
    return np.stack([counted.min(axis=0), counted.max(axis=0)])


def path_of(rule: str, alphas: Matrix, scores: Matrix, objectives: Matrix, variance: Matrix) -> PenaltyPath:
    """Return the results of several alphas, from the largest to the smallest, with scores in units of the variance."""
    order = np.argsort(-alphas, kind="stable")
    penalties, means, least = (tuple(part[order].tolist()) for part in (alphas, relative(scores, variance), objectives))
    return PenaltyPath(rule, penalties, means, least, (1,) * len(alphas))


def without_crossings(y: Matrix, levels: Sequence[float]) -> Matrix:
    """Return quantiles, along the last axis, sorted so that they do not cross."""
    ranks = np.argsort(np.argsort(levels, kind="stable"), kind="stable")
    return np.sort(y, axis=-1)[..., ranks]
