"""Novelty: scores against the formula in the space of the kernel, rows left out, p-values, streams and files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

import mercer
from mercer import Nystrom, RandomFourier
from mercer.data import Blocks
from mercer.kernels import Gaussian
from mercer.learn import KernelNovelty
from mercer.learn.statistics.kept_sample import KEPT

KERNEL = Gaussian(0.3)


def rows(n=80, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def distances(X, new, alpha):
    """Squared Mahalanobis distances in the space of the kernel, computed only from its matrix.

    With f = phi(x) - mean and C the covariance of the rows, (C + penalty)^-1 is (1 - A' (A A' + n penalty)^-1 A) /
    penalty, where A has the centred rows.
    """
    n = len(X)
    K, k = KERNEL(X), KERNEL(new, X)
    centred = K - K.mean(axis=0) - K.mean(axis=0)[:, None] + K.mean()
    penalty = alpha * np.trace(centred) / n
    cross = k - k.mean(axis=1, keepdims=True) - K.mean(axis=0) + K.mean()
    own = 1.0 - 2.0 * k.mean(axis=1) + K.mean()
    solved = np.linalg.solve(centred + n * penalty * np.eye(n), cross.T)
    return (own - (cross.T * solved).sum(axis=0)) / penalty


@pytest.mark.parametrize("alpha", [0.5, 0.01, 1e-5])
def test_with_all_rows_as_landmarks_scores_are_those_of_the_kernel(alpha):
    X, new = rows(), 1.5 * rows(30, seed=1)
    model = KernelNovelty(KERNEL, alpha=alpha, random_state=0).fit(X)
    np.testing.assert_allclose(-model.score_samples(new), distances(X, new, alpha), rtol=1e-5)


@pytest.mark.parametrize(
    "map",
    [RandomFourier(KERNEL, n_components=20, random_state=0), Nystrom(KERNEL, n_components=20, random_state=0)],
    ids=["fourier", "landmarks"],
)
def test_rows_that_are_left_out_score_as_by_a_model_without_them(map):
    X, alpha = rows(), 0.02
    model = KernelNovelty(map=map, alpha=alpha).fit(X)
    Z = model.map_.transform(X)
    left = 1.0 - (Z * Z).sum(axis=1) if isinstance(map, Nystrom) else np.zeros(len(X))
    numbers = np.arange(len(X))
    if isinstance(map, Nystrom):
        numbers = np.setdiff1d(numbers, model.map_.component_indices_)
    expected = []
    for i in numbers:
        others = np.delete(Z, i, axis=0)
        covariance = np.cov(others.T, bias=True) + model.penalty_ * np.eye(Z.shape[1])
        off = Z[i] - others.mean(axis=0)
        expected.append(off @ np.linalg.solve(covariance, off) + left[i] / model.penalty_)
    np.testing.assert_allclose(model.left_out_scores_, (1.0 + 2.0 / len(X)) * np.sort(expected), rtol=1e-8)


def test_labels_follow_from_p_values():
    X, new = rows(300), 1.5 * rows(400, seed=1)
    model = KernelNovelty(map=RandomFourier(KERNEL, n_components=64, random_state=0), level=0.1).fit(X)
    p = model.pvalues(new)
    assert 0.0 < p.min() <= 0.1 < p.max() <= 1.0
    np.testing.assert_array_equal(model.predict(new), np.where(p <= 0.1, -1, 1))
    np.testing.assert_allclose(model.decision_function(new), model.score_samples(new) - model.offset_)
    known = model.left_out_scores_

    def p_of(score):
        return (1 + (known >= score).sum()) / (1 + len(known))

    np.testing.assert_allclose(p, [p_of(-score) for score in model.score_samples(new)])
    assert p_of(np.nextafter(-model.offset_, np.inf)) <= 0.1 < p_of(-model.offset_)


@pytest.mark.parametrize("width", [32, 1024])
def test_rows_of_the_same_kind_are_called_novel_as_often_as_the_level_says(width):
    rates = []
    for seed in range(25):
        X = np.random.default_rng(seed).standard_t(5, size=(450, 3))
        model = KernelNovelty(n_components=width, level=0.1, random_state=seed, scale="standard").fit(X[:300])
        rates.append(np.mean(model.predict(X[300:]) == -1))
    assert np.mean(rates) == pytest.approx(0.1, abs=0.02)


def test_rows_that_repeat_are_not_called_novel_more_often():
    found = []
    for seed in range(30):
        X = np.random.default_rng(seed).integers(0, 2, size=(240, 4)).astype(np.float64)
        model = KernelNovelty("gaussian(0.5)", alpha=1e-4, scale=None, random_state=seed).fit(X[:40])
        found.append(model.pvalues(X[40:]))
    for level in (0.05, 0.1, 0.2):
        assert np.mean(np.array(found) <= level) <= level


def test_far_rows_are_novel_with_few_landmarks_too():
    X = rows(2000)
    model = KernelNovelty(map=Nystrom(KERNEL, n_components=50, random_state=0)).fit(X)
    assert (model.predict(X[:100] + 8.0) == -1).all()
    assert model.pvalues(X[:1] + 8.0)[0] == pytest.approx(1 / (1 + KEPT))


def test_rows_off_a_curve_are_distinguished_better_than_by_a_one_class_machine():
    rng = np.random.default_rng(0)

    def ring(n):
        angle = rng.uniform(0, 2 * np.pi, size=n)
        return np.column_stack([np.cos(angle), np.sin(angle)]) + 0.08 * rng.normal(size=(n, 2))

    X, new = ring(400), np.concatenate([ring(300), rng.uniform(-1.5, 1.5, size=(300, 2))])
    is_novel = np.arange(600) >= 300
    ours = roc_auc_score(is_novel, -KernelNovelty(random_state=0).fit(X).score_samples(new))
    theirs = roc_auc_score(is_novel, -OneClassSVM(nu=0.05).fit(X).decision_function(new))
    assert ours > theirs + 0.1


def test_batches_and_parts_give_the_same_model():
    X = rows(3000)
    common = {"map": RandomFourier(KERNEL, n_components=24, random_state=0), "scale": None}
    whole = KernelNovelty(**common).fit(X)
    stream = KernelNovelty(**common)
    for first in range(0, 3000, 400):
        stream.partial_fit(X[first : first + 400])
    left, right = (KernelNovelty(**common).prepare(X).partial_fit(part) for part in (X[:1000], X[1000:]))
    new = rows(50, seed=1)
    for other in (stream, left.merge(right), KernelNovelty(**common, n_jobs=2).fit(Blocks([X[:700], X[700:]]))):
        np.testing.assert_allclose(other.score_samples(new), whole.score_samples(new), rtol=1e-9)
    np.testing.assert_allclose(stream.left_out_scores_, whole.left_out_scores_, rtol=1e-9)
    assert len(whole.left_out_scores_) == len(left.left_out_scores_) == KEPT
    assert whole.statistics_ is None
    assert stream.statistics_.rows[0] == 3000


def test_what_cannot_be_merged_is_refused():
    X = rows()
    kept = KernelNovelty(KERNEL, keep_statistics=True, random_state=0, n_components=16).fit(X)
    with pytest.raises(ValueError, match="keep_statistics=True"):
        kept.merge(KernelNovelty(KERNEL, random_state=0, n_components=16).fit(X))
    with pytest.raises(ValueError, match="the seed is 0 here and 1 there"):
        kept.merge(KernelNovelty(KERNEL, random_state=1, n_components=16, keep_statistics=True).fit(X))
    with pytest.raises(TypeError, match="expected another KernelNovelty"):
        kept.merge(mercer.learn.KernelPCA())


def test_a_saved_model_continues(tmp_path):
    X = rows(300)
    model = KernelNovelty(KERNEL, n_components=32, random_state=0).partial_fit(X[:200])
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.pvalues(X), model.pvalues(X))
    np.testing.assert_array_equal(again.partial_fit(X[200:]).pvalues(X), model.partial_fit(X[200:]).pvalues(X))


def test_rows_of_every_kind():
    X = rows(100)
    expected = KernelNovelty(KERNEL, n_components=16, random_state=0).fit(X)
    for given in (sp.csr_array(X), pd.DataFrame(X, columns=["a", "b", "c"]), mercer.data.open(X)):
        found = KernelNovelty(KERNEL, n_components=16, random_state=0).fit(given)
        np.testing.assert_allclose(found.score_samples(given), expected.score_samples(X), rtol=1e-9)
    single = KernelNovelty(KERNEL, n_components=16, random_state=0).fit(X.astype(np.float32))
    scores = single.score_samples(X.astype(np.float32))
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected.score_samples(X), rtol=1e-3)
    towns = pd.DataFrame({"size": X[:, 0], "town": np.where(X[:, 1] > 0, "Oslo", "Rome")})
    assert KernelNovelty(random_state=0).fit(towns).predict(towns).shape == (100,)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"level": 1.0}, "level must be a probability"),
        ({"alpha": 0.0}, "alpha must be a positive"),
        ({"keep_statistics": 1}, "keep_statistics must be"),
        ({"kernel": "precomputed"}, "needs k"),
        ({"map": "exact"}, "map='exact' is for classifiers"),
    ],
)
def test_invalid_arguments_are_refused(given, found):
    with pytest.raises(ValueError, match=found):
        KernelNovelty(**given).fit(rows())


def test_rows_that_are_all_alike_and_rows_too_few():
    X = np.ones((30, 2))
    model = KernelNovelty(KERNEL, random_state=0).fit(X)
    assert model.predict([[1.0, 1.0], [3.0, 3.0]]).tolist() == [1, -1]
    with pytest.raises(ValueError, match="at least 2 rows, found n_samples=1"):
        KernelNovelty(KERNEL).fit(X[:1])
    with pytest.raises(ValueError, match="does not support weights"):
        KernelNovelty(KERNEL).fit(Blocks([(X, None, np.ones(30))]))
