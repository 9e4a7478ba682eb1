"""The contests of ``speed.py``: rows, our maps, the peers of each, and the operations that a map needs at least."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from accuracy import HOMOGENEOUS
from fourier import INDEPENDENT
from peers import additive_peers, fourier_peers, nystrom_peers, polynomial_peers

import mercer
from mercer.kernels import AdditiveChi2, Gaussian, Polynomial

OUTPUT_BYTES = 16_000_000
PARAMETER_BYTES = 400_000_000
"""A map whose matrices would be larger is left out."""
COSINE = 8
"""Fused operations that a cosine, a logarithm or an exponential takes at least."""

DENSITY = {123: 0.11, 784: 1.0, 5000: 0.01}
"""The sizes of rows, with the share of their entries that is not zero: binary, dense and sparse."""

FOURIER = {name: make for name, make in INDEPENDENT.items() if name.split()[-1] not in ("offset", "coupled", "halton")}
POLYNOMIAL = {name: make for name, make in HOMOGENEOUS.items() if name != "Compressed(ComplexSketch)"}
MATRICES = {"RandomFourier": 4, "OrthogonalFourier": 4, "QuasiFourier sobol": 4, "RandomMaclaurin": 1}
MATRICES |= {"ComplexSketch rademacher": 1, "NumPy Maclaurin": 8, "RBFSampler": 8}
"""Bytes that every pair of a column and a feature (times the degree, for polynomials) takes, or half of it."""


def sample_rows(n: int, d: int, dtype: Any, seed: int = 0) -> Any:
    """Seeded rows without negative entries; CSR where few entries are not zero."""
    rng, density = np.random.default_rng(seed), DENSITY.get(d, 1.0)
    if density == 1.0:
        X = rng.random(size=(n, d))
        return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(dtype)
    stored = round(density * d)
    columns = np.sort(np.argsort(rng.random(size=(n, d)), axis=1)[:, :stored], axis=1).astype(np.int32)
    values = np.ones(columns.size) if d == 123 else rng.random(size=columns.size)
    starts = np.arange(n + 1, dtype=np.int32) * stored
    return sp.csr_array((values.astype(dtype), columns.ravel(), starts), shape=(n, d))


@dataclass(frozen=True)
class Contest:
    """Maps and peers that are timed in turns on the same rows."""

    d: int
    width: int
    degree: int | None
    dtype: str
    maps: dict[str, Callable[[], Any]]
    peers: dict[str, Callable[[], Any]]

    @property
    def n(self) -> int:
        rows = OUTPUT_BYTES // (self.width * np.dtype(self.dtype).itemsize)
        return min(max(rows, 200), 20_000)

    def rows(self) -> Any:
        return sample_rows(self.n, self.d, self.dtype)

    def __str__(self) -> str:
        degree = "" if self.degree is None else f", p = {self.degree}"
        return f"d = {self.d}, D = {self.width}, {self.dtype}{degree}"


def _gamma(d: int) -> float:
    """The inverse of the squared norm of rows, about: phases of the order of 1."""
    return 1.0 / (round(DENSITY[d] * d) if d == 123 else d / 300.0 if d == 5000 else 1.0)


def _fits(name: str, d: int, width: int, degree: int | None) -> bool:
    if d == 5000 and name in ("OrthogonalFourier", "QuasiFourier sobol"):
        return False  # a QR of 5,000 columns, or a sequence of that many dimensions: minutes in fit
    return MATRICES.get(name, 0) * d * width * (degree or 1) <= PARAMETER_BYTES


def _ours(makers: dict[str, Any], kernel: Any, d: int, width: int, degree: int | None) -> dict[str, Callable[[], Any]]:
    return {
        name: partial(make, kernel, n_components=width, random_state=0)
        for name, make in makers.items()
        if _fits(name, d, width, degree)
    }


def contests(sizes: list[int], widths: list[int], degrees: list[int], dtypes: list[str]) -> Iterator[Contest]:
    """All of them, cheap families first."""
    for d in sizes:
        for dtype in dtypes:
            yield from (_fourier(d, width, dtype) for width in widths)
            yield from (_additive(d, steps, dtype) for steps in (2, 3))
            if (d, dtype) == (784, "float64") and 1024 in widths:
                yield _nystrom(d, 1024, dtype)
            yield from (_polynomial(d, width, degree, dtype) for degree in degrees for width in widths)


def _fourier(d: int, width: int, dtype: str) -> Contest:
    gamma = _gamma(d)
    maps = _ours(FOURIER, Gaussian(gamma), d, width, None)
    peers = {name: make for name, make in fourier_peers(gamma, width).items() if _fits(name, d, width, None)}
    return Contest(d, width, None, dtype, maps, peers)


def _polynomial(d: int, width: int, degree: int, dtype: str) -> Contest:
    maps = _ours(POLYNOMIAL, Polynomial(degree), d, width, degree)
    peers = {name: make for name, make in polynomial_peers(degree, width).items() if _fits(name, d, width, degree)}
    return Contest(d, width, degree, dtype, maps, peers)


def _additive(d: int, steps: int, dtype: str) -> Contest:
    width = d * (2 * steps - 1)
    maps = {"AdditiveMap": partial(mercer.AdditiveMap, AdditiveChi2(), n_components=width)}
    return Contest(d, width, None, dtype, maps, additive_peers(steps))


def _nystrom(d: int, width: int, dtype: str) -> Contest:
    maps = _ours({"Nystrom": mercer.Nystrom}, Gaussian(_gamma(d)), d, width, None)
    return Contest(d, width, None, dtype, maps, nystrom_peers(_gamma(d), width))


# -- the least work ----------------------------------------------------------------------------------------------------


def _transform(size: int) -> float:
    """Additions of a Walsh-Hadamard transform."""
    return size * math.log2(size) if size > 1 else 0.0


def _fft(size: int) -> float:
    """Operations of a transform of real numbers."""
    return 2.5 * size * math.log2(size) if size > 1 else 0.0


def _padded(size: int) -> int:
    return 1 << (size - 1).bit_length()


def _srht(d: int, degree: int, width: int) -> float:
    size = _padded(d)
    return degree * 2 * math.ceil(width / 2 / size) * _transform(size) + (degree - 1) * 3.0 * width


def _tensor(stored: float, degree: int, width: int) -> float:
    return degree * (stored + _fft(width)) + (degree - 1) * 3.0 * width


def _tree(sketch: Any, stored: float, d: int) -> float:
    operations, nodes = 0.0, sketch.parameters_.nodes
    for place, hashes in enumerate(nodes):
        width, child = sketch.construction_.node_width(place, len(nodes) + 1), hashes.buckets.shape[1]
        transforms = 2 if place == len(nodes) - 1 else 3  # all nodes but the root are transformed back
        operations += 2 * (stored if child == d else child) + transforms * _fft(width) + 3.0 * width
    return operations


def least_flops(name: str, sketch: Any, stored: float, d: int, degree: int | None) -> float:
    """Return the FLOPs that a map needs per row, where an operation outside of a matrix product counts twice.

    The time of ours may be less if rows have structure, or if signs allow sums to be shared.
    """
    D, p = sketch.n_components_, degree or 1
    blocks, size = math.ceil(D / 2 / _padded(d)), _padded(d)
    waves = 2.0 * COSINE * D
    kind = name.split()[0]
    if kind in ("RandomFourier", "OrthogonalFourier", "QuasiFourier"):
        return stored * D + waves
    if kind in ("StructuredFourier", "Fastfood"):
        return 2.0 * (3 if kind == "StructuredFourier" else 2) * blocks * _transform(size) + waves
    if kind == "Nystrom":
        landmarks = sketch.parameters_.whitening.shape[0]
        return 2.0 * d * landmarks + 2.0 * COSINE * landmarks + 2.0 * landmarks * D
    if kind == "AdditiveMap":
        return 2.0 * COSINE * stored * (D // d)
    operations: float = {
        "TensorSketch": lambda: _tensor(stored, p, D),
        "HadamardSketch": lambda: p * (stored + 2 * _transform(_padded(D) // 2)) + (p - 1) * 3.0 * D,
        "ComplexSketch": lambda: (
            p * stored * D / 2 + (p - 1) * 3.0 * D if name.endswith("rademacher") else _srht(d, p, D)
        ),
        "RandomMaclaurin": lambda: p * stored * D + (p - 1.0) * D,
        "TaylorSketch": lambda: sum(_srht(d, n, width) for n, width in sketch.degrees_.items() if n > 1) + D,
        "TreeSketch": lambda: _tree(sketch, stored, d),
        "Compressed(TensorSketch)": lambda: (
            _tensor(stored, p, sketch.map_.n_components_) + _transform(_padded(sketch.map_.n_components_))
        ),
    }[kind]()
    return 2.0 * operations
