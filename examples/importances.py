"""Which columns matter?
=====================

Which columns affect the price of a house, for which houses, and in which direction?

The data are generated, so the truth is known: the column of noise has no effect. Run it with
``python examples/importances.py``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import pyplot

from mercer.learn import KernelRegressor

PREMIUM = {"city": 1.0, "coast": 2.0, "country": 0.0}


def houses(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return area, age, region and a random number for houses, and their prices."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "area": rng.uniform(30.0, 250.0, size=n_rows),
            "age": rng.uniform(0.0, 100.0, size=n_rows),
            "region": rng.choice(list(PREMIUM), size=n_rows),
            "noise": rng.normal(size=n_rows),
        }
    )
    # Age lowers the price at first, until a house becomes a monument.
    price = 0.03 * table["area"] + ((table["age"] - 60.0) / 40.0) ** 2 + table["region"].map(PREMIUM)
    return table, price.to_numpy() + rng.normal(scale=0.2, size=n_rows)


def draw(importances: dict[str, float]) -> None:
    """Draw the share of each column as a bar."""
    shares = sorted((share, name) for name, share in importances.items())
    _, axes = pyplot.subplots(figsize=(6.4, 2.6), layout="constrained")
    axes.barh([name for _, name in shares], [100.0 * share for share, _ in shares], color="#0072b2")
    axes.set(xlabel="share of what moves the price, in %", title="What matters to the price of a house")
    pyplot.show()


def main(n_rows: int = 2000) -> tuple[dict[str, float], np.ndarray]:
    """Print what matters; return the importances, and the effects of the columns on three houses."""
    X, y = houses(n_rows, seed=0)
    model = KernelRegressor("gaussian('scale')", n_components=256, random_state=0).fit(X, y)
    importances = dict(zip(X.columns, model.importances(X).tolist(), strict=True))
    print("how much each column matters")
    for name, share in sorted(importances.items(), key=lambda one: -one[1]):
        print(f"  {name:8} {share:6.1%} {'#' * round(40 * share)}")

    new = pd.DataFrame({"area": 120.0, "age": [10.0, 60.0, 95.0], "region": ["coast", "city", "country"], "noise": 0.0})
    effects, prices = model.explain(new, baseline=X), model.predict(new)
    print("\nwhat each column adds to the price of three houses")
    print(f"  {'':24}" + "".join(f"{name:>8}" for name in X.columns) + f"{'rest':>8}{'price':>8}")
    for (_, house), effect, price in zip(new.iterrows(), effects, prices, strict=True):
        name = f"{house['age']:.0f} years, {house['region']}"
        print(f"  {name:24}" + "".join(f"{one:8.2f}" for one in effect) + f"{price - effect.sum():8.2f}{price:8.2f}")

    slopes = model.gradient(new)[:, 1]
    print("\nwhat another ten years would do: " + ", ".join(f"{10.0 * slope:+.2f}" for slope in slopes))
    return importances, effects


if __name__ == "__main__":
    draw(main()[0])
