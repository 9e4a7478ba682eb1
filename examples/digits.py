"""From how many rows on does a feature map pay?
=============================================

The exact polynomial SVM against feature maps with a linear SVM. Part one measures accuracy, time and kernel error on
scikit-learn's 1,797 digits. With so few rows, the exact machine is fast, so part two generates more and more of them
until it is not. ``make digits`` runs it in about three minutes.
"""

# sphinx_gallery_thumbnail_path = "_static/error_against_time.png"

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
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
EXACT, PLAIN, MAPPED = "exact SVM", "linear SVM, no map", "map + linear SVM"
PICTURE = Path(__file__).resolve().parents[1] / "build" / "demo" / "digits.png"


class Split(NamedTuple):
    """Rows and labels for training and for testing."""

    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any


class Measured(NamedTuple):
    """The accuracy, times and kernel error of one machine; NaN if it has none."""

    accuracy: float
    train: float
    predict: float
    error: float = float("nan")


def digits() -> Split:
    """Return the digits as rows of norm 1, in a fixed split."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(normalize(X), y, test_size=0.3, stratify=y, random_state=0)
    return Split(X_train, y_train, X_test, y_test)


def exact_machine() -> Any:
    """Return the exact kernel machine."""
    return SVC(kernel="poly", degree=KERNEL.degree, gamma=KERNEL.gamma, coef0=KERNEL.coef0, C=1.0)


def linear_machine(*steps: Any, C: float = 1.0) -> Any:
    """Return a pipeline of these steps and a linear SVM."""
    return make_pipeline(*steps, LinearSVC(C=C, tol=0.01, dual=True, max_iter=10_000, random_state=0))


def measure(machine: Any, split: Split) -> Measured:
    """Train a machine, predict, and compare with the truth."""
    start = time.perf_counter()
    machine.fit(split.X_train, split.y_train)
    trained = time.perf_counter()
    accuracy = float(np.mean(machine.predict(split.X_test) == split.y_test))
    return Measured(accuracy, trained - start, time.perf_counter() - trained)


def compare(split: Split, width: int, seeds: Sequence[int]) -> dict[str, list[Measured]]:
    """Measure every machine for every seed; machines without randomness are repeated for their times."""
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
    """Return the mean kernel error over seeds, by map and width."""

    def one(name: str, width: int, seed: int) -> float:
        sketch = MAPS[name](KERNEL, n_components=width, random_state=seed).fit(split.X_train)
        return mercer.kernel_error(sketch, split.X_test).relative

    return {name: [float(np.mean([one(name, width, seed) for seed in seeds])) for width in widths] for name in MAPS}


def enlarge(X: Any, y: Any, rows: int, seed: int, wrong: float) -> tuple[Any, Any]:
    """Return noisy copies of digits, labelled odd or even, with a share of wrong labels."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(len(X), size=rows)
    copies = np.maximum(X[chosen] + 0.03 * rng.standard_normal((rows, X.shape[1])), 0.0)
    odd = (y[chosen] % 2).astype(bool)
    return normalize(copies), odd ^ (rng.random(rows) < wrong)


def forecast(sizes: Sequence[int], seconds: Sequence[float], size: int) -> float:
    """Extrapolate the seconds to another size from their growth between the last two."""
    if len(seconds) < 2:
        return 0.0
    before, last = sizes[len(seconds) - 2 : len(seconds)]
    power = np.log(seconds[-1] / seconds[-2]) / np.log(last / before)
    return float(seconds[-1] * (size / last) ** power)


def grow(split: Split, sizes: Sequence[int], width: int, budget: float) -> tuple[list[Measured], list[Measured]]:
    """Compare the exact machine and a map on growing data; beyond the budget, forecast the exact machine's time."""
    X_test, y_test = enlarge(split.X_test, split.y_test, 5000, seed=1, wrong=0.0)
    exact, mapped = list[Measured](), list[Measured]()
    for size in sizes:
        larger = Split(*enlarge(split.X_train, split.y_train, size, seed=0, wrong=0.2), X_test, y_test)
        sketch = mercer.TensorSketch(KERNEL, n_components=width, random_state=0)
        # Wrong labels weigh more in the squared hinge of LinearSVC than in the hinge of SVC: hence a smaller C.
        mapped.append(measure(linear_machine(sketch, C=0.1), larger))
        done = [found.train for found in exact if not np.isnan(found.accuracy)]
        too_slow = Measured(np.nan, forecast(sizes, done, size), np.nan)
        exact.append(too_slow if too_slow.train > budget else measure(exact_machine(), larger))
    return exact, mapped


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align columns, the first to the left and the others to the right."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    cells = [[cell.rjust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    text = ["  ".join([line[0].ljust(widths[0]), *right[1:]]) for line, right in zip(lines, cells, strict=True)]
    return "\n".join([text[0], "-" * len(text[0]), *text[1:]])


def comparison_table(results: dict[str, list[Measured]]) -> str:
    """Format mean and standard deviation over seeds."""

    def cells(found: list[Measured]) -> list[str]:
        values = np.array(found) * (100, 1000, 1000, 100)
        return [f"{mean:.1f} ± {spread:.1f}" for mean, spread in zip(values.mean(0), values.std(0), strict=True)]

    rows = [[name, *(cell.replace("nan ± nan", "-") for cell in cells(found))] for name, found in results.items()]
    return table(["machine", "accuracy %", "train ms", "predict ms", "kernel error %"], rows)


