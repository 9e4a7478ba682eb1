"""Prediction intervals and sets of classes with guaranteed coverage, for any learner."""
