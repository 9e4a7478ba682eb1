"""Has the stream changed?
=======================

A kernel two-sample test compares batches of rows with a reference, at linear cost. The rows are scikit-learn's
handwritten digits. From the fifth batch on, every third image is darker.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from mercer.stats import MMDTest

BATCHES, ROWS, DRIFT_BEGINS = 8, 100, 4
LEVEL = 0.01


def batches(seed: int = 0) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return reference rows, and batches of others: in the later batches, one picture in three is darker."""
    rng = np.random.default_rng(seed)
    pixels = rng.permutation(load_digits().data) / 16.0
    stream = np.split(pixels[: BATCHES * ROWS], BATCHES)
    for batch in stream[DRIFT_BEGINS:]:
        batch[::3] *= 0.6
    return pixels[BATCHES * ROWS :], stream


def main() -> list[float]:
    reference, stream = batches()
    # Bandwidth and landmarks come from some reference rows; the others are summed once, for all batches.
    base = MMDTest(n_components=128, random_state=0).prepare(reference[:300]).update(reference[300:])
    found = []
    print("batch  p-value")
    for number, batch in enumerate(stream):
        result = base.fresh().merge(base).update(Y=batch).result()
        found.append(result.pvalue)
        print(f"{number:5d}  {result.pvalue:7.3f}{'  drift' if result.pvalue <= LEVEL else ''}")
    return found


def draw(found: list[float]) -> None:
    """Draw p-values on a logarithmic axis, and the level below which a batch counts as changed."""
    from matplotlib import pyplot

    _, axes = pyplot.subplots(figsize=(6.5, 3.2), layout="constrained")
    axes.semilogy(range(BATCHES), found, "o", color="#0072b2", label="p-value of a batch")
    axes.axhline(LEVEL, color="#d55e00", linestyle="--", label=f"level {LEVEL}")
    axes.axvline(DRIFT_BEGINS - 0.5, color="0.6", linewidth=1, label="pictures become darker")
    axes.set(xlabel="batch", ylabel="p-value")
    axes.legend(frameon=False)
    pyplot.show()


if __name__ == "__main__":
    draw(main())
