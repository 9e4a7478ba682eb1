"""Training and prediction time of exact machines and of linear ones on features, as the number of rows grows.

The lecture: exact machines train in O(n^2) (support vectors) to O(n^3) (ridge, by a factorisation) and predict in O(n);
with an explicit map of c features training is linear in n, and prediction does not depend on it. Covertype,
standardised, class 2 against the rest; scikit-learn's `SVC` (C = 10) to 32,000 rows and `KernelRidge` (alpha = 1, on
targets of -1 and 1) to 8,000, `KernelClassifier` with the lecture's two maps and with Mercer's choice at c = 512. Times
are of one thread; prediction is that of 2,000 test rows; powers are those over a method's four largest sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bellet import MAPS, kernel_of, rows
from cells import Cell, Found, Numbers, markdown, median, slope, timed
from experiment import Claim, Experiment, main
from pictures import curve, legend, logarithmic, panels
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

import mercer

NAME, WIDTH, TESTED, REPEATS = "covertype", 512, 2000, 3
SIZES = (1000, 2000, 4000, 8000, 16_000, 32_000, 64_000)
LONGEST = {"SVC": 32_000, "KernelRidge": 8000}
"""The most rows of the exact machines: minutes, or the memory of a matrix of rows by rows."""
METHODS = ("SVC", "KernelRidge", "RandomFourier", "Nystrom", "Mercer")
STYLE = {"SVC": ("exact", {}), "KernelRidge": ("exact", {"linestyle": ":", "marker": "x"})}


def machine(method: str, seed: int) -> Any:
    kernel = kernel_of(NAME)
    exact: dict[str, Callable[[], Any]] = {
        "SVC": lambda: SVC(C=10.0, gamma=kernel.gamma, cache_size=1000),
        "KernelRidge": lambda: KernelRidge(alpha=1.0, kernel="rbf", gamma=kernel.gamma),
    }
    if method in exact:
        return exact[method]()
    return mercer.KernelClassifier(map=MAPS[method](kernel, WIDTH, seed), C=10.0)


def measured(method: str, n: int, seed: int, _: Found) -> Numbers:
    split = rows(NAME)
    y = 2.0 * split.y - 1.0 if method == "KernelRidge" else split.y
    fitted = machine(method, seed)
    fitted.fit(split.X[:500], y[:500]).predict(split.X_test[:500])  # what is loaded on first use
    training = timed(lambda: fitted.fit(split.X[:n], y[:n]))
    prediction = timed(lambda: fitted.predict(split.X_test[:TESTED]))
    return {"training": training["processor"], "prediction": prediction["processor"]}


def named(method: str, n: int) -> str:
    return f"{NAME}, {method}, n = {n}"


def cells(full: bool) -> Iterator[Cell]:
    for n in SIZES if full else SIZES[:3]:
        for method in METHODS:
            if n <= LONGEST.get(method, SIZES[-1]):
                yield Cell(named(method, n), partial(measured, method, n), REPEATS if full and n <= 8000 else 1)


def power(found: Found, method: str, quantity: str) -> float:
    """Over the four largest sizes of the method."""
    sizes = [n for n in SIZES if n <= LONGEST.get(method, SIZES[-1])][-4:]
    return slope((n, median(found, named(method, n), quantity)) for n in sizes)


def table(found: Found) -> str:
    lines = []
    for quantity in ("training", "prediction"):
        for n in SIZES:
            times = [median(found, named(method, n), quantity) for method in METHODS]
            entries = ("not run" if math.isnan(time) else f"{time:.3g} s" for time in times)
            lines.append((f"{quantity}, n = {n:,}", *entries))
        powers = (power(found, method, quantity) for method in METHODS)
        lines.append((f"{quantity}, power of n", *("" if math.isnan(one) else f"{one:.2f}" for one in powers)))
    return markdown(("time", *METHODS), lines)


def picture(found: Found) -> object:
    figure, axes = panels(1, 2, height=3.3)
    for one, quantity in zip(axes[0], ("training", "prediction"), strict=True):
        logarithmic(one, marks=(1.0,))
        logarithmic(one, "x")
        for method in METHODS:
            style, more = STYLE.get(method, (method, {}))
            points = [(n, named(method, n)) for n in SIZES]
            curve(one, found, points, quantity, style, **({"label": method} | more))
        one.set_xticks(SIZES, [f"{n // 1000}k" for n in SIZES])
        one.set_xlabel("n, training rows", fontsize=8)
    axes[0, 0].set_ylabel("training, s", fontsize=8)
    axes[0, 1].set_ylabel("prediction of 2,000 rows, s", fontsize=8)
    legend(figure, axes)
    return figure


def claims(found: Found) -> list[Claim]:
    stated = (
        ("SVC", "training", "takes n^2 or more to train", lambda value: value > 1.7),
        ("KernelRidge", "training", "takes n^2 to n^3 to train", lambda value: 1.7 < value < 3.2),
        ("SVC", "prediction", "predicts in time that grows with n", lambda value: value > 0.7),
        ("KernelRidge", "prediction", "predicts in time that grows with n", lambda value: value > 0.7),
        *((method, "training", "trains in linear time", lambda value: value < 1.2) for method in METHODS[2:]),
        *(
            (method, "prediction", "predicts in time that does not depend on n", lambda value: abs(value) < 0.2)
            for method in METHODS[2:]
        ),
    )
    listed = []
    for method, quantity, text, is_so in stated:
        value = power(found, method, quantity)
        listed.append(Claim(f"{method} {text}", None if math.isnan(value) else is_so(value), f"n^{value:.2f}"))
    return listed


EXPERIMENT = Experiment(
    name="bellet_time",
    title="Bellet 2020: time as the number of rows grows",
    about=__doc__ or "",
    cells=cells,
    table=table,
    picture=picture,
    claims=claims,
)

if __name__ == "__main__":
    main(EXPERIMENT)
