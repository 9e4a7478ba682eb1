"""Warnings about a model that is worse on held-out rows than expected, with advice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..data import Table
from ..learn import KernelClassifier
from .baselines import Baseline, first_score
from .evaluation import check_predicts, evaluate
from .scores import Score
from .unknown_levels import treating_unknown

FAR = 1.5
"""An error of this many times the expected one is a concern, if its interval excludes the expected error too."""
MOST_OF_IT, FEW = 0.8, 0.01
"""The share of the squared error that counts as most of it, and the share of rows that counts as few."""
NAMED_ROWS = 5
RULES = {
    "gcv": "generalised cross-validation",
    "loo": "leave-one-out",
    "holdout": "a holdout",
    "evidence": "the evidence",
}
TRY = "run 'mercer tune', try another kernel or scale, or more features"


class Concern(NamedTuple):
    """Something that users should know before they use a model, and what can be done about it.

    Attributes
    ----------
    message : str
        What is wrong, with the figures that show it.
    advice : str
        What to do about it.
    """

    message: str
    advice: str

    def __str__(self) -> str:
        return f"{self.message}. What to do: {self.advice}."


def concerns(
    model: BaseEstimator, test: Table, *, scores: Sequence[Score] | None = None, baselines: Sequence[Baseline] = ()
) -> list[Concern]:
    """List what is wrong with the scores of a fitted learner on held-out rows, the most serious first.

    There is a concern if R2 is below 0; if the accuracy (balanced accuracy if classes were given weights) is below that
    of the majority class; if another of the ``baselines`` is better and the interval of the difference excludes 0; and
    if a regressor whose alpha was chosen by a rule has a root mean squared error of more than 1.5 times what the rule
    expected, with an interval that excludes the expected error.

    Parameters
    ----------
    model : KernelClassifier or KernelRegressor
        The fitted learner, which predicts one target.
    test : Table
        Rows with targets on which it was not trained.
    scores : sequence of Score or None, default=None
        The result of :func:`mercer.report.evaluate` on these rows. None computes it.
    baselines : sequence of Baseline, default=()
        The result of :func:`mercer.report.baselines` on these rows.

    Returns
    -------
    list of Concern
        The concerns, each with a ``message`` and an ``advice``; empty if nothing is wrong.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> rng = np.random.default_rng(0)
    >>> train, test = mercer.data.open(rng.normal(size=(200, 3)), target=rng.normal(size=200)).split(test=0.5)
    >>> model = mercer.KernelRegressor("gaussian(1)", alpha=1e-6, random_state=0).fit(train)
    >>> [one.message for one in mercer.report.concerns(model, test)]
    ['R2 is -4.61 on the held-out rows: worse than always predicting their mean']
    """
    check_predicts(model)
    model = treating_unknown(model)  # held-out rows may have levels that the training rows lack
    named = {one.name: one for one in (evaluate(model, test) if scores is None else scores)}
    if isinstance(model, KernelClassifier):
        if any(one.is_simplest for one in baselines):
            return _beaten(model, baselines)
        below_largest = _below_largest_class(model, test, named["accuracy"])
        return [*([] if below_largest is None else [below_largest]), *_beaten(model, baselines)]
    below = _below_mean(named["R2"])
    worse = [one for one in (below, _unexpected(model, named["RMSE"])) if one is not None]
    outlying = Outlying.of_model(model, test) if worse else None
    if outlying is not None:
        worse[-1] = worse[-1]._replace(message=f"{worse[-1].message}. {outlying.told(test)}")
    return worse + _beaten(model, [one for one in baselines if below is None or not one.is_simplest])


def _below_mean(r2: Score) -> Concern | None:
    if not r2.value < 0.0:
        return None
    said = f"R2 is {r2.value:.3g} on the held-out rows: "
    if r2.high >= 0.0:
        advice = f"check that the columns contain what the target depends on, and {TRY}"
        return Concern(f"{said}no better than always predicting their mean", advice)
    advice = f"{TRY}, and transform a target or columns with heavy tails"
    return Concern(f"{said}worse than always predicting their mean", advice)


def _below_largest_class(model: BaseEstimator, test: Table, accuracy: Score) -> Concern | None:
    """Return a concern if a classifier is right less often than its largest class, unless classes were weighted."""
    if model.class_weight is not None:
        return None
    totals: dict[Any, float] = {}
    for block in test.targets():
        labels, codes = np.unique(np.asarray(block.y), return_inverse=True)
        for label, total in zip(labels.tolist(), np.bincount(codes, block.weight).tolist(), strict=True):
            totals[label] = totals.get(label, 0.0) + total
    largest = max(totals, key=lambda label: totals[label])
    share = totals[largest] / sum(totals.values())
    if accuracy.value >= share:
        return None
    said = f"Accuracy is {accuracy.value:.4g} on these rows; always predicting {largest} would have {share:.4g}"
    return Concern(said, TRY)


def _unexpected(model: BaseEstimator, error: Score) -> Concern | None:
    """Return a concern if the error is far above what the rule that chose alpha expected."""
    expected = expected_error(model)
    if not (error.value > FAR * expected > 0.0 and (math.isnan(error.low) or error.low > expected)):
        return None
    rule = RULES.get(str(model.alpha), RULES["loo"])  # also of "auto", and of several values
    said = (
        f"RMSE is {error.value:.4g} on the held-out rows, {error.value / expected:.1f} times the {expected:.4g} that "
        f"{rule} expected"
    )
    other = "choose alpha by leave-one-out (alpha='loo', or --alpha loo), " if rule != RULES["loo"] else ""
    return Concern(said, f"{other}transform a target or columns with heavy tails, and look at the outlying rows")


def expected_error(model: BaseEstimator) -> float:
    """Return the root mean squared error that a rule expects of the alpha that it has chosen.

    Parameters
    ----------
    model : KernelRegressor
        The fitted regressor.

    Returns
    -------
    float
        The expected error; NaN if no rule chose the alpha.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> from mercer.report import expected_error
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=500)
    >>> model = mercer.KernelRegressor("gaussian(0.1)", n_components=64, alpha="loo", random_state=0).fit(X, y)
    >>> bool(0.09 < expected_error(model) < 0.12)
    True
    """
    if not hasattr(model, "alphas_"):
        return math.nan
    place = int(np.argmin(np.abs(np.asarray(model.alphas_) - model.alpha_)))
    return math.sqrt(float(np.ravel(model.scores_[place])[0]))


def _beaten(model: BaseEstimator, baselines: Sequence[Baseline]) -> list[Concern]:
    """Return the baselines that are ahead; the majority class counts even if the difference may be due to chance."""
    found, name = [], first_score(model)
    for one in baselines:
        below = one.is_simplest and isinstance(model, KernelClassifier) and one.gain.value < 0.0
        if one.scores and (one.ahead or below):
            theirs = next(score.value for score in one.scores if score.name == name)
            said = (
                f"The {one.name} baseline ({one.what}) has {name} {theirs:.4g} on the same held-out rows, this model "
                f"{theirs + one.gain.value:.4g} ({difference(one.gain)})"
            )
            other = "" if one.is_simplest else ", or use the other model"
            found.append(Concern(said, TRY + other))
    return found


def difference(gain: Score) -> str:
    """Describe how far a model is behind another."""
    between = "" if math.isnan(gain.low) else f", 95 % interval {-gain.high:.3g} to {-gain.low:.3g}"
    return f"{-gain.value:.3g} less{between}"


class Outlying(NamedTuple):
    """The few rows that cause most of the squared error, the worst first, and their share of it."""

    rows: NDArray[np.int64]
    share: float
    rows_held_out: int

    @classmethod
    def of_errors(cls, errors: NDArray[np.float64]) -> Outlying | None:
        """Return the outlying rows, given each row's part of the squared error; None if it is spread over many rows."""
        order = np.argsort(-errors, kind="stable")
        total = float(errors.sum())
        if not 0.0 < total < math.inf:
            return None
        shares = np.cumsum(errors[order]) / total
        count = int(np.searchsorted(shares, MOST_OF_IT)) + 1
        if count > max(1.0, FEW * len(errors)):
            return None
        return cls(order[:count], float(shares[count - 1]), len(errors))

    @classmethod
    def of_model(cls, model: BaseEstimator, test: Table) -> Outlying | None:
        """Return the concerns about a regressor on held-out rows."""
        y, predicted, weight = model.observed(test, model.predict)
        squares = (np.asarray(y, dtype=np.float64) - predicted) ** 2
        return cls.of_errors(squares if weight is None else squares * weight)

    def told(self, table: Table) -> str:
        """Describe the outlying rows: their number, and which they are."""
        several = len(self.rows) > 1
        places = [table.where(int(row)) or f"row {row} of the held-out rows" for row in self.rows[:NAMED_ROWS]]
        make = "make" if several else "makes"
        return (
            f"{len(self.rows):,} of {self.rows_held_out:,} rows {make} {100 * self.share:.0f} % of the squared error "
            f"({'the worst are' if len(self.rows) > NAMED_ROWS else 'namely'} {', '.join(places)})"
        )
