"""Rows are recognised by fingerprints, wherever they are stored."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer import data
from mercer.data.block import Block
from mercer.learn.training_rows.origin import row_prints


def frame():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    X[3, 1], X[4, 0], X[5, 0] = np.nan, -0.0, 1e300
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": np.arange(30)})


@pytest.mark.parametrize("levelled", [False, True])
def test_rows_have_the_same_prints_in_files_and_in_memory(tmp_path, levelled):
    rows = frame()
    if levelled:
        rows["town"] = np.where(rows["y"] % 2, "Oslo", "Rome")
        rows.loc[7, "town"] = None
        rows["day"] = pd.date_range("2024-01-01", periods=30)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows.to_parquet(tmp_path / "rows.parquet")
    rows.astype({"a": np.float64, "b": np.float32, "y": np.float32}).to_parquet(tmp_path / "single.parquet")
    given = (rows, *(tmp_path / name for name in ("rows.csv", "rows.parquet", "single.parquet")))
    first, *others = [row_prints(data.open(one, target="y").head()) for one in given]
    assert len(set(first)) == 30
    assert all(set(map(len, one)) == {8} and one == first for one in (first, *others))
    if not levelled:
        table = data.open(rows.to_numpy(), target=2)
        assert row_prints(table.head()) == first
        assert row_prints(data.open(rows, target="y").framed().head()) == first


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_prints_depend_on_every_entry_and_the_target(form):
    X = np.random.default_rng(0).normal(size=(10, 3)) * [1, 0, 1]
    y = np.arange(10.0)
    first = row_prints(Block(form(X), y, None))
    other = X.copy()
    other[2, 2] += 1e-3
    other[4, 1], other[4, 2] = other[4, 2], 0.0
    found = row_prints(Block(form(other), np.where(y == 7, 8, y), None))
    assert [row for row in range(10) if first[row] != found[row]] == [2, 4, 7]
    assert first != row_prints(Block(form(X), None, None))


def test_signs_of_zero_and_nan_do_not_matter():
    X = np.array([[np.nan, 0.0], [-np.nan, -0.0]])
    assert len(set(row_prints(Block(X, None, None)))) == 1


def test_zeros_that_are_stored_are_zeros():
    X = sp.csr_array(np.array([[1.0, 0.0, 2.0]]))
    stored = sp.csr_array(([2.0, 0.0, 1.0], [2, 1, 0], [0, 3]), shape=(1, 3))
    assert row_prints(Block(X, None, None)) == row_prints(Block(stored, None, None))


def test_levels_are_distinguished_from_each_other_and_from_missing_values():
    towns = pd.DataFrame({"town": ["1", "2", None, "None"], "flag": [True, True, True, False]})
    assert len(set(row_prints(data.open(towns).head()))) == 4
