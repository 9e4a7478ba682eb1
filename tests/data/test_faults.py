"""Files that are damaged, that change, or that do not match each other."""

from __future__ import annotations

import io
import itertools
import os
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mercer import AdditiveMap, KernelClassifier, KernelRegressor, RandomFourier, data
from mercer.data.block import concatenated
from mercer.kernels import AdditiveChi2

from .test_formats import FORMATS
from .test_parquet import as_frame, numbers, people


def whole(table):
    return concatenated(list(table.blocks()))


def save(columns, path, **options):
    pq.write_table(pa.table(columns), path, **options)


# -- torn and changed files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_a_truncated_file_is_refused(tmp_path, name, share):
    X, y = numbers(2000)
    path = tmp_path / name
    FORMATS[name](as_frame(X, y=y), path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(data.SourceError, match=f"{name} cannot be read as"):
        whole(data.open(path, target="y"))


def test_a_truncated_npy_is_refused(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(100))
    (tmp_path / "X.npy").write_bytes((tmp_path / "X.npy").read_bytes()[:-8])
    with pytest.raises(data.SourceError, match=r"X\.npy cannot be read as"):
        data.open(tmp_path / "X.npy")
    (tmp_path / "X.npz").write_bytes(b"PK\x03\x04 torn")
    with pytest.raises(data.SourceError, match=r"X\.npz cannot be read as"):
        data.open(tmp_path / "X.npz")


def test_a_numpy_file_that_is_cut_while_it_is_read_ends_no_process(tmp_path):
    X, _ = numbers(200_000)
    np.save(tmp_path / "X.npy", X)
    np.savez(tmp_path / "X.npz", X)
    code = """
import os, sys
from mercer import data
from mercer.data.sources import FileSource
check = FileSource.check
for name in sys.argv[1:]:
    FileSource.check = check
    table = data.open(name)
    blocks = table.blocks()
    next(blocks)
    FileSource.check = lambda self: None  # what the file was is known only until it is cut
    os.truncate(name, 1_000_000)
    try:
        for block in blocks:
            block.X.sum()
    except data.SourceError as error:
        print(error)
"""
    names = [str(tmp_path / name) for name in ("X.npy", "X.npz")]
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
    for name, told in zip(names, done.stdout.splitlines(), strict=True):
        assert f"{name} cannot be read as NumPy's" in told
        assert "bytes too early" in told


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("part", ["X", "y"])
def test_the_checksums_of_an_npz(tmp_path, compressed, part):
    X, y = numbers(9000)
    path = tmp_path / "rows.npz"
    (np.savez_compressed if compressed else np.savez)(path, X=X, y=y)
    good = path.read_bytes()
    np.testing.assert_array_equal(whole(data.open(path, target="y")).X, X)
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo(f"{part}.npy")
        place = member.header_offset + member.compress_size // 2 + 200
    path.write_bytes(good[:place] + bytes([good[place] ^ 4]) + good[place + 1 :])
    with pytest.raises(data.SourceError, match=r"rows\.npz cannot be read as NumPy's \.npz: .*(checksum|CRC|[Ee]rror)"):
        whole(data.open(path, target="y"))


def test_an_npz_whose_members_are_not_what_they_say(tmp_path):
    path = tmp_path / "rows.npz"
    for count, compression in itertools.product((7, 9), (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)):
        file = io.BytesIO()
        np.save(file, np.zeros((count, 3)))
        claimed = file.getvalue().replace(f"({count}, 3)".encode(), b"(8, 3)")
        with zipfile.ZipFile(path, "w", compression) as archive:
            archive.writestr("X.npy", claimed)
        with pytest.raises(data.SourceError, match=r"array 'X' of shape \(8, 3\) takes 320 bytes, and has"):
            data.open(path)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**50, 8)})
    np.save(tmp_path / "X.npy", np.zeros(3))
    (tmp_path / "X.npy").write_bytes(header.getvalue() + bytes(64))
    with pytest.raises(data.SourceError, match=r"X\.npy cannot be read as .* takes 72,057,594,037,928,064 bytes"):
        data.open(tmp_path / "X.npy")


