"""The box around the training rows of a model, and the distances of other rows from it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.data.table_rows import Chunk
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.learn import KernelRegressor
from mercer.learn.training_rows.region import MARGIN, Extremes, Region, decays, fallback, has_linear_term


def naive(box, x):
    """The distance of one row from a box, over the diagonal of the box."""
    outside = [max(a - v, v - b, 0.0) for a, b, v in zip(box.least, box.most, x.astype(np.float64), strict=True)]
    diagonal = sum((b - a) ** 2 for a, b in zip(box.least, box.most, strict=True)) ** 0.5
    size = sum(o * o for o in outside) ** 0.5
    return 0.0 if size == 0.0 else size / diagonal if diagonal > 0.0 else np.inf


def rows(dtype, scale=1.0):
    X = scale * np.random.default_rng(1).normal(size=(80, 5))
    X[np.abs(X) < 0.4 * scale] = 0.0
    X[:, 3] = 0.5  # a column that has one value
    return X.astype(dtype)


@pytest.mark.parametrize("of", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_distances_are_those_of_single_rows(of, dtype, kind):
    box, X = Region.of(kind(rows(of))), rows(dtype, 1.7)
    X[0, 3], X[1, 3] = 0.75, 0.0
    found = box.distances(kind(X))
    np.testing.assert_allclose(found, [naive(box, x) for x in X], rtol=1e-6, atol=1e-9)
    assert 5 < np.count_nonzero(found) < 75
    np.testing.assert_array_equal(box.distances(kind(X)[7:8]), found[7:8])


def test_a_row_in_another_precision_is_outside_just_where_its_number_is():
    ends = np.array([0.1, 1.0 / 3.0, 1e-50, 0.7])
    box = Region(ends, ends + 1.0)
    X = np.tile(ends.astype(np.float32), (4, 1)) + np.float32(0.5)
    for column in range(4):
        X[column, column] = ends[column]
    beyond = [bool(X[column, column].astype(np.float64) < ends[column]) for column in range(4)]
    assert (box.distances(X) > 0.0).tolist() == beyond
    assert any(beyond)
    assert not all(beyond)


def test_a_region_of_one_point():
    box = Region.of(np.ones((3, 2)))
    assert box.distances(np.array([[1.0, 1.0], [1.0, 1.5]])).tolist() == [0.0, np.inf]


def test_boxes_are_joined_and_widened():
    box = Region.of(np.array([[0.0, 1.0]])).joined(Region.of(np.array([[2.0, -1.0]]))).joined(None)
    assert (box.least.tolist(), box.most.tolist()) == ([0.0, -1.0], [2.0, 1.0])
    wider = box.widened()
    np.testing.assert_allclose(wider.least, [-2.0 * MARGIN, -1.0 - 2.0 * MARGIN])
    np.testing.assert_allclose(wider.most, [2.0 + 2.0 * MARGIN, 1.0 + 2.0 * MARGIN])


def test_rows_of_no_weight_and_rows_seen_before_do_not_count():
    X, weight = np.arange(12.0).reshape(6, 2), np.array([1.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    seen = Extremes(lambda y: y[:, None])
    first, rest = Chunk(0, X[:2], X[:2, 0], weight[:2]), Chunk(0, X, X[:, 0], weight)
    assert list(seen.watched([first])) == [first]
    assert list(seen.watched([first._replace(X=first.X + 100.0)]))  # which another pass would prepare alike
    assert not seen.saw(6)
    assert len(list(seen.watched([rest]))) == 1
    assert seen.saw(6)
    assert (seen.rows.least.tolist(), seen.rows.most.tolist()) == ([0.0, 1.0], [8.0, 9.0])
    assert (seen.targets.least.tolist(), seen.targets.most.tolist()) == ([0.0], [8.0])


def test_what_is_left_of_predictions():
    np.testing.assert_allclose(fallback(np.array([0.0, MARGIN, 2.0 * MARGIN, np.inf])), [1.0, 1.0, 0.5, 0.0])
    assert has_linear_term(0.5 * Linear() + Gaussian(1.0))
    assert has_linear_term(Polynomial(1))
    assert not has_linear_term(Polynomial(2) + Gaussian(1.0))
    assert decays(Gaussian(1.0))
    assert not decays(Linear())


def rows_with_a_trend(n=200):
    X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(n, 3))
    return X, X[:, 0] + np.sin(3.0 * X[:, 1])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_outside_are_predicted_on_the_surface_of_the_region(form):
    X, y = rows_with_a_trend()
    # A wide kernel with almost no penalty: outside the rows, until it has decayed, its coefficients do not cancel.
    settled = {"kernel": Gaussian(0.02), "map": "nystrom", "n_components": 100, "alpha": 1e-9, "random_state": 0}
    model = KernelRegressor(**settled, preparation=None).fit(form(X), y)
    new = np.concatenate([X[:19], [[1.1, 0.5, 0.5], [3.0, 0.5, 0.5], [0.5, -9.0, 40.0]]])  # one within the margin
    least, most = model.region_.widened()
    nearest = np.clip(new, least, most)
    np.testing.assert_array_equal(model.predict(form(new)), model.predict(form(nearest)))
    assert np.abs(model.predict(form(new))).max() < 1.1 * np.ptp(y)
    free = KernelRegressor(**settled, preparation=None, extrapolate="free").fit(form(X), y)
    np.testing.assert_array_equal(free.predict(form(new[:20])), model.predict(form(new[:20])))
    assert np.abs(free.predict(form(new))).max() > 10.0 * np.ptp(y)


def test_an_increasing_identifier_costs_no_more_than_its_column():
    X, y = rows_with_a_trend(1200)
    identifiers = np.arange(1200.0)[:, None]
    model = KernelRegressor(random_state=0).fit(np.hstack([X, identifiers])[:300], y[:300])
    assert model.score(np.hstack([X, identifiers])[300:], y[300:]) > 0.5
