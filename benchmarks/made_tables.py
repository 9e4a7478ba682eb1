"""Tables on which nothing in Mercer was tuned: scikit-learn's generators, and others with the quirks of real tables.

Each is a function of a generator of random numbers and of how many rows there are; it returns rows (a matrix or a data
frame) and targets, of which truth values, text and integers are classes. Noise is part of the targets, so that the best
possible score is often far below 100.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn import datasets as made

Table = tuple[Any, Any]
Make = Callable[[Any, int], Table]


class MadeTable(NamedTuple):
    """How a table is made, and how many of its rows are learned from."""

    make: Make
    rows: int = 2000
    in_order: bool = False
    """Whether the rows held out follow those that are learned from, rather than being drawn from among them."""
    spoiled: Callable[[Any, Any], Any] | None = None
    """What happens to the targets that are learned from, but not to those held out."""


def seed(rng: Any) -> int:
    return int(rng.integers(2**31))


# -- numbers as targets ------------------------------------------------------------------------------------------------


def friedman(make: Any, noise: float, rng: Any, n: int) -> Table:
    return make(n, noise=noise, random_state=seed(rng))


def prices(rng: Any, n: int) -> Table:
    """Log-normal prices of things with log-normal sizes and a few grades."""
    size, age, distance = rng.lognormal(4.0, 0.8, n), rng.gamma(1.5, 12.0, n), rng.lognormal(1.0, 1.0, n)
    grade, rooms = rng.integers(1, 6, n), rng.poisson(3.0, n) + 1
    log = 0.8 * np.log(size) + 0.25 * grade - 0.01 * age - 0.3 * np.log1p(distance) * (grade > 3) + 0.05 * rooms
    return np.column_stack([size, age, distance, grade, rooms]), np.exp(log + rng.normal(0.0, 0.3, n))


def places(rng: Any, n: int) -> Table:
    """Values that depend on the place, around a few centres, and on log-normal columns."""
    centres, strength = rng.uniform(0.0, 10.0, (12, 2)), rng.lognormal(0.0, 0.7, 12)
    place = centres[rng.integers(12, size=n)] + rng.normal(0.0, 0.6, (n, 2))
    income, people, rooms = rng.lognormal(1.2, 0.5, n), rng.lognormal(7.0, 0.8, n), rng.lognormal(1.6, 0.4, n)
    near = np.exp(-((place[:, None] - centres) ** 2).sum(axis=2)) @ strength
    value = 0.4 * income + near * (1.0 + 0.1 * income) + 0.5 * np.log(rooms) - 0.1 * np.log(people / rooms)
    value = np.minimum(value + rng.lognormal(-1.0, 0.8, n), 5.0)
    return np.column_stack([place, income, people, rooms, rng.lognormal(3.0, 1.0, n)]), value


def counts(rng: Any, n: int) -> Table:
    """Counts as targets, most of them 0, of columns of counts that are mostly 0 too."""
    X = rng.poisson(rng.gamma(0.3, 2.0, (n, 15)))
    rate = np.exp(-2.0 + 0.4 * np.log1p(X[:, :4]).sum(axis=1) + 0.5 * (X[:, 4] > 2))
    return X.astype(np.float64), rng.poisson(np.minimum(rate, 200.0)).astype(np.float64)


def dates(rng: Any, n: int) -> Table:
    """Sales by day, with a trend, a season and weekends."""
    days = rng.integers(0, 3 * 365, n)
    price, open_hours = rng.uniform(1.0, 3.0, n), rng.integers(6, 14, n)
    sales = 20.0 + 0.01 * days + 6.0 * np.sin(2.0 * np.pi * days / 365.25) + 8.0 * (days % 7 >= 5)
    sales = sales * open_hours / 10.0 - 4.0 * price + rng.normal(0.0, 2.0, n)
    when = pd.Timestamp("2021-01-04") + pd.to_timedelta(days, unit="D")
    return pd.DataFrame({"day": when, "price": price, "hours": open_hours}), sales


def levels(rng: Any, n: int) -> Table:
    """Columns with 3 to 10,000 levels, each with its own effect, of which rare ones are hard to learn."""
    sizes = {"colour": 3, "region": 12, "shop": 60, "street": 600, "customer": 10_000}
    columns: dict[str, Any] = {}
    y = rng.normal(0.0, 0.5, n)
    for name, count in sizes.items():
        share = 1.0 / np.arange(1, count + 1) ** 0.7
        drawn = rng.choice(count, size=n, p=share / share.sum())
        columns[name] = np.array([f"{name} {level}" for level in range(count)], dtype=object)[drawn]
        y += rng.normal(0.0, 0.7, count)[drawn]
    columns["amount"] = rng.gamma(2.0, 10.0, n)
    return pd.DataFrame(columns), y + 0.05 * columns["amount"] * (columns["colour"] == "colour 0")


def gaps(rng: Any, n: int) -> Table:
    """Three entries in ten are missing, large ones more often, so that a missing entry is informative."""
    X = rng.normal(size=(n, 8)) @ (np.eye(8) + 0.3)
    y = X[:, 0] * X[:, 1] + X[:, 2] + np.abs(X[:, 3]) + rng.normal(0.0, 0.3, n)
    holes = rng.uniform(size=X.shape) < 0.3 + 0.15 * np.sign(X)
    return np.where(holes, np.nan, X), y + 0.5 * holes[:, 4]


def few(rng: Any, n: int) -> Table:
    """Few rows of a smooth function of three columns, and two more columns."""
    X = rng.normal(size=(n, 5))
    return X, X[:, 0] + np.sin(X[:, 1]) + 0.5 * X[:, 2] ** 2 + rng.normal(0.0, 0.3, n)


def one_column(rng: Any, n: int) -> Table:
    X = rng.uniform(-4.0, 4.0, (n, 1))
    return X, np.sinc(X[:, 0]) + 0.3 * (X[:, 0] > 2.0) + rng.normal(0.0, 0.1, n)


def sparse_truth(rng: Any, n: int) -> Table:
    """500 columns, of which five matter."""
    X = rng.normal(size=(n, 500))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + X[:, 4] + rng.normal(0.0, 0.5, n)


def directions(rng: Any, n: int) -> Table:
    """A function of two directions in twenty columns."""
    X, W = rng.normal(size=(n, 20)), np.linalg.qr(rng.normal(size=(20, 2)))[0]
    Z = X @ W
    return X, np.sin(2.0 * Z[:, 0]) + Z[:, 1] ** 2 / 2.0 + rng.normal(0.0, 0.2, n)


def repeated(rng: Any, n: int) -> Table:
    """Every row occurs about five times, with different targets."""
    X = rng.uniform(size=(n // 5, 6))[rng.integers(n // 5, size=n)]
    return X, 3.0 * X[:, 0] * X[:, 1] + np.cos(6.0 * X[:, 2]) + X[:, 3] + rng.normal(0.0, 0.3, n)


def mixed_units(rng: Any, n: int) -> Table:
    """The same function of columns in units from 1e-9 to 1e9."""
    X, y = made.make_friedman1(n, noise=1.0, random_state=seed(rng))
    return X * np.logspace(-9, 9, X.shape[1]), y


def scaled_target(factor: float, offset: float, rng: Any, n: int) -> Table:
    X, y = made.make_friedman1(n, noise=1.0, random_state=seed(rng))
    return X, offset + factor * y


def outlying(y: Any, rng: Any) -> Any:
    """One target in fifty is wrong by up to thirty standard deviations."""
    return y + np.where(rng.uniform(size=len(y)) < 0.02, rng.uniform(-30.0, 30.0, len(y)) * np.std(y), 0.0)


def mostly_zero(rng: Any, n: int) -> Table:
    """Claims: nineteen in twenty are 0, and the others have heavy tails."""
    X = rng.normal(size=(n, 8))
    claims = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(3.5 - X[:, 0] - X[:, 1]))
    return X, np.where(claims, rng.lognormal(1.0 + 0.5 * X[:, 2], 0.8), 0.0)


def periodic(rng: Any, n: int) -> Table:
    X = rng.uniform(-1.0, 1.0, (n, 3))
    return X, np.sin(12.0 * X[:, 0]) + 0.5 * np.cos(9.0 * X[:, 1] + X[:, 2]) + rng.normal(0.0, 0.2, n)


def steps(rng: Any, n: int) -> Table:
    """Steps in several columns, which suit trees."""
    X = rng.uniform(size=(n, 10))
    y = 2.0 * (X[:, 0] > 0.3) + (X[:, 1] > 0.7) * (X[:, 2] > 0.5) * 3.0 - np.floor(4.0 * X[:, 3])
    return X, y + rng.normal(0.0, 0.3, n)


def series(rng: Any, n: int) -> Table:
    """A series and its twelve last values, in the order of time; its season drifts."""
    length = n + 12
    season = np.sin(2.0 * np.pi * np.arange(length) / 24.0) * (1.0 + np.arange(length) / length)
    values = np.zeros(length)
    for t in range(2, length):
        values[t] = 0.6 * values[t - 1] - 0.3 * np.tanh(values[t - 2]) + season[t] + rng.normal(0.0, 0.3)
    X = np.column_stack([values[lag : lag + n] for lag in range(12)])
    return X, values[12:]


def linear(rng: Any, n: int) -> Table:
    X = rng.normal(size=(n, 30)) @ rng.normal(size=(30, 30)) / 5.0
    return X, X @ rng.normal(size=30) + rng.normal(0.0, 2.0, n)


def products(rng: Any, n: int) -> Table:
    """Products of pairs of columns, with coefficients for nearly all of them."""
    X = rng.normal(size=(n, 12))
    pairs = np.triu(rng.normal(size=(12, 12)), 1)
    return X, np.einsum("ij,jk,ik->i", X, pairs, X) + rng.normal(0.0, 2.0, n)


def interactions_in_classes(rng: Any, n: int) -> Table:
    """Numbers whose slope depends on a level."""
    group = rng.integers(8, size=n)
    X = rng.normal(size=(n, 4))
    slopes = rng.normal(0.0, 1.5, (8, 4))
    y = (X * slopes[group]).sum(axis=1) + rng.normal(0.0, 0.5, n)
    names = np.array([f"group {number}" for number in range(8)], dtype=object)[group]
    return pd.DataFrame({"group": names, **{f"x{place}": X[:, place] for place in range(4)}}), y


def with_id(rng: Any, n: int) -> Table:
    """A smooth function, with additional columns: one numbers the rows, one is constant and one repeats another."""
    X = rng.normal(size=(n, 5))
    y = np.exp(X[:, 0] / 2.0) + X[:, 1] * X[:, 2] + rng.normal(0.0, 0.3, n)
    return np.column_stack([np.arange(n), X, np.full(n, 7.0), X[:, 1]]), y


def pure_noise(rng: Any, n: int) -> Table:
    return rng.normal(size=(n, 10)), rng.normal(size=n)


# -- classes -----------------------------------------------------------------------------------------------------------


def classification(rng: Any, n: int, **how: Any) -> Table:
    return made.make_classification(n, random_state=seed(rng), **how)


def moons(rng: Any, n: int) -> Table:
    return made.make_moons(n, noise=0.25, random_state=seed(rng))


def spirals(rng: Any, n: int) -> Table:
    """Two spirals, and four columns of noise."""
    label, turn = rng.integers(2, size=n), 3.0 * np.sqrt(rng.uniform(size=n)) * np.pi
    angle = turn + np.pi * label
    X = np.column_stack([turn * np.cos(angle), turn * np.sin(angle)]) + rng.normal(0.0, 0.6, (n, 2))
    return np.column_stack([X, rng.normal(size=(n, 4))]), label


def quantiles(rng: Any, n: int) -> Table:
    return made.make_gaussian_quantiles(n_samples=n, n_features=10, n_classes=4, random_state=seed(rng))


def hastie(rng: Any, n: int) -> Table:
    X, y = made.make_hastie_10_2(n, random_state=seed(rng))
    return X, y.astype(int)


def coded(rng: Any, n: int) -> Table:
    """Answers from 1 to 7, with 99 for none, and classes that are called 3, 7 and 12."""
    mood = rng.normal(size=(n, 3))
    answers = np.clip(np.round(4.0 + 1.5 * (mood @ rng.normal(size=(3, 12))) / 1.5 + rng.normal(size=(n, 12))), 1, 7)
    X = np.where(rng.uniform(size=answers.shape) < 0.05, 99, answers).astype(int)
    score = mood[:, 0] + mood[:, 1] * mood[:, 2] + rng.normal(0.0, 0.3, n)
    return X, np.array([3, 7, 12])[np.digitize(score, [-0.5, 0.7])]


def rare_class(rng: Any, n: int) -> Table:
    """One row in two hundred is of the rare class, near a point of its own."""
    X = rng.normal(size=(n, 8))
    rare = rng.uniform(size=n) < 1.0 / 200.0
    X[rare, :4] = 2.5 + 0.4 * rng.normal(size=(int(rare.sum()), 4))
    return X, np.where(rare, "fraud", "usual")


def parity(rng: Any, n: int) -> Table:
    """The parity of three truth values among twelve, wrong in one row of ten."""
    X = rng.integers(2, size=(n, 12)).astype(bool)
    return X, X[:, 0] ^ X[:, 1] ^ X[:, 2] ^ (rng.uniform(size=n) < 0.1)


def checkers(rng: Any, n: int) -> Table:
    X = rng.uniform(0.0, 6.0, (n, 2))
    return X, (np.floor(X).sum(axis=1).astype(int) % 2 + (rng.uniform(size=n) < 0.05)) % 2


def many_classes(rng: Any, n: int) -> Table:
    """Fifty classes, each around a point, with columns of different precision."""
    centres, label = rng.normal(size=(50, 16)), rng.integers(50, size=n)
    return centres[label] + rng.normal(size=(n, 16)) * np.linspace(0.2, 1.6, 16), label


def words(rng: Any, n: int) -> Table:
    """Counts of words in texts about four subjects."""
    share = rng.dirichlet(np.full(400, 0.1), size=4)
    label = rng.integers(4, size=n)
    mixed = 0.35 * share[label] + 0.65 * rng.dirichlet(np.full(400, 0.3))
    return np.stack([rng.multinomial(60, one / one.sum()) for one in mixed]).astype(np.float64), label


def histograms(rng: Any, n: int) -> Table:
    """Histograms of 24 bins whose shape depends on the class."""
    label = rng.integers(3, size=n)
    centre = np.array([8.0, 12.0, 12.0])[label] + rng.normal(0.0, 2.0, n)
    width = np.array([3.0, 3.0, 5.0])[label]
    draws = centre[:, None] + width[:, None] * rng.normal(size=(n, 80))
    return np.stack([np.histogram(one, 24, (0.0, 24.0))[0] for one in draws]).astype(np.float64), label


def people(rng: Any, n: int) -> Table:
    """Levels, gaps and heavy tails together."""
    age, gain = rng.gamma(6.0, 7.0, n), np.where(rng.uniform(size=n) < 0.1, rng.lognormal(8.0, 1.0, n), 0.0)
    job = rng.choice(["clerk", "cook", "driver", "farmer", "manager", "nurse", "teacher"], size=n).astype(object)
    years, hours = rng.integers(6, 20, n).astype(float), np.clip(rng.normal(40.0, 12.0, n), 5, 90).round()
    pay = {"manager": 1.2, "teacher": 0.4, "nurse": 0.3}
    logit = 0.25 * (years - 12) + 0.04 * (hours - 40) - 0.002 * (age - 48) ** 2 + (gain > 4000) * 2.5
    logit = logit + np.array([pay.get(one, -0.5) for one in job]) + rng.logistic(size=n)
    years[rng.uniform(size=n) < 0.2] = np.nan
    job[rng.uniform(size=n) < 0.1] = None
    columns = {"age": age, "gain": gain, "job": job, "years": years, "hours": hours}
    return pd.DataFrame(columns), np.where(logit > 0.0, "yes", "no")


NUMBERS: dict[str, MadeTable] = {
    "friedman1": MadeTable(partial(friedman, made.make_friedman1, 1.0)),
    "friedman2": MadeTable(partial(friedman, made.make_friedman2, 100.0)),
    "friedman3": MadeTable(partial(friedman, made.make_friedman3, 0.1)),
    "prices": MadeTable(prices),
    "places": MadeTable(places, 4000),
    "counts": MadeTable(counts),
    "dates": MadeTable(dates),
    "levels": MadeTable(levels, 4000),
    "gaps": MadeTable(gaps),
    "20 rows": MadeTable(few, 20),
    "50 rows": MadeTable(few, 50),
    "100 rows": MadeTable(few, 100),
    "one column": MadeTable(one_column, 500),
    "5 of 500 columns": MadeTable(sparse_truth, 1000),
    "directions": MadeTable(directions),
    "repeated rows": MadeTable(repeated),
    "mixed units": MadeTable(mixed_units),
    "target of 1e-8": MadeTable(partial(scaled_target, 1e-8, 0.0), 1000),
    "target of 1e9": MadeTable(partial(scaled_target, 1e9, 0.0), 1000),
    "nearly constant target": MadeTable(partial(scaled_target, 1e-5, 1000.0), 1000),
    "outlying targets": MadeTable(partial(scaled_target, 1.0, 0.0), spoiled=outlying),
    "mostly zero": MadeTable(mostly_zero, 4000),
    "periodic": MadeTable(periodic),
    "steps": MadeTable(steps),
    "series": MadeTable(series, in_order=True),
    "linear": MadeTable(linear, 1000),
    "products": MadeTable(products),
    "slopes by level": MadeTable(interactions_in_classes),
    "id column": MadeTable(with_id, in_order=True),
    "noise": MadeTable(pure_noise, 1000),
}
CLASSES: dict[str, MadeTable] = {
    "easy classes": MadeTable(partial(classification, n_features=20, n_informative=4, class_sep=1.0)),
    "many clusters": MadeTable(
        partial(classification, n_features=15, n_informative=8, n_clusters_per_class=6, n_classes=3)
    ),
    "wrong labels": MadeTable(partial(classification, n_features=30, n_informative=10, flip_y=0.25)),
    "moons": MadeTable(moons, 500),
    "spirals": MadeTable(spirals),
    "quantiles": MadeTable(quantiles),
    "hastie": MadeTable(hastie),
    "coded answers": MadeTable(coded),
    "1 in 200": MadeTable(rare_class, 6000),
    "parity": MadeTable(parity),
    "checkers": MadeTable(checkers),
    "50 classes": MadeTable(many_classes),
    "words": MadeTable(words, 1000),
    "histograms": MadeTable(histograms),
    "people": MadeTable(people, 4000),
    "30 rows in 2 classes": MadeTable(partial(classification, n_features=5, n_informative=3, n_redundant=0), 30),
}
