"""Data frames with many levels: rows are CSR, and models are the same as with dense rows."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import mercer
from mercer import Nystrom, StructuredFourier, TensorSketch, _core
from mercer.data import Blocks
from mercer.kernels import Gaussian, Polynomial
from mercer.learn import KernelClassifier, KernelRegressor
from mercer.learn.prepare import coded_rows
from mercer.learn.prepare.preparation import Preparation
from mercer.persist import train

from ..tables import every_value

pytestmark = pytest.mark.filterwarnings("ignore:column 'name' has:UserWarning")  # that it may be an identifier


def frame(n=1500, count=600, gaps=False, kind=pd.DataFrame, seed=0):
    """Rows with frequent levels, one level that is in all rows and many rare ones; targets depend on them."""
    rng = np.random.default_rng(seed)
    number = np.r_[np.arange(count), rng.integers(0, count, n - count)]
    number[rng.random(n) < 0.2] = 0
    number[:count] = np.arange(count)
    x, town, member = rng.normal(size=n) * 3.0 + 20.0, rng.choice(["Oslo", "Rome", "Kyiv"], n), rng.random(n) < 0.98
    y = np.sin(x) + 2.0 * (number % 7 == 3) + 1.5 * (town == "Rome") + member
    name = [None if gaps and row % 9 == 4 else f"n{one}" for row, one in enumerate(number)]
    x = np.where(gaps & (np.arange(n) % 11 == 5), np.nan, x)
    return kind({"x": x, "name": name, "town": town, "all": ["same"] * n, "member": member}), y


def learned(X, most_dense, monkeypatch, scale=None, missing="error", weight=None, unknown="error"):
    monkeypatch.setattr(coded_rows, "MOST_DENSE", most_dense)
    preparation = Preparation(scale, missing, unknown)
    preparation.learn_columns([X])
    if preparation.needs_summary:
        halves = slice(0, len(X) // 2), slice(len(X) // 2, None)
        blocks = ((X[part], None if weight is None else weight[part]) for part in halves)
        preparation.take_scale(preparation.summed_up(blocks))
    return preparation


def fitted(make, X, y, most_dense, monkeypatch):
    monkeypatch.setattr(coded_rows, "MOST_DENSE", most_dense)
    return make().fit(X, y)


FEW, MANY = 10_000, 1
"""Choose a limit for which rows are dense, or CSR."""


def test_rows_are_sparse_from_so_many_levels_on():
    for count, is_sparse in ((512, False), (513, True)):
        X = pd.DataFrame({"name": [f"n{row % count}" for row in range(1100)]})
        preparation = Preparation(None, "error", "error")
        preparation.learn_columns([X[:600], X[600:]])
        found = preparation(X[:20])
        assert preparation.sparse_levels == sp.issparse(found) == is_sparse
        assert found.shape == (20, count)
    parts = pd.DataFrame({"a": [f"n{row % 300}" for row in range(1100)], "b": [f"n{row % 301}" for row in range(1100)]})
    preparation.learn_columns([parts])
    assert preparation.sparse_levels  # 601 levels in all


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("scale", [None, "unit", "minmax"])
def test_sparse_rows_are_the_dense_ones(scale, kind, monkeypatch):
    X, _ = frame(kind=kind)
    weight = np.random.default_rng(1).integers(1, 4, size=len(X)).astype(float)
    dense, sparse = (learned(X, most, monkeypatch, scale, weight=weight)(X) for most in (FEW, MANY))
    assert sparse.nnz == 5 * len(X)
    assert sparse.has_sorted_indices
    np.testing.assert_allclose(sparse.toarray(), dense, rtol=1e-12)


def test_standardised_rows_are_those_of_dense_levels_moved(monkeypatch):
    X, _ = frame()
    weight = np.random.default_rng(1).integers(1, 4, size=len(X)).astype(float)
    dense, sparse = (learned(X, most, monkeypatch, "standard", weight=weight) for most in (FEW, MANY))
    np.testing.assert_allclose(sparse.factor, dense.factor, rtol=1e-9)
    rare = dense.is_level & (dense.offset < 1 / 32)
    assert 590 < np.count_nonzero(rare) < 605  # the names but the first; the flag that 2 % of rows have
    np.testing.assert_allclose(sparse.offset, np.where(rare, 0.0, dense.offset), rtol=1e-12)
    apart = sparse(X).toarray() - dense(X)
    np.testing.assert_allclose(apart, np.broadcast_to(apart[0], apart.shape), atol=1e-9)
    np.testing.assert_allclose(apart[0, ~rare], 0.0, atol=1e-12)  # numbers and frequent levels are centred as ever
    np.testing.assert_allclose(apart[0, rare], (dense.offset * dense.factor)[rare], rtol=1e-9)


@pytest.mark.parametrize("scale", [None, "standard", "minmax", "unit"])
def test_gaps_are_filled_with_the_shares_of_frequent_levels(scale, monkeypatch):
    X, _ = frame(gaps=True)
    dense, sparse = (learned(X, most, monkeypatch, scale, "mean") for most in (FEW, MANY))
    rare = dense.is_level & (dense.filling < 1 / 32)
    np.testing.assert_allclose(sparse.filling, np.where(rare, 0.0, dense.filling), rtol=1e-12)
    found = sparse(X)
    assert np.isfinite(found.data).all()
    assert found.nnz < 12 * len(X)
    if scale is None:
        expected = dense(X)
        rare[1 + X["name"].nunique() :] = False  # of the columns of the names, which come after x
        expected[np.ix_(X["name"].isna().to_numpy(), rare)] = 0.0
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12)


def test_missing_values_and_unknown_levels_are_refused_with_their_row(monkeypatch):
    X, y = frame(gaps=True)
    refused = r"Input X contains NaN: row 4, column 'name' is missing; missing='mean' fills it"
    with pytest.raises(ValueError, match=refused):
        KernelRegressor("gaussian(0.1)", n_components=8, alpha=1.0, preparation=None).fit(X, y)
    full, _ = frame()
    preparation = learned(full, MANY, monkeypatch)
    with pytest.raises(ValueError, match=r"row 5, column 'x' is missing"):
        preparation(X[:20].assign(name="n1"))
    with pytest.raises(
        ValueError, match=r"column 'name' has the unknown level 'new' in row 2; known levels are 'n0', 'n1'"
    ):
        preparation(full[:3].assign(name=["n1", "n2", "new"]))
    with pytest.raises(
        ValueError, match="expected a data frame with the columns of fit, since column 'name' contains levels"
    ):
        preparation(np.zeros((3, 5)))
    ignored = learned(full, MANY, monkeypatch, unknown="ignore")(full[:3].assign(name=["n1", "n2", "new"]))
    assert np.diff(ignored.indptr).tolist() == [5, 5, 4]
    empty = X.assign(x=np.nan)
    with pytest.raises(ValueError, match="column 'x' is missing in every training row, so it has no mean"):
        learned(empty, MANY, monkeypatch, missing="mean")(empty)


MAPS = {
    "StructuredFourier": StructuredFourier("gaussian", n_components=64, random_state=0),
    "Nystrom": Nystrom("gaussian", n_components=64, random_state=0),
    "TensorSketch": TensorSketch(Polynomial(2, gamma=0.5, coef0=1.0), n_components=64, random_state=0),
}
OTHER_KINDS = [
    ("StructuredFourier", KernelClassifier),
    ("Nystrom", KernelRegressor),
    ("TensorSketch", KernelClassifier),
]


SETTLED = {
    KernelRegressor: {"alpha": 1.0, "preparation": None},
    KernelClassifier: {"C": 1.0, "preparation": None},
}
"""No rows are left out for the penalty, which would take memory of its own."""


@pytest.mark.skipif(not _core.AVAILABLE, reason="without the compiled core tiles need room of their own")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("StructuredFourier", KernelRegressor),
        ("Nystrom", KernelClassifier),
        pytest.param("TensorSketch", KernelRegressor, marks=pytest.mark.full),
        *(pytest.param(name, kind, marks=pytest.mark.full) for name, kind in OTHER_KINDS),
    ],
)
def test_a_level_takes_little_memory(name, kind):
    count = 10_000
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"name": [f"n{row}" for row in rng.permutation(count)], "x": rng.normal(size=count)})
    y = X["x"] > 0.0
    small = pd.DataFrame({"name": [f"n{row % 600}" for row in range(900)], "x": rng.normal(size=900)})
    given = {"scale": "standard", "n_jobs": 2} | SETTLED.get(kind, {})
    kind(map=MAPS[name], **given).fit(small, y[:900])  # what is loaded on first use
    tracemalloc.start()
    kind(map=MAPS[name], **given).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20  # a single dense block would take 328 MB


@pytest.mark.parametrize("scale", [pytest.param(None, marks=pytest.mark.full), "standard"])
@pytest.mark.parametrize(
    "name", ["auto", "Nystrom", *(pytest.param(name, marks=pytest.mark.full) for name in MAPS if name != "Nystrom")]
)
def test_models_are_as_good_as_those_of_dense_levels(name, scale, monkeypatch):
    X, y = frame(2000)
    test, expected = frame(1000, seed=1)
    for kind, target, truth in ((KernelRegressor, y, expected), (KernelClassifier, y > 2.0, expected > 2.0)):

        def make(kind=kind):
            kernel = Polynomial(2, gamma="scale", coef0=1.0) if name == "TensorSketch" else Gaussian("median")
            return kind(kernel, map=name, n_components=256, scale=scale, random_state=0)

        models = [fitted(make, X, target, most, monkeypatch) for most in (FEW, MANY)]
        assert [model.preparation_.sparse_levels for model in models] == [False, True]
        dense, sparse = (model.score(test, truth) for model in models)
        assert sparse > dense - 0.01


@every_value(
    kernel=["gaussian('scale')", "gaussian('median')", "laplacian('median')", "cauchy('scale')"],
    scale=[None, "standard", "minmax", "unit"],
)
def test_bandwidths_are_those_of_dense_levels(kernel, scale, monkeypatch):
    X, y = frame()

    def make():
        return KernelRegressor(
            kernel, n_components=8, map="RandomFourier", scale=scale, random_state=0, alpha=1.0, preparation=None
        )

    dense, sparse = (fitted(make, X, y, most, monkeypatch).map_.kernel_.gamma for most in (FEW, MANY))
    # The variance of all entries counts the entries of rare levels as moved.
    moved = scale == "standard" and "scale" in kernel
    assert sparse == pytest.approx(dense, rel=0.01 if moved else 1e-9)


def test_bandwidths_of_the_same_rows_agree(monkeypatch):
    X, _ = frame()
    rows = learned(X, MANY, monkeypatch, "standard")(X)
    for kernel in ("gaussian('scale')", "gaussian('median')", "laplacian('scale')", "laplacian('median')"):
        found = [
            mercer.RandomFourier(kernel, n_components=4, random_state=0).fit(given).kernel_.gamma
            for given in (rows, rows.toarray())
        ]
        assert found[0] == pytest.approx(found[1], rel=1e-12)


def models_of_every_way(make, X, y, folder):
    """The same model from a frame, from blocks, from a file, from a resumed run, and after saving and loading."""
    yield make().fit(X, y)
    yield make().fit(Blocks([(X[start : start + 170], y[start : start + 170]) for start in range(0, len(X), 170)]))
    X.assign(y=y).to_csv(folder / "rows.csv", index=False)
    X.assign(y=y).to_parquet(folder / "rows.parquet")
    table = mercer.data.open(folder / "rows.parquet", target="y")
    yield make().fit(table)
    yield train(make(), table, output=folder / "trained")
    mercer.save(make().fit(mercer.data.open(folder / "rows.csv", target="y")), folder / "model")
    yield mercer.load(folder / "model")


def test_one_model_however_rows_come_and_go(tmp_path):
    X, y = frame(gaps=True)

    def make():
        return KernelRegressor(
            "gaussian(0.02)", n_components=64, scale="standard", missing="mean", random_state=0, alpha=1.0
        )

    models = list(models_of_every_way(make, X, y, tmp_path))
    expected = models[0].predict(X)
    for model in models:
        assert model.preparation_.sparse_levels
        np.testing.assert_allclose(model.predict(X), expected, rtol=1e-9)
        for part in (slice(0, 1), slice(4, 5), slice(700, 1100), slice(len(X) - 3, None)):
            np.testing.assert_allclose(model.predict(X[part]), expected[part], rtol=1e-12)
        np.testing.assert_allclose(model.predict(mercer.data.open(tmp_path / "rows.csv", target="y")), expected)
    for one in (slice(0, 1), slice(4, 5)):  # a block of one row, whose level is missing in the second
        np.testing.assert_allclose(models[0].predict(Blocks([X[one]])), expected[one], rtol=1e-12)


def test_rows_are_added_as_they_were_prepared(tmp_path):
    X, y = frame()

    def make():
        return KernelRegressor("gaussian(0.02)", n_components=64, scale="standard", random_state=0, alpha=1.0)

    whole = make().prepare(X, y)
    one = make().prepare(X, y).partial_fit(X[:700], y[:700])
    mercer.save(one, tmp_path / "model")
    one = mercer.load(tmp_path / "model").partial_fit(X[700:1000], y[700:1000])
    one.merge(make().prepare(X, y).partial_fit(X[1000:], y[1000:]))
    np.testing.assert_allclose(one.predict(X), whole.partial_fit(X, y).predict(X), rtol=1e-6)
    few = make().prepare(X[X["name"] == "n0"], y[X["name"] == "n0"])
    with pytest.raises(ValueError, match=r"here and .* there"):
        one.merge(few.partial_fit(X[X["name"] == "n0"], y[X["name"] == "n0"]))


def test_dense_and_sparse_levels_are_distinguished(monkeypatch):
    X, _ = frame()
    dense, sparse = (learned(X, most, monkeypatch) for most in (FEW, MANY))
    assert dense.differs(sparse) == "sparse_levels is False here and True there"
    assert sparse.differs(learned(X, MANY, monkeypatch)) is None


def test_models_of_dense_levels_stay_dense(tmp_path, monkeypatch):
    X, y = frame()

    def make():
        return KernelRegressor("gaussian(0.02)", n_components=64, scale="standard", random_state=0, alpha=1.0)

    model = fitted(make, X, y, FEW, monkeypatch)
    monkeypatch.undo()
    mercer.save(model, tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    assert not loaded.preparation_.sparse_levels
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_levels_beyond_the_memory_of_a_run_are_refused(tmp_path):
    rows = 40_000
    X = pd.DataFrame({"name": [f"n{row}" for row in range(rows)], "x": np.arange(rows) * 1.0})
    model = KernelRegressor("gaussian(0.02)", n_components=4, random_state=0, alpha=1.0)
    refused = r"column 'name' has 40,000 levels, each of which becomes a column of numbers: exclude it with exclude="
    with pytest.raises(MemoryError, match=rf"{refused}.*The levels and blocks of 4,096 rows need at least 0\.01\d GiB"):
        train(model, X, X["x"].to_numpy(), output=tmp_path / "model", memory="8MB")
    preparation = Preparation("standard", "error", "error")
    tracemalloc.start()
    preparation.learn_columns([X[start : start + 4096] for start in range(0, rows, 4096)])
    blocks = [(X[start : start + 4096], None) for start in range(0, rows, 4096)]
    preparation.take_scale(preparation.summed_up(blocks))
    preparation(X[:4096])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 * peak < 80 * 4096 * 2 + 400 * rows < 2.0 * peak
