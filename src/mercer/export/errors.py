"""The error for models that other runtimes cannot run."""

from __future__ import annotations


class NotExportedError(ValueError):
    """Raised for a model that standard operators cannot represent; the message names the part that they cannot."""
