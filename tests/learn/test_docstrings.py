"""Every argument and attribute of a learner is described in its own docstring."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

from mercer import learn

LEARNERS = [name for name in learn.__all__ if name.startswith("Kernel")]


def section(name, title):
    """The entries of a section of a class docstring: name, type, and the sentences below."""
    doc = inspect.getdoc(getattr(learn, name))
    body = re.search(rf"^{title}\n-+\n(.*?)(?=\n\n\S[^\n]*\n-+\n|\Z)", doc, re.DOTALL | re.MULTILINE)[1]
    return {
        found[1]: (found[2], found[3]) for found in re.finditer(r"^(\w+) : (.+)\n((?:    .+\n?)*)", body, re.MULTILINE)
    }


@pytest.mark.parametrize("name", LEARNERS)
def test_every_argument_is_documented_by_its_own_name(name):
    documented = section(name, "Parameters")
    arguments = inspect.signature(getattr(learn, name)).parameters
    assert list(documented) == list(arguments)  # in the order in which they are given
    for argument, parameter in arguments.items():
        kind, sentences = documented[argument]
        default = str(parameter.default) if not isinstance(parameter.default, str) else f'"{parameter.default}"'
        stated = re.search(r"default=(.+)$", kind)[1]
        assert stated == default or float(stated) == parameter.default, argument
        assert sentences.strip().endswith("."), argument
    assert "see :class:`KernelMachine`" not in inspect.getdoc(getattr(learn, name))


@pytest.mark.parametrize("name", LEARNERS)
def test_every_attribute_is_documented(name):
    X = np.random.default_rng(0).normal(size=(30, 2))
    options = {"alpha": "gcv"} if name == "KernelRegressor" else {}
    model = getattr(learn, name)(n_components=8, random_state=0, **options).fit(X, (X[:, 0] > 0.0).astype(float))
    public = {key for key in vars(model) if key.endswith("_") and not key.startswith("_")}
    assert public <= set(section(name, "Attributes"))
