"""Default kernels of maps, learners and tables; their bandwidth is learned from the rows."""

from __future__ import annotations

from .._defaults import BANDWIDTH, KERNEL, TABLE_KERNEL
from .parse import parse
from .polynomial import Polynomial

GAUSSIAN = parse(KERNEL)
TABLE_GAUSSIAN = parse(TABLE_KERNEL)

# A homogeneous kernel of even degree cannot tell x from -x, which are far apart in standardised columns.
QUADRATIC = Polynomial(2, gamma=BANDWIDTH, coef0=1.0)
QUARTIC = Polynomial(4, gamma=BANDWIDTH, coef0=1.0)
