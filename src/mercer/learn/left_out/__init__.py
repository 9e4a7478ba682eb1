"""Rows left out of a finished fit: decision values without them, their leverages, and probabilities from both."""
