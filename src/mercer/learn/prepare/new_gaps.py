"""Missing values in new rows of columns that had none in ``fit``: counted during preparation, and reported once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._caller import warn_caller


class NewGaps:
    """The number of missing values in columns that had none in ``fit``, by column."""

    def __init__(self) -> None:
        self._counted: list[dict[str, int]] = []  # threads append to it
        self._told = False

    def __repr__(self) -> str:
        return f"NewGaps(told={self._told})"

    def note(self, names: list[str], counts: NDArray[np.int64]) -> None:
        """Count missing values in columns with these names; counts may be 0."""
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
            each = ", ".join(f"{name}: {total[name]:,}" for name in sorted(total)[:10])
            more = f" and {len(total) - 10:,} more" if len(total) > 10 else ""
            warn_caller(
                f"{sum(total.values()):,} missing values are filled with the means of their columns, which had none in "
                f"fit ({each}{more}); this warning is issued once",
            )
