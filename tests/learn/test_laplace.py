"""Laplace's approximation: scikit-learn's own latent process, integrals, and laws of probabilities."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
from scipy.special import softmax
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessClassifier, kernels

import mercer
from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier
from mercer.learn.laplace_approximation import integrated, log_odds_of_means

NEW = np.random.default_rng(9).uniform(-2.8, 2.8, size=(15, 2))


def rows(n_rows=70, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, size=(n_rows, 2))
    return X, np.digitize(np.sin(X[:, 0]) + 0.5 * rng.normal(size=n_rows), np.linspace(-0.4, 0.4, classes + 1)[1:-1])


def exact(**given):
    known = {"loss": "logistic", "map": "nystrom", "n_components": 500, "preparation": None, "random_state": 0}
    return KernelClassifier(Gaussian(0.4), **(known | {"probabilities": "laplace", "tol": 1e-12, "C": 3.0} | given))


def test_the_latent_process_is_that_of_scikit_learn():
    X, y = rows()
    kernel = kernels.ConstantKernel(3.0) * kernels.RBF(1.0 / np.sqrt(0.8))
    other = GaussianProcessClassifier(kernel, optimizer=None, max_iter_predict=1000).fit(X, y)
    model = exact(fit_intercept=False).fit(X, y)
    # As in algorithm 3.2 of Rasmussen and Williams, from scikit-learn's own mode.
    base = other.base_estimator_
    K, cross = kernel(X), kernel(NEW, X)
    noisy = np.linalg.inv(K + np.diag(1.0 / base.W_sr_**2))
    variance = kernel.diag(NEW) - np.einsum("ij,jk,ik->i", cross, noisy, cross)
    mean = cross @ (base.y_train_ - base.pi_)
    latent_mean, latent_variance = model.latent_mean_and_variance(NEW)
    np.testing.assert_allclose(latent_mean, mean, atol=1e-4)
    np.testing.assert_allclose(latent_variance, variance, rtol=1e-4)
    # Its integral replaces the sigmoid by five error functions.
    np.testing.assert_allclose(model.predict_proba(NEW), other.predict_proba(NEW), atol=2e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_decision_values_are_the_log_odds_of_probabilities(classes):
    X, y = rows(classes=classes)
    model = exact().fit(X, y)
    values, chances = model.decision_function(NEW), model.predict_proba(NEW)
    np.testing.assert_allclose(
        softmax(np.column_stack([0.0 * values, values]) if classes == 2 else values, axis=1), chances
    )
    np.testing.assert_array_equal(model.predict(NEW), model.classes_[chances.argmax(axis=1)])
    assert model.log_odds(values) is values


def mean_sigmoid(value, spread):
    """Compute the mean of the sigmoid by adaptive quadrature."""

    def part(f):
        return norm.pdf(f, value, spread) / (1.0 + np.exp(-f))

    ends = value - 12.0 * spread, value + 12.0 * spread
    return scipy.integrate.quad(part, *ends, limit=500, points=[0.0] if ends[0] < 0.0 < ends[1] else None)[0]


def test_probabilities_are_means_of_the_sigmoid():
    values, variance = (
        np.array([-30.0, -3.0, -0.5, 0.0, 0.1, 2.0, 8.0]),
        np.array([0.0, 4.0, 1e-8, 9.0, 400.0, 0.5, 60.0]),
    )
    found = 1.0 / (1.0 + np.exp(-log_odds_of_means(values, variance)))
    for value, spread, one in zip(values, np.sqrt(variance), found, strict=True):
        expected = 1.0 / (1.0 + np.exp(-value))
        if spread > 0.0:
            expected = mean_sigmoid(value, spread)
        assert one == pytest.approx(expected, rel=1e-3, abs=1e-9)


def test_several_classes_keep_their_order_and_are_less_certain():
    X, y = rows(200, classes=3)
    model = exact().fit(X, y)
    plain = exact(probabilities="calibrated").fit(X, y)
    chances, sure = model.predict_proba(NEW), plain.decision_function(NEW)
    np.testing.assert_array_equal(chances.argmax(axis=1), sure.argmax(axis=1))
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    own = np.exp(sure) / np.exp(sure).sum(axis=1, keepdims=True)
    assert (chances.max(axis=1) < own.max(axis=1)).all()
    drawn = np.random.default_rng(0).normal(size=(4000, 15, 3)) * np.sqrt(model.latent_mean_and_variance(NEW)[1]) + sure
    mean = (np.exp(drawn) / np.exp(drawn).sum(axis=2, keepdims=True)).mean(axis=0)
    assert np.abs(mean - chances).mean() < 0.03  # of a mean over independent normal decision values


def test_two_classes_of_a_softmax_are_close_to_one_sigmoid():
    values, variance = np.linspace(-4.0, 4.0, 9), np.full(9, 3.0)
    both = integrated(np.column_stack([-0.5 * values, 0.5 * values]), np.full((9, 2), 1.5))
    one = log_odds_of_means(values, variance)
    found, expected = (1.0 / (1.0 + np.exp(-odds)) for odds in (both[:, 1] - both[:, 0], one))
    np.testing.assert_allclose(found, expected, atol=0.01)


def test_nothing_is_certain_far_from_all_rows():
    X, y = rows(300)
    far = np.array([[60.0, 60.0]])
    model = exact(C=100.0).fit(X, y)
    assert model.latent_mean_and_variance(far)[1][0] > 99.0
    assert abs(model.predict_proba(far)[0, 1] - 0.5) < 0.1


def test_intercepts_weights_and_several_tasks():
    X, y = rows(80)
    times = np.random.default_rng(0).integers(1, 4, size=80)
    fourier = mercer.RandomFourier(Gaussian(0.4), n_components=20, random_state=0)
    weighted = (
        exact(map=fourier).set_params(kernel=None, n_components=None, random_state=None).fit(X, y, sample_weight=times)
    )
    repeated = exact(map=fourier).set_params(kernel=None, n_components=None, random_state=None)
    repeated.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(
        weighted.latent_mean_and_variance(NEW)[1], repeated.latent_mean_and_variance(NEW)[1], rtol=1e-4
    )
    Z = np.column_stack([weighted.map_.transform(X), np.ones(80)])
    p = 1.0 / (1.0 + np.exp(-weighted.latent_mean_and_variance(X)[0]))
    hessian = np.diag([1.0] * 20 + [0.0]) + 3.0 * (Z * (times * p * (1.0 - p))[:, None]).T @ Z
    new = np.column_stack([weighted.map_.transform(NEW), np.ones(15)])
    expected = 3.0 * np.einsum("ij,jk,ik->i", new, np.linalg.inv(hessian), new)
    np.testing.assert_allclose(weighted.latent_mean_and_variance(NEW)[1], expected, rtol=1e-5)
    both = exact().fit(X, np.column_stack([y, X[:, 1] > 0.0]))
    assert [one.shape for one in both.predict_proba(NEW)] == [(15, 2), (15, 2)]
    np.testing.assert_allclose(both.predict_proba(NEW)[0], exact().fit(X, y).predict_proba(NEW), atol=1e-4)


def test_model_files_hold_the_posterior(tmp_path):
    X, y = rows()
    model = exact().fit(X, y)
    mercer.save(model, tmp_path / "classes.mercer")
    loaded = mercer.load(tmp_path / "classes.mercer")
    np.testing.assert_array_equal(loaded.predict_proba(NEW), model.predict_proba(NEW))
    np.testing.assert_array_equal(loaded.latent_mean_and_variance(NEW)[1], model.latent_mean_and_variance(NEW)[1])


def test_the_solver_may_be_named():
    X, y = rows()
    named, found = exact(solver="newton").fit(X, y), exact().fit(X, y)
    np.testing.assert_allclose(named.predict_proba(NEW), found.predict_proba(NEW), rtol=1e-6)


def test_what_has_no_posterior():
    X, y = rows()
    with pytest.raises(ValueError, match="requires loss='logistic' and solver='auto' or 'newton', found loss='squared"):
        exact(loss="squared_hinge").fit(X, y)
    with pytest.raises(ValueError, match="found loss='logistic' and solver='wide'"):
        exact(solver="wide").fit(X, y)
    with pytest.raises(ValueError, match="probabilities must be one of"):
        exact(probabilities="exact").fit(X, y)
    with pytest.raises(
        ValueError, match="variances require a model fitted with probabilities='laplace', found 'calibrated'"
    ):
        exact(probabilities="calibrated").fit(X, y).latent_mean_and_variance(X)[1]


def test_large_margins_do_not_overflow():
    values, variance = np.array([2000.0, -2000.0, 0.0, 2000.0]), np.array([0.1, 0.1, 1e6, 1e6])
    with np.errstate(over="raise", invalid="raise"):
        found = log_odds_of_means(values, variance)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(np.sign(found), np.sign(values))
    assert found[3] < found[0]
