"""Golden parameter files: a seed always draws the same map, on every machine."""

import hashlib
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from ..tables import ROWS, obeying

FOLDER = Path(__file__).parent.parent / "golden"
SEED = 2013


def leaves(tree, path=""):
    """The arrays of a tree of parameters with their names."""
    if isinstance(tree, tuple):
        names = tree._fields if hasattr(tree, "_fields") else range(len(tree))
        for name, part in zip(names, tree, strict=True):
            yield from leaves(part, f"{path}/{name}")
    else:
        yield path, tree


def record(row):
    """The content of a golden file: integers as a digest, floats in full."""
    sketch = row(12, random_state=SEED).fit(row.sample())
    recorded = {}
    for path, array in leaves(sketch.parameters_):
        entry = {"shape": list(array.shape), "dtype": str(array.dtype)}
        if np.issubdtype(array.dtype, np.integer):
            little = array.astype(array.dtype.newbyteorder("<"))
            entry["sha256"] = hashlib.sha256(np.ascontiguousarray(little).tobytes()).hexdigest()
            entry["start"] = array.ravel()[:8].tolist()
        else:
            entry["values"] = array.ravel().tolist()
        recorded[path] = entry
    return recorded


def file_of(row):
    """The golden file of a row, named after map, kernel and options in characters that any file system accepts."""
    words = row.id.replace(".of_distance(", " of-distance ").replace(".of(", " of ").replace("*", " times ")
    return FOLDER / ("-".join(re.findall(r"[\w.-]+", words.replace("+", " plus "))) + ".json")


@pytest.mark.parametrize("row", obeying())
def test_the_parameters_are_the_golden_ones(row):
    found = record(row)
    if os.environ.get("MERCER_WRITE_GOLDEN"):
        FOLDER.mkdir(exist_ok=True)
        file_of(row).write_text(json.dumps({"map": row.id, "seed": SEED, "parameters": found}, indent=1) + "\n")
    golden = json.loads(file_of(row).read_text())
    assert golden["map"] == row.id
    assert golden["parameters"].keys() == found.keys()
    for path, expected in golden["parameters"].items():
        values, others = expected.pop("values", None), found[path].pop("values", None)
        assert found[path] == expected, path
        if values is not None:
            np.testing.assert_allclose(others, values, rtol=1e-12, atol=1e-14, err_msg=path)


def test_every_golden_file_belongs_to_one_row():
    assert len({file_of(row) for row in ROWS}) == len(ROWS)
    assert {path.name for path in FOLDER.glob("*.json")} == {file_of(row).name for row in ROWS}


@pytest.mark.parametrize("row", obeying())
def test_parameters_have_the_promised_types(row):
    sketch = row(12, random_state=SEED).fit(row.sample())
    for path, array in leaves(sketch.parameters_):
        assert isinstance(array, np.ndarray), path
        assert array.dtype in (np.int8, np.int32, np.int64, np.float64), path
