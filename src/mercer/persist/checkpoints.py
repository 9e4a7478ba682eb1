"""Checkpoints: the results of a run so far, in two generations of a safetensors file."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import warnings
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._atomic import atomic_write
from .._random import SEED_BITS
from ..learn.passes.checkpoint_state import Arrays, PartialPass
from .safetensors import Header, array_bytes, array_of, header_bytes, in_order, is_fortran, read_header
from .validation import ModelFileError, as_dict, as_list, as_text, as_whole, check_names, read_json, refuse

FORMAT = 1
KEY = "mercer-checkpoint"
ENTRIES = ("format", "identity", "seeds", "found", "begun", "arrays", "fortran")
MOST_ROWS = 2**62
BEGINNING = f'{{"__metadata__":{{"{KEY}":'.encode()
"""The first bytes of a checkpoint, after the length of its header."""
MOST_DAMAGED = 4
"""The number of first bytes that damage may have changed; those of a model file differ in more."""


class CheckpointError(ValueError):
    """Raised if a run cannot continue from a checkpoint; the message says why."""


class Checkpoint(NamedTuple):
    """The state of a run: its identity, the seeds that it drew, the results of passes, and the pass under way."""

    identity: dict[str, Any]
    seeds: list[int]
    found: dict[str, Arrays]
    begun: PartialPass | None


class Checkpoints:
    """The last checkpoint of a run, and the previous one."""

    def __init__(self, path: Path):
        self.path = path
        self.previous = path.with_name(f"{path.name}.previous")
        self._is_whole = True
        """Whether the file at ``path`` may replace the previous one."""

    def write(self, checkpoint: Checkpoint) -> None:
        """Write another checkpoint; the last one becomes the previous one as soon as this one is on disk."""
        text, arrays = _described(checkpoint)
        names = in_order(arrays)
        sha = _sha(text, (arrays[name] for name in names))
        with atomic_write(self.path) as file:
            file.write(header_bytes(arrays, {KEY: text, "sha256": sha}))
            for name in names:
                file.write(array_bytes(arrays[name]))
            file.flush()
            os.fsync(file.fileno())
            if self._is_whole and self.path.exists():
                os.replace(self.path, self.previous)
        self._is_whole = True

    def read(self) -> Checkpoint | None:
        """Return the last checkpoint; the previous one, with a warning, if it is damaged; None if there is none."""
        damaged = []
        for path in (self.path, self.previous):
            try:
                found = read_checkpoint(path)
            except FileNotFoundError:
                continue
            except ModelFileError as error:
                damaged.append(f"{str(path)!r} is damaged: {error}")
                self._is_whole = False
                continue
            if damaged:
                warnings.warn(f"{damaged[0]}; the run continues from the previous one", UserWarning, stacklevel=3)
            return found
        if damaged:
            raise CheckpointError(f"{'; '.join(damaged)}; no checkpoint can be read, train with resume=False")
        return None

    def check_ours(self) -> None:
        """Refuse files of these names that are not checkpoints, since they would be overwritten and removed."""
        for path in (self.path, self.previous):
            if os.path.lexists(path) and not _is_ours(path):
                raise FileExistsError(
                    f"{str(path)!r} exists and is not a checkpoint of mercer; move it, or give another checkpoint"
                )

    def remove(self) -> None:
        """Remove both files."""
        for path in (self.path, self.previous):
            with suppress(FileNotFoundError):
                path.unlink()


def _is_ours(path: Path) -> bool:
    """Return whether a file starts like a checkpoint, except for a few damaged bytes; an empty file counts as one."""
    if not stat.S_ISREG(path.lstat().st_mode):
        return False
    with open(path, "rb") as file:
        first = file.read(8 + len(BEGINNING))
    same = sum(ours == theirs for ours, theirs in zip(BEGINNING, first[8:], strict=False))
    return not first or same >= len(BEGINNING) - MOST_DAMAGED


# -- one file ----------------------------------------------------------------------------------------------------------


def _described(checkpoint: Checkpoint) -> tuple[str, dict[str, NDArray[Any]]]:
    """Return everything except the arrays as JSON, and the arrays by name."""
    begun = checkpoint.begun
    groups = [*checkpoint.found.values(), () if begun is None else tuple(begun.sums)]
    arrays = {f"{group}.{place}": array for group, held in enumerate(groups) for place, array in enumerate(held)}
    held = {
        "format": FORMAT,
        "identity": checkpoint.identity,
        "seeds": checkpoint.seeds,
        "found": [[what, len(held)] for what, held in checkpoint.found.items()],
        "begun": None if begun is None else [begun.what, begun.rows, len(begun.sums)],
        "arrays": {name: [array.dtype.name, list(array.shape)] for name, array in arrays.items()},
        "fortran": [name for name, array in arrays.items() if is_fortran(array)],
    }
    return json.dumps(held, separators=(",", ":"), sort_keys=True, allow_nan=False), arrays


def _sha(text: str, parts: Iterable[Any]) -> str:
    sha = hashlib.sha256(text.encode())
    for part in parts:
        sha.update(array_bytes(part))
    return sha.hexdigest()


def read_checkpoint(path: Path) -> Checkpoint:
    """Return a checkpoint as it was written, or raise a ModelFileError if a single bit of it has changed."""
    with open(path, "rb") as file:
        header = read_header(file)
        payload = memoryview(file.read())
    text = header.metadata.get(KEY)
    if text is None:
        refuse(f"the file has no metadata {KEY!r}, so it is not a checkpoint")
    sha = hashlib.sha256(text.encode())
    sha.update(payload)
    if sha.hexdigest() != header.metadata.get("sha256"):
        refuse("its content has changed since it was written: its SHA-256 differs")
    held = read_json(text, f"the metadata {KEY!r}")
    if as_whole(held.get("format"), "format", 1) != FORMAT:
        refuse(f"the file has format {held['format']}, and this version reads format {FORMAT}")
    check_names(held, ENTRIES, "the checkpoint")
    try:
        return _checkpoint(held, _arrays(header, held, payload))
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"its parts are inconsistent: {error}") from error


def _arrays(header: Header, held: dict[str, Any], payload: memoryview) -> dict[str, NDArray[Any]]:
    """Return the arrays in the memory layout that they had, on which matrix products depend."""
    arrays = {name: array_of(payload, tensor) for name, tensor in header.tensors.items()}
    if {name: [array.dtype.name, list(array.shape)] for name, array in arrays.items()} != held.get("arrays"):
        refuse("the arrays differ from those that were written")
    for name in as_list(held.get("fortran"), "fortran"):
        arrays[name] = np.asfortranarray(arrays[name])
    return arrays


def _checkpoint(held: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Checkpoint:
    found: dict[str, Arrays] = {}
    for group, entry in enumerate(as_list(held.get("found"), "found")):
        what, count = as_list(entry, "an entry of found")
        found[as_text(what, "the name of a pass")] = tuple(arrays[f"{group}.{place}"] for place in range(count))
    begun = None
    if held.get("begun") is not None:
        what, rows, count = as_list(held["begun"], "begun")
        sums = [arrays[f"{len(found)}.{place}"] for place in range(count)]
        begun = PartialPass(as_text(what, "the pass under way"), as_whole(rows, "its rows", 0, MOST_ROWS), sums)
    seeds = [as_whole(seed, "a seed", 0, 2**SEED_BITS) for seed in as_list(held.get("seeds"), "seeds")]
    return Checkpoint(as_dict(held.get("identity"), "identity"), seeds, found, begun)
