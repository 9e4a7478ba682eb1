"""The arguments of a learner after a pilot has chosen those that were left open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._array import Array
from ..._defaults import LEARNER_WIDTH, WIDEST_LEARNER
from ..._random import Stream
from ...data.block import Block
from ...kernels import Gaussian, Kernel, parse
from ...kernels.defaults import GAUSSIAN
from ...maps import FeatureMap, Nystrom
from ...maps.rules import feature_map
from ..map_choice import EXACT, OPEN, chosen_map, is_open, landmark_rows, named_map, parsed
from ..passes.scan_plan import RowSample
from ..prepare.preparation import Preparation
from ..solvers.choice import path_cost, penalised_landmark_cost, whitened_cost
from .choice import Choice
from .rows import pilot_rows
from .search import FEWEST_ROWS, Pilot
from .width import width_for

Matrix = NDArray[np.float64]

PILOT_ROWS = 4000
"""The largest number of rows that a pilot examines."""


class Open(Protocol):
    """The arguments that a pilot settles, or that tell it what to consider."""

    kernel: Any
    n_components: int | None
    map: Any
    loss: Any
    scale: Any
    columns: Any
    random_state: Any
    n_jobs: int | None

    @property
    def asked_scale(self) -> Any:
        """How rows should be scaled."""
        ...


class Settled(NamedTuple):
    """What a pilot passes on to the fit that follows."""

    choice: Choice | None
    """None if there are too few rows, or if all targets are equal: rules then replace the search."""
    kernel: Kernel
    n_components: int
    preparation: Preparation
    seed: int
    sample: RowSample
    n_columns: int
    """The spread of the targets, or of the classes, in the rows of the pilot."""


def scales_for(preparation: Preparation, asked: Any) -> Sequence[str | None]:
    """Return the scalings to choose from, the preferred one first."""
    if not is_open(asked):
        return (asked,)
    preferred = preparation.scale
    if preferred == "unit":
        return (preferred,)
    by_logarithm = ("log",) if preferred == "standard" and preparation.has_heavy_tails else ()
    return tuple(dict.fromkeys((preferred, "standard", "common", *by_logarithm)))


def settled(
    model: Open,
    preparation: Preparation,
    sample: RowSample,
    block: Block,
    unscaled: Array,
    targets: Matrix | None,
    penalties: Matrix | None,
    seed: int,
    n_rows: int,
    fits: Callable[[int], bool],
) -> Settled:
    """Let a pilot choose the arguments that a learner leaves open.

    Parameters
    ----------
    model : Open
    preparation : Preparation
        The preparation, learned from all rows.
    sample : RowSample
        Rows that were sampled during a scan, also for the map.
    block : Block
        The rows of the pilot, before preparation.
    unscaled : ndarray or CSR matrix
        The same rows as numbers, prepared without scaling.
    targets : ndarray of shape (n_rows, n_targets) or None
        Their targets, or codes of classes; None if they are not known.
    penalties : ndarray of shape (n_penalties,) or None
        The ridge penalties to choose from, if some are given.
    seed : int
        Determines the order of rows, and the maps.
    n_rows : int
        The total number of rows.
    fits : callable
        Returns whether there is memory for a fit with this width.

    Returns
    -------
    Settled
        The settled arguments, with what was learned about the columns.
    """
    kernel = None if is_open(model.kernel) else GAUSSIAN if model.kernel is None else parsed(model.kernel)
    width = LEARNER_WIDTH if model.n_components is None else model.n_components
    scales = scales_for(preparation, model.asked_scale)
    columns_of_targets = 1 if targets is None else targets.shape[1]
    known = seed, sample, columns_of_targets
    by_rules = Settled(None, kernel or usual_kernel(unscaled), width, preparation.rescaled(scales[0]), *known)
    if targets is None:
        return by_rules
    weight = np.ones(block.X.shape[0]) if block.weight is None else np.asarray(block.weight, dtype=np.float64)
    rows = pilot_rows(unscaled, targets, weight, seed)
    if len(rows.numbers) < FEWEST_ROWS or not np.ptp(targets[rows.numbers], axis=0).any():
        return by_rules

    def make_map(kernel: Kernel, n_components: int) -> FeatureMap:
        if model.map == OPEN and not is_open(model.kernel):
            return feature_map(kernel, n_components=n_components, random_state=seed)
        maker = Nystrom if model.map in (OPEN, EXACT) else named_map(model.map)
        return maker(kernel, n_components=n_components, random_state=seed, n_jobs=model.n_jobs)

    pilot = Pilot(preparation, block.X, targets, rows, make_map, width, penalties)
    columns = model.columns if kernel is None or model.columns != OPEN else None
    try:
        choice, learned, gain = pilot.run(scales, None if kernel is None else [kernel], columns)
    except ValueError:
        if kernel is None:
            raise
        return by_rules  # a given kernel does not accept these rows: the fit itself reports which
    if model.n_components is None and model.map != EXACT:

        def cost(width: int) -> float:
            return fit_cost(model.loss, n_rows, width, targets.shape[1], choice.alpha)

        width = width_for(gain, n_rows, cost, fits)
    chosen = preparation.rescaled(choice.scale)
    if learned is not None:
        chosen = chosen.with_column_scales(learned)
    # A rule for a bandwidth is applied to all rows, unless column scales were learned with its result for these rows.
    settled_kernel = parse(choice.kernel) if kernel is None or learned is not None else kernel
    return Settled(choice._replace(n_components=width), settled_kernel, width, chosen, *known)


def usual_kernel(X: Array) -> Kernel:
    """Return the kernel for rows on which none can be chosen: Gaussian, of fixed bandwidth if all rows are equal."""
    if X.shape[0] == 0 or X.shape[1] == 0 or (X.max(axis=0) != X.min(axis=0)).sum() > 0:
        return GAUSSIAN
    return Gaussian(1.0)


def fit_cost(loss: str, n_rows: int, width: int, n_columns: int, alpha: float) -> float:
    """Return the expected operations of a fit on so many landmarks, with a path of penalties for squares.

    ``alpha`` is the penalty that was best in the pilot.
    """
    if loss == "squared":
        return path_cost(n_rows, min(width, n_rows), True)
    if width >= n_rows:
        return whitened_cost(n_rows, n_rows, n_columns)
    return penalised_landmark_cost(n_rows, width, n_columns, alpha)


def pilot_sample(seed: int, model: Open, is_read: bool) -> RowSample:
    """Return the sample that a scan collects.

    It contains the rows of the pilot. If the table ``is_read`` again for every later request, it also contains the rows
    from which the map chooses its landmarks.
    """
    width = WIDEST_LEARNER if model.n_components is None else model.n_components
    landmarks = landmark_rows(chosen_map(model)) if is_read else 0
    return RowSample(Stream(seed).child("rows"), max(PILOT_ROWS, width, landmarks))


def with_arguments(model: Any, **arguments: Any) -> Any:
    """Return a copy of a learner with other arguments, which shares what it has learned."""
    other = copy(model)
    other.__dict__.update(arguments)
    return other
