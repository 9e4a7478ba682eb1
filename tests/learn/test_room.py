"""The estimated memory of a fit, compared with the memory that it uses."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from mercer import RandomFourier, _core
from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier, KernelPCA, KernelRegressor
from mercer.learn.estimates.memory_estimates import Extent, parameter_bytes
from mercer.learn.features.feature_matrix import StreamedFeatures
from mercer.persist import train


def problem(n, d, k):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(n, d)) / np.sqrt(d)).astype(np.float32)  # long phases would be computed in float64
    return X, rng.integers(0, k, n)


def features(D):
    return RandomFourier(Gaussian(0.3), n_components=D, random_state=0)


RIDGE, HINGE = {"alpha": 1.0, "preparation": None}, {"C": 1.0, "preparation": None}
CASES = {
    "sums": (KernelRegressor, RIDGE, 12_000, 4, 2, 768),
    "path": (KernelRegressor, RIDGE | {"alpha": "gcv"}, 12_000, 4, 2, 768),
    "directions": (KernelPCA, {}, 12_000, 4, 2, 768),
    "rows": (KernelClassifier, HINGE | {"memory": 1, "max_iter": 1}, 150_000, 4, 6, 16),
    "factors": (KernelClassifier, HINGE | {"memory": 1, "max_iter": 2, "C": 10.0}, 12_000, 4, 8, 512),
    "wide": (KernelRegressor, RIDGE | {"solver": "wide", "memory": 1, "max_iter": 1}, 5000, 4, 2, 16_384),
    "columns": (KernelRegressor, RIDGE, 9000, 300, 2, 512),
}


@pytest.mark.skipif(not _core.AVAILABLE, reason="without the compiled core tiles need room of their own")
@pytest.mark.filterwarnings("ignore:after . steps the objective")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name == "wide" else ()) for name in CASES]
)
def test_estimates_are_near_what_is_taken(name):
    kind, given, n, d, k, D = CASES[name]
    X, y = problem(n, d, k)
    model = kind(map=features(D), n_jobs=2, **given)
    small = kind(map=features(16), n_jobs=2, **given).fit(X[:100], y[:100])  # what is loaded on first use
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    extent = Extent(D, n, len(small.classes_) if hasattr(small, "classes_") else 1, 4, 2)
    needed = model.bytes_needed(extent) + parameter_bytes(model.map_.parameters_, 4)
    assert 0.6 * peak < needed < 1.6 * peak, (needed / peak, needed, peak)


def test_the_state_of_rows_is_refused_when_classes_are_known(tmp_path):
    X, y = problem(20_000, 3, 10)
    model = KernelClassifier(map=features(16), max_iter=1, n_jobs=2, C=1.0, preparation=None)
    with pytest.raises(MemoryError, match=r"the map, the sums over its 16 features .* need at least 0\.0\d+ GiB"):
        train(model, X, y, output=tmp_path / "model", memory="8MB")
    with pytest.raises(MemoryError, match=r"the sums over 16 features and their solution need at least .* GiB; memory"):
        train(model, X, y, output=tmp_path / "model", memory="1MB")
    assert not list(tmp_path.iterdir())


def test_the_parameters_of_a_map_count(tmp_path):
    X, y = problem(50, 20_000, 2)
    with pytest.raises(MemoryError, match=r"the map, the sums over its 64 features .*; memory allows 0\.0\d+ GiB"):
        train(
            KernelRegressor(map=features(64), n_jobs=2, alpha=1.0, preparation=None),
            X,
            y,
            output=tmp_path / "model",
            memory="8MB",
        )
    train(
        KernelRegressor(map=features(64), n_jobs=2, alpha=1.0, preparation=None),
        X,
        y,
        output=tmp_path / "model",
        memory="25MB",
    )


@pytest.mark.filterwarnings("ignore:after . steps the objective")
def test_features_are_kept_only_if_memory_suffices(tmp_path, monkeypatch):
    X, y = problem(20_000, 3, 2)
    made = []
    original = StreamedFeatures.__init__
    monkeypatch.setattr(StreamedFeatures, "__init__", lambda self, *given: made.append(1) or original(self, *given))
    for memory, streamed in (("8MB", True), ("8GB", False)):
        made.clear()
        model = KernelClassifier(map=features(64), max_iter=1, n_jobs=2, C=1.0, preparation=None)
        train(model, X, y, output=tmp_path / "model", memory=memory)
        assert bool(made) == streamed
