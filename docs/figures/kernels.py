"""What kernels look like: as functions of the distance, of the inner product, and built from each other."""

import numpy as np
from matplotlib import pyplot

from mercer import kernels

r = np.linspace(0, 4, 200)[:, None]
t = np.linspace(-1, 1, 200)[:, None]
figure, axes = pyplot.subplots(1, 3, figsize=(10, 3.2))
for text, label in (
    ("gaussian(0.5)", "gaussian(0.5)"),
    ("matern(nu=1.5)", "matern(1.5)"),
    ("laplacian(1.0)", "laplacian(1)"),
    ("cauchy(1.0)", "cauchy(1)"),
):
    axes[0].plot(r, kernels.parse(text)(r, [[0.0]]), label=label)
axes[0].set(title="of the distance", xlabel="|x - y|", ylabel="k(x, y)")
for text in ("linear()", "polynomial(3, coef0=1)", "exponential(1.0)", "arc_cosine()"):
    rows = np.hstack([t, np.sqrt(1 - t**2)])
    values = kernels.parse(text)(rows, [[1.0, 0.0]])
    axes[1].plot(t, values / kernels.parse(text)([[1.0, 0.0]], [[1.0, 0.0]]), label=text)
axes[1].set(title="of the inner product (rows of length 1)", xlabel="<x, y>", ylabel="k(x, y) / k(x, x)")
x = np.linspace(-4, 4, 400)[:, None]
for text in ("gaussian(2) + 0.3 * gaussian(0.1)", "gaussian(0.1) * matern(nu=0.5)"):
    axes[2].plot(x, kernels.parse(text)(x, [[0.0]]), label=text)
axes[2].set(title="a sum and a product", xlabel="x, for y = 0", ylim=(0, 1.75))
for panel in axes:
    panel.legend(fontsize=7.5)
