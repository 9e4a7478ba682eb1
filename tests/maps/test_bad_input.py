"""Each wrong input gets one clear error that names what was expected and what was found."""

import re

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import mercer
from mercer import (
    AdditiveMap,
    Calibrated,
    ComplexSketch,
    Compressed,
    HadamardSketch,
    OrthogonalFourier,
    RandomFourier,
    RandomMaclaurin,
    Stack,
    TaylorSketch,
    TensorProduct,
    TensorSketch,
    TreeSketch,
)
from mercer.kernels import (
    Exponential,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    Maclaurin,
    Polynomial,
    VovkInfinite,
    VovkReal,
)

from ..tables import first_of_class, obeying, sample_rows

PRODUCT_SKETCHES = [TensorSketch, HadamardSketch, ComplexSketch, TreeSketch]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", first_of_class(obeying()))
def test_nan_and_infinity(row, bad):
    X = row.sample()
    sketch = row(8, random_state=0).fit(X)
    X[3, 2] = bad
    for act in (sketch.transform, row(8).fit, sketch.variance, sketch.mean):
        with pytest.raises(ValueError, match=r"(?s)(NaN|infinity).*The first is in row 3, column 2"):
            act(X)


@pytest.mark.parametrize("row", first_of_class(obeying()))
def test_rows_of_another_width_are_refused(row):
    X = row.sample()
    sketch = row(8, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"X has 4 features, but \w+ is expecting 5 features"):
        sketch.transform(X[:, :4])


@pytest.mark.parametrize("n_components", [0, -3, 2.5, True, "8", None])
@pytest.mark.parametrize("row", first_of_class(obeying()))
def test_an_invalid_number_of_components_is_refused(row, n_components):
    if n_components is None and isinstance(row(8), Calibrated | Stack):
        assert row(None).fit(row.sample()).n_components_ > 8  # maps then keep their own widths
        return
    with pytest.raises(ValueError, match="n_components must be a whole number of at least 1, found"):
        row(n_components).fit(row.sample())


@pytest.mark.parametrize("make", PRODUCT_SKETCHES)
def test_overflow_names_the_row(make):
    X = np.ones((3, 4))
    X[1] = 1e200
    with pytest.raises(ValueError, match="the features of row 1 overflow float64"):
        make(Polynomial(3), n_components=8, random_state=0).fit(X).transform(X)
    X[1] = 1e30
    with pytest.raises(ValueError, match="the features of row 1 overflow float32"):
        make(Polynomial(3), n_components=8, random_state=0).fit(X).transform(X.astype(np.float32))


@pytest.mark.parametrize("make", [*PRODUCT_SKETCHES, TaylorSketch])
def test_negative_coef0(make):
    with pytest.raises(ValueError, match=r"coef0 must not be negative for a feature map, found -1\.0"):
        make(Polynomial(2, coef0=-1.0)).fit(sample_rows())


def test_negative_coef0_of_random_maclaurin():
    with pytest.raises(ValueError, match="coef0 must not be negative"):
        RandomMaclaurin(Polynomial(2, coef0=-1.0)).fit(sample_rows())


@pytest.mark.parametrize("make", PRODUCT_SKETCHES)
@pytest.mark.parametrize("kernel", [Gaussian(), Exponential(), VovkReal(3), Linear() + Linear()])
def test_product_sketches_serve_polynomials_only(make, kernel):
    with pytest.raises(ValueError, match=f"{make.__name__} needs a Linear or Polynomial kernel, found"):
        make(kernel).fit(sample_rows())


@pytest.mark.parametrize(
    "kernel", [Gaussian(), Laplacian(), Gaussian() + Linear(), Polynomial(2).of(Gaussian() * Linear())]
)
def test_random_maclaurin_needs_a_series(kernel):
    with pytest.raises(ValueError, match="RandomMaclaurin needs a dot-product kernel"):
        RandomMaclaurin(kernel).fit(sample_rows())


