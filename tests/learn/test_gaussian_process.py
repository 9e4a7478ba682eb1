"""Ridge regression as a Gaussian process: scikit-learn's own, the density of the targets, and laws of samples."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from sklearn.gaussian_process import GaussianProcessRegressor, kernels

import mercer
from mercer.kernels import Cauchy, Exponential, Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.learn import KernelRegressor
from mercer.learn.solvers.posterior import semidefinite_root

NEW = np.random.default_rng(9).uniform(-4.0, 4.0, size=(15, 2))


def rows(n_rows=60, seed=0, targets=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, size=(n_rows, 2))
    y = np.sin(X @ rng.normal(size=(2, targets))) + rng.normal(scale=0.2, size=(n_rows, targets))
    return X, y[:, 0] if targets == 1 else y


def exact(alpha, kernel=None, **given):
    """A map with every row as a landmark, so that nothing is approximated."""
    known = {"n_components": 1000, "map": "nystrom", "random_state": 0, "preparation": None, "extrapolate": "free"}
    given = known | {"fit_intercept": False, "keep_statistics": True} | given
    return KernelRegressor(Matern(1.5, length_scale=1.3) if kernel is None else kernel, alpha=alpha, **given)


def peer(scale, noise, kernel=None):
    """scikit-learn's Gaussian process, with this factor of the kernel and this noise."""
    kernel = kernels.Matern(1.3, nu=1.5) if kernel is None else kernel
    return GaussianProcessRegressor(
        kernels.ConstantKernel(scale) * kernel + kernels.WhiteKernel(noise), alpha=0.0, optimizer=None
    )


