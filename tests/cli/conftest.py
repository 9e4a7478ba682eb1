"""Small files of rows, and the command line run in this process."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from mercer.cli.command_group import mercer


@pytest.fixture(scope="session")
def frames():
    """Houses with a price, flowers of three kinds, and histograms."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    houses = pd.DataFrame(
        {"size": X[:, 0], "rooms": rng.integers(1, 6, 400), "town": rng.choice(["oslo", "rome"], 400)}
    )
    houses["price"] = np.sin(2.0 * X[:, 0]) + houses["rooms"] + (houses["town"] == "rome") + 0.1 * X[:, 1]
    flowers = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    flowers["kind"] = np.where((X**2).sum(axis=1) < 1.0, "in", np.where(X[:, 0] > 0.0, "right", "left"))
    return {"houses": houses, "flowers": flowers, "counts": pd.DataFrame({"a": X[:, 0] ** 2, "y": X[:, 1] > 0.0})}


@pytest.fixture(scope="session")
def stored(tmp_path_factory, frames):
    """A folder with the frames as CSV, and a model of houses and of flowers."""
    folder = tmp_path_factory.mktemp("cli")
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
        frame.iloc[:100].to_csv(folder / f"new-{name}.csv", index=False)  # to try out what examples show, no more
    frames["houses"].to_parquet(folder / "houses.parquet")
    for command in (
        f"fit {folder}/houses.csv --target price --features 64 --deviations -o {folder}/houses.mercer",
        f"fit {folder}/flowers.csv --target kind --loss logistic --features 64 -o {folder}/flowers.mercer",
    ):
        assert CliRunner().invoke(mercer, command.split(), catch_exceptions=False).exit_code == 0
    return folder


@pytest.fixture
def folder(stored, monkeypatch):
    """The folder of these files, as the one that commands run in."""
    monkeypatch.chdir(stored)
    return stored


@pytest.fixture
def run():
    """A command line, as its exit code and what it printed."""

    def invoke(*arguments, text=None):
        words = arguments[0].split() if len(arguments) == 1 else [str(one) for one in arguments]
        return CliRunner().invoke(mercer, words, input=text)

    return invoke


@pytest.fixture
def fails(run):
    """A command line that fails with one sentence and this code."""

    def invoke(*arguments, code=1, text=None):
        result = run(*arguments, text=text)
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        assert "Traceback" not in result.stderr
        last = result.stderr.strip().splitlines()[-1]
        assert code != 1 or last.startswith("Error: "), result.stderr
        assert code != 1 or len([line for line in result.stderr.splitlines() if not line.startswith("note:")]) == 1
        return result.stderr

    return invoke
