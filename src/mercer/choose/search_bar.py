"""A line in a terminal that shows the progress of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from ..learn.passes.progress_bar import Line, bar_of, clock

if TYPE_CHECKING:
    from .pilot_search import PilotSearch
    from .search import Search


class SearchBar(Line):
    """One bar for a whole search: the share of its time that has passed, and its current step.

    Parameters
    ----------
    stream : text file or None, default=None
        Where the line goes. None means standard error.
    shows : bool, default=True
        Whether to show it, if this is a terminal.
    """

    def __init__(self, stream: TextIO | None = None, shows: bool = True):
        super().__init__(stream, shows)
        self._search: PilotSearch | Search | None = None
        self._what = ""
        self._share = 0.0

    def watch(self, search: PilotSearch | Search) -> None:
        """Show the time of this search."""
        self._search = search

    def __call__(self, what: str) -> None:
        """Show the current step of the search."""
        with self._lock:
            self._what = what
            self.show()

    def text(self) -> str:
        if self._search is None:
            return self._what
        spent, left = self._search.setting.clock.spent, self._search.seconds_left
        if left is None:
            return f"{clock(spent)}; {self._what}"
        # If the remaining time grows, the bar stands still.
        self._share = max(self._share, spent / max(spent + left, 1e-9))
        return f"{bar_of(self._share)}, {clock(spent)}, {clock(left)} left; {self._what}"
