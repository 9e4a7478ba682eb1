"""How long the scores of a model and the page about it will take, from the time of its fit."""

from __future__ import annotations

from ..choose import Trial
from ..choose.fit_times import work_of
from .baselines import MOST_ROWS
from .what_if import PATH_WIDTH, STUDY_ROWS

SCORE_SECONDS = 2e-4
"""About what a row takes to score, with its share of all resampled scores."""
OTHERS_SECONDS = 2.5e-6
"""About what an entry of the rows takes a linear model and boosted trees, of two or three classes."""
MOST_ENTRIES = 2**24
"""Entries that these learn from, at most."""
PATH_FITS = 5
NARROWER = 1.4
"""How many times as long as the widest model of a study all of its models take: each is half as wide as the next."""


def scoring_seconds(fit: Trial, test_rows: int) -> float:
    """How long the scores of a model take on ``test_rows`` rows.

    Parameters
    ----------
    fit : Trial
        How the model was fitted.
    test_rows : int

    Examples
    --------
    >>> from mercer.choose import Trial
    >>> fit = Trial(None, "Gaussian(gamma=1)", None, "squared", 1.0, 8000, 512, "fit", 0.0, 4.0)
    >>> scoring_seconds(fit, 1000)
    0.7
    """
    return fit.seconds * test_rows / fit.rows + SCORE_SECONDS * test_rows


def page_seconds(fit: Trial, test_rows: int, columns: int = 1) -> float:
    """How long the page about a model takes: narrower ones and other penalties, other models, and pictures.

    Parameters
    ----------
    fit : Trial
        How the model was fitted.
    test_rows : int
    columns : int, default=1
        Of the rows.

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
