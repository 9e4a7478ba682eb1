"""KernelClassifier: linear classification on features, in a few passes over the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils import assert_all_finite, compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from .._checks import check_choice, check_positive, check_whole
from .._memory import as_bytes
from ..data import Table
from ._designs import Design, HeldDesign, design_of
from ._liblinear import liblinear
from ._losses import Softmax, loss_named
from ._machine import KernelMachine, Progress
from ._newton import Newton, Report
from ._ridge import solve_ridge
from ._rows import Chunk, PreparedRows
from .statistics import Moments

Matrix = NDArray[np.float64]

LOSSES = ("squared_hinge", "logistic", "squared")
SOLVERS = ("newton", "liblinear")


class Labels(NamedTuple):
    """The classes, the class of every row by its number, and what every row counts."""

    classes: NDArray[Any]
    codes: NDArray[np.int64]
    weight: Matrix


class KernelClassifier(ClassifierMixin, KernelMachine):
    r"""Classification with a kernel, in time and memory linear in the number of rows.

    The learner for classes. It minimises :math:`\|w\|^2 / 2 + C \sum_i \ell(y_i, \langle w, z_i\rangle + b)` over the
    features z, all classes at once: ``"squared_hinge"`` is the support vector machine of the papers (one class against
    the rest), ``"logistic"`` gives probabilities (of several classes by the softmax), and ``"squared"``, which needs
    one pass and no iterations, is the fastest and often as accurate. The first two take a Newton method whose steps end
    within ``tol`` of the least objective, relative to it.

    Parameters
    ----------
    kernel, n_components, map : what the features are; see :class:`KernelMachine`
    loss : "squared_hinge", "logistic" or "squared"
    C : how much a row counts beside ||w||^2 / 2
    class_weight : dict, "balanced" or None
    fit_intercept : bool
    solver : "newton" or "liblinear"
        The second holds all features and calls scikit-learn's LIBLINEAR, where several classes are one against the
        rest and the intercept is held back like a coefficient.
    tol : the relative distance to the least objective
    max_iter : Newton steps at most
    memory : int, text like "2GB", or None
        Features are kept between passes where they take no more than this, and made again where they take more. None is
        a quarter of the machine's memory.
    scale, missing, unknown, random_state, n_jobs, callback : see :class:`KernelMachine`

    Attributes
    ----------
    classes_ : the labels
    coef_ : ndarray of shape (1 or n_classes, D); intercept_ : ndarray of shape (1 or n_classes,)
    convergence_ : Report or None
        Objectives after every step, passes over the rows, and the distance to the least objective; None where nothing
        iterates.
    map_, preparation_ : see :class:`KernelMachine`

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import KernelClassifier
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = np.where((X**2).sum(axis=1) < 1.4, "in", "out")
    >>> model = KernelClassifier(n_components=128, random_state=0).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.97), model.convergence_.converged
    (True, True)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_components: int | None = None,
        map: Any = "auto",
        loss: Literal["squared_hinge", "logistic", "squared"] = "squared_hinge",
        C: float = 1.0,
        class_weight: Any = None,
        fit_intercept: bool = True,
        solver: Literal["newton", "liblinear"] = "newton",
        tol: float = 1e-4,
        max_iter: int = 100,
        memory: Any = None,
        scale: str | None = None,
        missing: str = "error",
        unknown: str = "error",
        random_state: Any = None,
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

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : dense or CSR matrix, pandas or polars frame, or a table (:func:`mercer.data.open`)
        y : array of shape (n_rows,); None where X is a table, which brings it
        sample_weight : array of shape (n_rows,) or None
            A row of weight 2 counts as two rows.
        """
        self._check_arguments()
        if not isinstance(X, Table):
            if y is None:
                raise ValueError("requires y to be passed, but the target y is None")
            y = column_or_1d(y, warn=True)
            assert_all_finite(y, input_name="y")
            check_classification_targets(y)
            check_consistent_length(X, y)
        table = self._table(X, y, sample_weight, reset=True)
        labels = self._labels(table)
        self.classes_ = labels.classes
        rows = self._start(table, exact=True)
        self.convergence_: Report | None = None
        if self.loss == "squared":
            W = self._least_squares(rows, labels)
        else:
            W = self._least_loss(self._design(rows), labels)
        width = self.map_.n_components_
        self.coef_ = np.ascontiguousarray(W[:width].T)
        self.intercept_ = W[width] if self.fit_intercept else np.zeros(W.shape[1])
        self.n_iter_ = 1 if self.convergence_ is None else max(1, self.convergence_.n_iter)
        return self

    def _check_arguments(self) -> None:
        check_choice("loss", self.loss, LOSSES)
        check_choice("solver", self.solver, SOLVERS)
        check_positive("C", self.C)
        check_positive("tol", self.tol)
        check_whole("max_iter", self.max_iter)

    def _labels(self, table: Table) -> Labels:
        """Classes and codes, by a pass over labels and weights alone."""
        parts = [(block.y, block.weight) for block in table.targets()]
        if any(y is None for y, _ in parts):
            raise ValueError("the blocks must bring y, found X alone")
        y = np.concatenate([np.asarray(y) for y, _ in parts])
        weight = np.concatenate([np.ones(len(y)) if weight is None else weight for y, weight in parts])
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"a classifier needs at least 2 classes, found 1 class: {classes.tolist()[0]!r}")
        if self.class_weight is not None:
            weight = weight * compute_class_weight(self.class_weight, classes=classes, y=y)[codes]
        return Labels(classes, codes.astype(np.int64), weight)

    def _least_squares(self, rows: PreparedRows, labels: Labels) -> Matrix:
        """Ridge regression on targets 1 and -1."""
        width, n_classes = self.map_.n_components_, len(labels.classes)
        columns = np.array([1]) if n_classes == 2 else np.arange(n_classes)

        def part(Z: NDArray[Any], chunk: Chunk) -> Moments:
            mine = slice(chunk.first, chunk.first + len(Z))
            Y = np.where(labels.codes[mine, None] == columns, 1.0, -1.0)
            return Moments.of(Z, Y, labels.weight[mine])

        moments = Moments(*self._summed(part, rows, 8 * width * width, "sums", 1))
        intercept = bool(self.fit_intercept)
        coef = solve_ridge(moments, 0.5 / float(self.C), intercept, float(np.finfo(rows.dtype).eps))
        centred = moments.centred(intercept)
        return np.vstack([coef, centred.target_mean - centred.feature_mean @ coef])

    def _least_loss(self, design: Design, labels: Labels) -> Matrix:
        if isinstance(design, HeldDesign) and self.solver == "liblinear":
            return liblinear(self, design, labels.codes, labels.weight)
        n_classes = len(labels.classes)
        loss = loss_named(self.loss, n_classes)(labels.codes, n_classes, float(self.C) * labels.weight)
        solution = Newton(design, loss).minimise(float(self.tol), int(self.max_iter))
        self.convergence_ = report = solution.report
        if not report.converged:
            warnings.warn(
                f"after {report.n_iter} steps the objective may be {report.gap:.1g} of itself above the least one: "
                "raise max_iter or tol, or lower C",
                ConvergenceWarning,
                stacklevel=3,
            )
        return solution.W

    def _design(self, rows: PreparedRows) -> Design:
        """The features, held where they fit; LIBLINEAR takes no others."""
        arguments = rows, self._features, self.map_.n_components_, bool(self.fit_intercept), self.n_jobs
        if self.solver == "liblinear":
            return HeldDesign.of(*arguments)
        return design_of(*arguments, as_bytes(self.memory))

    # -- predictions ---------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[Any]:
        """How far rows are on the side of each class; of two classes, on that of the second.

        Parameters
        ----------
        X : dense or CSR matrix, pandas or polars frame, or a table
        """
        check_is_fitted(self)
        values = self._products(X, self.coef_, self.intercept_)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The classes of rows.

        Parameters
        ----------
        X : dense or CSR matrix, pandas or polars frame, or a table
        """
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(np.int64) if values.ndim == 1 else values.argmax(axis=1)]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted right.

        Parameters
        ----------
        X, y, sample_weight : as for ``fit``
        """
        if isinstance(X, Table):
            observed, predicted, weight = self._observed(X, self.predict)
            return float(accuracy_score(observed, predicted, sample_weight=weight))
        return float(super().score(X, y, sample_weight))

    @available_if(lambda self: self.loss == "logistic")
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The probability of every class, a column each.

        Parameters
        ----------
        X : dense or CSR matrix, pandas or polars frame, or a table
        """
        values = self.decision_function(X)
        values = np.stack([np.zeros_like(values), values], axis=1) if values.ndim == 1 else values
        return Softmax.probabilities(values)

    @available_if(lambda self: self.loss == "logistic")
    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """The logarithms of ``predict_proba``.

        Parameters
        ----------
        X : dense or CSR matrix, pandas or polars frame, or a table
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