def growth_table(sizes: Sequence[int], exact: Sequence[Measured], mapped: Sequence[Measured]) -> str:
    def cells(found: Measured) -> list[str]:
        if np.isnan(found.accuracy):
            return ["not run", f"about {found.train:.0f}", "-"]
        return [f"{100 * found.accuracy:.2f}", f"{found.train:.2f}", f"{found.predict:.2f}"]

    header = [f"{who} {what}" for who in ("exact", "map") for what in ("accuracy %", "train s", "predict s")]
    rows = [[f"{n:,}", *cells(one), *cells(other)] for n, one, other in zip(sizes, exact, mapped, strict=True)]
    return table(["rows", *header], rows)


def draw(path: Path, widths: Sequence[int], found: dict[str, list[float]], sizes: Sequence[int], growth: Any) -> None:
    """Draw error against width, accuracy against training time, and time against rows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    style = {"axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25}
    style |= {"axes.titleweight": "bold", "axes.titlelocation": "left", "legend.frameon": False}
    with pyplot.rc_context(style):
        figure, panels = pyplot.subplots(1, 3, figsize=(16, 5), layout="constrained")
        draw_errors(panels[0], widths, found)
        for label, colour, machine in zip((EXACT, MAPPED), ("black", "#0072b2"), growth, strict=True):
            draw_accuracy(panels[1], label, colour, sizes, machine)
            draw_times(panels[2], label, colour, sizes, machine)
        for panel, ticks in ((panels[0], widths), (panels[2], sizes)):
            panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
            panel.minorticks_off()
        for panel in panels:
            panel.legend()
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=120)
        pyplot.close(figure)


def draw_errors(panel: Any, widths: Sequence[int], found: dict[str, list[float]]) -> None:
    for name, values in found.items():
        panel.loglog(widths, [100 * value for value in values], "o-", color=COLOURS[name], label=name)
    line = [150 * found["RandomMaclaurin"][0] * np.sqrt(widths[0] / width) for width in widths]
    panel.loglog(widths, line, "--", color="0.4", label=r"the slope of $1/\sqrt{D}$")
    panel.set(title="Error of the kernel", xlabel="features D", ylabel="relative kernel error on test rows, %")


def draw_accuracy(panel: Any, label: str, colour: str, sizes: Sequence[int], found: Sequence[Measured]) -> None:
    run = [(n, one.train, 100 * one.accuracy) for n, one in zip(sizes, found, strict=True) if one.accuracy > 0]
    panel.semilogx([train for _, train, _ in run], [accuracy for *_, accuracy in run], "o-", color=colour, label=label)
    above = {"xytext": (-6, 6), "ha": "right"} if label == EXACT else {"xytext": (6, -12), "ha": "left"}
    for n, *place in run:
        panel.annotate(f"{n:,}", place, textcoords="offset points", color=colour, fontsize=8, **above)
    panel.margins(0.12)
    panel.set(
        title="Accuracy for the time, by training rows", xlabel="training time, s", ylabel="accuracy on test rows, %"
    )


def draw_times(panel: Any, label: str, colour: str, sizes: Sequence[int], found: Sequence[Measured]) -> None:
    run = sum(one.accuracy > 0 for one in found)
    train, predict = [one.train for one in found], [one.predict for one in found]
    if run < len(sizes):
        panel.loglog(sizes[run - 1 :], train[run - 1 :], "o--", color=colour, mfc="white", label="forecast, not run")
    panel.loglog(sizes[:run], train[:run], "o-", color=colour, label=f"{label}: training")
    panel.loglog(sizes, predict, "s:", color=colour, label=f"{label}: prediction")
    panel.set(title="Time as the data grows", xlabel="training rows (5,000 to predict)", ylabel="seconds")


def show(path: Path, split: Split, sizes: Sequence[int], growth: Any, widths: Sequence[int], n_seeds: int) -> None:
    """Draw the picture, or say what is missing for it."""
    if find_spec("matplotlib") is None:
        print("\nNo picture: matplotlib is not installed; pip install matplotlib brings it.")
        return
    draw(path, widths, errors(split, widths, range(n_seeds)), sizes, growth)
    print(f"\nPicture: {path}")


def main() -> None:
    split, width, seeds = digits(), 512, range(5)
    print(f"{KERNEL}, {len(split.X_train):,} training digits, {len(split.X_test)} to predict;")
    print(f"maps of width {width}, each followed by a linear SVM; mean and spread over {len(seeds)} seeds\n")
    print(comparison_table(compare(split, width, seeds)), flush=True)
    sizes, width, budget = (2500, 5000, 10_000, 20_000, 40_000), 1024, 25.0
    print("\nOdd or even: noisy copies, a fifth of the training labels wrong, 5,000 rows to predict;")
    print(
        f"the map is TensorSketch of width {width}; the exact SVM is left out where it would take over {budget:.0f} s\n"
    )
    growth = grow(split, sizes, width, budget)
    print(growth_table(sizes, *growth), flush=True)
    show(PICTURE, split, sizes, growth, widths=(128, 256, 512, 1024, 2048), n_seeds=6)


if __name__ == "__main__":
    main()
