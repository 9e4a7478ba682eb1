"""Rows that lose weight with age, and rows that are removed: sums compared with weighted fits to all rows."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import RandomFourier
from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier, KernelRegressor

BATCHES, ROWS = 6, 80


def stream(seed=0):
    """Batches of rows whose targets change their sign half-way."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(BATCHES * ROWS, 3))
    y = np.where(np.arange(len(X)) < len(X) // 2, 1.0, -1.0) * np.sin(2.0 * X[:, 0]) + 0.1 * X[:, 1]
    return np.split(X, BATCHES), np.split(y, BATCHES), np.split(rng.random(len(X)), BATCHES)


def machine(kind, **arguments):
    features = RandomFourier(Gaussian(0.3), n_components=40, random_state=0)
    if kind == "regressor":
        return KernelRegressor(map=features, alpha=0.5, preparation=None, **arguments)
    return KernelClassifier(map=features, C=0.7, loss="squared", preparation=None, **arguments)


def targets(kind, y):
    return y if kind == "regressor" else np.where(y > 0.0, "up", "down")


def learned(kind, decays, weighted):
    """A model that has learned from all batches, with smaller weights for earlier ones."""
    model, classes = machine(kind), {} if kind == "regressor" else {"classes": ["down", "up"]}
    for X, y, weight, decay in zip(*stream(), decays, strict=True):
        weights = {"sample_weight": weight} if weighted else {}
        model.partial_fit(X, targets(kind, y), **weights, **classes, decay=decay)
    return model


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["regressor", "classifier"])
@pytest.mark.parametrize("decays", [(0.8,) * BATCHES, (1.0, 0.1, 1.0, 0.7, 0.9, 0.999)], ids=["even", "uneven"])
def test_fading_batches_are_a_weighted_fit(kind, decays, weighted):
    X, y, weight = map(np.concatenate, stream())
    left = np.append(np.cumprod(decays[:0:-1])[::-1], 1.0)  # what is left of a batch after all later calls
    whole = machine(kind, keep_statistics=True).fit(
        X, targets(kind, y), sample_weight=np.repeat(left, ROWS) * (weight if weighted else 1.0)
    )
    found = learned(kind, decays, weighted)
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=0.0, atol=1e-11 * np.abs(whole.coef_).max())
    np.testing.assert_allclose(found.intercept_, whole.intercept_, rtol=0.0, atol=1e-11)
    assert found.statistics_.weight[0] == pytest.approx(whole.statistics_.weight[0])
    assert found.statistics_.rows[0] == BATCHES * ROWS


def test_without_decay_nothing_fades():
    plain = learned("regressor", (1.0,) * BATCHES, False)
    model = machine("regressor")
    for X, y, _ in zip(*stream(), strict=True):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_one_call_with_two_batches_equals_two_calls_without_decay_in_the_second():
    X, y, _ = stream()
    one, two = machine("regressor").partial_fit(X[0], y[0]), machine("regressor").partial_fit(X[0], y[0])
    one.partial_fit(np.concatenate(X[1:3]), np.concatenate(y[1:3]), decay=0.3)
    two.partial_fit(X[1], y[1], decay=0.3).partial_fit(X[2], y[2])
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("decay", [1.0, 0.9])
def test_a_window_that_slides(decay):
    X, y, _ = stream()
    model = machine("regressor")
    for number in range(BATCHES):
        model.partial_fit(X[number], y[number], decay=decay)
        if number >= 2:  # the batch before the window leaves with the weight that it has come to
            weight = np.full(ROWS, decay**2)
            model.forget(X[number - 2], y[number - 2], sample_weight=weight)
    last = machine("regressor", keep_statistics=True)
    last.fit(np.concatenate(X[-2:]), np.concatenate(y[-2:]), sample_weight=np.repeat([decay, 1.0], ROWS))
    np.testing.assert_allclose(model.coef_, last.coef_, rtol=0.0, atol=1e-10 * np.abs(last.coef_).max())


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_only_rows_that_were_learned_from_can_be_forgotten(kind):
    """Otherwise, the coefficients would belong to sums that no set of rows has."""
    X, y, _ = stream()
    labels, classes = [targets(kind, one) for one in y], {} if kind == "regressor" else {"classes": ["down", "up"]}
    model = machine(kind)
    for rows, known in zip(X, labels, strict=True):
        model.partial_fit(rows, known, **classes, decay=0.9)
    before = model.coef_.copy()
    never = "cannot be forgotten if they were not learned from"
    with pytest.raises(ValueError, match=never):  # their weight is 0.9 ** 5 by now
        model.forget(X[0], labels[0])
    with pytest.raises(ValueError, match=never):
        model.forget(X[0] + 1.0, labels[0], np.full(ROWS, 0.9**5))
    if kind == "regressor":
        with pytest.raises(ValueError, match=never):
            model.forget(X[0], labels[0] + 9.0, np.full(ROWS, 0.9**5))
    np.testing.assert_array_equal(model.coef_, before)
    model.forget(X[0], labels[0], np.full(ROWS, 0.9**5))
    with pytest.raises(ValueError, match=never):  # twice
        model.forget(X[0], labels[0], np.full(ROWS, 0.9**5))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_rows_but_a_few_are_forgotten(dtype):
    """The remaining sums have hardly any correct digits, but no rows may be mistaken for ones that were never added."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3)).astype(dtype)
    y = 1e3 + np.sin(X[:, 0])
    for left in (3, 30):
        model = machine("regressor").partial_fit(X, y)
        for first in range(left, len(X), 500):
            model.forget(X[first : first + 500], y[first : first + 500])
        assert model.statistics_.rows[0] == left
        assert np.abs(model.predict(X[:left]) - y[:left]).max() < 1.5


def test_old_rows_are_forgotten_where_the_truth_has_changed():
    X, y, _ = stream()
    errors = {}
    for decay in (1.0, 0.3):
        model = machine("regressor")
        for rows, values in zip(X[:-1], y[:-1], strict=True):
            model.partial_fit(rows, values, decay=decay)
        errors[decay] = np.mean((model.predict(X[-1]) - y[-1]) ** 2)
    assert errors[0.3] < 0.5 * errors[1.0]


@pytest.mark.parametrize("decay", [0.0, -0.5, 1.5, float("nan"), "half"])
@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_invalid_decays_are_refused(kind, decay):
    X, y, _ = stream()
    with pytest.raises(ValueError, match="decay must be a number above 0 and at most 1"):
        machine(kind).partial_fit(X[0], targets(kind, y[0]), decay=decay)
