"""Every (map, kernel) pair once, with the laws that it obeys; the common tests run over this table.

A law that does not hold carries the reason in place of True, and the tests then leave it out. AutoMap is not in the
table, because its features are those of another map; it is tested in ``choose/test_auto_map.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from mercer import (
    AdditiveMap,
    Calibrated,
    ComplexSketch,
    Composed,
    Compressed,
    Fastfood,
    FeatureMap,
    HadamardSketch,
    Nystrom,
    OrthogonalFourier,
    QuasiFourier,
    RandomFourier,
    RandomMaclaurin,
    RandomRelu,
    Stack,
    StructuredFourier,
    TaylorSketch,
    TensorProduct,
    TensorSketch,
    TreeSketch,
)
from mercer._random import Stream
from mercer.data import ArrayRows
from mercer.kernels import (
    AdditiveChi2,
    ArcCosine,
    Cauchy,
    Exponential,
    Gaussian,
    Hellinger,
    Intersection,
    JensenShannon,
    Kernel,
    Laplacian,
    Linear,
    Maclaurin,
    Matern,
    Polynomial,
    SkewedChi2,
    SkewedIntersection,
    VovkInfinite,
    VovkReal,
)

FALSE_ALARM = 1e-6
"""The probability, over random seeds, that one check fails although its law holds."""


def quick_and_full(quick: int, full: int) -> list[Any]:
    """The size of a test in ``make test``, and a larger one for ``make test-full``, as parameters."""
    return [quick, pytest.param(full, marks=pytest.mark.full)]


def every_value(**values: Iterable[Any]) -> pytest.MarkDecorator:
    """All combinations of these values as parameters; ``make test`` takes the fewest in which every value occurs."""
    listed = _parameters(values)
    quick = [[place for place, one in enumerate(ones) if not _is_full(one)] for ones in listed]
    taken = {tuple(ones[number % len(ones)] for ones in quick) for number in range(max(map(len, quick)))}
    return _combined(list(values), listed, taken)


def every_pair(**values: Iterable[Any]) -> pytest.MarkDecorator:
    """All combinations of these values; ``make test`` takes few in which every two values of two arguments meet."""
    listed = _parameters(values)
    places = list(product(*([place for place, one in enumerate(ones) if not _is_full(one)] for ones in listed)))
    left = {pair for place in places for pair in combinations(enumerate(place), 2)}
    taken = set()
    while left:
        best = max(places, key=lambda place: len(left.intersection(combinations(enumerate(place), 2))))
        left.difference_update(combinations(enumerate(best), 2))
        taken.add(best)
    return _combined(list(values), listed, taken)


def _parameters(values: dict[str, Iterable[Any]]) -> list[list[Any]]:
    """The values of each argument as parameters with ids."""
    return [
        [
            one if isinstance(one, type(pytest.param())) else pytest.param(one, id=_label(one, f"{name}{place}"))
            for place, one in enumerate(ones)
        ]
        for name, ones in values.items()
    ]


def _label(value: Any, otherwise: str) -> str:
    """The id of a value in the name of a test, as pytest chooses it."""
    if value is None or isinstance(value, str | int | float):
        return str(value)
    return getattr(value, "__name__", otherwise)


def _is_full(parameter: Any) -> bool:
    return any(mark.name == "full" for mark in parameter.marks)


def _combined(names: list[str], listed: list[list[Any]], taken: set[tuple[int, ...]]) -> pytest.MarkDecorator:
    """All combinations of these parameters, of which only those at the places that are taken are not marked full."""
    cases = []
    for chosen in product(*(enumerate(ones) for ones in listed)):
        places, parts = zip(*chosen, strict=True)
        marks = [mark for one in parts for mark in one.marks]
        marks += [] if places in taken else [pytest.mark.full]
        values = [value for one in parts for value in one.values]
        cases.append(pytest.param(*values, id="-".join(one.id for one in parts), marks=marks))
    return pytest.mark.parametrize(names, cases)


SEEDS = quick_and_full(250, 1_000)
"""Seeds of the laws. Tolerances follow from their number and FALSE_ALARM, so the false-alarm rate is the same and power
is not: over 250 seeds (1,000) a check notices, as often as not, a mean that is off by 0.35 (0.18) of an estimate's
standard deviation, or a variance that is off by 44 (22) per cent where estimates are normal and pairs move as one."""

Law = bool | str


@dataclass(frozen=True)
class Row:
    """One map with one kernel."""

    make: Callable[..., FeatureMap]
    kernel: Kernel
    options: dict[str, Any] = field(default_factory=dict)
    mean: Law = True
    "mean(X, Y) is known"
    unbiased: Law = True
    "mean(X, Y) is the kernel"
    variance: Law = True
    "variance(X, Y) is known"
    constant: Law = True
    "D Var does not depend on (even) D, so errors fall with slope -1/2"
    nested: Law = True
    "a larger map starts with the smaller one, up to scale"
    one_hot: Law = True
    "<Z(x), Z(x)> is exact for one-hot rows at even D"
    width: Law = True
    "n_components_ is n_components"
    everywhere: Law = True
    "defined on all of R^d, or for all rows without negative values, as scikit-learn's checks need"

    def __call__(self, n_components: int = 64, **arguments: Any) -> FeatureMap:
        return self.make(self.kernel, n_components=n_components, **self.options, **arguments)

    def sample(self, n: int = 8, d: int = 5, seed: int = 0) -> np.ndarray:
        """Rows of the kernel's domain."""
        X = sample_rows(n, d, seed)
        return np.abs(X) if self.kernel.domain_is_non_negative else X

    @property
    def id(self) -> str:
        kernel = repr(self.kernel).replace(" ", "") if "lambda" not in repr(self.kernel) else "Maclaurin(callable)"
        options = "".join(f",{name}={value}" for name, value in self.options.items())
        return f"{self.make.__name__}({kernel}{options})"


