"""Gaussian processes: the same kernel and rows for Mercer and scikit-learn's GaussianProcessRegressor.

``MERCER_DATA=... python benchmarks/gaussian_process.py rows --csv cells.csv`` standardises the columns of cpu
and gives both a Matern kernel of the same length scale; both find the noise and the factor of the kernel by the
largest marginal likelihood, scikit-learn by its search, Mercer by ``alpha="evidence"``, on all rows as landmarks and on
1,024. Columns: the marginal likelihood, and on rows held out the root mean squared error, the mean logarithmic density
(higher is better) and how often nine targets in ten are inside the intervals of 90 % that the deviations give. Times
are of the processor and one thread.
"""

from __future__ import annotations

import sys
import warnings
from functools import cache, partial
from pathlib import Path
from time import process_time

import numpy as np
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor, kernels

from mercer.kernels import Matern
from mercer.learn import KernelRegressor

sys.path.append(str(Path(__file__).parents[1] / "experiments"))

from cells import Cell, Figure, Found, Numbers, column, markdown
from defaults import split
from figures import command

SIZES, PEER_SIZES, TINY_SIZES = (500, 1000, 2000, 4000, 6000), (500, 1000, 2000), (60, 90)
WIDTH, TINY_WIDTH = 1024, 40
LENGTH, NU = 6.0, 1.5
TESTED = 2000
QUANTITIES = ("evidence", "rmse", "density", "covered", "fit", "predict")
PEER, EXACT, NARROW = "GaussianProcessRegressor", "all rows as landmarks", "landmarks"


@cache
def rows(n_rows: int, tiny: bool) -> tuple[np.ndarray, ...]:
    """Standardised rows and targets to learn from, and rows held out."""
    found = split("diabetes" if tiny else "cpu", 0, n_rows)
    X, new = found.X.astype(np.float64), found.new[:TESTED].astype(np.float64)
    centre, size, mean, spread = X.mean(axis=0), X.std(axis=0), found.y.mean(), found.y.std()
    size[size == 0.0] = 1.0
    return (X - centre) / size, (found.y - mean) / spread, (new - centre) / size, (found.truth[:TESTED] - mean) / spread


def measured(n_rows: int, who: str, tiny: bool, seed: int, _: Found) -> Numbers:
    X, y, new, truth = rows(n_rows, tiny)
    if who == PEER:
        kernel = kernels.ConstantKernel(10.0, (1e-3, 1e6)) * kernels.Matern(LENGTH, "fixed", NU)
        model = GaussianProcessRegressor(kernel + kernels.WhiteKernel(0.1, (1e-8, 1e3)), alpha=0.0)
    else:
        width = n_rows if who == EXACT else (TINY_WIDTH if tiny else WIDTH)
        model = KernelRegressor(
            Matern(NU, length_scale=LENGTH),
            map="nystrom",
            n_components=width,
            alpha="evidence",
            fit_intercept=False,
            keep_statistics=True,
            preparation=None,
            extrapolate="free",
            random_state=seed,
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = process_time()
        model.fit(X, y)
        fitted = process_time()
        mean, deviation = model.predict(new, return_std=True)
        predicted = process_time()
    evidence = model.log_marginal_likelihood_value_ if who == PEER else model.log_marginal_likelihood_
    reach = norm.ppf(0.95) * deviation
    return {
        "evidence": evidence,
        "rmse": float(np.sqrt(np.mean((truth - mean) ** 2))),
        "density": float(norm.logpdf(truth, mean, deviation).mean()),
        "covered": 100.0 * float(np.mean(np.abs(truth - mean) <= reach)),
        "fit": fitted - began,
        "predict": predicted - fitted,
    }


def rows_figure(tiny: bool) -> Figure:
    sizes = TINY_SIZES if tiny else SIZES
    cells = [
        Cell(f"{n_rows} rows, {who}", partial(measured, n_rows, who, tiny))
        for n_rows in sizes
        for who in (PEER, EXACT, NARROW)
        if (who != PEER or tiny or n_rows in PEER_SIZES) and (who != EXACT or n_rows <= max(PEER_SIZES))
    ]
    return Figure("rows", tuple(cells), table)


def table(found: Found) -> str:
    lines = []
    for cell, _ in found:
        peer = f"{cell.split(', ')[0]}, {PEER}"
        one = {name: column(found, cell, name)[0] for name in QUANTITIES}
        theirs = column(found, peer, "fit")
        ratio = f"{theirs[0] / one['fit']:.1f}" if theirs else ""
        kept = f"{one['evidence']:.2f}", f"{one['rmse']:.4f}", f"{one['density']:.3f}", f"{one['covered']:.1f}"
        lines.append((cell, *kept, f"{one['fit']:.2f}", ratio, f"{one['predict']:.2f}"))
    scores = ("log likelihood", "RMSE", "log density", "covered, %")
    return markdown(("rows, who", *scores, "s of fit", "times faster", "s of predict"), lines)


FIGURES = {"rows": rows_figure}


def main(given: list[str] | None = None) -> None:
    assert __doc__ is not None
    command(FIGURES, __doc__, __file__, given, threads=1, is_apart=False)


if __name__ == "__main__":
    main()
