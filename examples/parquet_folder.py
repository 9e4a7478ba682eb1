"""My rows are a folder of Parquet files. Must they fit in memory?
==================================================================

No. ``mercer.data.open`` turns the files into one table, and learners read it block by block, as many times as they
need. The model is identical to one that is fitted to the same rows in memory.
"""

# %%
# A folder as a nightly job might write it: one file per day, with a date, the name of a shop, and missing values.

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas
from matplotlib import pyplot

import mercer
from mercer import KernelRegressor

SHOPS = np.array(["harbour", "hill", "market", "station"])


def day(number: int) -> pandas.DataFrame:
    rng = np.random.default_rng(number)
    shop, hour = rng.integers(4, size=2500), rng.uniform(8, 20, size=2500)
    price = rng.gamma(4.0, 2.0, size=2500)
    sold = (2 + shop) * np.exp(-((hour - 12 - shop) ** 2) / 8) * 12 / price + 0.3 * rng.standard_normal(2500)
    price[rng.random(2500) < 0.02] = np.nan
    when = pandas.Timestamp("2026-03-01") + pandas.to_timedelta(number, "D")
    return pandas.DataFrame({"day": when, "shop": SHOPS[shop], "hour": hour, "price": price, "sold": sold})


folder = Path(tempfile.mkdtemp())
for number in range(20):
    day(number).to_parquet(folder / f"sales-{number:02}.parquet")

# %%
# The table knows its columns and its number of rows before reading them. The split only depends on the seed.

table = mercer.data.open(folder, target="sold")
train, test = table.split(test=0.2, seed=0)
print(f"{table.n_rows:,} rows in {len(list(folder.iterdir()))} files, columns {', '.join(table.names)}")
print(f"{train.n_rows:,} training rows, {test.n_rows:,} test rows")

# %%
# Text becomes categories, dates become numbers, and missing values are filled and marked, all in a pass over the rows
# that the fit needs anyway.

model = KernelRegressor(n_components=512, alpha="gcv", random_state=0).fit(train)
print(f"R2 on other rows: {model.score(test):.3f}")
print(*model.preparation_.describe(), sep="\n")

# %%
# Predictions can be computed block by block, in case the results do not fit in memory either.

hours = np.linspace(8, 20, 60)
figure, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
for name, colour in zip(SHOPS, ("#0072b2", "#d55e00", "#009e73", "#cc79a7"), strict=True):
    asked = pandas.DataFrame({"day": pandas.Timestamp("2026-03-21"), "shop": name, "hour": hours, "price": 8.0})
    blocks = list(model.predict_blocks(mercer.data.open(asked)))
    axes.plot(hours, np.concatenate(blocks), color=colour, label=name)
axes.set(xlabel="hour", ylabel="predicted sales at a price of 8")
axes.legend(frameon=False)
pyplot.show()
