"""The output that users see in a terminal."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest

from mercer import data
from mercer._figures import seconds
from mercer.choose import Search
from mercer.choose.time_budget import Clock
from mercer.cli import output
from mercer.learn import Progress


class Terminal(io.StringIO):
    """A file that claims to be a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """A function that turns standard error into a terminal, and returns what is shown there."""

    def begin():
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stderr", Terminal())
        return sys.stderr.getvalue

    return begin


def test_a_bar_is_that_of_the_whole_fit(terminal):
    seen = terminal()
    with output.progress() as tell:
        tell(Progress(2, "sums", 50, 200, objective=0.25, share=0.75, seconds=65.0, total_seconds_left=20.0))
    assert "[##################      ]  75 %, 1:05, 0:20 left; pass 2, sums" in seen()
    assert tell.last.rows == 50


def test_a_search_is_one_bar_with_the_time_it_has_left(terminal, monkeypatch):
    seen = terminal()
    table = data.open(np.arange(40.0).reshape(20, 2), target=np.arange(20) % 2)
    monkeypatch.setattr(Clock, "spent", property(lambda clock: 30.0))
    with output.search_progress() as tell:
        tell("round 1 of 4: 62 kernels")
        tell.watch(Search(table, "classification", kernels=["linear()"], seconds=120.0))
        tell("round 2 of 4: 8 kernels")
    assert "[######                  ]  25 %, 0:30, 1:30 left; round 2 of 4: 8 kernels" in seen()
    assert seen().count("\n") == 1


def test_steps_are_one_line(terminal):
    seen = terminal()
    with output.steps() as tell:
        tell("64 features [bold]")
    assert "64 features [bold]" in seen()


def test_no_progress_is_shown_without_a_terminal(capsys):
    with output.progress() as tell, output.steps() as step:
        assert tell is None
        step("1")
    assert capsys.readouterr() == ("", "")


def test_times_are_printed_for_people():
    assert [seconds(value) for value in (0.0123, 1.234, 119.0, 600.0)] == ["12 ms", "1.2 s", "119.0 s", "10.0 min"]


def test_a_narrow_table_moves_together_before_it_breaks(monkeypatch, capsys):
    for width, gap in ((60, 3), (18, 1)):
        monkeypatch.setattr(output, "PLAIN_WIDTH", width)
        output.show_table(("name", "value"), [("abcdefghijk", 12345)])
        line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("abc"))
        assert line.rstrip() == f"abcdefghijk{' ' * gap}12,345"
