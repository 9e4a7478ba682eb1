"""Do these two columns have anything to do with each other?
============================================================

A correlation of 0 does not mean independence. Given enough rows, ``hsic_test`` finds any kind of dependence. Its
cost is linear in the number of rows, and its p-value is exact.
"""

from __future__ import annotations

import numpy as np
from matplotlib import pyplot
from scipy.stats import pearsonr

from mercer.stats import hsic_test

rng = np.random.default_rng(0)
angle, noise = rng.uniform(0, 2 * np.pi, 1500), 0.25 * rng.standard_normal((3, 1500))
x = rng.uniform(-1.5, 1.5, 1500)
PAIRS = {
    "a circle": (np.cos(angle) + noise[0], np.sin(angle) + noise[1]),
    "a parabola": (x, x**2 + noise[0]),
    "nothing": (x, noise[2] * 4),
}

# %%
# Pearson's correlation misses the first two dependences. The kernel test finds both, and none in the third data set.

figure, axes = pyplot.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for panel, (name, (left, right)) in zip(axes, PAIRS.items(), strict=True):
    correlation = pearsonr(left, right)
    found = hsic_test(left[:, None], right[:, None], random_state=0)
    pearson = f"correlation {correlation.statistic:+.2f} (p = {correlation.pvalue:.3f})"
    print(f"{name:11} {pearson}, HSIC p = {found.pvalue:.3f}")
    panel.scatter(left, right, s=3, alpha=0.4, color="#0072b2")
    panel.set(title=f"{name}\ncorrelation {correlation.statistic:+.2f}, HSIC p = {found.pvalue:.3f}")
pyplot.show()
