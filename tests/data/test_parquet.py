"""Rows from Parquet files, end to end: the same models as from memory, to the bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mercer import KernelClassifier, KernelRegressor, RandomFourier, data
from mercer.kernels import Gaussian
from mercer.learn import KernelCCA, KernelKMeans, KernelPCA


def people(n=9000, seed=0):
    rng = np.random.default_rng(seed)
    age, height = rng.uniform(20, 60, size=n), rng.normal(170, 10, size=n)
    town = rng.choice(["Oslo", "Rome", "Kyiv"], size=n)
    y = np.where((town == "Oslo") ^ (age > 40), "yes", "no")
    return pd.DataFrame({"age": age, "town": town, "height": height, "y": y})


def numbers(n=9000, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(dtype)
    return X, np.sin(X[:, 0]) + X[:, 1]


def write(frame, folder, cuts, **options):
    """A file for each part between cuts, with small row groups."""
    for number, part in enumerate(np.split(np.arange(len(frame)), cuts)):
        table = pa.Table.from_pandas(frame.iloc[part], preserve_index=False)
        pq.write_table(table, folder / f"part-{number:02}.parquet", row_group_size=700, **options)
    return str(folder / "*.parquet")


def as_frame(X, **columns):
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(**columns)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_model_from_files_has_the_bits_of_one_from_memory(tmp_path, dtype):
    X, y = numbers(dtype=dtype)
    pattern = write(as_frame(X, y=y), tmp_path, [1, 3000, 7001])
    given = {"n_components": 32, "scale": "standard", "alpha": "loo", "random_state": 0}
    whole = KernelRegressor(**({"kernel": None, "alpha": 1.0, "preparation": None} | given)).fit(X, y)
    for memory in (None, "1GB", 100):
        table = data.open(pattern, target="y", memory=memory)
        assert table.n_rows == 9000
        model = KernelRegressor(**({"kernel": None, "alpha": 1.0, "preparation": None} | given)).fit(table)
        np.testing.assert_array_equal(model.coef_, whole.coef_)
        assert model.predict(table).dtype == np.float64
        np.testing.assert_array_equal(model.predict(table), whole.predict(X))
        assert list(model.feature_names_in_) == ["x0", "x1", "x2", "x3"]
        assert model.score(table) == pytest.approx(whole.score(X, y), rel=1e-6)


def test_levels_and_labels_from_files(tmp_path):
    frame = people()
    X = frame.drop(columns="y")
    given = {"n_components": 64, "scale": "standard", "loss": "logistic", "random_state": 0}
    whole = KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | given)).fit(X, frame["y"])
    table = data.open(write(frame, tmp_path, [4000]), target="y")
    model = KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | given)).fit(table)
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.predict(table), whole.predict(X))
    np.testing.assert_array_equal(model.predict_proba(table), whole.predict_proba(X))
    np.testing.assert_array_equal(np.concatenate(list(model.predict_blocks(table))), whole.predict(X))
    blocks = list(model.predict_blocks(table, method="decision_function"))
    assert [len(block) for block in blocks] == [4096, 4096, 808]
    np.testing.assert_array_equal(np.concatenate(blocks), whole.decision_function(X))
    assert model.score(table) == whole.score(X, frame["y"])


def test_a_label_that_comes_late(tmp_path):
    X, _ = numbers(6000)
    y = np.where(np.arange(6000) < 5900, np.arange(6000) % 2, 7)
    table = data.open(write(as_frame(X, y=y), tmp_path, [5900]), target="y")
    model = KernelClassifier(n_components=16, loss="squared", random_state=0, kernel=None, C=1.0, preparation=None).fit(
        table
    )
    assert model.classes_.tolist() == [0, 1, 7]
    assert model.classes_.dtype == np.int64


def test_maps_and_other_learners(tmp_path):
    X, y = numbers(5000)
    table = data.open(write(as_frame(X, y=y), tmp_path, [10]), target="y")
    for make in (
        lambda: RandomFourier(Gaussian("scale"), n_components=16, random_state=0),
        lambda: KernelPCA(n_components=16, random_state=0),
        lambda: KernelKMeans(n_components=16, n_clusters=3, random_state=0),
    ):
        np.testing.assert_array_equal(make().fit(table).transform(table), make().fit(X).transform(X))
    fitted = RandomFourier(Gaussian("median"), n_components=16, random_state=0).fit(table)
    np.testing.assert_array_equal(np.vstack(list(fitted.transform_blocks(table))), fitted.transform(as_frame(X)))
    views = [KernelCCA(n_components=8, n_components_y=8, random_state=0).fit(*rows) for rows in ((table,), (X, y))]
    np.testing.assert_array_equal(views[0].correlations_, views[1].correlations_)


def test_weights_and_several_targets(tmp_path):
    X, y = numbers(5000)
    weight = np.random.default_rng(1).integers(0, 3, size=5000).astype(float)
    frame = as_frame(X, first=y, second=-2 * y, count=weight)
    table = data.open(write(frame, tmp_path, [3000]), target=["first", "second"], weight="count")
    given = {"n_components": 16, "random_state": 0}
    whole = KernelRegressor(**({"kernel": None, "alpha": 1.0, "preparation": None} | given)).fit(
        X, np.stack([y, -2 * y], axis=1), weight
    )
    np.testing.assert_array_equal(
        KernelRegressor(**({"kernel": None, "alpha": 1.0, "preparation": None} | given)).fit(table).coef_, whole.coef_
    )
    assert table.n_rows == np.count_nonzero(weight)
    assert (
        whole.predict(X).shape
        == KernelRegressor(**({"kernel": None, "alpha": 1.0, "preparation": None} | given))
        .fit(table)
        .predict(table)
        .shape
    )


def test_only_the_columns_that_are_needed_are_read(tmp_path, monkeypatch):
    X, y = numbers(500)
    table = data.open(write(as_frame(X, y=y), tmp_path, []), target="y", columns=["x2", "x0"])
    asked = []
    original = pq.ParquetFile.iter_batches
    monkeypatch.setattr(
        pq.ParquetFile,
        "iter_batches",
        lambda self, *given, columns, **rest: asked.append(columns) or original(self, *given, columns=columns, **rest),
    )
    np.testing.assert_array_equal(next(table.blocks()).X, X[:, [2, 0]])
    assert asked == [["x2", "x0", "y"]]
    list(table.targets())
    assert asked[1] == ["y"]


@pytest.mark.parametrize("drop", [False, True])
def test_a_pass_may_begin_at_any_block(tmp_path, drop, monkeypatch):
    X, y = numbers(20_000)
    X[5::7, 1] = np.nan
    table = data.open(write(as_frame(X, y=y), tmp_path, [3000, 3001, 15_000]), target="y", drop=drop)
    blocks = list(table.blocks())
    read = []
    original = pq.ParquetFile.iter_batches
    monkeypatch.setattr(
        pq.ParquetFile,
        "iter_batches",
        lambda self, *given, row_groups, **rest: (
            read.extend(row_groups) or original(self, *given, row_groups=row_groups, **rest)
        ),
    )
    for fresh in (False, True):
        again = data.open(str(tmp_path / "*.parquet"), target="y", drop=drop) if fresh else table
        for start in range(len(blocks) + 1):
            rest = list(again.blocks(start))
            assert len(rest) == len(blocks) - start
            for block, expected in zip(rest, blocks[start:], strict=True):
                np.testing.assert_array_equal(block.X, expected.X)
                np.testing.assert_array_equal(block.y, expected.y)
    read.clear()
    list(table.blocks(len(blocks) - 1))
    assert len(read) < 10  # of 29 row groups


def test_a_pass_holds_few_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.data.sources.NUMBERS_AT_ONCE", 1 << 14)
    X, y = numbers(100_000)
    table = data.open(write(as_frame(X, y=y), tmp_path, [], compression="none", use_dictionary=False), target="y")
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in table.blocks()]
    assert max(held) < 0.3 * X.nbytes


def test_frames_and_tables_in_memory():
    frame = people(5000)
    pl = pytest.importorskip("polars")
    expected = None
    for given in (frame, pl.DataFrame(dict(frame)), pa.Table.from_pandas(frame)):
        table = data.open(given, target="y")
        model = KernelClassifier(
            n_components=16, loss="squared", random_state=0, kernel=None, C=1.0, preparation=None
        ).fit(table)
        expected = model.coef_ if expected is None else expected
        np.testing.assert_array_equal(model.coef_, expected)
    arrow = pa.Table.from_pandas(frame.drop(columns="y"))
    direct = KernelClassifier(
        n_components=16, loss="squared", random_state=0, kernel=None, C=1.0, preparation=None
    ).fit(arrow, frame["y"])
    np.testing.assert_array_equal(direct.coef_, expected)
