"""Which map, and how wide."""

from .rules import RULES, Rule, feature_map

__all__ = ["RULES", "Rule", "feature_map"]