def around(wrap: Callable[..., FeatureMap], inner: Callable[..., FeatureMap]) -> Callable[..., FeatureMap]:
    """A maker of a wrapper around this map."""

    def make(kernel: Kernel, *, n_components: int, **arguments: Any) -> FeatureMap:
        return wrap(inner(kernel), n_components=n_components, **arguments)

    make.__name__ = f"{wrap.__name__}-{inner.__name__}"
    return make


def compressed(inner: Callable[..., FeatureMap]) -> Callable[..., FeatureMap]:
    """A maker of Compressed over this map."""
    return around(Compressed, inner)


def composed(outer: Callable[..., FeatureMap], inner: Callable[..., FeatureMap]) -> Callable[..., FeatureMap]:
    """A maker of Composed over this inner map, for the kernel's outer and inner part."""

    def make(kernel: Any, *, n_components: int, **arguments: Any) -> FeatureMap:
        return Composed(
            outer(kernel.outer), inner(kernel.inner, n_components=24), n_components=n_components, **arguments
        )

    make.__name__ = f"Composed-{outer.__name__}-{inner.__name__}"
    return make


def joined(
    join: Callable[..., FeatureMap], left: Callable[..., FeatureMap], right: Callable[..., FeatureMap]
) -> Callable[..., FeatureMap]:
    """A maker of Stack or TensorProduct over these two maps, for the kernel's two sides."""

    def make(kernel: Any, *, n_components: int, **arguments: Any) -> FeatureMap:
        return join(left(kernel.left), right(kernel.right), n_components=n_components, **arguments)

    make.__name__ = f"{join.__name__}-{left.__name__}-{right.__name__}"
    return make


SEVERAL_DEGREES = "several degrees: a one-hot row is exact only where the degree is fixed"
HASHED = "hashes modulo D differ for every D"
HALF_PAIR = "up to O(1/D)"
AUGMENTED = "the constant is a second entry of the row: it is not one-hot"
NO_FORMULA = "no exact formula is known"
LEARNED = "the allotment of features to degrees changes with D"
KEPT = "unbiased for the degrees that are kept"
CUT = "estimates the cut series"
FIXED = "every degree has its own number of features, which rounds"
LONG = "exp(0.8 <x, y>) is beyond float64 on the checks' rows of norm 140; the kernel with gamma 0.001 is not"
PROJECTED = "the projection mixes all columns"
SAMPLED = "deterministic: samples of the spectrum give almost the kernel"
STEPS = "the step between the frequencies changes with D"
INNER = "the features of the inner map are not one-hot"
BENT = "the outer kernel of random features has another mean than that of their mean"
EVERY_COLUMN = "every column has the same number of features, which rounds D up"
DEPENDENT = "frequencies depend on each other"
SIGN_ROTATION = "signs are only nearly a random rotation"
OFFSET = "only pairs have the same norm for every row"
ABOVE = "entries above -skewedness"
SHARED = "both maps grow with the width"
AT_LEAST_TWO = "one feature for each map at least"
HASHED_FEATURES = "the features of a one-hot row are hashed together"
SHRUNK = "a projection learned from rows shrinks the estimate"
WEIGHED = "weights are learned from rows"
CHOSEN = "landmarks are chosen from the rows"
RANDOM_NORMS = "the squared length of a normal vector is random"
FEW_ROWS = "no more columns than rows"

