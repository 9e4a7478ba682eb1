"""Products, factors, kernel values and transfers on a device, against float64 on the processor."""

import threading

import numpy as np
import pytest

from mercer.gpu.device import Device, DeviceTiles
from mercer.gpu.left_out import LeftOutErrors
from mercer.gpu.precision import full_precision
from mercer.gpu.split_products import SUMMED_ROWS, Halves, add_second_moments, mirrored, split_product
from mercer.gpu.transfers import RowCopies, ahead, block_rows, sent_blocks
from mercer.gpu.triangular import SMALL, DeviceTriangular
from mercer.kernels import Cauchy, Exponential, Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.learn.solvers.ridge import LeaveOneOut, Path
from mercer.learn.statistics import Moments

from .devices import on_devices, torch

KERNELS = [
    Gaussian(0.3),
    Gaussian((0.1, 0.5, 1.0, 0.2)),
    Matern(0.5),
    Matern(1.5, length_scale=2.0),
    Matern(2.5),
    Matern(3.5),
    Linear(),
    Polynomial(3, gamma=0.5, coef0=1.0),
    Exponential(0.2),
    Laplacian(0.3),
    Cauchy(0.3),
    0.7 * Gaussian(0.3) + Linear(),
    Gaussian(0.3) * Polynomial(2, coef0=1.0),
]


def rows(n=60, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@on_devices
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 2e-5), (np.float64, 1e-13)])
def test_kernel_values_at_landmarks(device, kernel, dtype, error):
    X, landmarks = rows().astype(dtype), rows(20, seed=1)
    landmarks[:5] = X[:5]  # at which distances are 0
    expected = kernel(X.astype(np.float64), landmarks)
    found = kernel.tensor_values_at(landmarks, device, dtype)(device.sent(X))
    assert found.dtype == device.type_of(dtype)
    np.testing.assert_allclose(device.received(found), expected, rtol=error, atol=error * np.abs(expected).max())


@on_devices
def test_kernel_values_far_from_the_origin(device):
    X = rows() + 1e6
    found = Matern(0.5).tensor_values_at(X, device, np.float64)(device.sent(X))
    np.testing.assert_array_equal(device.received(found).diagonal(), 1.0)
    np.testing.assert_allclose(device.received(found), Matern(0.5)(X), atol=1e-9)


@on_devices
def test_wide_rows_in_float32_are_not_put_into_products_of_float32(device):
    X = (1e4 * rows()).astype(np.float32)
    found = device.received(Gaussian(1.0).tensor_values_at(X.astype(np.float64), device, np.float32)(device.sent(X)))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.eye(len(X)), atol=1e-6)


@on_devices
@pytest.mark.parametrize("scale", [1e-20, 1.0, 3e15])
def test_split_products_are_as_accurate_as_float32(device, scale):
    rng = np.random.default_rng(0)
    A = (scale * rng.normal(size=(200, 300)) * 10.0 ** rng.uniform(-4, 0, size=(200, 300))).astype(np.float32)
    B = rng.normal(size=(300, 70)).astype(np.float32)
    exact, size = A.astype(float) @ B.astype(float), np.abs(A).astype(float) @ np.abs(B).astype(float)
    found = split_product(device, Halves.of(device, device.sent(A)), Halves.of(device, device.sent(B)))
    assert np.abs(device.received(found) - exact).max() <= 2.0**-19 * size.max()
    assert (np.abs(device.received(found) - exact) / size).mean() < 2.0**-22


@on_devices
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exact", [False, True])
def test_second_moments(device, dtype, exact, monkeypatch):
    monkeypatch.setattr("mercer.gpu.split_products.SUMMED_ROWS", 64)
    monkeypatch.setattr("mercer.gpu.split_products.CHAINED_ROWS", 24)
    Z = np.random.default_rng(0).normal(size=(500, 37)).astype(dtype)
    sums = device.sent(np.eye(37))
    add_second_moments(device, device.sent(Z), sums, exact)
    expected = Z.astype(float).T @ Z + np.eye(37)
    error = np.abs(device.received(mirrored(sums)) - expected).max() / np.abs(expected).max()
    assert error < (1e-14 if exact or dtype == np.float64 else 4e-7)


@on_devices
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_triangular_systems_are_solved(device, dtype, monkeypatch):
    monkeypatch.setattr("mercer.gpu.triangular.SMALL", 16)
    monkeypatch.setattr("mercer.gpu.triangular.PANEL", 32)
    monkeypatch.setattr("mercer.gpu.triangular.BLOCK", 40)  # three blocks of 30 rows
    A = rows(90, 120)
    A = A @ A.T + np.eye(90)
    B, error = rows(90, 3, seed=1), 1e-12 if dtype == np.float64 else 1e-4
    expected = np.linalg.cholesky(A)
    for factor in (
        DeviceTriangular.factor(device, device.sent(A, dtype)),
        DeviceTriangular.factor(device, device.sent(A, dtype)).inverted(),
        DeviceTriangular.factor(device, device.sent(A)).inverted().rounded(dtype),
    ):
        for found, wanted in (
            (factor.solve(B), np.linalg.solve(expected, B)),
            (factor.solve_transposed(B), np.linalg.solve(expected.T, B)),
            (factor.inverse_times(B), np.linalg.solve(A, B)),
            (factor.times(B), expected @ B),
            (factor.transposed_times(B), expected.T @ B),
            (factor.inverse_diagonal(), np.linalg.inv(A).diagonal()),
            (np.tril(device.received(factor.gram(dtype))), np.tril(expected.T @ expected)),
        ):
            assert found.dtype == dtype
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, rtol=error, atol=error * np.abs(wanted).max())
        sent = device.sent(B, dtype)
        assert isinstance(factor.inverse_times(sent), torch.Tensor)
        np.testing.assert_array_equal(device.received(factor.inverse_times(sent)), factor.inverse_times(B))
    with pytest.raises(np.linalg.LinAlgError):
        DeviceTriangular.factor(device, device.sent(A - 2.0 * np.abs(A).max() * np.eye(90), dtype))
    with pytest.raises(np.linalg.LinAlgError):
        DeviceTriangular.factor(device, device.sent(np.full((3, 3), np.nan)))
    assert SMALL > 16


