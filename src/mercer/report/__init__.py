"""What models are worth: scores with intervals, comparisons of maps, tables and pictures."""

from .comparison import Comparison, Entry, compare
from .comparison_page import comparison_figure, comparison_page
from .contents import Column, Contents, contents
from .evaluation import check_scorable, evaluate, features, predictions
from .page import page, section, table
from .plan import Plan, plan
from .scores import Score, bootstrap, classification_metrics, regression_metrics
from .studies import Study, study
from .summaries import RowSummary, summary
from .training import Origin, Usage, training_page
from .trials import trials_section
from .unknown_levels import UnknownLevels, unknown_levels

__all__ = [
    "Column",
    "Comparison",
    "Contents",
    "Entry",
    "Origin",
    "Plan",
    "RowSummary",
    "Score",
    "Study",
    "UnknownLevels",
    "Usage",
    "bootstrap",
    "check_scorable",
    "classification_metrics",
    "compare",
    "comparison_figure",
    "comparison_page",
    "contents",
    "evaluate",
    "features",
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
]
