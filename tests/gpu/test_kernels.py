"""Fused kernels against the references of their maps: the CUDA sources run on the CPU, through the same Python code."""

from __future__ import annotations

import re
import sys
from importlib import import_module

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer import _array, gpu
from mercer.gpu.device import ON_THE_PROCESSOR, Device
from mercer.gpu.kernels import compiler, radial_products
from mercer.gpu.kernels.compiler import SOURCES
from mercer.gpu.kernels.sketch_entries import sketch_entries
from mercer.gpu.kernels.thread_groups import ThreadGroup
from mercer.kernels import (
    AdditiveChi2,
    ArcCosine,
    Exponential,
    Gaussian,
    Hellinger,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    SkewedChi2,
)
from mercer.maps import executor, fitted_map, nystrom, row_checks

from . import emulation

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.skipif(emulation.COMPILER is None, reason="there is no C++ compiler"),
    pytest.mark.xdist_group("cuda"),  # each kernel is compiled once
]

matrix_waves = import_module("mercer.gpu.kernels.matrix_waves")  # its function has the same name
NARROW, WIDE = 40, 700
"""Columns that one warp transforms for several rows, and that a warp transforms for one."""
CASES = {
    "structured": (mercer.StructuredFourier, Gaussian(0.01), {}, NARROW, 256),
    "structured, wide": (mercer.StructuredFourier, Matern(1.5, length_scale=12.0), {}, WIDE, 2050),
    "structured, odd": (mercer.StructuredFourier, Gaussian(0.01), {}, NARROW, 301),
    "structured, several warps": (mercer.StructuredFourier, Gaussian(0.001), {}, 1500, 512),
    "fastfood": (mercer.Fastfood, Gaussian(0.01), {}, NARROW, 256),
    "fastfood, odd": (mercer.Fastfood, 2.0 * Gaussian(0.001), {}, WIDE, 2305),
    "hadamard": (mercer.HadamardSketch, Polynomial(3, gamma=0.05, coef0=0.4), {}, NARROW, 128),
    "hadamard, one thread for a row": (mercer.HadamardSketch, Polynomial(2, gamma=0.05), {}, NARROW, 64),
    "hadamard, odd": (mercer.HadamardSketch, Polynomial(2, gamma=0.05), {}, NARROW, 1333),
    "hadamard, several warps": (mercer.HadamardSketch, 0.5 * Polynomial(2, gamma=0.01, coef0=1.0), {}, WIDE, 8192),
    "srht": (mercer.ComplexSketch, Polynomial(3, gamma=0.05, coef0=0.4), {}, NARROW, 300),
    "srht, a power of two": (mercer.ComplexSketch, Polynomial(2, gamma=0.05), {}, 64, 129),
    "srht, wide": (mercer.ComplexSketch, 3.0 * Polynomial(2, gamma=0.01), {}, WIDE, 2048),
    "tensor": (mercer.TensorSketch, Polynomial(3, gamma=0.05, coef0=0.4), {}, NARROW, 128),
    "tensor, linear": (mercer.TensorSketch, Linear(), {}, NARROW, 64),
    "tensor, wide": (mercer.TensorSketch, 0.5 * Polynomial(2, gamma=0.01, coef0=1.0), {}, WIDE, 4096),
    "fourier": (mercer.RandomFourier, Laplacian(0.01), {}, NARROW, 64),
    "fourier, odd": (mercer.OrthogonalFourier, 2.0 * Gaussian(0.01), {}, NARROW, 65),
    "fourier, offsets": (mercer.RandomFourier, Gaussian(0.01), {"form": "offset"}, NARROW, 33),
    "maclaurin": (mercer.RandomMaclaurin, Exponential(0.02), {}, NARROW, 96),
    "maclaurin, exact terms": (mercer.RandomMaclaurin, Exponential(0.02), {"exact_terms": True}, NARROW, 96),
    "maclaurin, nested": (mercer.RandomMaclaurin, Polynomial(2).of(Polynomial(2, gamma=0.02)), {}, NARROW, 64),
    "maclaurin, frequencies": (mercer.RandomMaclaurin, Exponential(0.5).of(Gaussian(0.01)), {}, NARROW, 64),
    "additive": (mercer.AdditiveMap, 2.0 * AdditiveChi2(), {}, NARROW, 280),
    "additive, no frequency": (mercer.AdditiveMap, Hellinger(), {}, NARROW, NARROW),
    "taylor": (mercer.TaylorSketch, Exponential(0.02), {}, NARROW, 333),
    "taylor, about a point": (mercer.TaylorSketch, Gaussian(0.01), {}, NARROW, 256),
    "taylor, along a direction": (mercer.TaylorSketch, Polynomial(3, gamma=0.05, coef0=0.4), {}, NARROW, 300),
    "quasi": (mercer.QuasiFourier, Gaussian(0.01), {}, 8, 64),
}
RELU = {"relu": (mercer.RandomRelu, 2.0 * ArcCosine(), {}, NARROW, 65)}
LEFT_TO_THE_REFERENCE = {
    "a chart": (mercer.RandomFourier, SkewedChi2(1.5), {}, 8, 64),
    "in time": (mercer.TensorSketch, Polynomial(2), {"output": "time"}, 8, 64),
    "no power of two": (mercer.TensorSketch, Polynomial(2), {}, 8, 96),
    "too narrow": (mercer.ComplexSketch, Polynomial(2), {}, 8, 64),
    "independent signs": (mercer.ComplexSketch, Polynomial(2), {"projection": "rademacher"}, 8, 64),
}


