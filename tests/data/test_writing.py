"""Files that are written block by block."""

from __future__ import annotations

import io
import os

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer import data


def test_a_matrix_in_blocks(tmp_path):
    X = np.random.default_rng(0).normal(size=(1000, 3)).astype(np.float32)
    assert data.write(tmp_path / "X.npy", (X[start : start + 300] for start in range(0, 1000, 300))) == 1000
    found = np.load(tmp_path / "X.npy")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, X)
    data.write(tmp_path / "X.csv", [sp.csr_array(X[:2])])
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "X.csv", dtype=np.float32)[["f0", "f1", "f2"]], X[:2])


def test_what_was_written_is_read_back(tmp_path):
    blocks = [
        {"x": np.array([1.5, 2.5]), "y": np.array(["a", 'b "c", d'])},
        {"x": np.array([3.5]), "y": np.array(["ü"])},
    ]
    for name in ("t.csv", "t.parquet", "t.arrow"):
        assert data.write(tmp_path / name, iter(blocks)) == 3
        table = data.open(tmp_path / name, target="y")
        assert [one for block in table.blocks() for one in block.y.tolist()] == ["a", 'b "c", d', "ü"]
        assert [one for block in table.blocks() for one in block.X.ravel().tolist()] == [1.5, 2.5, 3.5]


def test_nothing_is_left_after_an_error(tmp_path):
    def torn():
        yield {"x": np.ones(2)}
        raise ValueError("torn")

    (tmp_path / "t.csv").write_text("old")
    with pytest.raises(ValueError, match="torn"):
        data.write(tmp_path / "t.csv", torn())
    assert (tmp_path / "t.csv").read_text() == "old"
    assert os.listdir(tmp_path) == ["t.csv"]


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(
        ValueError, match=r"cannot tell the format to write from the name .*t\.xls: end it in \.csv, \.parquet"
    ):
        data.write(tmp_path / "t.xls", [np.ones((1, 1))])
    with pytest.raises(ValueError, match="there are no rows to write"):
        data.write(tmp_path / "t.csv", [])
    with pytest.raises(ValueError, match="there are no rows to write"):
        data.write(tmp_path / "t.npy", [])
    with pytest.raises(ValueError, match="holds one matrix, found columns with names"):
        data.write(tmp_path / "t.npy", [{"x": np.ones(1)}])
    with pytest.raises(ValueError, match="format must be one of"):
        data.write(io.BytesIO(), [np.ones((1, 1))])
    with os.fdopen(os.pipe()[1], "wb") as pipe, pytest.raises(ValueError, match="cannot be written to a pipe"):
        data.write(pipe, [np.ones((1, 1))], format="npy")


def test_an_array_of_text_is_labels():
    labels = np.array(["a", "b", "a"])
    assert np.concatenate([block.y for block in data.open(np.eye(3), target=labels).blocks()]).tolist() == [
        "a",
        "b",
        "a",
    ]
