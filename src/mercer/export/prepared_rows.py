"""The preparation of columns of numbers, as operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..learn.prepare.offsets_and_factors import WIDEST, in_precision
from ..learn.prepare.preparation import Preparation
from . import namespace as xp
from .errors import NotExportedError
from .symbol import Symbol


def check_columns(preparation: Preparation) -> None:
    """Refuse columns that are not numbers."""
    for column in preparation.columns or ():
        if column.holds != "numbers":
            raise NotExportedError(
                f"column {column.name!r} has {column.holds}, but an exported model accepts only numbers: encode the "
                f"column before fitting the model"
            )


def prepared(preparation: Preparation, X: Symbol) -> Symbol:
    """Return rows as the map of a learner expects them."""
    check_columns(preparation)
    refuse_infinities(X)
    gaps = None
    if preparation.indicated is not None:
        gaps = xp.astype(xp.isnan(xp.take(X, preparation.indicated, axis=1)), X.dtype)
    if preparation.filling is not None:
        X = xp.where(xp.isnan(X), preparation.filling.astype(X.dtype), X)
    else:
        xp.any(xp.isnan(X))
    X = tamed(preparation, X)
    if preparation.kept is not None:
        X = xp.take(X, preparation.kept, axis=1)
    X = X if gaps is None else xp.concat([X, gaps], axis=1)
    X = scaled(preparation, X)
    if preparation.column_scales is not None:
        X = X * preparation.column_scales.astype(X.dtype)
    return X


def refuse_infinities(X: Symbol) -> None:
    """Refuse rows with infinities: moving them to the region of the training rows would make them finite."""
    xp.any(abs(X) > float(np.finfo(X.dtype).max))


def tamed(preparation: Preparation, X: Symbol) -> Symbol:
    """Return rows whose columns with heavy tails have passed through asinh."""
    tails = preparation.tamed
    if tails is None:
        return X
    away = (xp.take(X, tails.columns, axis=1).astype(np.float64) - tails.centre) / tails.spread
    largest = np.finfo(np.float64).max
    inside = xp.minimum(xp.maximum(away, -largest), largest)
    columns = np.arange(X.shape[1])
    columns[tails.columns] = X.shape[1] + np.arange(len(tails.columns))
    return xp.take(xp.concat([X, xp.arcsinh(inside).astype(X.dtype)], axis=1), columns, axis=1)


def scaled(preparation: Preparation, X: Symbol) -> Symbol:
    """Return rows in the scale that was learned."""
    if preparation.scale == "unit":
        return unit_rows(X)
    if preparation.factor is None:
        return X
    factor = in_precision(preparation.factor, X.dtype)
    if preparation.offset is None:
        return X * factor
    found = (X - preparation.offset.astype(X.dtype)) * factor
    return within_reach(found) if preparation.tails == "tame" else found


def unit_rows(X: Symbol) -> Symbol:
    """Return rows of norm 1, by their largest entry first, so that no square overflows; a row of zeros stays one."""
    largest = xp.max(abs(X), axis=1, keepdims=True)
    rows = X / xp.where(largest > 0.0, largest, 1.0)
    norms = xp.sqrt(xp.sum(rows * rows, axis=1, keepdims=True))
    return rows / xp.where(norms > 0.0, norms, 1.0)


def within_reach(X: Symbol) -> Symbol:
    """Entries unchanged within the widest range, growing logarithmically beyond it."""
    away = xp.minimum(abs(X), float(np.finfo(X.dtype).max))
    further = xp.maximum(away - WIDEST, 0.0)
    return xp.where(away > WIDEST, xp.sign(X) * (xp.log1p(further) + WIDEST), X)


def outside(region: Any, X: Symbol) -> Symbol:
    """Return how far rows lie outside a region, as a share of its diagonal."""
    ranges = region.most - region.least
    unit = float(ranges.max(initial=0.0)) or 1.0
    precise = X.astype(np.float64)
    beyond = xp.maximum(xp.maximum(region.least - precise, precise - region.most), 0.0) / unit
    squares = xp.sum(beyond * beyond, axis=1)
    diagonal = float(((ranges / unit) ** 2).sum())
    shares = xp.sqrt(squares / diagonal) if diagonal > 0.0 else squares * np.inf
    return xp.where(squares > 0.0, shares, 0.0)


def nearest(region: Any, X: Symbol) -> Symbol:
    """Return rows with those outside a region moved to its surface."""
    precise = X.astype(np.float64)
    return xp.minimum(xp.maximum(precise, region.least), region.most).astype(X.dtype)
