"""Features on a GPU beside the plain formula, from the table in benchmarks/README.md."""

import numpy as np
from matplotlib import pyplot

from tables import number, table

_, rows = table("benchmarks/README.md", "|map|ms|plain|limit|")
rows = [row for row in rows if "tf32" not in row[0]]
place = np.arange(len(rows))
figure, axes = pyplot.subplots(figsize=(7.5, 4.6))
axes.barh(place - 0.2, [number(row[2]) for row in rows], 0.38, color="0.75", label="plain formula in torch")
axes.barh(place + 0.2, [number(row[1]) for row in rows], 0.38, color="#0072b2", label="Mercer")
axes.set(xscale="log", xlabel="ms for 262,144 rows of 784 columns (NVIDIA H200, float32)")
axes.set_yticks(place, [row[0] for row in rows])
axes.grid(axis="y", visible=False)
axes.invert_yaxis()
axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=8)
