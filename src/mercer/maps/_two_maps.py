"""What maps made of two maps share: both are specified, drawn from streams of their own, and fitted together."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import clone

from .._random import Stream
from ..kernels import Kernel
from ._base import FeatureMap


class TwoMaps(FeatureMap):
    """A map made of the features of two others, which come first and are fitted as ``left_`` and ``right_``."""

    left: FeatureMap
    right: FeatureMap
    _parts: ClassVar[tuple[str, ...]] = ("left", "right")

    def _check_arguments(self) -> None:
        for name in ("left", "right"):
            inner = getattr(self, name)
            if not isinstance(inner, FeatureMap):
                raise TypeError(f"{name} must be a feature map, found {inner!r}")
            inner._check_arguments()
        super()._check_arguments()

    def _specify_both(self, rows: Any, left: int, right: int) -> None:
        """Copies of both maps, so wide."""
        if rows.dtype == object:
            raise TypeError(f"{type(self).__name__} takes rows of numbers and kernels of mercer.kernels, found objects")
        self.left_: FeatureMap = clone(self.left).set_params(n_components=left)
        self.right_: FeatureMap = clone(self.right).set_params(n_components=right)
        for name, inner in (("left", self.left_), ("right", self.right_)):
            inner._specify(rows)
            if not isinstance(inner.kernel_, Kernel):
                raise TypeError(f"{name} must be a map of a kernel of mercer.kernels, found one of {inner.kernel_!r}")

    def _draw_both(self, rng: Stream, rows: Any) -> tuple[Any, Any]:
        """Parameters from streams of their own, so that two of the same map differ.

        What hangs on the rows and the seed alone they share: bandwidths, the uniform landmarks of two Nystrom maps.
        """
        return self.left_._draw(rng.child("left"), rows), self.right_._draw(rng.child("right"), rows)

    def _adopt(self, params: Any, n_features: int) -> None:
        super()._adopt(params, n_features)
        self._hand_on(self.left_, params.left, n_features)
        self._hand_on(self.right_, params.right, n_features)
