"""What `mercer compare` finds on handwritten digits."""

from matplotlib import pyplot
from sklearn.datasets import load_digits

import mercer

MAPS = ("OrthogonalFourier", "QuasiFourier", "Nystrom", "TaylorSketch")
X, y = load_digits(return_X_y=True)
table = mercer.data.open(X, target=y)
found = mercer.report.compare(
    table,
    "classification",
    kernel="gaussian('median')",
    maps=MAPS,
    features=(32, 128, 512),
    rows=1200,
    test_rows=500,
    exact_rows=1000,
    loss="squared",
)
figure, axes = pyplot.subplots(1, 2, figsize=(8.5, 3.3))
for name in MAPS:
    mine = sorted((entry.features, entry.error, 100 * entry.score) for entry in found.entries if entry.map == name)
    for panel, column in zip(axes, (1, 2), strict=True):
        panel.semilogx([one[0] for one in mine], [one[column] for one in mine], "o-", label=name)
axes[0].set(yscale="log", xlabel="features", ylabel="relative error of the kernel")
exact = next(entry for entry in found.entries if entry.map not in MAPS)
axes[1].axhline(100 * exact.score, color="#1f2328", linestyle="--", linewidth=1, label="exact machine")
axes[1].set(xlabel="features", ylabel="accuracy, %")
for panel in axes:
    panel.set_xticks([32, 128, 512], ["32", "128", "512"])
    panel.minorticks_off()
axes[1].legend(fontsize=8)
