"""How wrong is my approximation?
=================================

A feature map approximates a kernel. ``certify`` measures how well it does so for rows that the map has not seen: for
the whole kernel matrix, for single entries and for predictions, with confidence intervals.
"""

# %%
# The same map with five numbers of features, certified on 1,000 fresh rows.

from __future__ import annotations

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

import mercer

X = StandardScaler().fit_transform(load_digits().data)
train, fresh = X[:797], X[797:]
WIDTHS = (64, 128, 256, 512, 1024)
certificates = {}
for width in WIDTHS:
    map = mercer.OrthogonalFourier("gaussian('median')", n_components=width, random_state=0).fit(train)
    certificates[width] = mercer.certify(map, fresh, random_state=0)
print(certificates[1024])

# %%
# The error decreases with the square root of the number of features, as the theory predicts.

figure, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
found = [certificates[width].relative_frobenius for width in WIDTHS]
middle = np.array([one.value for one in found])
below, above = middle - [one.low for one in found], [one.high for one in found] - middle
axes.errorbar(WIDTHS, middle, yerr=[below, above], fmt="o-", color="#0072b2", capsize=3, label="certificate, 95 %")
axes.plot(WIDTHS, middle[0] * np.sqrt(WIDTHS[0] / np.array(WIDTHS)), "--", color="0.5", label=r"$1/\sqrt{D}$")
axes.set(xscale="log", yscale="log", xlabel="features", ylabel="relative error of the kernel matrix")
axes.set_xticks(WIDTHS, [str(width) for width in WIDTHS])
axes.minorticks_off()
axes.legend(frameon=False)
pyplot.show()

# %%
# It also works the other way round: give the error that you accept, and ``AutoMap`` finds the map and the number of
# features, verified on fresh rows.

auto = mercer.AutoMap("gaussian('median')", target_error=0.05, random_state=0).fit(train)
print(f"{type(auto.map_).__name__} of width {auto.map_.n_components_}: error at most {auto.error_.high:.3f}")
