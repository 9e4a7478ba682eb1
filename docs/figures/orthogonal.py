"""Mean squared error over seeds against the distance: random, orthogonal and evenly spread frequencies."""

import numpy as np
from matplotlib import pyplot

import mercer

D, d, SEEDS = 64, 8, 150
distances = np.linspace(0.1, 4, 20)
rows = np.zeros((len(distances), d))
rows[:, 0] = distances / np.sqrt(2)
rows[:, 1] = distances / np.sqrt(2)
kernel = mercer.kernels.Gaussian(0.5)
truth = kernel(rows, np.zeros((1, d)))[:, 0]
figure, axes = pyplot.subplots(figsize=(6.5, 3.4))
for kind, colour in (
    (mercer.RandomFourier, "#cc79a7"),
    (mercer.OrthogonalFourier, "#0072b2"),
    (mercer.QuasiFourier, "#009e73"),
):
    squares = np.zeros(len(distances))
    for seed in range(SEEDS):
        map = kind(kernel, n_components=D, random_state=seed).fit(rows)
        estimate = (map.transform(rows) @ map.transform(np.zeros((1, d))).T)[:, 0]
        squares += (estimate - truth) ** 2
    axes.plot(distances, squares / SEEDS, color=colour, label=kind.__name__)
axes.set(
    xlabel=r"$\sqrt{2\gamma}\,|x - y|$", ylabel="mean squared error", title=f"{D} features, {d} columns, {SEEDS} seeds"
)
axes.legend()
