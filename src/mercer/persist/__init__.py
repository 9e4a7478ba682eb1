"""Model files: one flat safetensors file for every map and learner, without code in it."""

from .atomic import atomic_write
from .files import describe, load, save
from .validation import ModelFileError
from .values import NotStoredError

__all__ = ["ModelFileError", "NotStoredError", "atomic_write", "describe", "load", "save"]
