"""Features of tables from any source: random parts and parts by column, fingerprints, rows kept in memory."""

from __future__ import annotations

import os
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

from mercer import KernelClassifier, KernelRegressor, RandomFourier, _core, data
from mercer._random import Stream
from mercer.data.block import concatenated
from mercer.data.sources import SourceError

from .test_parquet import as_frame, numbers, people, write


def whole(table):
    return concatenated(list(table.blocks()))


def test_words_from_the_middle_of_a_stream():
    words = Stream(3, "a").words(50)
    for start in range(9):
        np.testing.assert_array_equal(Stream(3, "a").words(20, start), words[start : start + 20])
        np.testing.assert_array_equal(Stream(3, "a").mirrored().words(20, start), ~words[start : start + 20])


def test_a_split_depends_only_on_row_numbers(tmp_path):
    X, y = numbers(30_000)
    number = np.arange(30_000)
    held = Stream(5, "split", 0).words(30_000) < np.uint64(2**62)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    frame = as_frame(X, y=y, n=number)
    for source in (frame, write(frame, tmp_path / "a", [100, 9000]), write(frame, tmp_path / "b", [25_000])):
        train, test = data.open(source, target="y").split(test=0.25, seed=5)
        for part, mask in ((train, ~held), (test, held)):
            assert part.n_rows == np.count_nonzero(mask)
            np.testing.assert_array_equal(whole(part).X[:, 4], number[mask])
            np.testing.assert_array_equal(whole(part).y, y[mask])
            assert {block.X.shape[0] for block in list(part.blocks())[:-1]} <= {4096}
            fresh = data.open(source, target="y").split(test=0.25, seed=5)[int(mask[np.argmax(held)])]
            np.testing.assert_array_equal(concatenated(list(fresh.blocks(1))).X[:, 4], number[mask][4096:])
    assert abs(held.mean() - 0.25) < 0.01
    assert data.open(str(tmp_path / "b" / "*")).split(seed=5)[0].where(20_100) is not None


def test_splits_of_splits_are_independent():
    X = np.arange(40_000.0).reshape(-1, 2)
    rest, test = data.open(X).split(test=0.5, seed=1)
    train, validation = rest.split(test=0.5, seed=1)
    parts = [whole(part).X[:, 0] for part in (train, validation, test)]
    assert sorted(np.concatenate(parts).tolist()) == X[:, 0].tolist()
    assert [abs(len(part) / 20_000 - share) < 0.02 for part, share in zip(parts, (0.25, 0.25, 0.5), strict=True)]
    for wrong in (0.0, 1.0, "a"):
        with pytest.raises(ValueError, match="test must be a probability above 0 and below 1"):
            data.open(X).split(test=wrong)


def test_a_split_with_dropped_rows_and_weights():
    X, y = numbers(9000)
    X[::5, 0] = np.nan
    weight = (np.arange(9000) % 3 > 0).astype(float)
    held = Stream(0, "split", 0).words(9000) < np.uint64(int(0.2 * 2.0**64))
    train, test = data.open(X, target=y, weight=weight, drop=True).split()
    kept = np.isfinite(X[:, 0]) & (weight > 0)
    np.testing.assert_array_equal(whole(train).X, X[kept & ~held])
    np.testing.assert_array_equal(whole(test).y, y[kept & held])
    assert train.n_rows == np.count_nonzero(kept & ~held)


def test_a_split_by_column(tmp_path):
    frame = people(9000).assign(part=np.arange(9000) % 4)
    table = data.open(write(frame, tmp_path, [3000]), target="y")
    train, test = table.split(test=[1, 3], column="part")
    assert train.names == test.names == ("age", "town", "height")
    odd = frame["part"] % 2 == 1
    np.testing.assert_array_equal(whole(test).X.parts["age"], frame["age"][odd])
    assert train.n_rows == 4500
    model = KernelClassifier(n_components=16, loss="squared", random_state=0, kernel=None, C=1.0, preparation=None).fit(
        train
    )
    assert model.score(test) > 0.5
    assert model.predict(test).shape == (4500,)
    towns = table.split(test="Oslo", column="town")[1]
    assert towns.n_rows == np.count_nonzero(frame["town"] == "Oslo")
    with pytest.raises(ValueError, match="the table was split by column 'part' already"):
        train.split(test="Oslo", column="town")
    with pytest.raises(data.SourceError, match="has no column 'fold'"):
        table.split(test=1, column="fold")
    X = np.column_stack([numbers(20)[0], np.arange(20) % 2])
    for source in (X, sp.csr_array(X)):
        part = data.open(source, target=0).split(test=1, column=4)[1]
        assert (part.n_rows, part.width) == (10, 3)


