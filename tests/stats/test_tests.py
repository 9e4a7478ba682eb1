"""Tests of two samples and of independence against their quadratic formulas, and their level and power."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import norm

import mercer
from mercer import stats
from mercer.kernels import Gaussian, Linear
from mercer.stats import HSICTest, MMDTest, hsic_test, mmd_test

LEVEL = 0.05


def two_samples(n=40, m=60, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.normal(size=(m, 3)) + shift


def quadratic_mmd(X, Y, kernel):
    return kernel(X, X).mean() + kernel(Y, Y).mean() - 2.0 * kernel(X, Y).mean()


def quadratic_hsic(X, Y, kernel_x, kernel_y):
    n = len(X)
    H = np.eye(n) - 1.0 / n
    return np.trace(kernel_x(X, X) @ H @ kernel_y(Y, Y) @ H) / n**2


# -- against the formulas ----------------------------------------------------------------------------------------------


def test_mmd_with_all_rows_as_landmarks_is_that_of_the_kernel():
    X, Y = two_samples(shift=0.3)
    found = mmd_test(X, Y, Gaussian(0.2), n_components=100, random_state=0)
    assert found.statistic == pytest.approx(quadratic_mmd(X, Y, Gaussian(0.2)), rel=1e-6)
    assert found.method == "permutation"


def test_permutations_of_single_rows_are_those_of_the_formula():
    X, Y = two_samples(12, 20)
    K = Gaussian(0.2)(np.concatenate([X, Y]))
    found = mmd_test(X, Y, Gaussian(0.2), n_components=32, n_permutations=300, random_state=1)
    rng, naive = np.random.default_rng(0), []
    for _ in range(3000):
        weights = np.where(rng.permutation(32) < 12, 1.0 / 12, -1.0 / 20)
        naive.append(weights @ K @ weights)
    # Two samples of the same distribution: the mean of 300 is known to within a few per cent.
    assert found.null.mean() == pytest.approx(np.mean(naive), rel=0.1)
    assert np.quantile(found.null, 0.9) == pytest.approx(np.quantile(naive, 0.9), rel=0.15)


def test_hsic_with_all_rows_as_landmarks_is_that_of_the_kernels():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 2)), rng.normal(size=60)
    kernels = Gaussian(0.2), Gaussian(0.7)
    expected = quadratic_hsic(X, Y[:, None], *kernels)
    for method in ("permutation", "wild"):
        found = hsic_test(X, Y, *kernels, n_components=60, method=method, random_state=0)
        assert found.statistic == pytest.approx(expected, rel=1e-5)
        assert found.method == method


def test_hsic_is_about_the_means_of_the_rows_that_are_tested():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 2)), rng.normal(size=(60, 1))
    kernels = Gaussian(0.2), Gaussian(0.7)
    test = HSICTest(*kernels, n_components=60, random_state=0).prepare(X, Y)
    tested = X[:, 0] + Y[:, 0] > 0.5
    found = test.update(X[tested], Y[tested]).result()
    assert found.statistic == pytest.approx(quadratic_hsic(X[tested], Y[tested], *kernels), rel=1e-5)


def test_permutations_of_hsic_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 1))
    kernels = Gaussian(0.2), Gaussian(0.7)
    found = hsic_test(X, Y, *kernels, n_components=30, n_permutations=400, random_state=1)
    H = np.eye(30) - 1.0 / 30
    K, L = H @ kernels[0](X) @ H, kernels[1](Y)
    orders = [rng.permutation(30) for _ in range(2000)]
    naive = [(K * L[np.ix_(order, order)]).sum() / 30**2 for order in orders]
    assert found.null.mean() == pytest.approx(np.mean(naive), rel=0.05)
    assert np.quantile(found.null, 0.9) == pytest.approx(np.quantile(naive, 0.9), rel=0.1)


@pytest.mark.parametrize("as_rows", [np.asarray, pd.DataFrame, sp.csr_array])
def test_rows_that_are_all_equal_show_no_difference(as_rows):
    rows = as_rows(np.ones((30, 2)))
    assert mmd_test(rows, rows, random_state=0).pvalue == 1.0
    assert mmd_test(rows, as_rows(np.zeros((30, 2))), random_state=0).pvalue == 0.001


@pytest.mark.parametrize("method", ["permutation", "wild"])
def test_a_constant_depends_on_nothing(method):
    x = np.random.default_rng(0).normal(size=40)
    assert hsic_test(np.full(40, 0.1), x, method=method, random_state=0).pvalue == 1.0


@pytest.mark.parametrize("method", ["permutation", "wild"])
@pytest.mark.parametrize("offset", [0.0, 1e8, -3e10])
def test_what_depends_on_what_is_seen_far_from_the_origin(method, offset):
    """The mean is far longer than its distance from rows, whose digits remain."""
    x = np.random.default_rng(0).normal(size=200)
    found = hsic_test(offset + x, 2.0 * offset - x, Linear(), Linear(), method=method, random_state=0)
    assert found.pvalue == 0.005
    many = np.full(200, offset + 0.1)
    assert hsic_test(many, x, Linear(), Linear(), method=method, random_state=0).pvalue == 1.0


# -- streams -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "wild"])
def test_mmd_in_batches_and_parts_has_the_same_statistic(method):
    X, Y = two_samples(5000, 4000, shift=0.05)
    given = {"n_components": 32, "method": method, "random_state": 0}
    whole = MMDTest(**given).prepare(X, Y).update(X, Y)
    stream = MMDTest(**given).prepare(X, Y)
    for first in range(0, 5000, 700):
        stream.update(X[first : first + 700])
        stream.update(Y=Y[first : first + 700] if first < 4000 else None)
    left, right = whole.fresh().update(X[:3000], Y[:100]), whole.fresh().update(X[3000:], Y[100:])
    merged = left.merge(right)
    for test in (stream, merged):
        found, expected = test.result(), whole.result()
        assert found.statistic == pytest.approx(expected.statistic)
        assert found.pvalue == pytest.approx(expected.pvalue, abs=0.08)
    assert whole.result()[:2] == whole.result()[:2]


def test_hsic_in_batches_and_parts_has_the_same_statistic():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 2))
    Y = X[:, 0] * rng.normal(size=2500)
    whole = HSICTest(n_components=16, random_state=0).prepare(X, Y).update(X, Y)
    stream = whole.fresh()
    for first in range(0, 2500, 90):
        stream.update(X[first : first + 90], Y[first : first + 90])
    merged = whole.fresh().update(X[:700], Y[:700]).merge(whole.fresh().update(X[700:], Y[700:]))
    expected = whole.result()
    assert expected.pvalue == 0.005
    for test in (stream, merged):
        assert test.result().statistic == pytest.approx(expected.statistic)
        assert test.result().pvalue == expected.pvalue
    # Batches do not change where chunks are cut.
    np.testing.assert_allclose(stream.result().null, expected.null)


def test_parts_with_other_features_are_not_merged():
    X, Y = two_samples()
    first, other = (MMDTest(random_state=seed).update(X, Y) for seed in (0, 1))
    with pytest.raises(ValueError, match="sums of different features"):
        first.merge(other)
    independence = HSICTest(random_state=0).update(X, X[:, 0])
    with pytest.raises(ValueError, match="same method and permutations"):
        independence.merge(HSICTest(random_state=0, method="wild").update(X, X[:, 0]))


# -- level and power ---------------------------------------------------------------------------------------------------


def alarms(pvalue, runs):
    return np.mean([pvalue(seed) <= LEVEL for seed in range(runs)])


def mmd_of_equals(seed, n=60, m=80, method="auto"):
    rng = np.random.default_rng(seed)
    X, Y = rng.exponential(size=(n, 2)), rng.exponential(size=(m, 2))
    return mmd_test(X, Y, n_components=32, n_permutations=99, method=method, random_state=seed).pvalue


def hsic_of_strangers(seed, n=100, method="permutation"):
    rng = np.random.default_rng(seed)
    X, Y = rng.exponential(size=(n, 2)), rng.normal(size=n)
    return hsic_test(X, Y, n_components=16, n_permutations=99, method=method, random_state=seed).pvalue


@pytest.mark.parametrize("pvalue", [mmd_of_equals, hsic_of_strangers])
def test_false_alarms_are_as_rare_as_they_should_be(pvalue):
    # In 100 runs at 5 %, more than 11 alarms or none at all occur about once in a hundred times.
    assert 0.01 <= alarms(pvalue, 100) <= 0.11


@pytest.mark.full
@pytest.mark.parametrize(
    "pvalue",
    [
        mmd_of_equals,
        lambda seed: mmd_of_equals(seed, 5000, 3000),
        lambda seed: mmd_of_equals(seed, 20_000, 200),
        lambda seed: mmd_of_equals(seed, 400, 500, "wild"),
        hsic_of_strangers,
        lambda seed: hsic_of_strangers(seed, 2500),
        lambda seed: hsic_of_strangers(seed, 500, "wild"),
        lambda seed: hsic_of_strangers(seed, 5000, "wild"),
    ],
    ids=["mmd", "mmd-bins", "mmd-lopsided", "mmd-wild", "hsic", "hsic-chunks", "hsic-wild", "hsic-wild-bins"],
)
def test_false_alarms_over_2000_runs(pvalue):
    # Tests that keep their level fail one of these eight once in a thousand times.
    allowed = norm.isf(0.001 / 8 / 2) * np.sqrt(LEVEL * (1 - LEVEL) / 2000)
    assert abs(alarms(pvalue, 2000) - LEVEL) <= allowed


def test_a_shift_that_bins_must_not_hide_is_found():
    X, Y = two_samples(20_000, 15_000, shift=0.04)
    assert mmd_test(X, Y, n_components=64, random_state=0).pvalue == 0.001
    assert mmd_test(X, Y, n_components=64, method="wild", random_state=0).pvalue < 0.01


@pytest.mark.parametrize("method", ["permutation", "wild"])
def test_dependence_without_correlation_is_found(method):
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    y = np.abs(x) + rng.normal(size=600)
    assert hsic_test(x, y, random_state=0, method=method).pvalue == 0.005


def test_a_sample_that_is_much_smaller_has_random_signs():
    X, Y = two_samples(50_000, 150)
    found = mmd_test(X, Y, n_components=32, random_state=0)
    assert found.method == "wild"
    assert found.pvalue > LEVEL
    assert mmd_test(X, Y + 0.5, n_components=32, random_state=0).pvalue < 0.01
    with pytest.raises(ValueError, match="at least 32 bins of 32 rows"):
        mmd_test(X, Y, n_components=32, method="permutation", random_state=0)


def test_equal_rows_are_never_distinguished():
    X = np.ones((20, 2))
    assert mmd_test(X, X, Gaussian(1.0), random_state=0).pvalue == 1.0


# -- rows of all kinds -------------------------------------------------------------------------------------------------


def test_rows_of_every_kind_give_the_same_result():
    X, Y = two_samples(300, 200, shift=0.2)
    expected = mmd_test(X, Y, n_components=32, random_state=0)
    names = ["a", "b", "c"]
    frames = pd.DataFrame(X, columns=names), pd.DataFrame(Y, columns=names)
    pairs = [(sp.csr_array(X), sp.csr_array(Y)), frames, (mercer.data.open(X), mercer.data.open(Y))]
    for left, right in pairs:
        found = mmd_test(left, right, n_components=32, random_state=0)
        assert found.statistic == pytest.approx(expected.statistic)
        assert found.pvalue == expected.pvalue
    single = mmd_test(X.astype(np.float32), Y.astype(np.float32), n_components=32, random_state=0)
    assert single.statistic == pytest.approx(expected.statistic, rel=1e-3)


def test_a_map_may_take_the_place_of_a_kernel():
    X, Y = two_samples(300, 200, shift=0.3)
    map = mercer.RandomFourier(Gaussian(0.2), n_components=64)
    assert mmd_test(X, Y, map, random_state=0).pvalue < LEVEL
    assert hsic_test(X, X[:, 0], map, random_state=0).pvalue < LEVEL
    assert not hasattr(map, "fitted_")


def test_threads_do_not_change_a_bit():
    X, Y = two_samples(2000, 2000)
    one, two = (hsic_test(X, Y, n_components=16, random_state=0, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.null, two.null)


@pytest.mark.parametrize("cls", [MMDTest, HSICTest])
def test_invalid_arguments_are_refused(cls):
    for given in ({"n_components": 0}, {"n_permutations": 1.5}, {"method": "bootstrap"}, {"n_jobs": 0}):
        with pytest.raises(ValueError, match=next(iter(given))):
            cls(**given)
    with pytest.raises(ValueError, match="has no rows yet"):
        cls().result()


def test_invalid_rows_are_refused():
    X, Y = two_samples()
    with pytest.raises(ValueError, match="40 and 60"):
        hsic_test(X, Y)
    with pytest.raises(ValueError, match="2 features"):
        mmd_test(X, Y[:, :2])
    with pytest.raises(ValueError, match="3 columns"):
        mmd_test(mercer.data.open(X), mercer.data.open(Y[:, :2]))
    with pytest.raises(ValueError, match="at least 2 rows"):
        MMDTest().update(X).result()
    with pytest.raises(ValueError, match="NaN"):
        mmd_test(X, np.where(Y > 2, np.nan, Y))
    frame = pd.DataFrame({"size": X[:, 0], "town": ["oslo", "rome"] * (len(X) // 2)})
    for test in (mmd_test, hsic_test):
        with pytest.raises(ValueError, match="columns of numbers, found text in column 'town'"):
            test(frame, frame)


def foreign():
    """Makers of arrays of other libraries."""
    try:
        import torch
    except ImportError:
        return ()
    return (torch.tensor,)


@pytest.mark.parametrize("test", [mmd_test, hsic_test])
def test_arrays_of_other_libraries_are_rows(test):
    X, Y = two_samples()
    count = min(len(X), len(Y))
    expected = test(X[:count], Y[:count], random_state=0).pvalue
    for made in foreign():
        assert test(made(X[:count]), made(Y[:count]), random_state=0).pvalue == expected


@pytest.mark.parametrize("test", [mmd_test, hsic_test])
def test_vectors_are_columns(test):
    x, y = np.random.default_rng(0).normal(size=(2, 50))
    expected = test(x[:, None], y[:, None], random_state=0).pvalue
    for made in (np.asarray, list, pd.Series, *foreign()):
        assert test(made(x), made(y), random_state=0).pvalue == expected


def test_public_names():
    assert mercer.stats is stats
    assert set(stats.__all__) <= set(dir(stats))


def test_random_signs_of_too_few_rows_warn():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(31, 2)), rng.normal(size=(400, 2))
    with pytest.warns(UserWarning, match="too small with only 31 rows, fewer than 32"):
        mmd_test(X, Y, method="wild", random_state=0)
    with pytest.warns(UserWarning, match="too small with only 31 rows, fewer than 32"):
        hsic_test(X, Y[:31], method="wild", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mmd_test(Y[:32], Y, method="wild", random_state=0)
        hsic_test(X[:31], Y[:31], random_state=0)
