"""Estimates of the time that the scores of a model and its report take, from the time of its fit."""

from __future__ import annotations

from ..choose import Trial
from ..choose.fit_times import work_of
from .baselines import MOST_ROWS
from .what_if import PATH_WIDTH, STUDY_ROWS

SCORE_SECONDS = 2e-4
"""The approximate seconds to score a row, with its share of all resampled scores."""
OTHERS_SECONDS = 2.5e-6
"""The approximate seconds per entry of the rows for a linear model and boosted trees with two or three classes."""
MOST_ENTRIES = 2**24
"""The largest number of entries on which these models are trained."""
PATH_FITS = 5
NARROWER = 1.4
"""The time of all models of a study relative to the widest one: each is half as wide as the next."""


def scoring_seconds(fit: Trial, test_rows: int) -> float:
    """Estimate how long scoring a model takes.

    Parameters
    ----------
    fit : Trial
        How the model was fitted.
    test_rows : int
        The number of held-out rows.

    Returns
    -------
    float
        The estimate in seconds.

    Examples
    --------
    >>> from mercer.choose import Trial
    >>> fit = Trial(None, "Gaussian(gamma=1)", None, "squared", 1.0, 8000, 512, "fit", 0.0, 4.0)
    >>> scoring_seconds(fit, 1000)
    0.7
    """
    return fit.seconds * test_rows / fit.rows + SCORE_SECONDS * test_rows


def page_seconds(fit: Trial, test_rows: int, columns: int = 1) -> float:
    """Estimate how long the page about a model takes: narrower models, other penalties, other models, and pictures.

    Parameters
    ----------
    fit : Trial
        How the model was fitted.
    test_rows : int
        The number of held-out rows.
    columns : int, default=1
        The number of columns.

    Returns
    -------
    float
        The estimate in seconds.

    Examples
    --------
    >>> from mercer.choose import Trial
    >>> fit = Trial(None, "Gaussian(gamma=1)", None, "squared", 1.0, 8000, 512, "fit", 0.0, 4.0)
    >>> 4.0 < page_seconds(fit, 1000) < 60.0
    True
    """
    rows, speed = min(fit.rows, 2 * STUDY_ROWS), fit.seconds / work_of(fit.rows, fit.features)
    widths = NARROWER * work_of(rows, fit.features)
    path = PATH_FITS * work_of(rows, min(PATH_WIDTH, fit.features))
    others = OTHERS_SECONDS * min(min(fit.rows, MOST_ROWS) * columns, MOST_ENTRIES)
    return speed * (widths + path) + others + scoring_seconds(fit, min(test_rows, 2 * STUDY_ROWS)) + 5.0
