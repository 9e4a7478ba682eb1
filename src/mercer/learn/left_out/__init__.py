"""Rows left out of a fit that has been made: decision values without them, their leverages, probabilities from both."""
