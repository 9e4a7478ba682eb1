"""Mean, variance and rate of every map over many seeds."""

import numpy as np
import pytest

from mercer import TreeSketch
from mercer.kernels import Polynomial

from ..tables import ROWS, SEEDS, estimates, first_of_class, obeying, once_per_class, once_per_kind, threshold

WIDTHS = (13, 64, 8)


def at_widths(law):
    """Rows that obey a law: once per kind at an odd width, once per class of map at an even one, and all in full."""
    rows = obeying(law)
    plain = [one.values[0] for one in rows]
    quick = {13: once_per_kind(plain), 64: once_per_class(plain), 8: set()}
    return [
        pytest.param(
            *one.values,
            width,
            id=f"{one.id}-{width}",
            marks=one.marks if one.id in quick[width] else [*one.marks, pytest.mark.full],
        )
        for one in rows
        for width in WIDTHS
    ]


def fitted(row, n_components):
    return row(n_components, random_state=0).fit(row.sample())


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize(("row", "n_components"), at_widths("mean"))
def test_the_mean_is_the_declared_one(row, n_components, seeds):
    # At D = 8 and 13 buckets collide all the time, so a bias that collisions cause would show.
    X = row.sample()
    grams = estimates(row, n_components, seeds)
    sketch = fitted(row, n_components)
    variance = sketch.variance(X) if row.variance is True else grams.var(axis=0, ddof=1)
    error = np.abs(grams.mean(axis=0) - sketch.mean(X))
    upper = np.triu_indices(len(X))
    # Where a pair has no variance the estimate is exact, and rounding is all that may be left.
    scale = np.sqrt(np.outer(row.kernel.diag(X), row.kernel.diag(X)))
    allowed = threshold(len(upper[0])) * np.sqrt(variance / seeds) + 1e-12 * scale
    assert (error <= allowed)[upper].all(), (error / allowed)[upper].max()


@pytest.mark.parametrize("row", obeying("unbiased"))
def test_an_unbiased_map_declares_the_kernel_as_its_mean(row):
    X = row.sample()
    np.testing.assert_allclose(fitted(row, 16).mean(X), row.kernel(X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize(("row", "n_components"), at_widths("variance"))
def test_the_variance_is_the_formula(row, n_components, seeds):
    X = row.sample()
    grams = estimates(row, n_components, seeds)
    variance = fitted(row, n_components).variance(X)
    deviation = grams - grams.mean(axis=0)
    # Averaged over pairs, a variance's own standard error comes from the fourth powers, seed by seed.
    squares = (deviation**2).mean(axis=(1, 2))
    error = squares.mean() - variance.mean()
    assert abs(error) <= threshold(1) * squares.std() / np.sqrt(seeds) + 1e-20


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("row", first_of_class(obeying("constant")))
def test_the_error_falls_with_the_root_of_the_width(row, seeds):
    exact = fitted(row, 8).mean(row.sample())
    widths, logarithms, deviations = np.array([8, 64, 256]), [], []
    for width in widths:
        squares = ((estimates(row, width, seeds if width < 256 else seeds // 5) - exact) ** 2).mean(axis=(1, 2))
        logarithms.append(np.log(squares.mean()) / 2)
        deviations.append(squares.std() / squares.mean() / 2 / np.sqrt(len(squares)))
    # The slope of a fitted line is a weighted sum of the logarithms, which are independent.
    places = np.log(widths) - np.log(widths).mean()
    weights = places / (places**2).sum()
    assert abs(weights @ logarithms + 0.5) <= threshold(1) * np.linalg.norm(weights * deviations)


@pytest.mark.parametrize("row", obeying("constant"))
def test_the_formula_falls_with_the_width(row):
    X = row.sample()
    # H0/1 apart, D Var is the same number for every even D.
    np.testing.assert_allclose(8 * fitted(row, 8).variance(X), 64 * fitted(row, 64).variance(X), rtol=1e-9, atol=1e-14)


@pytest.mark.full
@pytest.mark.parametrize("row", obeying("variance"))
def test_the_variance_is_the_formula_over_20000_seeds(row):
    X = row.sample()
    grams = estimates(row, 64, seeds=20_000, first=10_000)
    measured = ((grams - grams.mean(axis=0)) ** 2).mean(axis=(1, 2))
    formula = fitted(row, 64).variance(X).mean()
    error = 3 * measured.std() / np.sqrt(len(measured))
    assert abs(measured.mean() - formula) <= max(0.05 * formula, error) + 1e-20


def test_the_nodes_of_a_tree_share_no_hashes():
    # What they bias is below what 250 seeds show.
    sketch = TreeSketch(Polynomial(5), n_components=64, random_state=0).fit(np.ones((2, 64)))
    assert len({node.signs[:, :64].tobytes() for node in sketch.parameters_.nodes}) == 4
    assert len({node.buckets[:, :64].tobytes() for node in sketch.parameters_.nodes}) == 4


def test_the_fixture_draws_what_fit_draws():
    for row in ROWS:
        X = row.sample()
        Z = row(16, random_state=3).fit(X).transform(X)
        np.testing.assert_allclose(estimates(row, 16, seeds=1, first=3)[0], Z @ Z.T, rtol=1e-12, atol=1e-14)
