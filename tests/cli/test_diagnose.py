"""``mercer diagnose``, and maps that a target for the error chooses."""

from __future__ import annotations

import json

import pytest

import mercer
from mercer import AutoMap, data
from mercer.choose import diagnose_table


def test_diagnose_prints_what_the_library_returns(folder, run):
    result = run("diagnose", "houses.csv", "--target", "price", "--kernel", "laplacian(0.5)", "--seed", 3)
    assert result.exit_code == 0, result.output
    expected = diagnose_table("laplacian(0.5)", data.open("houses.csv", target="price"), seed=3)
    assert result.stdout == f"{expected}\n"


def test_no_target_is_needed_and_columns_can_be_named(folder, run):
    result = run("diagnose", "houses.csv", "--exclude", "price,town", "--scale", "none", "--json")
    found = json.loads(result.stdout)
    assert (found["n_rows"], found["n_columns"]) == (400, 2)
    assert "explains" not in result.stdout


def test_what_is_wrong_is_one_sentence(folder, fails):
    assert "no column 'cost'" in fails("diagnose", "houses.csv", "--target", "cost")
    assert "Invalid value for '--kernel'" in fails("diagnose", "houses.csv", "--kernel", "gauss(", code=2)


def test_a_target_for_the_error_chooses_the_map(folder, run, tmp_path):
    name = tmp_path / "flowers.mercer"
    words = ["fit", "flowers.csv", "--target", "kind", "--target-error", 0.05, "--loss", "squared", "-o", name]
    result = run(*words)
    assert result.exit_code == 0, result.output
    auto = mercer.load(name).map_
    assert isinstance(auto, AutoMap)
    assert (auto.target_error, auto.n_components, auto.time_budget) == (0.05, None, None)
    assert auto.error_.high <= 0.05
    assert f"{type(auto.map_).__name__} was chosen" in result.stdout
    assert "fresh rows" in result.stdout


def test_a_budget_and_features_bound_the_choice(folder, run, tmp_path):
    name = tmp_path / "flowers.mercer"
    words = ["fit", "flowers.csv", "--target", "kind", "--time-budget", 1e-4, "--features", 24, "-o", name, "--json"]
    found = json.loads(run(*words, "--loss", "squared").stdout)
    auto = mercer.load(name).map_
    assert (auto.time_budget, auto.n_components) == (1e-4, 24)
    assert found["features"] == auto.n_components_ <= 24
    assert found["kernel_error"]["value"] == auto.error_.value


def test_a_plan_can_be_made_before_the_choice(folder, run):
    result = run("fit", "flowers.csv", "--target", "kind", "--target-error", 0.05, "--dry-run", "--json")
    found = json.loads(result.stdout)
    assert found["map"] == "AutoMap"
    assert found["kernel"] == "Gaussian(gamma='median')"


@pytest.mark.parametrize("option", ["--target-error", "--time-budget"])
def test_a_map_cannot_be_named_and_chosen(folder, fails, option):
    words = ["fit", "flowers.csv", "--target", "kind", option, "0.1", "--map", "nystrom", "--dry-run"]
    assert "do not give --map as well" in fails(*words, code=2)


def test_what_cannot_be_met_is_reported(folder, fails, tmp_path):
    words = ["fit", "flowers.csv", "--target", "kind", "--target-error", 1e-7, "--features", 8, "-o", tmp_path / "m"]
    assert "the best is" in fails(*words)
