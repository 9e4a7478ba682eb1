"""Model files, one safetensors file without code for every map and learner; and runs that survive interruptions."""

from .._atomic import atomic_write
from .checkpoints import CheckpointError
from .json_values import NotStoredError
from .locks import OutputInUseError
from .model_files import describe, load, save
from .training import train
from .validation import ModelFileError

__all__ = [
    "CheckpointError",
    "ModelFileError",
    "NotStoredError",
    "OutputInUseError",
    "atomic_write",
    "describe",
    "load",
    "save",
    "train",
]
