"""Memberships and scores of rows, compared with the formula of fuzzy k-means and with scikit-learn's KMeans."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from mercer.kernels import Linear
from mercer.learn import KernelKMeans


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(60, 2)) + centre for centre in (-4.0, 0.0, 4.0)])


@pytest.fixture(scope="module")
def model(rows):
    return KernelKMeans("gaussian(0.05)", n_clusters=3, n_components=180, scale=None, random_state=0).fit(rows)


@pytest.mark.parametrize("fuzziness", [1.3, 2.0, 5.0])
def test_shares_are_those_of_fuzzy_k_means(rows, model, fuzziness):
    distances = model.transform(rows)
    expected = [[1.0 / sum((d / e) ** (2.0 / (fuzziness - 1.0)) for e in row) for d in row] for row in distances]
    found = model.memberships(rows, fuzziness)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(found.argmax(axis=1), model.predict(rows))


def test_extremes_of_fuzziness(rows, model):
    hard = model.memberships(rows, 1.0 + 1e-9)
    np.testing.assert_array_equal(hard, np.eye(3)[model.predict(rows)])
    assert np.abs(model.memberships(rows, 1e6) - 1.0 / 3.0).max() < 1e-4


def test_a_row_at_a_centre_belongs_to_it_alone():
    X = np.array([[0.0], [0.0], [3.0], [3.0], [9.0], [9.0]])
    model = KernelKMeans(Linear(), n_clusters=3, scale=None, random_state=0).fit(X)
    found = model.memberships(X)
    np.testing.assert_allclose(np.sort(found, axis=1), np.tile([0.0, 0.0, 1.0], (6, 1)), atol=1e-6)
    assert model.memberships(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("fuzziness", [1.0, 0.5, np.inf, np.nan, "2"])
def test_invalid_fuzziness_is_refused(rows, model, fuzziness):
    with pytest.raises(ValueError, match="fuzziness must be a finite number above 1"):
        model.memberships(rows, fuzziness)


def test_the_score_is_that_of_scikit_learn(rows):
    ours = KernelKMeans(Linear(), n_clusters=3, scale=None, n_init=5, random_state=0).fit(rows)
    theirs = KMeans(3, n_init=5, random_state=0).fit(rows)
    assert ours.score(rows[:50]) == pytest.approx(theirs.score(rows[:50]), rel=1e-6)
    assert ours.score(rows) == pytest.approx(-ours.inertia_, rel=1e-9)
