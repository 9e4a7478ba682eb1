"""Pages that several files look at."""

from __future__ import annotations

import pytest

from .models import KINDS, SUMMED, made


@pytest.fixture(scope="session")
def numbers():
    return made(SUMMED, alpha="gcv")


@pytest.fixture(scope="session")
def classes():
    return made(KINDS, loss="logistic")
