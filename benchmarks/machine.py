"""The machine and its limits, with which measured times are compared."""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mercer import _core

PACKAGES = ("mercer", "numpy", "scipy", "scikit-learn", "threadpoolctl", "pyrfm", "xgpr")
GEMM_SIZE = 768


class Rates(NamedTuple):
    """FLOPs a second of a matrix product, and bytes a second, written to an array just allocated and read."""

    flops: float
    write: float
    read: float

    def least_seconds(self, flops: float, written: float, read: float) -> tuple[float, str]:
        """Return the least time that any program needs, and what limits it."""
        seconds = {"FLOPs": flops / self.flops, "bytes": written / self.write + read / self.read}
        bound = max(seconds, key=lambda name: seconds[name])
        return seconds[bound], bound


def seconds_of(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    del result  # memory is released outside of the measured time
    return seconds


class Probe:
    """The machine's rates for one type and one size of output, measured repeatedly between other timings."""

    def __init__(self, dtype: Any, output_bytes: int):
        rng = np.random.default_rng(0)
        self._left, self._right = (rng.normal(size=(GEMM_SIZE, GEMM_SIZE)).astype(dtype) for _ in range(2))
        self._source = np.ones(output_bytes // np.dtype(dtype).itemsize, dtype=dtype)
        self._times: list[tuple[float, float, float]] = []

    def measure(self) -> None:
        """Measure each rate once more, with BLAS on one thread."""
        works = (
            lambda: self._left @ self._right,
            lambda: np.empty_like(self._source).fill(1),
            lambda: self._source.max(),
        )
        self._times.append(tuple(seconds_of(work) for work in works))

    @property
    def rates(self) -> Rates:
        # The best time instead of the median, because it serves as a limit.
        gemm, write, read = (min(column) for column in zip(*self._times, strict=True))
        size = self._source.nbytes
        return Rates(2.0 * GEMM_SIZE**3 / gemm, size / write, size / read)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    asked = ("git", "describe", "--always", "--dirty", "--abbrev=12")
    try:
        return subprocess.run(asked, cwd=Path(__file__).parent, capture_output=True, text=True).stdout.strip() or None
    except OSError:
        return None


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def facts() -> dict[str, Any]:
    """Versions, commit, instruction set and processor."""
    return {
        "commit": _commit(),
        "isa": _core.ISA,
        "processor": _processor(),
        "python": sys.version.split()[0],
        "versions": {package: found for package in PACKAGES if (found := _version(package))},
    }