@pytest.fixture
def launched(monkeypatch):
    """Treat tensors of the CPU as tensors on a GPU; return the names of the kernels that are launched."""
    names = []

    def launch(kernel, *arguments):
        names.append(kernel.name)
        emulation.launch(kernel, *arguments)

    monkeypatch.setattr(compiler, "launch", launch)
    monkeypatch.setattr(compiler, "is_available", lambda: True)
    for module in (fitted_map, executor, row_checks, nystrom, mercer.maps.estimator, mercer.kernels.base, _array):
        monkeypatch.setattr(module, "on_gpu", lambda X: isinstance(X, torch.Tensor))
    return names


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def fitted(case, table=CASES):
    make, kernel, options, d, width = table[case]
    X = rows(11, d) if kernel.takes_every_row else np.abs(rows(11, d))
    return make(kernel, n_components=width, random_state=3, **options).fit(X), X


@pytest.mark.parametrize("case", CASES)
def test_a_kernel_writes_what_the_reference_does(case, launched):
    features, X = fitted(case)
    expected = features.fitted_.apply(X.astype(np.float64))
    Z = features.transform(torch.from_numpy(X))
    assert launched
    assert Z.dtype == torch.float32
    error = np.linalg.norm(Z.numpy() - expected) / np.linalg.norm(expected)
    assert error < 2e-6
    np.testing.assert_allclose(Z.numpy(), expected, atol=5e-5 * np.abs(expected).max())


def test_rectified_products_are_written_in_place(launched, monkeypatch):
    features, X = fitted("relu", RELU)
    expected = features.transform(X.astype(np.float64))
    with monkeypatch.context() as without:
        without.setattr(type(features.construction_), "apply", None)
        Z = features.transform(torch.from_numpy(X))
    np.testing.assert_allclose(Z.numpy(), expected, atol=2e-6 * expected.max())
    assert (Z == 0).any()
    for wrong, message in ((np.nan, "row 7, column 3"), (-np.inf, "row 7, column 3"), (3e38, "features of row 7")):
        X[7, 3] = wrong
        with pytest.raises(ValueError, match=message):
            features.transform(torch.from_numpy(X))


def test_an_infinity_is_named_where_all_rectified_products_are_below_0(launched):
    X = rows(11, 4)
    features = mercer.RandomRelu(ArcCosine(), n_components=1, random_state=3).fit(X)
    X[7, 3] = -np.inf * np.sign(features.parameters_.directions[0, 3])
    with pytest.raises(ValueError, match="row 7, column 3"):
        features.transform(torch.from_numpy(X))


