"""One column in other units: what a Gaussian kernel sees of the rows, before and after scaling."""

import numpy as np
from matplotlib import pyplot

import mercer

rng = np.random.default_rng(0)
group = np.repeat([0, 1, 2], 30)
X = rng.normal(size=(90, 4)) * 0.5 + group[:, None]
X[:, 3] = rng.normal(size=90) * 1000
scaled = (X - X.mean(0)) / X.std(0)
kernel = mercer.kernels.Gaussian(0.3)
figure, axes = pyplot.subplots(1, 2, figsize=(7, 3.4))
for panel, rows, title in zip(axes, (X, scaled), ("one column in the thousands", "columns scaled"), strict=True):
    panel.imshow(kernel(rows), vmin=0, vmax=1, cmap="Blues")
    panel.set(title=title, xticks=[], yticks=[])
    panel.grid(visible=False)