@pytest.mark.parametrize("drop", [False, True])
def test_a_shuffled_table_has_the_same_rows(tmp_path, monkeypatch, drop):
    monkeypatch.setattr("mercer.data.shuffling.MIXED", 3)
    X, y = numbers(30_000)
    number = np.arange(30_000)
    table = data.open(write(as_frame(X, y=y, n=number), tmp_path, [7000]), target="y", drop=drop)
    mixed = table.shuffled(seed=4)
    found = whole(mixed)
    order = found.X[:, 4].astype(int)
    assert sorted(order.tolist()) == number.tolist()
    np.testing.assert_array_equal(found.X[:, :4], X[order])
    np.testing.assert_array_equal(found.y, y[order])
    np.testing.assert_array_equal(np.concatenate([block.y for block in mixed.targets()]), y[order])
    assert np.abs(np.corrcoef(order, number)[0, 1]) < 0.6  # as few blocks as there are may be in order by chance
    assert np.count_nonzero(np.diff(order) == 1) < 30
    np.testing.assert_array_equal(whole(table.shuffled(seed=4)).X, found.X)
    assert (whole(table.shuffled(seed=5)).X != found.X).any()
    np.testing.assert_array_equal(concatenated(list(mixed.blocks(3))).X, found.X[3 * 4096 :])
    for place in (0, 5000, 29_999):
        assert mixed.where(place) == table.where(int(order[place]))
    assert {block.X.shape[0] for block in list(mixed.blocks())[:-1]} == {4096}
    np.testing.assert_array_equal(whole(table).X[:, 4], number)
    model = KernelRegressor(n_components=8, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(mixed)
    assert len(model.predict(mixed)) == 30_000


def test_what_is_in_memory_is_split_and_shuffled_as_files_are(tmp_path):
    X, y = numbers(9000)
    frame = as_frame(X, y=y)
    table = data.open(write(frame, tmp_path, [5000]), target="y")
    expected = [whole(part) for part in (*table.split(test=0.3, seed=1), table.shuffled(2))]
    for source, target in ((frame, "y"), (pa.Table.from_pandas(frame), "y"), (X, y), (sp.csr_array(X), y)):
        here = data.open(source, target=target)
        for part, wanted in zip((*here.split(test=0.3, seed=1), here.shuffled(2)), expected, strict=True):
            found = whole(part)
            np.testing.assert_array_equal(found.X.toarray() if sp.issparse(found.X) else found.X, wanted.X)
            np.testing.assert_array_equal(found.y, wanted.y)


def test_fingerprints_identify_rows(tmp_path):
    X, y = numbers(5000)
    pattern = write(as_frame(X, y=y), tmp_path, [2000])
    table = data.open(pattern, target="y")
    assert table.fingerprint() == data.open(pattern, target="y").fingerprint()
    others = [
        data.open(pattern),
        data.open(pattern, target="y", drop=True),
        *table.split(),
        *table.split(seed=1),
        table.shuffled(),
    ]
    prints = {table.fingerprint(), *(other.fingerprint() for other in others)}
    late = data.open(pattern)
    write(as_frame(X, y=y), tmp_path, [2001])
    with pytest.raises(SourceError, match="has changed since it was opened"):
        late.fingerprint()
    others.append(data.open(pattern, target="y"))
    X2 = X.copy()
    X2[0, 0] += 1.0
    memory = [X, X.astype(np.float32), X[:4999], X2, sp.csr_array(X), as_frame(X), people(100)]
    others += [data.open(source) for source in memory]
    others += [data.open(X, columns=chosen) for chosen in ([0, 1], [1, 0], [1, 2])]
    prints |= {other.fingerprint() for other in others}
    assert len(prints) == len(others) + 1
    assert data.open(X).fingerprint() == data.open(X.copy()).fingerprint()
    blocks = data.Blocks([(X, y)])
    assert blocks.fingerprint() == data.Blocks([(X[:1000], y[:1000]), (X[1000:], y[1000:])]).fingerprint()
    assert data.ArrayTable(X, y).fingerprint() != data.ArrayTable(X, -y).fingerprint()


def test_rows_are_kept_where_there_is_room(tmp_path, monkeypatch):
    X, y = numbers(9000)
    pattern = write(as_frame(X, y=y), tmp_path, [2000])
    read = []
    original = data.parquet.ParquetFile.read
    monkeypatch.setattr(
        data.parquet.ParquetFile, "read", lambda self, *given: read.append(self.name) or original(self, *given)
    )
    for memory, passes in ((None, 3), (100, 3), (9000 * 4 * 8, 1)):
        table = data.open(pattern, target="y", memory=memory)
        read.clear()
        for _ in range(3):
            np.testing.assert_array_equal(whole(table).X, X)
        assert len(read) == 2 * passes
        np.testing.assert_array_equal(concatenated(list(table.blocks(1))).X, X[4096:])


@pytest.mark.parametrize("kind", ["parquet", "libsvm", "npy"])
def test_a_pass_holds_few_rows(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("mercer.data.libsvm.READ_BYTES", 1 << 18)
    monkeypatch.setattr("mercer.data.sources.NUMBERS_AT_ONCE", 1 << 15)
    X = np.random.default_rng(0).normal(size=(60_000, 10)).round(3)
    path = tmp_path / f"a.{kind}"
    if kind == "libsvm" and not _core.AVAILABLE:
        pytest.skip("the reference in Python holds lists of numbers")
    if kind == "npy":
        np.save(path, X)
    elif kind == "libsvm":
        data.write_libsvm(path, X)
    else:
        path = write(as_frame(X), tmp_path, [])
    table = data.open(path)
    tracemalloc.start()
    assert sum(block.X.shape[0] for block in table.blocks()) == 60_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * X.nbytes


def test_blocks_start_anywhere_in_any_table():
    X, y = numbers(9000)
    for table in (data.ArrayTable(X, y), data.Blocks([(X[:5000], y[:5000]), (X[5000:], y[5000:])]), data.open(X)):
        for start in range(4):
            parts = [block.X for block in table.blocks(start)]
            np.testing.assert_array_equal(np.concatenate([*parts, X[:0]]), X[start * 4096 :])


def test_predictions_for_blocks_of_frames():
    frame = people(5000)
    X = frame.drop(columns="y")
    model = KernelClassifier(n_components=16, loss="squared", random_state=0, kernel=None, C=1.0, preparation=None).fit(
        X, frame["y"]
    )
    blocks = data.Blocks([X[:3000], X[3000:]])
    np.testing.assert_array_equal(model.predict(blocks), model.predict(X))
    np.testing.assert_array_equal(np.concatenate(list(model.predict_blocks(blocks))), model.predict(X))


def test_a_part_without_rows_is_refused():
    X, y = numbers(20)
    none = data.open(X, target=y).split(test=1e-9)[1]
    assert none.n_rows == 0
    assert not list(none.blocks())
    model = KernelRegressor(n_components=8, kernel=None, alpha=1.0, preparation=None).fit(X, y)
    map = RandomFourier(n_components=8).fit(X)
    for use in (
        KernelRegressor(kernel=None, alpha=1.0, preparation=None).fit,
        model.predict,
        model.score,
        RandomFourier().fit,
        map.transform,
    ):
        with pytest.raises(ValueError, match="the table has no rows"):
            use(none)


def test_blocks_of_what_a_table_gives():
    frame = people(5000)
    table = data.open(frame, target="y")
    given = {"n_components": 16, "loss": "squared", "random_state": 0}
    blocks = data.Blocks(lambda: ((block.X, block.y) for block in table.blocks()))
    np.testing.assert_array_equal(
        KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | given)).fit(blocks).coef_,
        KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | given)).fit(table).coef_,
    )
    X, _ = numbers(300)
    map = RandomFourier(n_components=8, random_state=0).fit(as_frame(X))
    expected = map.transform(as_frame(X))
    np.testing.assert_array_equal(map.fit(data.Blocks([X[:200], X[200:]])).transform(X), expected)
    assert not hasattr(map, "feature_names_in_")


