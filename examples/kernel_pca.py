"""Can I see 100,000 points through kernel PCA?
===============================================

scikit-learn's ``KernelPCA`` needs the kernel matrix: 80 GB for 100,000 rows. ``mercer.learn.KernelPCA`` sums products
of features in one pass and holds none of them.
"""

# %%
# Three noisy closed curves that wind around each other, in ten columns.

from __future__ import annotations

import time

import numpy as np
from matplotlib import pyplot

from mercer.learn import KernelPCA

N = 100_000
rng = np.random.default_rng(0)
curve, angle = rng.integers(3, size=N), rng.uniform(0.0, 2.0 * np.pi, N)
radius = 1.0 + 1.5 * curve
X = 0.1 * rng.standard_normal((N, 10))
X[:, 0] += radius * np.cos(angle)
X[:, 1] += radius * np.sin(angle)
X[:, 2] += 0.5 * np.sin(3.0 * angle)

begin = time.process_time()
pca = KernelPCA("gaussian(0.1)", n_components=512, n_directions=2, random_state=0).fit(X)
Z = pca.transform(X)
took = time.process_time() - begin
print(f"{N:,} rows, {took:.1f} processor seconds; share of the variance: {pca.explained_ratio_.round(2)}")

# %%
# The curves cannot be told apart along any straight line; along the first two directions of the kernel they can.

figure, axes = pyplot.subplots(1, 2, figsize=(9, 4), layout="constrained")
shown = rng.choice(N, 4000, replace=False)
for one, points, title in zip(axes, (X, Z), ("two of ten columns", "two kernel principal components"), strict=True):
    one.scatter(*points[shown, :2].T, c=np.array(["#0072b2", "#d55e00", "#009e73"])[curve[shown]], s=3, alpha=0.5)
    one.set(title=title)
pyplot.show()
