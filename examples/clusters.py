"""k-means cuts my rings in half. Can a kernel do better?
========================================================

k-means separates clusters by straight lines. With the features of a kernel, the borders between clusters are curved.
Any number of rows can be clustered, because features are computed chunk by chunk and discarded.
"""

from __future__ import annotations

import numpy as np
from matplotlib import pyplot
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from mercer.learn import KernelKMeans

rng = np.random.default_rng(0)
group, angle = rng.integers(2, size=6000), rng.uniform(0.0, 2.0 * np.pi, 6000)
radius = np.where(group == 0, 0.4, 2.0) + 0.15 * rng.standard_normal(6000)
X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])

# %%
# The adjusted Rand index is 1 if the true groups are found, and 0 on average for random groups.

FOUND = {
    "k-means": KMeans(2, n_init=10, random_state=0).fit_predict(X),
    "kernel k-means": KernelKMeans("gaussian(0.5)", n_clusters=2, n_components=256, random_state=0).fit_predict(X),
}
figure, axes = pyplot.subplots(1, 2, figsize=(8, 4), layout="constrained")
for panel, (name, labels) in zip(axes, FOUND.items(), strict=True):
    index = adjusted_rand_score(group, labels)
    print(f"{name:15} {index:.2f}")
    panel.scatter(*X.T, c=np.array(["#0072b2", "#d55e00"])[labels], s=3, alpha=0.5)
    panel.set(title=f"{name}: {index:.2f}", aspect="equal")
pyplot.show()
