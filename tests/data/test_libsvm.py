"""LIBSVM files: the compiled reader against its reference in Python and against scikit-learn, and hostile files."""

from __future__ import annotations

import gzip
import math
import os
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from mercer import KernelClassifier, TensorSketch, _core, data
from mercer._core import _libsvm
from mercer._core._libsvm import libsvm
from mercer.data.block import concatenated

from ..fuzz_libsvm import broken_text, outcome

NUMBERS = [
    "0", "1", "-1", "+1", "1.", ".5", "-.5", "0.1", "3.14159", "123456789012345678", "1234567890123456789",
    "9007199254740993", "0.30000000000000004", "1e5", "1E-5", "-2.5e+3", "1e22", "1e23", "5e-324", "1e-400", "1e400",
    "2.2250738585072011e-308", "1.7976931348623157e308", "0.000000000000000000000001", "inf", "-Infinity",
    "00012.50", "179769313486231580793728971405301e276", "0." + "3" * 400, "7" * 400, "6" * 100 + "." + "1" * 100,
]  # fmt: skip


def whole(path, **options):
    return concatenated(list(data.open(path, **options).blocks()))


@pytest.fixture(params=["compiled", "reference"])
def reader(request, monkeypatch):
    if request.param == "reference":
        monkeypatch.setattr(_libsvm._library, "AVAILABLE", False)
    elif not _core.AVAILABLE:
        pytest.skip("MERCER_ISA=none asks for no compiled core")
    return request.param


def test_decimals_are_read_as_python_reads_them(reader):
    for text in NUMBERS:
        rows = libsvm(f"{text} 1:{text}\n".encode(), base=1)
        expected = float(text)
        assert rows.values.tolist() == rows.labels.tolist() == [expected], text
        assert math.copysign(1.0, rows.values[0]) == math.copysign(1.0, expected)
    assert math.isnan(libsvm(b"1 1:nan\n").values[0])


def test_random_doubles_come_back(reader):
    bits = np.random.default_rng(0).integers(0, 2**64, size=1500, dtype=np.uint64).view(np.float64)
    values = bits[np.isfinite(bits)]
    for form in ("{!r}", "{:.17g}", "{:.25e}", "{:.3g}"):
        texts = [form.format(value) for value in values.tolist()]
        rows = libsvm("".join(f"{text}\n" for text in texts).encode())
        np.testing.assert_array_equal(rows.labels, [float(text) for text in texts])


def test_every_form_of_line_is_read(reader):
    text = b"# head\n\n1 1:2 3:4 # rest 5:6\n  -1\t2:5\r\n\t\n0 qid:7 4:1\n2#\n-3 # 9:9\n"
    rows = libsvm(text, base=1)
    assert rows.labels.tolist() == [1, -1, 0, 2, -3]
    assert rows.starts.tolist() == [0, 2, 3, 4, 4, 4]
    assert rows.indices.tolist() == [0, 2, 1, 3]
    assert rows.values.tolist() == [2, 4, 5, 1]
    assert (rows.n_lines, rows.least, rows.most) == (8, 1, 4)
    assert libsvm(text, count=True)[:5] == rows[:5]
    assert libsvm(text, index=np.int32).indices.dtype == np.int32
    assert libsvm(b"\n")[:5] == (1, 0, 0, -1, -1)


FAULTS = [
    ("x 1:2", "expected a label, found 'x'"),
    ("1:2 3:4", "expected a label, found '1:2'"),
    ("1,3 1:2", "expected one label, found several: '1,3'"),
    ("1 2", "expected index:value, found '2'"),
    ("1 a:2", "expected index:value, found 'a:2'"),
    ("1 2:3:4", "expected a number after the colon, found '2:3:4'"),
    ("1 1.5:2", "expected index:value, found '1.5:2'"),
    ("1 -3:2", "an index must not be negative, found '-3:2'"),
    ("1 1234567890123456789:2", "an index must have at most 18 digits"),
    ("1 0:2", "indices count from 1, found '0:2': zero_based=True counts them from 0"),
    ("1 5:1 3:2", "indices must increase, found '3:2' after a larger one"),
    ("1 3:1 3:2", "an index must not be repeated, found '3:2' again"),
    ("1 3:", "expected a number after the colon, found '3:'"),
    ("1 3:1e", "expected a number after the colon, found '3:1e'"),
    ("1 3:0x10", "expected a number after the colon, found '3:0x10'"),
    ("1 3:+-1", "expected a number after the colon"),
    ("1 3:1_0", "expected a number after the colon"),
    ("1 3:nan(4)", "expected a number after the colon"),
    ("1 qid:x 3:1", "expected index:value, found 'qid:x'"),
    ("1 3:1\x002", "expected a number after the colon"),
]


@pytest.mark.parametrize(("line", "message"), FAULTS)
def test_faults_have_a_file_and_a_line(tmp_path, reader, line, message):
    path = tmp_path / "rows.libsvm"
    path.write_text(f"1 1:1\n\n# nothing\n{line}\n1 1:1\n")
    with pytest.raises(data.SourceError, match=r"rows\.libsvm, line 4: ") as caught:
        whole(path, zero_based=False)
    assert message in str(caught.value)


