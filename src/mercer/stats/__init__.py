"""Hypothesis tests with kernels at linear cost: two samples (MMD) and independence (HSIC).

:func:`mmd_test` and :func:`hsic_test` take all rows at once. :class:`MMDTest` and :class:`HSICTest` take them in
batches, and parts that were summed separately can be merged.
"""

from .hsic import HSICTest, hsic_test
from .mmd import MMDTest, mmd_test
from .result import KernelTestResult

__all__ = ["HSICTest", "KernelTestResult", "MMDTest", "hsic_test", "mmd_test"]
