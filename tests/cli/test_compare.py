"""``mercer compare``."""

from __future__ import annotations

import json


def test_tables_pictures_and_pages(folder, run, tmp_path):
    common = "compare flowers.csv --target kind --maps nystrom,orthogonal-fourier --features 16,32 --loss squared"
    result = run(f"{common} --plot {tmp_path}/c.png --html {tmp_path}/c.html --json --exact-rows 100")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    names = [(entry["map"], entry["features"]) for entry in found["entries"]]
    assert names[1:] == [(name, width) for width in (16, 32) for name in ("Nystrom", "OrthogonalFourier")]
    assert found["entries"][0]["rows"] == 100
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "c.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    printed = run(common).stdout
    for text in ("features", "exact, 348 rows", "OrthogonalFourier", "accuracy", "95 % interval"):
        assert text in printed


def test_what_cannot_be_compared(folder, fails, tmp_path):
    assert "did you mean 'Nystrom'?" in fails("compare flowers.csv --target kind --maps nystorm", code=2)
    assert "integers separated by commas, found '1e3'" in fails(
        "compare flowers.csv --target kind --features 1e3", code=2
    )
    assert "does not support" in fails("compare flowers.csv --target kind --maps tensor_sketch")
    assert "there is no folder" in fails(f"compare flowers.csv --target kind --html {tmp_path}/no/c.html")
    assert "must end in .png or .svg or .pdf, found maps" in fails("compare flowers.csv --target kind --plot maps")
    assert "--target" in fails("compare flowers.csv", code=2)


def test_the_table_fits_a_terminal_of_80_columns(folder, run, monkeypatch):
    monkeypatch.setattr("mercer.cli.output.PLAIN_WIDTH", 80)
    printed = run("compare flowers.csv --target kind --features 16,1024 --loss squared --exact-rows 100").stdout
    lines = [line.rstrip() for line in printed.splitlines()]
    assert max(map(len, lines)) <= 80
    assert sum(" to 0." in line or " to 1." in line for line in lines) == 1 + 2 * 7  # no cell of a map is broken
    assert sum(line.startswith("StructuredFourier ") for line in lines) == 2