def test_what_is_compressed_by_columns_must_fit(tmp_path):
    X, y = numbers(9000)
    np.savez_compressed(tmp_path / "F.npz", X=np.asfortranarray(X), y=y)
    np.savez_compressed(tmp_path / "C.npz", X=X, y=y)
    with pytest.raises(MemoryError, match=r"the rows of .*F\.npz.* need at least .* GiB; memory allows"):
        whole(data.open(tmp_path / "F.npz", target="y", memory=1000))
    np.testing.assert_array_equal(whole(data.open(tmp_path / "F.npz", target="y", memory="1MB")).X, X)
    np.testing.assert_array_equal(whole(data.open(tmp_path / "C.npz", target="y", memory=1000)).X, X)  # block by block


def test_a_flipped_bit_is_found_by_its_checksum(tmp_path):
    X, y = numbers(3000)
    path = tmp_path / "a.parquet"
    save(dict(as_frame(X, y=y)), path, write_page_checksum=True, compression="none", use_dictionary=False)
    good = path.read_bytes()
    table = data.open(path, target="y")
    np.testing.assert_array_equal(whole(table).X, X)
    place = good.index(X[1234, 2].tobytes())
    path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
    with pytest.raises(data.SourceError, match=r"a\.parquet cannot be read as Parquet: .*CRC checksum"):
        whole(data.open(path, target="y"))


@pytest.mark.parametrize("name", [*FORMATS, "a.libsvm", "a.npy", "a.npz"])
def test_a_file_that_changes_is_named(tmp_path, name):
    X, y = numbers(900)
    path = tmp_path / name

    def write(rows):
        if name == "a.libsvm":
            data.write_libsvm(path, X[:rows], y[:rows])
        elif name == "a.npy":
            np.save(path, X[:rows])
        elif name == "a.npz":
            np.savez(path, X=X[:rows])
        else:
            FORMATS[name](as_frame(X[:rows]), path)

    write(900)
    given = {} if name == "a.libsvm" else {"target": y}
    for memory in (None, "1GB"):
        table = data.open(path, memory=memory, **given)
        whole(table)
        write(800)
        with pytest.raises(
            data.SourceError, match=f"{name} has changed since it was opened: [0-9]+ bytes then, [0-9]+"
        ):
            whole(table)
        write(900)
        table = data.open(path, memory=memory, **given)
        os.utime(path, ns=(1, 1))
        with pytest.raises(data.SourceError, match=f"{name} has been written to since it was opened"):
            KernelRegressor(n_components=8, kernel=None, alpha=1.0, preparation=None).fit(table)
        os.utime(path)


def test_a_file_that_changes_while_it_is_read_or_goes(tmp_path):
    X, _ = numbers(200_000)
    for name in ("1.npy", "2.npy"):
        np.save(tmp_path / name, X)
    table = data.open(tmp_path)
    blocks = table.blocks()
    next(blocks)
    np.save(tmp_path / "1.npy", X[:10])
    with pytest.raises(data.SourceError, match=r"1\.npy has changed since it was opened"):
        list(blocks)
    (tmp_path / "1.npy").unlink()
    with pytest.raises(data.SourceError, match=r"1\.npy has disappeared since it was opened"):
        next(table.blocks())


# -- columns -----------------------------------------------------------------------------------------------------------


def test_columns_in_another_order(tmp_path):
    save({"a": [1.0, 2.0], "b": [3.0, 4.0], "y": [0, 1]}, tmp_path / "1.parquet")
    save({"y": [1, 0], "b": [30.0, 40.0], "a": [10.0, 20.0]}, tmp_path / "2.parquet")
    found = whole(data.open(tmp_path, target="y"))
    np.testing.assert_array_equal(found.X, [[1, 3], [2, 4], [10, 30], [20, 40]])
    assert found.y.tolist() == [0, 1, 1, 0]


def test_a_missing_and_an_extra_column(tmp_path):
    save({"a": [1.0], "b": [3.0]}, tmp_path / "1.parquet")
    save({"a": [1.0], "c": [3.0]}, tmp_path / "2.parquet")
    with pytest.raises(data.SourceError, match=r"2\.parquet has no column 'b'; it has 'a', 'c'"):
        data.open(tmp_path)
    assert data.open(tmp_path, columns=["a"]).names == ("a",)
    save({"a": [1.0], "c": [3.0], "b": [2.0]}, tmp_path / "2.parquet")
    with pytest.warns(
        UserWarning, match=r"column 'c' of .*2\.parquet is ignored, because .*1\.parquet does not have it"
    ) as caught:
        table = data.open(tmp_path)
    assert caught[0].filename == __file__
    assert table.names == ("a", "b")
    assert len(table.notes) == 1
    with pytest.raises(data.SourceError, match=r"1\.parquet has no column 'z'"):
        data.open(tmp_path / "1.parquet", target="z")


