"""What is a bad day, what is a good one?
=========================================

Sometimes the mean is not enough, and you need to know the spread. ``loss="quantile"`` learns several quantiles in one
fit, and they do not cross.
"""

from __future__ import annotations

import numpy as np
from matplotlib import pyplot

from mercer import KernelRegressor


def days(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times of day and waiting times, which are longest and vary most at noon."""
    rng = np.random.default_rng(seed)
    hour = rng.uniform(6, 22, n_rows)
    usual = 5 + 10 * np.exp(-((hour - 12) ** 2) / 6) + 6 * np.exp(-((hour - 18) ** 2) / 4)
    return hour[:, None], usual * rng.gamma(8.0, 1 / 8, n_rows)


X, y = days(4000, seed=0)
LEVELS = (0.1, 0.5, 0.9)
model = KernelRegressor(loss="quantile", quantile=LEVELS, n_components=128, random_state=0).fit(X, y)

# %%
# The share of new days below each line should agree with its name.

X_new, y_new = days(20_000, seed=1)
predicted = model.predict(X_new)
for level, column in zip(LEVELS, predicted.T, strict=True):
    print(f"below the line of {level:.0%}: {(y_new < column).mean():.1%}")
print(f"lines that cross: {(np.diff(predicted, axis=1) < 0).any(axis=1).sum()} of {len(X_new):,}")

figure, axes = pyplot.subplots(figsize=(7, 3.8), layout="constrained")
axes.scatter(X[:, 0], y, s=2, alpha=0.25, color="0.5")
hours = np.linspace(6, 22, 300)[:, None]
for level, line, colour in zip(LEVELS, model.predict(hours).T, ("#56b4e9", "#0072b2", "#d55e00"), strict=True):
    axes.plot(hours[:, 0], line, color=colour, linewidth=2, label=f"{level:.0%}")
axes.set(xlabel="hour of the day", ylabel="waiting time, minutes")
axes.legend(frameon=False, title="quantile")
pyplot.show()
