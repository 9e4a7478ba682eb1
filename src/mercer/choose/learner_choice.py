"""The learner for a target: classes or numbers."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from .._checks import check_choice
from ..data import Table
from ..data.disguised_text import LOOKED_AT, disguise
from ..learn import KernelClassifier, KernelRegressor
from ..learn.argument_types import ClassWeightArgument
from ..learn.classifier import LOSSES as CLASS_LOSSES
from ..learn.targets.regression_losses import LOSSES as REGRESSION_LOSSES
from ..maps import FeatureMap

MOST_CLASSES = 20
"""Whole numbers of more different values than this are numbers to be told, not the names of classes."""

TASKS = ("auto", "classification", "regression")


class Task(NamedTuple):
    """What is to be told of a row, "classification" or "regression", and why, in words."""

    name: str
    why: str


def task_of(table: Table, asked: str = "auto") -> Task:
    """Whether the targets of a table are classes or numbers.

    Text and truth values are classes, and so are whole numbers (floats without fractions too) of at most 20 different
    values; everything else is numbers. One pass over the targets at most.

    Parameters
    ----------
    table : Table
        Such as :func:`mercer.data.open` gives.
    asked : "auto", "classification" or "regression"
        What is not "auto" is taken as it is; regression on text is refused.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> mercer.choose.task_of(mercer.data.open(X, target=2))
    Task(name='regression', why='the target has fractions')
    >>> mercer.choose.task_of(mercer.data.open(X, target=np.arange(100) % 3)).name
    'classification'
    """
    check_choice("task", asked, TASKS)
    if asked != "auto":
        y = np.asarray(next(table.targets()).y)
        if asked == "regression" and y.dtype.kind in "OU":
            like = text_disguise(y)
            hint = "ask for classification" if like is None else f"it looks like {like}"
            raise ValueError(f"regression needs a target of numbers, found text: {hint}")
        return Task(asked, "as asked for")
    seen: set[Any] = set()
    for block in table.targets():
        if block.y is None:
            raise ValueError("the rows have no target: name one")
        y = np.asarray(block.y)
        if y.dtype.kind not in "iuf":
            like = text_disguise(y)
            if like is not None:
                warnings.warn(
                    f"the target is text that looks like {like}; now each is a class", UserWarning, stacklevel=2
                )
            return Task("classification", "the target is " + ("truth values" if y.dtype.kind == "b" else "text"))
        if y.dtype.kind == "f" and (y != np.floor(y)).any():
            return Task("regression", "the target has fractions")
        seen.update(np.unique(y).tolist())
        if len(seen) > MOST_CLASSES:
            return Task("regression", f"the target is whole numbers of more than {MOST_CLASSES} different values")
    return Task("classification", f"the target is whole numbers of {len(seen)} different values")


def text_disguise(y: Any) -> str | None:
    """What a target of text looks like, numbers or dates, with what to do; None where it looks like text."""
    labels = [label for label in dict.fromkeys(y.ravel().tolist()) if isinstance(label, str)]
    return disguise(labels[:LOOKED_AT]) if labels else None


def check_class_weight(task: str, class_weight: ClassWeightArgument) -> None:
    """Raise where classes are weighed and there are none."""
    if task == "regression" and class_weight is not None:
        raise ValueError(f"class_weight is for classification, found the task 'regression' and {class_weight!r}")


def learner_for(
    task: str,
    *,
    kernel: Any = "auto",
    map: Any = "auto",
    n_components: int | None = None,
    scale: str | None = "auto",
    missing: str = "auto",
    unknown: str = "error",
    dates: str = "number",
    columns: str | None = "auto",
    loss: str | None = None,
    C: Any = "auto",
    class_weight: Any = None,
    alpha: Any = "auto",
    delta: float | None = None,
    quantile: Any = 0.5,
    epsilon: float = 0.1,
    deviations: bool = False,
    memory: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    device: str | None = None,
) -> KernelClassifier | KernelRegressor:
    """The learner of a task, not fitted.

    Parameters
    ----------
    task : "classification" or "regression"
    loss : str or None
        One of :class:`mercer.KernelClassifier` or of :class:`mercer.KernelRegressor`; None is "squared_hinge" for
        classes and "squared" for numbers.
    C, class_weight : of a classifier; alpha, delta, quantile, epsilon, deviations : of a regressor
        ``deviations`` keeps what standard deviations of predictions need, 8 D^2 bytes.
    memory : how much the features may take where the loss iterates, see :class:`mercer.KernelClassifier`
    map : "auto", the name of a map, or a FeatureMap, whose kernel, width and seed override what is given here
    kernel, n_components, scale, missing, unknown, dates, columns, random_state, n_jobs, device
        See :class:`mercer.KernelClassifier`.

    Examples
    --------
    >>> import mercer
    >>> mercer.choose.learner_for("regression", loss="huber", n_components=64)
    KernelRegressor(loss='huber', n_components=64)
    """
    check_choice("task", task, TASKS[1:])
    check_class_weight(task, class_weight)
    if isinstance(map, FeatureMap):
        kernel = n_components = random_state = None
    common = {
        "n_components": n_components,
        "map": map,
        "scale": scale,
        "missing": missing,
        "unknown": unknown,
        "dates": dates,
        "columns": columns,
        "random_state": random_state,
        "n_jobs": n_jobs,
        "device": device,
    }
    asked: dict[str, Any] = {"loss": loss, "memory": memory}
    if task == "regression":
        check_choice("loss", loss, (*REGRESSION_LOSSES, None))
        asked |= {"delta": delta, "quantile": quantile, "epsilon": epsilon, "loss": "squared" if loss is None else loss}
        return KernelRegressor(kernel, alpha=alpha, keep_statistics=deviations, **asked, **common)
    check_choice("loss", loss, (*CLASS_LOSSES, None))
    asked["loss"] = "squared_hinge" if loss is None else loss
    return KernelClassifier(kernel, C=C, class_weight=class_weight, **asked, **common)
