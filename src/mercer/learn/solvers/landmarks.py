r"""Kernel machines on landmarks, without whitened features.

With landmarks L, a machine is :math:`f(x) = k(x, L) \alpha + b`, and minimises :math:`\alpha^\top k(L, L) \alpha / 2 +
\mathrm{loss}(k(X, L) \alpha + b)`. With the factor T of :math:`k(L, L) = T T^\top` and :math:`w = T^\top \alpha`, this
is :math:`\|w\|^2 / 2` and features :math:`Z = k(X, L) T^{-\top}`, which are never computed: kernel values are
multiplied by :math:`T^{-\top} w`. This replaces n D^2 operations by n D for every step, and D^3 / 3 once.

Newton's steps are found by conjugate gradients, for all classes at once. The landmarks are a sample of the rows, whose
features are the rows of T, so :math:`I + c\,T^\top T`, with c the curvature that a landmark represents, is close to the
Hessian, and its factor preconditions the steps.

This holds as long as there is curvature everywhere. The curvature of a loss with corners is concentrated in few rows.
Steps are then preconditioned by the Hessians of columns, from features of the rows with curvature, which are computed
along the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..._array import namespace
from ..._tiles import single_threaded_blas, sum_in_order
from ...gpu.triangular import DeviceTriangular
from ..estimates.time_forecast import DOUBLE, PRODUCT_COST, Work
from ..features.chosen_rows import RowNumbers
from ..features.feature_matrix import FeatureMatrix, joined_moments, weighted_moments
from ..losses import Bend, Loss
from ..losses.row_values import column_sums
from ..passes.fit_passes import Passes
from .newton import Matrix, Newton, Solution, Values
from .triangular import Triangular

ROUNDING = 8.0
"""The number added to the diagonal of the landmarks' kernel matrix, in units of the last place of kernel values.

It limits the coefficients, and with them the effect that rounding of kernel values has on decision values.
"""
TRIES = 8
INNER_STEPS = 12
"""The number of conjugate gradient steps per Newton step, half of the maximum: active rows change before more would pay
off."""
QUADRATIC_FORCING = 1e-3
MODERATE, GROWTH = 100.0, 10.0
"""The strength of the loss with which a fit starts, and the factor by which it grows up to the given one."""
ROUGHLY = 0.01
"""The tolerance of solutions for smaller weights."""
ALWAYS_SPARED = 2.0**26
"""The memory for Hessians, in bytes, that a fit may take whatever its limit for kernel values, so that this limit does
not change the bits of small problems."""
SHORT = 0.1
"""A step whose best length is below this share led in a poor direction; the next one gets fresh Hessians."""
CHANGED = 2.0
"""The preconditioner is computed again when the curvature per landmark has changed by this factor."""


class CoefficientChange:
    """The change between coefficients w of features and alpha of kernel values, w = T' alpha, on any processor."""

    factor: Triangular | DeviceTriangular
    mean_diagonal: float
    """The mean kernel value of a landmark with itself."""

    def coefficients(self, W: Matrix) -> Matrix:
        """Return alpha = T^-T w; rows after the landmarks, such as intercepts, are kept."""
        count = len(self.factor)
        return np.vstack([self.factor.solve_transposed(W[:count]), W[count:]])

    def turned(self, G: Matrix) -> Matrix:
        """Return T^-1 g: a gradient with respect to alpha as one with respect to w."""
        count = len(self.factor)
        return np.vstack([self.factor.solve(G[:count]), G[count:]])

    def features(self, K: Values) -> Values:
        """Return k(x, L) T^-T of rows, in the precision of their kernel values."""
        return np.ascontiguousarray(self.factor.solve(K.T).T, dtype=K.dtype)

    def weights(self, A: Matrix) -> Matrix:
        """Return w = T' alpha."""
        count = len(self.factor)
        return np.vstack([self.factor.transposed_times(A[:count]), A[count:]])


