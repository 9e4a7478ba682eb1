"""Kernel values at landmarks, in operators and by the kernels themselves."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from mercer import Nystrom, export
from mercer.kernels import (
    AdditiveChi2,
    ArcCosine,
    Cauchy,
    Exponential,
    Gaussian,
    Hellinger,
    Intersection,
    JensenShannon,
    Laplacian,
    Linear,
    Maclaurin,
    Matern,
    Polynomial,
    SkewedChi2,
    SkewedIntersection,
    VovkInfinite,
    VovkReal,
)
from mercer.learn import KernelKMeans, KernelNovelty

from ..tables import sample_rows
from .running import assert_agree, run

KERNELS = [
    Linear(),
    Polynomial(1, coef0=0.3),
    Polynomial(5, gamma=0.5, coef0=1.0),
    Exponential(0.8),
    VovkReal(1),
    VovkReal(5),
    VovkInfinite(),
    Maclaurin((1.0, 0.0, 0.5, 2.0)),
    Gaussian(0.7),
    Gaussian((0.1, 0.2, 0.3, 4.0, 5.0)),
    Laplacian(0.7),
    Laplacian((0.1, 0.2, 0.3, 4.0, 5.0)),
    Cauchy(0.7),
    Cauchy((0.1, 0.2, 0.3, 4.0, 5.0)),
    Matern(0.5),
    Matern(1.5, length_scale=(1.0, 2.0, 3.0, 0.5, 0.2)),
    Matern(2.5, length_scale=2.0),
    SkewedChi2(1.5),
    SkewedIntersection(0.8),
    AdditiveChi2(),
    Intersection(),
    JensenShannon(),
    Hellinger(),
    Laplacian(2.0) + 0.5 * Linear(),
    Gaussian(0.5) * (2.0 * Polynomial(2)),
    Polynomial(2, coef0=0.5).of(Gaussian(0.5)),
    (Linear() + 0.5 * Polynomial(2)).of(Matern(0.5)),
    (Linear() * Polynomial(2)).of(AdditiveChi2()),
    (Gaussian(0.5) + Matern(1.5)).of_distance(AdditiveChi2()),
    Gaussian(0.5).of_distance(JensenShannon() + Hellinger()),
    Gaussian(0.5).of_distance(Gaussian(0.5)),
    Gaussian(0.5).of_distance(Polynomial(2).of(Laplacian(1.0))),
]


def histograms(n, seed=0):
    """Rows without negative values, with zeros in both samples and in one of them."""
    X = np.abs(sample_rows(n, 5, seed))
    X[::3, 1] = 0.0
    X[:, 3] *= seed == 0
    return X


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_at_landmarks(kernel, dtype):
    X, new = (histograms(n, seed).astype(dtype) for n, seed in ((12, 0), (9, 1)))
    map = Nystrom(kernel, n_components=12, whiten=False, random_state=0).fit(X)
    assert_agree(run(map, new, dtype)["features"], map.transform(new), dtype)
    at_landmarks = run(map, X, dtype)["features"]  # where distances are 0
    np.testing.assert_allclose(at_landmarks, map.transform(X), rtol=0.0, atol=1e-6 if dtype == "float32" else 2e-7)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_what_features_leave_of_a_row(kernel):
    X, new = histograms(40), histograms(9, seed=1)
    model = KernelNovelty(map=Nystrom(kernel, n_components=6, random_state=0), scale=None, missing="error").fit(X)
    assert_agree(run(model, new, "float64")["scores"], model.score_samples(new), "float64")


def test_distances_of_clusters_among_many_landmarks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    model = KernelKMeans("gaussian(0.4)", map="Nystrom", n_components=512, n_clusters=3, n_init=1, random_state=0).fit(
        X
    )
    assert not model.map_.whiten
    found = run(model, X[:50], "float64")
    np.testing.assert_array_equal(found["label"], model.predict(X[:50]))
    assert_agree(found["distances"], model.transform(X[:50]), "float64")


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Matern(0.7), r"Matern\(nu=0.7\) needs Bessel functions"),
        (ArcCosine(), r"the kernel ArcCosine\(\) has no formula"),
        (Maclaurin(lambda n: 0.5**n), "are a function, so its series is infinite"),
        (ArcCosine() + Gaussian(1.0), r"the kernel ArcCosine\(\) has no formula"),
        (lambda x, y: float(x @ y), "Pairwise.* has no formula"),
    ],
    ids=["Bessel", "angles", "endless", "sum", "function"],
)
def test_kernels_without_operators_are_refused(kernel, words):
    map = Nystrom(kernel, n_components=4, random_state=0).fit(histograms(10))
    with pytest.raises(export.NotExportedError, match=words):
        export.onnx(map)


def test_other_models_are_refused():
    with pytest.raises(export.NotExportedError, match="Ridge is not exported: expected a feature map"):
        export.onnx(Ridge().fit(np.eye(2), np.arange(2.0)))
