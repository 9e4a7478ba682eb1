"""Which map, how wide, and which learner."""

from .inventory import MAPS, MapNote, maps_for
from .learners import Task, learner_for, task_of
from .rules import RULES, Rule, feature_map

__all__ = ["MAPS", "RULES", "MapNote", "Rule", "Task", "feature_map", "learner_for", "maps_for", "task_of"]
