"""Classes of very different sizes."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import data, report

pytestmark = pytest.mark.xdist_group("imbalance")  # on one worker, so that what they share is made once

QUICK = "--rounds 1 --features 32 --kernel gaussian('median') --scale standard"


@pytest.fixture(scope="module")
def rare(tmp_path_factory):
    """A folder with rows of which one in 25 is a fraud, near the others, and new ones."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(4000) < 0.04, "fraud", "fine")
    X = rng.normal(size=(4000, 2)) + np.where(y == "fraud", 1.2, 0.0)[:, None]
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(kind=y)
    folder = tmp_path_factory.mktemp("rare")
    frame[:3000].to_csv(folder / "rare.csv", index=False)
    frame[3000:].to_csv(folder / "new.csv", index=False)
    return folder


@pytest.fixture
def here(rare, monkeypatch):
    monkeypatch.chdir(rare)
    return rare


def test_scores_come_with_a_word_on_classes(here, run, tmp_path):
    rows = pd.read_csv("rare.csv")["kind"]
    for words in (f"fit rare.csv --target kind --features 32 -o {tmp_path}/m", f"tune rare.csv --target kind {QUICK}"):
        printed = run(f"{words} -o {tmp_path}/m").stdout
        line = next(line for line in printed.splitlines() if line.startswith("classes are imbalanced"))
        for text in ("'fraud' has 4", "'fine' 9", "look at balanced accuracy", "--class-weight balanced"):
            assert text in line
        found = json.loads(run(f"{words} -o {tmp_path}/m --json").stdout)["imbalance"]
        assert found["shares"]["fraud"] == pytest.approx((rows == "fraud").mean(), abs=0.005)
        assert found["majority_accuracy"] == found["shares"]["fine"] == 1.0 - found["shares"]["fraud"]
    printed = run(f"evaluate {tmp_path}/m new.csv").stdout
    share = (pd.read_csv("new.csv")["kind"] == "fine").mean()
    assert f"always predicting 'fine' reaches {share:.4g}" in printed
    assert json.loads(run(f"evaluate {tmp_path}/m new.csv --json").stdout)["imbalance"]["majority_accuracy"] == share


def test_balanced_classes_count_alike(here, run, tmp_path):
    plain = json.loads(run(f"fit rare.csv --target kind --features 32 -o {tmp_path}/m --json").stdout)
    words = f"fit rare.csv --target kind --features 32 --class-weight balanced -o {tmp_path}/b"
    weighed = json.loads(run(f"{words} --json").stdout)
    assert weighed["scores"]["balanced accuracy"]["value"] > plain["scores"]["balanced accuracy"]["value"] + 0.1
    assert (mercer.load(tmp_path / "m").class_weight, mercer.load(tmp_path / "b").class_weight) == (None, "balanced")
    printed = run(words).stdout
    assert "look at balanced accuracy\n" in printed  # there is nothing more to try


def test_a_search_among_balanced_classes(here, run, tmp_path):
    words = f"tune rare.csv --target kind {QUICK} -o {tmp_path}/t --json"
    plain, weighed = (json.loads(run(f"{words} {more}").stdout) for more in ("", "--class-weight balanced"))
    assert mercer.load(tmp_path / "t").class_weight == "balanced"
    assert {trial["measure"] for trial in weighed["trials"]} == {"leave-one-out balanced accuracy", "balanced accuracy"}
    assert {trial["measure"] for trial in plain["trials"]} == {"leave-one-out accuracy", "accuracy"}
    assert weighed["scores"]["balanced accuracy"]["value"] > plain["scores"]["balanced accuracy"]["value"] + 0.1


def test_numbers_have_no_classes(folder, fails):
    for command in ("fit", "tune"):
        message = fails(f"{command} houses.csv --target price --class-weight balanced --dry-run")
        assert "--class-weight is for classification, found the task 'regression'" in message
    assert "imbalance" not in fails("evaluate houses.mercer flowers.csv --target kind -q")


@pytest.mark.parametrize(
    ("counts", "told"),
    [((90, 910), True), ((95, 905), False), ((10,) * 100, False), ((480, 480, 40), True), ((400, 400, 45), False)],
)
def test_the_largest_class_is_ten_times_the_rarest(counts, told):
    y = np.repeat(np.arange(len(counts)), counts)
    found = report.imbalance(data.open(np.zeros((len(y), 1)), target=y))
    assert (found is not None) == told


def test_weights_count_as_rows_do():
    y = np.repeat(["a", "b"], 50)
    table = data.open(np.zeros((100, 1)), target=y, weight=np.where(y == "a", 0.01, 1.0))
    assert report.imbalance(table).rarest == "a"
    assert report.imbalance(data.open(np.zeros((100, 1)), target=y)) is None