CALLABLE = Maclaurin(lambda n: 0.5**n / (n + 1.0), radius=2.0)
TENSOR = {"constant": HALF_PAIR, "nested": HASHED}
SEVERAL = {"one_hot": SEVERAL_DEGREES}
TAYLOR = {"unbiased": KEPT, "constant": LEARNED, "nested": LEARNED, "one_hot": SEVERAL_DEGREES}
TREE = {"variance": NO_FORMULA, "constant": HALF_PAIR, "nested": HASHED}
SQUEEZED = {"variance": NO_FORMULA, "constant": HALF_PAIR, "nested": PROJECTED, "one_hot": PROJECTED}
TEFM = {"mean": SHRUNK, "unbiased": SHRUNK} | SQUEEZED | {"constant": SHRUNK}
ENDLESS = {"variance": "infinite for long rows", "constant": "infinite for long rows", "one_hot": SEVERAL_DEGREES}
ADDITIVE = {"unbiased": SAMPLED, "constant": SAMPLED, "nested": STEPS, "one_hot": SAMPLED, "width": EVERY_COLUMN}
QUASI = {"variance": DEPENDENT, "constant": DEPENDENT}
SIGNED = QUASI | {"mean": SIGN_ROTATION, "unbiased": SIGN_ROTATION}
BOTH = {"nested": SHARED, "one_hot": SEVERAL_DEGREES, "width": AT_LEAST_TWO}
TENSORED = {"variance": NO_FORMULA, "constant": HALF_PAIR, "nested": HASHED, "one_hot": HASHED_FEATURES}
CALIBRATED = {law: WEIGHED for law in ("mean", "unbiased", "variance", "constant", "nested", "one_hot")}
NYSTROM = {"mean": CHOSEN, "unbiased": CHOSEN, "variance": CHOSEN, "constant": CHOSEN, "nested": CHOSEN}
SRHT = {"constant": "at multiples of 2 d' only"}

