"""The figure of ``learners.py`` on how time and memory of a regressor grow with the rows."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from cells import Cell, Figure, Found, Numbers, markdown, median
from memory import watched

from mercer.learn import KernelRegressor

COUNTS = (100_000, 300_000, 1_000_000)
COLUMNS, WIDTH = 28, 2048


def fitted(n: int, width: int, seed: int, _: Found) -> Numbers:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal(size=(n, COLUMNS), dtype=np.float32)
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    model = KernelRegressor(n_components=width, random_state=seed, kernel=None, alpha=1.0, preparation=None)
    model.fit(X[:5000], y[:5000])  # what is loaded on first use
    start = time.process_time()
    _, seconds, peak = watched(lambda: model.fit(X, y))
    spent = time.process_time() - start
    return {"seconds": seconds, "processor": spent, "peak": peak / 1e6, "input": (X.nbytes + y.nbytes) / 1e6}


def rows(tiny: bool) -> Figure:
    counts = (300, 600) if tiny else COUNTS
    cells = (Cell(f"{n} rows", partial(fitted, n, 32 if tiny else WIDTH)) for n in counts)
    return Figure("rows", tuple(cells), table)


def table(found: Found) -> str:
    lines = []
    for name, _ in sorted(found, key=lambda key: int(key[0].split()[0])):
        seconds, spent, peak, given = (median(found, name, key) for key in ("seconds", "processor", "peak", "input"))
        rate = 1e6 * spent / int(name.split()[0])
        lines.append((name, f"{given:.0f}", f"{seconds:.2f}", f"{spent:.2f}", f"{rate:.1f}", f"{peak:.0f}"))
    return markdown(
        ("KernelRegressor", "input, MB", "fit, s", "processor, s", "processor us a row", "peak beyond the input, MB"),
        lines,
    )
