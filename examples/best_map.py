"""Which map is best for my data?
=================================

It depends on the data and on the bandwidth, so measure it. ``mercer.report.compare`` tries every map that supports a
kernel, with several numbers of features, and compares them with the exact machine. On the command line, use
``mercer compare``.
"""

from __future__ import annotations

from matplotlib import pyplot
from sklearn.datasets import load_digits

import mercer
from mercer import OrthogonalFourier, QuasiFourier, RandomFourier, TaylorSketch, kernel_error, maps

X, y = load_digits(return_X_y=True)
X = X / 16.0
train, test = X[:1200], X[1200:]

# %%
# Two bandwidths of the same kernel. A wide one is smooth and easy to approximate; a narrow one is not.

CANDIDATES = (RandomFourier, OrthogonalFourier, QuasiFourier, TaylorSketch, maps.Nystrom)
COLOURS = ("#cc79a7", "#0072b2", "#56b4e9", "#009e73", "#d55e00")
WIDTHS = (64, 128, 256, 512)
figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
for panel, (name, gamma) in zip(axes, {"wide": 0.02, "narrow": 0.2}.items(), strict=True):
    kernel = mercer.kernels.Gaussian(gamma)
    for map, colour in zip(CANDIDATES, COLOURS, strict=True):
        fitted = [map(kernel, n_components=D, random_state=0).fit(train) for D in WIDTHS]
        errors = [kernel_error(one, test).relative for one in fitted]
        print(f"{name:7} {map.__name__:18}", *(f"{error:.4f}" for error in errors))
        panel.loglog(WIDTHS, errors, "o-", color=colour, label=map.__name__)
    panel.set(title=f"{name}: gamma = {gamma}", xlabel="features")
    panel.set_xticks(WIDTHS, [str(width) for width in WIDTHS])
    panel.minorticks_off()
axes[0].set(ylabel="relative error of the kernel")
axes[1].legend(frameon=False, fontsize=8)
pyplot.show()

# %%
# ``AutoMap`` does this for you by cross-validation, and picks the best map for a given number of features.

auto = mercer.AutoMap("gaussian(0.02)", n_components=256, random_state=0).fit(train)
print(f"AutoMap picks {type(auto.map_).__name__}: {kernel_error(auto, test).relative:.4f}")
