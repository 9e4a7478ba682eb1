"""Sums over rows from which learners compute their coefficients; they can be merged and subtracted."""

from .moments import Centred, Moments, chunk_rows

__all__ = ["Centred", "Moments", "chunk_rows"]
