"""Sums over the targets of a table in one pass: the number of rows, their weight, and the share of each class in it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..data import Table


class TargetTotals(NamedTuple):
    """Sums over the targets of a table.

    ``by_label`` holds the weight of every label in the order of first appearance, and is empty for numbers. ``total``
    is the weighted sum of numbers.
    """

    rows: int
    weight: float
    by_label: dict[Any, float]
    total: float

    @classmethod
    def of(cls, table: Table, are_labels: bool) -> TargetTotals:
        """Return the sums after one pass over targets and weights alone."""
        rows, weight, total = 0, 0.0, 0.0
        by_label: dict[Any, float] = {}
        for block in table.targets():
            y = np.asarray(block.y)
            each = np.ones(len(y)) if block.weight is None else np.asarray(block.weight)
            rows, weight = rows + len(y), weight + float(each.sum())
            if not are_labels:
                total += float(each @ y.astype(np.float64))
                continue
            found, place = np.unique(y, return_inverse=True)
            for label, count in zip(found.tolist(), np.bincount(place, each).tolist(), strict=True):
                by_label[label] = by_label.get(label, 0.0) + count
        return cls(rows, weight, by_label, total)
