"""The choice of map, number of features and learner."""

from ..maps.rules import RULES, Rule, feature_map
from .auto_map import AutoMap, TargetNotMetError
from .certificate import Certificate, MaximumError, PredictionChange, certify
from .diagnosis import Diagnosis, Finding, diagnose, diagnose_table
from .gram_errors import Estimate
from .halving import Round, Trial
from .learner_choice import Task, learner_for, task_of
from .map_catalogue import MAPS, MapNote, maps_for
from .map_pilot import PilotTable, PilotTrial
from .pilot_search import PilotSearch
from .search import Search, Tuned
from .tune import search_for, tune

__all__ = [
    "MAPS",
    "RULES",
    "AutoMap",
    "Certificate",
    "Diagnosis",
    "Estimate",
    "Finding",
    "MapNote",
    "MaximumError",
    "PilotSearch",
    "PilotTable",
    "PilotTrial",
    "PredictionChange",
    "Round",
    "Rule",
    "Search",
    "TargetNotMetError",
    "Task",
    "Trial",
    "Tuned",
    "certify",
    "diagnose",
    "diagnose_table",
    "feature_map",
    "learner_for",
    "maps_for",
    "search_for",
    "task_of",
    "tune",
]
