"""The choices of a pilot, and the reasons."""

from __future__ import annotations

from typing import NamedTuple

from .trials import Trial


class Choice(NamedTuple):
    """What a pilot has chosen for a learner whose kernel, penalty or column scales are left open.

    Attributes
    ----------
    kernel : str
        The kernel with its bandwidth, as :func:`mercer.kernels.parse` reads it.
    scale : str or None
        How columns are scaled.
    alpha : float
        The ridge penalty with the smallest leave-one-out error on the rows of the pilot, among the given ones if there
        are any.
    learned_columns : bool
        Whether columns are multiplied by learned scales.
    n_components : int
        The number of features of the map.
    n_rows : int
        The number of rows that the pilot used. Copies of a row count as one.
    held_error : float or None
        The mean squared error on rows held out of the pilot, in units of the variance of the targets.
    other_error : float or None
        The same error of the rejected alternative: without learned scales if they were accepted, and with them if not;
        None if no scales were learned.
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