RADIAL = [Gaussian(0.02), *(Matern(nu, length_scale=9.0) for nu in (0.5, 1.5, 2.5))]


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
@pytest.mark.parametrize("columns", [3, 37])
def test_radial_kernels_by_differences(kernel, columns, launched, monkeypatch):
    """They agree with float64 even for close rows far from the origin; wide or precise landmarks are not supported."""
    monkeypatch.setattr(compiler, "runs_on", lambda place: True)
    device = Device(ON_THE_PROCESSOR)
    X = (5.0 * rows(300, columns) + 1000.0).astype(np.float32)
    landmarks = np.concatenate([X[7:140], X[:2] + np.float32(1e-2)]).astype(np.float64)
    found = kernel.tensor_values_at(landmarks, device, np.float32)(torch.from_numpy(X))
    assert launched == ["radial_values"]
    assert found.dtype == torch.float32
    expected = kernel.gram(X.astype(np.float64), landmarks)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=2e-7)
    np.testing.assert_array_equal(np.diag(found.numpy()[7:140]), np.ones(133))
    for others, dtype in ((landmarks + 1e-9, np.float32), (landmarks, np.float64), (np.ones((2, 129)), np.float32)):
        values = kernel.tensor_values_at(others, device, dtype)
        there = torch.ones((1, others.shape[1]), dtype=device.type_of(dtype))
        np.testing.assert_allclose(values(there).numpy(), kernel.gram(there.double().numpy(), others), atol=1e-6)
    assert launched == ["radial_values"]
    assert tuple(kernel.tensor_values_at(landmarks, device, np.float32)(torch.from_numpy(X[:0])).shape) == (0, 135)


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
@pytest.mark.parametrize(("columns", "outputs"), [(1, 1), (3, 2), (16, 8)])
def test_products_of_kernel_values_that_are_not_stored(kernel, columns, outputs, launched, monkeypatch):
    """Sums over points in sections of several loads, the last one partly filled; both for rows and for landmarks."""
    monkeypatch.setattr(compiler, "runs_on", lambda place: True)
    device, X, landmarks = Device(ON_THE_PROCESSOR), rows(530, columns) + 100.0, rows(270, columns, 1) + 100.0
    values = kernel.unstored_values_at(landmarks, device, np.float32, outputs)(torch.from_numpy(X))
    gram = kernel.gram(X.astype(np.float64), landmarks.astype(np.float64))
    for blocks in (1, 2, 2048):
        monkeypatch.setattr(radial_products, "ENOUGH_BLOCKS", blocks)
        for block, exact in ((values, gram), (values.T, gram.T)):
            W = rows(exact.shape[1], outputs, 2)
            found = block @ torch.from_numpy(W)
            assert found.dtype == torch.float32
            np.testing.assert_allclose(found.numpy(), exact @ W, atol=1e-6 * np.abs(exact).sum(axis=1).max())
    assert set(launched) == {"radial_products"}
    none = kernel.unstored_values_at(landmarks, device, np.float32, outputs)(torch.from_numpy(X[:0]))
    assert tuple((none @ torch.zeros((270, outputs))).shape) == (0, outputs)
    np.testing.assert_array_equal((none.T @ torch.zeros((0, outputs))).numpy(), np.zeros((270, outputs)))


def test_kernel_values_are_stored_for_wide_rows_and_products(launched, monkeypatch):
    monkeypatch.setattr(compiler, "runs_on", lambda place: True)
    kernel, device = Gaussian(0.1), Device(ON_THE_PROCESSOR)
    cases = (rows(5, 17), np.float32, 1), (rows(5, 3), np.float32, 9), (rows(5, 3), np.float64, 1)
    assert [kernel.unstored_values_at(landmarks, device, *how) for landmarks, *how in cases] == [None, None, None]
    assert Polynomial(2).unstored_values_at(rows(5, 3), device, np.float32, 1) is None


