"""Choosing a map for a kernel by a table of rules that consider only the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .._checks import check_whole
from .._defaults import MAP_WIDTH
from .._random import RandomState
from ..kernels import ArcCosine, Composition, DistanceComposition, Kernel, Polynomial, Product, Scaled, Sum, parse
from ..kernels.additive import Additive
from ..kernels.algebra import without_weight
from ._wrappers import MapPair
from .additive_map import AdditiveMap
from .composed import Composed
from .estimator import FeatureMap
from .nystrom import Nystrom
from .orthogonal_fourier import OrthogonalFourier
from .quasi_fourier import QuasiFourier
from .random_fourier import RandomFourier
from .random_relu import RandomRelu
from .refusals import suggests
from .stack import Stack
from .taylor_sketch import TaylorSketch
from .tensor_product import TensorProduct
from .tree_sketch import TreeSketch

HIGH_DEGREE = 7
"""From this degree on, TaylorSketch has no low degrees to keep of homogeneous polynomials if rows have mean 0."""


class Rule(NamedTuple):
    """One rule of :func:`feature_map`.

    Parameters
    ----------
    what : str
        The kernels that the rule is for, in words.
    serves : callable
        Whether the rule applies to a kernel.
    map : str
        The name of the map.
    make : callable
        A function from the kernel and ``n_components`` to the map.
    why : str
        The reason for the choice, in words.
    """

    what: str
    serves: Callable[[Any], bool]
    map: str
    make: Callable[[Any, int], FeatureMap]
    why: str


def feature_map(kernel: Any, *, n_components: int = MAP_WIDTH, random_state: RandomState = None) -> FeatureMap:
    """Choose a feature map for a kernel.

    The choice considers only the kernel and follows the first matching rule of the table below; it looks inside sums,
    products and compositions. It is a safe start rather than the best map for every data set: if data are available,
    ``Nystrom`` and, for wide Gaussians, ``TaylorSketch`` often have a fraction of the error, and ``StructuredFourier``
    saves time on rows with many thousand columns.

    ==================================== ================== ========================================================
    kernel                               map                why
    ==================================== ================== ========================================================
    additive, for histograms             AdditiveMap        sparse and nearly exact: the error falls quickly
    a function of the distance alone     OrthogonalFourier  a lower error than random frequencies, at the same cost
    other spectrum with known quantiles  QuasiFourier       evenly spread frequencies beat random ones
    any other spectrum                   RandomFourier      a composition's frequencies are random sums
    homogeneous polynomial, degree >= 7  TreeSketch         its error grows slowly with the degree, on any rows
    another dot-product kernel           TaylorSketch       low degrees are exact; width goes where data need it
    arc-cosine                           RandomRelu         random neurons estimate it without bias
    a multiple of a kernel listed below  that of the kernel the weight moves to terms, a factor or the outer kernel
    a kernel of an additive kernel       Composed           another map on features that are nearly exact
    a sum                                Stack              both maps side by side, with equal widths for all terms
    a product                            TensorProduct      a sketch of all products of two features
    a function, 'precomputed', any other Nystrom            needs only the values of the kernel
    ==================================== ================== ========================================================

    Giving the m terms of a sum equal widths costs at most m times the variance of the best allocation, which depends on
    the data. A product inside a product is as wide as the product that contains it.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A kernel of :mod:`mercer.kernels`, text that :func:`mercer.kernels.parse` understands, or a function of two
        objects or "precomputed", as for :class:`Nystrom`.
    n_components : int, default=256
        The number of features.
    random_state : int, Generator, RandomState or None, default=None
        Determines the parameters that ``fit`` draws.

    Returns
    -------
    FeatureMap
        The map, not yet fitted. Its ``kernel_`` will be the kernel, or the same function written differently if a
        weight stands in front of a sum, a product or a composition.

    Examples
    --------
    >>> import mercer
    >>> mercer.feature_map("gaussian(0.5)", n_components=512, random_state=0)
    OrthogonalFourier(kernel=Gaussian(gamma=0.5), n_components=512, random_state=0)
    >>> mercer.feature_map("laplacian(0.5) + 0.1 * linear()", random_state=0)
    Stack(left=QuasiFourier(kernel=Laplacian(gamma=0.5), n_components=128),
          n_components=256, random_state=0,
          right=TaylorSketch(kernel=0.1 * Linear(), n_components=128))
    """
    check_whole("n_components", n_components)
    if isinstance(kernel, str) and kernel != "precomputed":
        kernel = parse(kernel)
    if isinstance(kernel, type) or not (isinstance(kernel, Kernel | str) or callable(kernel)):
        hint = f"; write {kernel.__name__}()" if isinstance(kernel, type) else ""
        raise TypeError(
            "kernel must be a kernel of mercer.kernels, text that describes one, a function of two objects, "
            f"or 'precomputed', found {kernel!r}{hint}"
        )
    return _choose(kernel, int(n_components)).set_params(random_state=random_state)


def _choose(kernel: Kernel, n_components: int) -> FeatureMap:
    # Nothing is known about a function or a matrix except its values, so the last rule applies.
    rule = next(rule for rule in RULES if rule.serves(kernel)) if isinstance(kernel, Kernel) else RULES[-1]
    return rule.make(kernel, n_components)


@suggests
def _name_of_map(kernel: Kernel) -> str:
    return type(feature_map(kernel)).__name__


# -- predicates --------------------------------------------------------------------------------------------------------


def _rotates(kernel: Kernel) -> bool:
    return kernel.has_spectrum and kernel.is_rotation_invariant


def _in_closed_form(kernel: Kernel) -> bool:
    return kernel.has_spectrum and not _contains(kernel, Composition)


def _contains(kernel: Kernel, kind: type[Kernel]) -> bool:
    parts = [part for part in kernel.get_params(deep=False).values() if isinstance(part, Kernel)]
    return isinstance(kernel, kind) or any(_contains(part, kind) for part in parts)


def _is_high_power(kernel: Kernel) -> bool:
    kernel = without_weight(kernel)[1]
    return isinstance(kernel, Polynomial) and kernel.degree >= HIGH_DEGREE and kernel.coef0 == 0


def _is_composed(kernel: Kernel) -> bool:
    return isinstance(kernel, Composition | DistanceComposition) and _choose(kernel.inner, 1).is_deterministic


def _is_weighted(kernel: Kernel) -> bool:
    inside = Sum, Product, Scaled, Composition, DistanceComposition
    return isinstance(kernel, Scaled) and isinstance(kernel.kernel, inside)


# -- makers ------------------------------------------------------------------------------------------------------------


def _maker(make: Callable[..., FeatureMap]) -> Callable[[Any, int], FeatureMap]:
    return lambda kernel, n_components: make(kernel, n_components=n_components)


def _weight_inside(kernel: Any, n_components: int) -> FeatureMap:
    weight, inner = float(kernel.weight), kernel.kernel
    if isinstance(inner, Scaled):
        return _choose(weight * float(inner.weight) * inner.kernel, n_components)
    first, second = inner.get_params(deep=False).values()
    return _choose(type(inner)(weight * first, weight * second if isinstance(inner, Sum) else second), n_components)


def _composed(kernel: Any, n_components: int) -> FeatureMap:
    inner, outer = _choose(kernel.inner, n_components), _choose(kernel.outer, n_components)
    return Composed(outer, inner, n_components=n_components)


def _stack(kernel: Sum, n_components: int) -> FeatureMap:
    stack = Stack(_choose(kernel.left, n_components), _choose(kernel.right, n_components))
    _share(stack, n_components)
    return stack


def _share(map: FeatureMap, n_components: int) -> None:
    """Give every term of nested stacks the same width."""
    map.set_params(n_components=n_components)
    if isinstance(map, Stack):
        terms = _terms(map.left), _terms(map.right)
        left = min(max(1, round(n_components * terms[0] / sum(terms))), max(1, n_components - 1))
        _share(map.left, left)
        _share(map.right, max(1, n_components - left))


def _terms(map: FeatureMap) -> int:
    return _terms(map.left) + _terms(map.right) if isinstance(map, Stack) else 1


def _tensor_product(kernel: Product, n_components: int) -> FeatureMap:
    sides = [_choose(side, n_components) for side in (kernel.left, kernel.right)]
    for side in sides:
        _no_wider_inside(side)
    return TensorProduct(*sides, n_components=n_components)


def _no_wider_inside(map: FeatureMap) -> None:
    """Prevent the widths of nested products from doubling at every level."""
    if isinstance(map, MapPair):
        if isinstance(map, TensorProduct):
            map.set_params(factor=1)
        _no_wider_inside(map.left)
        _no_wider_inside(map.right)


RULES = [
    Rule(
        "additive, for histograms",
        lambda kernel: isinstance(without_weight(kernel)[1], Additive),
        "AdditiveMap",
        _maker(AdditiveMap),
        "sparse and nearly exact: the error falls quickly",
    ),
    Rule(
        "a function of the distance alone",
        _rotates,
        "OrthogonalFourier",
        _maker(OrthogonalFourier),
        "a lower error than random frequencies, at the same cost",
    ),
    Rule(
        "other spectrum with known quantiles",
        _in_closed_form,
        "QuasiFourier",
        _maker(QuasiFourier),
        "evenly spread frequencies beat random ones",
    ),
    Rule(
        "any other spectrum",
        lambda kernel: kernel.has_spectrum,
        "RandomFourier",
        _maker(RandomFourier),
        "a composition's frequencies are random sums",
    ),
    Rule(
        "homogeneous polynomial, degree >= 7",
        _is_high_power,
        "TreeSketch",
        _maker(TreeSketch),
        "its error grows slowly with the degree, on any rows",
    ),
    Rule(
        "another dot-product kernel",
        lambda kernel: kernel.is_dot_product,
        "TaylorSketch",
        _maker(TaylorSketch),
        "low degrees are exact; width goes where data need it",
    ),
    Rule(
        "arc-cosine",
        lambda kernel: isinstance(without_weight(kernel)[1], ArcCosine),
        "RandomRelu",
        _maker(RandomRelu),
        "random neurons estimate it without bias",
    ),
    Rule(
        "a multiple of a kernel listed below",
        _is_weighted,
        "that of the kernel",
        _weight_inside,
        "the weight moves to terms, a factor or the outer kernel",
    ),
    Rule(
        "a kernel of an additive kernel",
        _is_composed,
        "Composed",
        _composed,
        "another map on features that are nearly exact",
    ),
    Rule(
        "a sum",
        lambda kernel: isinstance(kernel, Sum),
        "Stack",
        _stack,
        "both maps side by side, with equal widths for all terms",
    ),
    Rule(
        "a product",
        lambda kernel: isinstance(kernel, Product),
        "TensorProduct",
        _tensor_product,
        "a sketch of all products of two features",
    ),
    Rule(
        "a function, 'precomputed', any other",
        lambda kernel: True,
        "Nystrom",
        _maker(Nystrom),
        "needs only the values of the kernel",
    ),
]
