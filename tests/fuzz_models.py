"""Feed changed model files to the loader, which must either refuse them or load a model that can be used.

    python tests/fuzz_models.py --seconds 60 --seed 0

Golden models are changed at random: bytes, entries of the description, entries of arrays, all with the right hash. A
file is read, and where that succeeds the model is used. Any other error, a long time or the end of the process is a
failure; its file is kept, and its name is printed.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

import mercer
from mercer.learn.machine import KernelMachine
from mercer.maps import FeatureMap
from mercer.persist import ModelFileError
from mercer.persist.pipeline_records import leaves
from tests.persist.hostile import Parts

GOLDEN = Path(__file__).parent / "golden" / "models"
LONGEST = 20
"""Seconds that one file may take."""
MEMORY = 8 * 2**30
DRAWN = 2**26
"""Bytes that a seed may draw."""
WIDEST = 100_000
NUMBERS = (-1, 0, 1, 2, 3, 7, 255, 256, 2**15, 2**20, 2**31 - 1, 2**31, 2**32, 2**62, 2**63, 2**64, 10**30)
VALUES = (*NUMBERS, None, True, False, 0.5, -0.0, 1e308, "", "inf", "nan", "Linear()", "..", "auto", [], {}, [[]])
KINDS = ("float", "list", "tuple", "dict", "kernel", "map", "array", "type", "dtype", "slice")


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every place in a tree of JSON, as its container and its name or index there."""
    names = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    found = [(value, name) for name in names]
    return found + [place for name in names for place in places(value[name])]


def change_json(rng: random.Random, tree: Any, others: list[Any]) -> None:
    """One entry becomes another value, one from elsewhere, a neighbour of itself, or none."""
    holder, name = rng.choice(places(tree))
    old, kind = holder[name], rng.randrange(6)
    if kind == 0:
        holder.pop(name)
    elif kind == 1:
        holder[name] = {rng.choice(KINDS): rng.choice(VALUES)}
    elif kind == 2:
        from_holder, from_name = rng.choice(places(rng.choice(others)))
        holder[name] = json.loads(json.dumps(from_holder[from_name]))
    elif kind == 3 and isinstance(old, int | float):
        holder[name] = rng.choice((old + 1, old - 1, -old, 2 * old, old / 2, float(old)))
    elif kind == 4 and isinstance(old, str) and old:
        place = rng.randrange(len(old))
        holder[name] = old[:place] + rng.choice("0123456789-.(){}[]*+'\"\\\0aé") + old[place + rng.randrange(2) :]
    else:
        holder[name] = rng.choice(VALUES)


def change_array(rng: random.Random, parts: Parts) -> None:
    """One entry of an array, its shape or its type."""
    name = rng.choice(sorted(parts.entries))
    array = parts.array(name).copy()
    if array.size and rng.random() < 0.7:
        if array.dtype.kind == "f":
            extremes: tuple[Any, ...] = (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, -1.0)
        else:
            limits = np.iinfo(array.dtype)
            extremes = (limits.min, limits.max, -1, 0, 1, 2, 3, 4, 8, 16, min(limits.max, 255))
        array.flat[rng.randrange(array.size)] = rng.choice(extremes)
    elif rng.random() < 0.5:
        array = np.atleast_1d(array)
        array = rng.choice((array[:-1], np.concatenate([array, array]), array.ravel(), array[None][:1], array.T.copy()))
    else:
        with np.errstate(all="ignore"):
            array = np.nan_to_num(array).astype(rng.choice(("<f8", "<f4", "<i8", "<i4", "|i1")))
    parts.put(name, np.asarray(array, order="C"))


def change_bytes(rng: random.Random, data: bytearray) -> bytes:
    """A few bytes, cut, doubled or flipped."""
    for _ in range(rng.randrange(1, 4)):
        place, length = rng.randrange(len(data) + 1), rng.choice((1, 1, 2, 8, 64))
        kind = rng.randrange(4)
        if kind == 0:
            del data[place : place + length]
        elif kind == 1:
            data[place:place] = data[place : place + length]
        elif kind == 2:
            data[place : place + length] = rng.randbytes(length)
        elif data[place : place + 1]:
            data[place] ^= 1 << rng.randrange(8)
    return bytes(data)