@pytest.mark.parametrize("outputs", [1, 3])
def test_machines_whose_kernel_values_are_not_stored(outputs, launched, monkeypatch):
    """They agree with machines on stored values, also for rows with curvature only and for several tiles."""
    X = rows(600, 3)
    y = np.sin(X @ rows(3, outputs + 1, 1)).argmax(axis=1)
    model = mercer.KernelClassifier(
        Gaussian(0.5), map="nystrom", solver="landmarks", n_components=128, C=1.0, preparation=None, tol=1e-5,
        random_state=0, device=ON_THE_PROCESSOR,
    )  # fmt: skip
    stored = clone(model).fit(X, y)
    assert "radial_products" not in launched
    monkeypatch.setattr(compiler, "runs_on", lambda place: True)
    monkeypatch.setattr("mercer.learn.features.device_features.UNSTORED_ROWS", 400)
    model.set_params(memory=1).fit(X, y)
    assert "radial_products" in launched
    np.testing.assert_allclose(model.objective_, stored.objective_, rtol=1e-5)
    # Decision values are off by at most the root of twice the gap, and so are those of the other machine.
    apart = np.sqrt(2e-5 * model.objective_) + np.sqrt(2e-5 * stored.objective_)
    np.testing.assert_allclose(model.decision_function(X), stored.decision_function(X), atol=apart)


def wrapped():
    fourier = mercer.RandomFourier(Gaussian(0.01), n_components=64)
    yield mercer.Calibrated(fourier, n_components=64, random_state=0)
    yield mercer.Compressed(mercer.HadamardSketch(Polynomial(2, gamma=0.05)), n_components=32, random_state=0)
    yield mercer.Compressed(fourier, n_components=16, method="tefm-s", random_state=0)
    yield mercer.Stack(fourier, mercer.HadamardSketch(Polynomial(2, gamma=0.05)), n_components=128, random_state=0)


@pytest.mark.parametrize("features", list(wrapped()), ids=lambda features: type(features).__name__)
def test_maps_around_others_take_their_kernels(features, launched, monkeypatch):
    X = rows(37, NARROW)
    Z = features.fit(X).transform(torch.from_numpy(X))
    assert launched
    np.testing.assert_allclose(Z.numpy(), features.transform(X), atol=2e-5)
    monkeypatch.setattr("mercer._tiles.DEVICE_BYTES", 8)  # the smallest tiles
    np.testing.assert_allclose(features.transform(torch.from_numpy(X)), Z, atol=1e-6)


def test_a_map_inside_without_a_kernel_leaves_all_to_the_reference(launched):
    X = np.abs(rows(20, 8))
    features = mercer.Calibrated(mercer.RandomFourier(SkewedChi2(1.5)), n_components=64, random_state=0).fit(X)
    np.testing.assert_allclose(features.transform(torch.from_numpy(X)), features.transform(X), atol=1e-5)
    assert not launched


def test_a_gpu_without_memory_gets_smaller_tiles(launched, monkeypatch):
    features, X = fitted("in time", LEFT_TO_THE_REFERENCE)
    X = np.tile(X, (10, 1))
    expected, apply, found = features.transform(X), type(features.construction_).apply, []

    def apply_few(self, params, tile):
        if len(tile) > 30:
            raise torch.OutOfMemoryError("no memory")
        found.append(len(tile))
        return apply(self, params, tile)

    monkeypatch.setattr(type(features.construction_), "apply", apply_few)
    with pytest.warns(UserWarning, match="the GPU ran out of memory: continuing with"):
        Z = features.transform(torch.from_numpy(X))
    np.testing.assert_allclose(Z, expected, atol=1e-5)
    assert sum(found) == len(X)


