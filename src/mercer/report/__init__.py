"""What models are worth: scores with intervals, comparisons of maps, tables and pictures."""

from .contents import Column, Contents, contents
from .evaluation import evaluate, features, predictions
from .plan import Plan, plan
from .scores import Score, bootstrap, classification_metrics, regression_metrics

__all__ = [
    "Column",
    "Contents",
    "Plan",
    "Score",
    "bootstrap",
    "classification_metrics",
    "contents",
    "evaluate",
    "features",
    "plan",
    "predictions",
    "regression_metrics",
]
