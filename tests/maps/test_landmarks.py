"""How landmarks are drawn: the law of randomly pivoted Cholesky, leverage scores, centres, seeds."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chi2
from threadpoolctl import threadpool_limits

from mercer import Nystrom, _memory, kernel_error
from mercer._random import Stream
from mercer._tiles import single_threaded_blas
from mercer.data import ArrayRows
from mercer.kernels import AdditiveChi2, Gaussian, Laplacian, Linear, Polynomial
from mercer.maps import rpcholesky as rpcholesky_module
from mercer.maps.landmarks import Candidates, kmeans, leverage, leverage_scores
from mercer.maps.opaque_kernels import Precomputed
from mercer.maps.rpcholesky import rpcholesky

from ..tables import FALSE_ALARM, threshold

RULES = ["uniform", "kmeans", "leverage", "rpcholesky"]


def clusters(n=300, d=4, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[: n // 20] += 4.0
    return X


def pivots_of(A, seed, count, tol=0.0):
    return rpcholesky(Stream(seed), A.diagonal(), lambda s: A[:, s], lambda s: A[np.ix_(s, s)], count, tol)


def eliminated(A, pivots):
    """The residual of A after these pivots, by the textbook formula."""
    A = A.copy()
    for pivot in pivots:
        if A[pivot, pivot] > 1e-14:
            A = A - np.outer(A[:, pivot], A[pivot]) / A[pivot, pivot]
    return A


def law(A, count):
    """The probability of every sequence of pivots when one is drawn after another."""
    probabilities = {}
    for sequence in itertools.permutations(range(len(A)), count):
        probability = 1.0
        for place, pivot in enumerate(sequence):
            residual = eliminated(A, sequence[:place]).diagonal()
            probability *= residual[pivot] / residual.sum()
        probabilities[sequence] = probability
    assert sum(probabilities.values()) == pytest.approx(1.0)
    return probabilities


# Rows 0 and 1 are near each other, row 2 is long, row 3 is short.
FOUR = np.array([[1.0, 0.9, 0.3, 0.1], [0.9, 1.0, 0.2, 0.3], [0.3, 0.2, 2.0, 0.4], [0.1, 0.3, 0.4, 0.5]])


@pytest.mark.parametrize("proposals", [7, *(pytest.param(count, marks=pytest.mark.full) for count in (1, 2, 64))])
def test_pivots_have_the_law_of_one_draw_after_another(monkeypatch, proposals):
    monkeypatch.setattr(rpcholesky_module, "PROPOSALS", proposals)
    expected = law(FOUR, 3)
    seeds = 4000
    counts = dict.fromkeys(expected, 0)
    with single_threaded_blas():
        for seed in range(seeds):
            counts[tuple(pivots_of(FOUR, seed, 3).pivots.tolist())] += 1
    found = np.array(list(counts.values()))
    wanted = seeds * np.array(list(expected.values()))
    assert wanted.min() > 5.0
    assert ((found - wanted) ** 2 / wanted).sum() < chi2.isf(FALSE_ALARM, len(expected) - 1)


def test_the_trace_that_runs_along_is_the_true_one():
    X = clusters()
    K = Gaussian(0.2)(X)
    for count in (1, 5, 64, 100, 200):
        pivots, trace = pivots_of(K, 3, count)
        assert len(set(pivots.tolist())) == count
        assert trace == pytest.approx(np.trace(eliminated(K, pivots)), rel=1e-8)
        # If no eigenvalues are cut off, this is the residual of the map.
        W, C = K[np.ix_(pivots, pivots)], K[:, pivots]
        assert trace == pytest.approx(np.trace(K - C @ np.linalg.solve(W, C.T)), rel=1e-6)


def test_the_map_reports_the_trace_that_its_pivots_left():
    X = clusters()
    rng = Stream(4, "Nystrom").child("landmarks")
    candidates = Candidates(Gaussian(0.2), ArrayRows(X, Stream(4).child("rows")), 10**6)
    pivots, trace = candidates.pivots(rng, 50, 0.0)
    nystrom = Nystrom(Gaussian(0.2), n_components=50, landmarks="rpcholesky", random_state=4).fit(X)
    np.testing.assert_array_equal(nystrom.component_indices_, pivots)
    assert nystrom.n_components_ == 50
    assert nystrom.residual_trace_.trace == pytest.approx(trace, rel=1e-9)
    # With fewer eigenpairs than landmarks, the residual is larger than after the pivots.
    cut = Nystrom(Gaussian(0.2), n_components=50, rank=25, landmarks="rpcholesky", random_state=4).fit(X)
    assert cut.residual_trace_.trace > 1.5 * trace


def test_pivots_stop_at_the_tolerance():
    X = clusters()
    K = Gaussian(0.05)(X)
    everything = pivots_of(K, 0, 300).pivots
    total = np.trace(K)
    for tol in (0.5, 0.1, 0.01, 1e-4):
        pivots = pivots_of(K, 0, 300, tol).pivots
        np.testing.assert_array_equal(pivots, everything[: len(pivots)])
        assert np.trace(eliminated(K, pivots)) <= tol * total
        assert np.trace(eliminated(K, pivots[:-1])) > tol * total
        nystrom = Nystrom(Gaussian(0.05), n_components=10**4, landmarks="rpcholesky", tol=tol, random_state=0).fit(X)
        assert nystrom.residual_trace_.relative <= tol
        assert nystrom.n_components_ == len(nystrom.component_indices_) < 300


def test_pivots_stop_where_nothing_is_left():
    X = np.repeat(clusters(15, 3), 4, axis=0)
    for kernel, rank in ((Gaussian(1.0), 15), (Linear(), 3), (Polynomial(2), 6)):
        pivots, trace = pivots_of(kernel(X), 1, 60)
        assert len(pivots) == rank
        assert len(set((pivots // 4).tolist())) == rank
        assert trace == 0.0
    assert len(pivots_of(np.zeros((4, 4)), 0, 3).pivots) == 0


def test_a_row_that_only_seems_to_be_left_is_skipped():
    # The diagonal says that there is something in row 0, the matrix that there is not.
    A = np.diag([0.0, 1.0, 1.0])
    pivots, trace = rpcholesky(Stream(0), np.array([1e6, 1.0, 1.0]), lambda s: A[:, s], lambda s: A[np.ix_(s, s)], 3)
    assert sorted(pivots.tolist()) == [1, 2]
    assert trace == 0.0


@pytest.mark.parametrize("rule", ["leverage", "rpcholesky"])
def test_small_clusters_are_found(rule):
    # Four rows in a thousand lie apart: uniform landmarks miss them more often than not.
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(1000, 3)), 30.0 + 0.1 * rng.normal(size=(4, 3))])
    found = {
        name: sum(
            (
                Nystrom(Gaussian(0.05), n_components=60, landmarks=name, random_state=seed).fit(X).component_indices_
            ).max()
            >= 1000
            for seed in range(20)
        )
        for name in (rule, "uniform")
    }
    assert found[rule] >= 15 > found["uniform"]


def test_leverage_scores_are_their_definition():
    X = clusters(80)
    kernel = Gaussian(0.1)
    candidates = Candidates(kernel, ArrayRows(X, Stream(0)), 10**6)
    K = kernel(X)
    # All rows in the pilot: the scores are the exact ones.
    values, vectors = np.linalg.eigh(K)
    ridge = values[:-10].sum() / 10
    exact = (vectors**2 * (values / (values + ridge))).sum(axis=1)
    np.testing.assert_allclose(leverage_scores(candidates, 80), exact, rtol=1e-5)
    # A small pilot: never too small, by the residual.
    pilot = ArrayRows(X, Stream(0)).choose(16)
    W, C = K[np.ix_(pilot, pilot)], K[:, pilot]
    estimate = C @ np.linalg.solve(W, C.T)
    left = K.diagonal() - estimate.diagonal()
    tail = np.linalg.eigvalsh(estimate)[:-2].sum() + left.sum()
    ridge = tail / 2
    scores = np.linalg.solve(estimate + ridge * np.eye(80), estimate).diagonal() + left / ridge
    np.testing.assert_allclose(leverage_scores(candidates, 16), np.minimum(scores, 1.0), rtol=1e-5)


@pytest.mark.parametrize("kernel", [Gaussian(0.1), "precomputed"])
def test_more_memory_than_the_machine_has_is_refused(monkeypatch, kernel):
    X = clusters(400)
    rows = X if isinstance(kernel, Gaussian) else Gaussian(0.1)(X)
    candidates = Candidates(Precomputed() if kernel == "precomputed" else kernel, ArrayRows(rows, Stream(0)), 10**6)
    monkeypatch.setattr(_memory, "physical_memory", lambda: 400 * 100 * 8)
    monkeypatch.setattr(_memory, "SMALL", 0)
    with pytest.raises(MemoryError, match="behind leverage scores of 3 x 400 x 100 needs"):
        Nystrom(kernel, n_components=100, landmarks="leverage", random_state=0).fit(rows)
    assert candidates.columns(np.arange(100)).shape == (400, 100)
    with pytest.raises(MemoryError, match="of max_rows rows against landmarks of 400 x 101 needs"):
        candidates.columns(np.arange(101))


def test_leverage_draws_in_proportion_to_the_scores():
    X = clusters(40)
    candidates = Candidates(Gaussian(0.1), ArrayRows(X, Stream(0)), 10**6)
    scores = leverage_scores(candidates, 1)
    seeds = 4000
    # One draw: by the score itself.
    drawn = np.bincount([int(leverage(Stream(seed), candidates, 1)[0]) for seed in range(seeds)], minlength=40)
    wanted = seeds * scores / scores.sum()
    error = (drawn - wanted) / np.sqrt(wanted * (1.0 - wanted / seeds))
    assert np.abs(error).max() < threshold(40) + 1.0  # counts are not quite normal
    places = leverage(Stream(0), candidates, 12)
    assert len(set(places.tolist())) == 12


def test_centres_are_those_of_lloyds_algorithm():
    rng = np.random.default_rng(0)
    means = 10.0 * rng.normal(size=(6, 3))
    X = np.repeat(means, 30, axis=0) + 0.1 * rng.normal(size=(180, 3))
    expected = X.reshape(6, 30, 3).mean(axis=1)
    centres = kmeans(X, X[::30])
    np.testing.assert_allclose(centres, expected, rtol=1e-10)
    sparse = kmeans(sp.csr_array(X.astype(np.float32)), sp.csr_array(X[::30].astype(np.float32)))
    assert sp.issparse(sparse)
    np.testing.assert_allclose(sparse.toarray(), expected, rtol=1e-4)


@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_array])
def test_centres_of_counts_are_not_negative(form):
    rng = np.random.default_rng(0)
    X = form(rng.poisson(0.3, size=(200, 30)) * rng.uniform(0.1, 1.0, size=(200, 30)))
    nystrom = Nystrom(AdditiveChi2(), n_components=40, landmarks="kmeans", random_state=0).fit(X)
    assert nystrom.residual_trace_.relative < 0.5


def test_centres_serve_smooth_kernels_better_than_rows():
    X = np.random.default_rng(0).normal(size=(1000, 4))
    traces = {
        rule: np.mean(
            [
                Nystrom(Gaussian(0.1), n_components=30, landmarks=rule, random_state=s).fit(X).residual_trace_.trace
                for s in range(5)
            ]
        )
        for rule in RULES
    }
    assert traces["kmeans"] < 0.8 * traces["uniform"]
    assert traces["rpcholesky"] < traces["uniform"]


PINNED = {
    "uniform": [19, 43, 128, 136, 138, 147, 165, 196],
    "leverage": [25, 69, 97, 104, 109, 129, 169, 189],
    "rpcholesky": [66, 3, 196, 38, 23, 144, 142, 175],
}


@pytest.mark.parametrize("rule", list(PINNED))
def test_a_seed_always_draws_the_same_landmarks(rule):
    X = np.sin(np.arange(600.0)).reshape(200, 3)
    nystrom = Nystrom(Laplacian(0.5), n_components=8, landmarks=rule, max_rows=150, random_state=2020).fit(X)
    assert nystrom.component_indices_.tolist() == PINNED[rule]


@pytest.mark.parametrize("rule", RULES)
def test_neither_threads_nor_last_digits_decide(rule):
    X = clusters(400)
    options = {"n_components": 30, "landmarks": rule, "random_state": 0}
    with threadpool_limits(1):
        one = Nystrom(Gaussian(0.2), **options, n_jobs=1).fit(X).parameters_
    with threadpool_limits(2):
        two = Nystrom(Gaussian(0.2), **options, n_jobs=2).fit(X).parameters_
    for left, right in zip(one, two, strict=True):
        np.testing.assert_array_equal(left, right)
    for other in (0.3 * X + 0.7 * X, sp.csr_array(X)):
        again = Nystrom(Gaussian(0.2), **options).fit(other)
        np.testing.assert_array_equal(again.parameters_.indices, one.indices)
        np.testing.assert_allclose(again.parameters_.landmarks, one.landmarks, rtol=1e-9, atol=1e-12)


def test_rows_are_chosen_by_number():
    X = np.arange(2000.0).reshape(-1, 2)
    for rows in (ArrayRows(X, Stream(0)), ArrayRows(sp.csr_array(X), Stream(0))):
        numbers = rows.choose(30)
        assert numbers.dtype == np.int64
        assert set(rows.choose(10)) < set(numbers)
        sample = rows.sample(30)
        np.testing.assert_array_equal(sample.toarray() if sp.issparse(sample) else sample, X[numbers])
        np.testing.assert_array_equal(rows.choose(5000), np.arange(1000))
        assert rows.dtype == np.float64
    objects = ArrayRows(np.array(["a", "bc", None], dtype=object), Stream(0))
    assert (objects.n_rows, objects.n_features) == (3, 1)
    assert objects.take(np.array([1])).tolist() == ["bc"]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("count", [30, 60, 99])
def test_centres_of_repeated_rows_are_these_rows(form, count):
    X = np.repeat(np.abs(np.random.default_rng(0).normal(size=(10, 5))), 10, axis=0)
    features = Nystrom(Gaussian(0.1), n_components=count, landmarks="kmeans", random_state=0).fit(form(X))
    assert kernel_error(features, form(X)).relative < 1e-7
