"""The output of ``--json`` stays as it is: one golden file per command, without times and machine-dependent values."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from mercer.cli.command_group import COMMANDS

FOLDER = Path(__file__).parent / "golden"
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?:e[-+]\d+)?")
MASKED = {"bytes", "sha256", "versions", "seconds", "fit_seconds", "predict_seconds"}
COMMAND_LINES = {
    "compare": "compare flowers.csv --target kind --maps nystrom --features 16 --loss squared --exact-rows 50",
    "diagnose": "diagnose flowers.csv --target kind",
    "evaluate": "evaluate houses.mercer houses.csv --target price --resamples 20",
    "export": "export flowers.mercer -o {tmp}/m.onnx",
    "fit": "fit flowers.csv --target kind --loss logistic --features 64 -o {tmp}/m.mercer",
    "fit_regression": "fit houses.csv --target price --features 64 --alpha 0.1 -o {tmp}/m.mercer",
    "fit_target_error": "fit flowers.csv --target kind --loss squared --target-error 0.1 -o {tmp}/m.mercer",
    "fit_dry_run": "fit houses.csv --target price --dry-run --threads 1",
    "inspect": "inspect flowers.mercer",
    "maps": "maps --kernel polynomial(2)",
    "predict": "predict houses.mercer houses.csv -o {tmp}/p.csv",
    "transform": "transform houses.mercer houses.csv -o {tmp}/z.npy",
    "tune": "tune flowers.csv --target kind --kernel gaussian('median') --scale standard --loss squared --rounds 1 "
    "--features 64 -o {tmp}/m.mercer",
    "tune_dry_run": "tune houses.csv --target price --dry-run",
}


def masked(value, name=None):
    """A value without the parts that differ from run to run."""
    if name in MASKED:
        return "masked"
    if isinstance(value, dict):
        return {key: masked(one, key) for key, one in value.items()}
    return [masked(one) for one in value] if isinstance(value, list) else value


def assert_same(found, golden, where=""):
    """Check names, order, types and text for equality, and numbers up to the differences between processors."""
    assert type(found) is type(golden), where
    if isinstance(golden, dict):
        assert list(found) == list(golden), where
        for name in golden:
            assert_same(found[name], golden[name], f"{where}.{name}")
    elif isinstance(golden, list):
        assert len(found) == len(golden), where
        for place, pair in enumerate(zip(found, golden, strict=True)):
            assert_same(*pair, f"{where}[{place}]")
    elif isinstance(golden, float):
        assert found == pytest.approx(golden, rel=0.05, abs=1e-3), where
    elif isinstance(golden, str):  # kernels have numbers in their names
        assert NUMBER.sub("#", found) == NUMBER.sub("#", golden), where
        numbers = [[float(one) for one in NUMBER.findall(text)] for text in (found, golden)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-3), where
    else:
        assert found == golden, where


@pytest.mark.parametrize("name", COMMAND_LINES)
def test_json_is_the_golden_one(folder, run, tmp_path, name):
    result = run(f"{COMMAND_LINES[name].format(tmp=tmp_path)} --json")
    assert result.exit_code == 0, result.output
    found = masked(json.loads(result.stdout.replace(str(tmp_path), "TMP")))
    path = FOLDER / f"{name}.json"
    if os.environ.get("MERCER_WRITE_GOLDEN"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=1) + "\n")
    assert_same(found, json.loads(path.read_text()))


def test_every_command_has_a_golden_file():
    assert {line.split()[0] for line in COMMAND_LINES.values()} == set(COMMANDS)
    assert {path.stem for path in FOLDER.glob("*.json")} == set(COMMAND_LINES)
