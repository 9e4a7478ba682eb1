"""Places in CSV files from which reading can start."""

import gzip

import numpy as np
import pytest

from mercer.data import csv_places
from mercer.data.csv import CsvFile

pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")

PLAIN = "a,b,c\n" + "".join(f"{i},{i * 0.5},t{i}\n" for i in range(300))
QUOTED = "a,b,c\n" + "".join(f'{i},{i * 0.5},"t{i}, ""x""\n{"y" * (37 * i % 300)}"\n' for i in range(300))

CERTAIN = {
    "plain": PLAIN,
    "no last line break": PLAIN[:-1],
    "two bytes for a line break": PLAIN.replace("\n", "\r\n"),
    "empty lines": "\n\n" + PLAIN.replace("7\n", "7\n\n"),
    "empty lines of two bytes": ("\n" + PLAIN.replace("7\n", "7\n\n")).replace("\n", "\r\n"),
    "line breaks in quotes": QUOTED,
    "a mark": "\ufeff" + QUOTED,
    "a mark before a quote": '\ufeff"a","b","c"\n' + QUOTED[6:],
    "semicolons": PLAIN.replace(",", ";"),
    "one column": "a\n" + "".join(f"{i}\n\n" for i in range(300)),
    "rows without entries": "a,b\n" + "".join(f"{i},2\n" if i % 3 == 0 else ",\n" for i in range(300)),
}
UNCERTAIN = {
    "another line break": PLAIN.replace("\n", "\r"),
    "a quote in a field": PLAIN.replace("t7\n", 't"7\n'),
    "text after a quote": PLAIN.replace("t7\n", '"t"7\n'),
}


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    monkeypatch.setattr(csv_places, "PLACE_BYTES", 200)


def read(file, start, names):
    frames = [frame.to_pandas() for frame in file.read(start, names)]
    return pandas.concat(frames, ignore_index=True)


def check_reading(file):
    names = tuple(file.schema)
    for wanted in (names, names[-1:]):
        whole = read(file, 0, wanted)
        assert len(whole) == file.n_rows == 300
        for start in (1, 100, 150, 299):
            pandas.testing.assert_frame_equal(read(file, start, wanted), whole[start:].reset_index(drop=True))


@pytest.mark.parametrize("name", CERTAIN)
def test_reading_starts_at_places(name, tmp_path):
    (tmp_path / "rows.csv").write_bytes(CERTAIN[name].encode())
    file = CsvFile(tmp_path / "rows.csv")
    check_reading(file)
    assert len(file._places) >= 5
    assert (np.diff([place.row for place in file._places]) > 0).all()


@pytest.mark.parametrize("name", UNCERTAIN)
def test_what_is_uncertain_is_read_from_the_beginning(name, tmp_path):
    (tmp_path / "rows.csv").write_bytes(UNCERTAIN[name].encode())
    file = CsvFile(tmp_path / "rows.csv")
    check_reading(file)
    assert file._places == ()


def test_other_encodings(tmp_path):
    for encoding, count in (("latin-1", 5), ("utf-16", 0)):
        (tmp_path / "rows.csv").write_bytes(PLAIN.replace("t", "é").encode(encoding))
        file = CsvFile(tmp_path / "rows.csv", encoding=encoding)
        check_reading(file)
        assert (len(file._places) >= count) if count else not file._places


def test_compressed_files_have_no_places(tmp_path):
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(PLAIN.encode()))
    file = CsvFile(tmp_path / "rows.csv.gz")
    check_reading(file)
    assert file._places == ()