@pytest.mark.parametrize("kernel", [Laplacian(), Gaussian() + Linear(), Polynomial(2).of(Gaussian())])
def test_taylor_sketch_needs_a_series(kernel):
    with pytest.raises(ValueError, match="TaylorSketch needs a dot-product kernel or a Gaussian"):
        TaylorSketch(kernel).fit(sample_rows())


@pytest.mark.parametrize(
    ("split", "kernel"),
    [("mean", Gaussian()), ("centre", Polynomial(2)), ("mean", VovkReal(3)), ("centre", VovkReal(3))],
)
def test_splits_that_do_not_fit(split, kernel):
    with pytest.raises(ValueError, match=f"split='{split}' is for"):
        TaylorSketch(kernel, split=split).fit(sample_rows())


@pytest.mark.parametrize("make", [RandomMaclaurin, TaylorSketch])
def test_rows_outside_the_radius(make):
    X = sample_rows()
    X[2] = 1.0
    with pytest.raises(ValueError, match=r"VovkInfinite.* below 1.*row 2 has 5"):
        make(VovkInfinite()).fit(X)
    sketch = make(VovkInfinite(), random_state=0).fit(sample_rows())
    with pytest.raises(ValueError, match=r"VovkInfinite.* below 1.*row 2 has 5"):
        sketch.transform(X)


def test_negative_coefficients():
    with pytest.raises(ValueError, match=r"coefficient a_1 = -0\.5 is negative"):
        Maclaurin((1.0, -0.5))
    with pytest.raises(ValueError, match=r"coefficient a_2 = -1\.0 is negative"):
        RandomMaclaurin(Maclaurin(lambda n: 1.0 if n < 2 else -1.0)).fit(sample_rows())


@pytest.mark.parametrize(
    ("sketch", "message"),
    [
        (TensorSketch(output="both"), r"output must be one of \('spectrum', 'time'\), found 'both'"),
        (ComplexSketch(projection="x"), "projection must be one of"),
        (TaylorSketch(split="left"), "split must be one of"),
        (Compressed(TensorSketch(), method="x"), "method must be one of"),
        (Compressed(TensorSketch(), factor=0), "factor must be a whole number of at least 1 or None, found 0"),
        (TreeSketch(factor=True), "factor must be a whole number of at least 1, found True"),
        (TensorProduct(TensorSketch(), TensorSketch(), factor=0), "factor must be a whole .* 1 or None, found 0"),
        (TensorProduct(TensorSketch(), TreeSketch(factor=0)), "factor must be a whole number of at least 1, found 0"),
        (Stack(TensorSketch(n_components=None), TensorSketch()), "n_components must be .* found None"),
        (Stack(TensorSketch(n_components="8"), TensorSketch(), n_components=8), "n_components must be .* found '8'"),
        (RandomMaclaurin(exact_terms="no"), r"exact_terms must be one of \(True, False\), found 'no'"),
        (TreeSketch(factor=1.5), r"factor must be a whole number of at least 1, found 1\.5"),
        (RandomMaclaurin(base=1.0), r"base must be a finite number above 1, found 1\.0"),
        (RandomMaclaurin(max_degree=-1), "max_degree must be a whole number of at least 0 or None, found -1"),
        (RandomMaclaurin(Polynomial(3), max_degree=2), "has no positive coefficient up to max_degree=2"),
        (TensorSketch(random_state="seed"), "random_state must be an int"),
        (TensorSketch(random_state=-1), "random_state must be an integer in"),
    ],
)
def test_invalid_arguments_are_refused(sketch, message):
    with pytest.raises(ValueError, match=message):
        sketch.fit(sample_rows())