class LandmarkRoot(CoefficientChange):
    """The factor T of the kernel matrix of the landmarks.

    Parameters
    ----------
    gram : ndarray of shape (n_landmarks, n_landmarks)
        The kernel matrix in float64: in float32 it is not positive definite from some thousands of landmarks on.
        It is overwritten.
    precision : float
        The relative precision of the kernel values that T is used with.
    n_jobs : int or None
        The number of threads.
    """

    factor: Triangular

    def __init__(self, gram: Matrix, precision: float, n_jobs: int | None):
        count, diagonal = len(gram), np.diag(gram).copy()
        self.mean_diagonal = float(diagonal.mean())
        added = max(ROUNDING * precision, count * np.finfo(np.float64).eps) * (self.mean_diagonal or 1.0)
        upper = gram.T  # the factor overwrites only the lower half, so that the upper one allows another attempt
        for _ in range(TRIES):
            gram[np.diag_indices(count)] = diagonal + added
            try:
                self.factor = Triangular.factor(gram, n_jobs)
                break
            except np.linalg.LinAlgError:
                lower = np.tril_indices(count, -1)
                gram[lower] = upper[lower]
                added *= 10.0
        else:
            raise ValueError("the kernel matrix of the landmarks is not positive semi-definite")
        self._gram: Values | None = None
        self._single: Triangular | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_gram": None, "_single": None}  # which are made again where they are used

    def single(self) -> Triangular:
        """Return T in float32: half the memory traffic, for products whose errors the next Newton step corrects."""
        if self._single is None:
            self._single = Triangular(self.factor.lower.astype(np.float32), self.factor.n_jobs)
        return self._single

    def preconditioner(self, curvature: float, intercept: bool, dtype: DTypeLike) -> Triangular:
        """Return the factor of I + c T'T, bordered by the row of an intercept that is not regularised."""
        count = len(self.factor)
        if self._gram is None:
            self._gram = self.factor.gram(dtype)
        hessian = np.zeros((count + intercept, count + intercept), dtype=dtype)
        np.multiply(self._gram, curvature, out=hessian[:count, :count])
        eps = float(np.finfo(dtype).eps)
        hessian[np.diag_indices(count)] *= 1.0 + ROUNDING * eps
        hessian[np.diag_indices(count)] += 1.0
        if intercept:
            ones = np.ones((count, 1))
            hessian[count, :count] = curvature * self.factor.transposed_times(ones)[:, 0]
            hessian[count, count] = curvature * count * (1.0 + 1e3 * eps) + eps
        return Triangular.factor(hessian, self.factor.n_jobs)


