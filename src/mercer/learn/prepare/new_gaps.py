"""Gaps in new rows where the rows of ``fit`` had none: counted as rows are prepared, and told once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._caller import warn_caller


class NewGaps:
    """How many gaps there are in columns that had none in ``fit``, by column."""

    def __init__(self) -> None:
        self._counted: list[dict[str, int]] = []  # threads append to it
        self._told = False

    def __repr__(self) -> str:
        return f"NewGaps(told={self._told})"

    def note(self, names: list[str], counts: NDArray[np.int64]) -> None:
        """Gaps in columns of these names, some of which may be 0."""
        if not self._told and counts.any():
            self._counted.append({name: int(count) for name, count in zip(names, counts, strict=True) if count})

    def clear(self) -> None:
        """Count anew."""
        self._counted.clear()

    def tell(self) -> None:
        """Warn of what was counted, if anything was, the first time."""
        total: dict[str, int] = {}
        while self._counted:
            for name, count in self._counted.pop().items():
                total[name] = total.get(name, 0) + count
        if total and not self._told:
            self._told = True
            each = ", ".join(f"{name}: {total[name]:,}" for name in sorted(total)[:10])
            more = f" and {len(total) - 10:,} more" if len(total) > 10 else ""
            warn_caller(
                f"{sum(total.values()):,} gaps are filled with the means of their columns, which had none in fit "
                f"({each}{more}); this is said once",
            )