def test_a_domain_is_asked_on_the_device(launched):
    X = np.abs(rows(30, 8))
    features = mercer.AdditiveMap(AdditiveChi2(), n_components=40).fit(X)
    np.testing.assert_allclose(features.transform(torch.from_numpy(X)), features.transform(X), atol=1e-5)
    X[4, 2] = -1.0
    with pytest.raises(ValueError, match="row 4, column 2 has -1"):
        features.transform(torch.from_numpy(X))


@pytest.mark.parametrize("whiten", [True, False])
@pytest.mark.parametrize("kernel", [Gaussian(0.02), 2.0 * Matern(1.5, length_scale=5.0), Polynomial(2, gamma=0.05)])
def test_landmarks_stay_on_the_device(kernel, whiten, launched, monkeypatch):
    X = rows(60, NARROW)
    features = mercer.Nystrom(kernel, n_components=30, whiten=whiten, random_state=0).fit(X)
    expected = features.transform(X.astype(np.float64))
    monkeypatch.setattr(type(features.kernel_), "values_at", None)
    for dtype, tolerance in ((np.float32, 2e-6), (np.float64, 1e-9)):
        Z = features.transform(torch.from_numpy(X.astype(dtype)))
        assert Z.numpy().dtype == dtype
        np.testing.assert_allclose(Z, expected, atol=tolerance * np.abs(expected).max())
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3, column 1"):
        features.transform(torch.from_numpy(X))


@pytest.mark.parametrize("case", LEFT_TO_THE_REFERENCE)
def test_what_has_no_kernel_is_left_to_the_reference(case, launched):
    features, X = fitted(case, LEFT_TO_THE_REFERENCE)
    Z = features.transform(torch.from_numpy(X))
    assert not launched
    np.testing.assert_allclose(Z.numpy(), features.transform(X), atol=1e-5)


@pytest.mark.parametrize("case", ["structured", "hadamard", "srht", "tensor", "fourier"])
def test_float64_rows_are_left_to_the_reference(case, launched):
    features, X = fitted(case)
    Z = features.transform(torch.from_numpy(X.astype(np.float64)))
    assert not launched
    np.testing.assert_allclose(Z.numpy(), features.transform(X.astype(np.float64)), atol=1e-11)


@pytest.mark.parametrize("case", ["structured", "fastfood", "fourier", "fourier, offsets"])
def test_rows_with_long_phases_are_mapped_in_float64(case, launched):
    features, X = fitted(case)
    X[[2, 5]] *= 1000.0
    Z = features.transform(torch.from_numpy(X))
    np.testing.assert_allclose(Z.numpy(), features.transform(X.astype(np.float64)), atol=2e-6)


@pytest.mark.parametrize(
    "case", ["structured", "fastfood", "hadamard", "srht", "tensor", "fourier", "additive", "taylor"]
)
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_named(case, wrong, launched):
    features, X = fitted(case)
    X[7, 3] = wrong
    with pytest.raises(ValueError, match=r"NaN or infinity\.\nThe first is in row 7, column 3"):
        features.transform(torch.from_numpy(X))


@pytest.mark.parametrize("case", ["hadamard", "srht", "tensor", "taylor"])
def test_rows_that_overflow_are_named(case, launched):
    features, X = fitted(case)
    X[9] *= 1e20
    with pytest.raises(ValueError, match="the features of row 9 overflow"):
        features.transform(torch.from_numpy(X))


def test_a_row_of_which_only_the_scale_overflows_is_named(launched):
    X = rows(11, NARROW) + np.float32(2.0)
    features = mercer.TaylorSketch(Polynomial(3, gamma=0.05), n_components=300, random_state=3).fit(X)
    vector = features.parameters_.vector
    X[9] = 1e15 * vector / np.linalg.norm(vector)  # most of whose digits are lost next to the vector
    with pytest.raises(ValueError, match="the features of row 9 overflow"):
        features.transform(torch.from_numpy(X))


