"""The pilot: a search on a few thousand rows for what a learner is not told."""
