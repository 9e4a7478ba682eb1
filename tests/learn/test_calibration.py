"""Probabilities of losses without their own: they are calibrated, and learned on rows outside the training rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_digits

import mercer
from mercer import RandomFourier
from mercer.data import Blocks
from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier
from mercer.learn.left_out import calibration
from mercer.learn.left_out.calibration import Calibration, curve, sharpness
from mercer.learn.left_out.decision_values import Curvature, influences, left_out_each
from mercer.learn.losses import SquaredHinge
from mercer.persist import train

LOSSES = ("squared_hinge", "squared", "logistic")


def rows(n, classes=2, seed=0):
    """Rows with classes that overlap, and their probabilities."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    values = np.stack([2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1], np.zeros(n), 1.5 * X[:, 0] * X[:, 1]], axis=1)
    values = values[:, :classes]
    chances = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
    codes = (chances.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return X, np.array(["a", "b", "c"])[codes], chances


def learner(loss, width=100, **options):
    return KernelClassifier(
        map=RandomFourier(Gaussian(0.5), n_components=width, random_state=0), loss=loss, **({"C": 1.0} | options)
    )


def calibration_error(chances, right, bins=15):
    """The mean difference, over bins, between predicted and observed frequencies."""
    places = np.minimum((chances * bins).astype(int), bins - 1)
    parts = [places == one for one in range(bins)]
    return sum(abs(chances[part].sum() - right[part].sum()) for part in parts) / len(chances)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("n", [800, 4000])
def test_probabilities_are_as_often_right_as_they_say(n, classes, loss):
    X, y, _ = rows(n, classes)
    model = learner(loss, C=10.0 if loss == "logistic" else 1.0).fit(X, y)  # a loss that is flatter
    new, _, chances = rows(20000, classes, seed=1)
    found = model.predict_proba(new)
    # The probability that a prediction is right, in place of whether it is, so that chance plays no part.
    right = chances[np.arange(len(new)), np.searchsorted(model.classes_, model.predict(new))]
    assert calibration_error(found.max(axis=1), right) < (0.05 if n == 800 else 0.02)
    assert np.abs(found - chances).mean() < (0.07 if n == 800 else 0.04)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(new))
    method = "leave-one-out" if loss == "squared" else "left-out rows" if n > 1000 else "approximate leave-one-out"
    assert model.calibration_.method == method


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_that_the_model_memorised_do_not_calibrate(loss):
    """Random labels have no probability near 1, however well they were memorised."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.integers(0, 2, 200)
    model = learner(loss, width=300, C=100.0).fit(X, y)
    assert model.score(X, y) > 0.95
    assert np.quantile(model.predict_proba(rng.normal(size=(1000, 5))).max(axis=1), 0.9) < 0.75


@pytest.mark.parametrize("classes", [2, 3])
def test_calibration_undoes_the_flattening_of_the_logistic_loss_by_the_penalty(classes):
    X, y, _ = rows(3000, classes)
    model = learner("logistic", C=0.01).fit(X, y)
    new, _, chances = rows(20000, classes, seed=1)
    values = model.decision_function(new)
    values = np.column_stack([np.zeros(len(new)), values]) if classes == 2 else values
    found, own = model.predict_proba(new), softmax(values, axis=1)
    right = chances[np.arange(len(new)), found.argmax(axis=1)]
    assert calibration_error(found.max(axis=1), right) < 0.5 * calibration_error(own.max(axis=1), right)
    assert len(set(model.calibration_.slopes)) == 1
    np.testing.assert_allclose(found, softmax(model.calibration_.slopes[0] * values, axis=1))
    model.calibration_ = None  # as in files of earlier versions
    np.testing.assert_allclose(model.predict_proba(new), own)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_sharpness_is_the_most_likely_one(weighted):
    rng = np.random.default_rng(0)
    F = 3.0 * rng.normal(size=(500, 3))
    chances = softmax(0.4 * F, axis=1)
    codes = (chances.cumsum(axis=1) < rng.random((500, 1))).sum(axis=1)
    weight = rng.integers(1, 4, 500).astype(float) if weighted else np.ones(500)
    doubt = 3.0 / (weight.sum() + 3.0)
    targets = (1.0 - doubt) * np.eye(3)[codes] + doubt / 3.0
    best = minimize_scalar(
        lambda a: -(weight @ (targets * log_softmax(a * F, axis=1)).sum(axis=1)), bounds=(0.01, 10.0), method="bounded"
    )
    assert sharpness(F, codes, weight) == pytest.approx(best.x, rel=1e-4)
    assert 0.25 < best.x < 0.55
    assert sharpness(F, (-F).argmax(axis=1), weight) == calibration.LEAST_SLOPE  # which must not turn the order round
    assert np.isfinite(sharpness(F, F.argmax(axis=1), weight))


def test_a_left_out_group_was_not_memorised():
    """Random labels, and so many features that a model which has seen a row knows its label."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1050, 8)), rng.integers(0, 2, 1050)
    model = learner("squared_hinge", width=900, C=10.0).fit(X, y)
    assert model.calibration_.method == "left-out rows"
    assert model.score(X, y) > 0.9
    assert np.quantile(model.predict_proba(rng.normal(size=(1000, 8))).max(axis=1), 0.9) < 0.75


