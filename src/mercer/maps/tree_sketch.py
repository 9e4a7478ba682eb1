"""TreeSketch: high degrees by a tree of pairwise sketches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import _core
from .._array import Array, count_sketch, irfft, row_parts
from .._checks import check_whole
from .._random import RandomState, Stream
from ..kernels import Kernel
from ..kernels.defaults import QUARTIC
from ._polynomial import HomogeneousForm, PolynomialConstruction
from .array_layouts import places, signs
from .construction import Native
from .description import MapDescription
from .estimator import FeatureMap
from .tensor_sketch import (
    Hashes,
    half_spectrum,
    hashed_entries,
    product_spectrum,
    pull_count_sketch,
    pull_half_spectrum,
    pull_irfft,
    pull_product,
)


class Tree(NamedTuple):
    """The count sketches of each node's two children, from the leaves to the root."""

    nodes: tuple[Hashes, ...]


class Node(NamedTuple):
    """The description of a node that the compiled core needs, without its children."""

    places: NDArray[np.int32]
    signs: NDArray[Any]
    constants: list[float]
    tables: Any
    in_time: bool


class Traced(NamedTuple):
    """The features of a node, and a function that turns derivatives with respect to them into those of the rows."""

    value: NDArray[np.float64]
    back: Callable[[NDArray[np.float64]], None]


AS_IT_IS = HomogeneousForm(1.0, 1, 1.0, 0.0)
"""The form of <x, y>."""


