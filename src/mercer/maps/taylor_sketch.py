"""TaylorSketch: each degree of a kernel's series exactly or by a sketch, whichever gives the lower error."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import _core
from .._array import Array, dense, feature_array, first_overflow, namespace, ones, send
from .._random import RandomState, Stream
from .._rows import Rows
from ..gpu import kernels
from ..kernels import Kernel
from ..kernels.defaults import GAUSSIAN
from ._allotment import Allotment, Term, allot, rounded
from ._complex import independent_variance
from ._series_splits import Split, split_of
from .array_layouts import exactly, floats
from .complex_sketch import (
    Srht,
    apply_srht,
    draw_srht,
    padded_width,
    pull_srht,
    srht_correction,
    srht_layout,
    srht_pairs,
    srht_tables,
    srht_variance,
)
from .construction import Construction, Gpu, Native, in_tiles
from .description import MapDescription
from .estimator import FeatureMap
from .fitted_map import FittedMap, earliest
from .pair_moments import PairMoments, pair_moments, power
from .refusals import unserved

if TYPE_CHECKING:
    import torch

Matrix = NDArray[np.float64]

SAMPLE_ROWS = 192
SAMPLE_ELEMENTS = 1 << 24
LAST_DEGREE = 40
"""Where an infinite series is truncated; higher degrees count as omitted."""
HOPELESS = 0.9
"""The expected relative error above which ``fit`` warns."""
NEGLIGIBLE = 1e-13
"""The squared error, relative to the kernel, below which further degrees are not considered."""


class TaylorParameters(NamedTuple):
    """The split's vector, the exact degrees, the sketched degrees and their sketches."""

    vector: Matrix
    exact: NDArray[np.int64]
    degrees: NDArray[np.int64]
    widths: NDArray[np.int64]
    sketches: tuple[Srht, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class TaylorConstruction(Construction):
    """A series about a point or along a direction, whose degrees are exact or sketched.

    ``chosen_split``, ``vector``, ``degrees``, ``exact_degrees`` and ``expected_error`` are learned from rows.
    """

    split: str | None
    chosen_split: str | None = None
    vector: Matrix = field(default_factory=lambda: np.zeros(0))
    degrees: dict[int, int] = field(default_factory=dict)
    exact_degrees: tuple[int, ...] = ()
    expected_error: float = math.nan

    learned: ClassVar[dict[str, tuple[str, Any]]] = {
        "split_": ("chosen_split", str | None),
        "degrees_": ("degrees", dict[int, int]),
        "exact_degrees_": ("exact_degrees", tuple[int, ...]),
        "expected_error_": ("expected_error", float),
    }

    def check_kernel(self) -> None:
        kernel, split = self.kernel, split_of(self.kernel)
        if split is None:
            raise unserved(self.name, "a dot-product kernel or a Gaussian", kernel)
        if self.split in ("mean", "centre") and split.learns != self.split:
            serves = "polynomial kernels" if self.split == "mean" else "the Gaussian and the exponential kernel"
            raise ValueError(f"split={self.split!r} is for {serves}, found {kernel!r}")

    @property
    def _split(self) -> Split:
        split = split_of(self.kernel)
        assert split is not None
        return split

    def adapted(self, rows: Rows) -> Self:
        split = self._split
        sample = rows.sample(max(32, min(SAMPLE_ROWS, SAMPLE_ELEMENTS // rows.n_features))).astype(np.float64)
        self.kernel.check_rows(sample)
        neutral = split.neutral(rows.n_features)
        vectors: dict[str | None, Matrix] = {None: neutral}
        if self.split is not None and split.learns is not None:
            learned = split.learn(rows)
            if not np.array_equal(learned, neutral):
                vectors = {split.learns: learned, **(vectors if self.split == "auto" else {})}
        plans = {name: _plan(split, self.kernel, vector, sample, self.n_components) for name, vector in vectors.items()}
        chosen = min(plans, key=lambda name: plans[name].error)
        plan = plans[chosen]
        if plan.error > HOPELESS:
            warnings.warn(
                f"TaylorSketch expects a relative error of {plan.error:.2g}: {self.n_components} features are too few "
                f"for {self.kernel!r} on these rows; use more features, a wider kernel or another map",
                stacklevel=5,
            )
        return replace(
            self,
            chosen_split=chosen,
            vector=vectors[chosen],
            degrees=dict(sorted(plan.widths.items())),
            exact_degrees=plan.exact,
            expected_error=plan.error,
        )

    @property
    def _sketched(self) -> dict[int, int]:
        return {n: count for n, count in self.degrees.items() if n not in self.exact_degrees}

    def check_learned(self) -> None:
        width, last = self._split.width(self.n_features), self._split.max_degree
        sizes = {n: {0: 1, 1: width}.get(n) for n in self.exact_degrees}
        highest = max(self.degrees, default=-1)
        if (
            self.chosen_split not in (None, self._split.learns)
            or any(self.degrees.get(n) != size for n, size in sizes.items())
            or list(self.degrees) != sorted(self.degrees)
            or not 0 <= highest <= (LAST_DEGREE if last is None else last)
            or self.exact_degrees != tuple(sorted({*self.exact_degrees}))
            or min([1, *self._sketched, *self.degrees.values()]) < 1
            or sum(self.degrees.values()) > self.n_components
        ):
            raise ValueError(
                f"the degrees {self.degrees}, of which {self.exact_degrees} are exact, with split "
                f"{self.chosen_split!r} are not an allotment of {self.n_components} features"
            )

    def layout(self) -> TaylorParameters:
        split, sketched = self._split, self._sketched
        width = split.width(self.n_features)
        return TaylorParameters(
            floats(len(split.neutral(self.n_features)), attribute="vector"),
            exactly(self.exact_degrees),
            exactly(sketched),
            exactly(sketched.values()),
            tuple(srht_layout(n, width, count) for n, count in sketched.items()),
        )

    def draw(self, rng: Stream, rows: Rows) -> FittedMap:
        width, sketched = self._split.width(rows.n_features), self._sketched
        parameters = TaylorParameters(
            self.vector,
            np.array(self.exact_degrees, dtype=np.int64),
            np.array([*sketched], dtype=np.int64),
            np.array([*sketched.values()], dtype=np.int64),
            tuple(draw_srht(rng.child("degree", n), n, width, count) for n, count in sketched.items()),
        )
        return self.fitted(parameters)

    def apply(self, params: TaylorParameters, X: Array) -> Array:
        split, exact = self._split, params.exact.tolist()
        residual, scalar = split.residual(X, params.vector), split.scalar(X, params.vector)
        features = [ones(X, 1) if n == 0 else dense(residual) for n in exact]
        for sketch, width in zip(params.sketches, params.widths.tolist(), strict=True):
            features.append(apply_srht(sketch, residual, width))
        degrees = [*exact, *params.degrees.tolist()]
        series = split.series(max(degrees) + 1)
        scaled = []
        for n, feature in zip(degrees, features, strict=True):
            scale = split.scale(scalar, n)
            feature = feature * math.sqrt(series[n])
            scaled.append(feature if scale is None else feature * scale[:, None])
        used = sum(feature.shape[1] for feature in scaled)
        return namespace(X).concat([*scaled, 0.0 * ones(X, self.n_components - used)], axis=1)

    def pullback(self, params: TaylorParameters, X: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.float64]:
        split, exact = self._split, params.exact.tolist()
        residual, scalar = split.residual(X, params.vector), split.scalar(X, params.vector)
        degrees = [*exact, *params.degrees.tolist()]
        roots = np.sqrt(split.series(max(degrees) + 1))
        of_residual, of_scalar = np.zeros_like(residual), np.zeros(len(X))
        sketches, start = dict(zip(params.degrees.tolist(), params.sketches, strict=True)), 0
        for place, n in enumerate(degrees):
            width = (1 if n == 0 else residual.shape[1]) if place < len(exact) else self.degrees[n]
            part, scale = G[:, start : start + width] * roots[n], split.scale(scalar, n)
            weighted = part if scale is None else part * scale[:, None]
            start += width
            if place >= len(exact):
                feature = apply_srht(sketches[n], residual, width)
                of_residual += pull_srht(sketches[n], residual, np.broadcast_to(weighted, (len(X), width)))
            else:
                feature = np.ones((len(X), 1)) if n == 0 else residual
                of_residual += 0.0 if n == 0 else weighted
            if scalar is not None:
                of_scalar += (part * feature).sum(axis=1) * split.scale_slope(scalar, n)
        return split.pull(X, params.vector, of_residual, None if scalar is None else of_scalar)

    def native(self, params: TaylorParameters, dtype: DTypeLike) -> Native:
        split, exact, degrees = self._split, params.exact.tolist(), params.degrees.tolist()
        roots = np.sqrt(split.series(max([*exact, *degrees]) + 1)).tolist()
        tables = [srht_tables(sketch, dtype) for sketch in params.sketches]

        def write(X: Array, out: NDArray[Any]) -> int | None:
            with np.errstate(over="ignore", invalid="ignore"):
                residual, scalar = split.residual(X, params.vector), split.scalar(X, params.vector)
                rows, start = np.ascontiguousarray(dense(residual)), 0
                for n in exact:
                    block = out[:, start : start + (1 if n == 0 else rows.shape[1])]
                    np.multiply(1.0 if n == 0 else rows, roots[n], out=block)
                    scale = split.scale(scalar, n)
                    if scale is not None:
                        block *= scale[:, None]
                    start += block.shape[1]
                overflow = first_overflow(out[:, :start])
                for n, table, width in zip(degrees, tables, params.widths.tolist(), strict=True):
                    block, root = out[:, start : start + width], roots[n] * math.sqrt(2.0 / width)
                    overflow = earliest(overflow, _core.srht(rows, table, root, block, scales=split.scale(scalar, n)))
                    start += width
            out[:, start:] = 0.0
            return overflow

        return write

    def gpu(self, params: TaylorParameters, device: torch.device) -> Gpu | None:
        split, exact, degrees = self._split, params.exact.tolist(), params.degrees.tolist()
        roots, sketches = np.sqrt(split.series(max([*exact, *degrees]) + 1)).tolist(), []
        for n, sketch, width in zip(degrees, params.sketches, params.widths.tolist(), strict=True):
            size = padded_width(sketch.turns.shape[2])
            write_sketch = kernels.srht(sketch.turns, sketch.outputs, size, 1.0, 0.0, math.sqrt(2.0 / width), device)
            if write_sketch is None:
                return None
            sketches.append((n, width, write_sketch))

        def write(X: Array, out: Array) -> Array:
            X = X.contiguous()  # last digits of its products depend on gaps
            vector, start = send(params.vector, X), 0
            residual, scalar = split.residual(X, vector), split.scalar(X, vector)
            lost = ~namespace(X).isfinite(residual.sum(axis=1))
            for n, width, write_sketch in [*((n, 1 if n == 0 else residual.shape[1], None) for n in exact), *sketches]:
                block, scale = out[:, start : start + width], split.scale(scalar, n)
                if write_sketch is None:
                    block[...] = (ones(X, 1) if n == 0 else residual) * roots[n]
                else:
                    features = feature_array(X, width)
                    lost = lost | (write_sketch(residual, features) != 0)
                    block[...] = features * roots[n]
                if scale is not None:
                    block *= scale[:, None]
                lost = lost | ~namespace(X).isfinite(block.sum(axis=1))
                start += width
            out[:, start:] = 0.0
            return lost

        return in_tiles(write, self.n_components + 2 * self._split.width(self.n_features))

    def mean(self, params: Any, X: Array, Y: Array) -> Matrix:
        terms = _Terms(self._split, params.vector, X, Y, max(self.degrees) + 1)
        return sum((terms.value(n) for n in self.degrees), np.zeros(terms.moments.t.shape))

    def variance(self, params: Any, X: Array, Y: Array) -> Matrix:
        terms = _Terms(self._split, params.vector, X, Y, max(self.degrees) + 1)
        variance = np.zeros(terms.moments.t.shape)
        for n, width in zip(params.degrees.tolist(), params.widths.tolist(), strict=True):
            variance += terms.weight(n) ** 2 * srht_variance(terms.moments, n, terms.width, width)
        return variance

    @property
    def scratch(self) -> int:
        return 6 * padded_width(self._split.width(self.n_features)) + 5 * self.n_components

    @classmethod
    def row_operations(cls, n_features: int, width: int, degree: int) -> float:
        return degree * (25.0 * width + 20.0 * n_features)


class TaylorSketch(FeatureMap):
    r"""Polynomial, exponential, Gaussian and other dot-product kernels, degree by degree.

    The most accurate map for kernels that are mostly of low degree on the data: wide Gaussians, exponentials, and
    polynomials on rows with a nonzero mean. ``fit`` examines a sample of the rows: give it at least a few dozen rows
    that resemble those to be mapped. Narrow Gaussians need another map.

    The kernel is written as :math:`\sum_n b_n s_n(x) s_n(y) \langle r(x), r(y)\rangle^n`. Degree 0 is one exact
    feature, degree 1 is exact if that pays, and every other degree is a :class:`ComplexSketch` of the residual rows r.
    Widths are chosen to minimise the expected squared error, omitted degrees included, over pairs of sample rows. The
    error of a pair is relative to k(x, x) k(y, y), so that short and long rows count the same. The estimate is
    unbiased for the degrees that are kept. Width that would only add noise is left unused, as columns of zeros. Sparse
    rows are mapped as dense ones, one tile at a time.

    The split determines how small the residuals are. ``"mean"``, for polynomials, takes the coordinate along the mean
    of the (lifted) rows out of <x, y>, which gives an exact constant and linear part even for homogeneous polynomials.
    ``"centre"``, for the Gaussian and the exponential kernel, moves the origin to the mean and puts the rest of the
    exponent into a scalar. ``"auto"`` chooses between a split and no split by the expected error. None is the plain
    series about the origin.

    Parameters
    ----------
    kernel : Kernel or str, default=Gaussian("scale")
        A dot-product kernel, or a sum, product or multiple of such kernels, or a Gaussian or a multiple of one.
    n_components : int, default=256
        The number of features.
    split : {"auto", "mean", "centre"} or None, default="auto"
        How the kernel is written as a series.
    random_state : int, Generator, RandomState or None, default=None
        Determines the parameters; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    Attributes
    ----------
    degrees_ : dict of int
        The kept degrees and their widths.
    exact_degrees_ : tuple of int
        The degrees that are not sketched.
    split_ : {"mean", "centre"} or None
        The split that was chosen.
    vector_ : ndarray
        The direction or the centre of the split.
    expected_error_ : float
        The square root of the expected squared error over pairs of sample rows, each divided by k(x, x) k(y, y),
        relative to that of the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = 1.0 + 0.1 * np.random.default_rng(0).normal(size=(200, 8))
    >>> sketch = mercer.TaylorSketch(mercer.kernels.Gaussian("median"), n_components=64, random_state=0).fit(X)
    >>> bool(mercer.kernel_error(sketch, X).relative < 0.2)
    True
    """

    description = MapDescription(
        features="the power series of the kernel, with a sketch for each degree that matters",
        kernels="dot-product, Gaussian",
        when="rows far from the origin, wide Gaussians; warns if the Gaussian is too narrow",
        cost="sum of `ComplexSketch` over the degrees kept",
        variance="yes",
    )

    construction = TaylorConstruction
    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {"split": ("auto", "mean", "centre", None)}

    def __init__(
        self,
        kernel: Kernel | str = GAUSSIAN,
        *,
        n_components: int = 256,
        split: Literal["auto", "mean", "centre"] | None = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        super().__init__(kernel, n_components=n_components, random_state=random_state, n_jobs=n_jobs)
        self.split = split

    @property
    def split_(self) -> str | None:
        """The split that was chosen: "mean", "centre" or None."""
        return self.construction_.chosen_split

    @property
    def vector_(self) -> Matrix:
        """The direction or the centre of the split."""
        return self.parameters_.vector

    @property
    def degrees_(self) -> dict[int, int]:
        """The kept degrees and their widths."""
        return self.construction_.degrees

    @property
    def exact_degrees_(self) -> tuple[int, ...]:
        """The degrees that are not sketched."""
        return self.construction_.exact_degrees

    @property
    def expected_error_(self) -> float:
        """The square root of the expected squared error over pairs of sample rows, relative to the kernel."""
        return self.construction_.expected_error


class _Terms:
    """The terms of a split series for pairs of rows: all pairs, or each pair of rows of X ``once``."""

    def __init__(self, split: Split, vector: Matrix, X: Array, Y: Array, count: int, once: bool = False):
        self.split = split
        self.scalars = [split.scalar(M, vector) for M in (X, Y)]
        self.series = split.series(count)
        self.width = split.width(X.shape[1])
        self.pairs: Any = np.triu_indices(X.shape[0]) if once else ...
        moments = pair_moments(*(split.residual(M, vector) for M in (X, Y)))
        self.moments = PairMoments(*(part[self.pairs] for part in moments))

    def weight(self, degree: int) -> Matrix:
        """Compute b_n s_n(x) s_n(y)."""
        left, right = (self.split.scale(scalar, degree) for scalar in self.scalars)
        if left is None or right is None:
            return np.full(self.moments.t.shape, self.series[degree])
        return self.series[degree] * np.outer(left, right)[self.pairs]

    def value(self, degree: int) -> Matrix:
        return self.weight(degree) * power(self.moments.t, degree)


def _plan(split: Split, kernel: Kernel, vector: Matrix, sample: Any, width: int) -> Allotment:
    """Find the best allotment for a split vector, judged on pairs of sample rows relative to the kernel."""
    last = split.max_degree if split.max_degree is not None else LAST_DEGREE
    pairs = _Terms(split, vector, sample, sample, last + 1, once=True)
    exact = kernel(sample)[pairs.pairs]
    shares = _shares(pairs.pairs, width) * _sizes(pairs.pairs, exact)
    shares /= float(shares @ exact**2) or 1.0
    values: dict[int, Matrix] = {}
    terms: list[Term] = []
    rest = exact.copy()
    degrees = np.flatnonzero(pairs.series).tolist()
    for n in degrees:
        with np.errstate(over="ignore", invalid="ignore"):
            value, term = pairs.value(n), _term(pairs, n, shares)
        if not (np.isfinite(value).all() and np.isfinite(term.error(np.arange(1, 3))).all()):
            break  # the rows are so long that every power of their inner products overflows
        if value.any() or n == split.max_degree:
            values[n] = value
            terms.append(term)
            rest -= value
        if terms and shares @ rest**2 < NEGLIGIBLE:
            break

    @cache
    def omitted(kept: tuple[int, ...]) -> float:
        left = exact - sum((values[n] for n in kept), np.zeros_like(exact))
        return float(rounded(shares @ left**2))

    if not terms:  # all values are 0, as of a very narrow Gaussian: no degree is better than the first
        values[degrees[0]] = np.zeros_like(exact)
        terms.append(_term(pairs, degrees[0], shares))
    plan = allot(terms, width, omitted)
    return plan._replace(error=math.sqrt(plan.error))


def _shares(pairs: tuple[NDArray[np.int64], NDArray[np.int64]], width: int) -> Matrix:
    """Weight pairs as in a Gram matrix with a quarter as many rows as features, if the sample has that many.

    The diagonal must count. Over pairs of different rows alone, the least squared error is often achieved by omitting
    everything that makes a row similar to itself, and with it what a learner needs.
    """
    diagonal = pairs[0] == pairs[1]
    rows = min(int(diagonal.sum()), max(1, width // 4))
    others = max(int((~diagonal).sum()), 1)
    return np.where(diagonal, 1.0 / rows / diagonal.sum(), (1.0 - 1.0 / rows) / others)


def _sizes(pairs: tuple[NDArray[np.int64], NDArray[np.int64]], exact: Matrix) -> Matrix:
    """Return 1 / (k(x, x) k(y, y)), so that errors are relative to the largest possible value of a pair.

    Otherwise a few long rows would dominate the squared error, and the width would go to degrees that only they need.
    """
    own = exact[pairs[0] == pairs[1]]
    inverse = np.divide(1.0, own, out=np.zeros_like(own), where=own > 0.0)
    return inverse[pairs[0]] * inverse[pairs[1]]


def _term(pairs: _Terms, degree: int, shares: Matrix) -> Term:
    """Return a degree's mean variance as a function of its width."""
    weight, moments = pairs.weight(degree) ** 2 * shares, pairs.moments
    # Even widths need two means and odd ones a third, from which the variance at any width follows at no cost.
    even = float(weight @ independent_variance(moments, degree, 2)) * 2.0
    single = float(weight @ independent_variance(moments, degree, 1))
    shared = float(weight @ srht_correction(moments, degree, pairs.width))

    def error(widths: NDArray[np.int64]) -> Matrix:
        odd = widths % 2
        sharing = np.array([srht_pairs(pairs.width, int(width)) for width in widths])
        with np.errstate(invalid="ignore"):  # a variance beyond float64 becomes NaN, and its degree is omitted
            variance = ((widths - odd) * even + odd * single + sharing * shared) / widths**2
        return rounded(np.where(variance < NEGLIGIBLE, 0.0, variance))

    omission = float(rounded(shares @ pairs.value(degree) ** 2))
    return Term(degree, omission, error, {0: 1, 1: pairs.width}.get(degree))
