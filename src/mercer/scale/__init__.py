"""The same learners on Dask: rows in the partitions of a collection, work on the workers of a cluster."""

from .collections import is_collection, table_of
from .lazy import computed, lazily

__all__ = ["computed", "is_collection", "lazily", "table_of"]
