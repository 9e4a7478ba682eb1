"""The losses of the regressor on rows with outliers."""

import numpy as np
from matplotlib import pyplot

from mercer import KernelRegressor

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3, 3, 400))
y = np.sin(2 * x) + 0.15 * rng.standard_normal(400)
y[rng.choice(400, 24, replace=False)] += 4
X, grid = x[:, None], np.linspace(-3, 3, 300)[:, None]
figure, axes = pyplot.subplots(figsize=(7.5, 3.4))
axes.scatter(x, y, s=6, color="0.6")
axes.plot(grid, np.sin(2 * grid), color="#1f2328", linewidth=1, label="truth")
for loss, colour in (("squared", "#d55e00"), ("huber", "#0072b2"), ("quantile", "#009e73")):
    machine = KernelRegressor("gaussian(1)", n_components=64, alpha=0.1, loss=loss, random_state=0).fit(X, y)
    axes.plot(grid, np.ravel(machine.predict(grid)), color=colour, label=f'loss="{loss}"', linewidth=2)
axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
axes.set(xlabel="x", ylabel="y")