@on_devices
def test_blocks_of_rows_are_sent_in_order_and_stay_until_the_next_but_one(device):
    parts = [(np.full((count, 3), place, dtype=np.float32), place) for place, count in enumerate([4, 4, 3, 4, 1, 4])]
    held, seen = [], []
    for block, beside in sent_blocks(device, iter(parts), 8, 3, np.float32):
        held.append(block)
        seen.append(beside)
        for tensor, places in list(zip(held, seen, strict=True))[-2:]:
            expected = np.concatenate([parts[place][0] for place in places])
            np.testing.assert_array_equal(device.received(tensor), expected)
    assert seen == [[0, 1], [2, 3, 4], [5]]
    assert list(sent_blocks(device, iter([]), 8, 3, np.float32)) == []


def test_a_slot_is_filled_again_when_its_rows_were_used():
    copies = RowCopies(Device("torch:cpu"), 2, 1, np.float64)
    slots = []
    for place in range(5):
        slot, block = copies.block([np.array([[float(place)]])])
        copies.used(slot)
        slots.append(slot)
        assert block.tolist() == [[place]]
    assert slots == [0, 1, 0, 1, 0]


def test_rows_of_a_block():
    assert block_rows(28, 4) == 65536
    assert block_rows(784, 4) == 32768
    assert block_rows(10**6, 8) == 256
    assert SUMMED_ROWS <= 65536


def test_tiles_are_halved_when_there_is_no_room_and_this_is_reported_once():
    done, tried = [], []

    def work(tile):
        tried.append(tile.stop - tile.start)
        if tile.stop - tile.start > 100:
            raise torch.OutOfMemoryError("full")
        done.extend(range(tile.start, tile.stop))

    tiles = DeviceTiles(Device("torch:cpu"), 512)
    with pytest.warns(UserWarning, match="too little memory for 512 rows at once; continuing with 256") as said:
        tiles.run(work, 1300)
    assert len(said) == 1
    assert done == [*range(1300)]
    assert tried[:4] == [512, 256, 128, 64]
    assert tiles.rows == 64


def test_no_room_for_the_fewest_rows_is_an_error():
    def work(tile):
        raise torch.OutOfMemoryError("full")

    with pytest.warns(UserWarning, match="too little memory"), pytest.raises(torch.OutOfMemoryError):
        DeviceTiles(Device("torch:cpu"), 128).run(work, 1000)


def test_full_precision_is_restored():
    products = torch.backends.cuda.matmul
    before = products.fp32_precision
    products.fp32_precision = "tf32"
    try:
        with full_precision(Device("torch:cpu")):
            assert products.fp32_precision == "ieee"
        assert products.fp32_precision == "tf32"
    finally:
        products.fp32_precision = before


@on_devices
@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 2e-5), (np.float64, 1e-11)])
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("columns", [1, 3])
def test_leave_one_out_errors_agree_with_the_processor(device, dtype, error, counted, columns):
    rng = np.random.default_rng(0)
    Z, w = rng.normal(size=(80, 12)).astype(dtype), rng.uniform(0.5, 2.0, size=80)
    Z[0] *= 300.0  # a leverage of almost 1, of which float32 has no digits
    Y = np.where(rng.normal(size=(80, columns)) > 0.0, 1.0, -1.0)
    moments = Moments.of(Z.astype(float), Y, w)
    centred, alphas = moments.centred(True), np.array([1e-3, 1.0, 50.0])
    path = Path.of(moments, True, 1e-15, device)
    left_out = LeaveOneOut(path, alphas, centred.feature_mean, centred.target_mean)
    expected = left_out.errors_and_hits(Z, Y, w, counted)
    found = left_out.on(device).errors_and_hits(device.sent(Z), Y, w, counted)
    assert len(found) == len(expected) == 1 + counted
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(device.received(ours), theirs, rtol=error)
    assert isinstance(left_out.on(device)._errors, LeftOutErrors)
    assert left_out.on(None) is left_out


def test_items_that_another_thread_makes_come_in_order_and_few_wait():
    made = []

    def items():
        for number in range(10):
            made.append(number)
            yield number

    taken = []
    for number in ahead(items(), 2):
        taken.append(number)
        assert len(made) <= len(taken) + 4  # in addition to those waiting, one is being created and one handed over
    assert taken == made == list(range(10))


def test_an_error_in_making_an_item_is_raised_where_it_is_taken():
    def items():
        yield 1
        raise KeyError("lost")

    taken = ahead(items())
    assert next(taken) == 1
    with pytest.raises(KeyError, match="lost"):
        next(taken)


def test_a_thread_ends_when_its_items_are_not_wanted_any_more():
    closed = []

    def items():
        try:
            yield from range(1000)
        finally:
            closed.append(True)

    taken, source = None, items()
    before = threading.active_count()
    taken = ahead(source)
    assert next(taken) == 0
    taken.close()
    assert threading.active_count() == before
    source.close()
    assert closed
