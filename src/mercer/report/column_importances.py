"""The importance of columns to a model, in words and as a picture."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ..data.block import Block, concatenated, part_of
from ..learn.machine import Matched
from .page import details, paragraph, section, table
from .pictures import drawing, picture, pictures
from .style import SERIES

MOST_ROWS, FEWEST_ROWS = 256, 16
OPERATIONS = 2e10
"""The number of products that gradients may take: fewer rows are used if a machine is large."""
SHOWN, NAMED = 20, 3
"""The number of columns in the picture, and in a sentence."""
NEGLIGIBLE = 0.005
"""A smaller share is not mentioned."""
LONGEST_NAME = 28


class Importance(NamedTuple):
    """The importance of a column.

    Attributes
    ----------
    column : str
        The name of the column.
    share : float
        Its share of the effect of all columns on predictions.
    """

    column: str
    share: float


class RowSampler:
    """Takes a few evenly spaced rows from a pass over blocks.

    Parameters
    ----------
    n_rows : int
        The number of rows of the pass.
    """

    def __init__(self, n_rows: int):
        self._step, self._next, self._parts = max(1, -(-n_rows // MOST_ROWS)), 0, list[Any]()

    def update(self, X: Any) -> None:
        """Process the rows of a block, before preparation."""
        count = int(X.shape[0])
        if self._next < count:
            self._parts.append(part_of(X, np.arange(self._next, count, self._step)))
            self._next += self._step * int(self._parts[-1].shape[0])
        self._next -= count

    def rows(self) -> Any:
        """Return the rows that were taken."""
        return concatenated([Block(part, None, None) for part in self._parts]).X


def importances_among(model: BaseEstimator, table: Any, X: Any) -> list[Importance]:
    """Return the columns of a fitted learner by their importance among rows, the largest first.

    The list is empty if the map has no gradients in closed form, or predictions do not change.

    Parameters
    ----------
    model : KernelClassifier or KernelRegressor
        The fitted learner.
    table : Table
        The table of the rows, whose columns already are those of the model.
    X : ndarray, sparse matrix or data frame
        The rows, before preparation.

    Returns
    -------
    list of Importance
        The columns with their shares.
    """
    outputs = np.atleast_2d(model.coef_).shape[0]
    size = 2.0 * outputs * float(model.map_.n_components_) * float(model.map_.n_features_in_)
    most = int(np.clip(OPERATIONS / size, FEWEST_ROWS, MOST_ROWS))
    step = -(-int(X.shape[0]) // most)
    with warnings.catch_warnings():  # the warning about rows unlike the training rows was issued when they were scored
        warnings.simplefilter("ignore", UserWarning)
        try:
            shares = model.importances(Matched(table, part_of(X, np.arange(0, X.shape[0], step)), 0))
        except ValueError as error:
            if "derivatives" in str(error) or "gradient" in str(error):
                return []
            raise
    names = model.preparation_.column_names(int(model.n_features_in_))
    order = np.argsort(-shares, kind="stable")
    return [Importance(names[place], float(shares[place])) for place in order] if shares.any() else []


def in_words(found: Sequence[Importance]) -> str:
    """Return the columns that matter most, in one line."""
    named = [f"{one.column} {100 * one.share:.0f} %" for one in found[:NAMED] if one.share >= NEGLIGIBLE]
    more = sum(1 for one in found[len(named) :] if one.share >= NEGLIGIBLE)
    return ", ".join(named) + (f" and {more} more" if more else "")


def importances_section(found: Sequence[Importance]) -> str:
    """Return the part of a page about columns."""
    if not found:
        return ""
    few = len(found) <= SHOWN
    said = (
        "How much predictions would vary if only this column were drawn again, as a share: from gradients of the model "
        "on held-out rows. The levels of a column, and whether it is missing, count together."
        f"{'' if few else f' The picture has the first {SHOWN} of {len(found)} columns.'}"
    )
    listed = table(("column", "share"), [(one.column, f"{100 * one.share:.2f} %") for one in found])
    shown = importances_picture(found[:SHOWN])
    return section("What matters", paragraph(said), pictures(shown), details("Show the numbers", listed))


def importances_picture(found: Sequence[Importance]) -> str:
    """Plot shares as bars, the largest at the top."""
    with drawing(6.0, 0.8 + 0.28 * len(found)) as (figure, (axes,)):
        places = np.arange(len(found))[::-1]
        axes.barh(places, [100.0 * one.share for one in found], color=SERIES[0], height=0.7)
        axes.set_yticks(places, [shortened(one.column) for one in found])
        axes.grid(axis="y", visible=False)
        axes.set(xlabel="share, %", ylim=(-0.6, len(found) - 0.4))
    return picture(figure, f"Importance of columns: {in_words(found)}.")


def shortened(name: str) -> str:
    """Return a name that is short enough for a picture."""
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