def test_types_that_differ_between_files_are_widened_or_refused(tmp_path):
    save({"a": pa.array([1, 2]), "b": pa.array([1, 2], pa.float32()), "y": [1, 2]}, tmp_path / "1.parquet")
    save({"a": [0.5, None], "b": pa.array([None, None]), "y": [0.5, 1.0]}, tmp_path / "2.parquet")
    found = whole(data.open(tmp_path, target="y"))
    np.testing.assert_array_equal(found.X, [[1, 1], [2, 2], [0.5, np.nan], [np.nan, np.nan]])
    assert found.y.tolist() == [1.0, 2.0, 0.5, 1.0]
    save({"a": ["x", "y"], "b": [1, 2], "y": [0, 1]}, tmp_path / "2.parquet")
    with pytest.raises(data.SourceError, match=r"column 'a' is text in .*2\.parquet and int in .*1\.parquet"):
        data.open(tmp_path, target="y")
    assert data.open(tmp_path, target="y", columns=["b"]).n_rows == 4
    save({"a": pd.to_datetime(["2020-01-01"] * 2), "b": [1, 2], "y": [0, 1]}, tmp_path / "2.parquet")
    with pytest.raises(data.SourceError, match=r"column 'a' is date in .*2\.parquet and int in .*1\.parquet"):
        data.open(tmp_path, target="y")
    save({"a": [b"1", b"2"]}, tmp_path / "3.parquet")
    with pytest.raises(data.SourceError, match=r"column 'a' of .*3\.parquet has type binary, which is neither"):
        data.open(tmp_path / "3.parquet")


def test_files_without_rows_are_skipped_or_refused(tmp_path):
    save({"a": [1.0, 2.0]}, tmp_path / "2.parquet")
    save({"a": pa.array([], pa.string())}, tmp_path / "1.parquet")
    table = data.open(tmp_path)
    assert table.n_rows == 2
    assert table.notes == ("1 of 2 files have no rows and were skipped",)
    with pytest.raises(ValueError, match=r"there are no rows in .*1\.parquet"):
        data.open(tmp_path / "1.parquet")
    for name, text in (("a.csv", ""), ("b.csv", "x,y\n"), ("c.csv", "x,y\n1,2\n"), ("d.libsvm", "# none\n")):
        (tmp_path / name).write_text(text)
    assert data.open([tmp_path / f"{letter}.csv" for letter in "abc"]).notes[0].startswith("2 of 3 files")
    with pytest.raises(ValueError, match="there are no rows in"):
        data.open(tmp_path / "d.libsvm")


# -- a model and a file ------------------------------------------------------------------------------------------------


def test_a_model_finds_its_columns_by_name(tmp_path):
    frame = people(3000)
    X = frame.drop(columns="y")
    model = KernelClassifier(n_components=16, loss="squared", random_state=0, kernel=None, C=1.0, preparation=None).fit(
        X, frame["y"]
    )
    expected = model.predict(X)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["town", "height", "age"]])
    save(dict(frame[["town", "height", "age"]]), tmp_path / "a.parquet")
    np.testing.assert_array_equal(model.predict(data.open(tmp_path / "a.parquet")), expected)
    save(dict(frame[["town", "height", "y", "age"]]), tmp_path / "a.parquet")
    with pytest.warns(UserWarning, match="ignored, because the model has no columns with these names: 'y'"):
        np.testing.assert_array_equal(model.predict(data.open(tmp_path / "a.parquet")), expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.predict(data.open(tmp_path / "a.parquet", target="y")), expected)
    save(dict(frame[["town", "age"]]), tmp_path / "a.parquet")
    with pytest.raises(data.SourceError, match=r"a\.parquet has no column 'height'; it has 'town', 'age'"):
        model.predict(data.open(tmp_path / "a.parquet"))
    save(dict(X.assign(town=1.5)), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="column 'town' contained levels in fit, but contains numbers now"):
        model.predict(data.open(tmp_path / "a.parquet"))
    save(dict(X.assign(age="old")), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="column 'age' contained numbers in fit, but contains levels now"):
        model.predict(data.open(tmp_path / "a.parquet"))
    save(dict(X.assign(town="Lima")), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"the unknown level 'Lima' in row 0 of .*a\.parquet; known levels are 'Kyiv'"):
        model.predict(data.open(tmp_path / "a.parquet"))


