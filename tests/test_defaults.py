"""Defaults have a single source, which signatures, docstrings and the command line follow."""

from __future__ import annotations

from importlib import import_module
from inspect import signature

import pytest

import mercer
from mercer import _defaults, learn, maps
from mercer._defaults import (
    COMPARED_WIDTHS,
    KERNEL,
    LEARNER_WIDTH,
    MAP_WIDTH,
    SEARCH_SECONDS,
    TABLE_KERNEL,
    WIDEST_LEARNER,
    WIDEST_SEARCHED,
)
from mercer.choose import learner_for
from mercer.kernels import parse
from mercer.kernels.bandwidth import LearnedBandwidth
from mercer.kernels.defaults import GAUSSIAN, QUADRATIC, QUARTIC, TABLE_GAUSSIAN

LEARNERS = [name for name in learn.__all__ if name.startswith("Kernel")]


def default(function, name):
    return signature(function).parameters[name].default


@pytest.mark.parametrize("name", maps.__all__)
def test_maps_have_the_width_and_the_kernels_of_the_defaults(name):
    given = signature(getattr(maps, name)).parameters
    if name not in ("Calibrated", "Stack"):  # whose width is the width of their maps
        assert given["n_components"].default == MAP_WIDTH
    if "kernel" in given and isinstance(given["kernel"].default, LearnedBandwidth):
        assert given["kernel"].default in (GAUSSIAN, QUADRATIC, QUARTIC)


def test_the_choice_of_a_map_has_the_width_of_a_map():
    assert default(mercer.feature_map, "n_components") == default(mercer.choose.maps_for, "n_components") == MAP_WIDTH
    assert f"n_components : int, default={MAP_WIDTH}" in " ".join(maps.FeatureMap.__doc__.split())


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_say_how_wide_their_map_is(name):
    text = " ".join(getattr(learn, name).__doc__.split())
    has_pilot = getattr(learn, name).has_pilot
    assert (
        f"None means {LEARNER_WIDTH}, and up to {WIDEST_LEARNER}" if has_pilot else f"None means {LEARNER_WIDTH}."
    ) in text


@pytest.mark.parametrize("learner", [learn.KernelClassifier, learn.KernelRegressor])
def test_a_learner_for_a_table_has_the_defaults_of_learners(learner):
    theirs, ours = signature(learner).parameters, signature(learner_for).parameters
    shared = (theirs.keys() & ours.keys()) - {"loss"}
    assert {"kernel", "n_components", "scale", "missing", "columns"} <= shared
    assert {name: theirs[name].default for name in shared} == {name: ours[name].default for name in shared}


def option(command, name):
    found = import_module(f"mercer.cli.{command}").command
    return next(param.default for param in found.params if name in param.opts)


def test_the_command_line_has_the_defaults_of_the_library():
    for name in ("kernel", "scale", "missing", "C", "alpha"):
        assert option("fit", f"--{name}") == default(learner_for, name)
    assert option("fit", "--column-scales") == default(learner_for, "columns")
    assert option("compare", "--kernel") == TABLE_KERNEL
    assert parse(TABLE_KERNEL) == TABLE_GAUSSIAN
    assert option("compare", "--features") == ",".join(map(str, COMPARED_WIDTHS))
    assert option("tune", "--features") == WIDEST_SEARCHED


def test_comparisons_and_the_search():
    assert default(mercer.report.compare, "features") == COMPARED_WIDTHS
    assert default(mercer.tune, "features") == default(mercer.choose.Search, "features") == WIDEST_SEARCHED
    text = " ".join(mercer.tune.__doc__.split())
    assert f"features : int, default={WIDEST_SEARCHED}" in text
    assert f"None means {SEARCH_SECONDS:g} seconds" in text


def test_a_bare_name_has_the_rule_of_the_defaults():
    assert parse("gaussian").gamma == parse(KERNEL).gamma == GAUSSIAN.gamma == _defaults.BANDWIDTH
