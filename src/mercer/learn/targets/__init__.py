"""The targets of predictions: labels of classes, numbers, and losses in the units of these numbers."""
