"""What models are worth: scores with intervals, comparisons of maps, tables and pictures."""

from .comparison import Comparison, Entry, compare
from .contents import Column, Contents, contents
from .evaluation import evaluate, features, predictions
from .page import page, table
from .pictures import comparison_figure, comparison_page
from .plan import Plan, plan
from .scores import Score, bootstrap, classification_metrics, regression_metrics
from .training import training_page
from .trials import trials_section

__all__ = [
    "Column",
    "Comparison",
    "Contents",
    "Entry",
    "Plan",
    "Score",
    "bootstrap",
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
    "table",
    "training_page",
    "trials_section",
]
