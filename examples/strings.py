"""My rows are strings. Can a kernel machine learn from them?
=============================================================

Yes. A kernel does not need columns, only a number for each pair of objects. ``Nystrom`` accepts any Python function of
two objects and computes features from its values at a few landmarks. With these, you can train a linear model and make
predictions for new strings.
"""

# %%
# The kernel counts common substrings of three letters, weighted so that each string has length 1. The task is to
# recognise the language of an invented word by its beginning and its ending.

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
from matplotlib import pyplot
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from mercer import Nystrom

SYLLABLES = {
    "north": ["sk", "bjor", "lund", "vik", "hav", "strom", "gard", "holm", "dal", "fjell"],
    "south": ["mar", "villa", "monte", "rosa", "bella", "fiore", "luna", "torre", "ona", "casa"],
    "east": ["grad", "nova", "pol", "mir", "zim", "berez", "ovka", "slav", "krasn", "ino"],
}


def words(n_rows: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Return words of two or three syllables, with one wrong letter in ten, and their languages."""
    rng = np.random.default_rng(seed)
    origins = rng.choice(list(SYLLABLES), size=n_rows)
    made = []
    for origin in origins:
        letters = list("".join(rng.choice(SYLLABLES[origin], size=rng.integers(2, 4))))
        wrong = rng.random(len(letters)) < 0.1
        made.append(
            "".join(chr(rng.integers(97, 123)) if bad else one for one, bad in zip(letters, wrong, strict=True))
        )
    return made, origins


@cache
def pieces(word: str) -> tuple[Counter, float]:
    counts = Counter(f"^{word}$"[start : start + 3] for start in range(len(word)))
    return counts, sum(count * count for count in counts.values()) ** 0.5


def substrings(x: str, y: str) -> float:
    """Compute the kernel from common substrings of three letters; it is between 0 and 1."""
    (left, long), (right, wide) = pieces(x), pieces(y)
    return sum(count * right[piece] for piece, count in left.items()) / (long * wide)


X, y = words(600, seed=0)
X_test, y_test = words(300, seed=1)
print(*(f"{word:18} {origin}" for word, origin in zip(X[:5], y[:5], strict=True)), sep="\n")

# %%
# The function is called once for each word and landmark, n x D times instead of n x n times.

WIDTHS = (5, 10, 20, 40, 80)
scores = []
for width in WIDTHS:
    model = make_pipeline(Nystrom(substrings, n_components=width, random_state=0), LogisticRegression(C=10.0))
    scores.append(model.fit(X, y).score(X_test, y_test))
    print(f"{width:3} landmarks: {scores[-1]:.1%}")

figure, axes = pyplot.subplots(figsize=(5.5, 3.2), layout="constrained")
axes.semilogx(WIDTHS, [100 * score for score in scores], "o-", color="#0072b2")
axes.set(xlabel="landmarks", ylabel="accuracy on other words, %")
axes.set_xticks(WIDTHS, [str(width) for width in WIDTHS])
axes.minorticks_off()
pyplot.show()