def test_learners_accept_batches_of_tables(tmp_path):
    X, y = numbers(6000)
    pattern = write(as_frame(X, y=y), tmp_path, [])
    model = KernelRegressor(n_components=16, random_state=0, kernel=None, alpha=1.0, preparation=None)
    model.partial_fit(data.open(pattern, target="y")).partial_fit(as_frame(X[:50]), y[:50])
    other = (
        KernelRegressor(n_components=16, random_state=0, kernel=None, alpha=1.0, preparation=None)
        .partial_fit(X, y)
        .partial_fit(X[:50], y[:50])
    )
    np.testing.assert_array_equal(model.coef_, other.coef_)


def test_pandas_frames_with_other_names():
    frame = pd.DataFrame({0: [1.0, 2.0], 1: [3.0, 4.0]})
    assert data.open(frame).names == ("0", "1")
    with pytest.raises(ValueError, match="different names, found 'a' twice"):
        data.open(pd.DataFrame(np.eye(2), columns=["a", "a"]))


def test_features_of_a_table_are_written_where_they_are_requested():
    X = np.random.default_rng(0).normal(size=(5000, 3))
    map = RandomFourier(n_components=8, random_state=0).fit(X)
    out = np.empty((5000, 8))
    for table in (data.open(X), data.Blocks([X[:1000], X[1000:]])):
        out[:] = 0.0
        assert map.transform(table, out=out) is out
        np.testing.assert_array_equal(out, map.transform(X))
        with pytest.raises(
            ValueError, match=r"out must be a NumPy array of shape \(5000, 8\) and dtype float64, found"
        ):
            map.transform(table, out=np.empty((5000, 7)))


