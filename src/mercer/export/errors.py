"""What is said of models that other runtimes cannot run."""

from __future__ import annotations


class NotExportedError(ValueError):
    """Raised for a model that has no counterpart in standard operators; the message says which part has none."""
