"""The table of the page guide/maps.md as a picture."""

import numpy as np
from matplotlib import pyplot

from tables import number, table

header, rows = table("docs/guide/maps.md", "|map|cod_rna")
names = [row[0].replace("`", "") for row in rows]
values = np.array([[number(cell) for cell in row[1:]] for row in rows])
figure, axes = pyplot.subplots(figsize=(8, 3.8))
for column, name in enumerate(header[1:]):
    axes.plot(values[:, column], np.arange(len(names)), "o", label=name, alpha=0.8)
axes.set(xscale="log", xlabel="relative error of the kernel on rows that no map had seen, 1,024 features")
axes.set_yticks(range(len(names)), names)
axes.invert_yaxis()
axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