@pytest.mark.parametrize("case", ["structured", "hadamard", "srht", "tensor", "fourier", "additive", "taylor"])
def test_rows_and_features_may_have_gaps_in_memory(case, launched):
    features, X = fitted(case)
    expected = features.transform(torch.from_numpy(X))
    beside = torch.full((len(X), X.shape[1] + 3), float("nan"))
    beside[:, : X.shape[1]] = torch.from_numpy(X)
    assert torch.equal(features.transform(beside[:, : X.shape[1]]), expected)
    assert torch.equal(features.transform(torch.from_numpy(np.asfortranarray(X))), expected)
    out = torch.full((features.n_components_, len(X)), float("nan")).T
    assert torch.equal(features.transform(torch.from_numpy(X), out=out), expected)


@pytest.mark.parametrize("case", ["structured", "fastfood", "hadamard", "srht", "tensor", "fourier", "additive"])
def test_features_may_start_between_two_pairs(case, launched):
    """A GPU stores pairs only at multiples of their size."""
    features, X = fitted(case)
    expected, width = features.transform(torch.from_numpy(X)), features.n_components_
    out = torch.full((len(X) * width + 1,), float("nan"))[1:].view(len(X), width)
    assert out.data_ptr() % 8 == 4
    assert features.transform(torch.from_numpy(X), out=out) is out
    assert torch.equal(out, expected)


def test_gradients_are_those_of_the_reference(launched):
    features, X = fitted("structured")
    rows = torch.from_numpy(X).requires_grad_()
    with torch.no_grad():
        features.transform(rows)
    assert launched
    launched.clear()
    features.transform(rows).sum().backward()
    assert not launched
    ones = np.ones((1, features.n_components_))
    expected = features.fitted_.pullback(X.astype(np.float64), ones)
    np.testing.assert_allclose(rows.grad.numpy(), expected, atol=1e-4)


def test_a_kernel_without_memory_gets_fewer_rows(launched, monkeypatch):
    features, X = fitted("fourier")
    X = np.tile(X, (20, 1))
    expected, counts = features.transform(X), []

    def scarce(rows, matrix, out):
        if len(rows) > 60:
            raise torch.OutOfMemoryError("no memory")
        counts.append(len(rows))
        gpu.products.product(rows, matrix, out)

    monkeypatch.setattr(matrix_waves, "product", scarce)
    with pytest.warns(UserWarning, match="the GPU ran out of memory: continuing with 110 rows") as told:
        Z = features.transform(torch.from_numpy(X))
    assert len(told) == 1
    assert counts == [55] * 4
    np.testing.assert_allclose(Z.numpy(), expected, atol=1e-5)


def test_a_device_with_little_shared_memory_is_left_to_the_reference(launched, monkeypatch):
    monkeypatch.setattr(compiler, "most_shared_bytes", lambda place: 10_000)
    for case in ("structured", "fastfood", "hadamard", "srht", "tensor"):
        features, X = fitted(case)
        np.testing.assert_allclose(features.transform(torch.from_numpy(X)), features.transform(X), atol=1e-5)
    assert not launched


def test_a_missing_compiler_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda", None)
    with pytest.warns(UserWarning, match="these need the package cuda-bindings"):
        assert not compiler.is_available.__wrapped__()


def test_a_single_row(launched):
    for case in CASES:
        features, X = fitted(case)
        expected = features.transform(torch.from_numpy(X))[:1]
        np.testing.assert_allclose(features.transform(torch.from_numpy(X[:1])), expected, atol=1e-6)


@pytest.mark.parametrize("name", gpu.PRECISIONS)
def test_precisions(name, launched):
    features, X = fitted("fourier")
    with gpu.precision(name):
        Z = features.transform(torch.from_numpy(X))
    assert Z.dtype == (torch.bfloat16 if name == "bfloat16" else torch.float32)
    np.testing.assert_allclose(Z.float().numpy(), features.transform(X), atol=5e-6 if name != "bfloat16" else 1e-3)


