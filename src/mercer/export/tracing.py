"""The start of a trace: a graph, with the functions and operations for the symbols in it."""

from __future__ import annotations

from . import namespace
from .operations import RECORDED
from .symbol import Tracing


def new_tracing() -> Tracing:
    """Return an empty graph, whose symbols have the array namespace and the operations of this package."""
    return Tracing(namespace, RECORDED)
