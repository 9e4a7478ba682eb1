"""Pages that several test files use."""

from __future__ import annotations

import pytest

from .models import KINDS, LETTERS, SUMMED, made


@pytest.fixture(scope="session")
def numbers():
    with pytest.warns(UserWarning, match="alpha='gcv' is unreliable"):
        return made(SUMMED, alpha="gcv")


@pytest.fixture(scope="session")
def classes():
    return made(KINDS, loss="logistic")


@pytest.fixture(scope="session")
def letters():
    """Of 26 classes, some of which have long names."""
    return made(LETTERS, loss="squared")
