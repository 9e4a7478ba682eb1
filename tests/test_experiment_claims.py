"""Claims are judged by the runs: equal within their deviations, pair by pair if they share rows, and in words."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "experiments"))

from claims import MISSING, Claim, beside, counted, differences, met, run_by_run, runs, short, side, span


@pytest.mark.parametrize(
    ("holds", "words"),
    [
        (True, "**holds**: it is so (3)"),
        (False, "**does not hold**: it is so (3)"),
        (None, "**not measured yet**: it is so"),
        ((4, 4), "**holds**: it is so (3)"),
        ((1, 4), "**holds in 1 of 4 cases**: it is so (3)"),
        ((0, 4), "**does not hold**: it is so (3)"),
        ((0, 0), "**not measured yet**: it is so"),
    ],
)
def test_a_claim_says_in_how_many_cases_it_holds(holds, words):
    assert str(Claim("it is so", holds, "3")) == words


def of_runs(quantity="score", **cells):
    """The results of the runs of some cells."""
    return {(name, seed): {quantity: value} for name, values in cells.items() for seed, value in enumerate(values)}


@pytest.mark.parametrize(
    ("values", "others", "expected"),
    [
        ([4.0, 6.0], [1.0, 2.0], 1),  # 3.5 apart, deviations of 1.4 and 0.7
        ([1.0, 2.0], [4.0, 6.0], -1),
        ([4.0, 6.0], [2.0, 4.0], 0),  # 2 apart, deviations of 1.4 each
        ([4.0, 4.0], [3.0, 5.0], 0),
        ([2.0], [1.9], 1),  # a single run has no deviation
        ([2.0], [2.0], 0),
        ([0.5, 1.5], [0.0], 1),
        ([-0.5, 1.5], [0.0], 0),
    ],
)
def test_level_are_means_no_farther_apart_than_one_deviation_of_each(values, others, expected):
    assert side(values, others) == expected


def test_cells_next_to_each_other():
    found = of_runs(a=[80.0, 81.0], b=[70.0, 72.0])
    assert beside(found, "a", "b") == (9.5, 1, "points")
    assert beside(found, "a", "absent") is MISSING
    found = of_runs("error", a=[1.0, 1.0, 4.0], b=[4.0, 4.0, 4.0])
    assert beside(found, "a", "b", "error") == (0.25, -1, "times")
    assert beside(found, "a", "b") is MISSING


def test_a_forecast_stands_for_the_time_of_a_machine_that_was_not_run():
    found = of_runs("predicted", exact=[900.0]) | of_runs("processor", map=[3.0, 3.0])
    assert beside(found, "exact", "map", "processor") == (300.0, 1, "times")
    assert beside(found, "exact", "map", "testing") is MISSING
    assert runs(found, "exact", "score") == []


def test_runs_of_a_seed_are_compared_one_by_one():
    found = of_runs(a=[61.0, 82.0, 93.0], b=[60.0, 80.0, 90.0, 70.0])
    assert beside(found, "a", "b").side == 0
    assert differences(found, "a", "b") == [1.0, 2.0, 3.0]
    assert run_by_run(differences(found, "a", "b")) == (2.0, 1, "points")
    assert run_by_run([-1.0, 2.0, 3.0]).side == 0
    assert run_by_run(differences(found, "a", "absent")) is MISSING
    times = of_runs("testing", a=[2.0, 800.0], b=[1.0, 100.0])
    assert run_by_run(differences(times, "a", "b", "testing"), "testing") == (pytest.approx(4.0), 1, "times")


def test_claims_say_where_cases_are_level_or_the_reverse():
    found = of_runs(low=[70.0, 71.0], high=[80.0, 81.0], near=[80.5, 80.9])
    cases = {
        "one": beside(found, "high", "low"),
        "two": beside(found, "high", "near"),
        "three": beside(found, "low", "near"),
        "four": beside(found, "high", "absent"),
    }
    assert str(counted("so", cases)) == (
        "**holds in 1 of 3 cases**: so (-10.2 to +10.0 points; level in 1: two; the reverse in 1: three)"
    )
    assert counted("so", cases, or_level=True).holds == (2, 3)
    assert str(counted("so", {"one": cases["one"]}, "by much", over=20.0)) == (
        "**does not hold**: so (by much; less so in all)"
    )
    assert str(counted("so", {"four": cases["four"]})) == "**not measured yet**: so"
    many = {str(place): cases["two"] for place in range(5)} | {"one": cases["one"]}
    assert counted("so", many).figure == "-0.2 to +10.0 points; level in 5"


def test_claims_on_numbers_within_bounds():
    values = {"Cpu": 0.5, "A9a": float("nan"), "MNIST": 0.7, "Adult": 12.3}
    assert str(met("half", values, most=0.6)) == "**holds in 1 of 3 cases**: half (Cpu 0.50, MNIST 0.70, Adult 12)"
    assert str(met("half", values.values(), 0.6, unit="times")) == "**holds in 2 of 3 cases**: half (0.5 to 12 times)"
    assert met("half", [float("nan")]).verdict == "not measured yet"


def test_figures_are_short():
    assert [short(value) for value in (0.0123, 0.999, 7.0, 9.96, 5123.0)] == ["0.012", "1.0", "7.0", "10", "5100"]
    assert short(2.5, 3) == "2.50"
    assert span([-0.02, 3.21], "points") == "+0.0 to +3.2 points"
    assert span([3.0, float("nan"), 3.01], "times") == "3.0 times"
