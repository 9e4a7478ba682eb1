"""Preparation of columns before features are computed: scales, levels, gaps."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from mercer import data
from mercer.data import Blocks
from mercer.kernels import AdditiveChi2
from mercer.learn import KernelClassifier, KernelRegressor
from mercer.learn.prepare.preparation import Preparation
from mercer.learn.statistics.column_summaries import summarise


def learned(X, scale=None, missing="error", unknown="error", weight=None, cuts=()):
    preparation = Preparation(scale, missing, unknown)
    parts = np.split(np.arange(X.shape[0]), cuts)
    take = (lambda rows: X.iloc[rows]) if hasattr(X, "iloc") else (lambda rows: X[rows])
    preparation.learn_columns(take(rows) for rows in parts)
    if preparation.needs_summary:
        blocks = ((take(rows), None if weight is None else weight[rows]) for rows in parts)
        preparation.take_scale(preparation.summed_up(blocks))
    return preparation


def numbers(n=50, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * [1.0, 100.0, 0.01] + [0.0, 1e6, 5.0]


@pytest.mark.parametrize(
    ("scale", "reference"), [("standard", StandardScaler()), ("minmax", MinMaxScaler()), ("unit", Normalizer())]
)
def test_scales_are_those_of_scikit_learn(scale, reference):
    X = numbers()
    expected = reference.fit_transform(X)
    for cuts in ((), (10, 30)):
        np.testing.assert_allclose(learned(X, scale, cuts=cuts)(X), expected, atol=1e-7)
    single = X.astype(np.float32)
    assert learned(single, scale)(single).dtype == np.float32


def test_weighted_scales():
    X, weight = numbers(), np.random.default_rng(1).integers(1, 4, size=50)
    repeated = learned(np.repeat(X, weight, axis=0), "standard")
    np.testing.assert_allclose(learned(X, "standard", weight=weight.astype(float))(X), repeated(X), atol=1e-7)


def test_zeros_of_sparse_rows_stay_zeros():
    rng = np.random.default_rng(2)
    X = sp.csr_array(rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.3))
    for scale, reference in (
        ("standard", StandardScaler(with_mean=False)),
        ("minmax", MaxAbsScaler()),
        ("unit", Normalizer()),
    ):
        found = learned(X, scale, cuts=(20,))(X)
        assert sp.issparse(found)
        np.testing.assert_allclose(found.toarray(), reference.fit_transform(X).toarray(), atol=1e-12)


def test_a_constant_column_has_no_effect():
    X = numbers()
    X[:, 1] = 7.0
    for scale in ("standard", "minmax"):
        np.testing.assert_array_equal(learned(X, scale)(X)[:, 1], 0.0)


FRAMES = [pd.DataFrame, pl.DataFrame]


def people(kind, n=6):
    return kind(
        {
            "age": [30.0, 40.0, 50.0, 20.0, 35.0, 61.0][:n],
            "town": ["Oslo", "Rome", "Oslo", "Kyiv", "Rome", "Rome"][:n],
            "member": [True, False, True, True, False, False][:n],
        }
    )


@pytest.mark.parametrize("kind", FRAMES)
def test_levels_become_columns(kind):
    X = people(kind)
    found = learned(X)(X)
    town = np.array([[0, 1, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1]])
    member = np.array([[0, 1], [1, 0], [0, 1], [0, 1], [1, 0], [1, 0]])
    np.testing.assert_array_equal(found, np.column_stack([[30, 40, 50, 20, 35, 61], town, member]))


def test_categories_of_pandas_are_levels():
    X = pd.DataFrame({"size": pd.Categorical(["small", "large", "small"]), "count": [1, 2, 3]})
    np.testing.assert_array_equal(learned(X)(X), [[0, 1, 1], [1, 0, 2], [0, 1, 3]])


@pytest.mark.parametrize("kind", FRAMES)
def test_unknown_levels(kind):
    X, new = people(kind, 5), people(kind)
    new = (
        new.replace("Kyiv", "Lima")
        if kind is pd.DataFrame
        else new.with_columns(pl.col("town").replace("Kyiv", "Lima"))
    )
    with pytest.raises(
        ValueError,
        match=r"column 'town' has the unknown level 'Lima' in row 3; known levels are 'Kyiv', 'Oslo', 'Rome'",
    ):
        learned(X)(new)
    np.testing.assert_array_equal(learned(X, unknown="ignore")(new)[3, 1:4], 0.0)


@pytest.mark.parametrize("kind", FRAMES)
def test_missing_values_in_frames_are_filled(kind):
    X = kind({"age": [30.0, None, 50.0], "town": ["Oslo", "Rome", None]})
    with pytest.raises(
        ValueError, match=r"Input X contains NaN: row 1, column 'age' is missing; missing='mean' fills it"
    ):
        learned(X)(X)
    np.testing.assert_allclose(learned(X, missing="mean")(X), [[30, 1, 0], [40, 0, 1], [50, 0.5, 0.5]])


def test_missing_values_in_matrices_are_filled():
    X = numbers()
    X[4, 2] = np.nan
    model = KernelRegressor(
        missing="mean", scale="standard", random_state=0, kernel=None, alpha=1.0, preparation=None
    ).fit(X, X[:, 0])
    filled = X.copy()
    filled[4, 2] = np.nanmean(X[:, 2])
    np.testing.assert_allclose(model.predict(X), model.predict(filled), atol=1e-9)
    with pytest.raises(ValueError, match=r"contains NaN[\s\S]*row 4, column 2"):
        KernelRegressor(kernel=None, alpha=1.0, preparation=None).fit(X, X[:, 0])
    X[:, 1] = np.nan
    with pytest.raises(ValueError, match="column 1 is missing in every training row, so it has no mean"):
        KernelRegressor(missing="mean", kernel=None, alpha=1.0, preparation=None).fit(X, X[:, 0])


@pytest.mark.parametrize("kind", FRAMES)
def test_learners_take_frames(kind):
    rng = np.random.default_rng(3)
    town, age = rng.choice(["Oslo", "Rome"], size=300), rng.uniform(20, 60, size=300)
    y = (town == "Oslo") ^ (age > 40)
    X = kind({"town": town, "age": age})
    model = KernelClassifier(scale="standard", random_state=0, kernel=None, C=1.0, preparation=None).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.n_features_in_ == 2
    blocks = Blocks([(X[start : start + 70], y[start : start + 70]) for start in range(0, 300, 70)])
    from_blocks = KernelClassifier(scale="standard", random_state=0, kernel=None, C=1.0, preparation=None).fit(blocks)
    np.testing.assert_allclose(from_blocks.decision_function(X), model.decision_function(X), atol=1e-9)
    other = kind({"age": age, "town": town})
    with pytest.raises(ValueError, match="feature names"):
        model.predict(other)


def test_blocks_are_checked():
    X, y = numbers(), np.arange(50.0)
    with pytest.raises(TypeError, match="found an iterator: give a function that returns it"):
        Blocks(iter([(X, y)]))
    with pytest.raises(ValueError, match="a block of 50 rows has 49 y"):
        KernelRegressor(kernel=None, alpha=1.0, preparation=None).fit(Blocks([(X, y[1:])]))
    with pytest.raises(ValueError, match="contain y and weights"):
        KernelRegressor(kernel=None, alpha=1.0, preparation=None).fit(Blocks([(X, y)]), y)
    with pytest.raises(ValueError, match="the blocks must contain y, found only X"):
        KernelRegressor(kernel=None, alpha=1.0, preparation=None).fit(Blocks([X]))
    weighted = KernelRegressor(random_state=0, kernel=None, alpha=1.0, preparation=None).fit(
        Blocks([(X, y, np.ones(50)), (X[:5], y[:5], np.zeros(5))])
    )
    np.testing.assert_array_equal(
        weighted.coef_, KernelRegressor(random_state=0, kernel=None, alpha=1.0, preparation=None).fit(X, y).coef_
    )


def test_a_row_outside_the_domain_is_named_by_its_number():
    X = np.abs(numbers(5000))
    X[4100, 1] = -1.0
    parts = [(X[start : start + 300], X[start : start + 300, 0]) for start in range(0, 5000, 300)]
    with pytest.raises(ValueError, match=r": row 4100, column 1 has -1$"):
        KernelRegressor(AdditiveChi2(), n_components=9, alpha=1.0, preparation=None).fit(Blocks(parts))


def test_choices_are_checked():
    X = numbers()
    for name in ("scale", "missing", "unknown"):
        with pytest.raises(ValueError, match=f"{name} must be one of"):
            KernelRegressor(**({"kernel": None, "alpha": 1.0, "preparation": None} | {name: "other"})).fit(X, X[:, 0])


def twice(X, order=None):
    """A CSR matrix with two entries for each that the dense one has, which add up to it."""
    once = sp.csr_array(X)
    halves = (np.repeat(once.data, 2) * np.tile([0.25, 0.75], once.nnz), np.repeat(once.indices, 2), once.indptr * 2)
    return sp.csr_array(halves, shape=X.shape)


@pytest.mark.parametrize("scale", ["standard", "minmax", "unit", None])
def test_entries_that_are_stored_twice_add_up(scale):
    X, y = np.abs(numbers()), np.arange(len(numbers())) * 1.0
    X[X < 0.4] = 0.0
    once, doubled = sp.csr_array(X), twice(X)
    held = doubled.nnz
    expected = KernelRegressor("gaussian(0.5)", n_components=16, scale=scale, random_state=0, alpha=1.0).fit(once, y)
    for table in (None, data.open(doubled, target=y), data.Blocks([(doubled, y)])):
        model = KernelRegressor("gaussian(0.5)", n_components=16, scale=scale, random_state=0, alpha=1.0)
        model = model.fit(doubled, y) if table is None else model.fit(table)
        np.testing.assert_allclose(model.predict(once), expected.predict(once), rtol=1e-9)
        np.testing.assert_allclose(expected.predict(doubled), expected.predict(once), rtol=1e-9)
    assert doubled.nnz == held  # the user's own data are not changed


def test_a_missing_value_that_is_stored_twice_counts_once():
    X = np.abs(numbers()) + 1.0
    X[3, 1] = np.nan
    model = KernelRegressor(
        n_components=8, missing="mean", random_state=0, kernel=None, alpha=1.0, preparation=None
    ).fit(sp.csr_array(X), X[:, 0])
    np.testing.assert_allclose(model.predict(twice(X)), model.predict(sp.csr_array(X)), rtol=1e-9)


def test_unsorted_rows_are_not_copied():
    from mercer.data.block import without_duplicates

    X = sp.csr_array((np.ones(3), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    assert without_duplicates(X) is X
    assert X.indices.tolist() == [2, 0, 1]


def many_levels(n=6000, count=500):
    return pd.DataFrame({"name": [f"n{row % count}" for row in range(n)], "x": np.arange(n) * 1.0})


def test_levels_take_no_more_than_rows_and_a_copy(monkeypatch):
    monkeypatch.setattr("mercer.learn.prepare.coded_rows.MOST_DENSE", 2400)
    X, preparation = many_levels(count=2400), Preparation("standard", "error", "error")
    preparation.learn_columns([X])
    tracemalloc.start()
    preparation.take_scale(preparation.summed_up([(X[:4096], None)]))
    preparation(X[:4096])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2.5 * 8 * 4096 * 2401


def test_more_levels_than_there_is_room_for_are_refused(monkeypatch):
    X = many_levels()
    monkeypatch.setattr("mercer._memory.physical_memory", lambda: 60 << 20)
    many = "column 'name' has 500 levels, each of which becomes a column of numbers"
    with pytest.raises(MemoryError, match=f"{many}: exclude it with exclude= of mercer.data.open"):
        KernelRegressor("gaussian(0.5)", n_components=4, alpha=1.0).fit(X, X["x"])
    KernelRegressor("gaussian(0.5)", n_components=4, alpha=1.0).fit(many_levels(count=100), X["x"])


def test_summaries_of_many_columns_are_those_of_few(monkeypatch):
    X, weight = numbers(40, 3).repeat(5, axis=1), np.arange(40.0)
    X[3, 4] = np.nan
    for given in (None, weight):
        whole = summarise(X, given)
        for name in ("WIDE", "SUMMARISED"):
            monkeypatch.setattr(f"mercer.learn.statistics.column_summaries.{name}", 4)
        for ours, theirs in zip(summarise(X, given), whole, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        monkeypatch.undo()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("dtype", "sizes"), [(np.float32, (1e20, 1e-23, 1e-40)), (np.float64, (1e160, 1e-170, 1e300))])
def test_rows_of_any_size_have_norm_1(dtype, sizes, sparse):
    X = (np.random.default_rng(0).normal(size=(12, 7)) + 0.5).astype(np.float64)
    X[:, 3] = 0.0
    X[11] = 0.0
    expected = X / np.where(np.linalg.norm(X, axis=1) > 0.0, np.linalg.norm(X, axis=1), 1.0)[:, None]
    for row, size in enumerate(sizes):
        X[row] *= size
    given = X.astype(dtype)
    given = sp.csr_array(given) if sparse else given
    found = Preparation("unit", "error", "error")(given)
    found = found.toarray() if sparse else found
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4 if dtype == np.float32 else 1e-12)
    np.testing.assert_allclose(np.linalg.norm(found[:11], axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("size", [1e160, 1e300, 1e-170, 1e-290])
def test_columns_of_any_size_are_scaled(size, sparse):
    X = np.abs(np.random.default_rng(1).normal(size=(60, 3))) + 0.1
    X[:20, 1] = 0.0 if sparse else X[:20, 1]
    X[[0, 1], 0] = 0.0
    factors = np.array([1.0, size, 1.0 / np.sqrt(size)])

    def prepared(X, **options):
        rows = sp.csr_array(X) if sparse else X
        return dense(learned(rows, "standard", **options)(rows))

    for options in ({}, {"cuts": (20,)}, {"cuts": (1, 2, 40)}, {"weight": np.arange(60.0)}):
        np.testing.assert_allclose(prepared(X * factors, **options), prepared(X, **options), rtol=1e-9, atol=1e-12)


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def test_a_column_of_zeros_before_small_numbers():
    X = np.r_[np.zeros(30), np.random.default_rng(2).normal(size=30) * 1e-170][:, None]
    expected = StandardScaler().fit_transform(X * 1e170)
    np.testing.assert_allclose(learned(X, "standard", cuts=(10, 30, 45))(X), expected, rtol=1e-9)
