"""The description of a map wherever maps are listed: in the guide, ``mercer maps``, reports and the inventory."""

from __future__ import annotations

from typing import NamedTuple


class MapDescription(NamedTuple):
    """A map in a few words, for rows with d columns and nnz nonzero entries, D features and a kernel of degree p.

    Parameters
    ----------
    features : str
        What the features are, as the end of a sentence.
    kernels : str
        The kernels that the map supports.
    when : str
        When to choose it.
    cost : str
        The number of operations per row, up to a constant factor.
    variance : str
        Whether the exact variance of its estimates is known.
    over : bool, default=False
        Whether the map is built from other maps.
    """

    features: str
    kernels: str
    when: str
    cost: str
    variance: str
    over: bool = False
