"""Text in place of a kernel, wherever one is accepted."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import mercer
from mercer import (
    Calibrated,
    Composed,
    Compressed,
    FeatureMap,
    Nystrom,
    OrthogonalFourier,
    Stack,
    TensorProduct,
    bounds,
    maps,
)
from mercer.choose import Search, learner_for, maps_for
from mercer.kernels import AdditiveChi2, Gaussian, Kernel, Linear, Polynomial, parse

from ..tables import ROWS, first_of_class, obeying, sample_rows

PLAIN = [
    getattr(maps, name)
    for name in maps.__all__
    if "kernel" in inspect.signature(getattr(maps, name)).parameters and name != "FeatureMap"
]


@pytest.mark.parametrize("row", [one for one in first_of_class(obeying()) if "callable" not in one.id])
def test_text_gives_the_bits_that_the_kernel_gives(row, tmp_path):
    X = row.sample(20)
    expected = row(16, random_state=0).fit(X)
    given = expected.get_params()
    owners = {"", *(name for name, value in given.items() if isinstance(value, FeatureMap))}
    kernels = {name: value for name, value in given.items() if isinstance(value, Kernel)}
    texts = {name: repr(value) for name, value in kernels.items() if name.rpartition("__")[0] in owners}
    assert texts
    sketch = clone(expected).set_params(**texts)
    before = sketch.get_params()
    sketch.fit(X)
    assert sketch.kernel_ == expected.kernel_
    assert all(sketch.get_params()[name] is value for name, value in before.items() if isinstance(value, str))
    np.testing.assert_array_equal(sketch.transform(X), expected.transform(X))
    for copy in (clone(sketch).fit(X), pickle.loads(pickle.dumps(sketch))):
        np.testing.assert_array_equal(copy.transform(X), expected.transform(X))
    mercer.save(sketch, tmp_path / "map")
    loaded = mercer.load(tmp_path / "map")
    assert {name: loaded.get_params()[name] for name in texts} == texts
    np.testing.assert_array_equal(loaded.transform(X), expected.transform(X))
    np.testing.assert_array_equal(clone(loaded).fit(X).transform(X), expected.transform(X))


@pytest.mark.parametrize("cls", PLAIN, ids=lambda cls: cls.__name__)
def test_every_map_keeps_text_and_reads_it_in_fit(cls):
    X = np.abs(sample_rows(30))
    text = next(type(row.kernel).__name__ for row in ROWS if row.make is cls)
    map = cls(text, n_components=8, random_state=0)
    assert map.kernel is text
    assert map.fit(X).kernel is text
    assert map.kernel_ == parse(text).resolve(X)
    with pytest.raises(ValueError, match="unknown kernel 'gausssian'; did you mean 'Gaussian'"):
        cls("gausssian").fit(X)
    with pytest.raises(ValueError, match="not positive definite"):
        cls("sigmoid").fit(X)


def test_wrappers_around_maps_of_text():
    X = np.abs(sample_rows(30))
    fourier, additive = OrthogonalFourier("gaussian(0.1)"), maps.AdditiveMap("additive_chi2")
    for wrapper, kernel in (
        (Compressed(fourier), Gaussian(0.1)),
        (Calibrated(fourier), Gaussian(0.1)),
        (Stack(fourier, additive), Gaussian(0.1) + AdditiveChi2()),
        (TensorProduct(fourier, maps.TensorSketch("poly(2)")), Gaussian(0.1) * Polynomial(2)),
        (Composed(fourier, additive), Gaussian(0.1).of_distance(AdditiveChi2())),
    ):
        map = clone(wrapper).set_params(n_components=12, random_state=0).fit(X)
        assert map.kernel_ == kernel
        assert mercer.kernel_error(map, X).relative < 2.0
    assert Compressed(additive).domain_is_non_negative


@pytest.mark.parametrize(
    ("map", "name"),
    [
        (OrthogonalFourier("gaussian('scale')"), "kernel__gamma"),
        (OrthogonalFourier("gaussian"), "kernel__gamma"),
        (OrthogonalFourier(), "kernel__gamma"),
        (Nystrom("gaussian(0.1) + linear()"), "kernel__left__gamma"),
        (Compressed(OrthogonalFourier("rbf")), "map__kernel__gamma"),
        (Stack(OrthogonalFourier("rbf"), maps.TensorSketch("linear")), "left__kernel__gamma"),
    ],
    ids=["text", "name", "default", "sum", "wrapper", "stack"],
)
def test_a_grid_reaches_the_kernel(map, name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0
    assert name in map.get_params()
    pipeline = make_pipeline(clone(map).set_params(random_state=0, n_components=64), RidgeClassifier())
    step = pipeline.steps[0][0]
    search = GridSearchCV(pipeline, {f"{step}__{name}": [1e-5, 0.2, 500.0]}, cv=3).fit(X, y)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert search.best_estimator_[0].get_params()[name] == search.best_params_[f"{step}__{name}"]
    with pytest.raises(ValueError, match=r"has no parameter 'gama'; it has \["):
        clone(map).set_params(**{name.replace("gamma", "gama"): 1.0})


def test_bounds_and_choices_take_text():
    assert bounds.maclaurin_range("exponential()", 0.5) == bounds.maclaurin_range(parse("exponential()"), 0.5)
    assert bounds.maclaurin_lipschitz("poly(2)", 0.5, 3) == bounds.maclaurin_lipschitz(Polynomial(2), 0.5, 3)
    for function in (bounds.uniform_components, bounds.fourier_uniform_components):
        text = "exponential()" if function is bounds.uniform_components else "rbf(0.5)"
        arguments = {"epsilon": 0.4, "delta": 0.01}
        assert function(text, 0.5, 4, **arguments) == function(parse(text), 0.5, 4, **arguments)
        with pytest.raises(ValueError, match="is not a number yet"):
            function(text.partition("(")[0], 0.5, 4, **arguments)
    assert bounds.uniform_error(9, "linear", 0.5, 2, epsilon=0.4) == bounds.uniform_error(
        9, Linear(), 0.5, 2, epsilon=0.4
    )
    assert bounds.fourier_uniform_error(8, "rbf(1)", 1.0, 2, epsilon=0.9) == bounds.fourier_uniform_error(
        8, Gaussian(1), 1.0, 2, epsilon=0.9
    )
    assert type(mercer.feature_map("rbf")) is OrthogonalFourier
    assert type(mercer.feature_map("chi2")) is Composed
    assert list(maps_for("additive_chi2")) == ["AdditiveMap", "Nystrom"]
    assert learner_for("regression", kernel="additive_chi2").asked_scale is None
    table = mercer.data.open(sample_rows(40), target=np.arange(40) / 7.0)
    assert Search(table, "regression", kernels=["rbf", "matern"], features=8).kernels[0] == Gaussian("scale")


def test_precomputed_is_not_a_kernel_of_rows():
    with pytest.raises(ValueError, match="give it alone, to Nystrom or to a learner"):
        OrthogonalFourier("precomputed").fit(sample_rows())


def test_a_file_may_not_hide_anything_but_a_kernel_in_text(tmp_path):
    map = OrthogonalFourier("gaussian(0.5)", n_components=4, random_state=0).fit(sample_rows())
    mercer.save(map, tmp_path / "map")
    content = (tmp_path / "map").read_bytes()
    for spoiled in (b"gausxian(0.5)", b"poly(99999)  "):
        (tmp_path / "map").write_bytes(content.replace(b"gaussian(0.5)", spoiled, 1))
        with pytest.raises(mercer.persist.ModelFileError):
            mercer.load(tmp_path / "map")
