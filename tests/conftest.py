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
    """Exclude the collected tests from garbage collection, which would examine them again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=ISAS or ["missing"])
def isa(request, monkeypatch):
    """Each instruction set of this machine in turn, in place of the one that was chosen at import."""
    if LIBRARY is None:
        (pytest.skip if FORCED == "none" else pytest.fail)("the compiled core was not built")
    monkeypatch.setattr(_library, "_TABLE", _library._kernels(LIBRARY, request.param))
    return request.param


@pytest.fixture(autouse=True)
def same_draws(request):
    """Make a test draw the same numbers from its module's generator, whichever tests ran before it."""
    if isinstance(getattr(request.module, "RNG", None), np.random.Generator):
        request.module.RNG = np.random.default_rng(0)
