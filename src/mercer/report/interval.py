"""The typical distance of new targets from the predictions of a regressor: an interval from held-out rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..learn import KernelRegressor
from ..learn.conformal.order_statistics import bound

COVERAGE = 0.9


class Interval(NamedTuple):
    """An interval around predictions that contains a new target with a given probability.

    Attributes
    ----------
    coverage : float
        The probability.
    half_width : float
        The distance from the prediction to either end.
    rows : int
        The number of held-out rows behind it.
    """

    coverage: float
    half_width: float
    rows: int

    def __str__(self) -> str:
        return f"{100 * self.coverage:g} % of new targets are within {self.half_width:.4g} of their predictions"


def interval_about(
    model: BaseEstimator, y: NDArray[Any], predicted: NDArray[Any] | None, weight: NDArray[np.float64] | None
) -> Interval | None:
    """Return the interval of split conformal prediction, which the rows held out for scores provide at no extra cost.

    It covers a new row from the same source with at least this probability, whatever the model. None for classes and
    quantiles, and if there are too few rows.
    """
    if predicted is None or not isinstance(model, KernelRegressor) or model.loss == "quantile":
        return None
    counted = np.ones(len(y), dtype=bool) if weight is None else weight > 0.0
    residuals = np.abs(np.asarray(y, dtype=np.float64) - predicted)[counted]
    width = bound(residuals, COVERAGE)
    return Interval(COVERAGE, width, len(residuals)) if np.isfinite(width) else None