ROWS = [
    Row(TensorSketch, Polynomial(2), **TENSOR),
    Row(TensorSketch, Polynomial(3), {"output": "time"}, **TENSOR),
    Row(TensorSketch, Polynomial(2, gamma=0.7, coef0=0.4), one_hot=AUGMENTED, **TENSOR),
    Row(TensorSketch, 0.5 * Linear(), **TENSOR),
    Row(HadamardSketch, Polynomial(2)),
    Row(HadamardSketch, Polynomial(4)),
    Row(HadamardSketch, Polynomial(3, gamma=0.7, coef0=0.4), one_hot=AUGMENTED),
    Row(ComplexSketch, Polynomial(2), **SRHT),
    Row(ComplexSketch, Polynomial(4), **SRHT),
    Row(ComplexSketch, Polynomial(3, gamma=0.7, coef0=0.4), one_hot=AUGMENTED, **SRHT),
    Row(ComplexSketch, Polynomial(3), {"projection": "rademacher"}),
    Row(RandomMaclaurin, Polynomial(3)),
    Row(RandomMaclaurin, Polynomial(2, coef0=1.0), **SEVERAL),
    Row(RandomMaclaurin, Exponential(0.8), {"base": 3.0}, **SEVERAL),
    Row(RandomMaclaurin, VovkReal(4), **SEVERAL),
    Row(RandomMaclaurin, VovkInfinite(), {"base": 1.2}, everywhere="norms below 1", **ENDLESS),
    Row(RandomMaclaurin, Maclaurin((0.5, 0.0, 0.3, 0.2)), **SEVERAL),
    Row(RandomMaclaurin, CALLABLE, {"base": 1.5}, everywhere="squared norms below 2", **SEVERAL),
    Row(RandomMaclaurin, Linear() + 0.5 * Polynomial(2), **SEVERAL),
    Row(RandomMaclaurin, Linear() * Polynomial(2), one_hot=True),
    Row(RandomMaclaurin, Exponential(), {"exact_terms": True}, constant="in D_r", nested="in D_r", **SEVERAL),
    Row(RandomMaclaurin, Exponential(), {"max_degree": 3}, unbiased=CUT, constant=FIXED, nested=FIXED, **SEVERAL),
    Row(RandomMaclaurin, Polynomial(2, coef0=1.0).of(Gaussian(0.5)), **SEVERAL),
    Row(
        RandomMaclaurin,
        Exponential(0.5).of(Matern(1.5)),
        {"exact_terms": True},
        constant="in D_r",
        nested="in D_r",
        **SEVERAL,
    ),
    Row(RandomMaclaurin, Polynomial(2).of(0.5 * Laplacian(0.3)), **SEVERAL),
    Row(RandomMaclaurin, Exponential(6.0).of(Gaussian(0.5)), {"base": 1e9}, **SEVERAL),
    Row(RandomMaclaurin, 0.5 * Polynomial(3, coef0=0.5).of(Cauchy(0.4)), {"max_degree": 2}, unbiased=CUT, **SEVERAL),
    Row(RandomMaclaurin, Polynomial(2, coef0=0.5).of(Polynomial(2).of(Linear())), **SEVERAL),
    Row(RandomMaclaurin, Polynomial(2, coef0=0.5).of(Polynomial(2)), **SEVERAL),
    Row(RandomRelu, ArcCosine(), one_hot=RANDOM_NORMS),
    Row(RandomRelu, 0.5 * ArcCosine(), one_hot=RANDOM_NORMS),
    Row(TaylorSketch, Gaussian(0.5), **TAYLOR),
    Row(TaylorSketch, Exponential(0.8), everywhere=LONG, **TAYLOR),
    Row(TaylorSketch, Exponential(0.8), {"split": None}, everywhere=LONG, **TAYLOR),
    Row(TaylorSketch, Exponential(1e-3), **TAYLOR),
    Row(TaylorSketch, 2.0 * Polynomial(3), {"split": "mean"}, **TAYLOR),
    Row(TaylorSketch, Polynomial(3, gamma=0.7, coef0=0.4), **TAYLOR),
    Row(TaylorSketch, Polynomial(3), {"split": None}, **(TAYLOR | {"one_hot": True, "unbiased": True})),
    Row(TaylorSketch, VovkReal(4), **TAYLOR),
    Row(TaylorSketch, VovkInfinite(), everywhere="norms below 1", **TAYLOR),
    Row(TreeSketch, Linear(), **TREE),
    Row(TreeSketch, Polynomial(4), {"factor": 2}, **TREE),
    Row(TreeSketch, Polynomial(5, coef0=0.4), one_hot=AUGMENTED, **TREE),
    Row(AdditiveMap, AdditiveChi2(), **ADDITIVE),
    Row(AdditiveMap, 0.5 * Intersection(), **ADDITIVE),
    Row(AdditiveMap, JensenShannon(), **ADDITIVE),
    Row(AdditiveMap, 2.0 * Hellinger(), **(ADDITIVE | {"unbiased": True, "one_hot": True})),
    Row(compressed(TensorSketch), Polynomial(4), **SQUEEZED),
    Row(compressed(ComplexSketch), Polynomial(3, coef0=0.4), {"factor": 3}, **SQUEEZED),
    Row(compressed(RandomMaclaurin), Exponential(0.8), {"factor": 4}, **SQUEEZED),
    Row(compressed(AdditiveMap), AdditiveChi2(), {"factor": 2}, **(SQUEEZED | {"unbiased": SAMPLED})),
    Row(compressed(TaylorSketch), Gaussian(0.5), {"factor": 2}, **(SQUEEZED | {"unbiased": KEPT})),
    Row(Nystrom, Gaussian(2.0), width=FEW_ROWS, **NYSTROM),
    Row(Nystrom, Gaussian(2.0), {"landmarks": "rpcholesky"}, width=FEW_ROWS, **NYSTROM),
    Row(Nystrom, Polynomial(3, gamma=2.0, coef0=0.4), {"landmarks": "leverage"}, width=FEW_ROWS, **NYSTROM),
    Row(Nystrom, Matern(1.5, length_scale=0.8), {"landmarks": "kmeans"}, width=FEW_ROWS, **NYSTROM),
    Row(Nystrom, Laplacian(2.0) + 0.5 * Linear(), {"max_rows": 40}, width=FEW_ROWS, **NYSTROM),
    Row(compressed(Nystrom), Gaussian(2.0), {"factor": 2}, one_hot=PROJECTED, **NYSTROM),
    Row(RandomFourier, Gaussian(0.5)),
    Row(RandomFourier, Gaussian(0.5), {"form": "offset"}, one_hot=OFFSET),
    Row(RandomFourier, 2.0 * Laplacian(0.3)),
    Row(RandomFourier, Cauchy(0.7), {"form": "offset"}, one_hot=OFFSET),
    Row(RandomFourier, Matern(1.5) * Gaussian(0.3) + 0.5 * Matern(0.5)),
    Row(RandomFourier, Exponential(0.5).of(Gaussian(0.7))),
    Row(RandomFourier, SkewedChi2(1.5), everywhere=ABOVE),
    Row(RandomFourier, 0.5 * SkewedIntersection(1.5), everywhere=ABOVE),
    Row(RandomMaclaurin, Polynomial(2, coef0=1.0).of(SkewedChi2(1.5)), everywhere=ABOVE, **SEVERAL),
    Row(OrthogonalFourier, Gaussian(0.5), **QUASI),
    Row(OrthogonalFourier, 0.7 * Gaussian(1.5), {"coupled": True}, **QUASI),
    Row(OrthogonalFourier, Matern(2.5) + Gaussian(0.5), {"coupled": True}, **QUASI),
    Row(OrthogonalFourier, Polynomial(2, coef0=1.0).of(Gaussian(0.5)), **QUASI),
    Row(StructuredFourier, Gaussian(0.5), **SIGNED),
    Row(StructuredFourier, 0.5 * Matern(1.5), **SIGNED),
    Row(QuasiFourier, Gaussian(0.5), **QUASI),
    Row(QuasiFourier, Laplacian(0.3), {"sequence": "halton"}, **QUASI),
    Row(QuasiFourier, Matern(0.5) * Cauchy(0.4) + 0.5 * Gaussian(0.5), **QUASI),
    Row(QuasiFourier, SkewedChi2(1.5), {"sequence": "halton"}, everywhere=ABOVE, **QUASI),
    Row(Fastfood, Gaussian(0.5), **QUASI),
    Row(Fastfood, Matern(1.5), **QUASI),
    Row(composed(RandomFourier, AdditiveMap), Gaussian(0.5).of_distance(AdditiveChi2()), unbiased=SAMPLED),
    Row(composed(OrthogonalFourier, AdditiveMap), (0.5 * Matern(1.5)).of_distance(Hellinger()), **QUASI),
    Row(
        composed(TensorSketch, AdditiveMap), Polynomial(2).of(Intersection()), unbiased=SAMPLED, one_hot=INNER, **TENSOR
    ),
    Row(composed(TaylorSketch, AdditiveMap), Polynomial(3).of(JensenShannon()), **TAYLOR),
    Row(composed(TaylorSketch, AdditiveMap), Gaussian(0.5).of_distance(2.0 * Hellinger()), **TAYLOR),
    Row(
        composed(HadamardSketch, RandomFourier),
        Polynomial(2, coef0=0.4).of(Gaussian(0.5)),
        mean=BENT,
        unbiased=BENT,
        variance=NO_FORMULA,
        constant=BENT,
        one_hot=INNER,
    ),
    Row(joined(Stack, HadamardSketch, RandomMaclaurin), Polynomial(2) + 0.3 * Exponential(0.8), **BOTH),
    Row(joined(Stack, HadamardSketch, HadamardSketch), Polynomial(2) + 0.3 * Polynomial(2), **BOTH),
    Row(
        joined(Stack, TaylorSketch, TensorSketch),
        0.3 * Gaussian(0.5) + Polynomial(2, gamma=0.7, coef0=0.4),
        unbiased=KEPT,
        constant=LEARNED,
        **BOTH,
    ),
    Row(joined(Stack, RandomFourier, TaylorSketch), 0.5 * Cauchy(0.7) + Linear(), constant=LEARNED, **BOTH),
    Row(joined(Stack, AdditiveMap, AdditiveMap), AdditiveChi2() + 0.5 * Hellinger(), **ADDITIVE),
    Row(
        joined(Stack, AdditiveMap, TensorSketch),
        JensenShannon() + Polynomial(2),
        **(ADDITIVE | {"nested": SHARED}),
    ),
    Row(joined(TensorProduct, AdditiveMap, HadamardSketch), Hellinger() * Linear(), {"factor": 1}, **TENSORED),
    Row(joined(TensorProduct, TaylorSketch, TaylorSketch), Linear() * (0.5 * Linear()), {"factor": None}, **TENSORED),
    Row(joined(TensorProduct, TensorSketch, TensorSketch), Polynomial(2) * Polynomial(2), **TENSORED),
    Row(
        joined(TensorProduct, RandomFourier, ComplexSketch),
        0.5 * Laplacian(0.3) * Polynomial(2, gamma=0.7, coef0=0.4),
        {"factor": 1},
        **TENSORED,
    ),
    Row(
        joined(TensorProduct, TaylorSketch, HadamardSketch),
        0.5 * Gaussian(0.5) * Linear(),
        {"factor": None},
        **(TENSORED | {"unbiased": KEPT}),
    ),
    Row(compressed(TensorSketch), Polynomial(3, coef0=0.4), {"method": "tefm-g"}, **TEFM),
    Row(compressed(TaylorSketch), Gaussian(0.5), {"method": "tefm-s", "power": 0}, **TEFM),
    Row(compressed(OrthogonalFourier), Gaussian(0.5), {"method": "tefm-s"}, **TEFM),
    Row(around(Calibrated, OrthogonalFourier), Gaussian(0.5), **CALIBRATED),
    Row(around(Calibrated, RandomFourier), 2.0 * Laplacian(0.3), {"regularization": 1.0}, **CALIBRATED),
    Row(around(Calibrated, TensorSketch), Polynomial(3, coef0=0.4), {"n_rows": 20}, **CALIBRATED),
]


