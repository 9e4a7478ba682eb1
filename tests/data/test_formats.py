"""The same rows in every format give the same table."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import mercer
from mercer import KernelClassifier, KernelRegressor, data
from mercer._formats import FORMATS as REGISTRY
from mercer._formats import WRITTEN, Format, format_of, format_to_write
from mercer.data.block import concatenated
from mercer.data.csv import CsvFile
from mercer.data.numpy_files import NpyFile
from mercer.data.sources import FileSource, implementation

from .test_parquet import as_frame, numbers, people


def to_parquet(frame, path):
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=900)


def to_feather(frame, path):
    pa.feather.write_feather(frame, path, chunksize=1100)


def to_stream(frame, path):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, 1300)


def to_csv(frame, path):
    frame.to_csv(path, index=False)


FORMATS = {
    "a.parquet": to_parquet,
    "a.feather": to_feather,
    "a.arrow": to_stream,
    "a.csv": to_csv,
    "a.csv.gz": to_csv,
    "a.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
}


def whole(table):
    return concatenated(list(table.blocks()))


@pytest.mark.parametrize("name", FORMATS)
def test_columns_are_selected_by_name(tmp_path, name):
    frame = people(10_000)
    frame.loc[7, "height"] = None
    frame.loc[8, "town"] = None
    first, second = tmp_path / f"1{name}", tmp_path / f"2{name}"
    FORMATS[name](frame[:4500], first)
    FORMATS[name](frame[4500:], second)
    table = data.open([first, second], target="y")
    assert table.names == ("age", "town", "height")
    assert table.n_rows == 10_000
    assert [block.X.shape[0] for block in table.blocks()] == [4096, 4096, 1808]
    found = whole(table)
    np.testing.assert_array_equal(found.X.parts["age"], frame["age"])
    np.testing.assert_array_equal(found.X.parts["height"], frame["height"])
    assert found.X.parts["town"].tolist() == [None if pd.isna(town) else town for town in frame["town"]]
    assert found.y.tolist() == frame["y"].tolist()
    later = concatenated(list(table.blocks(1)))
    np.testing.assert_array_equal(later.X.parts["age"], frame["age"][4096:])


@pytest.mark.parametrize("name", FORMATS)
def test_labels_keep_their_type(tmp_path, name):
    X, y = numbers(800)
    for labels in (np.arange(800) % 3, y, y > 0, np.where(y > 0, "up", "down")):
        FORMATS[name](as_frame(X, y=labels), tmp_path / name)
        found = whole(data.open(tmp_path / name, target="y"))
        assert found.y.dtype.kind == labels.dtype.kind
        np.testing.assert_array_equal(found.y, labels)
        np.testing.assert_array_equal(found.X, X)


@pytest.mark.parametrize("kind", ["npy", "npz", "compressed", "memory", "csr", "fortran"])
def test_matrices_are_read_as_they_are(tmp_path, kind):
    X, y = numbers(9000, dtype=np.float32)
    target: object = y
    if kind in ("npy", "fortran"):
        source: object = tmp_path / "X.npy"
        np.save(source, np.asfortranarray(X) if kind == "fortran" else X)
    elif kind in ("npz", "compressed"):
        source, target = tmp_path / "rows.npz", "y"
        (np.savez if kind == "npz" else np.savez_compressed)(source, X=X, y=y)
    else:
        source = X if kind == "memory" else sp.csr_array(X)
    table = data.open(source, target=target)
    assert (table.n_rows, table.width, table.names) == (9000, 4, None)
    model = KernelRegressor(n_components=16, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(table)
    expected = KernelRegressor(n_components=16, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(
        sp.csr_array(X) if kind == "csr" else X, y
    )
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.predict(table).dtype == np.float64
    assert model.score(table) == pytest.approx(expected.score(X, y), rel=1e-4)
    np.testing.assert_array_equal(next(table.blocks(2)).y, y[8192:])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["npy", "npz", "compressed"])
def test_numpy_files_begin_anywhere_and_hold_no_more_than_a_block(tmp_path, kind, order):
    X = np.asarray(np.random.default_rng(0).normal(size=(50_000, 8)), order=order)
    path = tmp_path / ("X.npy" if kind == "npy" else "X.npz")
    if kind == "npy":
        np.save(path, X)
    else:
        (np.savez if kind == "npz" else np.savez_compressed)(path, X=X)
    table = data.open(path)
    for start in (0, 3, 12):
        np.testing.assert_array_equal(concatenated(list(table.blocks(start))).X, X[4096 * start :])
    table = data.open(path)
    tracemalloc.start()
    count = sum(block.X.shape[0] for block in table.blocks())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 50_000
    held_whole = (kind, order) == ("compressed", "F")  # since a row is spread over all of it
    assert (peak > X.nbytes) == held_whole


def test_columns_are_selected_by_number(tmp_path):
    X, _ = numbers(50)
    np.save(tmp_path / "X.npy", X)
    for source in (tmp_path / "X.npy", X, sp.csr_array(X)):
        table = data.open(source, target=-1, weight=1, columns=[2, 0], drop=True) if source is X else None
        block = whole(data.open(source, target=-1, columns=[2, 0]))
        dense = block.X if isinstance(block.X, np.ndarray) else block.X.toarray()
        np.testing.assert_array_equal(dense, X[:, [2, 0]])
        np.testing.assert_array_equal(block.y, X[:, 3])
        assert data.open(source, target=3).width == 3
        if table is not None:
            with pytest.raises(data.SourceError, match="the weight must not be negative"):
                whole(table)
        with pytest.raises(ValueError, match="has columns 0 to 3 without names, found 'age'"):
            data.open(source, target="age")


def test_precision_and_integers(tmp_path):
    frame = pd.DataFrame({"a": np.arange(5, dtype=np.float32), "b": np.arange(5, dtype=np.float32), "n": range(5)})
    to_parquet(frame, tmp_path / "a.parquet")
    assert whole(data.open(tmp_path / "a.parquet", target="n")).X.dtype == np.float32
    assert whole(data.open(tmp_path / "a.parquet")).X.dtype == np.float64
    assert whole(data.open(tmp_path / "a.parquet", dtype=np.float32)).X.dtype == np.float32
    X = np.arange(6).reshape(3, 2)
    assert whole(data.open(X)).X.dtype == np.float64


def test_a_folder_and_a_pattern(tmp_path):
    X, y = numbers(30)
    (tmp_path / "deep").mkdir()
    to_parquet(as_frame(X[20:], y=y[20:]), tmp_path / "deep" / "c.parquet")
    to_parquet(as_frame(X[10:20], y=y[10:20]), tmp_path / "b.parquet")
    to_parquet(as_frame(X[:10], y=y[:10]), tmp_path / "a.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden.parquet").touch()
    (tmp_path / "notes.md").touch()
    np.testing.assert_array_equal(whole(data.open(tmp_path, target="y")).X, X)
    np.testing.assert_array_equal(whole(data.open(f"{tmp_path}/*.parquet", target="y")).X, X[:20])
    with pytest.raises(FileNotFoundError, match="no files of rows found at"):
        data.open(f"{tmp_path}/*.csv")
    with pytest.raises(FileNotFoundError, match=r"; did you mean '.*b\.parquet'\?"):
        data.open(tmp_path / "bb.parquet")
    with pytest.raises(ValueError, match=r"the format of .*notes.md from its name: give format, one of csv, parquet"):
        data.open(tmp_path / "notes.md")
    to_csv(as_frame(X), tmp_path / "d.csv")
    with pytest.raises(ValueError, match=r"all files of a table must have one format, found .*a.parquet and .*d.csv"):
        data.open(tmp_path)


def test_csv_guesses_are_corrected(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.data.csv.READ_BYTES", 1000)
    lines = ["a,b,c"] + [f"{i},{i}," for i in range(500)] + ["0.5,7,x"]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines) + "\n")
    found = whole(data.open(path, target="b"))
    assert found.y.dtype == np.int64
    assert found.X.parts["a"][-1] == 0.5
    assert found.X.parts["c"][-1] == "x"
    assert whole(data.open(path, target="a")).y.dtype == np.float64
    path.write_text("\n".join([*lines, "word,1,y"]) + "\n")
    with pytest.raises(data.SourceError, match=r"a.csv cannot be read as CSV.*Row #503.*'word'"):
        data.open(path)
    path.write_text("\n".join([*lines, "1,1"]) + "\n")
    with pytest.raises(data.SourceError, match=r"a.csv cannot be read as CSV.*Row #503: Expected 3 columns, got 2"):
        data.open(path)
    path.write_text("a,b,a\n1,2,3\n")
    with pytest.raises(data.SourceError, match=r"a.csv has two columns named 'a'"):
        data.open(path)


def test_a_truncated_gzip_is_refused(tmp_path):
    lines = "a,b\n" + "\n".join(f"{i},{i * i}" for i in range(3000))
    packed = gzip.compress(lines.encode())
    (tmp_path / "a.csv.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(data.SourceError, match=r"a.csv.gz cannot be read as CSV"):
        data.open(tmp_path / "a.csv.gz")


def test_nothing_is_unpickled(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, np.array([[object()]], dtype=object), allow_pickle=True)
    with pytest.raises(data.SourceError, match=r"X.npy cannot be read as NumPy's .npy"):
        data.open(path)
    np.savez(tmp_path / "X.npz", X=np.array([[None]], dtype=object))
    with pytest.raises(data.SourceError, match=r"X.npz cannot be read as NumPy's .npz: it contains Python objects"):
        data.open(tmp_path / "X.npz")
    np.save(path, np.zeros(3))
    with pytest.raises(data.SourceError, match=r"X.npy must hold a matrix of numbers, found shape \(3,\) of float64"):
        data.open(path)


def test_what_is_no_source_is_named():
    with pytest.raises(TypeError, match="rows come from paths, matrices and frames, found int"):
        data.open(3)
    with pytest.raises(TypeError, match="a Blocks is a table already"):
        data.open(data.Blocks([np.eye(2)]))
    with pytest.raises(ValueError, match="target has 2 entries, but there are 3 rows"):
        data.open(np.eye(3), target=np.zeros(2))
    with pytest.raises(ValueError, match=r"2 dimensions, found shape \(3,\)"):
        data.open(np.zeros(3))


def test_a_classifier_takes_an_npz(tmp_path):
    X, y = numbers(600)
    np.savez(tmp_path / "rows.npz", X=X, y=(y > 0).astype(np.int8), w=np.ones(600))
    model = KernelClassifier(n_components=16, loss="squared", random_state=0, kernel=None, C=1.0, preparation=None)
    table = data.open(tmp_path / "rows.npz", target="y", weight="w")
    assert model.fit(table).score(table) > 0.8
    with pytest.raises(data.SourceError, match=r"rows.npz has no array 'z'; it has 'X', 'y', 'w'"):
        data.open(tmp_path / "rows.npz", target="z")


# -- categories, labels ------------------------------------------------------------------------------------------------


def categories(n=900):
    """Categories of whole numbers, fractions, truth values and text, with a gap in each but the target."""
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, 2, n) for name in "abcd"}
    for name, column in codes.items():
        column["abcd".index(name)] = -1
    values = {"a": [30, 7], "b": [0.5, -1.5], "c": [False, True], "d": ["x", "y"]}
    frame = pd.DataFrame({name: pd.Categorical.from_codes(codes[name], values[name]) for name in "abcd"})
    return frame.assign(e=rng.normal(size=n), y=pd.Categorical(rng.integers(3, 6, n)))


def test_categories_are_levels_whichever_way_rows_come(tmp_path):
    frame = categories()
    arrow = pa.Table.from_pandas(frame)
    to_parquet(frame, tmp_path / "a.parquet")
    to_feather(frame, tmp_path / "a.feather")
    X = frame.drop(columns="y")
    given = {"n_components": 32, "missing": "mean", "loss": "squared", "random_state": 0}
    expected = KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | given)).fit(
        X, frame["y"].astype(int)
    )
    levels = [column.levels for column in expected.preparation_.columns]
    assert levels == [(7, 30), (-1.5, 0.5), (False, True), ("x", "y"), None]
    assert [type(some[0]) for some in levels[:4]] == [int, float, bool, str]
    for source in (frame, arrow, tmp_path / "a.parquet", tmp_path / "a.feather"):
        table = data.open(source, target="y")
        assert table.levels == ("a", "b", "c", "d")
        found = whole(table)
        assert found.y.dtype == np.int64
        assert found.X.parts["a"][:3].tolist() == [None, *frame["a"][1:3].tolist()]
        model = KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | given)).fit(table)
        assert model.preparation_.columns == expected.preparation_.columns
        assert model.classes_.tolist() == [3, 4, 5]
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        np.testing.assert_array_equal(model.predict(table), expected.predict(X))
        mercer.save(model, tmp_path / "model")


def test_categories_in_one_file_and_numbers_in_another_are_refused(tmp_path):
    frame = categories()
    to_parquet(frame, tmp_path / "1.parquet")
    to_parquet(frame.assign(a=1), tmp_path / "2.parquet")
    with pytest.raises(data.SourceError, match=r"column 'a' is int in .*2\.parquet and int levels in .*1\.parquet"):
        data.open(tmp_path, target="y")


@pytest.mark.parametrize("name", FORMATS)
def test_several_targets_of_text_and_numbers(tmp_path, name):
    frame = people(800).assign(count=np.arange(800) % 3, tall=np.arange(800) % 2 == 0)
    FORMATS[name](frame, tmp_path / name)
    X = frame[["age", "height"]].to_numpy()
    for target in (["y", "town"], ["y", "count"], ["tall", "y"], ["count", "count"]):
        table = data.open(tmp_path / name, target=target, columns=["age", "height"])
        labels = frame[target].to_numpy()
        np.testing.assert_array_equal(whole(table).y, labels)
        model = KernelClassifier(
            n_components=16, loss="squared", random_state=0, kernel=None, C=1.0, preparation=None
        ).fit(table)
        expected = KernelClassifier(
            n_components=16, loss="squared", random_state=0, kernel=None, C=1.0, preparation=None
        ).fit(X, labels)
        assert [classes.tolist() for classes in model.classes_] == [classes.tolist() for classes in expected.classes_]
        np.testing.assert_array_equal(model.predict(table), expected.predict(X))
    frame.loc[5, "town"] = None
    FORMATS[name](frame, tmp_path / name)
    place = "line 7" if "csv" in name or "tsv" in name else "row 5"
    with pytest.raises(data.SourceError, match=f"{place}: the target is missing"):
        whole(data.open(tmp_path / name, target=["count", "town"], columns=["age"]))
    assert whole(data.open(tmp_path / name, target=["y", "town"], columns=["age"], drop=True)).y.shape == (799, 2)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("late", [False, True])
def test_large_whole_labels_are_not_rounded(tmp_path, name, late, monkeypatch):
    monkeypatch.setattr("mercer.data.csv.READ_BYTES", 400)
    labels = 2**53 + np.arange(300) % 3
    x = np.arange(300) + np.where(np.arange(300) == 250, 0.5, 0.0)  # with late, whole numbers before a fraction
    frame = pd.DataFrame({"x": [f"{value:g}" for value in x] if late else x, "y": labels})
    FORMATS[name](frame if name.startswith(("a.csv", "a.tsv")) else frame.assign(x=x), tmp_path / name)
    found = whole(data.open(tmp_path / name, target="y"))
    assert found.y.tolist() == labels.tolist()
    np.testing.assert_array_equal(found.X[:, 0], x)


def test_columns_of_csv_widen_together(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.data.csv.READ_BYTES", 200)
    lines = [",".join([str(n)] * 6) for n in range(60)]
    for place in range(6):
        lines[40 + 3 * place] = ",".join("0.5" if column == place else "1" for column in range(6))
    (tmp_path / "a.csv").write_text("\n".join(["a,b,c,d,e,f", *lines]) + "\n")
    opened = []
    monkeypatch.setattr(CsvFile, "_open", lambda self, *given, was=CsvFile._open: opened.append(1) or was(self, *given))
    assert set(data.open(tmp_path / "a.csv")._columns.kinds.values()) == {"float64"}
    assert len(opened) == 3  # for the types of the first rows, up to the first fraction, and to the end


def test_whole_numbers_in_csv_that_no_integer_holds(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.data.csv.READ_BYTES", 64)
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 40 + "1e20,3.0\n" + "3,4\n" * 9)
    found = whole(data.open(tmp_path / "a.csv", target="y"))
    assert found.X[40, 0] == 1e20
    assert found.y.dtype == np.int64
    (tmp_path / "a.csv").write_text(f"x,y\n1,{2**53 + 1}\n" + "1,2\n" * 40 + "0.5,3.0\n")
    with pytest.raises(data.SourceError, match=r"a\.csv cannot be read as CSV: .*int64: invalid value '3\.0'"):
        whole(data.open(tmp_path / "a.csv", target="y"))


def as_polars(frame, path):
    import polars as pl

    if isinstance(frame["y"].dtype, pd.CategoricalDtype):  # of which polars has only those of text
        frame = frame.astype({"y": frame["y"].cat.categories.dtype})
    return pl.from_pandas(frame)


LABELS = {
    **{name: write for name, write in FORMATS.items() if name.startswith(("a.csv", "a.tsv"))},
    "a.parquet": to_parquet,
    "a.feather": to_feather,
    "a.arrow": to_stream,
    "pandas": lambda frame, path: frame,
    "polars": as_polars,
    "arrow": lambda frame, path: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("levels", [False, True])
def test_labels_from_2_to_the_63_on(tmp_path, name, levels):
    y = np.array([2**63, 2**63 + 1, 2**64 - 1, 5] * 20, dtype=np.uint64)
    frame = pd.DataFrame({"x": np.arange(80.0), "y": pd.Categorical(y) if levels else y})
    source = LABELS[name](frame, tmp_path / name)
    found = whole(data.open(tmp_path / name if source is None else source, target="y"))
    assert found.y.dtype == np.uint64
    assert found.y.tolist() == y.tolist()
    model = KernelClassifier(n_components=8, random_state=0, kernel=None, C=1.0, preparation=None).fit(found.X, found.y)
    mercer.save(model, tmp_path / "m.mercer")
    assert mercer.load(tmp_path / "m.mercer").classes_.tolist() == sorted(set(y.tolist()))


def test_whole_numbers_of_two_kinds_in_two_files(tmp_path):
    for large in (7, 2**63):
        to_parquet(pd.DataFrame({"x": [1.0], "y": np.array([large], dtype=np.uint64)}), tmp_path / "1.parquet")
        to_parquet(pd.DataFrame({"x": [1.0], "y": [-5]}), tmp_path / "2.parquet")
        if large == 7:
            assert whole(data.open(tmp_path, target="y")).y.tolist() == [7, -5]
        else:
            with pytest.raises(data.SourceError, match=r"column 'y' has whole numbers from 2\^63 on in one file"):
                whole(data.open(tmp_path, target="y"))


def test_all_that_is_said_of_formats_is_the_registry():
    guide = Path(__file__).parents[2].joinpath("docs/guide/large_data.md").read_text(encoding="utf-8")
    for name, format in REGISTRY.items():
        assert issubclass(implementation(format.reader), FileSource)
        assert {format_of(Path(f"rows{ending}.gz")) for ending in format.endings} == {name}
        assert f'"{name}"' in data.open.__doc__
        assert format.title in guide or all(f"`{ending}`" in guide for ending in format.endings)
    for name, format in WRITTEN.items():
        assert callable(implementation(format.writer))
        assert {format_to_write(f"rows{ending}") for ending in format.written} == {name}
        assert f'"{name}"' in data.write.__doc__


def test_a_format_is_its_file_and_its_entry(tmp_path, monkeypatch):
    """``open`` needs no more than a reader and its entry in the registry."""

    class Doubled(NpyFile):
        @classmethod
        def of(cls, path, reading):
            return cls(path)

        def read(self, start, names):
            for block in super().read(start, names):
                yield block._replace(X=2.0 * block.X)

    entry = Format("doubled", "Doubled", (".doubled",), "numpy_files.Doubled", has_names=False)
    monkeypatch.setitem(REGISTRY, "doubled", entry)
    monkeypatch.setattr("mercer.data.numpy_files.Doubled", Doubled, raising=False)
    with (tmp_path / "rows.doubled").open("wb") as file:
        np.save(file, np.eye(3))
    np.testing.assert_array_equal(whole(data.open(tmp_path)).X, 2.0 * np.eye(3))
    (tmp_path / "rows").write_bytes(b"")
    with pytest.raises(ValueError, match=r"the format of .*rows from its name: give format, one of .*doubled"):
        data.open(tmp_path / "rows")


LARGE = 2**63
UNSIGNED = [str(label) for label in (LARGE, 2**64 - 1, 5)]


def written(path, labels, x=None):
    rows = zip(labels if x is None else x, labels, strict=True)
    path.write_text("x,y\n" + "".join(f"{one},{label}\n" for one, label in rows))
    return path


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize(("kind", "least"), [("Int64", 2**53), ("Int64", -(2**62)), ("UInt64", 2**63), ("Int64", 5)])
def test_large_labels_beside_those_that_are_left_out(tmp_path, name, kind, least):
    y = pd.Series([None if row == 7 else least + row % 3 for row in range(30)], dtype=kind)
    frame = pd.DataFrame({"x": np.arange(30.0), "y": y})
    source = LABELS[name](frame, tmp_path / name)
    found = whole(data.open(tmp_path / name if source is None else source, target="y", drop=True))
    assert found.y.tolist() == [least + row % 3 for row in range(30) if row != 7]
    assert found.y.dtype == kind.lower()


def test_large_labels_after_a_block_of_small_ones_with_a_gap(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.data.csv.READ_BYTES", 64)
    labels = ["5", "", "6", *["5"] * 40, *UNSIGNED, str(2**63 + 1)]
    found = whole(data.open(written(tmp_path / "a.csv", labels, range(47)), target="y", drop=True))
    assert found.y.tolist() == [int(label) for label in labels if label]


@pytest.mark.parametrize("first", ["", "7", str(LARGE)])
def test_labels_from_2_to_the_63_on_after_the_first_rows_of_csv(tmp_path, first, monkeypatch):
    monkeypatch.setattr("mercer.data.csv.READ_BYTES", 64)
    table = data.open(written(tmp_path / "a.csv", [first] * 40 + UNSIGNED * 20, range(100)), target="y", drop=True)
    found = whole(table)
    assert table._columns.kinds["y"] == "uint64"
    assert found.y.tolist() == [int(label) for label in [first] * 40 + UNSIGNED * 20 if label]
    assert found.y.dtype == np.uint64


@pytest.mark.parametrize("other", ["-1", "0.5", "1e3", "5.0", str(2**64), "2e19"])
def test_other_numbers_beside_those_from_2_to_the_63_on_make_floats(tmp_path, other):
    found = whole(data.open(written(tmp_path / "a.csv", [*UNSIGNED, other]), columns=["y"], target="x"))
    assert found.y.dtype == np.float64
    assert found.X[:, 0].tolist() == [float(label) for label in [*UNSIGNED, other]]


def test_large_whole_numbers_of_csv_are_features(tmp_path):
    table = data.open(written(tmp_path / "a.csv", [*UNSIGNED, "", "8"], range(5)), target="x")
    found = whole(table)
    assert found.X.dtype == np.float64
    np.testing.assert_array_equal(found.X[:, 0], [float(2**63), float(2**64), 5.0, np.nan, 8.0])
    assert found.y.tolist() == [0, 1, 2, 3, 4]


def test_csv_files_agree_on_labels_from_2_to_the_63_on(tmp_path):
    written(tmp_path / "1.csv", ["3", "4", "3"])
    written(tmp_path / "2.csv", UNSIGNED)
    for files in (["1.csv", "2.csv"], ["2.csv", "1.csv"]):
        found = whole(data.open([tmp_path / name for name in files], target="y"))
        assert found.y.dtype == np.uint64
        assert sorted(found.y.tolist()) == sorted([3, 4, 3, *map(int, UNSIGNED)])
    for number, label in enumerate(("-1", "0.5", "5.0")):
        last = written(tmp_path / f"other{number}.csv", ["6", label])
        found = whole(data.open([tmp_path / "2.csv", tmp_path / "1.csv", last], target="y"))
        assert found.y.tolist() == [*map(float, UNSIGNED), 3.0, 4.0, 3.0, 6.0, float(label)]
        assert found.y.dtype == np.float64


def test_tables_describe_themselves(tmp_path):
    X, y = numbers(30)
    to_parquet(as_frame(X, y=y), tmp_path / "a.parquet")
    said = repr(data.open(tmp_path / "a.parquet", target="y"))
    assert said.startswith("<SourceTable of ")
    assert said.endswith(f"a.parquet: {X.shape[1]} features, target 'y'>")
