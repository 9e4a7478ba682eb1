"""Automatic preparation of tables: kinds, tails, rare levels, missing values, constant columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, load_wine

from mercer import data
from mercer._random import Stream
from mercer.data.block import Block, part_of
from mercer.learn import KernelClassifier, KernelPCA, KernelRegressor
from mercer.learn.passes.scan_plan import RowSample
from mercer.learn.pilot.settled_arguments import scales_for
from mercer.learn.prepare.offsets_and_factors import WIDEST
from mercer.learn.prepare.preparation import Preparation
from mercer.learn.prepare.tails import centre_and_spread

EVERYTHING = {"tails": "tame", "rare": "pool", "constant": "drop"}


def learned(X, preparation=None, weight=None, cuts=()):
    preparation = Preparation.automatic() if preparation is None else preparation
    parts = np.split(np.arange(X.shape[0]), cuts)
    preparation.learn_columns(part_of(X, rows) for rows in parts)
    blocks = ((part_of(X, rows), None if weight is None else weight[rows]) for rows in parts)
    preparation.take_scale(preparation.summed_up(blocks), lambda: Block(X, None, weight))
    return preparation


def automatic(kernel=None, **arguments):
    """A learner with automatic preparation and with the given kernel and penalty."""
    return KernelRegressor(kernel, **({"alpha": 1.0, "n_components": 24, "random_state": 0} | arguments))


def houses(n=600, kind=pd.DataFrame, seed=0):
    """Columns of all sorts."""
    rng = np.random.default_rng(seed)
    town = np.array([f"town {place}" for place in np.minimum(rng.exponential(9.0, n).astype(int), 60)], dtype=object)
    town[rng.random(n) < 0.05] = None
    age = rng.normal(30.0, 8.0, n)
    age[rng.random(n) < 0.1] = np.nan
    return kind(
        {
            "size": rng.normal(100.0, 20.0, n),
            "price": rng.lognormal(12.0, 2.0, n),
            "unit": np.full(n, 7.0),
            "age": age,
            "town": town.tolist(),
            "empty": np.full(n, np.nan),
            "new": rng.random(n) < 0.3,
        }
    )


# -- kinds of rows -----------------------------------------------------------------------------------------------------


def counts(n=300, d=500, seed=0):
    X = sp.random(n, d, density=0.02, format="csr", random_state=seed)
    return sp.csr_array(sp.csr_matrix((np.ceil(9.0 * X.data), X.indices, X.indptr), X.shape))


def bins(n=300, d=12):
    return np.random.default_rng(0).dirichlet(np.ones(d), size=n)


KINDS = {
    "iris": (load_iris().data, "table", "standard"),
    "wine": (load_wine().data, "table", "standard"),
    "digits": (load_digits().data, "images", "common"),
    "sparse digits": (sp.csr_array(load_digits().data), "images", "common"),
    "bins": (bins(), "histograms", None),
    "sparse bins": (sp.csr_array(np.where(bins() < 0.02, 0.0, bins())), "table", "standard"),
    "percentages": (100.0 * bins().astype(np.float32), "histograms", None),
    "a large column": (np.column_stack([np.linspace(2000.0, 2010.0, 300), bins(d=9)]), "table", "standard"),
    "bins with a gap": (np.where(np.arange(12) == np.arange(300)[:, None], np.nan, bins()), "table", "standard"),
    "counts": (counts(), "text", "unit"),
    "signed": (sp.csr_array(counts() - 2.0 * counts(seed=1)), "images", "common"),
    "few columns": (counts(d=60), "images", "common"),
    "constant": (np.ones((20, 4)), "table", "standard"),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_rows_are_recognised(name):
    X, kind, scale = KINDS[name]
    found = learned(X)
    assert (found.kind, found.scale) == (kind, scale)
    assert found.describe()[0].startswith(f"the rows look like {'a table' if kind == 'table' else kind}")
    frame_or_matrix = learned(pd.DataFrame(X.toarray() if sp.issparse(X) else X).rename(columns=str))
    assert frame_or_matrix.kind == (
        "images" if kind == "text" else "histograms" if name == "sparse bins" else kind
    ) or (name == "sparse bins")


def test_one_factor_for_all_columns_of_images():
    X = load_digits().data
    found = learned(X)
    after = found(X)
    varying = X[:, X.std(axis=0) > 0.0]
    ratio = after / np.where(varying == 0.0, 1.0, varying)
    assert np.ptp(ratio[varying > 0.0]) < 1e-12
    assert np.mean(after.var(axis=0)) == pytest.approx(1.0)
    assert after.shape[1] == varying.shape[1] == found.width(64)


def test_levels_and_dates_make_a_table():
    X = pd.DataFrame(bins()).rename(columns=str)
    assert learned(X).kind == "histograms"
    assert learned(X.assign(town="Oslo")).kind == "table"
    assert learned(X.assign(day=pd.date_range("2024-01-01", periods=300))).kind == "table"


# -- the whole of it ---------------------------------------------------------------------------------------------------


def naive(X):
    """The expected result of automatic preparation, column by column."""
    out = []
    rows = len(X)
    for name in ("size", "price", "age"):
        values = X[name].to_numpy(dtype=float)
        known = values[~np.isnan(values)]
        if name == "price":
            centre, spread = (one[0] for one in centre_and_spread(known[:, None], None))
            values, known = np.arcsinh((values - centre) / spread), np.arcsinh((known - centre) / spread)
        unit = max(known.std(), np.ptp(known) / WIDEST)
        out.append((np.where(np.isnan(values), known.mean(), values) - known.mean()) / unit)
    for name in ("town", "new"):
        column = X[name]
        often = column.value_counts()
        rare = set(often[often < min(10, rows / 200)].index) if len(often) > 20 else set()
        names = sorted(set(often.index) - rare) + (["rare"] if rare else [])
        hot = np.array(
            [[("rare" if level in rare else level) == one for one in names] for level in column], dtype=float
        )
        hot[column.isna()] = np.nan
        share = np.nanmean(hot, axis=0)
        hot[column.isna()] = share
        out.extend(((hot - share) / np.sqrt(np.sum(share * (1.0 - share)))).T)
    for name in ("age", "town"):
        gap = X[name].isna().to_numpy(dtype=float)
        out.append((gap - gap.mean()) / gap.std())
    return np.column_stack(out)


def test_against_columns_one_by_one():
    X = houses()
    found = learned(X, cuts=(100, 350))
    np.testing.assert_allclose(found(X)[:, [*range(2), *range(2, found.width(7))]], naive(X), atol=1e-9)
    assert found.labels(7)[:3] == ["size", "price", "age"]
    assert found.labels(7)[-3:] == ["new=True", "age is missing", "town is missing"]
    assert found.describe() == (
        "the rows look like a table: every column has its own unit",
        f"column town has {X['town'].nunique()} levels, of which {len(found.columns[4].rare)} rare ones share one "
        "column",
        "column unit is constant and is dropped",
        "column empty has no entries and is dropped",
        "2 columns have missing values, marked by a column of 0 and 1 for each: age, town",
        "a missing value is filled with the mean of its column, or its median if it has heavy tails",
        "column price has heavy tails, tamed by asinh",
        "columns are shifted and scaled to mean 0 and variance 1",
        "no column extends beyond 12 units, and the levels of a column count as one column",
    )


def test_frames_of_all_kinds():
    expected = learned(houses())(houses())
    X = houses(kind=pl.DataFrame)
    np.testing.assert_allclose(learned(X)(X), expected, atol=1e-12)


def test_sparse_levels_are_the_dense_ones(monkeypatch):
    X = houses()
    dense = learned(X)
    monkeypatch.setattr("mercer.learn.prepare.coded_rows.MOST_DENSE", 5)
    monkeypatch.setattr("mercer.learn.prepare.coded_rows.FREQUENT", 0.0)  # else rare levels are not centred
    sparse = learned(X)
    assert sp.issparse(sparse(X))
    np.testing.assert_allclose(sparse(X).toarray(), dense(X), atol=1e-12)
    scales = np.linspace(0.0, 2.0, dense.width(7))
    for scale in ("standard", "unit", "minmax", "common", "log", None):
        ours, theirs = (one.rescaled(scale).with_column_scales(scales)(X) for one in (sparse, dense))
        np.testing.assert_allclose(ours.toarray(), theirs, rtol=1e-9, atol=1e-9)
    assert sparse.labels(7) == dense.labels(7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_stays(dtype):
    X = np.random.default_rng(0).standard_cauchy((500, 4)).astype(dtype)
    X[:, 1], X[3, 2] = 5.0, np.nan
    found = learned(X)
    assert (found.tamed.columns.tolist(), found.kept.tolist(), found.indicated.tolist()) == ([0, 2, 3], [0, 2, 3], [2])
    assert found(X).dtype == dtype
    assert found(X).shape == (500, 4) == (500, found.width(4))
    double = learned(X.astype(np.float64))(X.astype(np.float64))
    np.testing.assert_allclose(found(X), double, rtol=1e-4, atol=1e-5)


def test_rows_of_numbers_are_only_standardised():
    X = np.random.default_rng(0).normal(size=(300, 3)) * [1.0, 5.0, 100.0]
    ours, theirs = learned(X), learned(X, Preparation("standard", "mean", "error"))
    assert (ours.tamed, ours.kept, ours.indicated) == (None, None, None)
    np.testing.assert_array_equal(ours(X), theirs(X))


@given(st.floats(min_value=1.0, max_value=1e300), st.booleans())
@settings(max_examples=30, deadline=None)
def test_prepared_rows_far_outside_stay_bounded(size, single):
    X = np.random.default_rng(0).standard_cauchy((200, 2))
    found = learned(X)
    new = np.array([[size, -size]])
    new = np.clip(new, -3e38, 3e38).astype(np.float32) if single else new
    after = found(new)
    assert np.isfinite(after).all()
    assert (np.abs(after) < 1000.0).all()
    assert (after[:, 0] >= found(X)[:, 0].max()).all() == (new[0, 0] >= X[:, 0].max())


def test_a_rare_entry_is_not_far_away():
    X = np.random.default_rng(0).normal(size=(5000, 2))
    X[:, 1] = 0.0
    X[:2, 1] = 1.0
    assert np.ptp(learned(X)(X)[:, 1]) == pytest.approx(WIDEST)
    assert np.ptp(learned(X, Preparation("standard", "error", "error"))(X)[:, 1]) > 40.0


# -- gaps and constant columns -----------------------------------------------------------------------------------------


def test_new_missing_values_are_filled_and_reported_once():
    X = np.random.default_rng(0).normal(size=(300, 3))
    X[0, 1] = np.nan
    model = automatic().fit(X, X[:, 0])
    new = X[:50].copy()
    new[:4, 2], new[7, 1] = np.nan, np.nan
    with pytest.warns(
        UserWarning, match=r"4 missing values are filled .* none in fit \(column 2: 4\); this warning is issued once"
    ):
        found = model.predict(new)
    filled = new.copy()
    filled[:4, 2] = X[:, 2].mean()
    np.testing.assert_allclose(model.predict(filled), found, atol=1e-9)
    assert np.isfinite(model.predict(new)).all()  # without a warning, which would be an error


def test_new_levels_are_reported_once_if_none_are_rare():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"town": rng.choice(["Kyiv", "Oslo", "Rome"], 200), "x": rng.normal(size=200)})
    model = automatic(n_components=32).fit(X, X["x"] + (X["town"] == "Oslo"))
    new = X[:20].assign(town=["Lima"] * 5 + ["Oslo"] * 15)
    told = (
        r"5 entries have levels that did not occur in fit, and are treated as having no level \(town: 5\); this warning"
    )
    with pytest.warns(UserWarning, match=told):
        found = model.predict(new)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(model.predict(new), found)  # without a warning, which would be an error
    with pytest.raises(ValueError, match="the unknown level 'Lima' in row 0"):
        model.treating_unknown("error").predict(new)


def test_new_levels_are_rare_where_others_are():
    often = {f"c{place:02}": 40 for place in range(25)} | {"a": 1, "b": 2}
    X = places(often).assign(x=np.linspace(0.0, 1.0, 1003))
    model = automatic(n_components=64).fit(X, X["x"])
    new = X[:3].assign(town=["a", "b", "nowhere"], x=0.5)
    found = model.predict(new)  # without a warning, which would be an error
    np.testing.assert_allclose(found, found[0], rtol=1e-12)


def test_missing_values_are_refused_on_request():
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="row 4, column 1 is missing"):
        automatic(missing="error").fit(X, X[:, 0])


@pytest.mark.parametrize("missing", ["indicator", "auto"])
def test_missing_values_of_sparse_matrices_are_filled_with_means(missing):
    X = counts().toarray()[:, :60]
    X[3, 5] = np.nan
    rows = sp.csr_array(X)
    found = learned(rows, Preparation("standard", missing, "error"))
    expected = learned(rows, Preparation("standard", "mean", "error"))
    np.testing.assert_array_equal(found(rows).toarray(), expected(rows).toarray())
    assert found.indicated is None


def test_rows_without_anything_keep_a_column():
    X = np.full((40, 3), 2.0)
    found = learned(X)
    assert found(X).shape == (40, 1)
    np.testing.assert_allclose(automatic("auto").fit(X, np.arange(40.0)).predict(X), 19.5)
    gaps = np.where(np.arange(40)[:, None] < [0, 0, 0], 1.0, np.nan)
    gaps[:, 1] = 3.0
    assert learned(gaps)(gaps).shape == (40, 1)


def test_a_constant_column_is_not_checked_again():
    X = np.random.default_rng(0).normal(size=(100, 3))
    X[:, 1] = 0.1 + 0.2  # which is not 0.3
    found = learned(X)
    new = X.copy()
    new[:, 1] = 1e9
    np.testing.assert_array_equal(found(new), found(X))
    assert "column 1 is constant and is dropped" in found.describe()


def test_sparse_rows_after_dense_ones():
    X = np.random.default_rng(0).normal(size=(80, 3)) + 2.0
    X[:, 1] = 4.0
    for preparation in (Preparation.automatic(), Preparation("standard", "error", "error")):
        found = learned(X, preparation)
        np.testing.assert_array_equal(found(sp.csr_array(X)), found(X))


# -- levels ------------------------------------------------------------------------------------------------------------


def places(often):
    return pd.DataFrame({"town": [name for name, count in often.items() for _ in range(count)]})


@pytest.mark.filterwarnings("ignore:column .town. has 300 different texts")
def test_which_levels_are_rare():
    common = {f"c{place:02}": 200 for place in range(19)}
    cases = {
        "one rare": (common | {"a": 2, "b": 400}, ()),
        "two rare": (common | {"a": 9, "b": 2, "c": 10}, ("a", "b")),
        "few levels": ({"a": 1, "b": 1, "c": 600}, ()),
        "small tables": ({f"d{place:02}": 3 for place in range(30)} | {"a": 1, "b": 1, "c": 2}, ("a", "b")),
        "names": ({f"p{place:03}": 1 for place in range(300)}, tuple(f"p{place:03}" for place in range(300))),
    }
    for name, (often, rare) in cases.items():
        X = places(often)
        column = learned(X).columns[0]
        assert column.rare == rare, name
        assert column.levels == tuple(sorted(often.keys() - set(rare))), name
        assert learned(X, Preparation(None, "error", "error")).columns[0].rare == ()


def test_rare_and_unknown_levels_share_a_column():
    often = {f"c{place:02}": 40 for place in range(25)} | {"a": 1, "b": 2}
    X = places(often).assign(x=np.arange(1003.0))
    found = learned(X, Preparation(None, "error", "ignore", rare="pool"))
    new = pd.DataFrame({"town": ["a", "b", "nowhere", "c00"], "x": 0.0})
    after = found(new)
    assert found.labels(2)[25] == "town: rare levels"
    np.testing.assert_array_equal(after[:3, :26], np.eye(26)[[25, 25, 25]])
    np.testing.assert_array_equal(after[3, :26], np.eye(26)[0])
    np.testing.assert_array_equal(found.is_unseen(found.columns[0], new["town"]), [False, False, True, False])
    with pytest.raises(ValueError, match=r"has the unknown level 'nowhere' in row 2; .* treats it as a rare level"):
        found.treating_unknown("error")(new)


@pytest.mark.parametrize("unknown", ["ignore", "error"])
@pytest.mark.filterwarnings("ignore:column .name. has 300 different texts")
def test_a_column_of_names_is_left_out(unknown):
    X = pd.DataFrame({"name": [f"n{row}" for row in range(300)], "x": np.linspace(-1.0, 1.0, 300)})
    model = automatic(unknown=unknown).fit(X, X["x"])
    assert model.preparation_.labels(2) == ["x"]
    np.testing.assert_array_equal(model.predict(X.assign(name="nobody")), model.predict(X))
    assert not model.preparation_.is_unseen(model.preparation_.columns[0], np.array(["nobody"])).any()


# -- other scales ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["standard", "common", "log", "unit", "minmax", None])
def test_another_scale_is_the_one_that_would_have_been_learned(scale):
    for X in (houses(), counts(d=40), load_digits().data):
        ours = learned(X).rescaled(scale)
        theirs = learned(X, Preparation(scale, "auto", "error", **EVERYTHING))
        for one, other in ((ours, theirs), (ours.rescaled("standard"), theirs.rescaled("standard"))):
            a, b = one(X), other(X)
            np.testing.assert_array_equal(*((a.toarray(), b.toarray()) if sp.issparse(a) else (a, b)))
        assert ours.describe()[-1 if scale != "standard" else -2] in theirs.describe()


def visits(seed=0):
    """Counts with heavy tails, two of them nonzero in only one row in ten, and one that may be negative."""
    rng = np.random.default_rng(seed)
    X = np.floor(np.exp(2.0 * rng.normal(size=(800, 4))))
    X[:, 2:] *= rng.random((800, 2)) < 0.1
    X[:, 1] -= np.floor(np.exp(rng.normal(size=800)))
    return X


@pytest.mark.parametrize("sparse", [False, True])
def test_logarithms_of_all_columns_have_one_unit(sparse):
    X = visits()
    found = learned(sp.csr_array(X) if sparse else X, Preparation("log", "auto", "error", tails="tame"))
    logs = np.arcsinh(X)  # the least count is 1
    expected = logs / np.sqrt(np.mean(logs.std(axis=0) ** 2))
    rows = found(sp.csr_array(X) if sparse else X)
    np.testing.assert_allclose(rows.toarray() if sparse else rows, expected, rtol=1e-12)
    # in another currency they are the same, all columns at once
    again = learned(100.0 * X, Preparation("log", "auto", "error", tails="tame"))(100.0 * X)
    np.testing.assert_allclose(again, expected, rtol=1e-12)
    assert "numbers pass through asinh in units of 1, which is logarithmic for larger numbers" in (found.describe())


def test_logarithms_of_a_column_in_another_unit_have_the_same_unit():
    X = visits() * [1.0, 1.0, 1.0, 100.0]
    rows = learned(X, Preparation("log", "auto", "error", tails="tame"))(X)
    logs = np.arcsinh(X)  # the median of the least counts is 1
    np.testing.assert_allclose(rows, logs / np.sqrt(np.mean(logs.std(axis=0) ** 2)), rtol=1e-12)


def test_a_missing_value_gets_the_mean_logarithm():
    X = visits()
    X[0, 0] = np.nan
    found = learned(X, Preparation("log", "mean", "error"))
    rows = found(X)
    assert rows[0, 0] == pytest.approx(rows[1:, 0].mean())


def test_logarithms_are_tried_where_tails_are_heavy():
    assert scales_for(learned(visits()), "auto") == ("standard", "common", "log")
    even = np.random.default_rng(0).normal(size=(300, 3))
    assert scales_for(learned(even), "auto") == ("standard", "common")
    assert scales_for(learned(visits()), "standard") == ("standard",)


def test_unavailable_scales_are_refused():
    found = learned(houses())
    with pytest.raises(ValueError, match="scale must be one of"):
        found.rescaled("auto")
    with pytest.raises(ValueError, match="tails were not examined"):
        learned(houses(), Preparation("standard", "auto", "error")).rescaled("log")
    found.forget()
    with pytest.raises(ValueError, match="not kept after the fit"):
        found.rescaled(None)


@pytest.mark.parametrize("scale", ["standard", "log", "unit", "minmax", None])
def test_columns_are_multiplied_after_all_else(scale):
    for X in (houses(), counts(d=40), np.random.default_rng(0).normal(size=(90, 4)).astype(np.float32)):
        found = learned(X).rescaled(scale)
        scales = np.linspace(0.0, 3.0, found.width(X.shape[1]))
        twice = found.with_column_scales(np.sqrt(scales)).with_column_scales(np.sqrt(scales))
        before, after = found(X), twice(X)
        assert after.dtype == before.dtype
        before, after = (one.toarray() if sp.issparse(one) else one for one in (before, after))
        np.testing.assert_allclose(after, before * scales, rtol=1e-5, atol=1e-6)
        assert twice.describe()[-1] == "prepared columns are then multiplied by scales from 0 to 3"
        assert found.column_scales is None
    with pytest.raises(ValueError, match="there are 4 prepared columns, found 3 scales"):
        learned(X).with_column_scales(np.ones(3))
    for wrong in ([-1.0, 1.0], [np.nan], [[1.0]]):
        with pytest.raises(ValueError, match="finite, nonnegative numbers"):
            Preparation(None, "error", "error").with_column_scales(wrong)


def test_preparations_are_distinguished():
    X = houses()
    one = learned(X)
    assert one.differs(learned(X)) is None
    assert "tails is" in one.differs(learned(X, Preparation("auto", "auto", "auto", rare="pool", constant="drop")))
    other = learned(X.assign(price=X["price"] + np.arange(600.0)))
    assert "tamed of the columns" in one.differs(other)
    assert "column_scales" in one.differs(one.with_column_scales(np.ones(one.width(7))))
    assert "kept" in one.differs(learned(X.assign(unit=np.arange(600.0))))


# -- learners ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    X = pd.concat([houses(4500), houses(4500, seed=1)], ignore_index=True).drop(columns="empty")
    y = np.log(X["price"]) + X["new"]
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    return X, y, tmp_path / "rows.parquet"


def test_bits_do_not_depend_on_where_rows_are(table):
    X, y, path = table
    expected = automatic().fit(X, y)
    assert expected.preparation_.tamed is not None
    sizes = (1000, 3000, 5000)
    cuts = [(X[a:b], y[a:b].to_numpy()) for a, b in zip((0, *sizes), (*sizes, 9000), strict=True)]
    for model in (
        automatic().fit(data.open(path, target="y")),
        automatic(n_jobs=2).fit(data.Blocks(cuts)),
        automatic().fit(X, y, sample_weight=np.ones(9000)),
    ):
        assert model.preparation_.differs(expected.preparation_) is None
    np.testing.assert_array_equal(automatic(n_jobs=2).fit(X, y).coef_, expected.coef_)


def test_no_more_scans_than_with_a_given_scale(table, monkeypatch):
    _, _, path = table
    reads = []
    monkeypatch.setattr("mercer.learn.passes.fit_passes.Passes.count_read", lambda self: reads.append(1))
    seen = {}
    for name, model in (
        ("given", KernelRegressor(scale="standard", missing="mean", kernel=None, alpha=1.0, preparation=None)),
        ("auto", automatic()),
    ):
        reads.clear()
        told = []
        model.set_params(n_components=24, random_state=0, callback=told.append).fit(data.open(path, target="y"))
        seen[name] = (len(reads), {one.number for one in told})
    assert seen["auto"] == seen["given"]


def test_a_row_of_weight_2_is_that_row_twice():
    X = np.random.default_rng(0).standard_cauchy((120, 3))
    weight = np.random.default_rng(1).integers(0, 4, size=120)
    ours = automatic().fit(X, X[:, 0] > 0, sample_weight=weight.astype(float))
    theirs = automatic().fit(np.repeat(X, weight, axis=0), np.repeat(X[:, 0] > 0, weight))
    np.testing.assert_allclose(ours.preparation_(X), theirs.preparation_(X), rtol=1e-9)


def test_a_sample_holds_targets_and_weights():
    rng, blocks = Stream(3).child("rows"), []
    X = np.arange(20_000.0)[:, None]
    sample = RowSample(rng, 500)
    for first in range(0, 20_000, 4096):
        part = X[first : first + 4096]
        blocks.append(Block(part, 2.0 * part[:, 0], 3.0 * part[:, 0]))
        sample.update(blocks[-1], first)
    words = rng.words(20_000)
    for count in (500, 100):
        found = sample.block(count)
        chosen = np.sort(np.argsort(words)[:count])
        np.testing.assert_array_equal(found.X[:, 0], chosen)
        np.testing.assert_array_equal(found.y, 2.0 * chosen)
        np.testing.assert_array_equal(found.weight, 3.0 * chosen)
    assert sample.block(10**6).X.shape[0] >= 500


def test_learners_accept_extreme_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = np.sin(X[:, 0]) + X[:, 1]
    X[:, 0] = np.sinh(5.0 * X[:, 0])
    X[:, 1] *= 1e6
    X = np.column_stack([X, np.ones(600), np.where(rng.random(600) < 0.3, np.nan, X[:, 2])])
    model = automatic("gaussian", n_components=200, alpha="loo").fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.9
    far = np.vstack([X[400:], np.full(6, 1e300), np.full(6, -1e300)])
    assert np.isfinite(model.predict(far)).all()
    classes = KernelClassifier(kernel=None, C=1.0, n_components=100, random_state=0).fit(X, y > 0.0)
    assert classes.score(X, y > 0.0) > 0.9
    assert np.isfinite(KernelPCA(n_components=50, scale="auto", missing="indicator").fit_transform(X)).all()
