"""The file format: any reader of safetensors reads it, and files of today can always be read."""

from __future__ import annotations

import json
import os
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import mercer
from mercer.persist import describe
from mercer.persist.safetensors import array_bytes, array_of, header_bytes, in_order, read_header

from .models import answers, fitted_learners, fitted_maps, fitted_pipelines, frame, histograms, rows, sparse_rows

GOLDEN = Path(__file__).parent.parent / "golden" / "models"
FROM_SEED = ("structured", "tefm", "regressor-targets")
NEW = {"histograms": histograms, "sparse": sparse_rows, "frame": frame, "rows": rows}


def kind_of(X):
    if isinstance(X, pd.DataFrame):
        return "frame"
    return "sparse" if sp.issparse(X) else "rows"


def new_rows(name, X):
    """Return a few rows that a model has not seen."""
    return (histograms if name == "composed" else NEW[kind_of(X)])(5, seed=1)


def recorded(X):
    """Convert rows to JSON."""
    if isinstance(X, pd.DataFrame):
        return X.to_dict(orient="list")
    return (X.toarray() if sp.issparse(X) else X).tolist()


def restored(kind, held):
    if kind == "frame":
        return pd.DataFrame(held)
    return sp.csr_array(np.array(held)) if kind == "sparse" else np.array(held)


def write_golden():
    """Write the files again, for a new version of the format; the files of older versions are never replaced."""
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name, (model, X) in (fitted_maps() | fitted_learners() | fitted_pipelines()).items():
        if (GOLDEN / f"{name}-1.safetensors").exists():
            continue
        mercer.save(model, GOLDEN / f"{name}-1.safetensors", "seed" if name in FROM_SEED else "full")
        Y = new_rows(name, X)
        expected = {"kind": kind_of(X), "rows": recorded(Y), "answers": answers(model, Y).tolist()}
        (GOLDEN / f"{name}-1.json").write_text(json.dumps(expected) + "\n")


if os.environ.get("MERCER_WRITE_GOLDEN_MODELS"):
    write_golden()


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.safetensors")), ids=lambda path: path.stem)
def test_golden_models_are_read_and_say_the_same(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    model = mercer.load(path)
    X = restored(expected["kind"], expected["rows"])
    np.testing.assert_allclose(answers(model, X), expected["answers"], rtol=1e-12, atol=1e-12)
    assert path.stat().st_size < 20_000
    assert describe(path)["format"] == 1


def test_there_is_a_golden_model_of_every_kind():
    found = {path.stem.removesuffix("-1") for path in GOLDEN.glob("*.safetensors")}
    assert found == {*fitted_maps(), *fitted_learners(), *fitted_pipelines()}


ARRAYS = {
    "b.floats": np.arange(6.0).reshape(2, 3),
    "a.fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "single": np.float32([1.5]),
    "signs": np.int8([[1, -1, 1]]),
    "places": np.arange(5, dtype=np.int32),
    "numbers": np.arange(2, dtype=np.int64),
    "nothing": np.zeros((0, 4)),
}


def file_of(arrays, metadata):
    return header_bytes(arrays, metadata) + b"".join(bytes(array_bytes(arrays[name])) for name in in_order(arrays))


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "arrays"
    path.write_bytes(file_of(ARRAYS, {"note": "é\n"}))
    with open(path, "rb") as file:
        header, payload = read_header(file), memoryview(file.read())
    assert header.metadata == {"note": "é\n"}
    assert (8 + header.length) % 8 == 0
    for name, array in ARRAYS.items():
        found = array_of(payload, header.tensors[name])
        assert found.dtype == array.dtype
        assert found.flags.writeable
        np.testing.assert_array_equal(found, array)


def test_the_safetensors_package_reads_what_is_written(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy", reason="the package safetensors is not there")
    found = safetensors.load(file_of(ARRAYS, {"note": "text"}))
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
    for name, (model, _) in (fitted_maps() | fitted_learners()).items():
        mercer.save(model, tmp_path / name)
        assert safetensors.load_file(tmp_path / name).keys() == describe(tmp_path / name)["tensors"].keys()


def test_what_the_safetensors_package_writes_is_read(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy", reason="the package safetensors is not there")
    path = tmp_path / "arrays"
    plain = {name: np.ascontiguousarray(array) for name, array in ARRAYS.items()}
    safetensors.save_file(plain, path, metadata={"note": "text"})
    with open(path, "rb") as file:
        header, payload = read_header(file), memoryview(file.read())
    assert header.metadata == {"note": "text"}
    for name, array in plain.items():
        np.testing.assert_array_equal(array_of(payload, header.tensors[name]), array)


def test_a_file_of_the_package_with_our_metadata_is_a_model(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy", reason="the package safetensors is not there")
    model, X = fitted_maps()["fourier"]
    mercer.save(model, tmp_path / "ours")
    with open(tmp_path / "ours", "rb") as file:
        metadata = read_header(file).metadata
    safetensors.save_file(safetensors.load_file(tmp_path / "ours"), tmp_path / "theirs", metadata=metadata)
    np.testing.assert_array_equal(mercer.load(tmp_path / "theirs").transform(X), model.transform(X))


def test_a_header_that_is_too_long_is_refused_when_it_is_written(monkeypatch):
    monkeypatch.setattr("mercer.persist.safetensors.MAX_HEADER", 100)
    with pytest.raises(ValueError, match="at most 100"):
        header_bytes(ARRAYS, {"note": "x" * 200})
    assert BytesIO(header_bytes({}, {})).read(8) == (24).to_bytes(8, "little")