@pytest.mark.parametrize("case", ["structured, odd", "hadamard", "maclaurin", "a chart"])
def test_features_in_half_the_bytes(case, launched, monkeypatch):
    """They are computed in tiles that stay in the cache, by kernels and by references."""
    features, X = fitted(case, CASES | LEFT_TO_THE_REFERENCE)
    monkeypatch.setattr(executor, "CACHED_BYTES", 4 * 4 * features.n_components_)
    expected = features.transform(torch.from_numpy(X)).bfloat16()
    with gpu.precision("bfloat16"):
        Z = features.transform(torch.from_numpy(X))
        out = torch.empty_like(Z)
        assert features.transform(torch.from_numpy(X), out=out) is out
        with pytest.raises(ValueError, match=r"dtype torch\.bfloat16, found .* and torch\.float32"):
            features.transform(torch.from_numpy(X), out=out.float())
        assert features.transform(torch.from_numpy(X.astype(np.float64))).dtype == torch.float64
        assert features.transform(X).dtype == np.float32
    assert Z.dtype == torch.bfloat16
    assert torch.equal(Z, expected)
    assert torch.equal(out, expected)
    X[2, 3] = np.nan  # in the first tile
    with gpu.precision("bfloat16"), pytest.raises(ValueError, match="row 2, column 3"):
        features.transform(torch.from_numpy(X))


def test_an_unknown_precision():
    with pytest.raises(ValueError, match=r"precision must be one of .*, found 'half'"):
        gpu.precision("half").__enter__()


def test_split_products_add_up():
    left, right = torch.from_numpy(rows(20, 50)), torch.from_numpy(rows(50, 30, seed=1))
    out = torch.empty(20, 30)
    with gpu.precision("tf32x3"):
        gpu.products.product(left, right, out)
    exact = left.double() @ right.double()
    assert float((out - exact).norm() / exact.norm()) < 1e-6


def test_signs_are_multiplied_in_float32():
    X, signs = (
        torch.from_numpy(rows(20, 50)),
        torch.from_numpy(np.where(rows(30, 50, seed=2) > 0, 1, -1).astype(np.int8)),
    )
    exact = X.double() @ signs.T.double()
    assert float((gpu.products.sign_product(X, signs) - exact).norm() / exact.norm()) < 3e-7


def test_places_of_a_sketch_are_added_up_by_one_thread():
    places = np.array([[3, 1, 3, 0, 3, 1], [0, 0, 0, 0, 0, 5]], dtype=np.int32)
    table = sketch_entries(places, np.array([[True, False, False, True, False, False]] * 2))
    assert table.turns == 5
    columns = (table.entries & 0x7FFFFFFF).tolist()
    assert columns == [0, 1, 3, 2, 5, 4, 0, 5, 1, 2, 3, 4]
    assert table.places.tolist() == [3, 1, 0, 3, 1, 3, 0, 5, 0, 0, 0, 0]
    assert (table.entries < 0).tolist() == [column in (0, 3) for column in columns]
    assert table.starts.tolist() == [[0, 3, 5, 6, 6, 6], [6, 8, 9, 10, 11, 12]]


@pytest.mark.parametrize("size", [32, 64, 256, 512, 1024, 4096, 8192, 16384])
def test_words_hold_the_flags_of_a_threads_elements(size):
    group = ThreadGroup.of(size)
    flags = rows(1, size)[0] > 0
    words, last, held = group.words(flags).view(np.uint32), group.last_words(flags).view(np.uint32), 1 << group.held
    for thread in (0, group.threads - 1):
        for register in (0, 1, held - 1):
            assert (words[thread] >> register) & 1 == flags[thread * held + register]
            assert (last[thread] >> register) & 1 == flags[register * group.threads + thread]


def test_sizes_without_a_group():
    assert ThreadGroup.of(16) is None
    assert ThreadGroup.of(2**15) is None


def test_every_source_is_launched_by_a_file_of_its_own():
    sources = {path.stem for path in SOURCES.glob("*.cu")}
    launched = {
        name for path in SOURCES.parent.glob("*.py") for name in re.findall(r'[kK]ernel\("(\w+)"', path.read_text())
    }
    assert sources == launched
