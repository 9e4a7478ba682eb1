"""Intervals of nine in ten, of one width and by groups."""

import numpy as np
from matplotlib import pyplot

from mercer.learn import ConformalRegressor, KernelRegressor

rng = np.random.default_rng(0)
x = rng.uniform(0, 10, 1500)
noisy = x > 6
y = np.sin(x) + np.where(noisy, 0.8, 0.15) * rng.standard_normal(1500)
X, grid = x[:, None], np.linspace(0, 10, 300)[:, None]
learner = KernelRegressor("gaussian(1)", n_components=128, alpha=0.1, random_state=0)
plain = ConformalRegressor(learner, random_state=0).fit(X, y)
grouped = ConformalRegressor(learner, random_state=0).fit(X, y, groups=noisy)
figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.2), sharey=True)
for panel, found, title in (
    (axes[0], plain.predict_interval(grid), "one width for all"),
    (axes[1], grouped.predict_interval(grid, groups=grid[:, 0] > 6), "a width for each group"),
):
    panel.scatter(x, y, s=3, color="0.6")
    panel.fill_between(grid[:, 0], *found.T, color="#0072b2", alpha=0.25)
    panel.plot(grid, plain.predict(grid), color="#0072b2")
    panel.set(title=title, xlabel="x")
