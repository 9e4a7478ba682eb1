"""The types of what users give to learners."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike

from ..kernels import Kernel
from ..maps import FeatureMap

KernelArgument = Kernel | str | Callable[[Any, Any], float] | None
"""A kernel, text that describes one, a function of two rows, "precomputed", or None for the default."""
MapArgument = FeatureMap | str
"""A map, its name, or "auto"."""
MemoryArgument = int | str | None
"""Bytes, text like "2GB", or None."""
WeightArgument = ArrayLike | None
"""The weights of rows."""
PenaltyArgument = float | Sequence[float] | Literal["gcv", "loo", "holdout", "evidence", "auto"]
"""A number, several numbers, or the rule that chooses one."""
ClassWeights = Mapping[Any, float] | Literal["balanced"] | None
ClassWeightArgument = ClassWeights | Sequence[ClassWeights]
"""The weights of classes, for one task or for each of several."""
