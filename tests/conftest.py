"""The instruction sets of this machine, for every test of the compiled core."""

from __future__ import annotations

import os

import pytest

from mercer._core import _library

FORCED = os.environ.get("MERCER_ISA", "")
LIBRARY = _library._load()
ISAS = () if LIBRARY is None else _library._supported(LIBRARY)


@pytest.fixture(params=ISAS or ["missing"])
def isa(request, monkeypatch):
    """Each instruction set of this machine in turn, put in the place of the one that was picked."""
    if LIBRARY is None:
        (pytest.skip if FORCED == "none" else pytest.fail)("the compiled core was not built")
    monkeypatch.setattr(_library, "_TABLE", _library._kernels(LIBRARY, request.param))
    return request.param
