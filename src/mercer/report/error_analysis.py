"""The errors of a model on held-out rows."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..data import Table
from ..learn import KernelClassifier
from ..learn.targets.labels import Tasks, probabilities
from .interval import Interval
from .model_charts import calibration_picture, observed_picture, residuals_picture
from .page import figure, paragraph, section, wide
from .pictures import pictures
from .unknown_levels import treating_unknown, unknown_levels

MOST_CLASSES = 30
UPRIGHT_CLASSES = 8
"""Up to this many class names are horizontal above their columns; more are rotated, to keep the columns narrow."""


def errors_section(model: BaseEstimator, test: Table, interval: Interval | None = None) -> str:
    """Return the confusion table and the calibration of a classifier, or the residuals and interval of a regressor."""
    strange, model = unknown_levels(model, test).sentence, treating_unknown(model)
    told = paragraph(f"{strange}.") if strange else ""
    if isinstance(model, KernelClassifier):
        return _classes(model, test, told)
    return _numbers(model, test, told, interval)


def _classes(model: KernelClassifier, test: Table, told: str) -> str:
    y, values, weight = model.observed(test, model.decision_function)
    labels = np.asarray(model.classes_).tolist()
    predicted = Tasks(model.classes_).predicted(values.reshape(len(values), -1))
    counted = np.ones(len(y)) if weight is None else weight
    if len(labels) > MOST_CLASSES:
        shown = paragraph(f"{len(labels)} classes are too many for a confusion matrix.")
    else:
        shown = paragraph(
            "Rows are true classes, columns are predicted classes; correct predictions are blue, errors orange."
        )
        shown += confusion_table(confusion(y, predicted, counted, labels), [str(label) for label in labels])
    calibration = _calibration(model, y, values, counted)
    return section("Errors on held-out rows", told, shown, "<h3>Calibration</h3>", calibration)


def confusion(y: NDArray[Any], predicted: NDArray[Any], weight: NDArray[Any], labels: list[Any]) -> list[list[Any]]:
    """Return the weight of the rows of each class (first index) that were predicted as each class (second index)."""
    both = [[float(weight[(y == true) & (predicted == told)].sum()) for told in labels] for true in labels]
    return [[int(one) if one.is_integer() else one for one in row] for row in both]


def confusion_table(counts: list[list[Any]], names: list[str]) -> str:
    """Return a table of counts, coloured by their share of the true class."""
    head = "".join(f'<th scope="col"><span>{escape(name)}</span></th>' for name in names)
    lines = []
    for place, (name, row) in enumerate(zip(names, counts, strict=True)):
        total = sum(row) or 1
        cells = "".join(
            f'<td class="{"right" if other == place else "wrong" if one else "none"}" style="--s:{one / total:.3f}" '
            f'title="{100 * one / total:.1f} % of this class">{escape(figure(one))}</td>'
            for other, one in enumerate(row)
        )
        lines.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
    corner = '<th class="corner">true \\ predicted</th>'
    kind = "confusion many" if len(names) > UPRIGHT_CLASSES else "confusion"
    return wide(f'<table class="{kind}"><thead><tr>{corner}{head}</tr></thead><tbody>{"".join(lines)}</tbody></table>')


def _calibration(model: KernelClassifier, y: NDArray[Any], values: NDArray[Any], weight: NDArray[Any]) -> str:
    if not model.has_probabilities:
        return paragraph("This model was trained in batches, or by an earlier version, and gives no probabilities.")
    chances, labels = probabilities(model.log_odds(values)), np.asarray(model.classes_)
    if len(labels) == 2:
        of, chance, right = f"the class {labels[1]}", chances[:, 1], y == labels[1]
    else:
        of, chance, right = "the class that is predicted", chances.max(axis=1), y == labels[chances.argmax(axis=1)]
    return pictures(calibration_picture(chance, right, weight, of))


def _numbers(model: BaseEstimator, test: Table, told: str, interval: Interval | None) -> str:
    y, predicted, _ = model.observed(test, model.predict)
    y, predicted = np.asarray(y, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    said = (
        "In the first chart, good predictions lie near the dashed line. In the second, the residuals should scatter "
        "around zero without a pattern; where there are enough rows, lines show their median and middle 80 %."
    )
    held = ""
    if interval is not None:
        held = paragraph(
            f"{interval}, if they come from the same source as these rows. This conformal interval from "
            f"{interval.rows:,} held-out rows is the grey band of the second chart. It has the same width everywhere; "
            "ConformalRegressor gives others."
        )
    return section(
        "Errors on held-out rows",
        told,
        held,
        paragraph(said),
        pictures(observed_picture(y, predicted), residuals_picture(y, predicted, interval)),
    )
