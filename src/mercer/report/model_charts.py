"""The pictures of a page about one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .interval import Interval
from .pictures import drawing, logarithmic, picture, width_axis
from .style import FAINT, INK, SERIES
from .what_if import Narrower, Penalised

MOST_POINTS = 1500
"""The largest number of points in a scatter plot: more would make a page larger and show nothing new."""
BINS = 10
MOST_BINS, ROWS_A_BIN = 20, 30


def widths_picture(widths: Sequence[Narrower], score: str, full: float, whole: bool) -> str:
    """Plot the score against the number of features."""
    features = [one.features for one in widths]
    with drawing() as (figure, (axes,)):
        low = [one.score.low for one in widths]
        high = [one.score.high for one in widths]
        axes.fill_between(features, low, high, color=SERIES[0], alpha=0.18, linewidth=0)
        axes.plot(features, [one.score.value for one in widths], "o-", color=SERIES[0])
        if not whole:
            axes.axhline(full, color=INK, linestyle="--", linewidth=1.2, label="the model, trained on all rows")
            axes.legend(loc="lower right")
        axes.set(ylabel=f"{score}, held out")
        width_axis(axes, features)
    first, last = widths[0], widths[-1]
    said = f"{score} goes from {first.score.value:.4g} at {first.features:,} features to {last.score.value:.4g}"
    return picture(figure, f"Score against number of features: {said} at {last.features:,}.")


def errors_picture(widths: Sequence[Narrower]) -> str:
    """Plot the error of the kernel against the number of features."""
    features, errors = [one.features for one in widths], [100 * one.error for one in widths]
    with drawing() as (figure, (axes,)):
        axes.plot(features, errors, "s-", color=SERIES[1])
        axes.set(ylabel="relative kernel error, %")
        axes.set_ylim(bottom=0)
        width_axis(axes, features)
    said = f"{errors[0]:.3g} % at {features[0]:,} features, {errors[-1]:.3g} % at {features[-1]:,}"
    return picture(figure, f"Kernel error against number of features: {said}.")


def path_picture(path: Sequence[Penalised], name: str, chosen: float, score: str) -> str:
    """Plot scores against the penalty."""
    values = [one.value for one in path]
    with drawing() as (figure, (axes,)):
        axes.plot(values, [one.held_out for one in path], "o-", color=SERIES[0], label="held-out rows")
        axes.plot(values, [one.learned for one in path], "s--", color=SERIES[1], label="training rows")
        axes.axvline(chosen, color=INK, linestyle=":", linewidth=1.2, label=f"{name} of the model")
        axes.set(xlabel=name, ylabel=score)
        logarithmic(axes.xaxis)
        axes.legend()
    best = max(path, key=lambda one: one.held_out)
    return picture(
        figure, f"Scores against {name}: the best on held-out rows is {best.held_out:.4g} at {best.value:g}."
    )


def alphas_picture(alphas: Any, errors: Any, chosen: float, rule: str) -> str:
    """Plot the error that a rule expects against the values of alpha that it tried."""
    roots = np.sqrt(np.asarray(errors, dtype=np.float64).reshape(len(alphas), -1)[:, 0])
    there = np.isfinite(roots)
    with drawing() as (figure, (axes,)):
        axes.plot(alphas[there], roots[there], "o-", color=SERIES[0])
        axes.axvline(chosen, color=INK, linestyle=":", linewidth=1.2, label="alpha of the model")
        axes.set(xlabel="alpha", ylabel="expected RMSE")
        logarithmic(axes.xaxis)
        axes.legend()
    return picture(figure, f"Expected error against alpha, by {rule}: the smallest is {roots[there].min():.4g}.")


def calibration_picture(chance: NDArray[Any], right: NDArray[Any], weight: NDArray[Any], of: str) -> str:
    """Plot observed frequencies against predicted probabilities, in ten bins with equally many rows."""
    told, true = calibration(chance, right, weight)
    with drawing(5.0, 4.2) as (figure, (axes,)):
        axes.plot([0, 1], [0, 1], color=INK, linestyle="--", linewidth=1.0, label="perfect")
        axes.plot(told, true, "o-", color=SERIES[0], label="held-out rows")
        axes.set(xlabel="predicted probability", ylabel="observed share", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        axes.legend(loc="lower right")
    apart = max(abs(a - b) for a, b in zip(told, true, strict=True))
    return picture(
        figure,
        f"Calibration curve over {len(told)} bins: predicted and observed shares differ by at most {apart:.2g}.",
        f"Rows in ten bins by the probability that the model gives {of}. Above the dashed line the model is too "
        "cautious, below it too confident.",
    )


def calibration(chance: NDArray[Any], right: NDArray[Any], weight: NDArray[Any]) -> tuple[list[float], list[float]]:
    """Return the mean probability of every bin, and the share of it that was true; bins have equally many rows."""
    order = np.argsort(chance, kind="stable")
    parts = [part for part in np.array_split(order, BINS) if len(part) and weight[part].sum() > 0]
    told, true = ([float(np.average(one[part], weights=weight[part])) for part in parts] for one in (chance, right))
    return told, true


def observed_picture(y: NDArray[Any], predicted: NDArray[Any]) -> str:
    """Plot observed against predicted numbers."""
    some = thinned(len(y))
    ends = [float(min(y.min(), predicted.min())), float(max(y.max(), predicted.max()))]
    with drawing(5.0, 4.2) as (figure, (axes,)):
        axes.plot(predicted[some], y[some], "o", color=SERIES[0], alpha=0.5, markersize=3.5, markeredgewidth=0)
        axes.plot(ends, ends, color=INK, linestyle="--", linewidth=1.0)
        axes.set(xlabel="predicted", ylabel="observed")
    fit = float(np.corrcoef(y, predicted)[0, 1]) if y.std() > 0 and predicted.std() > 0 else float("nan")
    return picture(figure, f"Observed against predicted values of held-out rows: a correlation of {fit:.3f}.")


def residuals_picture(y: NDArray[Any], predicted: NDArray[Any], interval: Interval | None = None) -> str:
    """Plot residuals against predictions, with their median and spread, and the interval of new ones."""
    left, some = y - predicted, thinned(len(y))
    order = np.argsort(predicted, kind="stable")
    bins = np.array_split(order, min(MOST_BINS, len(y) // ROWS_A_BIN)) if len(y) >= 3 * ROWS_A_BIN else []
    middle = [float(np.median(predicted[part])) for part in bins]
    with drawing(5.0, 4.2) as (figure, (axes,)):
        axes.plot(predicted[some], left[some], "o", color=SERIES[0], alpha=0.5, markersize=3.5, markeredgewidth=0)
        axes.axhline(0.0, color=INK, linestyle="--", linewidth=1.0)
        if interval is not None:
            axes.axhspan(-interval.half_width, interval.half_width, color=FAINT, alpha=0.5, linewidth=0, zorder=0)
        for share, line, label in ((0.5, "-", "median"), (0.1, ":", "80 % of rows"), (0.9, ":", None)):
            if middle:
                axes.plot(middle, [np.quantile(left[part], share) for part in bins], line, color=SERIES[1], label=label)
        axes.set(xlabel="predicted", ylabel="observed - predicted")
        if middle:
            axes.legend()
    return picture(
        figure,
        f"Residuals against predicted values: median {np.median(left):.3g}, 80 % between "
        f"{np.quantile(left, 0.1):.3g} and {np.quantile(left, 0.9):.3g}.",
    )


def values_picture(values: NDArray[Any]) -> str:
    """Plot the distribution of the target."""
    with drawing(5.0, 2.4) as (figure, (axes,)):
        axes.hist(values, bins=30, color=SERIES[0], edgecolor=FAINT, linewidth=0.5)
        axes.set(xlabel="target", ylabel="rows")
    said = f"from {values.min():.4g} to {values.max():.4g}, median {np.median(values):.4g}"
    return picture(figure, f"Histogram of the target: {said}.")


def thinned(count: int) -> slice:
    """Return evenly spaced rows out of ``count``, few enough to draw."""
    return slice(None, None, max(1, -(-count // MOST_POINTS)))
