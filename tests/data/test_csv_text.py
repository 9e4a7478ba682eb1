"""The text of CSV files: encodings, delimiters, and the lines that messages name."""

from __future__ import annotations

import codecs
import gzip

import numpy as np
import pytest

from mercer import KernelRegressor, data
from mercer.data.block import concatenated
from mercer.data.csv import CsvFile
from mercer.data.csv_text import found_delimiter

TEXT = "größe,stadt,y\n" + "".join(f"{n}.5,{town},{n}\n" for n, town in enumerate(["Köln", "Århus", "Łódź"] * 4))


def whole(table):
    return concatenated(list(table.blocks()))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "cp1250"])
@pytest.mark.parametrize("packed", [False, True])
def test_files_in_other_encodings_are_read(tmp_path, encoding, packed):
    text = TEXT if encoding not in ("latin-1", "cp1252") else TEXT.replace("Łódź", "Málaga")
    text = text.replace("Å", "A") if encoding == "cp1250" else text
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    path.write_bytes(gzip.compress(text.encode(encoding)) if packed else text.encode(encoding))
    table = data.open(path, target="y", encoding=encoding)
    assert table.names == ("größe", "stadt")
    assert whole(table).X.parts["stadt"].tolist() == [line.split(",")[1] for line in text.splitlines()[1:]]
    with pytest.raises(data.SourceError, match=r"a\.csv.* give (the )?encoding") as refusal:
        data.open(path, target="y")
    assert "cannot be read as" not in str(refusal.value)
    if encoding in ("utf-16", "utf-32"):
        assert f"is {encoding.upper()} text, not UTF-8: give encoding='{encoding}'" in str(refusal.value)
    if encoding in ("latin-1", "cp1252", "cp1250"):
        assert "is not UTF-8 text" in str(refusal.value)


def test_a_mark_of_utf8_is_no_part_of_a_name(tmp_path):
    (tmp_path / "a.csv").write_bytes(codecs.BOM_UTF8 + TEXT.encode())
    assert data.open(tmp_path / "a.csv", target="y").names == ("größe", "stadt")
    (tmp_path / "b.csv").write_bytes(codecs.BOM_UTF8 + b"a;b\n1;\n")
    with pytest.warns(UserWarning, match="read with the delimiter ';'"):
        table = data.open(tmp_path / "b.csv")
    with pytest.raises(ValueError, match=r"line 2 of .*b\.csv, column 'b' is missing"):
        KernelRegressor(n_components=2, kernel=None, alpha=1.0, preparation=None).fit(
            data.open(tmp_path / "b.csv", target="a", delimiter=";")
        )
    assert table.names == ("a", "b")


def test_text_that_is_not_utf8_late_in_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.data.csv.READ_BYTES", 100)
    (tmp_path / "a.csv").write_bytes(b"town,y\n" + b"Oslo,1\n" * 50 + "Köln,2\n".encode("latin-1"))
    with pytest.raises(data.SourceError, match="is not UTF-8 text: give the encoding it was written in"):
        data.open(tmp_path / "a.csv", target="y")


def test_an_unknown_encoding_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n1,2\n")
    with pytest.raises(ValueError, match=r"encoding must be the name of one that Python knows.*found 'latin-99'"):
        data.open(tmp_path / "a.csv", encoding="latin-99")


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_another_delimiter_is_recognised_and_reported(tmp_path, mark):
    lines = [mark.join(line) for line in (("a", "b", "y"), ("1,5", '"x y"', "2"), ("2,5", f'"x{mark}y"', "3"))]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    with pytest.warns(UserWarning, match=r"a\.csv is read with the delimiter .*; if this is wrong") as told:
        table = data.open(tmp_path / "a.csv", target="y", decimal=".")
    assert repr(mark) in str(told[0].message)
    assert table.names == ("a", "b")
    assert any("the delimiter" in note for note in table.notes)
    assert whole(table).X.parts["b"].tolist() == ["x y", f"x{mark}y"]
    assert whole(table).X.parts["a"].tolist() == ["1,5", "2,5"]
    same = data.open(tmp_path / "a.csv", target="y", delimiter=mark, decimal=".")
    assert whole(same).X.parts["a"].tolist() == ["1,5", "2,5"]


