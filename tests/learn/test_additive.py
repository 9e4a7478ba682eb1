"""Sums of classifiers and other learners: rows are added and removed, and sums are merged."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from mercer import RandomFourier
from mercer.data import Blocks
from mercer.kernels import Gaussian
from mercer.learn import KernelClassifier, KernelRegressor

NAMES = np.array(["cat", "dog", "eel"])


def problem(n=1200, classes=3, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(dtype)
    radius = np.linalg.norm(X, axis=1) + 0.3 * rng.normal(size=n)
    return X, NAMES[np.searchsorted(np.quantile(radius, np.arange(1, classes) / classes), radius)], rng.random(n)


def machine(**arguments):
    features = RandomFourier(Gaussian(0.3), n_components=40, random_state=0)
    return KernelClassifier(
        **({"kernel": None, "C": 1.0, "preparation": None} | {"map": features, "loss": "squared"} | arguments)
    )


def assert_same(ours, theirs, atol):
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=atol * np.abs(theirs.coef_).max())
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=atol)


@pytest.mark.parametrize("class_weight", [None, {"cat": 2.0, "dog": 0.5, "eel": 1.0}])
@pytest.mark.parametrize("classes", [2, 3])
def test_batches_merges_and_blocks_agree_with_one_pass(classes, class_weight):
    X, y, weight = problem(classes=classes)
    class_weight = class_weight and {name: class_weight[name] for name in NAMES[:classes].tolist()}
    arguments = {"class_weight": class_weight, "C": 3.0}
    whole = machine(**arguments, keep_statistics=True).fit(X, y, weight)
    batches, halves = machine(**arguments), [machine(**arguments) for _ in range(2)]
    for start in range(0, 1200, 100):
        rows = slice(start, start + 100)
        first = NAMES[:classes] if start == 0 else None
        batches.partial_fit(X[rows], y[rows], first, weight[rows])
        halves[start // 600].partial_fit(X[rows], y[rows], NAMES[:classes], weight[rows])
    parts = [Blocks([(X[half], y[half], weight[half])]) for half in (slice(500), slice(500, None))]
    blocks = machine(**arguments).partial_fit(parts[0], classes=NAMES[:classes]).partial_fit(parts[1])
    for model in (batches, halves[0].merge(halves[1]), blocks):
        for ours, theirs in zip(model.statistics_, whole.statistics_, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10 * np.abs(theirs).max())
        assert_same(model, whole, 1e-10)
        np.testing.assert_array_equal(model.predict(X), whole.predict(X))


def test_a_model_that_was_stored_continues():
    X, y, _ = problem()
    stored = pickle.loads(pickle.dumps(machine().partial_fit(X[:400], y[:400], NAMES)))
    assert_same(stored.partial_fit(X[400:], y[400:]), machine().fit(X, y), 1e-10)


def test_rows_are_forgotten():
    X, y, weight = problem(classes=3)
    never = machine(keep_statistics=True).fit(X[:700], y[:700], weight[:700])
    model = machine(keep_statistics=True).fit(X, y, weight).forget(X[700:], y[700:], weight[700:])
    assert_same(model, never, 1e-8)
    with pytest.raises(ValueError, match=r"700 rows of weight .* cannot be forgotten, because only 700 rows"):
        model.forget(X[:700], y[:700], weight[:700])
    with pytest.raises(ValueError, match="there are no sums: give keep_statistics=True"):
        machine().fit(X, y).forget(X[:10], y[:10])


def test_classes_come_with_the_first_call():
    X, y, _ = problem(200)
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        machine().partial_fit(X, y)
    model = machine().partial_fit(X[y != "eel"], y[y != "eel"], NAMES)
    assert model.classes_.tolist() == NAMES.tolist()
    assert model.decision_function(X).shape == (200, 3)
    before = model.coef_.copy()
    y[5] = "fox"
    with pytest.raises(ValueError, match="unknown label 'fox' in row 5; known labels are 'cat', 'dog', 'eel'"):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.coef_, before)
    with pytest.raises(ValueError, match=r"classes=\['cat', 'dog'\] differ from the first call's, \['cat', 'dog'"):
        model.partial_fit(X, y, NAMES[:2])
    with pytest.raises(ValueError, match="unknown label 3 in row 1; known labels are 0, 1"):
        machine().partial_fit(X[:2], [1, 3], [0, 1])


def test_a_row_of_a_later_block_is_named():
    X, y, _ = problem(5000)
    y[4099] = "fox"
    with pytest.raises(ValueError, match="unknown label 'fox' in row 4099"):
        machine().partial_fit(X, y, NAMES)


def test_balanced_weights_need_all_rows():
    X, y, _ = problem(100)
    model = machine(class_weight="balanced", keep_statistics=True).fit(X, y)
    for call in (
        lambda: machine(class_weight="balanced").partial_fit(X, y, NAMES),
        lambda: model.forget(X[:5], y[:5]),
        lambda: model.merge(model),
    ):
        with pytest.raises(ValueError, match="class_weight='balanced' depends on the total number"):
            call()


def test_a_class_of_weight_0_has_no_effect():
    X, y, _ = problem(9000, classes=2)
    order = np.argsort(y, kind="stable")  # whole chunks of the class
    model = machine(class_weight={"cat": 0.0, "dog": 1.0}).fit(X[order], y[order])
    np.testing.assert_allclose(model.decision_function(X), 1.0, atol=1e-6)


def test_what_cannot_be_merged_is_named():
    X, y, _ = problem(100, classes=2)
    first = machine().partial_fit(X, y, NAMES[:2])
    for other, what in (
        (machine().partial_fit(X, y, NAMES), r"classes: \['cat', 'dog'\] here and \['cat', 'dog', 'eel'\] there"),
        (
            machine(class_weight={"cat": 2.0}).partial_fit(X, y, NAMES[:2]),
            r"class weights: None here and \[\[2.0, 1.0\]\]",
        ),
        (machine(scale="unit").partial_fit(X, y, NAMES[:2]), "scale is None here and 'unit' there"),
    ):
        with pytest.raises(ValueError, match=what):
            first.merge(other)
    with pytest.raises(TypeError, match="expected another KernelClassifier to merge with, found KernelRegressor"):
        first.merge(KernelRegressor(map=first.map, kernel=None, alpha=1.0, preparation=None).partial_fit(X, X[:, 0]))


def test_only_sums_can_be_added_to():
    X, y, _ = problem(100)
    for model in (
        KernelClassifier(kernel=None, C=1.0, preparation=None),
        KernelClassifier(loss="logistic", kernel=None, C=1.0, preparation=None),
        KernelRegressor(alpha="loo", kernel=None, preparation=None),
    ):
        for name in ("partial_fit", "prepare", "merge", "forget"):
            assert not hasattr(model, name)
    with pytest.raises(ValueError, match="keep_statistics requires loss='squared', found loss='logistic'"):
        KernelClassifier(loss="logistic", keep_statistics=True, kernel=None, C=1.0, preparation=None).fit(X, y)


def test_what_was_only_prepared_is_not_fitted():
    X, y, _ = problem(100)
    model = machine(scale="standard").fit(X, y).prepare(X)
    for use in (model.predict, model.decision_function, lambda X: model.merge(model)):
        with pytest.raises(NotFittedError):
            use(X)
    whole = machine(scale="standard").fit(X, y)
    assert_same(model.partial_fit(X[:50], y[:50], NAMES).partial_fit(X[50:], y[50:]), whole, 1e-10)


def test_the_least_precise_batch_counts():
    X, y, _ = problem(100)
    model = machine().partial_fit(X.astype(np.float32), y, NAMES).partial_fit(X, y)
    assert model._precision == np.finfo(np.float32).eps / 2  # each feature is rounded by so much
    assert machine().partial_fit(X, y, NAMES).merge(model)._precision == pytest.approx(np.finfo(np.float32).eps / 3)
