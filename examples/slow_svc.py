"""My SVC does not finish. What now?
====================================

The time of an exact support vector machine grows with the square of the number of rows, or faster. The time of
a machine on explicit features is proportional to the number of rows. In this example, both learn to distinguish two
interleaved rings, with some wrong labels, from more and more rows.
"""

# %%
# The exact machine is run with up to 8,000 rows, and ``KernelClassifier`` with the same kernel with up to 64,000.

from __future__ import annotations

import time

import numpy as np
from matplotlib import pyplot
from sklearn.svm import SVC

from mercer import KernelClassifier
from mercer.kernels import Gaussian


def rings(n_rows: int, seed: int, wrong: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points in the plane and the rings on which they lie, with a share of wrong labels."""
    rng = np.random.default_rng(seed)
    y = rng.random(n_rows) < 0.5
    angle = rng.uniform(0.0, 2.0 * np.pi, n_rows)
    radius = np.where(y, 1.0, 1.6) + 0.15 * np.sin(5.0 * angle) + 0.12 * rng.standard_normal(n_rows)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y ^ (rng.random(n_rows) < wrong)


def seconds_and_accuracy(machine: SVC | KernelClassifier, n_rows: int) -> tuple[float, float]:
    """Return the processor seconds of a fit to this many rows, and the accuracy on 2,000 others with correct labels."""
    X, y = rings(n_rows, seed=0, wrong=0.1)
    begin = time.process_time()
    machine.fit(X, y)
    return time.process_time() - begin, float(machine.score(*rings(2000, seed=1, wrong=0.0)))


KERNEL = Gaussian(gamma=2.0)
SIZES = (1000, 2000, 4000, 8000, 16_000, 64_000)
exact = [seconds_and_accuracy(SVC(gamma=KERNEL.gamma), n) for n in SIZES if n <= 8000]
mapped = [seconds_and_accuracy(KernelClassifier(KERNEL, n_components=256, random_state=0), n) for n in SIZES]
for n, (took, accuracy) in zip(SIZES, exact, strict=False):
    print(f"SVC               {n:7,} rows  {took:6.2f} s  {accuracy:.1%}")
for n, (took, accuracy) in zip(SIZES, mapped, strict=True):
    print(f"KernelClassifier  {n:7,} rows  {took:6.2f} s  {accuracy:.1%}")

# %%
# With few rows, the exact machine is the better choice: it is fast and does not approximate anything. With many rows,
# its time grows more steeply. Predictions also take longer, because it has to go through thousands of support vectors
# instead of 256 features.

figure, axes = pyplot.subplots(figsize=(6.4, 3.8), layout="constrained")
axes.loglog(SIZES[: len(exact)], [took for took, _ in exact], "s-", color="#1f2328", label="SVC")
axes.loglog(SIZES, [took for took, _ in mapped], "o-", color="#0072b2", label="KernelClassifier, 256 features")
axes.set(xlabel="training rows", ylabel="processor seconds of the fit", title="Time as the data grows")
axes.legend(frameon=False)
pyplot.show()
