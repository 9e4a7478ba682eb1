"""What is taken where nothing is given: one place, for maps, learners, comparisons, the search and the command line.

Signatures and docstrings repeat some of these numbers, for those who read them; tests compare.
"""

from __future__ import annotations

BANDWIDTH = "scale"
"""The rule for a bandwidth that is left to the rows: by a bare name such as ``"gaussian"``, a map or a learner.

As in scikit-learn's ``SVC``. Unlike the median it needs no sample: it depends on no seed, and it counts weights, so
that a row of weight 2 is the same as that row twice.
"""

KERNEL = f"gaussian(gamma={BANDWIDTH!r})"
"""The kernel of maps, of learners without a target, and of rows too few to choose one by."""

TABLE_KERNEL = "gaussian(gamma='median')"
"""The kernel by which maps are compared, diagnosed and chosen for a tolerable error.

A few rows far from all others inflate the variance, and with it ``"scale"``; the median of distances ignores them.
"""

MAP_WIDTH = 256
"""Features of a map that is fitted alone."""

LEARNER_WIDTH = 1024
"""Features of the map of a learner, at least where they are left to the rows."""

WIDEST_LEARNER = 4096
"""Features that the rows may lead to, at most."""

COMPARED_WIDTHS = (256, 1024, 4096)
"""Features at which maps are compared."""

WIDEST_SEARCHED = 8192
"""Features of the model that a search ends with, at most."""

SEARCH_SECONDS = 120.0
"""How long a search takes where neither time nor rounds are given."""

SEARCH_ROUNDS = 4
"""Rounds of a search among given kernels, at most."""

WIDEST_CHOSEN = 32768
"""Features of the map that a target for its error leads to, at most."""