class LandmarkFeatures:
    """The features Z = k(X, L) T^-T as a solver uses them: products with kernel values, and solves with T.

    Parameters
    ----------
    values : FeatureMatrix
        The kernel values of all rows at the landmarks, kept or computed again in every pass.
    root : LandmarkRoot
    """

    most_sample_bytes: float | None = None
    spare_bytes = 0.0
    """The memory that a solver may use for its own factors, in addition to what it needs."""

    def __init__(self, values: FeatureMatrix, root: LandmarkRoot):
        self.values = values
        self.root = root
        self.n_rows, self.n_features, self.width = values.n_rows, values.n_features, values.width
        self.dtype, self.intercept, self.n_jobs = values.dtype, values.intercept, values.n_jobs

    @property
    def passes(self) -> Passes:
        """The passes of the fit."""
        return self.values.passes

    @passes.setter
    def passes(self, passes: Passes) -> None:
        self.values.passes = passes

    def kept(self, what: str, make: Callable[..., NDArray[Any]], *arguments: Any, passes: int = 1) -> NDArray[Any]:
        """Return the result of ``make``, computed in ``passes`` passes unless it is known already."""
        return self.values.kept(what, make, *arguments, passes=passes)

    @property
    def n_passes(self) -> int:
        """The number of passes over all rows."""
        return self.values.n_passes

    @n_passes.setter
    def n_passes(self, count: int) -> None:
        self.values.n_passes = count

    def whole(self) -> NDArray[Any]:
        """Return the features of all rows, which must be few."""
        return self.root.features(self.values.whole())

    def coefficients(self, W: Matrix) -> Matrix:
        """Return W in terms of kernel values: alpha, and the intercept."""
        return self.root.coefficients(W)

    def products(self, W: Matrix, what: str) -> NDArray[Any]:
        """Return Z W for all rows, in the precision of the kernel values."""
        return self.values.products(self.root.coefficients(W), what)

    def decision_values(self, W: Matrix, what: str) -> NDArray[Any]:
        """Return Z W for all rows, for losses."""
        return self.products(W, what)

    def row_values(self, F: NDArray[Any]) -> NDArray[Any]:
        """Return decision values in the form that losses expect: unchanged."""
        return F

    def step_values(self, G: Any) -> Any:
        """Return coefficients in the form that the products of a step expect: unchanged."""
        return G

    def transposed(self, R: NDArray[Any], what: str, rows: RowNumbers | None = None) -> Matrix:
        """Return Z' R."""
        return self.root.turned(self.values.transposed(R, what, rows))

    def curved(self, W: Any, bend: Bend, what: str, rows: RowNumbers | None = None) -> Any:
        """Return Z' bend(Z W), in one pass, in the precision of the kernel values throughout."""
        factor, count = self.root.single() if self.dtype == np.float32 else self.root.factor, self.n_features
        A = np.vstack([factor.solve_transposed(W[:count]), W[count:]])
        G = self.values.curved(A, bend, what, rows)
        return np.vstack([factor.solve(G[:count]), G[count:]]).astype(np.float64)

    def moments(self, h: NDArray[Any], alone: bool) -> NDArray[Any]:
        """Return Z' diag(h) Z over the rows with positive h; ``alone`` if no other threads are running."""
        self.n_passes += 1
        if not h.any():
            return np.zeros((self.width, self.width), dtype=self.dtype)
        tell = self.passes.begin("curvature")

        def work(part: tuple[int, Values, Values]) -> tuple[Values, ...]:
            _, K, mine = part
            return weighted_moments(self.root.features(K), mine, self.intercept)

        def after(part: tuple[int, Values, Values]) -> None:
            if tell is not None:
                tell(part[0])

        n_jobs, held = self.n_jobs if alone else 1, self.n_features**2 * np.dtype(self.dtype).itemsize
        return joined_moments(sum_in_order(work, self.values.weighted_chunks(h), n_jobs, held, after))


