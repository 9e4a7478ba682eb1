"""Ridge regression on float32 rows is as accurate as on float64 rows, however small alpha is."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mercer import Nystrom
from mercer.kernels import Gaussian, Polynomial
from mercer.learn import KernelClassifier, KernelRegressor

N_TRAIN = 2500
TENTH_OF_A_PERCENT = 1e-3


@pytest.fixture(scope="module")
def heavy():
    """Lognormal columns, some rows far out, and a smooth target: features that nearly depend on each other."""
    rng = np.random.default_rng(3)
    X = rng.lognormal(size=(4000, 4))
    logs = np.log(X)
    y = np.sin(2.0 * logs[:, 0]) + logs[:, 1] * np.tanh(logs[:, 2]) + 0.1 * rng.normal(size=4000)
    X[rng.choice(N_TRAIN, 5, replace=False)] *= 10.0 ** rng.uniform(1.0, 2.0, size=(5, 1))
    return X, y


def in_both_precisions(heavy, kernel, weight=1.0, **arguments):
    """R2 on new rows, of rows in float64 and in float32, and the models."""
    X, y = heavy
    scores, models = [], []
    for dtype in (np.float64, np.float32):
        model = KernelRegressor(
            kernel,
            n_components=128,
            scale="standard",
            random_state=0,
            **({"alpha": 1.0, "preparation": None} | arguments),
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="the features are linearly dependent")
            warnings.filterwarnings("ignore", message="(?s).*leverage")
            model.fit(X[:N_TRAIN].astype(dtype), y[:N_TRAIN], sample_weight=np.full(N_TRAIN, weight))
        models.append(model)
        scores.append(model.score(X[N_TRAIN:].astype(dtype), y[N_TRAIN:]))
    return scores, models


@pytest.mark.parametrize("map", ["OrthogonalFourier", "Nystrom"])
@pytest.mark.parametrize("alpha", ["gcv", "loo", "holdout", 1e-4, 2e-3, 0.05])
def test_r2_does_not_depend_on_the_precision_of_rows(heavy, map, alpha):
    (double, single), _ = in_both_precisions(heavy, Gaussian(0.05), map=map, alpha=alpha)
    assert abs(single - double) < TENTH_OF_A_PERCENT * max(1.0, 1.0 - double)  # where R2 is negative, of the error


@pytest.mark.parametrize("alpha", [1e-4, 2e-3, 0.05])
def test_float32_rows_do_as_well_as_float64_rows_on_landmarks(heavy, alpha):
    arguments = {"map": "Nystrom", "solver": "landmarks", "alpha": alpha, "tol": 1e-5}
    (double, single), _ = in_both_precisions(heavy, Gaussian(0.05), **arguments)
    assert abs(single - double) < TENTH_OF_A_PERCENT * max(1.0, 1.0 - double)  # where R2 is negative, of the error


@pytest.mark.parametrize(
    ("kernel", "weight", "alpha"),
    [(1000.0 * Gaussian(0.05), 1.0, 1.0), (Gaussian(0.05), 1000.0, 1.0), (Polynomial(3, gamma=0.25), 1.0, 1.0)],
    ids=["scaled kernel", "heavy rows", "polynomial"],
)
def test_the_effect_of_alpha_does_not_depend_on_the_size_of_features(heavy, kernel, weight, alpha):
    """No direction that alpha stabilises is dropped as rounding, which would cause a warning."""
    X, _ = heavy
    _, (double, single) = in_both_precisions(heavy, kernel, weight, alpha=alpha, map="Nystrom")
    new = X[N_TRAIN:]
    ours, theirs = single.predict(new.astype(np.float32)), double.predict(new)
    assert np.median(np.abs(ours - theirs)) < TENTH_OF_A_PERCENT * np.std(theirs)
    assert single._precision < 1e-10  # in float64, as the rows require


def test_ordinary_rows_are_summed_in_float32(heavy):
    _, (double, single) = in_both_precisions(heavy, Gaussian(0.05), alpha=1.0, map="OrthogonalFourier")
    assert (double._precision, single._precision) == (np.finfo(np.float64).eps, np.finfo(np.float32).eps)


def test_only_the_chunks_that_ask_for_digits_are_summed_in_float64():
    rng = np.random.default_rng(0)
    X, alpha = rng.normal(size=(3 * 4096, 3)).astype(np.float32), 1.0
    X[5] *= 300.0  # a row of the first chunk
    y = X[:, 1].astype(np.float64)
    model = KernelRegressor(Polynomial(2, gamma=1.0), n_components=8, map="Nystrom", alpha=alpha, random_state=0)
    model.set_params(keep_statistics=True).fit(X, y)
    assert np.finfo(np.float64).eps < model._precision < 1e-3 * np.finfo(np.float32).eps
    assert model.statistics_.rounding(model._precision) < alpha


def test_batches_add_up_to_sums_that_alpha_still_holds():
    """Each batch alone could be summed in float32, but all of them together could not."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 2)).astype(np.float32)
    y, alpha = np.sin(3.0 * X[:, 0]).astype(np.float64), 4.0 * float(np.finfo(np.float32).eps) * 1000.0
    parts = KernelRegressor(Gaussian(0.01), n_components=32, map="Nystrom", alpha=alpha, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parts.prepare(X)
        for start in range(0, 4000, 400):
            parts.partial_fit(X[start : start + 400], y[start : start + 400])
        other = KernelRegressor(Gaussian(0.01), n_components=32, map="Nystrom", alpha=alpha, random_state=0)
        other.prepare(X).partial_fit(X[:400], y[:400])
    assert 1e-9 < parts._precision < np.finfo(np.float32).eps
    assert other._precision == np.finfo(np.float32).eps
    ours, theirs = parts.statistics_.rounding(parts._precision), other.statistics_.rounding(other._precision)
    assert ours < 1.1 * alpha
    before, off = parts._precision * parts.statistics_.largest(), other._precision * other.statistics_.largest()
    parts.merge(other)
    assert parts._precision * parts.statistics_.largest() == pytest.approx(before + off)
    assert parts.statistics_.rounding(parts._precision) == pytest.approx(ours + theirs, rel=1e-3)


def test_a_classifier_of_float32_rows(heavy):
    X, y = heavy
    values = []
    for dtype in (np.float64, np.float32):
        model = KernelClassifier(
            1000.0 * Gaussian(0.05), loss="squared", C=0.5, n_components=128, random_state=0, preparation=None
        )
        model.set_params(scale="standard", map="Nystrom").fit(X[:N_TRAIN].astype(dtype), y[:N_TRAIN] > 0.0)
        values.append(model.decision_function(X[N_TRAIN:].astype(dtype)))
    assert np.median(np.abs(values[1] - values[0])) < 0.01


@pytest.mark.parametrize(("norm", "digits"), [(2e4, np.float32), (4e4, np.float64)])
def test_decision_values_are_rounded_to_a_small_part_of_the_margin(norm, digits, monkeypatch):
    """Those of large coefficients at landmarks, which cancel, are products in float64."""
    X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
    landmarks = Nystrom(Gaussian(0.3), n_components=40, random_state=0)
    model = KernelClassifier(map=landmarks, solver="landmarks").fit(X, X[:, 0] > 0)
    model.coef_ *= norm / np.linalg.norm(model.coef_)
    original, taken = KernelClassifier.precision_for, []
    monkeypatch.setattr(KernelClassifier, "precision_for", lambda *given: taken.append(original(*given)) or taken[-1])
    model.decision_function(X)
    assert taken == [digits]