@pytest.mark.parametrize("make", [data.open, data.ArrayTable, lambda X: data.Blocks([X[:3000], X[3000:]])])
def test_one_entry_changes_a_fingerprint(make):
    X = np.random.default_rng(0).normal(size=(5000, 3))
    before = make(X).fingerprint()
    assert make(X.copy()).fingerprint() == before
    X[4321, 1] += 1e-9
    assert make(X).fingerprint() != before
    frame = pd.DataFrame({"a": X[:, 0], "town": ["rome", "oslo"] * 2500})
    before = data.open(frame).fingerprint()
    frame.loc[3001, "town"] = "lima"
    assert data.open(frame).fingerprint() != before


def test_an_index_that_was_not_there_when_a_file_was_opened(tmp_path):
    path = tmp_path / "rows.libsvm"
    path.write_text("1 1:2 3:4\n")
    table = data.open(path)
    stat = path.stat()
    path.write_text("1 1:2 9:4\n")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(data.SourceError, match=r"rows\.libsvm has changed: there is an index 9 now"):
        list(table.blocks())


def test_a_model_ignores_its_target_and_weight_without_a_word(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(1.0, 2.0, size=(50, 5)), columns=["a", "b", "y", "w", "more"])
    frame[["a", "b", "y", "w"]].to_csv(tmp_path / "known.csv", index=False)
    frame.to_csv(tmp_path / "more.csv", index=False)
    model = KernelRegressor(n_components=8, random_state=0, kernel=None, alpha=1.0, preparation=None)
    model.fit(data.open(tmp_path / "known.csv", target="y", weight="w"))
    expected = model.predict(frame[["a", "b"]])
    np.testing.assert_array_equal(model.predict(data.open(tmp_path / "known.csv")), expected)
    with pytest.warns(UserWarning, match="no columns with these names: 'more'$"):
        np.testing.assert_array_equal(model.predict(data.open(tmp_path / "more.csv")), expected)