def test_a_map_finds_its_columns_by_name(tmp_path):
    X, _ = numbers(100)
    save(dict(as_frame(X)), tmp_path / "1.parquet")
    save(dict(as_frame(X)[["x3", "x1", "x0", "x2"]]), tmp_path / "2.parquet")
    map = RandomFourier(n_components=8, random_state=0).fit(data.open(tmp_path / "1.parquet"))
    np.testing.assert_array_equal(map.transform(data.open(tmp_path / "2.parquet")), map.transform(as_frame(X)))
    assert map.set_output(transform="pandas").transform(data.open(tmp_path / "2.parquet")).shape == (100, 8)
    with pytest.raises(data.SourceError, match="has 3 features, but 4 are expected"):
        map.transform(data.open(X[:, :3]))
    save({"town": ["Oslo"]}, tmp_path / "3.parquet")
    with pytest.raises(ValueError, match="a map needs columns of numbers, found levels in 'town'"):
        map.fit(data.open(tmp_path / "3.parquet"))


# -- gaps and infinities -----------------------------------------------------------------------------------------------


def gaps(tmp_path):
    X, y = numbers(6000)
    X[4500, 1], X[5500, 2] = np.nan, np.inf
    save(dict(as_frame(X[:4200], y=y[:4200])), tmp_path / "1.parquet")
    save(dict(as_frame(X[4200:], y=y[4200:])), tmp_path / "2.parquet")
    return X, y


def test_gaps_and_infinities_have_a_file_and_a_row(tmp_path):
    X, y = gaps(tmp_path)
    with pytest.raises(data.SourceError, match=r"2\.parquet, row 1300: column 'x2' is infinite"):
        whole(data.open(tmp_path, target="y"))
    save(dict(as_frame(X[4200:5000], y=y[4200:5000])), tmp_path / "2.parquet")
    table = data.open(tmp_path, target="y")
    for model in (
        KernelRegressor(n_components=8, kernel=None, alpha=1.0, preparation=None),
        KernelRegressor("gaussian('median')", n_components=8, alpha=1.0, preparation=None),
    ):
        with pytest.raises(ValueError, match=r"NaN: row 300 of .*2\.parquet, column 'x1' is missing"):
            model.fit(table)
    with pytest.raises(ValueError, match=r"NaN or infinity in row 300 of .*2\.parquet$"):
        RandomFourier(n_components=8).fit(table)
    filled = KernelRegressor(
        n_components=8, missing="mean", random_state=0, kernel=None, alpha=1.0, preparation=None
    ).fit(table)
    np.testing.assert_array_equal(
        filled.coef_,
        KernelRegressor(n_components=8, missing="mean", random_state=0, kernel=None, alpha=1.0, preparation=None)
        .fit(X[:5000], y[:5000])
        .coef_,
    )
    with pytest.raises(ValueError, match=r"row 300 of .*2\.parquet"):
        KernelRegressor(n_components=8, kernel=None, alpha=1.0, preparation=None).fit(X[:100], y[:100]).predict(
            data.open(tmp_path, columns=table.names)
        )


