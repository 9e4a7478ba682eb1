"""A Gaussian process that knows what it does not know
===================================================

A Gaussian process on 20,000 rows distinguishes noise from ignorance and draws curves that agree with the data.

The measured temperatures of a year have a gap in the summer, where a model should be less certain. Run it with
``python examples/uncertainty.py``.
"""

from __future__ import annotations

import math
from time import perf_counter

import numpy as np
from matplotlib import pyplot

from mercer.kernels import Gaussian, Kernel, Matern
from mercer.learn import KernelRegressor

GAP = 0.55, 0.7
NOISE = 2.0


def temperatures(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times of a year, none of them in the gap, and noisy temperatures."""
    rng = np.random.default_rng(seed)
    times = rng.uniform(size=2 * n_rows)
    times = times[(times < GAP[0]) | (times > GAP[1])][:n_rows]
    return times[:, None], truth(times) + rng.normal(scale=NOISE, size=len(times))


def truth(times: np.ndarray) -> np.ndarray:
    """Return the temperature without noise."""
    return 10.0 - 10.0 * np.cos(2.0 * math.pi * times) + 2.0 * np.sin(14.0 * math.pi * times)


def process(kernel: Kernel) -> KernelRegressor:
    """Return a Gaussian process on landmarks, with the most likely variance of the noise."""
    return KernelRegressor(
        kernel, map="nystrom", n_components=128, alpha="evidence", keep_statistics=True, random_state=0
    )


def draw(n_rows: int = 20_000) -> None:
    """Draw some of the rows, the mean, and the band that contains nine curves out of ten."""
    X, y = temperatures(n_rows, seed=0)
    model = process(Gaussian(150.0)).fit(X, y)
    grid = np.linspace(0.0, 1.0, 400)[:, None]
    curves = model.sample_y(grid, 500, noise=False)
    low, high = np.quantile(curves, [0.05, 0.95], axis=1)
    _, axes = pyplot.subplots(figsize=(6.4, 3.8), layout="constrained")
    axes.plot(X[::40, 0], y[::40], ".", color="#8c959f", markersize=3, label="one row in 40")
    axes.fill_between(grid[:, 0], low, high, color="#56b4e9", alpha=0.5, label="90 % of the curves")
    axes.plot(grid, model.predict(grid), color="#0072b2", label="mean")
    axes.plot(grid, truth(grid), "--", color="#1f2328", linewidth=1, label="truth")
    axes.axvspan(*GAP, color="#e69f00", alpha=0.12)
    axes.set(xlabel="time of the year", ylabel="temperature", title="No rows in the gap, so the band is wide there")
    axes.legend(frameon=False, fontsize=9)
    pyplot.show()


def main(n_rows: int = 20_000) -> dict[str, float]:
    """Print what the process knows, and return its figures."""
    X, y = temperatures(n_rows, seed=0)
    began, found = perf_counter(), {}
    kernels = {"wide": Gaussian(5.0), "narrow": Gaussian(150.0), "rough": Matern(0.5, length_scale=0.1)}
    for name, kernel in kernels.items():
        found[name] = process(kernel).fit(X, y)
    best = max(found, key=lambda name: found[name].log_marginal_likelihood_)
    print(f"three kernels on {len(X):,} rows in {perf_counter() - began:.1f} s")
    for name, one in found.items():
        mark = "  <- the likeliest" if name == best else ""
        print(f"  {name:8} {kernels[name]!r:40} log likelihood {one.log_marginal_likelihood_:12.1f}{mark}")

    model, places = found[best], np.array([[0.25], [0.625], [0.9]])
    mean, deviation = model.predict(places, return_std=True)
    noise = float(model.posterior().noise[0]) ** 0.5
    print(f"\nestimated standard deviation of the noise: {noise:.2f}; the truth is {NOISE:g}")
    smooth = model.sample_y(places, 2000, noise=False).std(axis=1)
    for (place,), one, all_of_it, curve in zip(places, mean, deviation, smooth, strict=True):
        where = "in the gap" if GAP[0] < place < GAP[1] else "among rows"
        known = f"{one:6.2f} +- {curve:.2f}, new observations +- {all_of_it:.2f}; the truth is {truth(place):.2f}"
        print(f"  {where}, at {place:.3f}: {known}")

    grid = np.linspace(0.0, 1.0, 400)[:, None]
    drawn = model.sample_y(grid, 500, noise=False)
    warmest = grid[drawn.argmax(axis=0), 0]
    low, high = np.quantile(warmest, [0.05, 0.95])
    print(f"\nthe warmest day is between {low:.3f} and {high:.3f} of the year, according to 500 random curves")
    return {"noise": noise, "gap": float(smooth[1] / smooth[0]), "best": float(best == "narrow"), "low": low}


if __name__ == "__main__":
    main()
    draw()
