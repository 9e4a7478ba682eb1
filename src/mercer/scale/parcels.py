"""Functions on their way to workers: as bytes, in which a map is its seed rather than its parameters.

An object that can be recreated in a shorter way has a method ``for_parts``, which returns a function and its arguments,
as ``__reduce__`` does, or None if there is no shorter way.
"""

from __future__ import annotations

import io
import pickle
import threading
from collections import OrderedDict
from hashlib import blake2b
from typing import Any

import cloudpickle

KEPT = 8
"""Functions that a process keeps opened: solvers come back to the same ones."""


class Packer(cloudpickle.Pickler):
    """Writes objects in the shortest way that they know."""

    def reducer_override(self, obj: Any) -> Any:
        """Return how to recreate an object."""
        shorter = getattr(type(obj), "for_parts", None)
        found = None if shorter is None else shorter(obj)
        return super().reducer_override(obj) if found is None else found


def packed(function: Any) -> bytes:
    """Return a function, with all that it holds, as bytes."""
    file = io.BytesIO()
    Packer(file, protocol=pickle.HIGHEST_PROTOCOL).dump(function)
    return file.getvalue()


def unpacked(parcel: bytes) -> Any:
    """Return what was packed as these bytes."""
    return pickle.loads(parcel)


class Opened:
    """The functions that this process has opened last, so that each is opened once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[bytes, Any] = OrderedDict()

    def __call__(self, parcel: bytes) -> Any:
        key = blake2b(parcel, digest_size=16).digest()
        with self._lock:  # two threads would else draw the same map
            if key not in self._held:
                self._held[key] = pickle.loads(parcel)
                while len(self._held) > KEPT:
                    self._held.popitem(last=False)
            self._held.move_to_end(key)
            return self._held[key]


opened = Opened()
"""The function that was packed as these bytes."""