@pytest.mark.parametrize("intercept", [True, False])
def test_leave_one_out_of_least_squares_is_exact(intercept, monkeypatch):
    X, y, _ = rows(60, 3)
    weight = np.random.default_rng(1).choice([0.5, 1.0, 2.0], 60)
    seen = {}

    def learned(method, tasks, values, codes, weights):
        seen["values"] = values
        return Calibration(method, len(values), (0.0,) * 3, (0.0,) * 3, (0.0,) * 3)

    monkeypatch.setattr("mercer.learn.classifier.learned", learned)
    learner("squared", width=20, fit_intercept=intercept).fit(X, y, weight)
    values = seen["values"]
    for row in (0, 7, 31):
        less = weight.copy()
        less[row] -= min(1.0, less[row])  # one copy of it
        without = learner("squared", width=20, fit_intercept=intercept).fit(X, y, less, classes=["a", "b", "c"])
        np.testing.assert_allclose(values[row], without.decision_function(X[row : row + 1])[0], atol=1e-8)


def test_leave_one_out_of_the_squared_hinge_is_near():
    X, y, _ = rows(300)
    model = learner("squared_hinge", width=40, tol=1e-8).fit(X, y)
    Z, codes = model.map_.transform(X), (y == "b").astype(np.int64)
    F = model.decision_function(X)[:, None]
    found = left_out_each(Z, F, SquaredHinge(codes, 2, np.ones(300)), np.ones(300), True)[:, 0]
    moved, exact = [], []
    for row in np.argsort(-np.abs(found - F[:, 0]))[:6].tolist():
        kept = np.arange(300) != row
        without = learner("squared_hinge", width=40, tol=1e-8).fit(X[kept], y[kept])
        exact.append(without.decision_function(X[row : row + 1])[0] - F[row, 0])
        moved.append(found[row] - F[row, 0])
    assert np.abs(exact).max() > 0.05
    np.testing.assert_allclose(moved, exact, atol=0.2 * np.abs(exact).max())


@pytest.mark.parametrize("intercept", [True, False])
def test_leverages_are_the_same_by_columns_and_by_rows(intercept):
    rng = np.random.default_rng(0)
    for shape in ((30, 8), (8, 30)):
        Z, h = rng.normal(size=shape), rng.uniform(0.1, 2.0, shape[0])
        ones = np.column_stack([Z, np.ones(len(Z))]) if intercept else Z
        ridge = np.diag(np.r_[np.ones(Z.shape[1]), 1e-12]) if intercept else np.eye(Z.shape[1])
        expected = h * np.einsum("ij,ij->i", ones @ np.linalg.inv(ridge + (ones * h[:, None]).T @ ones), ones)
        np.testing.assert_allclose(h * influences(Z, h, intercept), expected, rtol=1e-6)


