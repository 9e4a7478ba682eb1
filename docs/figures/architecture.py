"""The flow of rows through the package."""

from matplotlib import pyplot
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

BOXES = {
    "table": (0.0, 3.0, "table\nfiles, frames, arrays", "mercer.data"),
    "blocks": (2.6, 3.0, "blocks\nas they are read", "mercer.data"),
    "prepared": (5.2, 3.0, "prepared chunks\nlevels, gaps, scales", "mercer.learn.prepare"),
    "tiles": (7.8, 3.0, "tiles of 256 rows\non threads or a device", "mercer._tiles, mercer.gpu"),
    "kernel": (0.0, 1.4, "kernel\nwhat is approximated", "mercer.kernels"),
    "map": (2.6, 1.4, "construction\nthe mathematics", "mercer.maps"),
    "fitted": (5.2, 1.4, "fitted map\nparameters, read-only", "mercer.maps"),
    "features": (7.8, 1.4, "features of a tile\nused, then discarded", "csrc, mercer._array"),
    "choice": (0.0, -0.2, "pilot\nwhat is left open", "mercer.learn.pilot"),
    "file": (2.6, -0.2, "model file\nno code in it", "mercer.persist"),
    "solve": (5.2, -0.2, "solver and loss\ncoefficients", "mercer.learn"),
    "sums": (7.8, -0.2, "sums, or products\nmerged over tiles", "mercer.learn.statistics"),
}
ARROWS = (
    ("table", "blocks", ""),
    ("blocks", "prepared", ""),
    ("prepared", "tiles", ""),
    ("tiles", "features", ""),
    ("kernel", "map", ""),
    ("map", "fitted", "draw"),
    ("fitted", "features", "apply"),
    ("features", "sums", ""),
    ("sums", "solve", ""),
    ("solve", "file", ""),
    ("choice", "kernel", ""),
)
figure, axes = pyplot.subplots(figsize=(8.2, 4.6))
for x, y, text, home in BOXES.values():
    axes.add_patch(
        FancyBboxPatch((x, y), 2.05, 0.95, boxstyle="round,pad=0.06", facecolor="#eef4fa", edgecolor="#0072b2")
    )
    axes.text(x + 1.02, y + 0.55, text, ha="center", va="center", fontsize=9)
    axes.text(x + 1.02, y + 0.06, home, ha="center", va="center", fontsize=7, color="#0072b2", family="monospace")
for start, end, label in ARROWS:
    (x, y, *_), (u, v, *_) = BOXES[start], BOXES[end]
    if v == y:
        sides = (x + 2.12, u - 0.08) if u > x else (x - 0.08, u + 2.12)
        first, last = ((side, y + 0.5) for side in sides)
    else:
        edges = (y - 0.08, v + 1.03) if v < y else (y + 1.03, v - 0.08)
        first, last = ((x + 1.02, edge) for edge in edges)
    axes.add_patch(FancyArrowPatch(first, last, arrowstyle="-|>", mutation_scale=11, color="#59636e"))
    if label:
        axes.text((first[0] + last[0]) / 2, first[1] + 0.14, label, ha="center", fontsize=7.5, color="#59636e")
axes.set(xlim=(-0.2, 10.1), ylim=(-0.45, 4.2))
axes.axis("off")
