"""Coefficients of a machine, computed from the coefficients of one with fewer features."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..features.prepared_rows import PreparedRows
from ..protocols import LinearClassifier

PROBED = 64
"""The number of rows on which features are compared."""


def widened(narrow: LinearClassifier, wide: LinearClassifier, rows: PreparedRows) -> NDArray[np.float64] | None:
    """Return coefficients with which a wider machine predicts what a narrower one does, with the intercept last.

    None if the map does not start with the features of the narrower one, up to a common factor.
    """
    X = next(rows.chunks(256)).X[:PROBED]
    ours, theirs = wide.features_of(X, 0), narrow.features_of(X, 0)
    width, factor = theirs.shape[1], math.sqrt(ours.shape[1] / theirs.shape[1])
    if width > ours.shape[1] or not np.array_equal(narrow.classes_, wide.classes_):
        return None
    size = float(np.abs(theirs).max())
    if not np.allclose(factor * ours[:, :width], theirs, rtol=0.0, atol=math.sqrt(np.finfo(ours.dtype).eps) * size):
        return None
    coef = np.zeros((narrow.coef_.shape[0], ours.shape[1]))
    coef[:, :width] = factor * narrow.coef_
    return np.vstack([coef.T, narrow.intercept_]) if wide.fit_intercept else coef.T
