"""The quality of models: scores with intervals, comparisons of maps, tables and pictures.

The package can be called: ``mercer.report(model, X, y, test=(X_test, y_test))`` writes a page, as
:func:`mercer.report.write` does.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

from sklearn.base import BaseEstimator

from ..learn.argument_types import WeightArgument
from .assessment import Assessment, assess
from .baselines import Baseline, baselines
from .column_importances import Importance
from .comparison import Comparison, Entry, compare
from .comparison_page import comparison_figure, comparison_page
from .concerns import Concern, concerns, expected_error
from .data_summary import RowSummary, summary
from .evaluation import check_scorable, evaluate, features, predictions
from .imbalance import Imbalance, imbalance
from .interval import Interval
from .model_contents import Column, Contents, contents
from .model_report import Report, write
from .page import page, section, table
from .plan import Plan, plan
from .scores import Score, bootstrap, classification_metrics, regression_metrics
from .search_section import trials_section
from .training_page import Origin, Usage, training_page
from .unknown_levels import UnknownLevels, unknown_levels
from .what_if import Study, study

__all__ = [
    "Assessment",
    "Baseline",
    "Column",
    "Comparison",
    "Concern",
    "Contents",
    "Entry",
    "Imbalance",
    "Importance",
    "Interval",
    "Origin",
    "Plan",
    "Report",
    "RowSummary",
    "Score",
    "Study",
    "UnknownLevels",
    "Usage",
    "assess",
    "baselines",
    "bootstrap",
    "check_scorable",
    "classification_metrics",
    "compare",
    "comparison_figure",
    "comparison_page",
    "concerns",
    "contents",
    "evaluate",
    "expected_error",
    "features",
    "imbalance",
    "page",
    "plan",
    "predictions",
    "regression_metrics",
    "section",
    "study",
    "summary",
    "table",
    "training_page",
    "trials_section",
    "unknown_levels",
    "write",
]


class CallableModule(ModuleType):
    """A module that can be called to write a page."""

    def __call__(
        self,
        model: BaseEstimator,
        X: Any,
        y: Any = None,
        *,
        test: Any = None,
        sample_weight: WeightArgument = None,
        path: str | os.PathLike[str] = "report.html",
        title: str | None = None,
        random_state: int = 0,
    ) -> Report:
        """Write a page about a fitted model; see :func:`mercer.report.write`."""
        given: dict[str, Any] = {"sample_weight": sample_weight, "path": path, "title": title}
        return write(model, X, y, test=test, random_state=random_state, **given)


sys.modules[__name__].__class__ = CallableModule
