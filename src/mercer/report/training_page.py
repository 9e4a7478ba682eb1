"""A page about one model: the model, its scores, its errors, and how to reproduce it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from .._figures import seconds, size
from ..data import Table
from ..learn import KernelClassifier
from ..learn.prepare.description import SCALED
from . import descriptions
from .baselines import Baseline
from .baselines_section import baselines_part
from .column_importances import Importance, importances_section
from .concerns import RULES, Concern
from .data_section import data_section
from .data_summary import summary
from .error_analysis import errors_section
from .evaluation import check_predicts
from .interval import Interval
from .model_charts import alphas_picture, errors_picture, path_picture, widths_picture
from .page import alarm, cards, details, facts, figure, page, paragraph, section, table, wide
from .pictures import pictures
from .scores import Score
from .what_if import Study, penalty_name


class Usage(NamedTuple):
    """The time and memory that a model took.

    Attributes
    ----------
    fit_seconds : float
        The time of the fit.
    score_seconds : float
        The time of scoring the held-out rows.
    study_seconds : float
        The time of :func:`mercer.report.study`.
    peak_bytes : int or None
        The peak memory, if it is known.
    model_bytes : int or None
        The size of the model file, if there is one.
    """

    fit_seconds: float
    score_seconds: float
    study_seconds: float
    peak_bytes: int | None
    model_bytes: int | None


class Origin(NamedTuple):
    """The origin of a model: the command, its options, and the versions of libraries.

    Attributes
    ----------
    command : str
        The command that reproduces the model.
    options : dict of str to object
        All its options.
    versions : dict of str to str
        The versions of the libraries.
    """

    command: str
    options: dict[str, Any]
    versions: dict[str, str]


def training_page(
    title: str,
    model: BaseEstimator,
    train: Table,
    test: Table | None = None,
    *,
    scores: Sequence[Score] = (),
    studied: Study | None = None,
    usage: Usage | None = None,
    origin: Origin | None = None,
    sections: Sequence[str] = (),
    baselines: Sequence[Baseline] = (),
    concerns: Sequence[Concern] = (),
    interval: Interval | None = None,
    importances: Sequence[Importance] = (),
) -> str:
    """Return a page of HTML about a fitted model, which loads nothing from elsewhere.

    Parameters
    ----------
    title : str
        The title.
    model : KernelClassifier or KernelRegressor
        The fitted learner, which predicts one target.
    train : Table
        The rows on which it was trained, with targets.
    test : Table or None, default=None
        The held-out rows, with targets.
    scores : sequence of Score, default=()
        The result of :func:`mercer.report.evaluate` on the held-out rows.
    studied : Study or None, default=None
        The result of :func:`mercer.report.study`.
    usage : Usage or None, default=None
        Time and memory.
    origin : Origin or None, default=None
        The command, options and versions that reproduce the model.
    sections : sequence of str, default=()
        Further sections, as HTML.
    baselines : sequence of Baseline, default=()
        The result of :func:`mercer.report.baselines` on the held-out rows.
    concerns : sequence of Concern, default=()
        The result of :func:`mercer.report.concerns`, which is shown first.
    interval : Interval or None, default=None
        The interval that :func:`mercer.report.assess` found.
    importances : sequence of Importance, default=()
        The importances that :func:`mercer.report.assess` found.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> table = mercer.data.open(np.random.default_rng(0).normal(size=(100, 3)), target=2)
    >>> model = mercer.choose.learner_for("regression", n_components=16, random_state=0).fit(table)
    >>> mercer.report.training_page("A model", model, table).splitlines()[0]
    '<!DOCTYPE html>'
    """
    check_predicts(model)
    found = summary(model, train)
    held_out = 0 if test is None else test.n_rows
    return page(
        title,
        alarm([str(one) for one in concerns]),
        _first(model, scores, studied, usage),
        section("Scores on held-out rows", _scores(scores, held_out), baselines_part(scores, baselines)),
        importances_section(importances),
        "" if test is None else errors_section(model, test, interval),
        data_section(found, held_out),
        _machine(model, studied),
        _widths(studied, scores, found.rows),
        _penalty(model, studied),
        _trials(model),
        *sections,
        _usage(usage),
        _origin(origin),
        lead=_lead(model, found.rows, held_out, scores),
    )


def _lead(model: BaseEstimator, rows: int, held_out: int, scores: Sequence[Score]) -> str:
    """Return the summary of the page in one sentence."""
    what = f"{len(model.classes_)} classes" if isinstance(model, KernelClassifier) else "numbers"
    made = f"A kernel machine that predicts {what}, trained on {rows:,} rows"
    if not scores:
        return escape(f"{made}. No rows were held out, so its quality on new rows is not known.")
    first = scores[0]
    return f"{escape(made)}. On {held_out:,} rows that it had not seen: <strong>{escape(_worded(first))}</strong>."


def _worded(score: Score) -> str:
    between = "" if score.low != score.low else f", between {score.low:.3g} and {score.high:.3g} (95 % interval)"
    return f"{score.name} {score.value:.4g}{between}"


def _first(model: BaseEstimator, scores: Sequence[Score], studied: Study | None, usage: Usage | None) -> str:
    """Return the headline figures."""
    found = [(one.name, f"{one.value:.4g}", _interval(one)) for one in scores[:2]]
    if studied is not None:
        found.append(("kernel error", f"{100 * studied.error.relative:.2g} %", "relative, on held-out rows"))
    found.append(("features", f"{model.map_.n_components_:,}", type(model.map_).__name__))
    if usage is not None:
        found.append(("time to fit", seconds(usage.fit_seconds), memory(usage.peak_bytes)))
    return cards(found)


def _interval(score: Score) -> str:
    return "" if score.low != score.low else f"{score.low:.4g} to {score.high:.4g}"


def _scores(scores: Sequence[Score], held_out: int) -> str:
    if not scores:
        return ""
    said = (
        f"{held_out:,} rows were set aside before training. Intervals are 95 % bootstrap intervals: the range of the "
        "scores when as many rows are drawn from these with replacement."
    )
    lines = "".join(
        f'<tr><td>{escape(one.name)}<span class="note">{MEANINGS.get(one.name, "")}</span></td>'
        f'<td class="number">{figure(one.value)}</td><td class="number">{_interval(one) or "-"}</td></tr>'
        for one in scores
    )
    head = "".join(f'<th scope="col"{kind}>{name}</th>' for name, kind in HEADS)
    return paragraph(said) + wide(f'<table class="scores"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>')


HEADS = (("score", ""), ("value", ' class="number"'), ("95 % interval", ' class="number"'))
MEANINGS = {
    "accuracy": "share of rows whose class is predicted correctly; 1 is best",
    "balanced accuracy": "the same share for each class, averaged over the classes; 1 is best",
    "AUC": "how often a row of a class is ranked above a row of another class; 0.5 is chance, 1 is best",
    "log loss": "mean negative log-probability of the true class; 0 is best",
    "R2": "share of the variance of the target that is explained; 1 is best, 0 is no better than the mean",
    "RMSE": "root mean squared error, in units of the target; 0 is best",
    "MAE": "mean absolute error, in units of the target; 0 is best",
}


def _machine(model: BaseEstimator, studied: Study | None) -> str:
    kernel = model.map_.kernel_
    held = [
        ("kernel", repr(kernel)),
        ("map", f"{type(model.map_).__name__}, {model.map_.n_components_:,} features, seed {model.map_.seed_}"),
        ("learner", _learner(model)),
        ("scaling", SCALED[model.preparation_.scale]),
    ]
    parts = [paragraph(descriptions.of_kernel(kernel)), paragraph(descriptions.of_map(model.map_)), facts(held)]
    if studied is not None:
        error = studied.error
        parts.append(
            paragraph(
                f"How well the features approximate the kernel, on {studied.error_rows:,} held-out rows: the matrix of "
                f"their inner products differs from the kernel matrix by {100 * error.relative:.2g} % of its norm, and "
                f"no entry by more than {error.maximum:.2g}."
            )
        )
    return section("Kernel and map", *parts)


def _learner(model: BaseEstimator) -> str:
    if isinstance(model, KernelClassifier):
        return f"KernelClassifier, loss {model.loss}, C = {model.C_:.4g}{_rule(model)}"
    loss = "" if model.loss == "squared" else f"loss {model.loss}, "
    return f"KernelRegressor, {loss}alpha = {model.alpha_:.4g}{_rule(model)}"


def _rule(model: BaseEstimator) -> str:
    """Describe how the penalty was chosen, if a rule chose it."""
    rule = model.penalty_path_.rule if hasattr(model, "penalty_path_") else str(getattr(model, penalty_name(model)))
    return f", by {RULES[rule]}" if rule in RULES else ""


def _widths(studied: Study | None, scores: Sequence[Score], rows: int) -> str:
    if studied is None or len(studied.widths) < 2:
        return ""
    whole, widths = studied.rows == rows, studied.widths
    said = (
        f"The same model with fewer features, trained on {'all' if whole else f'{studied.rows:,} of the'} "
        f"{rows:,} rows. The band is the 95 % interval. {_worth(widths)}"
        f"{'' if whole else ' With more rows, more features can pay off.'}"
    )
    shown = pictures(
        widths_picture(widths, widths[0].score.name, scores[0].value if scores else float("nan"), whole),
        errors_picture(widths),
    )
    entries = [(one.features, one.score.value, _interval(one.score), f"{100 * one.error:.3g} %") for one in widths]
    listed = table(("features", widths[0].score.name, "95 % interval", "kernel error"), entries)
    return section("More or fewer features", paragraph(said), shown, details("Show the numbers", listed))


def _worth(widths: Sequence[Any]) -> str:
    """Describe whether the last doubling of the features was worth it."""
    before, last = widths[-2:]
    gain = last.score.value - before.score.value
    if last.score.low <= before.score.value:
        return f"The last doubling of the features changed the score by {gain:+.2g}, which is within its interval."
    return f"The last doubling of the features still gained {gain:.2g}, so more features may help."


def _penalty(model: BaseEstimator, studied: Study | None) -> str:
    """Return the scores of other penalties."""
    if hasattr(model, "alphas_"):
        asked = model.penalty_path_.rule if hasattr(model, "penalty_path_") else str(model.alpha)
        rule = RULES.get(asked, "the rule")
        said = (
            f"The {len(model.alphas_)} values of alpha that were tried, with the error on new rows that {rule} expects "
            "of each; held-out rows played no part. Small values fit the training rows closely, large ones smooth."
        )
        shown = alphas_picture(model.alphas_, model.scores_, model.alpha_, rule)
        return section("Regularisation", paragraph(said), pictures(shown))
    if studied is None or not studied.path:
        return ""
    name = penalty_name(model)
    sense = (
        "Large values of C fit the training rows closely, small ones smooth."
        if name == "C"
        else "Large values of alpha smooth."
    )
    said = (
        f"The same model with other values of {name}, with {studied.path_width:,} features, trained on "
        f"{studied.rows:,} rows. {sense} Where the two lines part, the model overfits. Do not choose {name} by the "
        "line of the held-out rows: the scores above would then be too optimistic. Choose it on other rows."
    )
    score = "accuracy" if name == "C" else "R2"
    shown = path_picture(studied.path, name, float(getattr(model, f"{name}_")), score)
    return section("Regularisation", paragraph(said), pictures(shown))


def _trials(model: BaseEstimator) -> str:
    """Return the trials of a pilot before the fit; nothing if all arguments were given or there were too few rows."""
    choice = getattr(model, "choice_", None)
    if choice is None or not choice.trials:
        return ""
    taken = "were learned and are used" if choice.learned_columns else "were learned but are not used"
    said = (
        f"Arguments that were not given were chosen by trials on {choice.n_rows:,} of the training rows. Each trial "
        "uses the penalty with the smallest leave-one-out error. Errors are in units of the variance of the targets. "
        f"Of trials that hardly differ, the smoothest is chosen. Scales of columns {taken}."
    )
    entries = []
    for one in choice.trials:
        tried = one.kernel, one.scale or "none", "yes" if one.learned_columns else "no"
        entries.append((*tried, f"{one.n_rows:,}", f"{one.n_features:,}", f"{one.alpha:.3g}", f"{one.error:.3g}"))
    heads = ("kernel", "scale", "learned columns", "rows", "features", "ridge penalty", "error")
    return section("How it was chosen", paragraph(said), details("Show the trials", table(heads, entries)))


def _usage(usage: Usage | None) -> str:
    if usage is None:
        return ""
    entries = [
        ("fit", seconds(usage.fit_seconds)),
        ("scoring held-out rows", seconds(usage.score_seconds)),
        ("charts of this page", seconds(usage.study_seconds)),
        ("peak memory", None if usage.peak_bytes is None else size(usage.peak_bytes)),
        ("model file", None if usage.model_bytes is None else size(usage.model_bytes)),
    ]
    return section("Time and memory", facts(entries))


def _origin(origin: Origin | None) -> str:
    if origin is None:
        return ""
    on = ", ".join(f"{name} {version}" for name, version in origin.versions.items())
    options = [(name, "-" if value is None else figure(value)) for name, value in origin.options.items()]
    return section(
        "How to reproduce this model",
        f"<pre><code>{escape(origin.command)}</code></pre>",
        paragraph(f"Made with {on}. The same rows, seed and versions give the same model."),
        details("All options, with defaults", table(("option", "value"), options)),
    )


def memory(peak: int | None) -> str:
    return "" if peak is None else f"{size(peak)} peak memory"
