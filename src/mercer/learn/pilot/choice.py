"""What a pilot has chosen, and why."""

from __future__ import annotations

from typing import NamedTuple

from .trials import Trial


class Choice(NamedTuple):
    """What a pilot has chosen for a learner that leaves its kernel, its penalty or its columns to the rows.

    Attributes
    ----------
    kernel : str
        The kernel with its bandwidth, as :func:`mercer.kernels.parse` reads it.
    scale : str or None
        How columns are scaled.
    alpha : float
        The ridge penalty that had the least leave-one-out error on the rows of the pilot, of those that are given where
        some are.
    learned_columns : bool
        Whether columns are multiplied by scales that were learned.
    n_components : int
        How many features the map has.
    n_rows : int
        How many distinct rows the pilot used.
    held_error : float or None
        The mean squared error on rows held out of the pilot, in units of the variance of the targets.
    other_error : float or None
        The same for the alternative on the other side of the gate: without learned scales where they were taken, and
        with them where they were not; None where none were learned.
    trials : tuple of Trial
        Everything that was tried, in order.
    """

    kernel: str
    scale: str | None
    alpha: float
    learned_columns: bool
    n_components: int
    n_rows: int
    held_error: float | None
    other_error: float | None
    trials: tuple[Trial, ...]
