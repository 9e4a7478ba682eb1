"""Checks of arguments, each with one message that says what was expected and what was found."""

from __future__ import annotations

import math
import numbers
from typing import TypeGuard

import numpy as np


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether the value is an integer and not a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_whole(name: str, value: object, least: int = 1, alternatives: str = "") -> None:
    """Check that an argument is an integer of at least ``least``."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}{alternatives}, found {value!r}")


def is_number(value: object) -> TypeGuard[float]:
    """Return whether the value is a real number and not a bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_positive(name: str, value: object, alternatives: str = "") -> None:
    """Check that an argument is a positive finite number."""
    if not is_number(value) or not 0 < float(value) < math.inf:
        raise ValueError(f"{name} must be a positive finite number{alternatives}, found {value!r}")


def check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    """Check that an argument is one of a few values."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise ValueError(f"{name} must be one of {choices}, found {value!r}")


def check_fraction(name: str, value: object) -> None:
    """Check that an argument is a fraction in [0, 1)."""
    if not is_number(value) or not 0.0 <= float(value) < 1.0:
        raise ValueError(f"{name} must be a number of at least 0 and below 1, found {value!r}")


def check_share(name: str, value: object) -> None:
    """Check that an argument is a share of a whole, in (0, 1]."""
    if not is_number(value) or not 0.0 < float(value) <= 1.0:
        raise ValueError(f"{name} must be a number above 0 and at most 1, found {value!r}")


def check_probability(name: str, value: object) -> None:
    """Check that an argument is a probability in (0, 1)."""
    if not isinstance(value, numbers.Real) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"{name} must be a probability above 0 and below 1, found {value!r}")


def check_truth(name: str, value: object) -> None:
    """Check that an argument is a bool."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, found {value!r}")


def check_jobs(n_jobs: object) -> None:
    """Check that ``n_jobs`` is None or a nonzero integer."""
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, found {n_jobs!r}")