class LandmarkNewton(Newton):
    """Newton's method for machines on landmarks.

    It ends by the Newton decrement: half the product of gradient and step is how much the quadratic model of the
    objective can still decrease, which is an estimate of the distance from the minimum rather than a bound.

    At first, the landmarks' own kernel matrix replaces the Hessian in the preconditioner, as if all rows were like
    landmarks and had equal curvature. If only a few rows count in the end, this is a poor approximation, and Newton
    steps end too early or in the wrong direction. When the products in such steps have cost as much as the Hessians of
    all columns would, the Hessians are computed.

    If the weight of the loss is large and rows without curvature do not count, the best direction changes with every
    row that starts or stops to count, and a step from far away may change thousands of them. Such a problem is solved
    for a moderate weight first, which then grows; few rows change from one weight to the next.

    The estimate is used only if the quadratic model holds over a whole step: the best length of the last step, or of
    the step that is left, is about 1. Where the preconditioner overestimates the Hessian, what is left of the gradient
    looks too small, by a factor that the conjugate gradients themselves tell. They tell it only after some steps, so
    that estimates with the Hessians of an earlier point are not used, nor, if there is memory for Hessians and the
    weight is large, those without any.

    Parameters
    ----------
    design : LandmarkFeatures
        The features.
    loss : Loss
        The loss to minimise.
    """

    name = "landmarks"
    forcing = 0.3  # exact steps with the wrong active rows gain little
    design: LandmarkFeatures

    def __init__(self, design: LandmarkFeatures, loss: Loss):
        super().__init__(design, loss)
        self.curvature = 0.0
        self.preconditioner: Triangular | None = None
        self.unfinished = 0
        """Products with all rows in steps that ended too early."""
        self.takes_hessians = False
        self.is_on_the_way = False
        """Whether the solution is only the start for a larger weight."""
        self.solved = 0.0
        """The strength of the loss of the last solution, from which the next one starts."""
        if loss.is_quadratic:  # a single, accurate step is sufficient
            self.forcing = QUADRATIC_FORCING

    def minimise(self, tol: float, max_iter: int, start: Matrix | None = None) -> Solution:
        steps = 0
        with single_threaded_blas():  # our own threads run in parallel, so that bits do not depend on their number
            for share in self.smaller_weights():
                start, count = self.with_weight(share, max_iter, start)
                steps += count
            solution = super().minimise(tol, max_iter, start)
        self.solved = self.strength
        return solution._replace(report=solution.report._replace(n_iter=steps + solution.report.n_iter))

    # -- large weights -------------------------------------------------------------------------------------------------

    @property
    def strength(self) -> float:
        """The mean weight of rows, times the mean kernel value of a landmark with itself."""
        return self.loss.mean_weight() * self.design.root.mean_diagonal

    def smaller_weights(self) -> list[float]:
        """Return the shares of the weight for which to solve the problem before, in increasing order."""
        if not self.loss.has_idle_rows:
            return []
        strength, first = self.strength, max(MODERATE, GROWTH * self.solved)
        count = math.ceil(math.log(max(strength / first, 1.0), GROWTH) - 0.5)  # the last factor is 3 to 30
        return [first * GROWTH**number / strength for number in range(count)]

    def with_weight(self, share: float, max_iter: int, start: Matrix | None) -> tuple[Matrix, int]:
        """Return the solution for a smaller weight, and the number of steps that it took."""

        def make() -> tuple[NDArray[Any], ...]:
            solver = self.for_loss(self.loss.scaled(share))
            solver.ratios, solver.is_on_the_way = self.ratios, True
            solution = super(LandmarkNewton, solver).minimise(ROUGHLY, max_iter, start)
            numbers = solution.report.n_iter, solver.unfinished, solver.takes_hessians, self.design.n_passes
            return solution.W, np.array(numbers, dtype=np.int64), solver.ratios

        checkpoint = self.design.passes.context.checkpoint
        name = f"{self.design.n_features} landmarks, share {share:.17g} of the weight"
        W, numbers, self.ratios = make() if checkpoint is None else checkpoint.settled(name, make)
        count, self.unfinished, takes_hessians, self.design.n_passes = numbers.tolist()
        self.takes_hessians = bool(takes_hessians)
        self.factors, self.is_stale, self.preconditioner = None, True, None  # those of another weight
        return W, count

    # -- the preconditioner --------------------------------------------------------------------------------------------

    def refresh(self, F: Values) -> tuple[bool, int]:
        most = INNER_STEPS * (4 if self.loss.is_quadratic else 1)
        if self.products_taken and (self.products_taken[-1] >= 2 * most or not self.is_in_model):
            self.unfinished += self.products_taken[-1]
        if not self.takes_hessians and self.unfinished and self.has_room_for_hessians:
            self.takes_hessians = self.unfinished >= self.steps_worth_fresh_factors(F)
        if self.takes_hessians:
            self.preconditioner = None
            self.is_stale = self.is_stale or self.factors is None
            return super().refresh(F)
        total = float(column_sums(self.loss.curvature(F)).sum())
        curvature = total / (self.loss.n_columns * self.design.n_features)
        if self.preconditioner is None or not 1.0 / CHANGED < curvature / self.curvature < CHANGED:
            self._precondition_by(max(curvature, float(np.finfo(np.float32).tiny)))
        return False, most

    @property
    def has_room_for_hessians(self) -> bool:
        """Whether there is memory for the factors of the Hessians of all columns, and for computing them."""
        size = np.dtype(self.design.dtype).itemsize * float(self.design.width) ** 2
        return 2.0 * (self.loss.n_columns + 1) * size <= max(self.design.spare_bytes, ALWAYS_SPARED)

    def steps_worth_fresh_factors(self, F: Values) -> int:
        h = self.preconditioning_curvature(F)
        D, k = float(self.design.width), self.loss.n_columns
        rows = float(np.count_nonzero(h))
        factors = (1.0 + DOUBLE) * rows * D**2 + k * D**3 / 3.0
        active = float(np.count_nonzero(h.any(axis=1)))
        product = 4.0 * PRODUCT_COST * (active + D) * D * k
        return max(3, round(factors / product))

    def _precondition_by(self, curvature: float) -> None:
        self.curvature = curvature
        self.preconditioner = self.design.root.preconditioner(curvature, self.design.intercept, self.design.dtype)

    def precondition(self, G: Values) -> Values:
        if self.takes_hessians:
            return super().precondition(G)
        assert self.preconditioner is not None
        turned = self.preconditioner.inverse_times(G)
        return self.centred(namespace(turned).astype(turned, namespace(turned).float64))

    def estimated_gap(self, gradient: Matrix, step: Matrix, values: Matrix) -> float:
        return self.decrement(gradient, step, values)

    @property
    def needs_hessians(self) -> bool:
        """Whether only Hessians tell how far the minimum is: if few rows may count in the end, and there is room."""
        is_strong = self.loss.has_idle_rows and self.strength > MODERATE
        return is_strong and not self.is_on_the_way and self.has_room_for_hessians

    @property
    def is_trusted(self) -> bool:
        return super().is_trusted and (self.is_fresh or not (self.takes_hessians or self.needs_hessians))

    def learn_from(self, length: Matrix, seemed_last: bool) -> None:
        self.takes_hessians = self.takes_hessians or (seemed_last and self.needs_hessians)
        self.is_stale = self.is_stale or seemed_last or bool((length < SHORT).any())

    # -- what is to come, and a run that ends early --------------------------------------------------------------------

    def factor_works(self) -> list[Work]:
        if self.takes_hessians:
            return super().factor_works()
        if self.preconditioner is not None:
            return []
        return [Work("preconditioner", 2.0 / 3.0 * float(self.design.n_features) ** 3)]

    def state(self) -> tuple[Values, ...]:
        numbers, *factors = super().state()
        last = self.products_taken[-1] if self.products_taken else 0
        mine = self.curvature, float(self.unfinished), float(self.takes_hessians), float(last), float(self.is_in_model)
        return np.concatenate([mine, self.ratios, numbers]), *factors

    def restore(self, numbers: Values, *different: Values) -> None:
        curvature, unfinished, takes_hessians, last, is_in_model = numbers[:5].tolist()
        self.ratios, theirs = np.split(numbers[5:], [self.loss.n_columns])
        super().restore(theirs.astype(np.int64), *different)
        self.unfinished, self.takes_hessians = int(unfinished), bool(takes_hessians)
        self.is_in_model = bool(is_in_model)
        if last > 0.0:
            self.products_taken = [int(last)]
        if curvature > 0.0 and not self.takes_hessians:  # without a step, there was no preconditioner
            self._precondition_by(curvature)

    def take_over(self, *carried: Values) -> None:
        self.restore(*carried)
        self.products_taken, self.is_in_model, self.solved = [], False, self.strength
        self.ratios = np.ones(self.loss.n_columns)


class LandmarkHessians(Newton):
    """Newton's method for losses with corners on landmarks, preconditioned by the Hessians of columns.

    It stops by the bound of Newton's method on features.

    Parameters
    ----------
    design : LandmarkFeatures
    loss : SmoothedLoss
    """

    name = "landmarks"

    def __init__(self, design: LandmarkFeatures, loss: Loss):
        super().__init__(design, loss)

    def minimise(self, tol: float, max_iter: int, start: Matrix | None = None) -> Solution:
        with single_threaded_blas():
            return super().minimise(tol, max_iter, start)
