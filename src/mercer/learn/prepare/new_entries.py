"""Missing values and levels in new rows that ``fit`` did not see: counted during preparation, reported once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._caller import warn_caller

GAPS = "{count:,} missing values are filled with the means of their columns, which had none in fit"
LEVELS = "{count:,} entries have levels that did not occur in fit, and are treated as having no level"
MOST_NAMED = 10
"""The largest number of columns that a report names."""


class Tally:
    """A count for each column, about which one warning is issued.

    Parameters
    ----------
    sentence : str
        The warning, with a place for ``count``.
    """

    def __init__(self, sentence: str):
        self.sentence = sentence
        self._counted: list[dict[str, int]] = []  # threads append to it
        self._told = False

    def __repr__(self) -> str:
        return f"Tally({self.sentence!r}, told={self._told})"

    def note(self, names: list[str], counts: NDArray[np.int64]) -> None:
        """Add counts for columns with these names; counts may be 0."""
        if not self._told and counts.any():
            self._counted.append({name: int(count) for name, count in zip(names, counts, strict=True) if count})

    def clear(self) -> None:
        """Reset the counts."""
        self._counted.clear()

    def tell(self) -> None:
        """Issue a warning about what was counted, the first time that there is something."""
        total: dict[str, int] = {}
        while self._counted:
            for name, count in self._counted.pop().items():
                total[name] = total.get(name, 0) + count
        if total and not self._told:
            self._told = True
            each = ", ".join(f"{name}: {total[name]:,}" for name in sorted(total)[:MOST_NAMED])
            more = f" and {len(total) - MOST_NAMED:,} more" if len(total) > MOST_NAMED else ""
            said = self.sentence.format(count=sum(total.values()))
            warn_caller(f"{said} ({each}{more}); this warning is issued once")


class NewEntries:
    """Missing values in columns that had none in ``fit``, and levels that did not occur in it.

    Attributes
    ----------
    gaps, levels : Tally
        The count of each.
    """

    def __init__(self) -> None:
        self.gaps, self.levels = Tally(GAPS), Tally(LEVELS)

    def __repr__(self) -> str:
        return f"NewEntries(gaps={self.gaps!r}, levels={self.levels!r})"

    def clear(self) -> None:
        """Reset the counts."""
        self.gaps.clear()
        self.levels.clear()

    def tell(self) -> None:
        """Issue a warning about each, the first time that there is something."""
        self.gaps.tell()
        self.levels.tell()
