"""Fitted models as programs for other runtimes."""

from .errors import NotExportedError
from .models import onnx

__all__ = ["NotExportedError", "onnx"]
