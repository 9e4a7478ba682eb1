"""My table has text, dates and gaps. What do I have to do?
===========================================================

Nothing. Learners accept pandas and polars frames as they are. Text becomes categories, dates become numbers, missing
values are filled and marked, heavy tails are limited, and constant columns are dropped. The model describes what was
done, and the model file contains it.
"""

# %%
# A generated table of flats with numbers, text, dates, missing values and a few outliers.

from __future__ import annotations

import numpy as np
import pandas
from matplotlib import pyplot

import mercer
from mercer import KernelRegressor


def flats(n_rows: int, seed: int) -> tuple[pandas.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    area = rng.gamma(6.0, 12.0, n_rows)
    built = pandas.Timestamp("1950-01-01") + pandas.to_timedelta(rng.integers(0, 27_000, n_rows), "D")
    town = rng.choice(["Arl", "Bree", "Corvo", "Delt"], n_rows, p=[0.5, 0.3, 0.15, 0.05])
    income = np.exp(rng.normal(10.0, 1.0, n_rows))
    factor = pandas.Series(town).map({"Arl": 1.0, "Bree": 1.3, "Corvo": 2.0, "Delt": 0.7}).to_numpy()
    age = (pandas.Timestamp("2026-01-01") - built).days.to_numpy() / 365
    price = factor * area**0.9 * np.exp(-age / 80) * (1 + 0.05 * np.log(income)) + 3.0 * rng.standard_normal(n_rows)
    frame = pandas.DataFrame({"area": area, "built": built, "town": town, "income": income, "country": "X"})
    frame.loc[rng.random(n_rows) < 0.1, "area"] = np.nan
    return frame, price


train, price = flats(3000, seed=0)
test, truth = flats(1000, seed=1)
print(train.head(3).to_string())

# %%
# Only the seed is set.

model = KernelRegressor(random_state=0).fit(train, price)
print(f"R2 on other rows: {model.score(test, truth):.3f}\n")
print(*model.preparation_.describe(), sep="\n")

# %%
# The model remembers its columns by name. In a table, they are matched by name, in any order, and a missing column is
# an error. (If you pass a data frame directly, its columns must be in the same order as in the fit, as always in
# scikit-learn.)

turned = mercer.data.open(test[list(reversed(test.columns))])
same = np.array_equal(model.predict(test), model.predict(turned))
print(f"another order of columns, the same predictions: {same}")
try:
    model.predict(mercer.data.open(test.drop(columns="town")))
except ValueError as error:
    print(error)

figure, axes = pyplot.subplots(figsize=(4.4, 4.2), layout="constrained")
axes.scatter(truth, model.predict(test), s=5, alpha=0.4, color="#0072b2")
axes.axline((50, 50), slope=1, color="#1f2328", linewidth=1)
axes.set(xlabel="price", ylabel="predicted price")
pyplot.show()
