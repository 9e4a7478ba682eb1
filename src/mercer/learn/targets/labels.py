"""Labels of classifiers: their classes, the numbers of the classes, and the decision values that represent them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_array, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ..._array import to_numpy
from ...data.block import Block
from ...data.frames import absent
from ..losses import Softmax, signs_of
from ..passes.scan_plan import Need

Matrix = NDArray[np.float64]
Codes = NDArray[np.int64]
Classes = NDArray[Any] | list[NDArray[Any]]
"""The labels of one task in order, or a list with the labels of every task."""


class Tasks:
    """The classes to predict: one for each row, or one for each column of y.

    Two classes have one column of decision values, positive for the second; more have one each. The columns of several
    tasks are concatenated.
    """

    def __init__(self, classes: Classes):
        self.several = isinstance(classes, list)
        self.classes: list[NDArray[Any]] = classes if isinstance(classes, list) else [classes]
        widths = [1 if len(labels) == 2 else len(labels) for labels in self.classes]
        ends = np.cumsum(widths).tolist()
        self.columns = [slice(end - width, end) for end, width in zip(ends, widths, strict=True)]

    def codes(self, y: Any, first_row: int = 0) -> Codes:
        """Return the numbers of the classes, one column per task; messages count rows from ``first_row`` on."""
        columns = columns_of(y)
        if len(columns) != len(self.classes) or self.several != (np.ndim(y) == 2):
            wanted = f"(n_rows, {len(self.classes)})" if self.several else "(n_rows,)"
            raise ValueError(f"expected y of shape {wanted}, found {np.shape(y)}")
        pairs = zip(columns, self.classes, strict=True)
        return np.stack([codes_of(column, classes, first_row) for column, classes in pairs], axis=1)

    def signs(self, codes: Codes) -> Matrix:
        """Return 1 in the columns of a row's classes and -1 elsewhere."""
        parts = zip(codes.T, self.columns, strict=True)
        return np.concatenate([signs_of(mine, columns.stop - columns.start) for mine, columns in parts], axis=1)

    def apart(self, values: NDArray[Any]) -> Any:
        """Return decision values as callers receive them: with several tasks, a list with one array per task."""
        parts = [values[:, columns] for columns in self.columns]
        parts = [part[:, 0] if part.shape[1] == 1 else part for part in parts]
        return parts if self.several else parts[0]

    def predicted(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the labels with the largest decision values."""
        found = []
        for classes, columns in zip(self.classes, self.columns, strict=True):
            part = values[:, columns]
            found.append(classes[(part[:, 0] > 0).astype(np.int64) if part.shape[1] == 1 else part.argmax(axis=1)])
        if not self.several:
            return found[0]
        alike = len({labels.dtype.kind for labels in found}) == 1  # numbers must not become text because others are
        return np.stack([labels if alike else labels.astype(object) for labels in found], axis=1)

    def weights(self, class_weight: Any, y: Any, row_weight: Matrix | None = None) -> tuple[Matrix, ...] | None:
        """Return the weights of classes in every task, in addition to the weights of rows; None if all are equal."""
        if class_weight is None:
            return None
        given = class_weight if isinstance(class_weight, list) else [class_weight] * len(self.classes)
        wanted = f"a list of {len(self.classes)} dicts" if self.several else "a dict"
        known = isinstance(class_weight, str | (list if self.several else dict))
        if not known or len(given) != len(self.classes):
            raise ValueError(f"class_weight must be None, 'balanced' or {wanted}, found {class_weight!r}")
        tasks = zip(given, self.classes, columns_of(y), strict=True)
        return tuple(checked_class_weights(one, classes, column, row_weight) for one, classes, column in tasks)

    def listed(self) -> list[Any]:
        """Return the labels as plain values."""
        found = [classes.tolist() for classes in self.classes]
        return found if self.several else found[0]


def checked_class_weights(
    class_weight: Any, classes: NDArray[Any], y: NDArray[Any], row_weight: Matrix | None
) -> Matrix:
    """Return the weight of a row of each class; "balanced" gives all classes the same total, including row weights."""
    found = np.asarray(compute_class_weight(class_weight, classes=classes, y=y), dtype=np.float64)
    if isinstance(class_weight, str) and row_weight is not None:
        totals = np.bincount(codes_of(y, classes, 0), row_weight, minlength=len(classes))
        found = totals.sum() / (len(classes) * totals)
    if not (np.isfinite(found).all() and (found >= 0.0).all() and found.any()):
        raise ValueError(
            "class_weight must have finite numbers of at least 0, not all of them 0, found "
            f"{dict(zip(classes.tolist(), found.tolist(), strict=True))}"
        )
    return found


def checked_labels(y: Any) -> NDArray[Any]:
    """Return labels as an array, with two axes for several tasks."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = to_numpy(y)
    y = y if hasattr(y, "shape") else np.asarray(y)
    if len(y.shape) == 2 and y.shape[1] > 1:
        # As an array first: scikit-learn may mistake a data frame with one column of text for numbers.
        y = check_array(np.asarray(y), dtype=None, input_name="y", ensure_all_finite=False)
    else:
        y = column_or_1d(y, warn=True)
    for column in columns_of(y):
        missing = absent(column) if column.dtype == object else np.zeros(0, dtype=bool)
        if missing.any():
            raise ValueError(f"expected a label for every row, found {column[missing][0]!r} in row {missing.argmax()}")
        assert_all_finite(column, input_name="y")
        check_classification_targets(column)
    return y


class AllLabels(Need):
    """The labels and the weights of all rows."""

    needs_features = False

    def begin(self) -> None:
        self._parts: list[tuple[Any, Matrix | None]] = []

    def update(self, block: Block, first: int) -> None:
        if block.y is None:
            raise ValueError("the blocks must contain y, found only X")
        self._parts.append((np.asarray(block.y), block.weight))

    def join(self, later: Self) -> None:
        self._parts += later._parts

    def found(self) -> tuple[NDArray[Any], Matrix]:
        """Return labels and weights, after a scan."""
        y = checked_labels(np.concatenate([y for y, _ in self._parts]))
        return y, np.concatenate([np.ones(len(y)) if weight is None else weight for y, weight in self._parts])


def columns_of(y: Any) -> list[NDArray[Any]]:
    """Return labels task by task; columns of a table of objects get their own type, if they have one."""
    y = np.asarray(y)
    if y.ndim == 1:
        return [y]
    alike = [y.dtype == object and len({type(label) for label in column}) == 1 for column in y.T]
    return [np.array(column.tolist()) if one else column for column, one in zip(y.T, alike, strict=True)]


def classes_of(y: NDArray[Any]) -> Classes:
    """Return the labels that occur, in order, for every task."""
    found = [np.unique(column) for column in columns_of(y)]
    for task, classes in enumerate(found):
        if len(classes) < 2:
            where = f" in column {task} of y" if y.ndim == 2 else ""
            raise ValueError(f"a classifier needs at least 2 classes, found 1 class{where}: {classes.tolist()[0]!r}")
    return found if y.ndim == 2 else found[0]


def given_classes(classes: Any) -> Classes:
    """Return labels given by the user: an array, or a sequence of arrays for several tasks."""
    if len(classes) and all(np.ndim(labels) == 1 for labels in classes):
        return [np.asarray(classes_of(checked_labels(labels))) for labels in classes]
    return classes_of(checked_labels(classes))


def known_classes(classes: Any, before: Classes | None) -> Classes:
    """Return the classes of the first call of ``partial_fit``, which later calls may repeat."""
    if classes is None:
        if before is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return before
    given = given_classes(classes)
    ours, known = Tasks(given).listed(), None if before is None else Tasks(before).listed()
    if known is not None and ours != known:
        raise ValueError(f"classes={ours} differ from the first call's, {known}")
    return given


def codes_of(y: NDArray[Any], classes: NDArray[Any], first_row: int) -> Codes:
    """Return the numbers of the classes of rows in one task."""
    known = {label: code for code, label in enumerate(classes.tolist())}
    labels, inverse = np.unique(y, return_inverse=True)
    codes = np.array([known.get(label, -1) for label in labels.tolist()], dtype=np.int64)[inverse]
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        listed = ", ".join(map(repr, classes.tolist()[:8])) + (", ..." if len(classes) > 8 else "")
        raise ValueError(
            f"y has the unknown label {y.tolist()[row]!r} in row {first_row + row}; known labels are {listed}"
        )
    return codes


def each(function: Callable[[NDArray[Any]], NDArray[Any]], values: Any) -> Any:
    """Apply a function to an array, or to each array of a list."""
    return [function(one) for one in values] if isinstance(values, list) else function(values)


def probabilities(values: NDArray[Any]) -> NDArray[Any]:
    """Return the probabilities of classes from their decision values; the first of two has 0."""
    return Softmax.probabilities(of_every_class(values))


def log_probabilities(values: NDArray[Any]) -> NDArray[Any]:
    """Return the logarithms of probabilities, which are accurate even if the probabilities underflow."""
    every = of_every_class(values).astype(np.float64)
    every -= every.max(axis=1, keepdims=True)
    return (every - np.log(np.exp(every).sum(axis=1, keepdims=True))).astype(values.dtype)


def of_every_class(values: NDArray[Any]) -> NDArray[Any]:
    """Return decision values with one column per class; of two classes, the first has 0."""
    return np.stack([np.zeros_like(values), values], axis=1) if values.ndim == 1 else values
