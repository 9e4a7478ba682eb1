"""Kernel errors of scikit-learn's maps and of Mercer's on digits, by the number of features."""

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler

import mercer
from mercer.kernels import Gaussian, Polynomial

X = load_digits().data / 16
train, test = X[:1200], X[1200:]
WIDTHS, SEEDS = (64, 128, 256, 512), range(3)
cubic = {"degree": 3, "gamma": 0.05, "coef0": 1}
PAIRS = (
    ("RBFSampler", RBFSampler, {"gamma": 0.05}, mercer.OrthogonalFourier, Gaussian(0.05)),
    ("PolynomialCountSketch", PolynomialCountSketch, cubic, mercer.TaylorSketch, Polynomial(**cubic)),
    ("Nystroem", Nystroem, {"gamma": 0.05}, mercer.Nystrom, Gaussian(0.05)),
)


def errors(map, exact, **arguments):
    """Errors at every width, each the mean over some seeds."""
    K = exact(test)
    found = []
    for width in WIDTHS:
        drawn = [map(n_components=width, random_state=seed, **arguments).fit(train).transform(test) for seed in SEEDS]
        found.append(np.mean([np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(K) for Z in drawn]))
    return found


figure, panels = pyplot.subplots(1, 3, figsize=(9, 3.2), sharey=True)
for panel, (name, old, arguments, new, kernel) in zip(panels, PAIRS, strict=True):
    chosen = {"landmarks": "rpcholesky"} if new is mercer.Nystrom else {}
    panel.loglog(WIDTHS, errors(old, kernel, **arguments), "s-", color="#d55e00", label=name)
    panel.loglog(WIDTHS, errors(new, kernel, kernel=kernel, **chosen), "o-", color="#0072b2", label=new.__name__)
    panel.set(xlabel="features")
    panel.set_xticks(WIDTHS, [str(width) for width in WIDTHS])
    panel.minorticks_off()
    panel.legend(fontsize=8)
panels[0].set(ylabel="relative error of the kernel")
