"""The largest error of AdditiveMap on [0, 1], by the number of features for each column."""

import numpy as np
from matplotlib import pyplot

import mercer
from mercer.kernels import AdditiveChi2, Intersection, JensenShannon

x = np.linspace(0, 1, 101)[:, None]
figure, axes = pyplot.subplots(figsize=(6, 3.2))
for kernel, colour in ((AdditiveChi2(), "#0072b2"), (JensenShannon(), "#009e73"), (Intersection(), "#d55e00")):
    counts, errors = [], []
    for m in (1, 2, 4, 8, 16):
        map = mercer.AdditiveMap(kernel, n_components=2 * m + 1).fit(x)
        counts.append(map.n_components_)
        errors.append(np.abs(map.transform(x) @ map.transform(x).T - kernel(x)).max())
    axes.loglog(counts, errors, "o-", color=colour, label=type(kernel).__name__)
axes.set(xlabel="features for a column", ylabel="largest error on [0, 1]")
axes.set_xticks(counts, [str(count) for count in counts])
axes.minorticks_off()
axes.legend()
