"""How far apart the features of one seed are when they are computed in different ways."""

import numpy as np
from matplotlib import pyplot
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

import mercer

X = load_digits().data[:1000] / 16
map = mercer.OrthogonalFourier("gaussian(0.05)", n_components=512, random_state=0).fit(X)
Z = map.transform(X)
ways = {
    "the same again": map.transform(X),
    "1 thread, 4 threads": map.set_params(n_jobs=4).transform(X),
    "blocks of 256 rows": np.vstack([map.transform(X[start : start + 256]) for start in range(0, 1000, 256)]),
    "blocks of 100 rows": np.vstack([map.transform(X[start : start + 100]) for start in range(0, 1000, 100)]),
    "CSR rows": map.transform(csr_array(X)),
    "float32 rows": map.transform(X.astype(np.float32)),
}
found = {name: np.abs(other - Z).max() for name, other in ways.items()}
figure, axes = pyplot.subplots(figsize=(7.5, 2.8))
for place, value in enumerate(found.values()):
    axes.plot([1e-19 if value == 0 else value], [place], "o", color="#009e73" if value == 0 else "#0072b2")
    axes.annotate(
        "0: the same bits" if value == 0 else f"{value:.0e}",
        (max(value, 1e-19), place),
        (8, -3),
        textcoords="offset points",
        fontsize=8,
    )
axes.set(xscale="log", xlim=(3e-20, 1e-3), xlabel="largest difference between two features (zeros at the left edge)")
axes.set_yticks(range(len(found)), found)
axes.invert_yaxis()
