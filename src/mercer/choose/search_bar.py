"""A line in a terminal that tells how far a search is."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from ..learn.passes.progress_bar import Line, bar_of, clock

if TYPE_CHECKING:
    from .pilot_search import PilotSearch
    from .search import Search


class SearchBar(Line):
    """One bar for a whole search: the share of its time that is over, and what it does now.

    Parameters
    ----------
    stream : where the line goes; None is standard error
    shows : whether it is shown, where that is a terminal
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
        """Show what the search does now."""
        with self._lock:
            self._what = what
            self.show()

    def text(self) -> str:
        if self._search is None:
            return self._what
        spent, left = self._search.setting.clock.spent, self._search.seconds_left
        if left is None:
            return f"{clock(spent)}; {self._what}"
        self._share = max(self._share, spent / max(spent + left, 1e-9))  # where more is left, it stands still
        return f"{bar_of(self._share)}, {clock(spent)}, {clock(left)} left; {self._what}"
