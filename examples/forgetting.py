"""The world changes. How does a model forget?
============================================

Three models learn from a stream in which the true function drifts. One keeps every row; in one, older rows count less
and less; and one has a sliding window, so that it forgets old rows completely. Every batch is predicted before the
models learn from it, so the errors are those for new rows.
"""

from __future__ import annotations

import numpy as np

from mercer.learn import KernelRegressor

BATCHES, ROWS, WINDOW = 40, 200, 4
HALF_LIFE = 2 * ROWS
"""The number of rows after which a row counts half."""


def batches(seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return rows of two columns, and a wave whose direction slowly makes a quarter turn."""
    rng = np.random.default_rng(seed)
    stream = []
    for number in range(BATCHES):
        angle = 0.5 * np.pi * number / BATCHES
        X = rng.uniform(-2.0, 2.0, size=(ROWS, 2))
        y = np.sin(2.0 * X @ [np.cos(angle), np.sin(angle)]) + 0.1 * rng.normal(size=ROWS)
        stream.append((X, y))
    return stream


def main() -> dict[str, list[float]]:
    stream = batches()
    models = {
        name: KernelRegressor("gaussian(0.5)", alpha=0.1, n_components=256, random_state=0)
        for name in ("all rows", "decay", "window")
    }
    errors: dict[str, list[float]] = {name: [] for name in models}
    for number, (X, y) in enumerate(stream):
        for name, model in models.items():
            if number:
                errors[name].append(float(np.mean((model.predict(X) - y) ** 2)))
            model.partial_fit(X, y, decay=0.5 ** (ROWS / HALF_LIFE) if name == "decay" else 1.0)
        if number >= WINDOW:
            models["window"].forget(*stream[number - WINDOW])
    print("mean squared error of the next batch (noise alone 0.010)")
    for name, found in errors.items():
        print(f"{name:>9}: first ten {np.mean(found[:10]):.3f}, last ten {np.mean(found[-10:]):.3f}")
    return errors


def draw(errors: dict[str, list[float]]) -> None:
    """Return the error of every model on each batch before it learns from it."""
    from matplotlib import pyplot

    _, axes = pyplot.subplots(figsize=(6.5, 3.2), layout="constrained")
    for (name, found), colour in zip(errors.items(), ("#d55e00", "#009e73", "#0072b2"), strict=True):
        axes.semilogy(range(1, BATCHES), found, color=colour, label=name)
    axes.set(xlabel="batch", ylabel="mean squared error")
    axes.legend(frameon=False)
    pyplot.show()


if __name__ == "__main__":
    draw(main())