def test_things_that_are_neither_kernels_nor_maps_are_refused():
    with pytest.raises(TypeError, match=r"kernel must be a kernel of mercer\.kernels, or text .*, found 2"):
        TensorSketch(2).fit(sample_rows())
    with pytest.raises(ValueError, match="unknown kernel 'polly'; did you mean 'poly'"):
        TensorSketch("polly").fit(sample_rows())
    with pytest.raises(TypeError, match=r"found <class .*Polynomial'>; write Polynomial\(\)"):
        TensorSketch(Polynomial).fit(sample_rows())
    with pytest.raises(TypeError, match="map must be a feature map, found 3"):
        Compressed(3).fit(sample_rows())
    for join in (Stack, TensorProduct):
        with pytest.raises(TypeError, match=r"left must be a feature map, found Linear\(\)"):
            join(Linear(), TensorSketch()).fit(sample_rows())
        with pytest.raises(TypeError, match="right must be a feature map, found None"):
            join(TensorSketch(), None).fit(sample_rows())


@pytest.mark.parametrize("n_jobs", [0, "2", 1.5, True])
def test_an_invalid_number_of_jobs_is_refused(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be None or a whole number other than 0, found"):
        TensorSketch(n_jobs=n_jobs).fit(sample_rows())


@pytest.mark.parametrize(
    ("make", "kernel", "chosen"),
    [
        (TensorSketch, Exponential(), "TaylorSketch"),
        (TensorSketch, 2.0 * Gaussian(), "OrthogonalFourier"),
        (TensorSketch, 2.0 * Intersection(), "AdditiveMap"),
        (TaylorSketch, Polynomial(2).of(Laplacian()), "RandomFourier"),
        (OrthogonalFourier, Laplacian(), "QuasiFourier"),
        (RandomFourier, Linear(), "TaylorSketch"),
        (RandomMaclaurin, Gaussian() + Linear(), "Stack"),
        (RandomMaclaurin, Polynomial(2).of(Gaussian() * Linear()), "Nystrom"),
        (AdditiveMap, Gaussian() * Linear(), "TensorProduct"),
    ],
)
def test_a_refusal_names_the_map_that_would_be_chosen(make, kernel, chosen):
    with pytest.raises(ValueError, match=rf"{re.escape(repr(kernel))}; mercer.feature_map would choose {chosen}$"):
        make(kernel).fit(np.abs(sample_rows()))


def test_kernel_error_needs_a_map():
    with pytest.raises(TypeError, match="kernel_error takes a feature map, found Pipeline"):
        mercer.kernel_error(make_pipeline(TensorSketch()).fit(sample_rows()), sample_rows())


def test_unknown_variances_say_so():
    both = TensorProduct(TensorSketch(), TensorSketch(), random_state=0)
    for sketch in (TreeSketch(random_state=0), Compressed(TensorSketch(), random_state=0), both):
        with pytest.raises(NotImplementedError, match=f"no exact variance is known for {type(sketch).__name__}"):
            sketch.fit(sample_rows()).variance(sample_rows())


def test_gamma_that_cannot_be_learned():
    with pytest.raises(ValueError, match="'scale' needs rows that vary"):
        TensorSketch(Polynomial(2, gamma="scale")).fit(np.ones((4, 3)))
    with pytest.raises(ValueError, match="'median' needs rows that differ"):
        TaylorSketch(Gaussian("median")).fit(np.ones((4, 3)))


def test_more_memory_than_the_machine_has():
    X = np.zeros((1_000_000, 1))
    with pytest.raises(MemoryError, match=r"the Gram matrix of 1000000 x 1000000 needs 7450\.6 GiB; this machine has"):
        Linear()(X)
    sketch = TensorSketch(Polynomial(2), n_components=10**9, random_state=0).fit(X[:2])
    with pytest.raises(MemoryError, match="the random numbers of a map"):
        TensorSketch(Polynomial(10**12)).fit(X[:2])
    with pytest.raises(MemoryError, match="the array of features of 1000000 x 1000000000 needs"):
        sketch.transform(X)


def test_names_that_do_not_exist():
    with pytest.raises(AttributeError, match="module 'mercer' has no attribute 'TensorSketsh'"):
        mercer.TensorSketsh  # noqa: B018