def obeying(law: str | None = None) -> list[Any]:
    """The rows with this law, or all, as parameters; tests of a row share one worker and so its draws."""
    kept = [row for row in ROWS if law is None or getattr(row, law) is True]
    return [pytest.param(row, id=row.id, marks=pytest.mark.xdist_group(row.id)) for row in kept]


def once_per_class(rows: list[Row]) -> set[str]:
    """The ids of the first row of each class of map."""
    return {row.id for row in {type(row(8)): row for row in reversed(rows)}.values()}


def once_per_kind(rows: list[Row]) -> set[str]:
    """The ids of the first row of each maker of maps with the same options and a kernel of the same class."""
    return {
        row.id
        for row in {
            (row.make.__name__, *row.options, type(row.kernel), getattr(row.kernel, "coef0", 0.0) > 0.0): row
            for row in reversed(rows)
        }.values()
    }


def first_of_class(parameters: list[Any]) -> list[Any]:
    """Rows as parameters, all but the first of each class of map for ``make test-full`` only."""
    return _rest_in_full(parameters, once_per_class([one.values[0] for one in parameters]))


def first_of_kind(parameters: list[Any]) -> list[Any]:
    """Rows as parameters, all but the first of each kind for ``make test-full`` only."""
    return _rest_in_full(parameters, once_per_kind([one.values[0] for one in parameters]))


