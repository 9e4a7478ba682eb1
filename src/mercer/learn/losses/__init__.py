"""Losses of classifiers, one file each."""

from .base import Bend, Loss, TaskLoss, Values, signs_of
from .logistic import Logistic
from .side_by_side import SideBySide
from .softmax import Softmax
from .squared_hinge import SquaredHinge

__all__ = [
    "Bend",
    "Logistic",
    "Loss",
    "SideBySide",
    "Softmax",
    "SquaredHinge",
    "TaskLoss",
    "Values",
    "loss_named",
    "signs_of",
]


def loss_named(name: str, n_classes: int) -> type[TaskLoss]:
    """The loss of this name for so many classes."""
    if name == "squared_hinge":
        return SquaredHinge
    return Logistic if n_classes == 2 else Softmax
