"""Fixtures for tests of runs."""

from __future__ import annotations

import pytest

from mercer.data import block, in_memory, table_rows
from mercer.learn.statistics import moments

from .small_runs import BLOCK, CHUNK


@pytest.fixture
def small_blocks(monkeypatch):
    """Make blocks and chunks so small that a few hundred rows fill many of them."""
    for module in (block, in_memory, table_rows):
        monkeypatch.setattr(module, "BLOCK_ROWS", BLOCK)
    monkeypatch.setattr(moments, "CHUNK_ROWS", CHUNK)
