"""Which map, how wide, and which learner."""

from ..maps.rules import RULES, Rule, feature_map
from .halving import Round, Trial
from .learner_choice import Task, learner_for, task_of
from .map_catalogue import MAPS, MapNote, maps_for
from .search import Search, Tuned
from .tune import tune

__all__ = [
    "MAPS",
    "RULES",
    "MapNote",
    "Round",
    "Rule",
    "Search",
    "Task",
    "Trial",
    "Tuned",
    "feature_map",
    "learner_for",
    "maps_for",
    "task_of",
    "tune",
]