def _rest_in_full(parameters: list[Any], quick: set[str]) -> list[Any]:
    return [
        one if one.id in quick else pytest.param(*one.values, id=one.id, marks=[*one.marks, pytest.mark.full])
        for one in parameters
    ]


def sample_rows(n: int = 8, d: int = 5, seed: int = 0) -> np.ndarray:
    """Rows with a mean and norms in [0.3, 0.9], inside the domain of every kernel here."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.6
    return X / np.linalg.norm(X, axis=1, keepdims=True) * rng.uniform(0.3, 0.9, size=(n, 1))


def estimates(row: Row, n_components: int, seeds: int, first: int = 0) -> np.ndarray:
    """<Z(x), Z(y)> for all pairs of sample rows under so many seeds."""
    return _estimates(ROWS.index(row), n_components, seeds, first)


@cache
def _estimates(index: int, n_components: int, seeds: int, first: int) -> np.ndarray:
    X = ROWS[index].sample()
    rows = ArrayRows(X, Stream(0))
    construction = ROWS[index](n_components, random_state=0).construct(rows)
    grams = np.empty((seeds, len(X), len(X)))
    for place in range(seeds):
        Z = construction.draw(Stream(first + place, construction.name), rows).apply(X)
        grams[place] = Z @ Z.T
    return grams


def threshold(comparisons: int) -> float:
    """The |z| that a two-sided check with this many comparisons exceeds with probability FALSE_ALARM."""
    return float(norm.isf(FALSE_ALARM / comparisons / 2))
