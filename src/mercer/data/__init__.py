"""Where rows come from."""

from .arrays import ArrayRows, as_rows, is_rows

__all__ = ["ArrayRows", "as_rows", "is_rows"]