DECIMALS = {
    "commas": ("1,5;a", "-2,25;b", ";c"),
    "commas and whole numbers": ("1;a", "2,5;b"),
    "small fractions": ("0,125;a", "0,500;b"),
    "powers": ("1,5e3;a", "2,5E-1;b"),
    "gaps": ("1,5;a", "NA;b", "2,5;c"),
}
NO_DECIMALS = {
    "points": ("1.5;a,b", "2.5;c,d"),
    "between thousands": ("1,500;a", "12,250;b"),
    "several": ("1,5,2;a", "2,5;b"),
    "words": ("1,5;a", "x;b"),
}


@pytest.mark.parametrize("name", DECIMALS)
def test_decimal_commas_are_recognised_and_reported(tmp_path, name):
    fields = [line.split(";") for line in DECIMALS[name]]
    (tmp_path / "a.csv").write_text("\n".join(["x;word", *DECIMALS[name]]) + "\n")
    with pytest.warns(UserWarning, match="is read with decimal commas, as in column 'x'; if this is wrong"):
        parts = whole(data.open(tmp_path / "a.csv", delimiter=";")).X.parts
    np.testing.assert_array_equal(
        parts["x"], [float(x.replace(",", ".").replace("NA", "") or "nan") for x, _ in fields]
    )
    assert parts["word"].tolist() == [word for _, word in fields]


@pytest.mark.parametrize("name", NO_DECIMALS)
def test_decimal_commas_are_not_assumed_in_doubtful_cases(tmp_path, name):
    fields = [line.split(";") for line in NO_DECIMALS[name]]
    (tmp_path / "a.csv").write_text("\n".join(["x;word", *NO_DECIMALS[name]]) + "\n")
    parts = whole(data.open(tmp_path / "a.csv", delimiter=";")).X.parts
    assert [str(x) for x in parts["x"].tolist()] == [x for x, _ in fields]


def test_decimal_commas_and_marks_of_missing_numbers_are_found_together(tmp_path):
    (tmp_path / "a.csv").write_text("x;z\n1,5;1\n?;2\n2,5;3\n")
    with pytest.warns(UserWarning, match=r"a\.csv (has|is read)") as told:
        X = whole(data.open(tmp_path / "a.csv", delimiter=";")).X
    assert ["decimal commas" in str(one.message) for one in told] == [True, False]
    np.testing.assert_array_equal(X, [[1.5, 1.0], [np.nan, 2.0], [2.5, 3.0]])


def test_decimal_commas_are_not_meant_where_a_column_has_points(tmp_path):
    (tmp_path / "a.csv").write_text("x;z\n1,5;1.5\n2,5;2.5\n")
    assert whole(data.open(tmp_path / "a.csv", delimiter=";")).X.parts["x"].tolist() == ["1,5", "2,5"]
    asked = data.open(tmp_path / "a.csv", delimiter=";", decimal=",")
    assert whole(asked).X.parts["x"].tolist() == [1.5, 2.5]
    assert not asked.notes


@pytest.mark.parametrize(("decimal", "message"), [(";", "must be '.' or ',', found ';'"), (",", "must differ")])
def test_an_unknown_decimal_mark_is_refused(tmp_path, decimal, message):
    (tmp_path / "a.csv").write_text("x,z\n1,2\n")
    with pytest.raises(ValueError, match=message):
        data.open(tmp_path / "a.csv", delimiter=",", decimal=decimal)


def test_marks_of_missing_numbers_are_recognised_and_reported(tmp_path):
    text = "x;z;word\n?;1,5;?\n2;-;a\n3;2,5;b\n-;3,5;-\n"
    (tmp_path / "a.csv").write_text(text)
    with pytest.warns(UserWarning, match=r"has '\?' and '-' among the numbers of column 'x'"):
        parts = whole(data.open(tmp_path / "a.csv", delimiter=";", decimal=",")).X.parts
    np.testing.assert_array_equal(parts["x"], [np.nan, 2.0, 3.0, np.nan])
    np.testing.assert_array_equal(parts["z"], [1.5, np.nan, 2.5, 3.5])
    assert parts["word"].tolist() == [None, "a", "b", None]


@pytest.mark.parametrize("entries", [["?", "a", "b"], ["?", "?", "?"], ["?", "1", "b"], ["x", "1", "2"]])
def test_marks_among_words_are_words(tmp_path, entries):
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{entry},1\n" for entry in entries))
    table = data.open(tmp_path / "a.csv")
    assert whole(table).X.parts["x"].tolist() == entries
    assert not table.notes


