"""Handwritten digits: the exact polynomial SVM against feature maps with a linear SVM.

Part one measures accuracy, time and kernel error on scikit-learn's 1,797 digits. That is so little data that the exact
machine is quick, so part two makes more of it, until the exact machine is not. Run it with ``make demo``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.svm import SVC, LinearSVC

import mercer
from mercer.kernels import Polynomial

KERNEL = Polynomial(degree=3, gamma=1.0, coef0=1.0)
MAPS: dict[str, Callable[..., mercer.FeatureMap]] = {
    "TensorSketch": mercer.TensorSketch,
    "RandomMaclaurin": mercer.RandomMaclaurin,
    "RandomMaclaurin H0/1": lambda kernel, **given: mercer.RandomMaclaurin(kernel, exact_terms=True, **given),
    "TaylorSketch": mercer.TaylorSketch,
}
COLOURS = dict(zip(MAPS, ("#0072b2", "#d55e00", "#e69f00", "#009e73"), strict=True))
EXACT, PLAIN = "exact SVM", "linear SVM, no map"
PICTURE = Path(__file__).resolve().parents[1] / "build" / "demo" / "digits.png"


class Split(NamedTuple):
    """Rows and labels to learn from, and to be judged on."""

    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any


class Measured(NamedTuple):
    """One machine's accuracy, seconds and kernel error; NaN where there is none."""

    accuracy: float
    train: float
    predict: float
    error: float = float("nan")


def digits() -> Split:
    """The digits as rows of norm 1, in a fixed split."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(normalize(X), y, test_size=0.3, stratify=y, random_state=0)
    return Split(X_train, y_train, X_test, y_test)


def exact_machine() -> Any:
    """The kernel machine itself."""
    return SVC(kernel="poly", degree=KERNEL.degree, gamma=KERNEL.gamma, coef0=KERNEL.coef0, C=1.0)


def linear_machine(*steps: Any, C: float = 1.0) -> Any:
    """A linear SVM after these steps."""
    return make_pipeline(*steps, LinearSVC(C=C, tol=0.01, dual=True, max_iter=10_000, random_state=0))


def measure(machine: Any, split: Split) -> Measured:
    """Train, predict, and compare."""
    start = time.perf_counter()
    machine.fit(split.X_train, split.y_train)
    trained = time.perf_counter()
    accuracy = float(np.mean(machine.predict(split.X_test) == split.y_test))
    return Measured(accuracy, trained - start, time.perf_counter() - trained)


# -- part one: 1,797 digits --------------------------------------------------------------------------------------------


def compare(split: Split, width: int, seeds: Sequence[int]) -> dict[str, list[Measured]]:
    """Every machine once a seed; those without randomness are repeated for their times."""
    results: dict[str, list[Measured]] = {EXACT: [], PLAIN: []}
    for seed in seeds:
        results[EXACT].append(measure(exact_machine(), split)._replace(error=0.0))
        results[PLAIN].append(measure(linear_machine(), split))
        for name, make in MAPS.items():
            sketch = make(KERNEL, n_components=width, random_state=seed)
            found = measure(linear_machine(sketch), split)
            error = mercer.kernel_error(sketch, split.X_test).relative
            results.setdefault(name, []).append(found._replace(error=error))
    return results


def errors(split: Split, widths: Sequence[int], seeds: Sequence[int]) -> dict[str, list[float]]:
    """The root mean square kernel error over seeds, by map and width."""

    def one(name: str, width: int, seed: int) -> float:
        sketch = MAPS[name](KERNEL, n_components=width, random_state=seed).fit(split.X_train)
        return mercer.kernel_error(sketch, split.X_test).relative

    return {
        name: [float(np.sqrt(np.mean([one(name, width, seed) ** 2 for seed in seeds]))) for width in widths]
        for name in MAPS
    }


# -- part two: more rows -----------------------------------------------------------------------------------------------


def enlarge(X: Any, y: Any, rows: int, seed: int, wrong: float) -> tuple[Any, Any]:
    """So many noisy copies of digits, labelled odd or even, a share of the labels wrong."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(len(X), size=rows)
    copies = np.maximum(X[chosen] + 0.03 * rng.standard_normal((rows, X.shape[1])), 0.0)
    odd = (y[chosen] % 2).astype(bool)
    return normalize(copies), odd ^ (rng.random(rows) < wrong)


