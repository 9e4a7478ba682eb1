"""Human-readable sizes and times."""

from __future__ import annotations


def size(count: float) -> str:
    """Format a number of bytes."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.3g} {unit}" if count < 1000 else f"{count:,.0f} {unit}"
        count /= 1000
    raise AssertionError("every size fits the last unit")


def seconds(time: float) -> str:
    """Format a time."""
    if time < 0.1:
        return f"{1000 * time:.0f} ms"
    return f"{time:.1f} s" if time < 120.0 else f"{time / 60.0:.1f} min"