def test_the_two_readers_agree_on_random_text(monkeypatch):
    if not _core.AVAILABLE:
        pytest.skip("MERCER_ISA=none asks for no compiled core")
    monkeypatch.setattr(_libsvm._library, "AVAILABLE", True)  # as it is, and as it will be again
    rng = np.random.default_rng(0)
    for _ in range(3000):
        text, options = broken_text(rng), {"base": int(rng.integers(0, 2)), "count": bool(rng.random() < 0.3)}
        assert outcome(text, True, **options) == outcome(text, False, **options)


def sparse_rows(n=3000, d=50, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.1)
    X[0, 0] = 1.0  # so that counting from 0 shows
    return sp.csr_array(X), np.where(rng.random(n) < 0.5, -1.0, 1.0)


@pytest.mark.parametrize("zero_based", [False, True])
@pytest.mark.parametrize("size", [100, 5000, 1 << 22])
def test_a_file_is_read_as_scikit_learn_reads_it(tmp_path, monkeypatch, size, zero_based):
    monkeypatch.setattr("mercer.data.libsvm.READ_BYTES", size)
    X, y = sparse_rows(500)
    path = tmp_path / "rows.libsvm"
    data.write_libsvm(path, X, y, zero_based=zero_based)
    expected, labels = load_svmlight_file(str(path))
    table = data.open(path)
    assert (table.n_rows, table.width) == (500, 50)
    found = concatenated(list(table.blocks()))
    assert abs(found.X - expected).max() == 0
    assert (found.X.dtype, found.X.indices.dtype) == (np.float64, np.int32)
    np.testing.assert_array_equal(found.y, labels)
    assert abs(found.X - X).max() == 0
    (tmp_path / "rows.libsvm.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert abs(whole(tmp_path / "rows.libsvm.gz").X - X).max() == 0


def test_a_pass_begins_in_the_middle_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.data.libsvm.READ_BYTES", 20_000)
    X, y = sparse_rows(10_000)
    for name, rows in (("1.libsvm", slice(0, 6000)), ("2.libsvm", slice(6000, None))):
        data.write_libsvm(tmp_path / name, X[rows], y[rows])
    table = data.open(tmp_path)
    for start in range(4):
        found = list(table.blocks(start))
        if start < 3:
            np.testing.assert_array_equal(concatenated(found).X.toarray(), X[4096 * start :].toarray())
        else:
            assert not found


def test_where_indices_begin_is_decided_once(tmp_path):
    (tmp_path / "1.libsvm").write_text("1 2:5\n")
    (tmp_path / "2.libsvm").write_text("1 0:5 3:1\n")
    np.testing.assert_array_equal(whole(tmp_path).X.toarray(), [[0, 0, 5, 0], [5, 0, 0, 1]])
    np.testing.assert_array_equal(whole(tmp_path / "1.libsvm").X.toarray(), [[0, 5]])
    np.testing.assert_array_equal(
        whole(tmp_path / "1.libsvm", zero_based=True, n_features=4).X.toarray(), [[0, 0, 5, 0]]
    )
    with pytest.raises(data.SourceError, match=r"2.libsvm has index 3, but there are 2 features"):
        data.open(tmp_path, n_features=2)
    with pytest.raises(ValueError, match="zero_based must be one of"):
        data.open(tmp_path, zero_based="maybe")


@pytest.mark.parametrize("index", [10**9, 2**31 + 5, 10**17])
def test_a_large_index_costs_no_memory(tmp_path, index):
    path = tmp_path / "rows.libsvm"
    path.write_text(f"1 1:1 {index}:2.5\n-1 7:1\n")
    tracemalloc.start()
    found = whole(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6 + 2 * 2**22
    assert found.X.shape == (2, index)
    assert found.X.indices.dtype == (np.int32 if index < 2**31 else np.int64)
    assert found.X.indices.tolist() == [0, index - 1, 6]


def test_a_row_with_a_million_entries(tmp_path):
    path = tmp_path / "rows.libsvm"
    path.write_text("1 3:1\n-1 " + " ".join(f"{j}:{j}" for j in range(1, 10**6 + 1)) + "\n1 5:2\n")
    found = whole(path)
    assert np.diff(found.X.indptr).tolist() == [1, 10**6, 1]
    np.testing.assert_array_equal(found.X[[1], :].toarray()[0], np.arange(1, 10**6 + 1))


def test_a_file_that_was_cut(tmp_path):
    path = tmp_path / "rows.libsvm"
    path.write_text("1 1:0.25 2:0.5\n-1 1:0.25 2:")
    with (
        pytest.raises(data.SourceError, match=r"rows.libsvm, line 2: expected a number after the colon, found '2:'"),
        pytest.warns(UserWarning, match="may be truncated"),
    ):
        whole(path)
    path.write_text("1 1:0.25 2:0.5\n-1 1:0.25 2:0.")
    with pytest.warns(
        UserWarning, match=r"the last line of .*rows.libsvm has no line break: the file may be truncated"
    ):
        table = data.open(path)
    assert len(table.notes) == 1
    packed = gzip.compress(b"1 1:0.25 2:0.5\n" * 1000)
    (tmp_path / "rows.libsvm.gz").write_bytes(packed[:-20])
    with pytest.raises(data.SourceError, match=r"rows.libsvm.gz cannot be read as LIBSVM"):
        data.open(tmp_path / "rows.libsvm.gz")


def test_gaps_and_infinities_have_a_file_and_a_row(tmp_path):
    path = tmp_path / "rows.libsvm"
    path.write_text("1 1:2\n-1 2:nan 3:1\n1 1:1 3:-inf\n1 2:5\n")
    with pytest.raises(data.SourceError, match=r"rows\.libsvm, row 2: column 2 is infinite"):
        whole(path)
    table = data.open(path, drop=True)
    assert (table.n_rows, table.dropped) == (2, 2)
    path.write_text("1 1:2\n-1 2:nan 3:1\n1 2:5\n")
    with pytest.raises(ValueError, match=r"NaN: row 1 of .*rows\.libsvm, column 1 is missing"):
        KernelClassifier(n_components=8, loss="squared", kernel=None, C=1.0, preparation=None).fit(data.open(path))


@pytest.mark.parametrize("size", [16, 100, 1 << 22])
def test_lines_of_any_length_and_end(tmp_path, monkeypatch, size):
    monkeypatch.setattr("mercer.data.libsvm.READ_BYTES", size)
    lines = ["1 " + " ".join(f"{j}:{j}" for j in range(1, length)) for length in (2, 50, 3, 1, 200, 7)]
    for end in ("\n", "\n\n# done\n", "\r\n"):
        (tmp_path / "a.libsvm").write_bytes((end.join(lines) + end).encode())
        found = whole(tmp_path / "a.libsvm")
        assert np.diff(found.X.indptr).tolist() == [1, 49, 2, 0, 199, 6]
        assert found.X.data.tolist() == (found.X.indices + 1).tolist()
    (tmp_path / "a.libsvm").write_text("\n".join(lines))
    with pytest.warns(UserWarning, match="may be truncated"):
        assert np.diff(whole(tmp_path / "a.libsvm").X.indptr).tolist() == [1, 49, 2, 0, 199, 6]


def test_learners_and_maps_accept_files(tmp_path):
    X, y = sparse_rows()
    path, few = tmp_path / "rows.libsvm", tmp_path / "few.libsvm"
    data.write_libsvm(path, X, y)
    data.write_libsvm(few, X[:, :20], y)
    table = data.open(path)
    given = {"n_components": 32, "loss": "squared", "random_state": 0}
    model, expected = (
        KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | given)).fit(table),
        KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | given)).fit(X, y),
    )
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.predict(table), expected.predict(X))
    zeros = sp.csr_array((X[:, :20].data, X[:, :20].indices, X[:, :20].indptr), shape=X.shape)
    narrow = data.open(few)
    np.testing.assert_array_equal(model.predict(narrow), expected.predict(zeros))
    assert narrow.width == next(narrow.blocks()).X.shape[1] == 20
    with pytest.raises(data.SourceError, match=r"rows.libsvm has 50 features, but 20 are expected"):
        KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | given)).fit(narrow).predict(table)
    sketch = TensorSketch(n_components=16, random_state=0)
    np.testing.assert_array_equal(sketch.fit(table).transform(table), sketch.fit(X).transform(X))


