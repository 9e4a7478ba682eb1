"""Checks that refuse work for which this machine has too little memory, before anything is allocated."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

GROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux reports how much memory the processes of a container may use."""

SMALL = 1 << 24
"""Bytes that any machine has, so that small arrays are allocated without the time that querying the limits takes."""


def physical_memory() -> int | None:
    """Return the bytes of memory available to this process, or None if the system does not report them."""
    return min((limit for limit in (_machine_has(), _process_may_take(), _group_may_take()) if limit), default=None)


def _machine_has() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _process_may_take() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _group_may_take() -> int | None:
    for name in GROUP_LIMITS:
        try:
            with open(name) as file:
                return int(file.read())  # "max" if there is no limit
        except (OSError, ValueError):
            continue
    return None


def check_memory(shape: tuple[int, ...], itemsize: int, what: str) -> None:
    """Raise a MemoryError that states the size if an array of this shape is larger than the machine's memory."""
    needed = itemsize
    for length in shape:
        needed *= int(length)
    has = physical_memory() if needed > SMALL else None
    if has is not None and needed > has:
        size = " x ".join(map(str, shape))
        raise MemoryError(f"{what} of {size} needs {needed / 2**30:.1f} GiB; this machine has {has / 2**30:.1f} GiB")


def check_room(needed: int, what: str, memory: int | None, whose: str = "memory allows") -> None:
    """Raise a MemoryError that states the estimate if work needs more memory than is allowed or available."""
    most = physical_memory() if memory is None else memory
    if most is not None and needed > most:
        allowed = "this machine has" if memory is None else whose
        raise MemoryError(f"{what} need at least {needed / 2**30:.2g} GiB; {allowed} {most / 2**30:.2g} GiB")


def as_bytes(size: Any) -> int:
    """Convert text like "2GB" or "512 MiB" to a number of bytes; None means a quarter of the machine's memory."""
    if size is None:
        return (physical_memory() or 4 * 2**30) // 4
    if isinstance(size, str):
        match = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?)(i?)b?\s*", size.lower())
        if match is not None:
            step = 1024 if match[3] else 1000
            return int(float(match[1]) * step ** " kmgt".index(match[2] or " "))
    elif isinstance(size, int) and not isinstance(size, bool) and size > 0:
        return size
    raise ValueError(f"memory must be a number of bytes, text like '2GB', or None, found {size!r}")


def peak_memory() -> int | None:
    """Return the largest number of bytes that this process has held, or None if the system does not report it."""
    try:
        import resource
    except ImportError:
        return None
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found if sys.platform == "darwin" else 1024 * found  # macOS counts bytes, others kilobytes
