"""Can I see 100,000 points through kernel PCA?
===============================================

scikit-learn's ``KernelPCA`` needs the kernel matrix: 80 GB for 100,000 rows. ``mercer.learn.KernelPCA`` sums products
of features in one pass and does not store the features.
"""

# %%
# Three noisy closed curves that are wound around each other, in ten columns.

from __future__ import annotations

import time

import numpy as np
from matplotlib import pyplot
from sklearn.linear_model import LogisticRegression

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
pca = KernelPCA("gaussian(0.1)", n_components=512, n_directions=8, random_state=0).fit(X)
Z = pca.transform(X)
took = time.process_time() - begin
print(f"{N:,} rows, {took:.1f} processor seconds; share of the variance: {pca.explained_ratio_.sum():.0%}")

# %%
# In the original columns, no hyperplane separates the curves. On eight kernel principal components, a linear classifier
# trained with 2,000 rows does. The picture shows the first component and the one that separates the curves best.

few, others = slice(2000), slice(2000, 12_000)
for name, points in (("columns", X), ("directions", Z)):
    score = LogisticRegression(max_iter=1000).fit(points[few], curve[few]).score(points[others], curve[others])
    print(f"a linear classifier on the {name:10} is right for {score:.1%}")

means = np.array([Z[curve == one].mean(axis=0) for one in range(3)])
best = 1 + int(np.argmax(np.ptp(means, axis=0)[1:] / Z.std(axis=0)[1:]))
figure, axes = pyplot.subplots(1, 2, figsize=(9, 4), layout="constrained")
shown = rng.choice(N, 4000, replace=False)
colours = np.array(["#0072b2", "#d55e00", "#009e73"])[curve[shown]]
axes[0].scatter(*X[shown, :2].T, c=colours, s=3, alpha=0.5)
axes[0].set(title="two of ten columns", xlabel="column 0", ylabel="column 1")
axes[1].scatter(Z[shown, 0], Z[shown, best], c=colours, s=3, alpha=0.5)
axes[1].set(title="two of eight directions", xlabel="direction 0", ylabel=f"direction {best}")
pyplot.show()
