"""The error of landmarks falls with the spectrum of the kernel matrix, that of random features with 1 / sqrt(D)."""

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_digits

import mercer

X = load_digits().data[:900] / 16
figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.3))
WIDTHS = (16, 32, 64, 128, 256)
for gamma, style in ((0.01, "-"), (0.1, "--")):
    kernel = mercer.kernels.Gaussian(gamma)
    values = np.linalg.eigvalsh(kernel(X))[::-1]
    axes[0].semilogy(np.maximum(values[:300] / values[0], 1e-10), style, color="#1f2328", label=f"gamma = {gamma}")
    for kind, colour, given in (
        (mercer.RandomFourier, "#cc79a7", {}),
        (mercer.Nystrom, "#d55e00", {}),
        (mercer.Nystrom, "#0072b2", {"landmarks": "rpcholesky"}),
    ):
        name = f"{kind.__name__}{', rpcholesky' if given else ''}"
        errors = [
            mercer.kernel_error(kind(kernel, n_components=D, random_state=0, **given).fit(X[:600]), X[600:]).relative
            for D in WIDTHS
        ]
        axes[1].loglog(WIDTHS, errors, style, color=colour, label=name if gamma == 0.01 else None)
axes[0].set(title="eigenvalues of the kernel matrix", xlabel="number", ylabel="over the largest")
axes[1].set(title="relative error on other rows", xlabel="features")
axes[1].set_xticks(WIDTHS, [str(width) for width in WIDTHS])
axes[1].minorticks_off()
for panel in axes:
    panel.legend(fontsize=8)