@pytest.mark.parametrize("shape", [(60, 20), (20, 60)], ids=["columns", "rows"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["far from 0", "far from each other"])
def test_leverages_of_huge_features_are_finite(shape, dtype, kind):
    """Their products lose the penalty of the Hessian to rounding; h is 0 for half of the rows."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        Z = rng.normal(size=shape)
        Z = 1e6 * (Z + 1e6) if kind == "far from 0" else Z * np.exp(8.0 * rng.normal(size=(len(Z), 1)))
        h = rng.uniform(0.1, 2.0, len(Z)) * (np.arange(len(Z)) % 2)
        Z, h = Z.astype(dtype), h.astype(dtype)
        for found in (influences(Z, h, True), Curvature.of([(Z, h)], shape[1], True).influences(Z)):
            assert (found >= 0.0).all()
            assert np.isfinite(found).all()


def test_a_curve_rises_and_is_the_most_likely_one():
    rng = np.random.default_rng(0)
    f = rng.normal(size=20000)
    odds = 1.5 * f + 0.5 * f * np.abs(f) - 0.3
    right = rng.random(20000) < 1.0 / (1.0 + np.exp(-odds))
    np.testing.assert_allclose(curve(f, right, np.ones(20000), False), (1.5, 0.5, -0.3), atol=0.12)
    a, c, b = curve(f, ~right, np.ones(20000), False)
    assert (a, c) == (0.0, 0.0)
    assert b == pytest.approx(np.log((~right).mean() / right.mean()), abs=1e-2)
    assert curve(f, right, np.ones(20000), True)[2] == 0.0


def test_weights_are_counts_unless_they_are_shares():
    X, y, _ = rows(200)
    weight = np.random.default_rng(2).integers(0, 4, 200)
    for loss in LOSSES:
        weighted = learner(loss, width=20, tol=1e-8).fit(X, y, weight.astype(float))
        repeated = learner(loss, width=20, tol=1e-8).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)
    small = curve(np.linspace(-1.0, 1.0, 200), y == "a", np.full(200, 1e-6), False)
    np.testing.assert_allclose(small, curve(np.linspace(-1.0, 1.0, 200), y == "a", np.ones(200), False), rtol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_several_tasks_and_class_weights(loss):
    X, y, _ = rows(1500, 3)
    both = learner(loss, width=60).fit(X, np.column_stack([y, X[:, 0] > 0.0]))
    first, second = both.predict_proba(X)
    assert first.shape == (1500, 3)
    assert second.shape == (1500, 2)
    alone = learner(loss, width=60).fit(X, y)
    np.testing.assert_allclose(first, alone.predict_proba(X), atol=0.02)
    rare = np.where((y == "c") & (X[:, 0] > 0.5), "c", "a")
    balanced = learner(loss, width=60, class_weight="balanced").fit(X, rare)
    chances = balanced.predict_proba(X)
    np.testing.assert_array_equal(balanced.classes_[chances.argmax(axis=1)], balanced.predict(X))


@pytest.mark.parametrize("loss", LOSSES)
def test_streamed_and_held_rows_have_the_same(loss):
    X, y, _ = rows(5000)
    held = learner(loss, width=32).fit(X, y)
    parts = [(X[start : start + 1500], y[start : start + 1500]) for start in range(0, 5000, 1500)]
    streamed = learner(loss, width=32, memory=1000).fit(Blocks(parts))
    np.testing.assert_allclose(streamed.calibration_.slopes, held.calibration_.slopes, rtol=1e-6)
    assert streamed.calibration_.rows == held.calibration_.rows


def test_batches_have_no_probabilities_and_say_so():
    X, y, _ = rows(300)
    model = learner("squared", keep_statistics=True).fit(X, y)
    assert model.has_probabilities
    model.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"this model has no probabilities, .* fit it again"):
        model.predict_proba(X)
    assert not model.has_probabilities


@pytest.mark.parametrize("loss", LOSSES)
def test_model_files_contain_calibrations(loss, tmp_path):
    X, y, _ = rows(400, 3)
    model = learner(loss, width=32).fit(X, y)
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    assert again.calibration_ == model.calibration_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    if loss == "squared_hinge":
        assert (again.objective_, again.gap_) == (model.convergence_.objectives[-1], model.convergence_.gap)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_run_that_was_stopped_has_the_same(loss, tmp_path, monkeypatch):
    X, y, _ = rows(3000, 3)
    monkeypatch.setattr(calibration, "KEPT", 500)
    whole, seen = tmp_path / "whole", []
    train(learner(loss, width=16), X, y, output=whole, progress=seen.append)
    for share in (0.5, 0.97):
        output, last = tmp_path / f"model-{share}", int(share * len(seen))
        told = []

        def stop(progress, last=last, told=told):
            told.append(progress)
            if len(told) >= last:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train(learner(loss, width=16), X, y, output=output, every=0.0, progress=stop)
        train(learner(loss, width=16), X, y, output=output, resume=True)
        assert output.read_bytes() == whole.read_bytes()


def test_liblinear_has_probabilities_too():
    X, y, _ = rows(2000)
    model = learner("squared_hinge", width=32, solver="liblinear").fit(X, y)
    other = learner("squared_hinge", width=32).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=0.02)


def test_digits_are_classified_with_confidence():
    X, y = load_digits(return_X_y=True)
    model = KernelClassifier(n_components=256, random_state=0, kernel=None, C=1.0, preparation=None).fit(
        X[:1200] / 16.0, y[:1200]
    )
    chances = model.predict_proba(X[1200:] / 16.0)
    assert calibration_error(chances.max(axis=1), chances.argmax(axis=1) == y[1200:]) < 0.05
    assert -np.log(chances[np.arange(len(chances)), y[1200:]]).mean() < 0.25
