"""The features of rows for a test: a map learned from a sample of the rows, and passes over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._array import dense, is_foreign, to_numpy
from .._random import Stream
from .._rows import ArrayRows
from ..data import Table, as_rows
from ..data.block import stacked
from ..data.frames import columns, is_frame, kind_of
from ..kernels import Gaussian
from ..maps import FeatureMap, Nystrom
from ..maps.executor import features
from ..maps.fitted_map import equal_parameters
from ..maps.row_checks import check_rows
from ..maps.table_input import feature_blocks, rows_to_fit

USUAL = Gaussian("median")
"""The kernel if none is given."""
LEARNED_ROWS = 4096
"""The number of rows from which the bandwidth and the landmarks are learned."""
CHUNK_ROWS = 1024
"""The number of rows whose features are summed at once."""


def map_for(kernel: Any, n_components: int, n_jobs: int | None) -> FeatureMap:
    """Return the map for a kernel, not fitted; a map is returned as it is."""
    if isinstance(kernel, FeatureMap):
        return clone(kernel)
    kernel = USUAL if kernel is None else kernel
    return Nystrom(kernel, n_components=n_components, landmarks="rpcholesky", n_jobs=n_jobs)


def as_columns(X: Any) -> Any:
    """Return rows as a map takes them, with a vector of numbers as a matrix of one column; refuse columns of levels."""
    if is_frame(X):
        kinds = {name: kind_of(column) for name, column in columns(X).items()}
        odd = next((name for name, kind in kinds.items() if kind == "text" or kind.endswith("levels")), None)
        if odd is not None:
            raise ValueError(
                f"a test expects columns of numbers, found {kinds[odd]} in column {odd!r}: encode it, for example with "
                "scikit-learn's OneHotEncoder, or leave it out"
            )
        return X
    X = to_numpy(X) if is_foreign(X) else X
    vector = np.asarray(X) if isinstance(X, (list, np.ndarray)) or type(X).__name__ == "Series" else None
    return X if vector is None or vector.ndim != 1 or vector.dtype.kind not in "biuf" else vector[:, None]


def learn_map(map: FeatureMap, samples: Sequence[Any], seed: int) -> NDArray[np.float64]:
    """Fit a map to rows of one sample or of two together, and return the mean of its features.

    Rows are drawn from all samples as if they were one, so that the map does not depend on which sample a row is in.
    Otherwise the test would not have its level if both samples come from the same distribution.
    """
    rng = Stream(seed)
    first = rows_to_fit(map, samples[0], rng)
    rows = [first, *(_more_rows(map, X, rng) for X in samples[1:])]
    counts = [one.n_rows for one in rows]
    numbers = np.arange(sum(counts))
    if len(numbers) > LEARNED_ROWS:
        numbers = np.sort(rng.child("learned").permutation(len(numbers))[:LEARNED_ROWS])
    starts = np.cumsum([0, *counts])
    taken = [numbers[(start <= numbers) & (numbers < end)] - start for start, end in pairwise(starts)]
    sample = stacked([one.take(chosen) for one, chosen in zip(rows, taken, strict=True) if len(chosen)])
    if map.kernel == USUAL and not abs(sample.max(axis=0) - sample.min(axis=0)).max() > 0.0:
        map.set_params(kernel=Gaussian(1.0))  # rows that are all equal have no distances, so any bandwidth is fine
    map.fit_rows(ArrayRows(sample, rng.child("rows")), seed)
    return features(map.fitted_, sample, map.n_jobs).mean(axis=0, dtype=np.float64)


def _more_rows(map: FeatureMap, X: Any, rng: Stream) -> Any:
    """Return rows of another sample, which must have the columns of the first."""
    if not isinstance(X, Table):
        return as_rows(map.validated(X), rng)
    rows = rows_to_fit(clone(map), X, rng)
    if rows.n_features != map.n_features_in_:
        raise ValueError(f"expected {map.n_features_in_} columns, as in the other sample, found {rows.n_features}")
    return rows


def mapped(map: FeatureMap, X: Any) -> Iterator[NDArray[Any]]:
    """Yield the features of rows, ``CHUNK_ROWS`` at a time."""
    if isinstance(X, Table):
        for block in feature_blocks(map, X):
            Z = dense(block)
            yield from (Z[start : start + CHUNK_ROWS] for start in range(0, len(Z), CHUNK_ROWS))
        return
    X = map.validated(X)
    for start in range(0, X.shape[0], CHUNK_ROWS):
        part = X[start : start + CHUNK_ROWS]
        check_rows(map.kernel_, part, start)
        yield features(map.fitted_, part, map.n_jobs, start)


def refuse_other_features(ours: FeatureMap, theirs: FeatureMap) -> None:
    """Raise an error if sums of features of two maps cannot be added."""
    same = (
        type(ours) is type(theirs)
        and (ours.kernel_, ours.seed_, ours.n_components_) == (theirs.kernel_, theirs.seed_, theirs.n_components_)
        and equal_parameters(ours.parameters_, theirs.parameters_)
    )
    if not same:
        raise ValueError(
            f"cannot merge sums of different features, {ours!r} and {theirs!r}: start all parts as fresh() copies of "
            "one prepared test"
        )
