"""The base of conformal regressors and classifiers: a cloned estimator, and rows set aside for calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..._checks import check_probability
from ..._random import RandomState, Stream, as_seed
from ..passes.fit_tasks import TellsCallbacks
from .splittable_rows import SplittableRows, check_splittable


class ConformalPredictor(MetaEstimatorMixin, TellsCallbacks, BaseEstimator):
    """A predictor that learns from rows outside the training rows how far its estimator can be trusted."""

    estimator: Any
    estimator_: Any
    coverage: float
    holdout: float
    random_state: RandomState
    seed_: int

    def check_arguments(self) -> None:
        """Refuse invalid arguments."""
        check_splittable(self.estimator)
        check_probability("coverage", self.coverage)
        check_probability("holdout", self.holdout)

    def _shuffled(self, given: SplittableRows) -> NDArray[Any]:
        """Draw a seed; return the numbers of the rows of positive weight in random order."""
        self.seed_ = as_seed(self.random_state)
        order = Stream(self.seed_, "conformal").permutation(len(given.targets))
        return order if given.weight is None else order[given.weight[order] > 0.0]

    def _kept_and_aside(self, order: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the numbers of the rows to train on, and of those that are set aside, both increasing."""
        count = int(np.ceil(float(self.holdout) * len(order)))
        if not 0 < count < len(order):
            raise ValueError(
                f"holdout={self.holdout:g} of n_samples={len(order)} leaves no rows to train on or none to set aside"
            )
        return np.sort(order[count:]), np.sort(order[:count])

    @property
    def n_features_in_(self) -> int:
        """The number of columns that ``fit`` has seen."""
        check_is_fitted(self, "estimator_")
        n_features: int = self.estimator_.n_features_in_
        return n_features

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        return tags
