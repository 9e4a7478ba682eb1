"""The choice of the learner for a target: classes or numbers."""

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
"""Integers with more different values than this are numbers to predict, not names of classes."""

TASKS = ("auto", "classification", "regression")


class Task(NamedTuple):
    """The kind of prediction.

    Attributes
    ----------
    name : str
        "classification" or "regression".
    why : str
        The reason, in words.
    """

    name: str
    why: str


def task_of(table: Table, asked: str = "auto") -> Task:
    """Decide whether the targets of a table are classes or numbers.

    Text and truth values are classes, and so are integers (and floats with integer values) with at most 20 different
    values; everything else is numbers. Text that looks like numbers or dates, and that is hardly ever the same in two
    rows, is refused unless classification is requested. This takes at most one pass over the targets.

    Parameters
    ----------
    table : Table
        The rows, as :func:`mercer.data.open` returns them.
    asked : {"auto", "classification", "regression"}, default="auto"
        "auto" decides by the targets. Regression on text is refused.

    Returns
    -------
    Task
        The kind of prediction, with the reason.

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
            raise ValueError(f"regression needs a target of numbers, found text; {hint}")
        return Task(asked, "as requested")
    seen: set[Any] = set()
    for block in table.targets():
        if block.y is None:
            raise ValueError("the rows have no target; name the column that contains it")
        y = np.asarray(block.y)
        if y.dtype.kind not in "iuf":
            like = text_disguise(y)
            values = set(y.ravel().tolist())
            if like is not None and len(values) > max(MOST_CLASSES, y.size // 2):
                raise ValueError(
                    f"the target is text that looks like {like}; if each of its values is a class, ask for "
                    f"classification"
                )
            if like is not None:
                warnings.warn(
                    f"the target is text that looks like {like}; each value is treated as a class",
                    UserWarning,
                    stacklevel=2,
                )
            return Task("classification", "the target is " + ("truth values" if y.dtype.kind == "b" else "text"))
        if y.dtype.kind == "f" and (y != np.floor(y)).any():
            return Task("regression", "the target has fractions")
        seen.update(np.unique(y).tolist())
        if len(seen) > MOST_CLASSES:
            return Task("regression", f"the target has integers with more than {MOST_CLASSES} different values")
    return Task("classification", f"the target has integers with {len(seen)} different values")


def text_disguise(y: Any) -> str | None:
    """Return what a text target looks like, numbers or dates, and what to do; None if it looks like text."""
    labels = [label for label in dict.fromkeys(y.ravel().tolist()) if isinstance(label, str)]
    return disguise(labels[:LOOKED_AT]) if labels else None


def check_class_weight(task: str, class_weight: ClassWeightArgument) -> None:
    """Raise an error if ``class_weight`` is given for a task without classes."""
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
    unknown: str = "auto",
    dates: str = "auto",
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
    """Return the learner for a task, not fitted.

    Parameters
    ----------
    task : {"classification", "regression"}
        The kind of prediction.
    kernel : Kernel or str, default="auto"
        The kernel; see :class:`mercer.KernelClassifier`.
    map : FeatureMap or str, default="auto"
        "auto", the name of a map, or a map, whose kernel, width and seed override the arguments given here.
    n_components : int or None, default=None
        The number of features; see :class:`mercer.KernelClassifier`.
    scale : str or None, default="auto"
        How columns are scaled; see :class:`mercer.KernelClassifier`.
    missing : {"auto", "error", "mean", "indicator"}, default="auto"
        How missing values are treated; see :class:`mercer.KernelClassifier`.
    unknown : {"auto", "error", "ignore"}, default="auto"
        How levels that ``fit`` has not seen are treated; see :class:`mercer.KernelClassifier`.
    dates : {"auto", "number", "parts"}, default="auto"
        How dates become numbers; see :class:`mercer.KernelClassifier`.
    columns : {"auto", "learned"} or None, default="auto"
        Whether scales of columns are learned; see :class:`mercer.KernelClassifier`.
    loss : str or None, default=None
        A loss of :class:`mercer.KernelClassifier` or of :class:`mercer.KernelRegressor`. None is "squared_hinge" for
        classes and "squared" for numbers.
    C : float, sequence of float or str, default="auto"
        The penalty of a classifier.
    class_weight : dict, "balanced" or None, default=None
        The weights of classes, for classifiers.
    alpha : float, sequence of float or str, default="auto"
        The penalty of a regressor.
    delta : float or None, default=None
        The threshold of the Huber loss of a regressor.
    quantile : float or sequence of float, default=0.5
        The quantiles that a regressor with the quantile loss predicts.
    epsilon : float, default=0.1
        The width of the epsilon-insensitive loss of a regressor.
    deviations : bool, default=False
        Whether a regressor keeps the sums from which standard deviations of predictions follow, 8 D^2 bytes.
    memory : int, str or None, default=None
        The largest amount of memory for features if the loss is minimised iteratively; see
        :class:`mercer.KernelClassifier`.
    random_state : int, Generator, RandomState or None, default=None
        The seed; see :class:`mercer.KernelClassifier`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`mercer.KernelClassifier`.
    device : str or None, default=None
        The GPU to use; see :class:`mercer.KernelClassifier`.

    Returns
    -------
    KernelClassifier or KernelRegressor
        The learner.

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
