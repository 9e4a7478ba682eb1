"""A fitted map is a frozen value: nobody can write to its parameters, and nothing derived from them goes stale."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from mercer import Compressed, KernelRegressor, Nystrom, OrthogonalFourier, RandomFourier
from mercer._array import send
from mercer._random import Stream
from mercer.data import as_rows
from mercer.kernels import Gaussian

from ..tables import first_of_class, obeying


def arrays(tree):
    return [array for part in tree for array in arrays(part)] if isinstance(tree, tuple) else [tree]


@pytest.mark.parametrize("row", first_of_class(obeying()))
def test_parameters_are_read_only(row):
    map = row(12, random_state=0).fit(row.sample(40))
    copies = [map, copy.deepcopy(map)]
    if "callable" not in row.id:
        copies.append(pickle.loads(pickle.dumps(map)))
    for one in copies:
        found = arrays(one.parameters_)
        assert found
        assert not any(array.flags.writeable for array in found)
    with pytest.raises(FrozenInstanceError):
        map.fitted_.parameters = None
    with pytest.raises(FrozenInstanceError):
        map.construction_.n_components = 3


def test_landmarks_that_were_given_stay_writeable():
    landmarks = np.random.default_rng(0).normal(size=(6, 3))
    map = Nystrom(Gaussian(0.5), landmarks=landmarks).fit(landmarks)
    before = map.transform(landmarks)
    landmarks *= 2.0
    np.testing.assert_array_equal(map.transform(landmarks / 2.0), before)


@pytest.mark.parametrize("row", [one for one in first_of_class(obeying()) if "callable" not in one.id])
def test_features_in_one_precision_do_not_depend_on_the_other(row):
    X = row.sample(40)
    double, single = X.astype(np.float64), X.astype(np.float32)
    first, second = (row(12, random_state=0).fit(X) for _ in range(2))
    ours = [first.transform(M) for M in (double, single, double)]
    theirs = [second.transform(M) for M in (single, double, single)]
    np.testing.assert_array_equal(ours[0], ours[2])
    np.testing.assert_array_equal(ours[0], theirs[1])
    np.testing.assert_array_equal(ours[1], theirs[0])
    np.testing.assert_array_equal(theirs[0], theirs[2])


def test_a_pickle_holds_parameters_and_nothing_derived_from_them():
    X = np.random.default_rng(0).normal(size=(50, 30))
    map = Compressed(OrthogonalFourier(Gaussian(0.1)), n_components=64, random_state=0).fit(X)
    before = len(pickle.dumps(map))
    expected = map.transform(X), map.transform(X.astype(np.float32))
    assert len(pickle.dumps(map)) == before
    again = pickle.loads(pickle.dumps(map))
    np.testing.assert_array_equal(again.transform(X), expected[0])
    np.testing.assert_array_equal(again.transform(X.astype(np.float32)), expected[1])


def test_drawing_twice_gives_two_maps_of_one_construction():
    X = np.random.default_rng(0).normal(size=(50, 4))
    map = OrthogonalFourier(Gaussian(0.1), n_components=8, random_state=0).fit(X)
    construction = map.construction_
    rows = as_rows(X, 0)
    one, same, other = (construction.draw(Stream(seed, construction.name), rows) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.parameters.frequencies, map.parameters_.frequencies)
    np.testing.assert_array_equal(one.apply(X), same.apply(X))
    assert np.abs(one.apply(X) - other.apply(X)).max() > 0.01


def test_parameters_keep_their_order_in_memory_on_another_backend():
    # A product with a matrix in the other order has other last digits.
    torch = pytest.importorskip("torch")
    X = np.random.default_rng(0).normal(size=(50, 5))
    map = RandomFourier(Gaussian(0.5), n_components=64, random_state=0).fit(X)
    sent = send(map.parameters_, torch.from_numpy(X.copy()))
    assert map.parameters_.frequencies.flags.f_contiguous
    assert sent.frequencies.stride() == tuple(step // 8 for step in map.parameters_.frequencies.strides)


def test_a_pickle_of_a_wrapped_map_holds_no_rows():
    X = np.random.default_rng(0).normal(size=(3000, 20))
    inner = Nystrom(linear_kernel, n_components=5)
    map = Compressed(inner, n_components=4, factor=1, random_state=0).fit(X)
    assert len(pickle.dumps(map)) < 20_000 < X.nbytes
    assert map.construction_.map.measure is None
    assert map.map_.residual_trace_.trace >= 0.0


def linear_kernel(x, y):
    return float(x @ y)


class Narrow(RandomFourier):
    """A subclass whose constructor has fewer arguments."""

    def __init__(self, gamma=1.0, *, n_components=20, random_state=None):
        super().__init__(Gaussian(gamma), n_components=n_components, random_state=random_state)
        self.gamma = gamma


def test_a_subclass_may_set_arguments_itself():
    X = np.random.default_rng(0).normal(size=(30, 4))
    expected = RandomFourier(Gaussian(0.3), n_components=20, random_state=0).fit(X)
    assert Narrow(0.3, random_state=0).fit(X).transform(X).shape == expected.transform(X).shape


def test_predictions_pack_matrices_once():
    X = np.random.default_rng(0).normal(size=(60, 4))
    for inner in (OrthogonalFourier(Gaussian(0.3)), Compressed(OrthogonalFourier(Gaussian(0.3)))):
        model = KernelRegressor(map=inner, kernel=None, alpha=1.0, preparation=None).fit(X, X[:, 0])
        fitted = model.map_.fitted_.linear(model.coef_)[0]
        model.predict(X[:1])
        assert model.map_.fitted_.linear(model.coef_)[0] is fitted


class Positive(Gaussian):
    """A kernel with a domain of its own."""

    def check_rows(self, X):
        if (X < 0.0).any():
            raise ValueError("negative")


def test_a_kernel_with_a_check_of_its_own_refuses_rows_in_fit():
    X = np.random.default_rng(0).normal(size=(30, 4))
    assert Gaussian(0.3).takes_every_row
    assert not Positive(0.3).takes_every_row
    with pytest.raises(ValueError, match="negative"):
        RandomFourier(Positive(0.3)).fit(X)
