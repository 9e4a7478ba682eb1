"""Losses of classifiers and regressors, one file each."""

from .base import Bend, ClassLoss, Loss, TargetLoss, signs_of
from .epsilon_insensitive import EpsilonInsensitive
from .huber import Huber
from .logistic import Logistic
from .poisson import Poisson
from .quantile import Quantile
from .row_values import Values
from .side_by_side import SideBySide
from .smoothed import SmoothedLoss
from .softmax import Softmax
from .squared import Squared
from .squared_hinge import SquaredHinge
from .squared_signs import SquaredSigns

__all__ = [
    "Bend",
    "ClassLoss",
    "EpsilonInsensitive",
    "Huber",
    "Logistic",
    "Loss",
    "Poisson",
    "Quantile",
    "SideBySide",
    "SmoothedLoss",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "SquaredSigns",
    "TargetLoss",
    "Values",
    "loss_named",
    "signs_of",
]


def loss_named(name: str, n_classes: int) -> type[ClassLoss]:
    """Return the loss with this name for the given number of classes."""
    if name in ("squared_hinge", "squared"):
        return SquaredHinge if name == "squared_hinge" else SquaredSigns
    return Logistic if n_classes == 2 else Softmax
