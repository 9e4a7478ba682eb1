"""Solvers that find coefficients, from moments or by iterating over the features."""
