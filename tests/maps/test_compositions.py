"""Maps for combined kernels, and the decisions of TaylorSketch."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from mercer import Compressed, RandomMaclaurin, TaylorSketch, kernel_error
from mercer.kernels import Exponential, Gaussian, Linear, Maclaurin, Polynomial, VovkInfinite, VovkReal, parse

from ..tables import quick_and_full, sample_rows


def cloud(n=400, d=6, mean=1.0, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * 0.3 + mean


@pytest.mark.parametrize(
    "kernel",
    [
        Exponential("median"),
        pytest.param(Gaussian("median"), marks=pytest.mark.full),
        pytest.param(Polynomial(3, gamma="median", coef0=0.5), marks=pytest.mark.full),
    ],
)
def test_the_expected_error_is_the_one_that_seeds_show(kernel):
    X = cloud(150)
    diagonal = np.eye(len(X), dtype=bool)
    shares = np.where(diagonal, (4 / 96) / 150, (1 - 4 / 96) / (150 * 149))
    errors = []
    for seed in range(30):
        sketch = TaylorSketch(kernel, n_components=96, random_state=seed).fit(X)
        Z, K = sketch.transform(X), sketch.kernel_(X)
        relative = shares / np.outer(K.diagonal(), K.diagonal())
        errors.append((relative * (Z @ Z.T - K) ** 2).sum() / (relative * K**2).sum())
    assert np.sqrt(np.mean(errors)) == pytest.approx(sketch.expected_error_, rel=0.15)


@pytest.mark.parametrize("kernel", [Polynomial(2), Polynomial(3), Polynomial(3, coef0=1.0), Gaussian("median")])
@pytest.mark.parametrize("n_components", [32, 256, 1024])
def test_rows_stay_similar_to_themselves(kernel, n_components):
    # Rows around the origin: between different rows the kernel is small, so leaving a degree out looks cheap there.
    X = np.random.default_rng(0).normal(size=(500, 40)) / np.sqrt(40)
    sketch = TaylorSketch(kernel, n_components=n_components, random_state=0).fit(X)
    assert sketch.mean(X).trace() > 0.7 * sketch.kernel_.diag(X).sum()


@pytest.mark.parametrize("kernel", [Polynomial(6, coef0=1.0), Exponential(2.0)])
def test_a_few_long_rows_do_not_take_the_width(kernel):
    X = np.random.default_rng(0).normal(size=(400, 20)) / np.sqrt(20)
    longer = np.where(np.arange(400)[:, None] < 8, 4.0 * X, X)
    low = [
        sum(TaylorSketch(kernel, n_components=128, random_state=0).fit(rows).degrees_.get(n, 0) for n in (1, 2))
        for rows in (X, longer)
    ]
    assert low[1] > 0.7 * low[0]


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits, load_wine])
def test_a_kernel_too_narrow_for_the_rows_is_reported(load):
    X = load().data
    with pytest.warns(UserWarning, match=r"TaylorSketch expects a relative error of .*: 64 features are too few for"):
        sketch = TaylorSketch(Gaussian(10.0), n_components=64, random_state=0).fit(X)
    assert sketch.transform(X).shape == (len(X), 64)


def test_degrees_that_carry_nothing_get_nothing():
    X = cloud(100, d=4, mean=0.0)
    for width in (1, 2, 4):
        sketch = TaylorSketch(Maclaurin((0.0, 1e-9, 1.0)), n_components=width, random_state=0).fit(X)
        assert sketch.degrees_ == {2: width}
    sketch = TaylorSketch(Maclaurin((1e-3,) * 9 + (1.0,)), n_components=256, random_state=0).fit(3.0 * X)
    assert sketch.degrees_[9] >= 200


def test_no_width_is_spent_on_what_is_worse_than_nothing():
    X = StandardScaler().fit_transform(load_wine().data)
    for gamma in (0.3, 0.5, 0.7, 1.0):
        assert TaylorSketch(Exponential(gamma), random_state=0).fit(X).expected_error_ <= 1.0


@pytest.mark.parametrize("trials", quick_and_full(10, 40))
def test_the_last_digits_of_the_rows_do_not_decide_the_allotment(trials):
    rng = np.random.default_rng(0)
    for trial in range(trials):
        X = rng.normal(size=(6, 4)) + 0.5
        other = 0.3 * X + 0.7 * X
        for kernel in (Gaussian(0.3), Polynomial(3)):
            plans = [TaylorSketch(kernel, n_components=16, random_state=0).fit(rows) for rows in (X, other)]
            assert plans[0].degrees_ == plans[1].degrees_, trial
            assert plans[0].exact_degrees_ == plans[1].exact_degrees_, trial


def test_every_map_of_a_seed_learns_the_same_bandwidth():
    X = cloud(3000)
    kernel = Gaussian("median").resolve(X, 7)
    for sketch in (TaylorSketch(Gaussian("median")), Compressed(TaylorSketch(Gaussian("median")))):
        assert sketch.set_params(random_state=7).fit(X).kernel_ == kernel


@pytest.mark.parametrize(
    ("kernel", "base"),
    [
        (Exponential(60.0).of(Gaussian()), 2.0),
        (VovkInfinite().of(0.99 * Gaussian()), 2.0),
        (Exponential(5.0).of(Gaussian()), 1e10),
    ],
)
def test_frequencies_of_a_composition_do_not_depend_on_the_base(kernel, base):
    X = sample_rows()
    sketch = RandomMaclaurin(kernel, base=base, n_components=4000, random_state=0).fit(X)
    np.testing.assert_allclose(sketch.mean(X), kernel(X), rtol=1e-6)
    assert kernel_error(sketch, X).relative < 0.1


@pytest.mark.parametrize(("kernel", "base"), [(Polynomial(20), 1e20), (Polynomial(1100), 2.0)])
def test_degrees_of_tiny_probability_are_drawn_all_the_same(kernel, base):
    X = np.eye(3)
    Z = RandomMaclaurin(kernel, base=base, n_components=8, random_state=0).fit_transform(X)
    np.testing.assert_allclose((Z * Z).sum(axis=1), 1.0)


def test_weights_in_front_of_and_inside_a_composition():
    X = sample_rows()
    kernels = [
        0.5 * Polynomial(2, coef0=1.0).of(Gaussian()),
        (0.5 * Polynomial(2, coef0=1.0)).of(Gaussian()),
        2.0 * (Linear() + Polynomial(2)).of(Polynomial(2)),
    ]
    for kernel in kernels:
        assert parse(repr(kernel)) == kernel
        sketch = RandomMaclaurin(kernel, n_components=20_000, random_state=0).fit(X)
        np.testing.assert_allclose(sketch.mean(X), kernel(X), rtol=1e-10)
        assert kernel_error(sketch, X).relative < 0.05


SPLITS = [
    (Gaussian(0.4), "centre"),
    (Gaussian(0.4), None),
    (2.0 * Exponential(0.3), "centre"),
    (2.0 * Exponential(0.3), None),
    (3.0 * Polynomial(4), "mean"),
    (3.0 * Polynomial(4), None),
    (Polynomial(3, gamma=0.5, coef0=0.7), "mean"),
    (Polynomial(3, gamma=0.5, coef0=0.7), None),
    (VovkReal(5), None),
]
QUICK = (0, 2, 3, 6)  # every form that is split, and one that is not


@pytest.mark.parametrize(
    ("kernel", "split"),
    [pair if place in QUICK else pytest.param(*pair, marks=pytest.mark.full) for place, pair in enumerate(SPLITS)],
)
def test_the_kept_series_converges_to_the_kernel(kernel, split):
    X = cloud(60, d=4, mean=0.5)
    sketch = TaylorSketch(kernel, n_components=20_000, split=split, random_state=0).fit(X)
    np.testing.assert_allclose(sketch.mean(X), kernel(X), rtol=1e-2, atol=2e-3 * kernel.diag(X).max())


def test_auto_splits_where_that_helps_only():
    assert TaylorSketch(Polynomial(3), random_state=0).fit(cloud()).split_ == "mean"
    assert TaylorSketch(Gaussian(0.3), random_state=0).fit(cloud()).split_ == "centre"
    centred = np.concatenate([cloud(200, mean=0.0), -cloud(200, mean=0.0)])
    assert TaylorSketch(Polynomial(3), random_state=0).fit(centred).split_ is None
    assert TaylorSketch(Polynomial(3), split="mean", random_state=0).fit(np.zeros((4, 3))).split_ is None


def test_the_split_lowers_the_error_of_homogeneous_polynomials():
    X, held_out = cloud(), cloud(200, seed=1)
    plain, split = (
        TaylorSketch(Polynomial(3), n_components=128, split=choice, random_state=0).fit(X) for choice in (None, "mean")
    )
    assert kernel_error(split, held_out).relative < 0.5 * kernel_error(plain, held_out).relative


def test_degrees_add_up_to_the_width():
    sketch = TaylorSketch(Gaussian("median"), n_components=777, random_state=0).fit(cloud(d=40))
    assert sum(sketch.degrees_.values()) == 777
    assert set(sketch.exact_degrees_) <= set(sketch.degrees_)
    assert sketch.exact_degrees_[0] == 0


def test_the_shift_of_the_data_does_not_matter_to_a_centred_gaussian():
    # Multiples of 1/8 and a power of two, so that the shift itself does not round.
    X = np.round(cloud() * 8) / 8
    near, far = (
        TaylorSketch(Gaussian(0.3), n_components=64, random_state=0).fit_transform(X + c) for c in (0.0, 1024.0)
    )
    np.testing.assert_allclose(near, far, rtol=1e-8, atol=1e-10)


def test_a_composition_over_a_dot_product_kernel_has_the_mean_of_the_composed_series():
    X = sample_rows()
    composed = Polynomial(2, coef0=0.5).of(Polynomial(2))
    series = Maclaurin((0.25, 0.0, 1.0, 0.0, 1.0))
    np.testing.assert_allclose(composed(X), series(X), rtol=1e-12)
    sketch = RandomMaclaurin(composed, n_components=20_000, random_state=0).fit(X)
    assert kernel_error(sketch, X).relative < 0.05


def test_compositions_nest():
    X = sample_rows()
    for kernel in (
        Polynomial(2, coef0=1.0).of(Polynomial(2, coef0=0.1).of(Gaussian())),
        Polynomial(2, coef0=1.0).of(Polynomial(2, coef0=0.1).of(Linear())),
    ):
        sketch = RandomMaclaurin(kernel, n_components=20_000, random_state=0).fit(X)
        assert kernel_error(sketch, X).relative < 0.05


def test_exact_terms_of_a_composition_keep_the_constant():
    X = sample_rows()
    sketch = RandomMaclaurin(Polynomial(2, coef0=1.0).of(Gaussian()), exact_terms=True, random_state=0).fit(X)
    assert sketch.exact_degrees_ == (0,)
    np.testing.assert_allclose(sketch.transform(X)[:, 0], 1.0)
    only = RandomMaclaurin(
        Polynomial(2, coef0=1.0).of(Gaussian()), exact_terms=True, max_degree=0, n_components=3, random_state=0
    ).fit(X)
    np.testing.assert_allclose(only.transform(X) @ only.transform(X).T, 1.0)


def test_a_series_that_diverges_at_the_inner_kernel_is_refused():
    with pytest.raises(ValueError, match=r"VovkInfinite.*below 1"):
        RandomMaclaurin(VovkInfinite().of(Gaussian())).fit(sample_rows())


def test_the_variance_is_infinite_beyond_the_radius():
    X = np.array([[0.9, 0.0], [0.1, 0.0]])
    variance = RandomMaclaurin(VovkInfinite(), n_components=4).fit(X).variance(X)
    assert np.isinf(variance[0, 0])
    assert np.isfinite(variance[1, 1])
