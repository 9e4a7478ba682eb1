"""LIBLINEAR on held features, as the papers used it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from ..._memory import as_bytes, physical_memory
from ..argument_types import MemoryArgument
from ..feature_matrix import HeldFeatures
from ..memory_estimates import Extent
from ..protocols import LinearClassifier


def check_copies(extent: Extent, memory: MemoryArgument) -> None:
    """Raise a MemoryError where features and LIBLINEAR's copies of them take more than is allowed, or than there is."""
    needed = extent.liblinear()
    most = physical_memory() if memory is None else as_bytes(memory)
    if most is not None and needed > most:
        allowed = "this machine has" if memory is None else "memory allows"
        raise MemoryError(
            f"solver='liblinear' holds all features and a copy: {extent.n_rows} x {extent.width} need "
            f"{needed / 2**30:.1f} GiB, and {allowed} {most / 2**30:.1f} GiB; solver='newton' makes them again in "
            "every pass"
        )


def liblinear(
    model: LinearClassifier, design: HeldFeatures, codes: NDArray[np.int64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Coefficients, one column per class, with the intercept as the last row."""
    shared = {"C": model.C, "fit_intercept": bool(model.fit_intercept), "max_iter": max(1000, model.max_iter)}
    columns = [1] if codes.max() == 1 else range(int(codes.max()) + 1)
    found = []
    for column in columns:  # one class against the rest
        machine: Any = (
            LinearSVC(dual="auto", random_state=0, **shared)
            if model.loss == "squared_hinge"
            else LogisticRegression(solver="liblinear", random_state=0, **shared)
        )
        machine.fit(design.Z, codes == column, weight)
        found.append(np.append(machine.coef_[0], machine.intercept_))
    return np.stack(found, axis=1).astype(np.float64)
