"""Checks of a model file before anything is made from it."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..maps.array_layouts import Leaf

MAX_DEPTH = 64
BRACKETS = re.compile(r"[\[\]{}]")
TEXT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
"""A string, terminated or not: otherwise the search would start again at every quotation mark in it."""
MOST = 2**31 - 1
"""Numbers of features and columns must be smaller than this, because indices are 32-bit integers."""


class ModelFileError(ValueError):
    """Raised for a file that is not a model, or that is damaged or forged; the message says where it is wrong."""


def refuse(message: str) -> NoReturn:
    raise ModelFileError(message)


def read_json(text: bytes | str, what: str) -> dict[str, Any]:
    """Return a JSON object of bounded depth, without duplicate names and without NaN."""
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ModelFileError(f"{what} is not UTF-8: {error}") from error
    _check_depth(text, what)
    try:
        found = json.loads(text, object_pairs_hook=_without_twins, parse_constant=_no_constant)
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{what} is not JSON: {error}") from error
    return as_dict(found, what)


def _check_depth(text: str, what: str) -> None:
    depth = 0
    for bracket in BRACKETS.findall(TEXT.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            refuse(f"{what} is nested more than {MAX_DEPTH} deep")


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            refuse(f"the name {name!r:.80} is given twice")
        found[name] = value
    return found


def _no_constant(name: str) -> NoReturn:
    refuse(f"{name} is not JSON")


def as_dict(value: object, what: str) -> dict[str, Any]:
    """Return a value that must be a JSON object."""
    return value if isinstance(value, dict) else refuse(f"{what} must be an object, found {type(value).__name__}")


def as_list(value: object, what: str) -> list[Any]:
    """Return a value that must be a JSON array."""
    return value if isinstance(value, list) else refuse(f"{what} must be a list, found {type(value).__name__}")


def as_text(value: object, what: str) -> str:
    """Return a value that must be a JSON string."""
    return value if isinstance(value, str) else refuse(f"{what} must be text, found {value!r:.60}")


def as_whole(value: object, what: str, least: int = 0, most: int = MOST) -> int:
    """Return a value that must be an integer between bounds, not a truth value."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        refuse(f"{what} must be an integer from {least} to {most}, found {value!r:.60}")
    return value


def check_names(found: dict[str, Any], known: Any, what: str) -> None:
    """Refuse names other than these."""
    for name in found:
        if name not in known:
            refuse(f"{what} has an unknown entry {name!r:.60}")


def check_array(array: NDArray[Any], leaf: Leaf, name: str) -> None:
    """Check type, shape, range and finiteness, in this order."""
    if array.dtype.name not in leaf.dtypes:
        refuse(f"tensor {name!r} must be {' or '.join(leaf.dtypes)}, found {array.dtype.name}")
    fits = len(array.shape) == len(leaf.shape) and all(
        wanted in (None, found) for wanted, found in zip(leaf.shape, array.shape, strict=True)
    )
    if not fits:
        shape = ", ".join("any" if length is None else str(length) for length in leaf.shape)
        refuse(f"tensor {name!r} must have the shape ({shape}), found {array.shape}")
    if array.size == 0:
        return
    if leaf.finite and not np.isfinite(array).all():
        refuse(f"tensor {name!r} has an entry that is not finite")
    if leaf.values is not None and tuple(array.tolist()) != leaf.values:
        refuse(f"tensor {name!r} must be {leaf.values}, found {tuple(array[:8].tolist())}")
    if leaf.finite and (leaf.least > -math.inf or leaf.most < math.inf):
        least, most = array.min(), array.max()
        if least < leaf.least or most > leaf.most:
            refuse(f"tensor {name!r} must have entries from {leaf.least} to {leaf.most}, found {least} to {most}")
    if not leaf.zero and not array.all():
        refuse(f"tensor {name!r} must have entries other than 0")
