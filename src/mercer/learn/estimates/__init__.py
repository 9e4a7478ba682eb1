"""Estimates of the memory and time of a fit, before it starts."""
