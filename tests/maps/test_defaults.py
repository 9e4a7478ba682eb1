"""With default arguments, every map is useful on typical rows."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from mercer import Calibrated, Composed, Compressed, KernelClassifier, OrthogonalFourier, Stack, TensorProduct, maps
from mercer.kernels import AdditiveChi2, Gaussian, Polynomial

from ..tables import every_value

WRAPPERS = (Calibrated, Composed, Compressed, Stack, TensorProduct)
PLAIN = [getattr(maps, name) for name in maps.__all__ if name != "FeatureMap" and getattr(maps, name) not in WRAPPERS]


def default_maps():
    for cls in PLAIN:
        yield cls()
    yield Calibrated(OrthogonalFourier())
    yield Compressed(OrthogonalFourier())
    yield Stack(OrthogonalFourier(), maps.TensorSketch())
    yield TensorProduct(OrthogonalFourier(), maps.TensorSketch())
    yield Composed(OrthogonalFourier(), maps.AdditiveMap())


@every_value(
    map=[pytest.param(map, id=type(map).__name__) for map in default_maps()], load=[load_breast_cancer, load_wine]
)
def test_a_linear_model_on_default_features_beats_the_majority_class(map, load):
    X, y = load(return_X_y=True)
    scaler = MinMaxScaler(clip=True) if map.domain_is_non_negative else StandardScaler()
    machine = make_pipeline(scaler, map.set_params(random_state=0), RidgeClassifier())
    assert cross_val_score(machine, X, y, cv=3).mean() > np.bincount(y).max() / len(y) + 0.25


GAUSSIANS = ("RandomFourier", "OrthogonalFourier", "QuasiFourier", "StructuredFourier", "Fastfood", "Nystrom")
QUADRATICS = ("TensorSketch", "ComplexSketch", "HadamardSketch", "RandomMaclaurin")


def test_the_defaults():
    expected = {name: Gaussian("scale") for name in (*GAUSSIANS, "TaylorSketch")}
    expected |= {name: Polynomial(2, gamma="scale", coef0=1.0) for name in QUADRATICS}
    expected |= {"TreeSketch": Polynomial(4, gamma="scale", coef0=1.0), "AdditiveMap": AdditiveChi2()}
    for name, kernel in expected.items():
        assert inspect.signature(getattr(maps, name)).parameters["kernel"].default == kernel, name


def test_a_map_and_a_learner_agree_on_the_kernel_that_is_left_out():
    X = np.random.default_rng(0).normal(scale=3.0, size=(60, 4))
    learner = KernelClassifier(n_components=8, random_state=0, kernel=None, C=1.0, preparation=None).fit(
        X, np.arange(60) % 2
    )
    assert OrthogonalFourier(n_components=8, random_state=0).fit(X).kernel_ == learner.map_.kernel_
    assert learner.map_.kernel_.gamma == pytest.approx(1 / (4 * X.var()))


def test_a_kernel_that_is_given_keeps_its_number():
    X = np.random.default_rng(0).normal(scale=3.0, size=(60, 4))
    for kernel in (Gaussian(), "gaussian()"):
        assert OrthogonalFourier(kernel).fit(X).kernel_.gamma == 1.0
    assert OrthogonalFourier("gaussian").fit(X).kernel_ == OrthogonalFourier().fit(X).kernel_
