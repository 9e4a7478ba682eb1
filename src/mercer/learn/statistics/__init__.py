"""What learners need of the data: sums over rows, which can be merged and subtracted."""

from .moments import Centred, Moments, chunk_rows

__all__ = ["Centred", "Moments", "chunk_rows"]