@pytest.mark.parametrize("alpha", [0.3, "evidence"])
def test_predictions_deviations_and_covariances_are_those_of_scikit_learn(alpha):
    X, y = rows()
    model = exact(alpha).fit(X, y)
    noise = float(model.posterior().noise[0])
    other = peer(noise / model.alpha_, noise).fit(X, y)
    for new in (X[:9], NEW):
        mean, deviation = other.predict(new, return_std=True)
        found = model.predict(new, return_std=True)
        np.testing.assert_allclose(found[0], mean, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(found[1], deviation, rtol=1e-7)
        covariance = other.predict(new, return_cov=True)[1]
        np.testing.assert_allclose(model.predict(new, return_cov=True)[1], covariance, rtol=1e-7, atol=1e-9)


def test_the_likelihood_is_that_of_scikit_learn():
    X, y = rows()
    model = exact(0.3).fit(X, y)
    gram = Matern(1.5, length_scale=1.3)(X)
    noise = 0.3 * y @ np.linalg.solve(gram + 0.3 * np.eye(60), y) / 60
    other = peer(noise / 0.3, noise).fit(X, y)
    assert model.log_marginal_likelihood_ == pytest.approx(other.log_marginal_likelihood_value_, rel=1e-10)
    densest = scipy.stats.multivariate_normal(np.zeros(60), noise * (gram / 0.3 + np.eye(60)))
    assert model.log_marginal_likelihood_ == pytest.approx(densest.logpdf(y), rel=1e-8)
    for factor in (0.9, 1.1):  # no other noise makes the targets likelier
        assert peer(noise * factor / 0.3, noise * factor).fit(X, y).log_marginal_likelihood_value_ < densest.logpdf(y)


def test_a_constant_has_a_flat_prior():
    """The density of differences between targets, whatever their mean, in a basis of vectors that add up to 0."""
    X, y = rows()
    model = exact(0.3, fit_intercept=True).fit(X, y + 1000.0)
    basis = np.linalg.qr(np.column_stack([np.ones(60), np.eye(60)[:, 1:]]))[0][:, 1:]
    gram = basis.T @ Matern(1.5, length_scale=1.3)(X) @ basis / 0.3 + np.eye(59)
    noise = (basis.T @ y) @ np.linalg.solve(gram, basis.T @ y) / 59
    expected = scipy.stats.multivariate_normal(np.zeros(59), noise * gram).logpdf(basis.T @ y)
    assert model.log_marginal_likelihood_ == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("intercept", [False, True])
def test_evidence_finds_the_alpha_of_largest_likelihood(intercept):
    X, y = rows()
    model = exact("evidence", fit_intercept=intercept).fit(X, y)
    best = model.log_marginal_likelihood_
    for factor in (0.5, 0.99, 1.01, 2.0):
        assert exact(model.alpha_ * factor, fit_intercept=intercept).fit(X, y).log_marginal_likelihood_ < best + 1e-9
    # There, and only there, both estimates of the noise agree.
    moments = model.statistics_.centred(intercept)
    misfit = float(moments.squares[0, 0] - np.ravel(model.coef_) @ moments.cross[:, 0]) / (60 - intercept)
    assert model.posterior().noise[0] == pytest.approx(misfit, rel=1e-4)
    assert model.penalty_path_.rule == "evidence"
    place = int(np.argmin(np.abs(model.alphas_ - model.alpha_)))
    mean_square = np.exp(-2.0 * best / (60 - intercept)) / (2.0 * np.pi * np.e)
    assert model.scores_[place, 0] == pytest.approx(mean_square, rel=1e-6)


def test_the_penalty_of_scikit_learns_optimum():
    """scikit-learn climbs to the same noise and factor of the kernel."""
    X, y = rows()
    model = exact("evidence").fit(X, y)
    kernel = kernels.ConstantKernel(1.0) * kernels.Matern(1.3, "fixed", 1.5) + kernels.WhiteKernel(0.1)
    other = GaussianProcessRegressor(kernel, alpha=0.0).fit(X, y)
    assert model.log_marginal_likelihood_ == pytest.approx(other.log_marginal_likelihood_value_, abs=1e-5)
    scale, noise = other.kernel_.k1.k1.constant_value, other.kernel_.k2.noise_level
    assert model.alpha_ == pytest.approx(noise / scale, rel=0.01)
    found, expected = (one.predict(NEW, return_std=True)[1] for one in (model, other))
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_several_targets_share_a_penalty_and_have_their_own_noise():
    X, Y = rows(targets=3)
    model = exact(0.5, fit_intercept=True).fit(X, Y)
    alone = [exact(0.5, fit_intercept=True).fit(X, y) for y in Y.T]
    each = [one.log_marginal_likelihood_ for one in alone]
    assert model.log_marginal_likelihood_ == pytest.approx(sum(each), rel=1e-10)
    covariance = model.predict(NEW, return_cov=True)[1]
    assert covariance.shape == (15, 15, 3)
    for target, one in enumerate(alone):
        np.testing.assert_allclose(covariance[:, :, target], one.predict(NEW, return_cov=True)[1], rtol=1e-8)
    evident = exact("evidence").fit(X, Y)
    for factor in (0.98, 1.02):
        other = exact(evident.alpha_ * factor).fit(X, Y)
        assert other.log_marginal_likelihood_ < evident.log_marginal_likelihood_


def test_weights_count_as_repetitions():
    X, y = rows(40)
    times = np.random.default_rng(3).integers(1, 4, size=40)
    fourier = mercer.RandomFourier(Gaussian(0.3), n_components=30, random_state=0)
    given = {"map": fourier, "alpha": "evidence", "keep_statistics": True, "preparation": None}
    weighted = KernelRegressor(**given).fit(X, y, sample_weight=times)
    repeated = KernelRegressor(**given).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.alpha_ == pytest.approx(repeated.alpha_, rel=1e-8)
    assert weighted.log_marginal_likelihood_ == pytest.approx(repeated.log_marginal_likelihood_, rel=1e-9)


def test_parts_that_are_added_merged_and_forgotten_have_the_same_evidence():
    X, y = rows(90)
    fourier = mercer.RandomFourier(Gaussian(0.3), n_components=30, random_state=0)
    given = {"map": fourier, "alpha": "evidence", "keep_statistics": True, "preparation": None}
    whole = KernelRegressor(**given).fit(X, y)
    added = KernelRegressor(**given).partial_fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    merged = KernelRegressor(**given).fit(X[:40], y[:40]).merge(KernelRegressor(**given).fit(X[40:], y[40:]))
    more = np.concatenate([X, X[:20] + 0.1]), np.concatenate([y, y[:20]])
    forgotten = KernelRegressor(**given).fit(*more).forget(X[:20] + 0.1, y[:20])
    for model in (added, merged, forgotten):
        assert model.alpha_ == pytest.approx(whole.alpha_, rel=1e-8)
        assert model.log_marginal_likelihood_ == pytest.approx(whole.log_marginal_likelihood_, rel=1e-8)
        found, expected = (one.predict(NEW, return_cov=True)[1] for one in (model, whole))
        np.testing.assert_allclose(found, expected, rtol=1e-7)
        found, expected = (one.sample_y(NEW, 3) for one in (model, whole))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_deviations_are_the_roots_of_variances_on_any_features():
    X, y = rows(200)
    for chosen in ("random_fourier", "nystrom", "tensor_sketch"):
        kernel = mercer.kernels.Polynomial(2, coef0=1.0) if chosen == "tensor_sketch" else Gaussian(0.3)
        model = KernelRegressor(
            kernel, map=chosen, n_components=20, alpha=1.0, keep_statistics=True, preparation=None, random_state=0
        ).fit(X, y)
        variance = np.diag(model.predict(NEW, return_cov=True)[1])
        np.testing.assert_allclose(model.predict(NEW, return_std=True)[1], np.sqrt(variance), rtol=1e-9)
        values, blocks = model.predict(NEW), mercer.data.open(NEW)
        np.testing.assert_array_equal(model.predict(blocks, return_cov=True)[0], values)
        np.testing.assert_allclose(np.diag(model.predict(blocks, return_cov=True)[1]), variance, rtol=1e-12)


def test_far_from_all_landmarks_a_target_is_as_open_as_before():
    X, y = rows(200)
    model = exact(0.1, Gaussian(1.0), n_components=20, fit_intercept=True).fit(X, y)
    noise = float(model.posterior().noise[0])
    deviation = model.predict(np.array([[50.0, 50.0]]), return_std=True)[1]
    known = noise * (1.0 + 1.0 / 200 + 1.0 / 0.1)
    assert known < deviation[0] ** 2 < 1.2 * known  # the features' mean is open too


@pytest.mark.parametrize("noise", [False, True])
def test_samples_have_the_mean_and_the_covariance(noise):
    """20,000 samples: the largest of 120 entries is off by less than five standard errors, in 1 of 10^4 seeds."""
    X, y = rows()
    fourier = mercer.RandomFourier(Gaussian(0.3), n_components=30, random_state=0)
    model = KernelRegressor(map=fourier, alpha=0.5, keep_statistics=True, preparation=None, extrapolate="free")
    mean, covariance = model.fit(X, y).predict(NEW, return_cov=True)
    if not noise:
        covariance = covariance - model.posterior().noise[0] * np.eye(len(NEW))
    drawn = model.sample_y(NEW, 20_000, random_state=1, noise=noise)
    assert drawn.shape == (15, 20_000)
    variance = np.diag(covariance)
    error = np.sqrt(variance / 20_000)
    assert np.abs((drawn.mean(axis=1) - mean) / error).max() < 5.0
    spread = np.sqrt((np.outer(variance, variance) + covariance**2) / 20_000)
    assert np.abs((np.cov(drawn) - covariance) / spread).max() < 5.0


def test_samples_on_landmarks_are_spread_as_deviations_tell():
    X, y = rows(targets=2)
    model = exact(0.3, n_components=25, fit_intercept=True).fit(X, y)
    deviation = model.predict(NEW, return_std=True)[1]
    drawn = model.sample_y(NEW, 20_000)
    assert drawn.shape == (15, 2, 20_000)
    np.testing.assert_allclose(drawn.std(axis=2), deviation, rtol=5.0 / np.sqrt(2 * 20_000))


@pytest.mark.parametrize("noise", [False, True])
def test_samples_vary_together_with_what_landmarks_miss(noise):
    X, y = rows()
    model = exact(0.05, Matern(0.5, length_scale=2.0)).fit(X, y)
    covariance = model.predict(NEW, return_cov=True)[1] - (0 if noise else model.posterior().noise[0] * np.eye(15))
    drawn, variance = model.sample_y(NEW, 20_000, random_state=3, noise=noise), np.diag(covariance)
    spread = np.sqrt((np.outer(variance, variance) + covariance**2) / 20_000)
    assert np.abs((np.cov(drawn) - covariance) / spread).max() < 5.0


def test_samples_of_many_rows_are_spread_as_deviations_tell(monkeypatch):
    monkeypatch.setattr("mercer.learn.gaussian_process.JOINT_ROWS", 14)
    X, y = rows()
    model = exact(0.3, n_components=25).fit(X, y)
    drawn = model.sample_y(NEW, 20_000)
    np.testing.assert_allclose(
        drawn.std(axis=1), model.predict(NEW, return_std=True)[1], rtol=5.0 / np.sqrt(2 * 20_000)
    )
    smooth = model.sample_y(NEW, 20_000, noise=False)
    assert (smooth.std(axis=1) < drawn.std(axis=1)).all()


def test_roots_of_semidefinite_matrices():
    half = np.random.default_rng(0).normal(size=(9, 4))
    root = semidefinite_root(half @ half.T)
    np.testing.assert_allclose(root @ root.T, half @ half.T, atol=1e-10)
    assert (semidefinite_root(np.zeros((3, 3))) == 0.0).all()
    assert semidefinite_root(np.zeros((0, 0))).shape == (0, 0)


def test_samples_are_functions_of_the_seed():
    X, y = rows()
    fourier = mercer.RandomFourier(Gaussian(0.3), n_components=30, random_state=0)
    model = KernelRegressor(map=fourier, alpha=0.3, keep_statistics=True, preparation=None).fit(X, y)
    few, many = model.sample_y(NEW, 2, random_state=5), model.sample_y(NEW, 6, random_state=5)
    np.testing.assert_allclose(few, many[:, :2], rtol=1e-12)
    assert not np.allclose(few, model.sample_y(NEW, 2, random_state=6))
    smooth = model.sample_y(NEW, 3, random_state=5, noise=False)
    np.testing.assert_allclose(model.sample_y(NEW[4:9], 3, random_state=5, noise=False), smooth[4:9], rtol=1e-12)


def test_model_files_hold_the_evidence(tmp_path):
    X, y = rows()
    model = exact("evidence").fit(X, y)
    mercer.save(model, tmp_path / "process.mercer")
    loaded = mercer.load(tmp_path / "process.mercer")
    assert loaded.log_marginal_likelihood_ == model.log_marginal_likelihood_
    np.testing.assert_array_equal(loaded.sample_y(NEW, 2), model.sample_y(NEW, 2))
    np.testing.assert_array_equal(loaded.predict(NEW, return_cov=True)[1], model.predict(NEW, return_cov=True)[1])


def test_a_matrix_of_kernel_values_has_no_part_that_is_missed():
    X, y = rows()
    gram = Gaussian(0.3)(X)
    model = KernelRegressor("precomputed", alpha=0.3, keep_statistics=True, random_state=0).fit(gram, y)
    mean, deviation = model.predict(gram[:5], return_std=True)
    np.testing.assert_allclose(np.diag(model.predict(gram[:5], return_cov=True)[1]), deviation**2, rtol=1e-9)
    assert model.sample_y(gram[:5], 4).shape == (5, 4)
    assert np.isfinite(mean).all()


def test_what_has_no_evidence():
    X, y = rows()
    assert not hasattr(exact(0.0, Gaussian(1e-3)).fit(X[:2], y[:2]), "log_marginal_likelihood_")
    assert not hasattr(exact(1.0).fit(X, np.zeros(60)), "log_marginal_likelihood_")
    assert not hasattr(exact(1.0, loss="huber", keep_statistics=False).fit(X, y), "log_marginal_likelihood_")
    with pytest.raises(ValueError, match="map='nystrom' with as many components as rows is exact too"):
        KernelRegressor("gaussian", map="exact", alpha="evidence").fit(X, y)
    with pytest.raises(ValueError, match="alpha='evidence' requires loss='squared', found loss='huber'"):
        KernelRegressor(loss="huber", alpha="evidence").fit(X, y)
    with pytest.raises(ValueError, match="needs rows with a total weight above 1, found n_samples=1 of weight 1"):
        KernelRegressor("gaussian(0.5)", alpha="evidence").fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="cannot both be True"):
        exact(1.0).fit(X, y).predict(X, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="n_samples must be"):
        exact(1.0).fit(X, y).sample_y(X, 0)


