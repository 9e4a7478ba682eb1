"""Classes of very different sizes, of which accuracy tells little."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..data import Table
from .target_totals import TargetTotals

TIMES = 10.0
"""How many times as large as the rarest class the largest one is where classes are imbalanced."""


class Imbalance(NamedTuple):
    """The shares of classes in the weight of all rows, by label and the largest first.

    ``majority_accuracy`` is what the label of the largest class alone would reach, without a look at the rows.
    """

    shares: dict[Any, float]
    majority_accuracy: float

    @property
    def largest(self) -> Any:
        """The label of the largest class."""
        return next(iter(self.shares))

    @property
    def rarest(self) -> Any:
        """The label of the smallest class."""
        return next(reversed(self.shares))

    def sentence(self, weighed: bool = False) -> str:
        """What to know of the scores, and what to do about it where classes were not ``weighed`` in the fit."""
        largest, rarest = self.shares[self.largest], self.shares[self.rarest]
        advice = "look at balanced accuracy" + ("" if weighed else ", and try class_weight='balanced'")
        return (
            f"classes are imbalanced: {self.rarest!r} has {100.0 * rarest:.3g} % of the rows and {self.largest!r} "
            f"{100.0 * largest:.3g} %; accuracy alone misleads, as the answer {self.largest!r} for every row reaches "
            f"{self.majority_accuracy:.4g}: {advice}"
        )


def imbalance(table: Table) -> Imbalance | None:
    """How classes share the rows of a table, where the largest is more than ten times as large as the rarest.

    None where it is not. Rows count by their weights.

    Parameters
    ----------
    table : Table with labels of one task

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> y = np.where(np.arange(200) < 8, "fraud", "fine")
    >>> mercer.report.imbalance(mercer.data.open(np.eye(200), target=y))
    Imbalance(shares={'fine': 0.96, 'fraud': 0.04}, majority_accuracy=0.96)
    """
    return imbalance_of(TargetTotals.of(table, are_labels=True))


def imbalance_of(totals: TargetTotals) -> Imbalance | None:
    """The same from what is known of the targets."""
    sums = totals.by_label
    total = sum(sums.values())
    shares = {label: sums[label] / total for label in sorted(sums, key=lambda label: -sums[label])}
    if len(shares) < 2 or min(shares.values()) * TIMES >= max(shares.values()):
        return None
    return Imbalance(shares, max(shares.values()))
