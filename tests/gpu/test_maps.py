"""Every map computes the same features on a GPU as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tables import obeying

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU that torch can use"),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", obeying())
def test_features_are_those_of_the_processor(row, dtype):
    X = row.sample(300).astype(dtype)
    for width in (32, 512):
        features = row(width, random_state=0).fit(X)
        expected = features.transform(X.astype(np.float64))
        Z = features.transform(torch.from_numpy(X).cuda())
        assert Z.device.type == "cuda"
        assert str(Z.dtype) == f"torch.{dtype}"
        error = np.linalg.norm(Z.cpu().numpy() - expected) / np.linalg.norm(expected)
        assert error < (1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("row", obeying())
def test_cupy_arrays_are_returned_as_such(row):
    cupy = pytest.importorskip("cupy")
    X = row.sample(40).astype(np.float32)
    features = row(64, random_state=0).fit(X)
    expected = features.transform(X.astype(np.float64))
    Z = features.transform(cupy.asarray(X))
    assert isinstance(Z, cupy.ndarray)
    assert np.linalg.norm(Z.get() - expected) / np.linalg.norm(expected) < 1e-5
