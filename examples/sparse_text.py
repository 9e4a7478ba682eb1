"""How can a linear model on sparse text see pairs of words?
============================================================

A bag of words is a sparse row with many thousand columns. "not" and "good" mean little by themselves, but a lot
together. All pairs of 20,000 words would be 200 million columns. A polynomial kernel of degree 2 contains them all, and
``HadamardSketch`` turns it into 1,024 features, at a cost that depends on the number of words in a text.
"""

# %%
# The texts are generated: words are drawn at random, and the label depends on whether a *pair* of words occurs together
# (both or neither). No single word gives any information about the label.

from __future__ import annotations

import numpy as np
from matplotlib import pyplot
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize

from mercer import HadamardSketch, KernelClassifier
from mercer.kernels import Polynomial

WORDS, LENGTH = 20_000, 20


def texts(n_rows: int, seed: int) -> tuple[csr_array, np.ndarray]:
    """Return counts of words, and whether the two words that matter are both present or both absent."""
    rng = np.random.default_rng(seed)
    words = rng.integers(2, WORDS, size=(n_rows, LENGTH))
    starts = np.arange(0, n_rows * LENGTH + 1, LENGTH)
    counts = csr_array((np.ones(words.size), words.ravel(), starts), shape=(n_rows, WORDS))
    counts.sum_duplicates()
    pair = rng.random((n_rows, 2)) < 0.5
    there = csr_array(np.pad(np.where(pair, 3.0, 0.0), ((0, 0), (0, WORDS - 2))))
    return csr_array(counts + there), pair[:, 0] == pair[:, 1]


X, y = texts(4000, seed=0)
X_test, y_test = texts(2000, seed=1)
print(f"{X.shape[0]:,} texts, {X.shape[1]:,} words, {X.nnz / X.shape[0]:.0f} of them in a text")

# %%
# With a linear kernel, a model cannot do better than guessing; with the kernel of degree 2, it can. The rows stay
# sparse.

KERNELS = {"linear": "linear", "degree 2": Polynomial(2, coef0=1.0)}
scores = {}
for name, kernel in KERNELS.items():
    machine = KernelClassifier(kernel, n_components=1024, scale="unit", loss="squared", random_state=0).fit(X, y)
    scores[name] = machine.score(X_test, y_test)
    print(f"{name:9} {type(machine.map_).__name__:15} {scores[name]:.1%}")

# %%
# The features can be used with any linear model. A sketch costs O(nnz + D log D) per row, whatever the size of the
# vocabulary.

sketch = HadamardSketch(Polynomial(2, coef0=1.0), n_components=1024, random_state=0).fit(normalize(X))
Z = sketch.transform(normalize(X))
print(
    f"features: {Z.shape[0]:,} x {Z.shape[1]:,}, expected relative error of the kernel "
    f"{np.sqrt(sketch.variance(normalize(X[:200])).sum() / np.square(sketch.kernel_(normalize(X[:200]))).sum()):.3f}"
)

figure, axes = pyplot.subplots(figsize=(5.5, 2.4), layout="constrained")
axes.barh(list(scores), [100 * score for score in scores.values()], color=["#59636e", "#0072b2"])
axes.axvline(50, color="#d55e00", linestyle="--", label="guessing")
axes.set(xlabel="accuracy on other texts, %", xlim=(0, 100))
axes.legend(frameon=False, loc="lower right")
pyplot.show()
