"""Dask arrays and data frames in place of matrices, computed in this process."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

import mercer
from mercer.learn import ConformalClassifier, ConformalRegressor, KernelCCA, KernelKMeans, KernelPCA
from mercer.learn.novelty import KernelNovelty
from mercer.scale import is_collection, table_of

dask = pytest.importorskip("dask")
bag = pytest.importorskip("dask.bag")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pandas = pytest.importorskip("pandas")


def test_mercer_imports_no_dask():
    code = "import mercer, mercer.learn, mercer.maps, sys; mercer.RandomFourier('gaussian(1)').fit([[1.0], [2.0]]); "
    told = "print([name for name in sys.modules if name.split('.')[0] in ('dask', 'distributed', 'cloudpickle')])"
    found = subprocess.run([sys.executable, "-c", code + told], capture_output=True, text=True, check=True)
    assert "dask" not in found.stdout
    assert "distributed" not in found.stdout


def test_collections_are_distinguished_from_other_rows(collections):
    assert is_collection(collections[0])
    assert is_collection(dd.from_pandas(pandas.DataFrame({"a": [1.0, 2.0]}), npartitions=1))
    assert not is_collection(np.zeros((2, 2)))
    assert not is_collection(pandas.DataFrame({"a": [1.0]}))


def test_the_table_has_the_rows_of_the_collection(rows, collections):
    X, y, _ = rows
    table = table_of(*collections[:2])
    assert table.n_rows == len(X)
    assert (np.concatenate([block.X for block in table.blocks()]) == X).all()
    assert (np.concatenate([block.y for block in table.targets()]) == y).all()
    assert table.firsts.tolist() == [0, 700, 1400, 2100, 2600]


def test_columns_and_targets_take_the_partitions_of_rows(rows, collections):
    X, y, _ = rows
    table = table_of(collections[0].rechunk((700, 2)), da.from_array(y, chunks=1000), np.ones(len(y)))
    assert (np.concatenate([block.X for block in table.blocks()]) == X).all()
    assert (np.concatenate([block.y for block in table.targets()]) == y).all()


def test_partitions_of_unknown_size_none_and_one_row_are_fine(rows, collections):
    X = rows[0]
    keep = X[:, 0] > 0
    keep[:700] = False
    keep[700:1400] = np.arange(700) == 3
    mask = da.from_array(keep, chunks=700)
    table = table_of(collections[0][mask], collections[1][mask])
    assert table.numbers == (1, 2, 3)
    assert table.firsts.tolist()[:2] == [0, 1]
    model = mercer.KernelRegressor("gaussian", n_components=16, alpha=1.0, random_state=0)
    model.fit(collections[0][mask], collections[1][mask])
    found = model.predict(collections[0][mask])
    assert np.isnan(found.chunks[0]).all()
    np.testing.assert_allclose(found.compute(), model.predict(X[keep]), rtol=1e-12)


def test_what_does_not_belong_together_is_refused(rows, collections):
    y = rows[1]
    with pytest.raises(ValueError, match="y has 2599 rows, but X has 2600"):
        table_of(collections[0], da.from_array(y[1:], chunks=700))
    with pytest.raises(ValueError, match="y must be 2600 entries, found ndarray of shape"):
        table_of(collections[0], y[1:])
    with pytest.raises(ValueError, match="2 partitions, but X has 4"):
        table_of(collections[0][collections[0][:, 0] > 0], collections[1].rechunk(1400))
    with pytest.raises(ValueError, match="no rows in any partition"):
        table_of(collections[0][collections[0][:, 0] > 99])
    with pytest.raises(ValueError, match="must have 2 dimensions, found 3"):
        table_of(da.zeros((4, 3, 2)))
    with pytest.raises(ValueError, match="y must have 1 or 2 dimensions"):
        table_of(da.zeros((4, 3)), da.zeros((4, 3, 2)))


@pytest.mark.parametrize("kind", [lambda X: dask.delayed(X), lambda X: bag.from_sequence(X.tolist())])
def test_collections_that_are_not_rows_are_refused(kind, rows):
    model = regressor().fit(*rows[:2])
    for call in (lambda X: regressor().fit(X, rows[1]), model.predict, mercer.RandomFourier("gaussian(1)").fit):
        with pytest.raises(TypeError, match=r"are a Dask array or data frame, found (DelayedLeaf|Bag)"):
            call(kind(rows[0]))


def test_a_partition_of_another_width_is_named(rows):
    X, y, _ = rows
    parts = [dask.delayed(X[:700]), dask.delayed(X[700:, :3])]
    X = da.concatenate([da.from_delayed(part, (n, 5), float) for part, n in zip(parts, (700, 1900), strict=True)])
    with pytest.raises(ValueError, match=r"partition 1: expected 5 columns, found rows of shape \(1900, 3\)"):
        regressor().fit(X, da.from_array(y, chunks=((700, 1900),)))


def test_rows_of_unknown_width_are_refused(rows):
    X = da.from_delayed(dask.delayed(rows[0]), (np.nan, np.nan), float)
    with pytest.raises(ValueError, match="number of columns of X is not known"):
        regressor().fit(*rows[:2]).predict(X)


def test_data_frames_of_features_are_refused(rows, collections):
    model = mercer.RandomFourier("gaussian", n_components=16, random_state=0).fit(rows[0])
    with pytest.raises(ValueError, match="is not possible with a Dask collection"):
        model.set_output(transform="pandas").transform(collections[0])


@pytest.mark.parametrize(
    "change",
    [lambda X: X.astype(np.float32), np.asfortranarray, lambda X: scipy.sparse.csr_array(X)],
    ids=["float32", "Fortran order", "sparse"],
)
@pytest.mark.parametrize("changed", [(0,), (1, 2), (0, 1, 2)])
def test_partitions_may_be_held_in_different_ways(change, changed, rows):
    X, y, _ = rows
    if scipy.sparse.issparse(change(X[:1])):
        changed = (0, 1, 2)  # no array has both kinds of chunks
    parts = [X[:700], X[700:1400], X[1400:]]
    parts = [change(part) if place in changed else part for place, part in enumerate(parts)]
    collection = da.concatenate([da.from_delayed(dask.delayed(part), part.shape, meta=part[:0]) for part in parts])
    ours = regressor(scale=None).fit(collection, da.from_array(y, chunks=((700, 700, 1200),)))
    np.testing.assert_allclose(ours.predict(X[:50]), regressor(scale=None).fit(X, y).predict(X[:50]), atol=1e-3)


@pytest.mark.parametrize("cuts", [(0, 700), (700, 700, 700, 2600), (0, 0, 1, 2, 3), (2599,), (0, 2600, 2600)])
def test_partitions_may_be_empty_or_one_row(cuts, rows):
    X, y, _ = rows
    X_parts, y_parts = (np.split(part, cuts) for part in (X, y))
    sizes = tuple(len(part) for part in y_parts)

    def collection(parts):
        return da.map_blocks(
            lambda block_info=None: parts[block_info[None]["chunk-location"][0]],
            chunks=(sizes, *((width,) for width in parts[0].shape[1:])),
            dtype=np.float64,
        )

    ours = regressor().fit(collection(X_parts), collection(y_parts))
    np.testing.assert_allclose(ours.coef_, regressor().fit(X, y).coef_, rtol=1e-9)
    found = ours.predict(collection(X_parts))
    assert found.chunks == (sizes,)
    np.testing.assert_allclose(found.compute(scheduler="sync"), ours.predict(X), rtol=1e-12)


def test_an_error_about_a_missing_value_names_its_partition(rows, collections):
    X = rows[0].copy()
    X[1500, 2] = np.nan
    model = mercer.KernelRegressor("gaussian", n_components=16, alpha=1.0, missing="error", random_state=0)
    with pytest.raises(ValueError, match="row 100 of partition 2"):
        model.fit(da.from_array(X, chunks=(700, 5)), collections[1])
    X[1500, 2] = np.inf
    with pytest.raises(ValueError, match="partition 2: Input contains infinity"):
        model.fit(da.from_array(X, chunks=(700, 5)), collections[1])


# -- results -----------------------------------------------------------------------------------------------------------


def regressor(**options):
    return mercer.KernelRegressor(
        "gaussian", n_components=16, map="RandomFourier", alpha=1.0, random_state=0, **options
    )


METHODS = {
    "predict of a regressor": (regressor, 1, "predict", {}),
    "deviations": (lambda: regressor(keep_statistics=True), 1, "predict", {"return_std": True}),
    "extrapolates": (regressor, 1, "extrapolates", {}),
    "predict": (lambda: mercer.KernelClassifier("gaussian", n_components=16, loss="squared", C=1.0), 2, "predict", {}),
    "values": (
        lambda: mercer.KernelClassifier("gaussian", n_components=16, loss="squared", C=1.0), 2, "decision_function", {}
    ),
    "probabilities": (
        lambda: mercer.KernelClassifier("gaussian", n_components=16, loss="squared", C=1.0), 2, "predict_proba", {}
    ),
    "components": (lambda: KernelPCA("gaussian", n_components=16), None, "transform", {}),
    "directions": (lambda: KernelCCA("gaussian", n_components=16, n_components_y=8), 1, "transform", {}),
    "clusters": (lambda: KernelKMeans("gaussian", n_components=16, n_clusters=3), None, "predict", {}),
    "distances": (lambda: KernelKMeans("gaussian", n_components=16, n_clusters=3), None, "transform", {}),
    "p-values": (lambda: KernelNovelty("gaussian", n_components=16), None, "pvalues", {}),
    "features": (lambda: mercer.RandomFourier("gaussian", n_components=16), None, "transform", {}),
    "intervals": (
        lambda: ConformalRegressor(mercer.KernelRegressor("gaussian", n_components=16, alpha=1.0, random_state=0)),
        1, "predict_interval", {"coverage": 0.8},
    ),
    "sets": (
        lambda: ConformalClassifier(mercer.KernelClassifier("gaussian", n_components=16, C=1.0, random_state=0)),
        2, "predict_set", {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_results_are_lazy_and_have_the_shape_chunks_type_and_bits_of_those_of_matrices(name, rows, collections):
    make, target, method, named = METHODS[name]
    model = make().set_params(random_state=0)
    model.fit(collections[0], *(() if target is None else (collections[target],)))
    found, expected = getattr(model, method)(collections[0], **named), getattr(model, method)(rows[0], **named)
    if not isinstance(found, tuple):
        found, expected = (found,), (expected,)
    for ours, theirs in zip(found, expected, strict=True):
        assert isinstance(ours, da.Array)
        assert ours.shape == theirs.shape
        assert ours.chunks == (collections[0].chunks[0], *((width,) for width in theirs.shape[1:]))
        assert ours.dtype == ours._meta.dtype == theirs.dtype
        assert ours._meta.shape == (0,) * theirs.ndim
        np.testing.assert_allclose(ours.compute(scheduler="sync"), theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", ["split", "jackknife+"])
def test_intervals_are_those_of_matrices(method, rows, collections):
    X, y, _ = rows
    make = lambda: ConformalRegressor(regressor(), method=method, random_state=0)  # noqa: E731
    ours, theirs = make().fit(*collections[:2]), make().fit(X, y)
    np.testing.assert_allclose(ours.residuals_, theirs.residuals_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.predict_interval(X[:9]), theirs.predict_interval(X[:9]), rtol=1e-9)
    weight = np.arange(len(y)) % 3.0
    ours = make().fit(*collections[:2], sample_weight=weight)
    kept = weight > 0.0
    theirs = make().fit(X[kept], y[kept], weight[kept])
    np.testing.assert_allclose(ours.residuals_, theirs.residuals_, rtol=1e-9, atol=1e-12)


def test_sets_are_those_of_matrices(rows, collections):
    X, _, classes = rows
    estimator = mercer.KernelClassifier(
        "gaussian", n_components=16, map="RandomFourier", loss="squared", C=1.0, random_state=0
    )
    make = lambda: ConformalClassifier(estimator, random_state=0)  # noqa: E731
    ours, theirs = make().fit(*collections[::2]), make().fit(X, classes)
    np.testing.assert_allclose(ours.scores_, theirs.scores_, rtol=1e-6)
    assert (ours.predict_set(X[:99]) == theirs.predict_set(X[:99])).all()


def test_folds_of_a_collection_are_refused(collections):
    with pytest.raises(ValueError, match="needs all rows in memory: use method='split'"):
        ConformalRegressor(regressor(), method="cv+").fit(*collections[:2])


def test_faults_of_rows_set_aside_have_their_place_in_the_partition(collections):
    X = da.concatenate([collections[0][:1400], collections[0][1400:] * np.nan])
    table = table_of(X, collections[1]).selected(np.array([0, 1401, 1405]))
    assert table.numbers == (0, 2)
    assert table.where(2) == "row 5 of partition 2"


def test_several_tasks_give_a_list(rows, collections):
    both = np.stack([rows[2], rows[0][:, 1] > 0], axis=1).astype(np.int64)
    model = mercer.KernelClassifier("gaussian", n_components=16, loss="squared", C=1.0, random_state=0)
    model.fit(collections[0], da.from_array(both, chunks=(700, 2)))
    found, expected = model.predict_proba(collections[0]), model.predict_proba(rows[0])
    assert all(np.allclose(ours, theirs) for ours, theirs in zip(found, expected, strict=True))


def test_scores_are_those_of_matrices(rows, collections):
    model = regressor().fit(*collections[:2])
    assert model.score(*collections[:2]) == pytest.approx(model.score(*rows[:2]), rel=1e-12)
    centres = KernelKMeans("gaussian", n_components=16, n_clusters=3, random_state=0).fit(collections[0])
    assert centres.score(collections[0]) == pytest.approx(centres.score(rows[0]), rel=1e-9)


def test_more_rows_are_added(rows, collections):
    X, y, _ = rows
    ours = regressor().prepare(collections[0]).partial_fit(collections[0][:1400], collections[1][:1400])
    ours.partial_fit(collections[0][1400:], collections[1][1400:])
    theirs = regressor().prepare(collections[0]).partial_fit(X[:1400], y[:1400]).partial_fit(X[1400:], y[1400:])
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)


# -- data frames -------------------------------------------------------------------------------------------------------


@pytest.fixture
def frame(rows):
    X, _, classes = rows
    found = pandas.DataFrame(X[:, :3], columns=list("abc"))
    found["kind"] = np.where(classes, "yes", "no")
    found["place"] = np.random.default_rng(1).choice(["here", "there", "far"], len(X))
    found.loc[::7, "b"] = np.nan
    return found


def test_a_frame_of_numbers_levels_and_gaps_is_learned_from_as_on_one_machine(frame, rows):
    collection = dd.from_pandas(frame, npartitions=4)
    y = dd.from_pandas(pandas.Series(rows[1], name="y"), npartitions=4)
    model = mercer.KernelRegressor(n_components=64, random_state=0).fit(collection, y)
    alone = mercer.KernelRegressor(n_components=64, random_state=0).fit(frame, rows[1])
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "kind", "place"]
    assert model.preparation_.columns == alone.preparation_.columns
    found = model.predict(collection)
    assert found.dtype == np.float64
    assert np.isnan(found.shape[0])
    np.testing.assert_allclose(found.compute(), alone.predict(frame), rtol=1e-5, atol=1e-5)
    assert model.score(collection, y) == pytest.approx(alone.score(frame, rows[1]), abs=1e-6)


def frames(*parts):
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0].iloc[:0], verify_meta=False)


CHANGES = {
    "columns in another order": lambda part: part[part.columns[::-1]],
    "a further column": lambda part: part.assign(further=1.0),
    "other categories": lambda part: part.assign(kind=part["kind"].astype("category")),
    "text of another type": lambda part: part.assign(place=part["place"].astype("string")),
    "numbers in float32": lambda part: part.assign(a=part["a"].astype(np.float32)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_partitions_of_a_frame_may_differ(name, frame, rows):
    change = CHANGES[name]
    y = frames(*(pandas.Series(rows[1][part]) for part in (slice(0, 900), slice(900, None))))
    make = lambda: mercer.KernelRegressor("gaussian", n_components=32, alpha=0.1, random_state=0)  # noqa: E731
    ours = make().fit(frames(frame[:900], change(frame[900:])), y)
    theirs = make().fit(frames(frame[:900], frame[900:]), y)
    np.testing.assert_allclose(ours.predict(frame[:50]), theirs.predict(frame[:50]), rtol=1e-5, atol=1e-5)


def test_a_partition_without_a_column_is_named(frame, rows):
    def broken(part, partition_info=None):
        return part.drop(columns="b") if partition_info and partition_info["number"] == 2 else part

    collection = dd.from_pandas(frame, npartitions=4)
    collection = collection.map_partitions(broken, meta=collection._meta, enforce_metadata=False)
    y = dd.from_pandas(pandas.Series(rows[1], name="y"), npartitions=4)
    with pytest.raises(ValueError, match="partition 2 has no column 'b'"):
        mercer.KernelRegressor(n_components=64, random_state=0).fit(collection, y)


def test_steps_of_a_pipeline_are_ours(rows, collections):
    from sklearn.pipeline import make_pipeline

    steps = (
        mercer.RandomFourier("gaussian", n_components=32, random_state=0),
        mercer.KernelRegressor("linear", n_components=32, alpha=1.0, preparation=None, random_state=0),
    )
    found = make_pipeline(*steps).fit(*collections[:2]).predict(collections[0])
    assert isinstance(found, da.Array)
    assert found.chunks == (collections[0].chunks[0],)
    assert found.compute().shape == (len(rows[0]),)
