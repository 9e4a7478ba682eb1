"""Model files taken apart, changed and put together again."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from mercer.persist.safetensors import DTYPES


class Parts:
    """The header, the description of the model and the bytes of the arrays, all of which can be changed."""

    def __init__(self, data: bytes):
        length = int.from_bytes(data[:8], "little")
        self.entries = json.loads(data[8 : 8 + length])
        self.held = json.loads(self.entries.pop("__metadata__")["mercer"])
        self.payload = bytearray(data[8 + length :])
        self.rehash = True

    def array(self, name: str) -> np.ndarray:
        """An array that can be written to."""
        entry = self.entries[name]
        start, stop = entry["data_offsets"]
        view = np.frombuffer(memoryview(self.payload)[start:stop], dtype=DTYPES[entry["dtype"]])
        return view.reshape(entry["shape"])

    def put(self, name: str, array: np.ndarray) -> None:
        """Another array in the place of one, or one more."""
        arrays = {other: self.array(other).copy() for other in self.entries} | {name: array}
        self.entries, self.payload = {}, bytearray()
        codes = {np.dtype(code): key for key, code in DTYPES.items()}
        for other, held in arrays.items():
            start = len(self.payload)
            self.payload += held.tobytes()
            self.entries[other] = {
                "dtype": codes[held.dtype],
                "shape": list(held.shape),
                "data_offsets": [start, len(self.payload)],
            }

    def bytes(self) -> bytes:
        """The file, with the right hash unless that was changed on purpose."""
        if self.rehash:
            self.held["sha256"] = hashlib.sha256(self.payload).hexdigest()
        entries = {"__metadata__": {"mercer": json.dumps(self.held)}} | self.entries
        return framed(json.dumps(entries).encode()) + bytes(self.payload)


def framed(header: bytes) -> bytes:
    """A header after its length."""
    return len(header).to_bytes(8, "little") + header
