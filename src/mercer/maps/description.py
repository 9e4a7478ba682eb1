"""What is said of a map wherever maps are listed: the README, ``mercer maps``, pages about a model, the inventory."""

from __future__ import annotations

from typing import NamedTuple


class MapDescription(NamedTuple):
    """A map in a few words; d columns, nnz of them not zero, D features, degree p.

    Parameters
    ----------
    features : str
        What the features are, as the end of a sentence.
    kernels : str
        The kernels that the map serves.
    when : str
        When to take it.
    cost : str
        The operations that a row takes, up to a factor.
    variance : str
        Whether the exact variance of its estimates is known.
    over : bool, default=False
        Whether the map is made of other maps.
    """

    features: str
    kernels: str
    when: str
    cost: str
    variance: str
    over: bool = False
