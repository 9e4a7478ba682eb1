"""Labels of classifiers: their classes, the numbers of these, and the decision values that stand for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ..data import Table
from ._progress import Watch

Matrix = NDArray[np.float64]
Codes = NDArray[np.int64]


def checked_labels(y: Any) -> NDArray[Any]:
    """Labels as an array."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return y


def all_labels(table: Table, watch: Watch) -> tuple[NDArray[Any], Matrix]:
    """The labels and the weights of all rows, by a pass over them alone."""
    parts = [(block.y, block.weight) for block in watch.over("labels", table.blocks())]
    if any(y is None for y, _ in parts):
        raise ValueError("the blocks must bring y, found X alone")
    y = checked_labels(np.concatenate([np.asarray(y) for y, _ in parts]))
    return y, np.concatenate([np.ones(len(y)) if weight is None else weight for y, weight in parts])


def classes_of(y: NDArray[Any]) -> NDArray[Any]:
    """The labels that there are, in order."""
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"a classifier needs at least 2 classes, found 1 class: {classes.tolist()[0]!r}")
    return classes


def codes_of(y: Any, classes: NDArray[Any], first_row: int = 0) -> Codes:
    """The numbers of the classes of rows; ``first_row`` is the number of the first one, for messages."""
    known = {label: code for code, label in enumerate(classes.tolist())}
    labels, inverse = np.unique(np.asarray(y), return_inverse=True)
    codes = np.array([known.get(label, -1) for label in labels.tolist()], dtype=np.int64)[inverse]
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        listed = ", ".join(map(repr, classes.tolist()[:8])) + (", ..." if len(classes) > 8 else "")
        raise ValueError(
            f"y has the unknown label {np.asarray(y)[row].item()!r} in row {first_row + row}; known are {listed}"
        )
    return codes


def signs_of(codes: Codes, n_classes: int) -> Matrix:
    """1 in the column of a row's class and -1 elsewhere; two classes have one column, of the second."""
    columns = np.array([1]) if n_classes == 2 else np.arange(n_classes)
    return np.where(codes[:, None] == columns, 1.0, -1.0)


def weights_of(class_weight: Any, classes: NDArray[Any], y: Any) -> Matrix | None:
    """What a row of each class counts; None where all count alike. Labels matter for "balanced" alone."""
    return None if class_weight is None else compute_class_weight(class_weight, classes=classes, y=y)
