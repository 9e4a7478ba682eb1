"""What maps around one other map share."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import clone
from sklearn.utils import get_tags

from ._base import FeatureMap


class MapWrapper(FeatureMap):
    """A map whose first parameter is another map, and whose parameters begin with those of that map."""

    map: FeatureMap
    _parts: ClassVar[tuple[str, ...]] = ("map",)

    def _wrap(self, rows: Any, factor: int = 1) -> None:
        """Specify the inner map at ``factor`` times this width, and take its kernel."""
        if not isinstance(self.map, FeatureMap):
            raise TypeError(f"map must be a feature map, found {self.map!r}")
        self._check_arguments()
        self.map_: FeatureMap = clone(self.map).set_params(n_components=factor * int(self._width()))
        self.map_._specify(rows)
        self.n_components_ = int(self._width())
        self._settle(rows.n_features)

    def _settle(self, n_features: int) -> None:
        self.kernel_ = self.map_.kernel_

    def _takes_objects(self, X: Any, reset: bool) -> bool:
        return super()._takes_objects(X, reset) if reset else self.map_._takes_objects(X, reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.map, FeatureMap) and get_tags(self.map).input_tags.pairwise
        return tags

    def _adopt(self, params: Any, n_features: int) -> None:
        super()._adopt(params, n_features)
        self._hand_on(self.map_, params.map, n_features)
