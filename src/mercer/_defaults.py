"""Default values, in one place for maps, learners, comparisons, the search and the command line.

Signatures and docstrings repeat some of these numbers for their readers; tests compare them.
"""

from __future__ import annotations

BANDWIDTH = "scale"
"""The rule for a bandwidth that is learned from the rows, as for a bare name such as ``"gaussian"``.

It is the rule of scikit-learn's ``SVC``. Unlike the median it needs no sample: it does not depend on a seed, and it
takes weights into account, so that a row of weight 2 is the same as two copies of that row.
"""

KERNEL = f"gaussian(gamma={BANDWIDTH!r})"
"""The kernel of maps, of learners without a target, and of rows too few for choosing a kernel."""

TABLE_KERNEL = "gaussian(gamma='median')"
"""The kernel with which maps are compared, diagnosed and chosen for a tolerable error.

A few distant rows inflate the variance and with it ``"scale"``; the median of distances ignores them.
"""

MAP_WIDTH = 256
"""The number of features of a map that is fitted on its own."""

LEARNER_WIDTH = 1024
"""The number of features of a learner's map, or the smallest number if it is chosen from the rows."""

WIDEST_LEARNER = 4096
"""The largest number of features that is chosen from the rows."""

COMPARED_WIDTHS = (256, 1024, 4096)
"""The number of features at which maps are compared."""

WIDEST_SEARCHED = 8192
"""The largest number of features of the model that a search ends with."""

SEARCH_SECONDS = 120.0
"""The time of a search if neither time nor rounds are given."""

SEARCH_ROUNDS = 4
"""The largest number of rounds of a search among given kernels."""

WIDEST_CHOSEN = 32768
"""The largest number of features of a map that is chosen for a target error."""
