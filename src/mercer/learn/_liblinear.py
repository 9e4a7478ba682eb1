"""LIBLINEAR on held features, as the papers used it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from ._designs import HeldDesign


def liblinear(
    model: Any, design: HeldDesign, codes: NDArray[np.int64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Coefficients, a column a class, with the intercept as the last row."""
    shared = {"C": model.C, "fit_intercept": bool(model.fit_intercept), "max_iter": max(1000, model.max_iter)}
    if model.loss == "squared_hinge":
        found = LinearSVC(dual="auto", random_state=0, **shared).fit(design.Z, codes, weight)
        coef, intercept = found.coef_, found.intercept_
    else:
        one = LogisticRegression(solver="liblinear", random_state=0, **shared)
        if codes.max() == 1:
            found = one.fit(design.Z, codes, weight)
            coef, intercept = found.coef_, found.intercept_
        else:
            rest = OneVsRestClassifier(one).fit(design.Z, codes)
            coef = np.vstack([single.coef_ for single in rest.estimators_])
            intercept = np.concatenate([np.ravel(single.intercept_) for single in rest.estimators_])
    return np.vstack([coef.T, np.broadcast_to(intercept, (coef.shape[0],))]).astype(np.float64)