def forecast(sizes: Sequence[int], seconds: Sequence[float], size: int) -> float:
    """The seconds at another size, if they go on growing as they did between the last two."""
    if len(seconds) < 2:
        return 0.0
    power = np.log(seconds[-1] / seconds[-2]) / np.log(sizes[len(seconds) - 1] / sizes[len(seconds) - 2])
    return float(seconds[-1] * (size / sizes[len(seconds) - 1]) ** power)


def grow(split: Split, sizes: Sequence[int], width: int, budget: float) -> tuple[list[Measured], list[Measured]]:
    """The exact machine and a map on growing data; beyond the budget the exact one's time is a forecast."""
    X_test, y_test = enlarge(split.X_test, split.y_test, 5000, seed=1, wrong=0.0)
    exact: list[Measured] = []
    mapped: list[Measured] = []
    for size in sizes:
        larger = Split(*enlarge(split.X_train, split.y_train, size, seed=0, wrong=0.3), X_test, y_test)
        sketch = mercer.TensorSketch(KERNEL, n_components=width, random_state=0)
        # Wrong labels weigh more in the squared hinge of LinearSVC than in the hinge of SVC: hence a smaller C.
        mapped.append(measure(linear_machine(sketch, C=0.1), larger))
        done = [found.train for found in exact if not np.isnan(found.accuracy)]
        expected = forecast(sizes, done, size)
        too_long = expected > budget
        exact.append(Measured(np.nan, expected, np.nan) if too_long else measure(exact_machine(), larger))
    return exact, mapped


# -- what is shown -----------------------------------------------------------------------------------------------------


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns that line up, the first to the left and the others to the right."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    text = [
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))])
        for line in lines
    ]
    return "\n".join([text[0], "-" * len(text[0]), *text[1:]])


def spread(values: Sequence[float], scale: float, digits: int) -> str:
    """Mean and standard deviation."""
    mean, deviation = scale * np.mean(values), scale * np.std(values)
    return "-" if np.isnan(mean) else f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def comparison_table(results: dict[str, list[Measured]]) -> str:
    columns = {"accuracy": ("accuracy %", 100, 2), "train": ("train ms", 1000, 0)}
    columns |= {"predict": ("predict ms", 1000, 1), "error": ("kernel error %", 100, 2)}
    rows = [
        [name, *(spread([getattr(one, field) for one in found], *form) for field, (_, *form) in columns.items())]
        for name, found in results.items()
    ]
    return table(["machine", *(title for title, *_ in columns.values())], rows)


def growth_table(sizes: Sequence[int], exact: Sequence[Measured], mapped: Sequence[Measured]) -> str:
    def cells(found: Measured) -> list[str]:
        if np.isnan(found.accuracy):
            return ["not run", f"about {found.train:.0f}", "-"]
        return [f"{100 * found.accuracy:.2f}", f"{found.train:.2f}", f"{found.predict:.2f}"]

    header = [f"{who} {what}" for who in ("exact", "map") for what in ("accuracy %", "train s", "predict s")]
    rows = [[f"{n:,}", *cells(one), *cells(other)] for n, one, other in zip(sizes, exact, mapped, strict=True)]
    return table(["rows", *header], rows)


