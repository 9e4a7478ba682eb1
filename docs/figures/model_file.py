"""Sizes of model files, in full and from the seed."""

import os
import tempfile

import numpy as np
from matplotlib import pyplot

import mercer

X = np.random.default_rng(0).normal(size=(300, 784))
y = X[:, 0]
full, seed = [], []
WIDTHS = (256, 512, 1024)
with tempfile.TemporaryDirectory() as folder:
    for D in WIDTHS:
        map = mercer.RandomFourier("gaussian(0.001)", n_components=D, random_state=0)
        model = mercer.KernelRegressor(None, map=map, alpha=1.0).fit(X, y)
        for parameters, sizes in (("full", full), ("seed", seed)):
            name = os.path.join(folder, f"{parameters}{D}.mercer")
            mercer.save(model, name, parameters=parameters)
            sizes.append(os.path.getsize(name) / 1000)
figure, axes = pyplot.subplots(figsize=(6.5, 2.8))
place = np.arange(len(WIDTHS))
for offset, sizes, colour, label in ((-0.2, full, "#0072b2", "in full"), (0.2, seed, "#009e73", 'parameters="seed"')):
    bars = axes.bar(place + offset, sizes, 0.38, color=colour, label=label)
    axes.bar_label(bars, [f"{size:,.0f} kB" for size in sizes], fontsize=8)
axes.set(yscale="log", ylabel="kB", xlabel="features of RandomFourier, 784 columns", ylim=(1, 2e4))
axes.set_xticks(place, [str(width) for width in WIDTHS])
axes.legend()