@pytest.mark.parametrize("length", [1, 18, 19, 20, 40])
def test_another_delimiter_is_found_where_the_first_lines_end_within_quotes(tmp_path, length):
    text = 'a;b\n"' + "x\n" * length + '";1\ny;2\n'
    (tmp_path / "a.csv").write_text(text)
    assert found_delimiter(tmp_path / "a.csv", "utf-8", ",") == ";"
    (tmp_path / "a.csv").write_text("a;b\n" + "1;x\n" * (length + 10) + f'"{"x" * 70_000}\n')  # never closed
    assert found_delimiter(tmp_path / "a.csv", "utf-8", ",") == ";"


def test_commas_in_a_tsv(tmp_path):
    (tmp_path / "a.tsv").write_text("a,y\n1,2\n")
    with pytest.warns(UserWarning, match="read with the delimiter ','"):
        assert data.open(tmp_path / "a.tsv").names == ("a", "y")


@pytest.mark.parametrize(
    "text",
    ["a;b\n1\n2\n", "a\n1;2\n", "a,b;c\n1,2\n", '"a;b"\n1\n2\n', "a;b\n1;2\n3;4;5\n", "a\n1\n", "a;b;c\n1\n", ""],
)
def test_nothing_is_guessed_in_doubtful_cases(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    assert found_delimiter(tmp_path / "a.csv", "utf-8", ",") == ","


@pytest.mark.parametrize("packed", [False, True])
def test_a_row_is_named_by_its_line(tmp_path, packed):
    text = 'a,b,y\n1,one,1\n\n2,"two\nlines",2\n3,"say ""hi""",3\n\n\n,four,4\n5,it is 5" long,5\n,six,6\n'
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    table = data.open(path, target="y")
    lines = [table.where(row) for row in range(table.n_rows)]
    assert lines == [f"line {line} of {path}" for line in (2, 4, 6, 9, 10, 11)]
    with pytest.raises(ValueError, match=r"NaN: line 9 of .*, column 'a' is missing; missing='mean' fills it") as error:
        KernelRegressor(n_components=4, kernel=None, alpha=1.0, preparation=None).fit(table)
    assert "row 3" not in str(error.value)
    dropping = data.open(path, target="y", drop=True)
    assert (dropping.n_rows, dropping.dropped, dropping.read) == (4, 2, 6)
    assert dropping.where(3) == f"line 10 of {path}"
    assert dropping.split(test=0.5)[0].dropped == 2


def test_lines_of_rows_without_a_last_break_and_with_other_ends(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,y\r\n1,1\r\n2,2\r\nnan,3")
    table = data.open(tmp_path / "a.csv", target="y")
    assert [table.where(row).split(" of ")[0] for row in range(3)] == ["line 2", "line 3", "line 4"]
    np.testing.assert_array_equal(whole(table).y, [1, 2, 3])


@pytest.mark.parametrize("size", [64, 100, 333, 1 << 20])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_breaks_within_quotes_are_not_rows(tmp_path, monkeypatch, size, end):
    monkeypatch.setattr("mercer.data.csv.READ_BYTES", size)
    texts = [f"one of {n}{end}two, of {n}" if n % 3 == 0 else f"t{n}" for n in range(60)]
    lines = [f'{n},"{text}",{n % 7}' for n, text in enumerate(texts)]
    (tmp_path / "a.csv").write_bytes(end.join(["n,text,y", *lines, ""]).encode())
    table = data.open(tmp_path / "a.csv", target="y")
    assert table.n_rows == 60
    block = whole(table)
    assert block.X.parts["text"].tolist() == texts
    assert block.y.tolist() == [n % 7 for n in range(60)]
    assert table.where(30) == f"line {2 + 30 + 10} of {tmp_path / 'a.csv'}"


def test_a_quote_that_is_not_closed(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.data.csv.READ_BYTES", 100)
    (tmp_path / "a.csv").write_text('n,text\n1,"open\n' + "2,x\n" * 200)
    with pytest.raises(
        data.SourceError, match=r"a\.csv has a field of more than 100 bytes: is a closing quote missing"
    ):
        data.open(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("late", "kind"),
    [
        (["1", "2", "3"], "int"),
        (["1", "2.5", "3"], "float64"),
        ([str(2**53 + 1), "2", "3"], "int"),
        (["1.5", "2", "-3e2"], "float64"),
        (["2024-01-31", "2024-02-01", "2024-02-01 12:00:00"], "date"),
        (["true", "false", "true"], "bool"),
        (["x", "1", "2"], "text"),
        (["1", "2", "x"], "text"),
        (["1.5", "2024-01-31", "x"], "text"),
    ],
)
def test_a_column_that_is_empty_at_first(tmp_path, monkeypatch, late, kind):
    monkeypatch.setattr("mercer.data.csv.READ_BYTES", 64)
    lines = [f"{n},,{n}" for n in range(40)]
    for place, value in zip((10, 25, 39), late, strict=True):
        lines[place] = f"{place},{value},{place}"
    (tmp_path / "a.csv").write_text("\n".join(["n,late,y", *lines]) + "\n")
    table = data.open(tmp_path / "a.csv", target="y")
    assert table._columns.kinds["late"] == kind
    found = whole(table).X
    if kind in ("int", "float64"):
        expected = np.full(40, np.nan)
        expected[[10, 25, 39]] = [float(value) for value in late]
        np.testing.assert_array_equal(found[:, 1], expected)
    elif kind == "text":
        assert [value for value in found.parts["late"].tolist() if value is not None] == late
    else:
        assert table.levels == (("late",) if kind == "bool" else ())


def test_one_late_column_of_text_leaves_the_others_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.data.csv.READ_BYTES", 64)
    lines = [f"{n},,,,{n}" for n in range(20)] + [f"{n},{n}.5,{n},{n},{n}" for n in range(20, 60)]
    (tmp_path / "a.csv").write_text("\n".join(["n,a,b,c,y", *lines, "60,7,1e1,oops,60"]) + "\n")
    table = data.open(tmp_path / "a.csv", target="y")
    assert table._columns.kinds == {"n": "int", "a": "float64", "b": "int", "c": "text", "y": "int"}
    parts = whole(table).X.parts
    np.testing.assert_array_equal(parts["a"][20:], [*(np.arange(20, 60) + 0.5), 7])
    np.testing.assert_array_equal(parts["b"][20:], [*range(20, 60), 10])
    assert parts["c"].tolist()[20:] == [*map(str, range(20, 60)), "oops"]


def test_large_whole_labels_that_come_late_are_not_rounded(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.data.csv.READ_BYTES", 64)
    labels = 2**53 + np.arange(60) % 3
    (tmp_path / "a.csv").write_text("n,y\n" + "1,\n" * 40 + "".join(f"2,{label}\n" for label in labels))
    found = whole(data.open(tmp_path / "a.csv", target="y", drop=True))
    assert found.y.tolist() == labels.tolist()
    (tmp_path / "a.csv").write_text("n,y\n" + "1,\n" * 40 + "".join(f"2,{label}\n" for label in labels) + "1,1e1\n")
    with pytest.raises(data.SourceError, match="invalid value '1e1'"):
        whole(data.open(tmp_path / "a.csv", target="y", drop=True))


def test_columns_that_are_empty_at_first_take_no_pass_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.data.csv.READ_BYTES", 64)
    lines = [f"{n},,,{n}" for n in range(20)] + [f"{n},{n},2024-01-31,{n}" for n in range(20, 60)]
    (tmp_path / "a.csv").write_text("\n".join(["n,a,b,y", *lines]) + "\n")
    opened = []
    monkeypatch.setattr(CsvFile, "_open", lambda self, *given, was=CsvFile._open: opened.append(1) or was(self, *given))
    table = data.open(tmp_path / "a.csv", target="y")
    assert table._columns.kinds == {"n": "int", "a": "int", "b": "date", "y": "int"}
    assert len(opened) == 2  # one for the names and first types, one to count


@pytest.mark.parametrize("tail", ['7,"two\nlines"', "7,x"])
def test_text_that_comes_late_may_have_breaks(tmp_path, monkeypatch, tail):
    monkeypatch.setattr("mercer.data.csv.READ_BYTES", 64)
    (tmp_path / "a.csv").write_text("n,a\n" + "1,\n" * 40 + f"{tail}\n" * 20)
    table = data.open(tmp_path / "a.csv")
    assert table._columns.kinds["a"] == "text"
    assert table.n_rows == 60
