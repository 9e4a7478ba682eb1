"""Maps of other packages for the same kernels: always scikit-learn, and others if they are installed."""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.kernel_approximation import AdditiveChi2Sampler, Nystroem, PolynomialCountSketch, RBFSampler


class NumPyMaclaurin:
    """Random Maclaurin features of <x, y>^degree, written in the simplest way: a product with signs for each degree."""

    def __init__(self, degree: int, n_components: int):
        self.degree, self.n_components = degree, n_components

    def fit(self, X: Any) -> NumPyMaclaurin:
        rng, shape = np.random.default_rng(0), (self.degree, X.shape[1], self.n_components)
        self.signs = rng.integers(0, 2, size=shape, dtype=np.int8).astype(X.dtype) * X.dtype.type(2) - X.dtype.type(1)
        return self

    def transform(self, X: Any) -> Any:
        Z = X @ self.signs[0]
        for signs in self.signs[1:]:
            Z *= X @ signs
        Z /= np.sqrt(X.dtype.type(self.n_components))
        return Z


class XgprFourier:
    """The structured Fourier features of the package xGPR, for dense rows."""

    def __init__(self, generator: Any, gamma: float, n_components: int):
        self.generator, self.gamma, self.n_components = generator, gamma, n_components

    def fit(self, X: Any) -> XgprFourier:
        if sp.issparse(X):
            raise TypeError("xGPR takes dense rows alone")
        width = np.array([np.sqrt(2.0 * self.gamma)])
        self.features = self.generator(self.n_components, width, X.shape[1], "RBF", "cpu", random_seed=0, verbose=False)
        return self

    def transform(self, X: Any) -> Any:
        return self.features.predict(X)


def _imported(name: str, attribute: str) -> Any:
    """Return a part of a package, or None if it is not installed or another package has its name."""
    with contextlib.redirect_stdout(io.StringIO()):  # xGPR greets
        try:
            return getattr(importlib.import_module(name), attribute)
        except (ImportError, AttributeError):
            return None


XGPR = _imported("xGPR", "KernelFGen")
PYRFM = {name: _imported("pyrfm.random_feature", name) for name in ("FastFood", "TensorSketch")}
ABSENT = [name for name, found in {"xGPR": XGPR, "pyrfm.random_feature": PYRFM["FastFood"]}.items() if found is None]

Maker = Callable[[], Any]


def fourier_peers(gamma: float, width: int) -> dict[str, Maker]:
    peers: dict[str, Maker] = {
        "RBFSampler": partial(RBFSampler, gamma=gamma, n_components=width, random_state=0),
    }
    if XGPR is not None:
        peers["xGPR"] = partial(XgprFourier, XGPR, gamma, width)
    if PYRFM["FastFood"] is not None:
        peers["pyrfm FastFood"] = partial(PYRFM["FastFood"], n_components=width, gamma=gamma, random_state=0)
    return peers


def polynomial_peers(degree: int, width: int) -> dict[str, Maker]:
    peers: dict[str, Maker] = {
        "PolynomialCountSketch": partial(PolynomialCountSketch, degree=degree, n_components=width, random_state=0),
        "NumPy Maclaurin": partial(NumPyMaclaurin, degree, width),
    }
    if PYRFM["TensorSketch"] is not None:
        peers["pyrfm TensorSketch"] = partial(PYRFM["TensorSketch"], n_components=width, degree=degree, random_state=0)
    return peers


def additive_peers(steps: int) -> dict[str, Maker]:
    return {"AdditiveChi2Sampler": partial(AdditiveChi2Sampler, sample_steps=steps)}


def nystrom_peers(gamma: float, width: int) -> dict[str, Maker]:
    return {"Nystroem": partial(Nystroem, gamma=gamma, n_components=width, random_state=0)}
