"""Time and memory as the rows grow, from the table in benchmarks/README.md."""

import numpy as np
from matplotlib import pyplot

from tables import number, table

_, rows = table("benchmarks/README.md", "|KernelRegressor|input, MB|")
sizes = np.array([number(row[0]) for row in rows])
figure, axes = pyplot.subplots(1, 2, figsize=(8, 3))
axes[0].plot(sizes, [number(row[2]) for row in rows], "o-", color="#0072b2")
axes[0].set(title="seconds of the fit", xlabel="rows", ylim=(0, None))
axes[1].plot(sizes, [number(row[5]) for row in rows], "o-", color="#d55e00", label="beyond the input")
axes[1].plot(sizes, sizes * 2048 * 4 / 1e6, "--", color="0.5", label="all features would take")
axes[1].set(title="memory, MB", xlabel="rows", xscale="log", yscale="log")
axes[1].legend(fontsize=8)
axes[1].minorticks_off()
for panel in axes:
    panel.set_xticks(sizes, [f"{size:,.0f}" for size in sizes], rotation=20)