def changed(rng: random.Random, models: list[bytes]) -> bytes:
    """Return a file that is nearly a model."""
    data = rng.choice(models)
    if rng.random() < 0.2:
        return change_bytes(rng, bytearray(data))
    parts = Parts(data)
    others = [Parts(rng.choice(models)).held]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        kind = rng.random()
        if kind < 0.6:
            change_json(rng, parts.held, others)
        elif kind < 0.9:
            if parts.entries:
                change_array(rng, parts)
        else:
            change_json(rng, parts.entries or {"": 0}, others)
            break  # arrays may no longer be where the header says
    return parts.bytes()


def use(model: Any) -> None:
    """Map a few rows, which may only fail with a message, whatever the model is."""
    if isinstance(model, Pipeline | ColumnTransformer):
        return use_pipeline(model)
    map = getattr(model, "map_", model) if hasattr(model, "preparation_") else model
    if map.n_features_in_ > WIDEST or map.n_components_ > WIDEST:
        return
    X = np.random.default_rng(0).uniform(0.1, 0.3, size=(3, map.n_features_in_))
    try:
        map.transform(X)
        if map is not model and model.preparation_.columns is None:
            (model.predict if hasattr(model, "predict") else model.transform)(X)
    except (ValueError, TypeError, MemoryError, OverflowError):
        pass


def use_pipeline(model: Any) -> None:
    """Give every step a few rows of the width that it asks for."""
    for part in leaves(model):
        width, wide = getattr(part, "n_features_in_", 1), getattr(part, "n_output_features_", 1)
        if isinstance(part, FeatureMap | KernelMachine):
            use(part)
        elif width <= WIDEST and wide <= WIDEST:
            X = np.random.default_rng(0).uniform(0.1, 0.3, size=(3, width))
            with suppress(ValueError, TypeError, MemoryError, OverflowError):
                (part.predict if hasattr(part, "predict") else part.transform)(X)


def try_file(path: Path) -> str:
    """Return what happened with a file: "refused", "read", or a description of the failure."""
    signal.alarm(LONGEST)
    try:
        model = mercer.load(path, memory=DRAWN)
        use(model)
        return "read"
    except (ModelFileError, MemoryError):
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


def too_long(*_: Any) -> None:
    raise RuntimeError(f"took longer than {LONGEST} s")


def work(seconds: float, seed: int, folder: Path) -> int:
    """Change and read files for this time; the last one stays in the folder in case this process dies."""
    faulthandler.enable()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, too_long)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    rng, models = random.Random(seed), [path.read_bytes() for path in sorted(GOLDEN.glob("*.safetensors"))]
    counts, failures, end = {"refused": 0, "read": 0}, 0, time.monotonic() + seconds
    path = folder / "last"
    while time.monotonic() < end:
        path.write_bytes(changed(rng, models))
        outcome = try_file(path)
        if outcome in counts:
            counts[outcome] += 1
            continue
        failures += 1
        kept = folder / f"failure-{seed}-{sum(counts.values()) + failures}"
        path.rename(kept)
        print(f"{kept}: {outcome}", flush=True)
    print(f"{counts['refused']} files refused, {counts['read']} read, {failures} failures", flush=True)
    return int(failures > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.folder is not None:
        return work(arguments.seconds, arguments.seed, arguments.folder)
    folder = Path(tempfile.mkdtemp(prefix="fuzz-models-"))
    command = [sys.executable, __file__, "--seconds", str(arguments.seconds), "--seed", str(arguments.seed)]
    status = subprocess.run([*command, "--folder", str(folder)], check=False).returncode
    if status < 0:
        print(f"the reader died of signal {-status} on {folder / 'last'}")
    elif status == 0:
        (folder / "last").unlink()
        folder.rmdir()
    return int(status != 0)


if __name__ == "__main__":
    sys.exit(main())
