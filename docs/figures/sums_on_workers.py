"""How sums of partitions on three workers become one model."""

from matplotlib import pyplot
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

WORKERS = ("#0072b2", "#d55e00", "#009e73")
PARTITIONS = 8


def box(x, y, width, text, edge):
    place = FancyBboxPatch((x, y), width, 0.6, boxstyle="round,pad=0.05", facecolor="#f6f8fa", edgecolor=edge)
    axes.add_patch(place)
    axes.text(x + width / 2, y + 0.3, text, ha="center", va="center", fontsize=8.5)


def arrow(start, end):
    axes.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=10, color="#59636e"))


figure, axes = pyplot.subplots(figsize=(8.2, 3.6))
for number in range(PARTITIONS):
    edge = WORKERS[number % 3]
    box(1.2 * number, 3.0, 0.9, f"rows {number}", edge)
    box(1.2 * number, 1.7, 0.9, "sums", edge)
    arrow((1.2 * number + 0.45, 2.95), (1.2 * number + 0.45, 2.36))
    arrow((1.2 * number + 0.45, 1.65), (4.2 + 0.15 * number, 1.06))
box(3.6, 0.4, 2.2, "sums of eight neighbours", WORKERS[1])
arrow((5.85, 0.7), (7.2, 0.7))
box(7.3, 0.4, 1.9, "client: solve, model", "#1f2328")
for place, colour in enumerate(WORKERS):
    axes.text(0.0 + 1.05 * place, 0.62, f"worker {place + 1}", color=colour, fontsize=9, weight="bold")
axes.set(xlim=(-0.15, 9.5), ylim=(0.2, 3.75))
axes.axis("off")
