"""A bound on the error of all pairs in a ball beside the largest errors that occur, by number of features."""

import numpy as np
from matplotlib import pyplot

import mercer
from mercer.bounds import fourier_uniform_components

SEEDS = 40
kernel, rng = mercer.kernels.Gaussian(0.5), np.random.default_rng(0)
rows = rng.normal(size=(150, 10))
rows /= np.linalg.norm(rows, axis=1, keepdims=True)
rows *= rng.uniform(size=(150, 1)) ** 0.1  # evenly in the unit ball
truth = kernel(rows, rows)
widths = 2 ** np.arange(6, 15)
largest = np.empty((len(widths), SEEDS))
for place, width in enumerate(widths):
    for seed in range(SEEDS):
        Z = mercer.RandomFourier(kernel, n_components=int(width), random_state=seed).fit_transform(rows)
        largest[place, seed] = np.abs(Z @ Z.T - truth).max()
figure, axes = pyplot.subplots(figsize=(6.5, 3.4))
errors = np.geomspace(0.05, 1.0, 20)
needed = [fourier_uniform_components(kernel, 2.0, 10, epsilon=error, delta=0.01) for error in errors]
axes.loglog(needed, errors, color="#d55e00", label="bound for all pairs in the ball")
axes.fill_between(widths, largest.min(axis=1), largest.max(axis=1), color="#0072b2", alpha=0.25)
axes.loglog(widths, np.median(largest, axis=1), color="#0072b2", label="largest of 11,175 pairs")
axes.set(xlabel="features", ylabel="error of the kernel", title="RandomFourier, ten columns")
axes.legend(loc="lower left", fontsize="small")
