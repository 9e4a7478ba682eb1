"""I have a minute. How good can the model be?
==============================================

``mercer.tune`` starts from the default choices and changes one thing at a time: the kernel, the bandwidth, the column
scales, the penalty, the loss or the number of features. It judges each change on held-out rows, and accepts none that
is worse than the defaults there. If you give a number of rounds, the result only depends on the seed; if you give a
time, it stops in time.
"""

# %%
# Friedman's function depends on five columns; ten others have nothing to do with the target.

from __future__ import annotations

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import mercer

X, y = make_friedman1(2000, n_features=15, noise=1.0, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1000, random_state=0)
scores = {}

# %%
# Other learners with default settings, Mercer with default settings, and Mercer after a round of search.

scores["SVR, scaled"] = make_pipeline(StandardScaler(), SVR()).fit(X_train, y_train).score(X_test, y_test)
scores["Mercer, kernel and penalty given"] = (
    mercer.KernelRegressor("gaussian('median')", alpha=1.0, scale="standard", random_state=0)
    .fit(X_train, y_train)
    .score(X_test, y_test)
)
scores["Mercer, defaults"] = mercer.KernelRegressor(random_state=0).fit(X_train, y_train).score(X_test, y_test)
tuned = mercer.tune(X_train, y_train, rounds=1, features=512, random_state=0)
scores["Mercer, tuned"] = tuned.model.score(X_test, y_test)
for name, score in scores.items():
    print(f"{name:33} R2 {score:.3f}")
print(f"{len(tuned.trials)} trials; best possible R2, for this noise: {1 - 1 / np.var(y_test):.3f}")

# %%
# Most of the gain is due to the default settings: they learn one scale per column, which shrinks irrelevant columns.

figure, axes = pyplot.subplots(figsize=(6.5, 2.4), layout="constrained")
axes.plot(list(scores.values()), list(scores), "o", color="#0072b2")
axes.axvline(1 - 1 / np.var(y_test), color="0.5", linestyle="--", label="best possible")
axes.set(xlabel="R2 on held-out rows")
axes.invert_yaxis()
axes.legend(frameon=False)
pyplot.show()