def test_dropped_rows_are_those_of_the_columns_of_a_table(tmp_path, monkeypatch):
    frame = pd.DataFrame({"a": np.arange(100.0), "b": np.arange(100.0), "g": ["x", "y"] * 50, "y": np.arange(100.0)})
    frame.loc[[3, 4], "a"], frame.loc[[4, 5, 6], "b"], frame.loc[9, "y"] = np.nan, np.inf, np.nan
    save(dict(frame), tmp_path / "p.parquet")
    table = data.open(tmp_path / "p.parquet", target="y", columns=["a", "b"], drop=True)
    fewer = table.matched(["a"], 1, apart=["b"])
    assert (fewer.dropped, fewer.n_rows) == (3, 97)
    assert (table.dropped, table.n_rows) == (5, 95)
    list(fewer.blocks())
    assert table.dropped == 5  # even if another table has read it since
    assert table.matched(["b", "a"], 2).dropped == 5
    matrix = data.open(frame[["a", "b"]].to_numpy(), drop=True)
    alone = matrix.matched(None, 1, apart=[1])
    assert (alone.dropped, matrix.dropped) == (2, 4)
    fresh = data.open(tmp_path / "p.parquet", target="y", drop=True)
    parts = fresh.split(test=0.3)
    assert sum(part.n_rows for part in parts) == 95
    monkeypatch.setattr(type(fresh), "_kept_rows", None)  # no more passes: one has counted for all three
    assert [one.dropped for one in (fresh, *parts)] == [5, 5, 5]
    assert data.open(tmp_path / "p.parquet").dropped == 0


def test_a_split_by_a_column_with_gaps_drops_no_row_for_them(tmp_path):
    frame = pd.DataFrame({"a": np.arange(10.0), "g": [0.0, 1.0] * 5, "y": np.arange(10.0)})
    frame.loc[3, "a"], frame.loc[[5, 6], "g"] = np.nan, np.nan
    table = data.open(frame, target="y", drop=True)
    train, test = table.split(test=1.0, column="g")
    assert (table.dropped, train.dropped, test.dropped) == (3, 1, 1)


def test_dropped_rows_are_counted(tmp_path):
    X, y = gaps(tmp_path)
    sound = np.isfinite(X).all(axis=1)
    table = data.open(tmp_path, target="y", drop=True)
    assert table.n_rows == 5998
    assert table.dropped == 2
    model = KernelRegressor(n_components=8, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(table)
    np.testing.assert_array_equal(
        model.coef_,
        KernelRegressor(n_components=8, random_state=0, kernel=None, alpha=1.0, preparation=None)
        .fit(X[sound], y[sound])
        .coef_,
    )
    assert len(model.predict(table)) == 5998
    assert table.where(5990) == f"row 1792 of {tmp_path / '2.parquet'}"
    frame = people(50)
    frame.loc[3, "town"], frame.loc[7, "y"] = None, None
    save(dict(frame), tmp_path / "p.parquet")
    table = data.open(tmp_path / "p.parquet", target="y", drop=True)
    assert (table.n_rows, table.dropped) == (48, 2)
    with pytest.raises(data.SourceError, match=r"p\.parquet, row 7: the target is missing or infinite"):
        whole(data.open(tmp_path / "p.parquet", target="y"))


def test_weights_are_checked(tmp_path):
    for weight, message in ((-1.0, "must not be negative, found -1"), (np.nan, "is missing or infinite")):
        save({"a": [1.0, 2.0, 3.0], "w": [1.0, weight, 1.0]}, tmp_path / "a.parquet")
        with pytest.raises(data.SourceError, match=rf"a\.parquet, row 1: the weight {message}"):
            whole(data.open(tmp_path / "a.parquet", weight="w"))


def test_rows_outside_a_domain(tmp_path):
    X = np.abs(numbers(5000)[0])
    X[4100, 1] = -1.0
    save(dict(as_frame(X)), tmp_path / "a.parquet")
    table = data.open(tmp_path / "a.parquet")
    message = r"row 4100 of .*a\.parquet, column 1 has -1$"
    with pytest.raises(ValueError, match=message):
        AdditiveMap(AdditiveChi2()).fit(table)
    with pytest.raises(ValueError, match=message):
        AdditiveMap(AdditiveChi2()).fit(X[:9]).transform(table)


@pytest.mark.full
def test_an_error_names_pyarrow_if_it_is_missing(tmp_path):
    code = (
        "import sys; sys.modules['pyarrow'] = None; import numpy as np; from mercer import data\n"
        "data.open(np.eye(3)).n_rows\n"
        "try:\n    data.open(sys.argv[1])\n"
        'except ImportError as error:\n    sys.exit("mercer[io]" not in str(error))\n'
        "sys.exit(2)"
    )
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.parquet")], check=False).returncode == 0