def padded_entries(sides: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> Iterator[NDArray[Any]]:
    """Pad the buckets and signs of children of different widths into one array each."""
    for rows in zip(*sides, strict=True):
        width = max(row.shape[1] for row in rows)
        yield np.concatenate([np.pad(row, ((0, 0), (0, width - row.shape[1]))) for row in rows])


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeSketchConstruction(PolynomialConstruction):
    """Sketches of degree 2, joined pairwise in a tree."""

    factor: int
    largest_tile: ClassVar[int] = 64  # the sketches of all nodes exist at once, and stay in cache

    @property
    def leaf_width(self) -> int:
        """The number of columns of the rows at the leaves."""
        return self.form.width(self.n_features)

    def node_width(self, node: int, degree: int) -> int:
        """Return the width of a node; the root, the last of the degree - 1 nodes, is as wide as the output."""
        return self.n_components * (1 if node == degree - 2 else int(self.factor))

    def draw_sketch(self, rng: Stream, degree: int, n_features: int) -> Tree:
        if degree == 1:
            return Tree((self._hashes(rng.child("leaf"), n_features, n_features, self.n_components),))
        nodes: list[Hashes] = []

        def join(left: int, right: int) -> int:
            width = self.node_width(len(nodes), degree)
            nodes.append(self._hashes(rng.child("node", len(nodes)), left, right, width))
            return width

        _climb([n_features] * degree, join)
        return Tree(tuple(nodes))

    def layout(self) -> Tree:
        degree, leaf, nodes = self.form.degree, self.leaf_width, list[Any]()

        def join(left: int, right: int) -> int:
            width = self.n_components if degree == 1 else self.node_width(len(nodes), degree)
            shape = (2, max(left, right))
            nodes.append(Hashes(places(width, *shape), signs(*shape)))
            return width

        _climb([leaf] * max(2, degree), join)
        return Tree(tuple(nodes))

    @staticmethod
    def _hashes(rng: Stream, left: int, right: int, width: int) -> Hashes:
        # The hashes of the two children lie in one row each, padded to the wider child; the padding is never read.
        shape = (2, max(left, right))
        return Hashes(rng.child("buckets").buckets(width, shape), rng.child("signs").signs(shape))

    def sketch(self, params: Tree, X: Array) -> Array:
        degree = self.form.degree
        if degree == 1:
            (leaf,) = params.nodes
            return count_sketch(X, leaf.buckets[0], leaf.signs[0], self.n_components)
        pending = iter(enumerate(params.nodes))

        def join(left: Array, right: Array) -> Array:
            node, hashes = next(pending)
            width = self.node_width(node, degree)
            children = zip((left, right), hashes.buckets, hashes.signs, strict=True)
            spectrum = product_spectrum(
                count_sketch(child, buckets[: child.shape[1]], signs[: child.shape[1]], width)
                for child, buckets, signs in children
            )
            # A sparse node has a lower variance than its flat spectrum, so only the root stays in the frequency domain.
            return half_spectrum(spectrum, width) if node == degree - 2 else irfft(spectrum, width)

        return _climb([X] * degree, join)

    def pull_sketch(self, params: Tree, X: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.float64]:
        degree, found = self.form.degree, np.zeros_like(X)
        if degree == 1:
            (leaf,) = params.nodes
            return found + pull_count_sketch(G, leaf.buckets[0], leaf.signs[0])
        pending = iter(enumerate(params.nodes))

        def add(slopes: NDArray[np.float64]) -> None:
            np.add(found, slopes, out=found)

        def join(left: Traced, right: Traced) -> Traced:
            node, hashes = next(pending)
            width, is_root = self.node_width(node, degree), node == degree - 2
            sides = [
                (child.value, buckets[: child.value.shape[1]], signs[: child.value.shape[1]])
                for child, buckets, signs in zip((left, right), hashes.buckets, hashes.signs, strict=True)
            ]
            sketches = [count_sketch(*side, width) for side in sides]
            spectrum = product_spectrum(sketches)

            def back(G: NDArray[np.float64]) -> None:
                A = pull_half_spectrum(G) if is_root else pull_irfft(G)
                for child, side, slopes in zip((left, right), sides, pull_product(A, sketches), strict=True):
                    child.back(pull_count_sketch(slopes, *side[1:]))

            return Traced(half_spectrum(spectrum, width) if is_root else irfft(spectrum, width), back)

        _climb([Traced(X, add)] * degree, join).back(G)
        return found

    def _nodes(self, params: Tree, dtype: DTypeLike) -> list[Node] | None:
        """Return the nodes for the compiled core, or None if it has no transform of their widths."""
        form, nodes = self.form, iter(enumerate(params.nodes))
        prepared: list[Node] = []

        def join(left: int | None, right: int | None) -> int | None:
            # A child is X itself, written None, or a node of this width.
            node, hashes = next(nodes)
            forms = [form if child is None else AS_IT_IS for child in (left, right)]
            sides = zip(self._sides(hashes, left, right), forms, strict=True)
            places, signs = padded_entries(hashed_entries(side, form, dtype) for side, form in sides)
            width, is_root = self.node_width(node, form.degree), node == form.degree - 2
            tables = _core.spectrum(width, np.dtype(dtype))
            prepared.append(Node(places, signs, [form.constant for form in forms], tables, not is_root))
            return width

        _climb([None] * form.degree, join)
        return None if any(node.tables is None for node in prepared) else prepared

    def native(self, params: Tree, dtype: DTypeLike) -> Native | None:
        degree = self.form.degree
        prepared = self._nodes(params, dtype) if degree > 1 else None
        if prepared is None:
            return None
        root_scale = math.sqrt(2.0 * self.form.weight / self.n_components)

        def write(X: Array, out: NDArray[Any]) -> int | None:
            nodes, overflow = iter(prepared), None

            def join(left: Any, right: Any) -> Any:
                nonlocal overflow
                node = next(nodes)
                result = np.empty((X.shape[0], node.tables.width), dtype=dtype) if node.in_time else out
                overflow = _core.tensor_sketch([left, right], *node, 1.0 if node.in_time else root_scale, result)
                return _core.RowParts(result)

            _climb([row_parts(X)] * degree, join)
            return overflow  # an overflow anywhere in the tree reaches the root

        return write

    def _sides(self, hashes: Hashes, left: int | None, right: int | None) -> list[Hashes]:
        """Return the hashes of both children, one per column."""
        return [
            Hashes(hashes.buckets[side : side + 1, :width], hashes.signs[side : side + 1, :width])
            for side, width in enumerate(child or self.leaf_width for child in (left, right))
        ]

    @property
    def scratch(self) -> int:
        # At most half of the leaves' parents exist at once.
        alive = 4 + max(self.form.degree // 2, 1)
        return self.n_features + alive * int(self.factor) * self.n_components

    @classmethod
    def row_operations(cls, n_features: int, width: int, degree: int) -> float:
        return degree * (140.0 * width + 20.0 * n_features)


class TreeSketch(FeatureMap):
    r"""Polynomial kernels of degree 4 and higher through a tree of degree-2 sketches.

    The error of a product of p sketches grows exponentially with p, that of a tree polynomially. Below degree 4, the
    tree is no better than :class:`ComplexSketch`. On rows with a nonzero mean, :class:`TaylorSketch` may beat both.

    The p copies of a row are combined in pairs by degree-2 :class:`TensorSketch` nodes with fresh buckets and signs,
    the results are combined in pairs again, and so on; an odd one moves up. Inner nodes are ``factor`` times as wide as
    the output. Every node is an unbiased sketch of the product of its children, and so is the root.

    Parameters
    ----------
    kernel : Kernel or str, default=Polynomial(4, gamma="scale", coef0=1.0)
        Linear, Polynomial, or a multiple of one of them.
    n_components : int, default=256
        The number of features.
    factor : int, default=4
        The ratio of the width of inner nodes to that of the output. A larger ratio costs time and lowers the error.
    random_state : int, Generator, RandomState or None, default=None
        Determines the parameters; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    References
    ----------
    Ahle, Kapralov, Knudsen, Pagh, Velingker, Woodruff and Zandieh, Oblivious sketching of high-degree polynomial
    kernels, SODA 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import TreeSketch
    >>> from mercer.kernels import Polynomial
    >>> X = np.eye(3)
    >>> TreeSketch(Polynomial(7), n_components=32, random_state=0).fit_transform(X).shape
    (3, 32)
    """

    description = MapDescription(
        features="a tree of sketches of degree two, whose depth grows with the logarithm of the degree",
        kernels="polynomial",
        when="degree 4 and above",
        cost="p (nnz + f D log f D), f = `factor`",
        variance="no",
    )

    construction = TreeSketchConstruction

    def __init__(
        self,
        kernel: Kernel | str = QUARTIC,
        *,
        n_components: int = 256,
        factor: int = 4,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        super().__init__(kernel, n_components=n_components, random_state=random_state, n_jobs=n_jobs)
        self.factor = factor

    def check_arguments(self) -> None:
        check_whole("factor", self.factor)
        super().check_arguments()


def _climb(level: list[Any], join: Any) -> Any:
    """Join neighbours level by level, up to the root."""
    while len(level) > 1:
        pairs = [join(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[2 * len(pairs) :]
    return level[0]
