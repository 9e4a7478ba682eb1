"""Classes of very different sizes, for which accuracy says little."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..data import Table
from .target_totals import TargetTotals

TIMES = 10.0
"""Classes are imbalanced if the largest is at least this many times as large as the rarest."""


class Imbalance(NamedTuple):
    """Classes of very different sizes.

    Attributes
    ----------
    shares : dict of label to float
        The share of every class in the total weight of the rows, the largest first.
    majority_accuracy : float
        The accuracy of always predicting the largest class.
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
        """Describe what the sizes of the classes mean for the scores, with advice.

        Parameters
        ----------
        weighed : bool, default=False
            Whether classes were weighted in the fit, in which case weighting them is not recommended.

        Returns
        -------
        str
            The description.
        """
        largest, rarest = self.shares[self.largest], self.shares[self.rarest]
        advice = "look at balanced accuracy" + ("" if weighed else ", and try class_weight='balanced'")
        return (
            f"classes are imbalanced: {self.rarest!r} has {100.0 * rarest:.3g} % of the rows and {self.largest!r} "
            f"{100.0 * largest:.3g} %; accuracy alone misleads, since always predicting {self.largest!r} reaches "
            f"{self.majority_accuracy:.4g}: {advice}"
        )


def imbalance(table: Table) -> Imbalance | None:
    """Describe the sizes of classes if the largest is more than ten times as large as the rarest.

    Parameters
    ----------
    table : Table
        Rows with labels of one task. Rows count by their weights.

    Returns
    -------
    Imbalance or None
        The shares of the classes, or None if they are not that different.

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
    """Return the imbalance from sums over the targets."""
    sums = totals.by_label
    total = sum(sums.values())
    shares = {label: sums[label] / total for label in sorted(sums, key=lambda label: -sums[label])}
    if len(shares) < 2 or min(shares.values()) * TIMES >= max(shares.values()):
        return None
    return Imbalance(shares, max(shares.values()))
