"""The number of times that ``mercer fit`` reads a file that does not fit into memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mercer.data import csv, sources

N = 30_000


@pytest.mark.parametrize(("target", "reads"), [("number", 6), ("label", 5)])
def test_a_file_larger_than_memory_is_read_as_often_as_it_is_needed(run, tmp_path, monkeypatch, target, reads):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(0.5 * rng.normal(size=(N, 3)), columns=["a", "b", "number"])
    frame["number"] += np.sin(frame["a"])
    frame["town"] = np.where(frame["a"] > 0.0, "Oslo", "Rome")
    frame["label"] = np.where(frame["b"] > 0.0, "yes", "no")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    opened, ended = [], []
    read = csv.CsvFile.read

    def counted(self, start, names):
        opened.append(names)
        yield from read(self, start, names)
        ended.append(names)

    monkeypatch.setattr(csv.CsvFile, "read", counted)
    monkeypatch.setattr(sources, "NUMBERS_AT_ONCE", 1)
    other = "label" if target == "number" else "number"
    result = run(
        f"fit {tmp_path}/rows.csv --target {target} --exclude {other} --features 16 --loss squared --C 1 "
        f"--memory 400KB --kernel gaussian('median') -o {tmp_path}/model"
    )
    assert result.exit_code == 0, result.output
    # The rows held out are read for scores; those learned from for levels with labels and a sample, for
    # scales, for sums, for leave-one-out errors, and for the share of classes or the mean. The other openings are of
    # the first rows: the task, the plan, and the rows on which a model is scored.
    assert len(ended) == reads
    assert len(opened) <= reads + 3
