"""``mercer tune``."""

from __future__ import annotations

import json

import pytest

import mercer
from mercer.choose import search

QUICK = "--rounds 1 --features 32 --kernel gaussian('median') --kernel laplacian(0.5) --scale minmax"

DRY = "tune houses.csv --target price --dry-run"


@pytest.fixture
def quick(run, tmp_path):
    """A small search, as the object that it prints."""

    def invoke(words, name="m.mercer"):
        result = run(f"tune {words} {QUICK} -o {tmp_path / name} --json")
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        return json.loads(result.stdout)

    return invoke


@pytest.mark.parametrize(("data", "target"), [("houses", "price"), ("flowers", "kind")])
def test_the_model_is_the_best_of_what_was_tried(folder, run, quick, tmp_path, data, target):
    found = quick(f"{data}.csv --target {target} --seed 3")
    model = mercer.load(tmp_path / "m.mercer")
    tried = [trial for trial in found["trials"] if trial["round"] == 1]
    assert len(tried) == 8
    assert {trial["scale"] for trial in tried} == {"minmax"}
    best = max(tried, key=lambda trial: trial["score"])
    assert (repr(model.kernel), model.scale, model.callback) == (best["kernel"], "minmax", None)
    again = json.loads(run(f"evaluate {tmp_path}/m.mercer {data}.csv --target {target} --json -q").stdout)
    assert found["scores"].keys() == again["scores"].keys()
    assert found["rows"] + found["held_out"] == 400


@pytest.mark.parametrize(("data", "target"), [("houses", "price"), ("flowers", "kind")])
def test_without_kernels_the_search_starts_from_the_default(folder, run, tmp_path, data, target):
    command = f"tune {data}.csv --target {target} --rounds 1 --features 32 --seed 3 -o {tmp_path}/m"
    result = run(f"{command} --json" if data == "houses" else f"{command} --report {tmp_path}/page.html")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    model = mercer.load(tmp_path / "m")
    if data == "houses":
        found = json.loads(result.stdout)
        assert found["trials"][0]["measure"] == "held-out R2"
        assert max(trial["score"] for trial in found["trials"]) >= found["trials"][0]["score"]
        assert repr(model.map_.kernel_) == found["kernel"]
    else:
        for text in ("round 1: ", "held-out accuracy", "final fits: "):
            assert text in result.stdout
        assert "held-out accuracy" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_equal_seeds_and_rounds_make_the_same_file(folder, quick, tmp_path):
    for name in ("one", "two"):
        quick("flowers.csv --target kind --seed 1", name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_table_a_page_and_what_was_left_out(folder, run, tmp_path, monkeypatch):
    monkeypatch.setattr(search.Clock, "allows", lambda self, more, share=1.0: self.seconds is None)
    command = f"tune flowers.csv --target kind {QUICK} --rounds 2 --features 1024 -o {tmp_path}/m"
    result = run(f"{command} --minutes 1 --report {tmp_path}/page.html")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    for text in ("round 1: squared, ", "leave-one-out accuracy", "Gaussian(gamma=", "final fits: 321 rows",
                 "round 1 ended after 1 of 8 kernels for lack of time", "held-out rows"):  # fmt: skip
        assert text in result.stdout
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "What was tried" in page
    assert "for lack of time" in page


def test_a_dry_run_says_what_would_be_tried(folder, run):
    before = sorted(folder.iterdir())
    printed = run(DRY).stdout
    for text in ("regression: the target has fractions", "the default learner", "at most 2 minutes", "8,192"):
        assert text in printed
    assert "Laplacian(gamma='median')" in run(f"{DRY} --kernel laplacian('median')").stdout
    assert "without a time limit" in run(f"{DRY} --rounds 2").stdout
    assert sorted(folder.iterdir()) == before


def test_options_from_a_file(folder, run, tmp_path):
    (tmp_path / "o.toml").write_text('target = "price"\n[tune]\nkernel = ["laplacian(2)", "gaussian(1)"]\nrounds = 1\n')
    found = json.loads(run(f"tune houses.csv --config {tmp_path}/o.toml --dry-run --json").stdout)
    assert found["kernels"] == ["Laplacian(gamma=2)", "Gaussian(gamma=1)"]
    assert (found["minutes"], len(found["rounds"])) == (None, 1)


def test_what_cannot_be_tuned(folder, fails, tmp_path):
    assert "name the model file with -o MODEL" in fails("tune houses.csv --target price", code=2)
    assert "did you mean 'price'?" in fails(f"tune houses.csv --target prise -o {tmp_path}/m")
    assert "there is no folder" in fails(f"tune houses.csv --target price -o {tmp_path}/no/m")
    message = fails(f"tune flowers.csv --target kind --kernel additive_chi2() --rounds 1 -o {tmp_path}/m")
    assert "Negative values in data passed to AdditiveChi2(), which takes none" in message
    assert "flowers.csv" in message
    assert not (tmp_path / "m").exists()


def test_ctrl_c_leaves_the_old_model(folder, run, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    (tmp_path / "m").write_bytes(b"old")
    monkeypatch.setattr(search.Search, "_grown", interrupted)
    assert run(f"tune flowers.csv --target kind {QUICK} -o {tmp_path}/m").exit_code == 130
    assert (tmp_path / "m").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
