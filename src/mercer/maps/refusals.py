"""The error for a kernel that a map does not support, which names a map that does."""

from __future__ import annotations

from collections.abc import Callable

from ..kernels import Kernel

_SUGGESTIONS: list[Callable[[Kernel], str]] = []


def suggests(name_of_map: Callable[[Kernel], str]) -> Callable[[Kernel], str]:
    """Register the function that suggests a map; it imports every map, so that none can import it."""
    _SUGGESTIONS.append(name_of_map)
    return name_of_map


def unserved(map: str, needed: str, kernel: Kernel) -> ValueError:
    """Make the error for a kernel that a map does not support.

    Parameters
    ----------
    map : str
        The name of the map.
    needed : str
        The kernels that it supports, such as "a shift-invariant kernel".
    kernel : Kernel
        The kernel that was given.

    Returns
    -------
    ValueError
        The error, to be raised.
    """
    hints = [f"; mercer.feature_map would choose {name_of_map(kernel)}" for name_of_map in _SUGGESTIONS]
    return ValueError(f"{map} needs {needed}, found {kernel!r}{''.join(hints)}")
