"""Models are the same after a round trip through a file."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

import mercer
from mercer import Calibrated, Compressed, Nystrom, RandomFourier, RandomMaclaurin, TaylorSketch, TensorSketch
from mercer._random import Stream
from mercer.kernels import Gaussian, Linear, Maclaurin, Polynomial, parse
from mercer.learn import KernelClassifier, KernelRegressor
from mercer.maps.construction import ColumnCount
from mercer.persist import NotStoredError, describe
from mercer.persist.json_values import plain_kernel

from ..maps.test_golden import leaves
from ..tables import first_of_class, obeying
from .models import answers, fitted_learners, fitted_maps, frame, rows, target

MODES = ("full", "seed")
TREES = ("parameters_", "statistics_", "_class_weights")


def again(model, folder, mode="full"):
    mercer.save(model, folder / "model", mode)
    return mercer.load(folder / "model")


def state(model):
    """All attributes, with trees of arrays taken apart and estimators inside too."""
    found = {}
    for name, value in vars(model).items():
        if isinstance(value, BaseEstimator) or name == "preparation_":
            found |= {f"{name}.{inner}": part for inner, part in state(value).items()}
        elif isinstance(value, Stream):
            found[name] = (value.seed, value.path)
        elif isinstance(value, np.ndarray) or (isinstance(value, tuple) and name in TREES):
            found |= {f"{name}{path}": array for path, array in leaves(value)}
        else:
            found[name] = value
    return found


def assert_same(model, other):
    ours, theirs = state(model), state(other)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        if isinstance(value, np.ndarray):
            assert value.dtype == theirs[name].dtype, name
            np.testing.assert_array_equal(theirs[name], value, err_msg=name)
        elif "callable" not in name:
            assert repr(theirs[name]) == repr(value), name


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("row", first_of_class(obeying()))
def test_every_map_comes_back(row, mode, tmp_path):
    X = row.sample(40)
    map = row(12, random_state=3).fit(X)
    found = again(map, tmp_path, mode)
    np.testing.assert_array_equal(found.transform(X), map.transform(X))
    for single in (X.astype(np.float32), sp.csr_array(X)):
        ours, theirs = (
            np.asarray(
                m.transform(single).todense() if m.fitted_.keeps_sparse and sp.issparse(single) else m.transform(single)
            )
            for m in (map, found)
        )
        np.testing.assert_array_equal(theirs, ours)
    if "callable" not in row.id:
        assert_same(map, found)
    mercer.save(found, tmp_path / "second", mode)
    assert (tmp_path / "second").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("row", first_of_class(obeying()))
def test_maps_that_say_so_do_not_look_at_rows_when_they_draw(row):
    map = row(12, random_state=3).fit(row.sample(40))
    construction, rng = map.construction_, Stream(3, type(map).__name__)
    if construction.draws_from_rows:
        with pytest.raises(AttributeError):
            construction.draw(rng, ColumnCount(5))
    else:
        drawn = construction.draw(rng, ColumnCount(5)).parameters
        for (path, ours), (_, theirs) in zip(leaves(map.parameters_), leaves(drawn), strict=True):
            np.testing.assert_array_equal(theirs, ours, err_msg=path)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", fitted_learners())
def test_every_learner_comes_back(name, mode, tmp_path):
    model, X = fitted_learners()[name]
    found = again(model, tmp_path, mode)
    np.testing.assert_array_equal(answers(found, X), answers(model, X))
    assert_same(model, found)
    assert repr(clone(found)) == repr(clone(model))
    mercer.save(found, tmp_path / "second", mode)
    assert (tmp_path / "second").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("row", obeying())
def test_kernels_are_read_back_as_they_were(row):
    kernel = plain_kernel(row.kernel, "kernel")
    assert parse(repr(kernel)) == kernel
    assert (kernel == row.kernel) == ("callable" not in row.id)


def test_equal_models_are_equal_bytes(tmp_path):
    for name in ("first", "second"):
        model = KernelRegressor(n_components=8, random_state=0, kernel=None, alpha=1.0, preparation=None).fit(
            rows(), target(rows())
        )
        mercer.save(model, tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_learning_continues_where_it_stopped(tmp_path):
    X, more = rows(60), rows(40, seed=1)
    model = KernelRegressor(n_components=8, random_state=0, kernel=None, alpha=1.0, preparation=None)
    model.partial_fit(X, target(X))
    found, other = again(model, tmp_path), again(model, tmp_path)
    for one in (model, found):
        one.partial_fit(more, target(more))
    np.testing.assert_array_equal(found.coef_, model.coef_)
    np.testing.assert_array_equal(found.predict(X, return_std=True)[1], model.predict(X, return_std=True)[1])
    found.forget(more, target(more)).merge(other)
    assert found.statistics_.rows[0] == 120


def test_what_was_only_prepared_comes_back_and_learns(tmp_path):
    F = frame()
    model = KernelRegressor(
        n_components=8, scale="standard", random_state=0, kernel=None, alpha=1.0, preparation=None
    ).prepare(F, target(F))
    found = again(model, tmp_path)
    for one in (model, found):
        one.partial_fit(F, target(F))
    np.testing.assert_array_equal(found.coef_, model.coef_)


def classifiers():
    """Classifiers of one task and of several, with and without sums, and their rows."""
    X = rows()
    y = np.array(["no", "perhaps", "yes"])[np.digitize(target(X), [-0.8, 0.3])]
    tasks = np.column_stack([y, np.where(X[:, 0] > 0, "left", "right")])
    common = {"n_components": 8, "random_state": 0}
    squared = KernelClassifier(
        loss="squared",
        keep_statistics=True,
        **({"kernel": None, "C": 1.0, "preparation": None} | common),
    )
    parts = KernelClassifier(
        loss="squared",
        class_weight={"no": 1.0, "perhaps": 2.5, "yes": 1.0},
        **({"kernel": None, "C": 1.0, "preparation": None} | common),
    )
    return {
        "sums": squared.fit(X, y),
        "sums of tasks": clone(squared).fit(X, tasks),
        "parts": parts.partial_fit(X, y, classes=["no", "perhaps", "yes"]),
        "tasks": KernelClassifier(
            loss="logistic",
            class_weight="balanced",
            **({"kernel": None, "C": 1.0, "preparation": None} | common),
        ).fit(X, tasks),
        "numbers": KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | common)).fit(
            X, np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(np.int8)
        ),
        "objects": KernelClassifier(**({"kernel": None, "C": 1.0, "preparation": None} | common)).fit(
            X, tasks.astype(object)
        ),
        "prepared": clone(squared).prepare(X),
    }


@pytest.mark.parametrize("name", classifiers())
def test_classifiers_with_sums_and_tasks_come_back(name, tmp_path):
    X, more = rows(), rows(40, seed=1)
    model = classifiers()[name]
    found = again(model, tmp_path)
    assert_same(model, found)
    if name != "prepared":
        np.testing.assert_array_equal(found.predict(X), model.predict(X))
    if hasattr(model, "partial_fit"):
        y = np.array(["no", "yes"])[(more[:, 0] > 0).astype(int)]
        y = np.column_stack([y, np.full(len(y), "left")]) if name == "sums of tasks" else y
        classes = None if hasattr(model, "classes_") else ["no", "yes"]
        for one in (model, found):
            one.partial_fit(more, y, classes=classes)
        np.testing.assert_array_equal(found.coef_, model.coef_)
        assert_same(model.merge(model), found.merge(again(found, tmp_path)))


def test_a_classifier_that_has_not_learned_is_not_saved_after_a_fit_that_failed(tmp_path):
    X = rows()

    def fail(progress):
        if progress.what == "sums":
            raise ArithmeticError

    model = KernelClassifier(n_components=8, loss="squared", callback=fail, kernel=None, C=1.0, preparation=None)
    with pytest.raises(ArithmeticError):
        model.fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="not fitted"):
        mercer.save(model, tmp_path / "model")


@pytest.mark.parametrize("learner", [KernelRegressor, KernelClassifier])
def test_learners_on_kernel_values_come_back(learner, tmp_path):
    X = rows()
    K = Gaussian(0.5)(X)
    for model in (learner("precomputed", n_components=6), learner(map=Nystrom("precomputed", n_components=6))):
        model.fit(K, X[:, 0] > 0)
        found = again(model, tmp_path)
        assert_same(model, found)
        np.testing.assert_array_equal(found.predict(K[:7]), model.predict(K[:7]))


def test_a_loaded_model_is_fitted_again_as_the_one_that_was_saved(tmp_path):
    model, X = fitted_learners()["regressor"]
    found = clone(again(model, tmp_path)).fit(X, target(X))
    np.testing.assert_array_equal(found.coef_, model.coef_)


@pytest.mark.parametrize("source", [np.random.default_rng, np.random.RandomState])
def test_a_generator_is_saved_as_the_seed_that_it_gave(source, tmp_path):
    X = rows()
    map = RandomFourier(Gaussian(0.5), n_components=8, random_state=source(0)).fit(X)
    found = again(map, tmp_path)
    assert found.random_state == map.seed_ == describe(tmp_path / "model")["model"]["seed"]
    np.testing.assert_array_equal(clone(found).fit_transform(X), map.transform(X))
    model = KernelRegressor(map=clone(map).set_params(random_state=source(1)), alpha=1.0, preparation=None).fit(
        X, target(X)
    )
    assert again(model, tmp_path).map.random_state == model.map_.seed_


def test_arguments_of_every_kind(tmp_path):
    X = rows()
    given = KernelRegressor(
        alpha=np.logspace(-3, 3, 5), n_components=np.int64(8), random_state=np.int32(1), kernel=None, preparation=None
    )
    found = again(given.fit(X, target(X)), tmp_path)
    np.testing.assert_array_equal(found.alpha, given.alpha)
    assert type(found.n_components) is int
    weights = {"no": 1.0, "yes": np.float64(2.5)}
    classifier = KernelClassifier(
        class_weight=weights, n_components=8, random_state=0, tol=np.float32(0.01), kernel=None, C=1.0, preparation=None
    )
    found = again(classifier.fit(X, np.where(X[:, 0] > 0, "yes", "no")), tmp_path)
    assert found.class_weight == weights
    assert again(KernelRegressor(alpha=(0.1, 1), kernel=None, preparation=None).fit(X, target(X)), tmp_path).alpha == (
        0.1,
        1,
    )
    map = Nystrom(Gaussian(0.5), landmarks=X[:7], n_jobs=1).fit(X)
    np.testing.assert_array_equal(again(map, tmp_path).landmarks, X[:7])
    assert again(Nystrom(Gaussian(0.5), landmarks=[3, 1, 2]).fit(X), tmp_path).landmarks == [3, 1, 2]


def test_precomputed_kernels_come_back(tmp_path):
    X = rows()
    K = Gaussian(0.5)(X)
    map = Nystrom("precomputed", n_components=6, random_state=0).fit(K)
    np.testing.assert_array_equal(again(map, tmp_path).transform(K), map.transform(K))


def test_the_coefficients_of_a_function_are_saved_in_its_place(tmp_path):
    X = rows() / 10
    for make in (RandomMaclaurin, TaylorSketch):
        map = make(Maclaurin(lambda n: 0.5**n), n_components=12, random_state=0).fit(X)
        found = again(map, tmp_path)
        np.testing.assert_array_equal(found.transform(X), map.transform(X))
        assert found.kernel_ == found.kernel
        np.testing.assert_array_equal(found.kernel_.series(512), map.kernel_.series(512))


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (Nystrom(lambda x, y: float(x @ y), n_components=4), "kernel is the function"),
        (Nystrom(Maclaurin(lambda n: 0.5**n), n_components=4), "Nystrom evaluates all"),
        (Compressed(Nystrom(lambda x, y: float(x @ y)), n_components=4), "map.kernel is the function"),
        (Nystrom(Linear(), landmarks=sp.csr_array(rows()[:4] / 10)), "landmarks is of type csr_array"),
    ],
)
def test_functions_and_strange_things_are_refused(model, reason, tmp_path):
    model.fit(rows() / 10)
    with pytest.raises(NotStoredError, match=reason):
        mercer.save(model, tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_learners_with_functions_strange_labels_or_levels_are_refused(tmp_path):
    X, F = rows(), frame()
    with pytest.raises(NotStoredError, match="callback is the function"):
        mercer.save(
            KernelRegressor(n_components=8, callback=print, kernel=None, alpha=1.0, preparation=None).fit(X, target(X)),
            tmp_path / "model",
        )
    F["shape"] = [(1, 2)] * len(F)
    with pytest.raises(NotStoredError, match="column 'shape' has the level"):
        mercer.save(
            KernelRegressor(n_components=8, kernel=None, alpha=1.0, preparation=None).fit(F, target(F)),
            tmp_path / "model",
        )
    model = KernelClassifier(n_components=8, kernel=None, C=1.0, preparation=None).fit(X, X[:, 0] > 0)
    model.classes_ = np.array([1j, 2j])
    with pytest.raises(NotStoredError, match="complex128"):
        mercer.save(model, tmp_path / "model")


def test_what_is_no_model_of_this_package_is_refused(tmp_path):
    class Mine(RandomFourier):
        pass

    class MyRegressor(KernelRegressor):
        pass

    X = rows()
    for model in (Mine(Gaussian()).fit(X), MyRegressor(n_components=8).fit(X, target(X))):
        with pytest.raises(NotStoredError, match="could not be read"):
            mercer.save(model, tmp_path / "model")
    with pytest.raises(TypeError, match="found dict"):
        mercer.save({}, tmp_path / "model")
    with pytest.raises(ValueError, match="not fitted"):
        mercer.save(RandomFourier(), tmp_path / "model")
    with pytest.raises(ValueError, match="parameters must be one of"):
        mercer.save(RandomFourier().fit(X), tmp_path / "model", parameters="none")
    with pytest.raises(ValueError, match="has degree 1000000"):
        mercer.save(TensorSketch(Polynomial(10**6), n_components=2).fit([[0.1]]), tmp_path / "model")


def test_parameters_that_are_not_those_of_the_seed_are_not_left_out(tmp_path):
    map = TensorSketch(n_components=8, random_state=0).fit(rows())
    map.adopt(map.construction_.fitted(map.parameters_._replace(signs=-map.parameters_.signs)))
    with pytest.raises(
        ValueError, match=r"the seed 0 does not draw the parameters of the saved model.* parameters='full'"
    ):
        mercer.save(map, tmp_path / "model", "seed")
    waves, X = RandomFourier(Gaussian(0.5), n_components=8, random_state=0).fit(rows()), rows()
    turned = waves.parameters_._replace(frequencies=waves.parameters_.frequencies * (1.0 + 1e-9))
    waves.adopt(waves.construction_.fitted(turned))
    model = KernelRegressor(map=RandomFourier(Gaussian(0.5), n_components=8, random_state=0), alpha=1.0).fit(
        X, target(X)
    )
    model.map_ = waves
    for one in (waves, model):
        with pytest.raises(ValueError, match=r"does not draw the parameters .* parameters='full'"):
            mercer.save(one, tmp_path / "model", "seed")
    assert not (tmp_path / "model").exists()
    np.testing.assert_array_equal(again(map, tmp_path).parameters_.signs, map.parameters_.signs)


def test_arguments_that_were_changed_after_the_fit_are_noticed(tmp_path):
    map = RandomFourier(Gaussian(0.5), n_components=8, random_state=0).fit(rows())
    with pytest.raises(ValueError, match=r"cannot be saved in this form: the width .* must be 10, found 8"):
        mercer.save(map.set_params(n_components=10), tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_what_rows_gave_stays_where_the_seed_is_kept(tmp_path):
    for name, kept in (
        ("stack", {"parameters.left.weights"}),
        ("tefm", {"parameters.projection", "parameters.map.vector"}),
    ):
        mercer.save(fitted_maps()[name][0], tmp_path / "model", "seed")
        assert describe(tmp_path / "model")["tensors"].keys() == kept


def test_a_fresh_process_predicts_the_same(tmp_path):
    X = rows()
    model = KernelRegressor(
        map=Calibrated(RandomFourier(Gaussian("scale")), random_state=1), alpha=1.0, preparation=None
    ).fit(X, target(X))
    mercer.save(model, tmp_path / "model", "seed")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, numpy, mercer; numpy.save(sys.argv[3], mercer.load(sys.argv[1]).predict(numpy.load(sys.argv[2])))"
    )
    names = [str(tmp_path / name) for name in ("model", "X.npy", "y.npy")]
    subprocess.run([sys.executable, "-c", code, *names], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), model.predict(X))


@pytest.mark.parametrize(
    "labels",
    [[True, False], np.int8([-1, 1]), np.uint64([1, 2**63]), [1.0, 2.0], np.array(["a", "bc"], object), ["ä", ""]],
    ids=str,
)
def test_labels_of_every_kind_come_back(labels, tmp_path):
    X = rows()
    model = KernelClassifier(n_components=8, random_state=0, kernel=None, C=1.0, preparation=None).fit(
        X, np.asarray(labels)[(X[:, 0] > 0).astype(int)]
    )
    found = again(model, tmp_path)
    assert found.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(found.predict(X), model.predict(X))


def test_names_of_columns_come_back_with_a_map(tmp_path):
    F = pd.DataFrame(rows(), columns=list("abcd"))
    map = Calibrated(RandomFourier(Gaussian(0.5)), n_components=8, random_state=0).fit(F)
    found = again(map, tmp_path)
    np.testing.assert_array_equal(found.transform(F), map.transform(F))  # and no warning about missing names
    np.testing.assert_array_equal(found.map_.feature_names_in_, map.map_.feature_names_in_)
    np.testing.assert_array_equal(found.get_feature_names_out(), map.get_feature_names_out())
    with pytest.raises(ValueError, match="feature names"):
        found.transform(F[list("dcba")])


def test_describe_shows_the_content_of_a_file(tmp_path):
    model, _ = fitted_learners()["classifier-frame"]
    mercer.save(model, tmp_path / "model")
    found = describe(tmp_path / "model")
    assert (found["format"], found["class"], found["parameters"]) == (1, "KernelClassifier", "full")
    assert found["versions"]["numpy"] == np.__version__
    assert found["model"]["names"] == ["length", "level", "even", "width"]
    assert found["model"]["classes"]["items"] == ["no", "perhaps", "yes"]
    assert found["model"]["preparation"]["columns"][1] == ["level", ["high", "low", "middle"]]
    assert found["model"]["map"]["seed"] == 0
    assert parse(found["model"]["map"]["kernel"]) == model.map_.kernel_
    assert found["tensors"]["coef_"] == ("F64", (3, 16))
