"""Intervals and sets of classes that hold the truth as often as they promise, around any learner."""
