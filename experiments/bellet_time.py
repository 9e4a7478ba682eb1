"""Training and prediction time of exact machines and of linear ones on features, as the number of rows grows.

According to the lecture, exact machines train in O(n^2) or O(n^3) and predict in O(n). With an explicit map of c
features, training is linear in n, and the time of a prediction does not depend on n. The data are those of Covertype,
standardised, class 2 against the rest. The machines are scikit-learn's `SVC` (C = 10) with up to 32,000 rows,
`KernelRidge` (alpha = 1, on targets of -1 and 1) with up to 8,000 rows, and `KernelClassifier` with the two maps of the
lecture (RKF, random kernel features, are `RandomFourier` with offsets) and with Mercer's choice, `OrthogonalFourier`,
all with c = 512.

Times are for one thread, the median of 3 runs; predictions are for 2,000 test rows; powers are fitted to the four
largest sizes of each method. A pass over the rows takes linear time. The number of passes that Newton's method needs
differs from draw to draw, most of all with RKF, which affects the power; the table also shows the number of passes.
With 1,000 rows, the exact machines train as fast as all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bellet import MAPS, kernel_of, rows, shown
from cells import Cell, Found, Numbers, markdown, median, slope, timed
from claims import Claim
from experiment import Experiment, main
from pictures import curve, legend, logarithmic, panels
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

import mercer

NAME, WIDTH, TESTED, REPEATS = "covertype", 512, 2000, 3
SIZES = (1000, 2000, 4000, 8000, 16_000, 32_000, 64_000)
LONGEST = {"SVC": 32_000, "KernelRidge": 8000}
"""The largest number of rows of the exact machines, limited by time or by the memory for a kernel matrix."""
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
    return mercer.KernelClassifier(map=MAPS[method](kernel, WIDTH, seed), C=10.0, preparation=None)


def measured(method: str, n: int, seed: int, _: Found) -> Numbers:
    split = rows(NAME)
    y = 2.0 * split.y - 1.0 if method == "KernelRidge" else split.y
    fitted = machine(method, seed)
    fitted.fit(split.X[:500], y[:500]).predict(split.X_test[:500])  # what is loaded on first use
    training = timed(lambda: fitted.fit(split.X[:n], y[:n]))
    prediction = timed(lambda: fitted.predict(split.X_test[:TESTED]))
    passes = {"passes": float(fitted.convergence_.passes)} if method in MAPS else {}
    return {"training": training["processor"], "prediction": prediction["processor"]} | passes


def named(method: str, n: int) -> str:
    return f"{NAME}, {method}, n = {n}"


def cells(full: bool) -> Iterator[Cell]:
    for n in SIZES if full else SIZES[:3]:
        for method in METHODS:
            if n <= LONGEST.get(method, SIZES[-1]):
                yield Cell(named(method, n), partial(measured, method, n), REPEATS if full else 1)


def largest(method: str) -> list[int]:
    """The sizes to which powers are fitted."""
    return [n for n in SIZES if n <= LONGEST.get(method, SIZES[-1])][-4:]


def power(found: Found, method: str, quantity: str) -> float:
    return slope((n, median(found, named(method, n), quantity)) for n in largest(method))


def passes(found: Found, method: str) -> str:
    """Return the numbers of passes over the rows in training, if they were recorded."""
    ends = [(n, median(found, named(method, n), "passes")) for n in (largest(method)[0], largest(method)[-1])]
    if any(math.isnan(count) for _, count in ends):
        return ""
    return ", " + ", ".join(f"{count:.0f} passes at n = {n:,}" for n, count in ends)


def table(found: Found) -> str:
    lines = []
    for quantity in ("training", "prediction"):
        for n in SIZES:
            times = [median(found, named(method, n), quantity) for method in METHODS]
            entries = ("not run" if math.isnan(time) else f"{time:.3g} s" for time in times)
            lines.append((f"{quantity}, n = {n:,}", *entries))
        powers = (power(found, method, quantity) for method in METHODS)
        lines.append((f"{quantity}, power of n", *("" if math.isnan(one) else f"{one:.2f}" for one in powers)))
    return markdown(("time", *map(shown, METHODS)), lines)


def picture(found: Found) -> object:
    figure, axes = panels(1, 2, height=3.3)
    for one, quantity in zip(axes[0], ("training", "prediction"), strict=True):
        logarithmic(one, marks=(1.0,))
        logarithmic(one, "x")
        for method in METHODS:
            style, more = STYLE.get(method, (method, {}))
            points = [(n, named(method, n)) for n in SIZES]
            curve(one, found, points, quantity, style, **({"label": shown(method)} | more))
        one.set_xticks(SIZES, [f"{n // 1000}k" for n in SIZES])
        one.set_xlabel("n, training rows", fontsize=8)
    axes[0, 0].set_ylabel("training, s", fontsize=8)
    axes[0, 1].set_ylabel("prediction of 2,000 rows, s", fontsize=8)
    legend(figure, axes)
    return figure


def claims(found: Found) -> list[Claim]:
    mapped = METHODS[2:]
    stated = (
        ("SVC", "training", "takes O(n^2) or O(n^3) to train (a power from 1.7 to 3.2)", 1.7, 3.2),
        ("KernelRidge", "training", "takes O(n^2) or O(n^3) to train (a power from 1.7 to 3.2)", 1.7, 3.2),
        ("SVC", "prediction", "predicts in O(n) (a power from 0.7 to 1.3)", 0.7, 1.3),
        ("KernelRidge", "prediction", "predicts in O(n) (a power from 0.7 to 1.3)", 0.7, 1.3),
        *((one, "training", "trains in linear time (a power below 1.2)", -1.0, 1.2) for one in mapped),
        *(
            (one, "prediction", "predicts in time that does not depend on n (a power within 0.2 of 0)", -0.2, 0.2)
            for one in mapped
        ),
    )
    listed = []
    for method, quantity, text, least, most in stated:
        value = power(found, method, quantity)
        figure = f"n^{value:.2f}" + (passes(found, method) if quantity == "training" and method in mapped else "")
        holds = None if math.isnan(value) else least < value < most
        listed.append(Claim(f"{shown(method)} {text}", holds, figure, ours=method == "Mercer"))
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
