"""The instruction sets of this machine, for every test of the compiled core; and draws that depend on no order."""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest

from mercer._core import _library

FORCED = os.environ.get("MERCER_ISA", "")
LIBRARY = _library._load()
ISAS = () if LIBRARY is None else _library._supported(LIBRARY)


def pytest_collection_finish():
    """Spare the garbage collector from looking through thousands of tests again and again: they stay to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=ISAS or ["missing"])
def isa(request, monkeypatch):
    """Each instruction set of this machine in turn, put in the place of the one that was picked."""
    if LIBRARY is None:
        (pytest.skip if FORCED == "none" else pytest.fail)("the compiled core was not built")
    monkeypatch.setattr(_library, "_TABLE", _library._kernels(LIBRARY, request.param))
    return request.param


@pytest.fixture(autouse=True)
def same_draws(request):
    """Let a test draw the same from the generator of its module, whichever tests ran before it on the same worker."""
    if isinstance(getattr(request.module, "RNG", None), np.random.Generator):
        request.module.RNG = np.random.default_rng(0)
