"""Exact leave-one-out errors of a path of penalties beside those of other rows."""

import numpy as np
from matplotlib import pyplot

from mercer import KernelRegressor

rng = np.random.default_rng(0)
X, X_test = rng.uniform(-3, 3, (300, 2)), rng.uniform(-3, 3, (3000, 2))


def truth(rows):
    return np.sin(2 * rows[:, 0]) * rows[:, 1]


y, y_test = (truth(rows) + 0.5 * rng.standard_normal(len(rows)) for rows in (X, X_test))
alphas = np.logspace(-4, 3, 15)
left_out, other = [], []
for alpha in alphas:
    machine = KernelRegressor("gaussian(0.5)", n_components=256, alpha=[alpha], preparation=None, random_state=0)
    machine.fit(X, y)
    left_out.append(float(np.ravel(machine.scores_)[0]))
    other.append(np.mean((machine.predict(X_test) - y_test) ** 2))
figure, axes = pyplot.subplots(figsize=(6.2, 3.2))
axes.loglog(alphas, left_out, "o-", color="#0072b2", label="leave-one-out, from one fit")
axes.loglog(alphas, other, "s--", color="#d55e00", label="on 3,000 other rows")
axes.set(xlabel="penalty alpha", ylabel="mean squared error")
axes.legend()
