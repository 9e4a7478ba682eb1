"""How far off may a prediction be?
================================

Intervals that contain nine out of ten house prices, overall or in each of several regions. The data are generated, so
the truth is known: prices vary far more in some regions than in others.
"""

from __future__ import annotations

import numpy as np

from mercer.learn import ConformalRegressor, KernelRegressor

REGIONS = np.array(["city", "coast", "country"])
SPREADS = {"city": 0.1, "coast": 0.5, "country": 0.2}


def houses(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return area, age and distance of houses, their prices and their regions."""
    rng = np.random.default_rng(seed)
    X, region = rng.uniform(size=(n_rows, 3)), REGIONS[rng.integers(0, 3, size=n_rows)]
    noise = rng.normal(size=n_rows) * np.array([SPREADS[one] for one in region])
    return X, 2.0 * X[:, 0] - X[:, 1] ** 2 + np.exp(-3.0 * X[:, 2]) + noise, region


def main(n_rows: int = 4000) -> dict[str, tuple[float, float]]:
    """Print how often prices are inside their intervals; return the shares without and with groups."""
    X, y, region = houses(n_rows, seed=0)
    new, truth, regions = houses(n_rows, seed=1)
    learner = KernelRegressor(n_components=256, random_state=0)
    together = ConformalRegressor(learner, random_state=0).fit(X, y)
    apart = ConformalRegressor(learner, random_state=0).fit(X, y, groups=region)
    found = {}
    print(f"{together.method_}: from a single fit\n{'region':10} {'one width':>10} {'by region':>10} {'width':>8}")
    for one in REGIONS.tolist():
        here = regions == one
        plain = together.predict_interval(new[here])
        own = apart.predict_interval(new[here], groups=regions[here])
        shares = [((low <= truth[here]) & (truth[here] <= high)).mean() for low, high in (plain.T, own.T)]
        found[one] = float(shares[0]), float(shares[1])
        print(f"{one:10} {shares[0]:10.1%} {shares[1]:10.1%} {np.median(own[:, 1] - own[:, 0]):8.2f}")
    return found


def draw(found: dict[str, tuple[float, float]]) -> None:
    """Return the share of prices that are inside their intervals, by region."""
    from matplotlib import pyplot

    _, axes = pyplot.subplots(figsize=(6.5, 3.2), layout="constrained")
    for offset, which, colour, label in ((-0.2, 0, "#d55e00", "one width for all"), (0.2, 1, "#0072b2", "by region")):
        shares = [100 * found[region][which] for region in found]
        axes.bar([place + offset for place in range(len(found))], shares, 0.38, color=colour, label=label)
    axes.axhline(90, color="#1f2328", linestyle="--", linewidth=1, label="promised")
    axes.set(ylabel="prices inside, %", ylim=(60, 105), xticks=range(len(found)))
    axes.set_xticklabels(found)
    axes.legend(frameon=False, ncols=3)
    pyplot.show()


if __name__ == "__main__":
    draw(main())