def test_the_gradient_of_the_likelihood_is_that_of_scikit_learn():
    X, y = rows()
    model = exact(0.3).fit(X, y)
    found = model.log_marginal_likelihood_gradient(X, y)
    noise = 0.3 * y @ np.linalg.solve(Matern(1.5, length_scale=1.3)(X) + 0.3 * np.eye(60), y) / 60
    other = peer(noise / 0.3, noise).fit(X, y)
    _, (of_factor, of_length, of_noise) = other.log_marginal_likelihood(other.kernel_.theta, eval_gradient=True)
    assert found.alpha == pytest.approx(-of_factor, rel=1e-7)
    assert found.fields["length_scale"] == pytest.approx(of_length, rel=1e-6)
    assert found.columns.sum() == pytest.approx(-of_length, rel=1e-6)
    assert of_factor + of_noise == pytest.approx(0.0, abs=1e-7)  # no other noise is likelier
    each = peer(noise / 0.3, noise, kernels.Matern([1.3, 1.3], nu=1.5)).fit(X, y)
    _, gradient = each.log_marginal_likelihood(each.kernel_.theta, eval_gradient=True)
    np.testing.assert_allclose(found.columns, -gradient[1:3], rtol=1e-6)


KERNELS = [
    Gaussian(0.3),
    Gaussian((0.3, 0.8)),
    2.0 * Matern(2.5, length_scale=1.3) + 0.5 * Linear(),
    Laplacian(0.4),
    Cauchy(0.5) * Gaussian(0.2),
    Polynomial(3, gamma=0.3, coef0=0.7),
    0.5 * Exponential(0.1),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("intercept", [False, True])
def test_the_gradient_of_the_likelihood_is_that_of_differences(kernel, intercept):
    """On given landmarks, which stay; of two targets, with weights."""
    X, Y = rows(80, targets=2)
    X, weight = X / 2.0, np.random.default_rng(1).uniform(0.5, 2.0, size=80)

    def fitted(kernel, rows, alpha=0.4, known=12):
        map = mercer.Nystrom(kernel, landmarks=rows[:known])
        model = KernelRegressor(map=map, alpha=alpha, fit_intercept=intercept, keep_statistics=True, preparation=None)
        return model.fit(rows, Y, sample_weight=weight)

    def slope(at):
        return (at(1e-5).log_marginal_likelihood_ - at(-1e-5).log_marginal_likelihood_) / 2e-5

    found = fitted(kernel, X).log_marginal_likelihood_gradient(X, Y, weight)
    assert found.alpha == pytest.approx(slope(lambda step: fitted(kernel, X, 0.4 * np.exp(step))), rel=1e-5, abs=1e-6)
    if not isinstance(kernel, Gaussian) or not isinstance(kernel.gamma, tuple):
        for column in range(2):
            factors = np.eye(2)[column]
            expected = slope(lambda step: fitted(kernel, X * np.exp(step * factors)))  # noqa: B023 - called at once
            assert found.columns[column] == pytest.approx(expected, rel=1e-4, abs=1e-5)
    given = {name for name, value in kernel.get_params().items() if isinstance(value, float | tuple)}
    assert set(found.fields) == {name for name in given if not name.endswith("nu")}
    for name, value in found.fields.items():
        start = kernel.get_params()[name]
        if isinstance(start, tuple):
            for place in range(len(start)):

                def moved(step, start=start, place=place, name=name):
                    return kernel.replace(
                        **{name: tuple(one * np.exp(step * (n == place)) for n, one in enumerate(start))}
                    )

                expected = slope(lambda step: fitted(moved(step), X))
                assert value[place] == pytest.approx(expected, rel=1e-4, abs=1e-5), name
        else:
            expected = slope(lambda step: fitted(kernel.replace(**{name: start * np.exp(step)}), X))  # noqa: B023
            assert value == pytest.approx(expected, rel=1e-4, abs=1e-5), name


@pytest.mark.parametrize("kernel", [Gaussian(0.3), 0.7 * Matern(1.5, length_scale=1.1)], ids=repr)
def test_the_gradient_of_the_likelihood_on_random_features(kernel):
    X, y = rows(80)

    def fitted(kernel):
        map = mercer.RandomFourier(kernel, n_components=20, random_state=0)
        return KernelRegressor(map=map, alpha=0.4, keep_statistics=True, preparation=None).fit(X, y)

    found = fitted(kernel).log_marginal_likelihood_gradient(X, y)
    for name, value in found.fields.items():
        start = kernel.get_params()[name]
        up, down = (fitted(kernel.replace(**{name: start * np.exp(step)})) for step in (1e-5, -1e-5))
        expected = (up.log_marginal_likelihood_ - down.log_marginal_likelihood_) / 2e-5
        assert value == pytest.approx(expected, rel=1e-4, abs=1e-5), name


def test_a_search_climbs_the_likelihood():
    """A gradient search for one bandwidth per column finds that the second column is irrelevant."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(120, 2))
    y, place = np.sin(3.0 * X[:, 0]) + 0.1 * rng.normal(size=120), np.log([0.5, 0.5])

    def at(place):
        model = exact("evidence", Gaussian(tuple(np.exp(place).tolist()))).fit(X, y)
        return -model.log_marginal_likelihood_, -model.log_marginal_likelihood_gradient(X, y).fields["gamma"]

    found = scipy.optimize.minimize(at, place, jac=True, method="L-BFGS-B", bounds=[(-9.0, 5.0)] * 2)
    assert found.fun < at(place)[0] - 10.0
    assert np.exp(found.x[1] - found.x[0]) < 0.01


def test_what_has_no_gradient_of_the_likelihood():
    X, y = np.abs(rows()[0]), rows()[1]
    model = exact(0.3, mercer.kernels.AdditiveChi2()).fit(X, y)
    with pytest.raises(ValueError, match="has no derivatives with respect to columns"):
        model.log_marginal_likelihood_gradient(X, y)
    with pytest.raises(ValueError, match="there are no sums"):
        exact(0.3, keep_statistics=False, solver="features").fit(X, y).log_marginal_likelihood_gradient(X, y)
