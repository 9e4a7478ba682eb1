"""Refuse what the machine cannot hold, before it is allocated."""

from __future__ import annotations

import os


def physical_memory() -> int | None:
    """Bytes of memory that this machine has; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def check_memory(shape: tuple[int, ...], itemsize: int, what: str) -> None:
    """Raise a MemoryError with the estimate where an array of this shape is larger than the whole machine."""
    needed, has = itemsize, physical_memory()
    for length in shape:
        needed *= int(length)
    if has is not None and needed > has:
        size = " x ".join(map(str, shape))
        raise MemoryError(f"{what} of {size} needs {needed / 2**30:.1f} GiB; this machine has {has / 2**30:.1f} GiB")
