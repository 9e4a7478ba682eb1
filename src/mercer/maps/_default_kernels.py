"""The kernels of maps and learners that are given none: their bandwidth is that of the rows."""

from __future__ import annotations

from ..kernels import Gaussian, Polynomial
from ..kernels.bandwidth import DEFAULT_RULE

GAUSSIAN = Gaussian(DEFAULT_RULE)

# Homogeneous ones of an even degree could not tell x from -x, which on standardised columns are far apart.
QUADRATIC = Polynomial(2, gamma=DEFAULT_RULE, coef0=1.0)
QUARTIC = Polynomial(4, gamma=DEFAULT_RULE, coef0=1.0)
