"""Certificates of fitted projections: certain ones hold for every row, probable ones with the stated probability."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import erfinv
from scipy.stats import binom
from sklearn.exceptions import NotFittedError

from mercer import Compressed, Nystrom, RandomFourier, RandomMaclaurin, TensorSketch, bounds
from mercer._random import Stream
from mercer.data import as_rows
from mercer.kernels import Exponential, Gaussian, Laplacian, Polynomial

from ..tables import every_value
from .simulation import FALSE_ALARM, assert_at_most, rows

FITTED, OTHERS = rows(80), rows(30, seed=1)

NYSTROM = {
    "uniform": Nystrom(Gaussian(0.3), n_components=12, random_state=0),
    "rough": Nystrom(2.0 * Laplacian(0.5), n_components=20, random_state=1),
    "truncated": Nystrom(Polynomial(3, coef0=1.0), n_components=20, rank=6, random_state=0),
    "kmeans": Nystrom(Gaussian(1.0), n_components=8, landmarks="kmeans", random_state=0),
    "rpcholesky": Nystrom(Exponential(), n_components=10, landmarks="rpcholesky", random_state=0),
    "nearly exact": Nystrom(Gaussian(0.01), n_components=70, random_state=0),
    "function": Nystrom(lambda x, y: math.exp(-np.abs(x - y).sum()) + x @ y, n_components=15, random_state=0),
}
TEFM = {
    "paired": Compressed(RandomFourier(Gaussian(0.5)), n_components=10, method="tefm-g", power=0, random_state=0),
    "hadamard": Compressed(RandomMaclaurin(Exponential()), n_components=16, method="tefm-s", random_state=0),
    "sketch": Compressed(TensorSketch(Polynomial(3)), n_components=12, method="tefm-g", random_state=0),
}


def lost(map, X, Y=None):
    """The loss of the projection, compared with the kernel or with the wide map."""
    Y = X if Y is None else Y
    whole = map.map_.transform(X) @ map.map_.transform(Y).T if isinstance(map, Compressed) else map.kernel_(X, Y)
    return whole - map.transform(X) @ map.transform(Y).T


@pytest.mark.parametrize("name", [*NYSTROM, *TEFM])
def test_residuals_bound_every_error_and_add_up_to_the_nuclear_norm(name):
    map = (NYSTROM | TEFM)[name].fit(FITTED)
    for X in (FITTED, OTHERS):
        residual, error = bounds.projection_residual(map, X), lost(map, X)
        assert np.all(residual > 0.0)
        scale = np.abs(map.kernel_(X)).max()
        np.testing.assert_allclose(np.diag(error), residual, rtol=1e-6, atol=1e-12 * scale)
        assert residual.sum() == pytest.approx(np.abs(np.linalg.eigvalsh(error)).sum(), rel=1e-6, abs=1e-9 * scale)
        assert np.all(np.abs(error) <= bounds.projection_error(map, X) + 1e-13 * scale)
    assert np.all(np.abs(lost(map, OTHERS, FITTED)) <= bounds.projection_error(map, OTHERS, FITTED) + 1e-13)


def test_the_bound_on_entries_is_attained():
    X = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 3.0, 0.0]])
    map = Nystrom(Polynomial(1), landmarks=X[:1]).fit(X)
    np.testing.assert_allclose(bounds.projection_residual(map, X), [0.0, 4.0, 9.0], atol=1e-14)
    assert bounds.projection_error(map, X)[1, 2] == pytest.approx(lost(map, X)[1, 2]) == 6.0


def test_rows_of_any_kind():
    nystrom, tefm = NYSTROM["uniform"].fit(FITTED), TEFM["paired"].fit(FITTED)
    X = rows(700)  # more than a tile
    for map in (nystrom, tefm):
        dense = bounds.projection_residual(map, X)
        for other in (sp.csr_array(X), X.tolist(), as_rows(X, 0)):
            np.testing.assert_allclose(bounds.projection_residual(map, other), dense, rtol=1e-9)
        np.testing.assert_allclose(bounds.projection_residual(map, X.astype(np.float32)), dense, rtol=1e-3, atol=1e-6)
        assert bounds.projection_residual(map, X.astype(np.float32)).dtype == np.float64
    whole = bounds.projection_norm(tefm, X, delta=0.1, random_state=3)
    assert bounds.projection_norm(tefm, as_rows(X, 0), delta=0.1, random_state=3) == pytest.approx(whole)
    assert bounds.projection_norm(tefm, sp.csr_array(X), delta=0.1, random_state=3) == pytest.approx(whole)
    frames = TEFM["paired"].fit(FITTED).set_output(transform="pandas")
    assert bounds.projection_norm(frames, X, delta=0.1, random_state=3) == pytest.approx(whole)


def test_projections_accept_objects():
    words = ["cat", "act", "dog", "god", "cart", "gold", "clog"]
    letters = Nystrom(lambda a, b: float(len(set(a) & set(b))), n_components=3, random_state=0).fit(words)
    residual, Z = bounds.projection_residual(letters, words), letters.transform(words)
    np.testing.assert_allclose(residual, [len(set(w)) - z @ z for w, z in zip(words, Z, strict=True)], atol=1e-12)


# -- probes ------------------------------------------------------------------------------------------------------------


@every_value(name=TEFM, given=[(1, 0, 0.1), (2, 0, 0.5), (3, 1, 0.3), (2, 2, 0.5)])
def test_the_norm_is_below_the_bound_as_often_as_promised(name, given):
    n_probes, power, delta = given
    map = TEFM[name].fit(FITTED)
    norm = np.linalg.norm(lost(map, OTHERS), 2)

    def bound(seed):
        return bounds.projection_norm(map, OTHERS, delta=delta, n_probes=n_probes, power=power, random_state=seed)

    assert_at_most(np.array([bound(seed) for seed in range(60)]) < norm, delta)


@pytest.mark.parametrize("power", [0, 2])
def test_the_bound_is_attained_where_one_direction_is_lost(power):
    # As many rows as features and one more: what the projection loses of them has rank one.
    map = Compressed(RandomFourier(Gaussian(0.5)), n_components=3, method="tefm-g", power=0, random_state=0).fit(
        FITTED[:4]
    )
    norm, delta, seeds = np.linalg.norm(lost(map, FITTED[:4]), 2), 0.3, 400
    found = [
        bounds.projection_norm(map, FITTED[:4], delta=delta, n_probes=3, power=power, random_state=seed)
        for seed in range(seeds)
    ]
    failures = np.sum(np.array(found) < norm * (1.0 - 1e-9))
    low, high = binom.ppf([FALSE_ALARM / 2.0, 1.0 - FALSE_ALARM / 2.0], seeds, delta)
    assert low <= failures <= high


def test_probes_are_those_of_halko_martinsson_and_tropp():
    map, r = TEFM["sketch"].fit(FITTED), 5
    F, Q = map.map_.transform(OTHERS), map.parameters_.projection
    probes = Stream(7, "probes").normals((F.shape[1], r))
    lengths = np.linalg.norm(F @ (probes - Q @ (Q.T @ probes)), axis=0)
    theirs = (10.0 * math.sqrt(2.0 / math.pi) * lengths.max()) ** 2
    ours = bounds.projection_norm(map, OTHERS, delta=10.0**-r, n_probes=r, power=0, random_state=7)
    assert 0.99 * theirs < ours <= theirs
    exact = (lengths.max() / (math.sqrt(2.0) * erfinv(0.2 ** (1.0 / r)))) ** 2
    assert bounds.projection_norm(map, OTHERS, delta=0.2, n_probes=r, power=0, random_state=7) == pytest.approx(exact)


def test_more_power_iterations_come_closer():
    map = TEFM["paired"].fit(FITTED)
    X = rows(300)
    norm = np.linalg.norm(lost(map, X), 2)
    found = [bounds.projection_norm(map, X, delta=1e-3, power=power, random_state=0) / norm for power in range(4)]
    assert found[0] > 2.0 * found[1] > 2.0 * found[2] > 1.0
    assert found[3] < 1.6
    assert found[1] > bounds.projection_norm(map, X, delta=1e-2, random_state=0) / norm  # the rarer, the larger
    assert bounds.projection_residual(map, X).sum() >= norm


def test_a_projection_that_loses_nothing_has_no_error():
    map = Compressed(RandomFourier(Gaussian(0.5)), n_components=16, method="tefm-g", random_state=0).fit(FITTED[:5])
    assert bounds.projection_norm(map, FITTED[:5], delta=0.01, random_state=0) < 1e-9


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_other_maps_are_refused():
    craft = Compressed(TensorSketch(), n_components=8, random_state=0).fit(FITTED)
    for map in (craft, TensorSketch(n_components=8, random_state=0).fit(FITTED)):
        for call in (bounds.projection_residual, bounds.projection_error):
            with pytest.raises(TypeError, match="takes a Nystrom map or a Compressed with a method of"):
                call(map, FITTED)
    for map in (craft, NYSTROM["uniform"].fit(FITTED)):
        with pytest.raises(TypeError, match="projection_norm takes a Compressed with a method of"):
            bounds.projection_norm(map, FITTED, delta=0.1)
    with pytest.raises(NotFittedError):
        bounds.projection_residual(Nystrom(), FITTED)
    precomputed = Nystrom("precomputed", n_components=5, random_state=0).fit(Gaussian()(FITTED))
    with pytest.raises(ValueError, match="a precomputed kernel does not provide"):
        bounds.projection_residual(precomputed, Gaussian()(FITTED))


def test_what_is_no_kernel_is_refused():
    def bent(x, y):
        return math.tanh(x @ y)

    with pytest.warns(UserWarning, match="not positive semi-definite"):
        told = Nystrom(bent, n_components=20, landmarks="rpcholesky", random_state=0).fit(FITTED)
    # Rows on one axis do not show the difference; others do.
    untold = Nystrom(bent, landmarks=FITTED[:1]).fit(FITTED[:1])
    bounds.projection_residual(untold, FITTED[:1])
    for map, message in ((told, "fit has found"), (untold, "the landmarks have the eigenvalue -")):
        for bound in (bounds.projection_residual, bounds.projection_error):
            with pytest.raises(ValueError, match=f"kernel is not positive semi-definite: .*{message}"):
                bound(map, FITTED)


def test_arguments_outside_the_hypotheses_are_refused():
    map = TEFM["paired"].fit(FITTED)
    with pytest.raises(ValueError, match="delta must be a probability above 0 and below 1"):
        bounds.projection_norm(map, FITTED, delta=1.0)
    with pytest.raises(ValueError, match="n_probes must be a whole number of at least 1"):
        bounds.projection_norm(map, FITTED, delta=0.1, n_probes=0)
    with pytest.raises(ValueError, match="power must be a whole number of at least 0"):
        bounds.projection_norm(map, FITTED, delta=0.1, power=-1)
    with pytest.raises(ValueError, match="X has 3 features, but"):
        bounds.projection_residual(map, np.ones((2, 3)))
    with pytest.raises(ValueError, match="random_state must be an int"):
        bounds.projection_norm(map, FITTED, delta=0.1, random_state="chance")


def test_frames_are_taken_as_the_map_took_them():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=list("abc"))
    landmarks = Nystrom(Gaussian(0.1), n_components=8, random_state=0).fit(X)
    learned = Compressed(RandomFourier(), n_components=8, method="tefm-g", random_state=0).fit(X)
    for map in (landmarks, learned):  # and no warning about names
        assert bounds.projection_residual(map, X).shape == (40,)
    assert bounds.projection_norm(learned, X, delta=0.1, random_state=0) >= 0.0
