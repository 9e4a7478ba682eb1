"""A customer wants to be forgotten. Must I train again?
======================================================

Not if the loss is squared. Such a model depends on its rows only through sums, and ``forget`` subtracts a customer's
rows from these. What is left is the model that you would have got without them, up to rounding.
"""

# %%
# Purchases of 500 customers, with 200 rows each. The name of the customer is not a feature; it only says whose row it
# is.

from __future__ import annotations

import time

import numpy as np
from matplotlib import pyplot

from mercer import KernelRegressor

CUSTOMERS, ROWS = 500, 200
rng = np.random.default_rng(0)
customer = np.repeat(np.arange(CUSTOMERS), ROWS)
taste = rng.normal(size=CUSTOMERS)
X = rng.uniform(-2.0, 2.0, size=(CUSTOMERS * ROWS, 3))
X[:, 2] += taste[customer]
y = np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.3 * X[:, 2] + 0.1 * rng.standard_normal(len(X))


def learner() -> KernelRegressor:
    return KernelRegressor("gaussian(0.3)", alpha=1.0, n_components=512, keep_statistics=True, random_state=0)


begin = time.process_time()
model = learner().fit(X, y)
print(f"trained on {len(X):,} rows in {time.process_time() - begin:.2f} processor seconds")

# %%
# Customer 7 asks to be forgotten. Only this customer's rows are needed for that, not those of the others.

gone = customer == 7
before = model.predict(X[:1000])
begin = time.process_time()
model.forget(X[gone], y[gone])
print(f"forgot {gone.sum()} rows in {time.process_time() - begin:.2f} processor seconds")

# %%
# Compare with a model that has never seen these rows.

never = learner().fit(X[~gone], y[~gone])
apart = np.abs(never.predict(X) - model.predict(X)).max()
changed = np.abs(before - model.predict(X[:1000])).max()
print(f"forgetting changed predictions by up to {changed:.1e}")
print(f"difference from a model without these rows: {apart:.1e}")

# %%
# Forgetting removes the rows from the coefficients. Nothing else here was learned from them: the kernel, the penalty
# and the scales of the columns were given, and the map is random. If you leave these choices open, they stay as they
# were chosen with the customer's rows, and ``Nystrom`` keeps some of the rows themselves as landmarks. In these cases,
# train again.

figure, axes = pyplot.subplots(figsize=(6, 3.4), layout="constrained")
for name, other, colour in (("before", before, "#d55e00"), ("after", model.predict(X[:1000]), "#0072b2")):
    distance = np.abs(other - never.predict(X[:1000]))
    axes.hist(np.log10(np.maximum(distance, 1e-16)), bins=40, color=colour, alpha=0.8, label=f"{name} forgetting")
axes.set(xlabel="distance from the model without the customer, $\\log_{10}$", ylabel="predictions")
axes.legend(frameon=False)
pyplot.show()
