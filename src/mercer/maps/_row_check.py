"""The entries of rows are looked at tile by tile, when a tile is mapped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn import get_config

from .._array import Array, first_overflow, has_kernels

Check = Callable[[Array], None]


def row_check(X: Array, check_rows: Check, check_all: Callable[[], Any]) -> Check:
    """What asks whether a tile of X is finite and passes ``check_rows``.

    The tile is then read from memory once, and threads share the work. Where it fails, ``check_all`` is to look at all
    rows and raise an error that counts them from the first one.
    """
    finite = not get_config()["assume_finite"]  # here, as other threads do not see what is configured around this one
    if not has_kernels(X):  # checked already, but for the domain: a device is better asked once
        check_rows(X)
        return lambda tile: None

    def is_fine(tile: Array) -> bool:
        try:
            check_rows(tile)
        except ValueError:
            return False
        return not finite or first_overflow(tile) is None

    def check(tile: Array) -> None:
        if not is_fine(tile):
            check_all()

    return check
