"""KernelClassifier: linear classification on features, in a few passes over the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._array import Array
from .._checks import check_choice, check_positive, check_share, check_whole
from .._memory import as_bytes
from .._random import RandomState
from ..data import Table
from ..data.block import Block
from ..gpu.device import Device
from ..gpu.exchange import in_kind_of_rows
from ..maps import FeatureMap
from ..maps.array_layouts import floats
from ..maps.nystrom_parameters import restored
from ..scale import lazily
from .argument_types import (
    ClassWeightArgument,
    KernelArgument,
    MapArgument,
    MemoryArgument,
    PenaltyArgument,
    WeightArgument,
)
from .context import FitContext
from .estimates.memory_estimates import Extent, known_width
from .estimates.time_forecast import Work, exact_works, features_work, usual_works
from .features.design import Design
from .features.missed_kernel import missed_diagonal
from .features.prepared_rows import Chunk, PreparedRows
from .fitting.class_fit import ADVICE, calibrated, class_loss, least_loss
from .fitting.exact_hinge import ExactFit
from .fitting.exact_ridge import exact_ridge
from .fitting.exact_rows import ExactRows
from .fitting.landmark_fit import LandmarkFit
from .fitting.loss_fit import features_of_rows, warn_unless_converged
from .fitting.penalty_path import (
    GCV,
    HOLDOUT,
    LOO,
    STRENGTHS,
    PathFit,
    PenaltyPath,
    check_penalty,
    held_out,
    is_several,
    rule_of,
)
from .fitting.warm_start import widened
from .laplace_approximation import LaplacePosterior, integrated
from .left_out.calibration import (
    SMALL,
    Calibration,
    KeptRows,
    chosen_rows,
    learned,
    sharpened,
)
from .left_out.decision_values import NEAREST
from .losses import Loss, SquaredHinge
from .machine import KernelMachine
from .map_choice import OPEN, exact_map, expected_map, is_exact, is_narrow, is_open
from .moment_machine import Factor, MomentMachine, Sample, Tried, can_add_rows
from .passes.fit_tasks import tells_callbacks
from .passes.progress import Progress, Reporter
from .passes.scan_plan import ScanPlan
from .pilot.choice import Choice
from .solvers.choice import (
    SolverCost,
    check_exact_values,
    has_landmark_values,
    works_on_landmarks,
    works_wide,
)
from .solvers.liblinear import liblinear_cost
from .solvers.newton import Newton, Report
from .solvers.ridge import Leverages, RidgeEnd, best_of, solve_ridge
from .statistics import Moments
from .targets.labels import (
    AllLabels,
    Codes,
    Tasks,
    checked_labels,
    classes_of,
    columns_of,
    each,
    given_classes,
    known_classes,
    log_probabilities,
    probabilities,
)
from .training_rows.region import Region, decays, fallback

Matrix = NDArray[np.float64]

LOSSES = ("squared_hinge", "logistic", "squared")
LAPLACE = "laplace"
PROBABILITIES = ("calibrated", LAPLACE)
LESS_SHARP = 1e3
"""How much more sensitive least squares is to rounding than other losses, for which rows beyond the margin drop out."""
SOLVERS = ("auto", "newton", "landmarks", "wide", "liblinear")
MARGINS = 30.0
"""The size that decision values are assumed to have where a tolerable rounding error is a share of their size."""


class KernelClassifier(ClassifierMixin, MomentMachine):
    r"""Classification with a kernel, in time and memory linear in the number of rows.

    Use it to predict classes. It minimises :math:`\|w\|^2 / 2 + C \sum_i \ell(y_i, \langle w, z_i\rangle + b)` over the
    features z, for all classes at once. ``"squared_hinge"`` is a support vector machine (one class against the rest).
    ``"logistic"`` models probabilities directly (by the softmax for several classes). ``"squared"`` needs one pass and
    no iterations; it is the fastest and often as accurate, and its sums over the rows can be extended, merged and
    reduced: see ``partial_fit``, ``merge`` and ``forget``.

    Several tasks, with one column of y each, share every pass and every product with the features, but are otherwise
    learned independently.

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

        "exact" is the support vector machine itself, in which every row may have a coefficient. Rows near the margin
        are found by landmarks, their kernel matrix is kept in memory, and all other rows are checked; ``map_`` keeps
        the rows with a coefficient. The kernel matrix of the rows near the margin must fit in memory. With
        ``loss="squared"`` all rows have a coefficient, and their kernel matrix takes 8 n^2 bytes.
    loss : {"squared_hinge", "logistic", "squared"}, default="squared_hinge"
        The loss: the squared hinge of a support vector machine, the logistic loss, or least squares on targets 1 and
        -1, which needs no iterations. All of them give probabilities: see ``predict_proba``.
    C : float, sequence of floats, "loo", "holdout", "gcv" or "auto", default="auto"
        The weight of the loss relative to ||w||^2 / 2: the inverse of the strength of the regularisation. Of several
        values the one with the smallest mean loss on left-out rows is chosen; of values that hardly differ, the
        smallest. Features are computed once, and each value, from the smallest to the largest, is fitted starting from
        the coefficients of the previous one.

        "loo" tries eleven values from 0.01 to 1000. Rows are left out one by one, each by a Newton step from the
        coefficients of all rows; of more than 1,000 rows only a sample is left out. On landmarks and wide features, a
        sample of more than 1,000 rows is left out all at once: see :mod:`mercer.learn.fitting.penalty_path`. With
        ``loss="squared"``, leaving out is exact. "holdout" is cheaper if there are many classes or features: it uses
        the mean loss on one row in five, chosen by the seed of the map, which is held out of these fits; finally all
        rows are fitted with the best value. "gcv" is generalised cross-validation, for ``loss="squared"`` and rows with
        similar leverage; on landmarks and wide features it is "loo". With "gcv", ``fit`` issues a warning if leaving
        out a sample of rows one by one gives a far larger error; ``partial_fit``, ``merge`` and ``forget`` cannot check
        this, because they only have sums of the rows. ``map="exact"`` and ``solver="liblinear"`` require a single
        number.

        "auto" is the penalty with the smallest leave-one-out error in ridge regression on the classes of at most 4,000
        rows, converted to the units of the loss. It is 1 for a FeatureMap, a function, "precomputed", and very few
        rows.
    class_weight : dict, "balanced", list of these, or None, default=None
        The weight of the rows of each class, in addition to their own weights; a list has one entry per task.
        "balanced" gives all classes the same total weight. It needs all rows at once, and is refused by
        ``partial_fit``, ``merge`` and ``forget``.
    fit_intercept : bool, default=True
        Whether decision values have a constant term, which is not regularised.
    solver : {"auto", "newton", "landmarks", "wide", "liblinear"}, default="auto"
        - "newton" uses the features of the map.
        - "landmarks" is for :class:`mercer.Nystrom`: it uses kernel values at the landmarks and computes no whitened
          features, which takes D times less time if there are many landmarks. ``map_`` then has ``whiten=False``, and
          there are no sums, so that ``partial_fit`` starts from the beginning. If the map is given by its name, one
          landmark in four is a random row, and the others are drawn where the loss of a first machine on these is
          steepest.
        - "wide" is for any map. In place of second moments, which take 4 D^2 bytes per class, it uses the kernel matrix
          of a sample of rows. There are no sums here either.
        - "liblinear" keeps all features in memory and calls scikit-learn's LIBLINEAR, where several classes are one
          against the rest and the intercept is regularised like a coefficient. It is refused if that takes more than
          ``memory``, or more than the machine has.
        - "auto" uses the cheapest of the first three by a count of operations, and "wide" if second moments do not fit
          in memory.
    tol : float, default=1e-3
        The solver stops when the objective is certain to be within this distance of its minimum, relative to the
        minimum, or when no step reduces it any further. A warning is issued if the distance is not certain at the end.
        Values below the rounding errors of the rows, 1.2e-7 in float32, have no further effect. In float32 and with a
        large C, from about 1e4, rounding can hide how close the minimum is; use rows in float64 then.
    max_iter : int, default=100
        The largest number of Newton steps; there may be five times as many steps of conjugate gradients. On landmarks
        and with the squared hinge, a large C is approached by way of smaller ones, with so many steps for each.
    memory : int, str or None, default=None
        The largest amount of memory for features, in bytes or as text like "2GB". Features that fit are kept between
        passes; otherwise they are computed again in every pass. None means a quarter of the machine's memory. Kernel
        values of float32 rows at landmarks that would take 256 MB or more are kept as 16-bit integers if the kernel is
        a function of the distance; if they are computed again in every pass, they differ from these by at most
        1/131,070.
    probabilities : {"calibrated", "laplace"}, default="calibrated"
        How ``predict_proba`` finds probabilities. "calibrated" learns them from rows as if they had been left out.
        "laplace", for ``loss="logistic"``, averages probabilities over the posterior of the coefficients, by Laplace's
        approximation, as a Gaussian process classifier does: far from all training rows, no class is certain. The model
        then keeps 8 D^2 bytes per class, and the solver is "features".
    keep_statistics : bool, default=False
        Whether ``fit`` keeps the sums of ``loss="squared"``, which take 8 D^2 bytes, for ``merge`` and ``forget``.
        ``partial_fit`` always does.
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
    classes_ : ndarray, or list of ndarrays
        The labels, in order; for several tasks, a list with the labels of each.
    coef_ : ndarray of shape (1 or n_classes, D)
        The coefficients: one row per class, or a single row for two classes. The rows of several tasks are stacked.
    intercept_ : ndarray of shape (1 or n_classes,)
        The constants that belong to the rows of ``coef_``.
    convergence_ : Report or None
        How the solver converged: the objective after every step, the passes over the rows, and the distance from the
        minimum; None without iterations.
    n_iter_ : int
        The number of steps of the solver, at least 1.
    objective_ : float
        The final value of the objective.
    gap_ : float
        An upper bound of its distance from the minimum, relative to the minimum. It is an estimate if ``solver_.name``
        is "landmarks", and may be one if it is "wide" and the loss is "squared".
    C_ : float
        The C that was used.
    choice_ : Choice or None
        What trials on some of the rows have chosen: ``kernel``, ``scale``, ``alpha``, ``learned_columns``,
        ``n_components``, the errors on held-out rows, and all ``trials``. None if there were too few rows for trials.
        The attribute does not exist if nothing was left open.
    column_scales_ : ndarray or None
        The learned scales by which prepared columns are multiplied. None if none are used.
    penalty_path_ : PenaltyPath
        If there were several values of C, from the smallest to the largest: ``penalties``, their ``scores``,
        ``objectives`` and ``n_iter``, and the ``rule`` behind the scores, which estimate the mean loss on new rows.
    solver_ : SolverCost
        The ``name`` of the solver that was used, the number of operations that was ``expected`` of it, and its
        ``operations`` by the passes that were made. Time plays no part in the choice.
    posterior_ : LaplacePosterior
        The posterior of the coefficients, with ``probabilities="laplace"``.
    calibration_ : Calibration or None
        The curves that turn decision values into probabilities, and how they were learned; see Notes. None if there are
        no probabilities.
    statistics_ : Moments or None
        The sums over the rows, if they are kept.
    region_ : Region
        The region of the training rows: the smallest (``least``) and largest (``most``) value of every prepared column;
        see :meth:`extrapolates`.
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
    The losses "squared_hinge" and "logistic" are minimised by Newton's method, which stops when the objective is within
    ``tol`` of its minimum. If there are so many features that the Hessians of the classes would take longer, it uses
    conjugate gradients with one factor for all classes (see ``convergence_.method``).

    With ``loss="squared"``, the curves for probabilities are learned by "leave-one-out", which is exact, on at most
    2,048 rows. With "squared_hinge" they are learned by "approximate leave-one-out" on at most 1,000 rows, with a
    Newton step for each; for more rows, and for more than 1,000 rows of "squared" on landmarks, up to 4,096 "left-out
    rows" are removed all at once, followed by a few steps of the solver. "logistic" works in the same way, but learns a
    single slope for all classes.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import KernelClassifier
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = np.where((X**2).sum(axis=1) < 1.4, "in", "out")
    >>> model = KernelClassifier(n_components=128, random_state=0).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.97), model.convergence_.converged
    (True, True)

    With the best of several C, on features that are computed once:

    >>> several = KernelClassifier(n_components=128, C=[0.1, 1.0, 10.0, 100.0], random_state=0).fit(X[:1500], y[:1500])
    >>> several.C_, len(several.penalty_path_.scores)
    (100.0, 4)

    In batches, and two tasks at once:

    >>> batches = KernelClassifier(n_components=128, loss="squared", random_state=0)
    >>> for rows in (slice(0, 700), slice(700, 1500)):
    ...     batches = batches.partial_fit(X[rows], y[rows], classes=["in", "out"])
    >>> bool(batches.score(X[1500:], y[1500:]) > 0.95)
    True
    >>> both = KernelClassifier(n_components=128, random_state=0).fit(X, np.column_stack([y, X[:, 0] > 0]))
    >>> both.predict(X[:3]).shape, len(both.classes_)
    ((3, 2), 2)
    """

    can_be_exact = True

    def __init__(
        self,
        kernel: KernelArgument = "auto",
        *,
        n_components: int | None = None,
        map: MapArgument = "auto",
        loss: Literal["squared_hinge", "logistic", "squared"] = "squared_hinge",
        C: PenaltyArgument = "auto",
        class_weight: ClassWeightArgument = None,
        fit_intercept: bool = True,
        solver: Literal["auto", "newton", "landmarks", "wide", "liblinear"] = "auto",
        tol: float = 1e-3,
        max_iter: int = 100,
        memory: MemoryArgument = None,
        probabilities: Literal["calibrated", "laplace"] = "calibrated",
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
        self.C = C
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.device = device
        self.probabilities = probabilities
        self.keep_statistics = keep_statistics
        self.preparation = preparation
        self.columns = columns

    # -- learning ------------------------------------------------------------------------------------------------------

    @tells_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: WeightArgument = None, classes: Any = None) -> Self:
        """Fit the classifier to rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : array-like of shape (n_samples,) or (n_samples, n_tasks), or None, default=None
            The labels. None if X is a table, which has its own.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights of the rows. A row of weight 2 counts as two rows.
        classes : array-like, list of array-likes or None, default=None
            All labels, or a list of the labels of every task. Other labels are then refused, and labels without rows
            count as classes too. None finds the labels in a pass over the rows, which is not needed if
            ``loss="squared"`` and the weights of classes are known.

        Returns
        -------
        KernelClassifier
            The fitted classifier itself.
        """
        return self.fit_table(self.table_to_fit(X, y, sample_weight), FitContext(device=Device.of(X)), classes)

    def fit_table(self, table: Table, context: FitContext, classes: Any = None) -> Self:
        classes = None if classes is None else given_classes(classes)
        labels = None if classes is not None and not self._needs_all_labels(table, context.memory) else AllLabels()
        needs = {} if labels is None else {"labels": labels}
        if self._is_open:
            return self._fit_open(table, context, lambda machine, plan: machine._fit_plan(plan, classes, labels), needs)
        return self._fit_settled(table, context, lambda machine, plan: machine._fit_plan(plan, classes, labels), needs)

    def _needs_all_labels(self, table: Table, memory: int | None) -> bool:
        """Return whether the labels of all rows are needed, although all classes are known."""
        may_be_exact = is_exact(self) or (self.map == OPEN and self.n_components is None)
        return self.iterates(table.n_rows, memory) or may_be_exact or isinstance(self.class_weight, str)

    def _pilot_targets(self, block: Block) -> Matrix:
        labels = checked_labels(block.y)
        known = [np.unique(column) for column in columns_of(labels)]
        if any(len(classes) < 2 for classes in known):  # in these few rows; fit itself refuses a single class
            return np.zeros((len(labels), 1))
        tasks = Tasks(known if labels.ndim == 2 else known[0])
        return tasks.signs(tasks.codes(labels))

    _penalty_argument = "C"

    def _penalty_by_pilot(self, choice: Choice | None, targets: NDArray[Any] | None) -> float:
        return 1.0 if choice is None else self._ridge_of_one / choice.alpha

    def _penalties_given(self, targets: NDArray[Any]) -> Matrix | None:
        return None if isinstance(self.C, str) else self._ridge_of_one / np.atleast_1d(np.asarray(self.C, dtype=float))

    @property
    def _ridge_of_one(self) -> float:
        """The ridge penalty that corresponds to C = 1."""
        # The second derivative is 2 for squares and the squared hinge, and at most a quarter for the logistic loss.
        return 2.0 if self.loss == "logistic" else 0.5

    def _penalty_by_rule(self, n_rows: int, memory: int | None) -> float | None:
        return None if self._can_be_tried else 1.0

    def _fit_plan(self, plan: ScanPlan, classes: Any, labels: AllLabels | None) -> Self:
        """Fit by scans of a table, with settled arguments; the first scan finds ``labels`` unless None."""
        passes, context = plan.passes, plan.passes.context
        are_known = labels is None
        draft = self._learn_preparation(plan)
        if labels is None:
            class_weights = self._weights_of(Tasks(classes), classes)
        else:
            y, weight = labels.found()
            classes = classes_of(y[weight > 0.0]) if classes is None else classes
            counted = weight > 0.0
            class_weights = self._weights_of(Tasks(classes), y[counted], weight[counted])
        self.classes_, self._class_weights = classes, class_weights
        rows = self._prepared_rows(draft, plan)
        chosen = exact_map(self, rows) or draft.map
        self.convergence_: Report | None = None
        self.calibration_: Calibration | None = None
        if is_exact(self) and self.loss == "squared":
            return self._fit_exact_squares(
                ExactRows(rows, draft.seed, chosen, self.n_jobs), Tasks(classes).codes(y), weight
            )
        on_landmarks = self.probabilities != LAPLACE and works_on_landmarks(self, chosen, rows.n_rows)
        by_steps = on_landmarks or self._works_wide(rows.n_rows, context.memory)
        if self.loss == "squared" and (are_known or not by_steps):
            self.map_ = chosen.fit_rows(rows, draft.seed)
            kept = KeptRows(self.map_.seed_, rows.n_rows, Tasks(classes).codes)
            moments, factor = self._fit_sums(rows, kept)
            self.calibration_ = self._left_one_out(moments, factor, kept)
            return self
        codes = Tasks(classes).codes(y)
        weights = [weight] * codes.shape[1]
        if class_weights is not None:
            weights = [weight * one[mine] for one, mine in zip(class_weights, codes.T, strict=True)]
        if is_exact(self):
            self._fit_exact(chosen, rows, draft.seed, codes, weights, weight)
            return self
        design: Design
        loss = class_loss(self, codes, weights)
        if on_landmarks:
            alpha = (1.0 if self.loss == "squared" else LESS_SHARP) * self._least_alpha / float(weight.sum())
            fit = LandmarkFit.of(self, rows, draft.seed, self.n_columns, alpha)
            pilot = self._pilot(loss, draft.seed, rows.n_rows)
            self.map_, design, start = fit.grown(chosen, pilot) if isinstance(self.map, str) else fit.chosen(chosen)
        else:
            self.map_ = chosen.fit_rows(rows, draft.seed)
            passes.report.expect(self._expected(rows.n_rows, self.map_.n_components_))
            start = None if context.warm_start is None else widened(context.warm_start, self, rows)
            design = features_of_rows(self, rows, self.n_columns)
        solver: Newton | None
        if is_several(self.C):
            path = PathFit(design, loss, weight, self.map_.seed_, float(self.tol), int(self.max_iter))
            rule = HOLDOUT if rule_of(self.C) == HOLDOUT else LOO  # without sums, "gcv" has no traces either
            found = path.chosen(self._candidates, rule)
            warn_unless_converged(found.solution.report, ADVICE)
            self.penalty_path_ = found.path(rule, self._candidates)
            self.C_, loss, solver = self._candidates[found.place], found.loss, found.solver
            W, self.convergence_ = found.solution.W, found.solution.report
        else:
            self.C_ = self._candidates[0]
            loss = loss.scaled(self.C_)
            W, self.convergence_, solver = least_loss(self, design, loss, codes, weights, start)
        self._check_finite(W)
        self.calibration_ = calibrated(self, design, W, solver, loss, codes, weights, weight)
        if self.probabilities == LAPLACE:
            self.posterior_ = LaplacePosterior.of(design, loss, W, bool(self.fit_intercept))
        passes.report.end()
        self._keep_region(rows)
        self._adopt(design.coefficients(W))
        self.statistics_ = None
        return self

    @property
    def _candidates(self) -> tuple[float, ...]:
        """The values of C to choose from, in increasing order, or the only one."""
        return STRENGTHS if isinstance(self.C, str) else tuple(np.unique(np.asarray(self.C, dtype=float)).tolist())

    def _pilot(self, loss: Loss, seed: int, n_rows: int) -> Loss:
        """Return the loss that shows where landmarks are needed, with the middle one of several C and all rows."""
        middle = loss.scaled(self._candidates[len(self._candidates) // 2])
        if rule_of(self.C) != HOLDOUT:
            return middle
        return middle.scaled((~held_out(seed, 0, n_rows)).astype(np.float64))

    def _fit_exact_squares(self, rows: ExactRows, codes: Codes, weight: Matrix) -> Self:
        """Fit least squares with a coefficient for every row."""
        check_exact_values(rows.asked)
        self.C_ = self._candidates[0]
        tasks, alpha = Tasks(self.classes_), 0.5 / self.C_
        counts = weight if self._class_weights is None else weight * self._class_weights[0][codes[:, 0]]
        ridge = exact_ridge(rows, tasks.signs(codes), counts, alpha, bool(self.fit_intercept), left_out=True)
        beta, offset, counted = ridge.solution.beta, ridge.solution.offset, ridge.numbers
        counts, signs = counts[counted], tasks.signs(codes[counted])
        errors = alpha * beta / counts[:, None]
        own = ridge.solution.leverages(alpha, counts) / np.maximum(weight[counted], 1.0)
        values = signs - errors / np.maximum(1.0 - own, NEAREST)[:, None]  # without one copy of each row
        self.map_, self.solver_ = ridge.map, SolverCost.of_exact_squares(len(beta), self._n_factors)
        self.calibration_ = learned("leave-one-out", tasks, values, codes[counted], [counts] * codes.shape[1])
        self.objective_, self.gap_ = self._in_units_of_rows(ridge.end)
        rows.rows.passes.report.end()
        self.region_ = Region.of(restored(ridge.map.parameters_.landmarks, ridge.map.n_features_in_))
        self._adopt(np.vstack([beta, offset[None]]))
        self.statistics_, self._precision = None, float(np.finfo(np.float64).eps)
        return self

    def _fit_exact(
        self, map: FeatureMap, rows: PreparedRows, seed: int, codes: Codes, weights: list[Matrix], weight: Matrix
    ) -> None:
        """Fit the exact machine, from the rows near its margin."""
        self.C_ = self._candidates[0]
        loss, left_out = class_loss(self, codes, weights).scaled(self.C_), chosen_rows(seed, weight)
        if not isinstance(loss, SquaredHinge) or not has_landmark_values(map):
            raise ValueError(
                "map='exact' with loss='squared_hinge' requires one task and a kernel of mercer.kernels, "
                f"found {codes.shape[1]} tasks and {map.kernel!r}"
            )
        fit, tasks, few = LandmarkFit.of(self, rows, seed, loss.n_columns), Tasks(self.classes_), rows.n_rows <= SMALL
        exact = ExactFit.of(fit, map, loss)
        machine = exact.minimise(float(self.tol), int(self.max_iter), left_out[:0] if few else left_out)
        warn_unless_converged(machine.report, ADVICE)
        self.map_, self.convergence_ = machine.map, machine.report
        if few:
            values, counted = exact.each_left_out(machine, 1.0 / np.maximum(weight, 1.0)), np.flatnonzero(weight > 0.0)
            counts, method = [weights[0][counted]], "approximate leave-one-out"
            self.calibration_ = learned(method, tasks, values[counted], codes[counted], counts)
        else:
            counts = [weight[left_out]]
            self.calibration_ = learned("left-out rows", tasks, machine.left_out, codes[left_out], counts)
        rows.passes.report.end()
        self._keep_region(rows)
        self._adopt(machine.coefficients)
        self.statistics_ = None

    @property
    def n_columns(self) -> int:
        """The number of columns of decision values, as far as the classes are known."""
        return Tasks(self.classes_).columns[-1].stop if hasattr(self, "classes_") else 1

    @available_if(can_add_rows)
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: WeightArgument = None,
        *,
        decay: float = 1.0,
    ) -> Self:
        """Learn from more rows, if the loss is "squared".

        The first call also does what :meth:`prepare` does, with its rows: scales, levels and bandwidths then stay
        fixed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : array-like of shape (n_samples,) or (n_samples, n_tasks), or None, default=None
            The labels. None if X is a table, which has its own.
        classes : array-like, list of array-likes or None, default=None
            All labels that will ever occur, or a list of the labels of every task. Required in the first call, and
            optional later.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights of the rows. A row of weight 2 counts as two rows.
        decay : float, default=1.0
            How much the rows of earlier calls count from now on, as a share of what they counted before. A row that is
            n calls old then counts decay ** n. Set ``decay=0.5 ** (len(X) / h)`` to let a row count half after h rows,
            or ``decay=0.5 ** (elapsed / h)`` after a time of h. To drop rows at once, call :meth:`forget` with the
            weights that they have by then.

        Returns
        -------
        KernelClassifier
            The classifier itself.
        """
        self.check_arguments()
        check_share("decay", decay)
        self._check_additive()
        known = known_classes(classes, getattr(self, "classes_", None) if self.is_prepared else None)
        class_weights = self._weights_of(Tasks(known), known)
        self._make_ready(X, y, sample_weight)
        self.classes_, self._class_weights = known, class_weights
        self.convergence_ = None
        return self._add(X, y, sample_weight, decay)

    def _renew(self, moments: Moments, precision: float, report: Reporter | None) -> None:
        super()._renew(moments, precision, report)
        self.calibration_ = None  # rows of other calls are no longer available to be left out

    # -- what the arguments imply --------------------------------------------------------------------------------------

    @property
    def sums_suffice(self) -> bool:
        return self.loss == "squared" and not is_exact(self)

    def check_arguments(self) -> None:
        super().check_arguments()
        check_choice("loss", self.loss, LOSSES)
        check_choice("solver", self.solver, SOLVERS)
        if is_exact(self) and (self.loss == "logistic" or self.keep_statistics):
            raise ValueError(
                "map='exact' requires loss='squared_hinge', or 'squared' and keep_statistics=False, found "
                f"loss={self.loss!r} and keep_statistics={self.keep_statistics!r}"
            )
        rules = (GCV, LOO, HOLDOUT) if self.loss == "squared" else (LOO, HOLDOUT)
        check_penalty("C", self.C, (*rules, OPEN))
        if not is_open(self.C) and is_several(self.C) and (is_exact(self) or self.solver == "liblinear"):
            raise ValueError(f"map='exact' and solver='liblinear' require a single C, found C={self.C!r}")
        check_choice("probabilities", self.probabilities, PROBABILITIES)
        if self.probabilities == LAPLACE and (self.loss != "logistic" or self.solver not in ("auto", "newton")):
            raise ValueError(
                "probabilities='laplace' requires loss='logistic' and solver='auto' or 'newton', found "
                f"loss={self.loss!r} and solver={self.solver!r}"
            )
        check_positive("tol", self.tol)
        check_whole("max_iter", self.max_iter)
        as_bytes(self.memory)
        if not isinstance(self.class_weight, dict | list) or self.class_weight == []:
            check_choice("class_weight", self.class_weight, ("balanced", "a dict", "a list of dicts", None))
        if self.solver == "wide" and self.keep_statistics:
            raise ValueError("solver='wide' keeps no sums over rows: it requires keep_statistics=False, found True")
        if self.keep_statistics and self.loss != "squared":
            raise ValueError(f"keep_statistics requires loss='squared', found loss={self.loss!r}")

    @property
    def _least_alpha(self) -> float:
        return 0.5 / self._candidates[-1]

    @property
    def holds_rows(self) -> bool:
        return self.loss != "squared"

    @property
    def may_iterate(self) -> bool:
        return self.loss != "squared" or not self.keep_statistics

    def iterates(self, n_rows: int, memory: int | None = None) -> bool:
        if self.loss != "squared" or is_exact(self):
            return self.loss != "squared"
        return works_on_landmarks(self, expected_map(self, n_rows), n_rows) or self._works_wide(n_rows, memory)

    def _works_wide(self, n_rows: int, memory: int | None) -> bool:
        """Return whether least squares on this many rows is solved without second moments."""
        return works_wide(self, Extent(known_width(self), n_rows, n_jobs=self.n_jobs), memory)

    def _suits_exactness(self, several_tasks: bool) -> bool:
        if self.keep_statistics or not self.has_one_penalty:
            return False
        return self.loss == "squared" or (self.loss == "squared_hinge" and not several_tasks)

    @property
    def _n_factors(self) -> int:
        return 2  # one of them to leave out rows for probabilities

    @property
    def _penalty_beside_squares(self) -> float:
        return self._least_alpha

    @property
    def has_one_penalty(self) -> bool:
        """Whether there is a single positive penalty, so that none has to be chosen from sums over the rows."""
        return is_open(self.C) or not is_several(self.C)  # a pilot chooses one

    @property
    def holds_all_features(self) -> bool:
        """Whether the solver requires all features in memory, and copies them."""
        return self.solver == "liblinear"

    def _expected(self, n_rows: int, width: int) -> list[Work]:
        if self.loss == "squared" and is_exact(self):
            return exact_works(n_rows, 1)
        if self.loss == "squared" and not self._works_wide(n_rows, None):
            return super()._expected(n_rows, width)
        features = Work("features", features_work(n_rows, width))
        if self.solver == "liblinear":
            return [features, Work("solution", self.n_columns * liblinear_cost(n_rows, width))]
        return [features, *usual_works(n_rows, width, self.n_columns)]

    def bytes_needed(self, extent: Extent, memory: int | None = None) -> int:
        if is_exact(self) and self.loss == "squared":
            return extent.exact_ridge()
        if works_on_landmarks(self, expected_map(self, extent.n_rows), extent.n_rows):
            return extent.landmarks()
        if (extent.n_rows or self.loss != "squared") and works_wide(self, extent, memory):
            return extent.wide(squared=self.loss == "squared")
        if self.loss == "squared":
            return super().bytes_needed(extent, memory)
        if self.solver == "liblinear":
            return 0
        return extent.newton() + (extent.left_out() if is_several(self.C) and rule_of(self.C) == LOO else 0)

    def _check_additive(self) -> None:
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} depends on the total number of rows of each class, and sums "
                "cannot be weighted again: give a dict"
            )
        if is_several(self.C) and rule_of(self.C) not in (GCV, OPEN):
            raise ValueError(
                f"choosing C={self.C!r} needs all rows, which sums do not contain: give one number or 'gcv'"
            )

    def _weights_of(self, tasks: Tasks, y: Any, row_weight: Matrix | None = None) -> tuple[Matrix, ...] | None:
        if tasks.several and self.loss == "squared" and self.class_weight is not None:
            raise ValueError(
                "class_weight must be None if loss='squared' has several tasks, which share one sum over the rows, "
                f"found {self.class_weight!r}"
            )
        return tasks.weights(self.class_weight, y, row_weight)

    def _labelled(self, X: Any, y: Any, sample_weight: WeightArgument, reset: bool) -> Table:
        if not isinstance(X, Table):
            y = checked_labels(y)
            check_consistent_length(X, y)
        return self._table(X, y, sample_weight, reset)

    def _difference(self, other: KernelMachine) -> str | None:
        for what, ours, theirs in (
            ("classes", *(Tasks(one.classes_).listed() for one in (self, other))),
            ("class weights", *(np.asarray(one._class_weights).tolist() for one in (self, other))),
        ):
            if ours != theirs:
                return f"{what}: {ours} here and {theirs} there"
        return super()._difference(other)

    # -- coefficients from sums ----------------------------------------------------------------------------------------

    def _targets(self, chunk: Chunk) -> tuple[Matrix, Matrix | None]:
        """Return 1 and -1, and the weights of rows times the weights of their classes."""
        tasks, weight = Tasks(self.classes_), chunk.weight
        codes = tasks.codes(chunk.y, chunk.first)
        if self._class_weights is not None:
            weight = self._class_weights[0][codes[:, 0]] * (1.0 if weight is None else weight)
        return tasks.signs(codes), weight

    def _solve(
        self,
        moments: Moments,
        rows: PreparedRows | None,
        report: Reporter | None,
        kept: KeptRows | None = None,
    ) -> Factor | None:
        """Solve ridge regression on targets 1 and -1."""
        intercept = bool(self.fit_intercept)
        C, path = self._candidates[0], None
        if is_several(self.C):
            rule, alphas = rule_of(self.C), 0.5 / np.array(self._candidates[::-1])
            found = self._tried(rule, alphas, moments, rows, report)
            C, path = self._best_of_squares(rule, found)
            if rule == GCV and kept is not None:
                place = int(np.argmin(np.abs(found.alphas - 0.5 / C)))
                centred = moments.centred(intercept)
                self._check_gcv("C", found, 0.5 / found.alphas, place, centred, self._kept_signs(kept))
        coef, factor = solve_ridge(moments, 0.5 / C, intercept, self._precision)
        if report is not None:
            report.end()
        self.C_, self.solver_ = C, self._cost(moments, None if path is None else path.rule)
        self.__dict__.pop("penalty_path_", None)
        if path is not None:
            self.penalty_path_ = path
        centred = moments.centred(intercept)
        self.objective_, self.gap_ = self._in_units_of_rows(RidgeEnd.at(coef, 0.5 / C, centred))
        self._adopt(np.vstack([coef, centred.offset(coef)]))
        return factor

    def _in_units_of_rows(self, end: RidgeEnd) -> RidgeEnd:
        """Return the objective in units in which a squared residual has the factor C instead of 1 / 2."""
        return end._replace(objective=2.0 * self.C_ * end.objective)

    def _best_of_squares(self, rule: str, found: Tried) -> tuple[float, PenaltyPath]:
        """Return the best C by squared errors, and the results of all of them."""
        scores, several = found.scores.sum(axis=1)[::-1], self._candidates
        best = len(several) - 1 - best_of(found.scores, np.ones(found.scores.shape[1]))
        objectives = tuple(found.path.objective(alpha) / alpha for alpha in found.alphas[::-1].tolist())
        return several[best], PenaltyPath(rule, several, tuple(scores.tolist()), objectives, (1,) * len(several))

    def _kept_signs(self, kept: KeptRows) -> Sample:
        """Return the features of kept rows, their classes as 1 and -1, and their weights."""
        Z, codes, weight = kept.all()
        counts = weight if self._class_weights is None else weight * self._class_weights[0][codes[:, 0]]
        return Z, Tasks(self.classes_).signs(codes), counts

    def _left_one_out(self, moments: Moments, factor: Factor | None, kept: KeptRows) -> Calibration:
        """Return the calibration of least squares, from decision values of rows left out one by one."""
        Z, codes, weight = kept.all()
        tasks, counts = Tasks(self.classes_), self._kept_signs(kept)[2]
        own = Leverages.of(moments, factor, bool(self.fit_intercept), self._precision).at(Z)
        own *= counts / np.maximum(weight, 1.0)  # leave out one copy of a row that counts as several
        values = Z @ self.coef_.T + self.intercept_
        values -= (own / np.maximum(1.0 - own, NEAREST))[:, None] * (tasks.signs(codes) - values)
        return learned("leave-one-out", tasks, values, codes, [counts] * codes.shape[1])

    def _check_finite(self, W: Matrix) -> None:
        if not np.isfinite(W).all():
            raise ValueError(
                f"the coefficients overflow with C={self.C_:g}: lower C or the weights of rows and classes, or scale "
                "the rows down"
            )

    def _adopt(self, W: Matrix) -> None:
        """Set the coefficients, one column per class, with the intercept as the last row if there is one."""
        self._check_finite(W)
        width = self.map_.n_components_
        self.intercept_ = W[width] if self.fit_intercept else np.zeros(W.shape[1])
        self.n_iter_ = 1
        if self.convergence_ is not None:
            self.n_iter_ = max(1, self.convergence_.n_iter)
            self.objective_, self.gap_ = self.convergence_.objectives[-1], self.convergence_.gap
            self.solver_ = SolverCost.of(self.convergence_)
        self.coef_ = np.ascontiguousarray(W[:width].T)

    # -- predictions ---------------------------------------------------------------------------------------------------

    @lazily
    @in_kind_of_rows
    def decision_function(self, X: Any) -> Any:
        """Return the decision values of rows, which are higher the more a class (or the second of two) is favoured.

        Far from all training rows nothing is known except the intercept. On rows that extrapolate (see
        :meth:`extrapolates`), decision values therefore fall back to ``intercept_``: if the kernel depends on the
        difference of two rows, like the Gaussian one, the contribution of the features is multiplied by 0.1 over the
        row's distance from the region, and classes and probabilities change accordingly. Kernels that grow with the
        rows, such as polynomials, are not changed, so their predictions stay confident far away.

        With ``probabilities="laplace"`` these are the log-odds of the probabilities, which put rows in the same order
        as ``predict_proba``; :meth:`latent_mean_and_variance` returns the values before they are averaged.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes), or list of these
            The decision values; a list with one array per task if there are several.
        """
        check_is_fitted(self)
        if hasattr(self, "posterior_"):
            return self._log_odds_at(X)
        return Tasks(self.classes_).apart(self._decision_values(X))

    def _decision_values(self, X: Any) -> NDArray[Any]:
        """Return decision values, one column per row of ``coef_``."""

        def left(prepared: Array) -> Matrix:
            return fallback(self.region_.distances(prepared))

        left_of = left if self.falls_back else None
        return self.linear_values(X, self.coef_, self.intercept_, size=self.size_of_decisions(), left=left_of)

    @property
    def falls_back(self) -> bool:
        """Whether decision values of rows that extrapolate fall back to the intercept."""
        return hasattr(self, "region_") and decays(self.map_.kernel_)

    def size_of_decisions(self) -> Matrix:
        """Return the size of decision values for choosing the precision of products.

        Returns
        -------
        ndarray of shape (n_columns,)
            One number per row of coefficients.
        """
        return np.full(len(self.coef_), MARGINS)

    @lazily
    @in_kind_of_rows
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the classes of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_tasks)
            The labels.
        """
        check_is_fitted(self)
        return Tasks(self.classes_).predicted(self._decision_values(X))

    @lazily
    @in_kind_of_rows
    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of every class.

        ``fit`` learns curves from decision values to probabilities, on rows as if they had been left out
        (``calibration_`` says how). With ``loss="logistic"`` probabilities are the softmax of decision values times one
        number that compensates for the penalty. The most likely class is the one that ``predict`` returns. After
        ``partial_fit``, ``merge`` and ``forget`` there are no probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or list of these
            The probabilities, one column per class; a list with one array per task if there are several.
        """
        return each(probabilities, self._log_odds_at(X))

    @lazily
    @in_kind_of_rows
    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithms of the probabilities of every class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or list of these
            The logarithms of ``predict_proba``.
        """
        return each(log_probabilities, self._log_odds_at(X))

    def _log_odds_at(self, X: Any) -> Any:
        check_is_fitted(self)
        tasks = Tasks(self.classes_)
        values = tasks.apart(self._decision_values(X))
        if not hasattr(self, "posterior_"):
            return self.log_odds(values)
        variances = self._variances(X)
        parts = zip(values if tasks.several else [values], tasks.columns, strict=True)
        found = [integrated(part, variances[:, columns]).astype(part.dtype) for part, columns in parts]
        return found if tasks.several else found[0]

    def _variances(self, X: Any) -> Matrix:
        def variances(rows: Array, first: int) -> Matrix:
            Z = self.features_of(rows, first)
            return self.posterior_.variances(Z, self.C_, missed_diagonal(self.map_, rows, Z))

        return self._by_rows(X, variances)

    @in_kind_of_rows
    def latent_mean_and_variance(self, X: Any) -> tuple[Any, Any]:
        """Compute the posterior means and variances of decision values, before probabilities are averaged over them.

        Variances say how uncertain the means are, as standard deviations do for the predictions of a regressor.
        Requires ``probabilities="laplace"``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        tuple of two ndarrays of shape (n_samples,) or (n_samples, n_classes), or of two lists of these
            The means and the variances, in the shape of the results of ``decision_function``.
        """
        check_is_fitted(self)
        if not hasattr(self, "posterior_"):
            raise ValueError(
                f"variances require a model fitted with probabilities='laplace', found {self.probabilities!r}"
            )
        tasks = Tasks(self.classes_)
        return tasks.apart(self._decision_values(X)), tasks.apart(self._variances(X))

    @property
    def has_probabilities(self) -> bool:
        """Whether the model was fitted so that ``predict_proba`` works."""
        return self.loss == "logistic" or getattr(self, "calibration_", None) is not None

    def log_odds(self, values: Any) -> Any:
        """Convert decision values to values whose softmax gives the calibrated probabilities.

        With ``probabilities="laplace"``, decision values are log-odds already.

        Parameters
        ----------
        values : ndarray or list of ndarrays
            The result of ``decision_function``.

        Returns
        -------
        ndarray or list of ndarrays
            The converted values, of the same shape.
        """
        check_is_fitted(self)
        if hasattr(self, "posterior_"):
            return values
        calibration, is_own = self.calibration_, self.loss == "logistic"
        if calibration is None and is_own:
            return values  # models in files of earlier versions
        if calibration is None:
            raise ValueError(
                f"this model has no probabilities, because with loss={self.loss!r} only fit learns them, and it was "
                f"trained in batches or comes from a file of an earlier version; fit it again, or use loss='logistic'"
            )
        tasks = Tasks(self.classes_)
        parts = values if tasks.several else [values]
        found = [
            sharpened(part, calibration.slopes[columns]) if is_own else calibration.log_odds(part, columns)
            for part, columns in zip(parts, tasks.columns, strict=True)
        ]
        return found if tasks.several else found[0]

    def score(self, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> float:
        """Return the accuracy; with several tasks, the share of rows for which all classes are correct.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        y : array-like of shape (n_samples,) or (n_samples, n_tasks), or None, default=None
            The true labels. None if X is a table, which has its own.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights of the rows.

        Returns
        -------
        float
            The accuracy.
        """
        y, predicted, weight = self._judged(X, y, sample_weight)
        if predicted.ndim == 1:
            return float(accuracy_score(y, predicted, sample_weight=weight))
        return float(np.average((predicted == checked_labels(y)).all(axis=1), weights=weight))

    # -- model files ---------------------------------------------------------------------------------------------------

    learned_types: ClassVar[dict[str, Any]] = {
        "n_iter_": int,
        "convergence_": Report | None,
        "_precision": float,
        "calibration_": Calibration | None,
        "objective_": float,
        "gap_": float,
        "C_": float,
        "penalty_path_": PenaltyPath,
        "solver_": SolverCost,
        "choice_": Choice | None,
    }

    @property
    def _n_targets(self) -> int | None:
        return self.n_columns if hasattr(self, "classes_") else 0

    def array_layout(self) -> dict[str, Any]:
        targets = self._n_targets
        arrays = {"coef_": floats(targets, self.map_.n_components_), "intercept_": floats(targets)}
        lengths = map(len, Tasks(self.classes_).classes) if targets else ()
        size = int(self.map_.n_components_) + bool(self.fit_intercept)
        arrays |= {"posterior_": LaplacePosterior(floats(targets, size, size))}
        return super().array_layout() | arrays | {"_class_weights": tuple(floats(length) for length in lengths)}

    def check_arrays(self) -> None:
        super().check_arrays()
        if hasattr(self, "classes_"):
            self._class_weights = getattr(self, "_class_weights", None)
            if hasattr(self, "coef_") and not hasattr(self, "C_"):
                self.C_ = self._candidates[0]  # older files do not have it
            self.calibration_ = calibration = getattr(self, "calibration_", None)  # older files do not have it
            if calibration is not None:
                sizes = {len(part) for part in (calibration.slopes, calibration.bends, calibration.offsets)}
                self._refuse_unless(sizes == {self._n_targets})

    def _check_coefficients(self, targets: int) -> None:
        self._refuse_unless(all(hasattr(self, name) for name in ("classes_", "intercept_", "n_iter_", "convergence_")))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = is_narrow(self)
        return tags
