"""Spectral laws of four kernels, and features whose products come close to them."""

import numpy as np
from matplotlib import pyplot

import mercer
from mercer.kernels import Gaussian

figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.3))
w = np.linspace(-5, 5, 400)
for label, density in (
    ("Gaussian(0.5)", np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi)),
    ("Laplacian(1)", 1 / (np.pi * (1 + w**2))),
    ("Cauchy(1)", np.exp(-np.abs(w)) / 2),
):
    axes[0].plot(w, density, label=label)
axes[0].set(title="laws of the frequencies", xlabel="frequency")
axes[0].legend(fontsize=8)
x = np.linspace(0, 5, 300)[:, None]
kernel = Gaussian(0.5)
axes[1].plot(x, kernel(x, [[0.0]]), color="#1f2328", label="Gaussian(0.5)")
for D, colour in ((16, "#d55e00"), (128, "#0072b2")):
    map = mercer.RandomFourier(kernel, n_components=D, random_state=1).fit(x)
    axes[1].plot(x, map.transform(x) @ map.transform([[0.0]]).T, color=colour, label=f"{D} features", linewidth=1.2)
axes[1].set(title="one draw of the features", xlabel="|x - y|")
axes[1].legend(fontsize=8)
