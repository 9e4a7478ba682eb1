"""Which rows are unlike all that came before?
===========================================

Novelty detection with p-values, trained in batches on scikit-learn's handwritten digits. The model is trained on the
digits from zero to four and then sees images of all digits.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from mercer.learn import KernelNovelty

KNOWN = 5
LEVEL = 0.05


def main() -> tuple[float, float, list[float]]:
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
    usual = X_train[y_train < KNOWN]
    model = KernelNovelty(n_components=256, level=LEVEL, random_state=0)
    for batch in np.array_split(usual, 4):
        model.partial_fit(batch)
    novel = model.predict(X_test) == -1
    shares = []
    print("digit  called novel  median p-value")
    for digit in range(10):
        rows = y_test == digit
        shares.append(float(novel[rows].mean()))
        print(f"{digit:5d}  {novel[rows].mean():12.0%}  {np.median(model.pvalues(X_test[rows])):14.3f}")
    return novel[y_test < KNOWN].mean(), novel[y_test >= KNOWN].mean(), shares


def draw(shares: list[float]) -> None:
    """Return the share of each digit that is called novel."""
    from matplotlib import pyplot

    _, axes = pyplot.subplots(figsize=(6.5, 3.2), layout="constrained")
    axes.bar(range(KNOWN), shares[:KNOWN], color="#0072b2", label="learned from")
    axes.bar(range(KNOWN, 10), shares[KNOWN:], color="#d55e00", label="never seen")
    axes.axhline(LEVEL, color="#1f2328", linestyle="--", linewidth=1, label=f"level {LEVEL}")
    axes.set(xlabel="digit", ylabel="share called novel", xticks=range(10))
    axes.legend(frameon=False)
    pyplot.show()


if __name__ == "__main__":
    draw(main()[2])
