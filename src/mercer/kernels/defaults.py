"""The kernels of maps, learners and tables that are given none: their bandwidth is learned from the rows."""

from __future__ import annotations

from .._defaults import BANDWIDTH, KERNEL, TABLE_KERNEL
from .parse import parse
from .polynomial import Polynomial

GAUSSIAN = parse(KERNEL)
TABLE_GAUSSIAN = parse(TABLE_KERNEL)

# Homogeneous ones of an even degree could not tell x from -x, which on standardised columns are far apart.
QUADRATIC = Polynomial(2, gamma=BANDWIDTH, coef0=1.0)
QUARTIC = Polynomial(4, gamma=BANDWIDTH, coef0=1.0)
