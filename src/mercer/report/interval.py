"""How far new targets may be from the predictions of a regressor: an interval from rows that were held out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..learn import KernelRegressor
from ..learn.conformal.order_statistics import bound

COVERAGE = 0.9


class Interval(NamedTuple):
    """Predictions and this much on either side hold a new target with this probability, by so many rows held out."""

    coverage: float
    half_width: float
    rows: int

    def __str__(self) -> str:
        return f"{100 * self.coverage:g} % of new targets are within {self.half_width:.4g} of their predictions"


def interval_about(
    model: Any, y: NDArray[Any], predicted: NDArray[Any] | None, weight: NDArray[np.float64] | None
) -> Interval | None:
    """The interval of split conformal prediction, which rows held out for scores give for nothing.

    It covers a new row from the same source with this probability at least, whatever the model. None for classes and
    quantiles, and where rows are too few.
    """
    if predicted is None or not isinstance(model, KernelRegressor) or model.loss == "quantile":
        return None
    counted = np.ones(len(y), dtype=bool) if weight is None else weight > 0.0
    residuals = np.abs(np.asarray(y, dtype=np.float64) - predicted)[counted]
    width = bound(residuals, COVERAGE)
    return Interval(COVERAGE, width, len(residuals)) if np.isfinite(width) else None