def test_written_files_are_read_back(tmp_path):
    path = tmp_path / "rows.libsvm"
    X = np.array([[0.1, 0.0, -3.0], [0.0, 0.0, 0.0], [1e-300, 2.0**60, np.float32(0.1)]])
    data.write_libsvm(path, X, [1, 0, 0.5])
    assert path.read_text() == f"1 1:0.1 3:-3\n0\n0.5 1:1e-300 2:{2.0**60!r} 3:{float(np.float32(0.1))!r}\n"
    np.testing.assert_array_equal(whole(path).X.toarray(), X)
    with pytest.raises(ValueError, match=r"y must have shape \(3,\), found \(2,\)"):
        data.write_libsvm(path, X, [1, 2])
    with pytest.raises(ValueError, match="could not convert string"):
        data.write_libsvm(path, X, ["a", "b", "c"])
    assert [file.name for file in tmp_path.iterdir()] == ["rows.libsvm"]
    np.testing.assert_array_equal(whole(path).X.toarray(), X)


def test_a_file_is_written_as_others_are(tmp_path):
    X = np.eye(2)
    path, link = tmp_path / "rows.libsvm", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o600)
    link.symlink_to(path)
    (tmp_path / f".rows.libsvm.{os.getpid()}").write_text("precious")
    data.write_libsvm(link, X)
    assert link.is_symlink()
    assert path.read_text() == "0 1:1\n0 2:1\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / f".rows.libsvm.{os.getpid()}").read_text() == "precious"
