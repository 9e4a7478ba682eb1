"""The picture of a pilot: the errors of its trials against width and against cost."""

from __future__ import annotations

from typing import Any

from .map_pilot import PilotTable


def draw_pilot(pilot: PilotTable) -> Any:
    """Plot errors against widths and against operations, one line per map, with intervals, the target and the choice.

    Parameters
    ----------
    pilot : PilotTable
        The trials.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    if not pilot.trials:
        raise ValueError("there is nothing to plot, because there were too few rows for a pilot")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib, which is not installed: pip install 'mercer[plot]'") from error
    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    names = list(dict.fromkeys(trial.map for trial in pilot.trials))
    for axes, field, label in zip(panels, ("n_components", "operations"), ("features", "operations"), strict=True):
        for name in names:
            tried = sorted(
                (one for one in pilot.trials if one.map == name and not one.verified), key=lambda one: one.n_components
            )
            if tried:
                axes.errorbar(
                    [getattr(one, field) for one in tried],
                    [one.error for one in tried],
                    yerr=[[one.error - one.low for one in tried], [one.high - one.error for one in tried]],
                    label=name,
                    marker=".",
                    linewidth=1.0,
                    capsize=2.0,
                )
        chosen = pilot.chosen
        axes.plot([getattr(chosen, field)], [chosen.error], "k*", markersize=12, label=f"chosen: {chosen.map}")
        if pilot.target is not None:
            axes.axhline(pilot.target, color="0.5", linestyle="--", label=f"target {pilot.target:g}")
        axes.set(xscale="log", xlabel=label)
        if all(one.error > 0.0 for one in pilot.trials):
            axes.set_yscale("log")
    panels[0].set_ylabel(f"error ({pilot.error.replace('_', ' ')})")
    panels[1].legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