def draw(path: Path, widths: Sequence[int], found: dict[str, list[float]], sizes: Sequence[int], *growth: Any) -> None:
    """Three panels: error against width, accuracy against training time, time against rows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    style = {"axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25}
    style |= {"axes.titleweight": "bold", "axes.titlelocation": "left", "lines.markersize": 6, "lines.linewidth": 1.8}
    with pyplot.rc_context(style):
        figure, panels = pyplot.subplots(1, 3, figsize=(16, 5), layout="constrained")
        draw_errors(panels[0], widths, found)
        draw_accuracy(panels[1], sizes, *growth)
        draw_times(panels[2], sizes, *growth)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=120)
        pyplot.close(figure)


def draw_errors(panel: Any, widths: Sequence[int], found: dict[str, list[float]]) -> None:
    for name, values in found.items():
        panel.loglog(widths, [100 * value for value in values], "o-", color=COLOURS[name], label=name)
    line = [150 * found["RandomMaclaurin"][0] * np.sqrt(widths[0] / width) for width in widths]
    panel.loglog(widths, line, "--", color="0.4", label=r"slope of $1/\sqrt{D}$")
    panel.set(title="Kernel error falls like 1/√D", xlabel="features D", ylabel="relative kernel error on test rows, %")
    panel.set_xticks(widths, [f"{width:,}" for width in widths])
    panel.minorticks_off()
    panel.legend(frameon=False)


def draw_accuracy(panel: Any, sizes: Sequence[int], exact: Sequence[Measured], mapped: Sequence[Measured]) -> None:
    for label, colour, found, offset in (
        (EXACT, "black", exact, (0, 9)),
        ("map + linear SVM", "#0072b2", mapped, (0, -16)),
    ):
        run = [(n, one) for n, one in zip(sizes, found, strict=True) if not np.isnan(one.accuracy)]
        panel.semilogx(
            [one.train for _, one in run], [100 * one.accuracy for _, one in run], "o-", color=colour, label=label
        )
        for n, one in run:
            place = (one.train, 100 * one.accuracy)
            panel.annotate(
                f"{n:,}", place, xytext=offset, textcoords="offset points", ha="center", color=colour, fontsize=9
            )
    panel.margins(0.12)
    panel.set(
        title="Accuracy for the time (labels: rows)", xlabel="training time, s", ylabel="accuracy on test rows, %"
    )
    panel.legend(frameon=False, loc="lower right")


def draw_times(panel: Any, sizes: Sequence[int], exact: Sequence[Measured], mapped: Sequence[Measured]) -> None:
    for label, colour, found in ((EXACT, "black", exact), ("map + linear SVM", "#0072b2", mapped)):
        run = sum(not np.isnan(one.accuracy) for one in found)
        times = [one.train for one in found]
        panel.loglog(sizes[:run], times[:run], "o-", color=colour, label=f"{label}, training")
        panel.loglog(sizes, [one.predict for one in found], "s:", color=colour, label=f"{label}, predicting 5,000 rows")
        if run < len(sizes):
            panel.loglog(
                sizes[run - 1 :], times[run - 1 :], "o--", color=colour, mfc="white", label="forecast, not run"
            )
    panel.set(title="Time as the data grows", xlabel="training rows", ylabel="seconds")
    panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
    panel.minorticks_off()
    panel.legend(frameon=False, fontsize=9)


def main() -> None:
    split, width, seeds = digits(), 512, range(5)
    rows = len(split.X_train)
    print(f"{KERNEL} on {rows:,} training digits, {len(split.X_test)} to predict; maps of width {width}, a linear SVM")
    print(f"after each; mean and standard deviation of {len(seeds)} seeds\n")
    print(comparison_table(compare(split, width, seeds)), flush=True)
    sizes, width, budget = (2500, 5000, 10_000, 20_000, 40_000), 1024, 25.0
    print(
        f"\nOdd or even, on more and more noisy copies, 30 % of the training labels wrong; map: TensorSketch, width {width};"
    )
    print(f"5,000 rows to predict; the exact SVM is not run where it would train for more than {budget:.0f} s\n")
    growth = grow(split, sizes, width, budget)
    print(growth_table(sizes, *growth), flush=True)
    show(PICTURE, split, sizes, *growth)


def show(path: Path, split: Split, sizes: Sequence[int], *growth: Any) -> None:
    """Draw, or say what is missing for it."""
    widths = (128, 256, 512, 1024, 2048)
    try:
        draw(path, widths, errors(split, widths, range(6)), sizes, *growth)
        print(f"\nPicture: {path}")
    except ModuleNotFoundError as missing:
        print(f"\nNo picture: {missing.name} is not installed; pip install 'mercer[plot]' brings it.")


if __name__ == "__main__":
    main()
