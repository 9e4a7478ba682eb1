"""Trees over partitions, and tables of partitions, in this process."""

import pickle
from types import SimpleNamespace

import cloudpickle
import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import mercer
from mercer.data.block import BLOCK_ROWS, Block
from mercer.data.partitioned_table import Partition, PartitionedTable, PartitionError, check_alike
from mercer.data.partitions import GROUP, LARGE, HereParts, added, fan_in, groups, tree
from mercer.learn import KernelKMeans, KernelPCA
from mercer.learn.estimates.memory_estimates import check_before
from mercer.learn.features.feature_matrix import HeldFeatures
from mercer.learn.features.partitioned_features import HeldPart
from mercer.learn.novelty import KernelNovelty


def parts_of(X, y=None, weight=None, cuts=()):
    """The rows between these cuts as the partitions of a table in this process."""
    parts, places = [], zip([0, *cuts], [*cuts, len(X)], strict=True)
    for number, (first, last) in enumerate(places):
        block = Block(*(None if part is None else part[first:last] for part in (X, y, weight)))
        parts.append(Partition(number, block))
    return PartitionedTable(HereParts(parts), [part.n_rows for part in parts], range(len(parts)))


@pytest.mark.parametrize("fan", [2, 8])
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 31, 64, 65])
def test_a_tree_joins_every_leaf_once_in_order_and_few_at_a_time(count, fan):
    widest = 0

    def join(several):
        nonlocal widest
        widest = max(widest, len(several))
        return [leaf for one in several for leaf in one]

    assert tree(range(count), fan, lambda place: [place], join) == list(range(count))
    assert widest <= fan


def test_a_tree_asks_for_leaves_in_order_and_holds_few():
    held, most, order = 0, 0, []

    def leaf(place):
        nonlocal held, most
        held, most = held + 1, max(most, held + 1)
        order.append(place)
        return place

    def join(several):
        nonlocal held
        held -= len(several) - 1
        return several[0]

    tree(range(64), 2, leaf, join)
    assert order == list(range(64))
    assert most == 7  # one for every level, and the leaf itself


def test_large_sums_meet_two_at_a_time():
    assert fan_in(LARGE) == 8
    assert fan_in(LARGE + 1) == 2
    assert fan_in(8 * 16384**2) == 2


def test_groups_are_cut_at_fixed_places():
    assert [len(group) for group in groups(range(2 * GROUP + 3))] == [GROUP, GROUP, 3]


def test_sums_in_groups_have_the_bits_of_sums_at_once():
    values = [np.random.default_rng(place).normal(size=5) for place in range(3 * GROUP + 5)]
    parts, seen = HereParts(values), []
    whole = parts.folded(lambda value, argument: (value,), added)
    kept = parts.folded(lambda value, argument: (value,), added, grouped=lambda sums, place: seen.append((sums, place)))
    begun, place = seen[1]
    resumed = parts.folded(lambda value, argument: (value,), added, before=begun, begin=place)
    np.testing.assert_allclose(whole[0], np.sum(values, axis=0), rtol=1e-12)
    assert (whole[0] == kept[0]).all()
    assert (whole[0] == resumed[0]).all()
    assert [place for _, place in seen] == [GROUP, 2 * GROUP, 3 * GROUP, 3 * GROUP + 5]


def test_sums_leave_their_parts_as_they_are():
    ones = [(np.ones(3),) for _ in range(3)]
    assert (added(ones)[0] == 3.0).all()
    assert all((one[0] == 1.0).all() for one in ones)


# -- tables ------------------------------------------------------------------------------------------------------------


def test_a_table_of_partitions_has_the_blocks_of_one_in_memory():
    X, y = np.random.default_rng(0).normal(size=(2 * BLOCK_ROWS + 9, 3)), np.arange(2 * BLOCK_ROWS + 9)
    table, whole = parts_of(X, y, cuts=[10, BLOCK_ROWS]), mercer.data.ArrayTable(X, y)
    for ours, theirs in zip(table.blocks(), whole.blocks(), strict=True):
        assert (ours.X == theirs.X).all()
        assert (ours.y == theirs.y).all()
    assert [len(block.y) for block in table.blocks(1)] == [BLOCK_ROWS, 9]
    assert [len(block.y) for block in table.targets()] == [BLOCK_ROWS, BLOCK_ROWS, 9]
    numbers = np.array([0, 9, 10, 11, BLOCK_ROWS, BLOCK_ROWS + 5])
    assert (np.concatenate(table.take(numbers)) == X[numbers]).all()
    assert table.where(12) == "row 2 of partition 1"


def test_rows_of_weight_0_are_dropped():
    X, weight = np.arange(12.0).reshape(6, 2), np.array([0.0, 1.0, 1.0, 2.0, 0.0, 1.0])
    table = parts_of(X, np.arange(6), weight, cuts=[3])
    assert table.n_rows == 4
    assert np.concatenate([block.y for block in table.blocks()]).tolist() == [1, 2, 3, 5]


def test_the_fingerprint_depends_on_rows_and_cuts():
    X = np.random.default_rng(0).normal(size=(50, 2))
    other = X.copy()
    other[7, 1] += 1.0
    prints = [parts_of(one, cuts=cuts).fingerprint() for one, cuts in ((X, [20]), (other, [20]), (X, [21]))]
    assert len(set(prints)) == 3
    assert prints[0] == parts_of(X, cuts=[20]).fingerprint()


def test_a_missing_column_or_another_kind_is_reported_with_its_partition():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    kinds = {"a": "numbers", "b": "levels"}
    check_alike(3, frame, kinds)
    with pytest.raises(PartitionError, match="partition 3 has no column 'b'; it has 'a'"):
        check_alike(3, frame[["a"]], kinds)
    with pytest.raises(PartitionError, match="column 'b' is expected to have levels, found numbers in partition 5"):
        check_alike(5, frame.assign(b=1.0), kinds)


# -- learners ----------------------------------------------------------------------------------------------------------

LEARNERS = {
    "number": lambda: mercer.KernelRegressor("gaussian", n_components=32, map="RandomFourier", alpha=0.1),
    "leave-one-out": lambda: mercer.KernelRegressor("gaussian", n_components=32, map="RandomFourier", alpha="loo"),
    "gcv": lambda: mercer.KernelRegressor("gaussian", n_components=32, map="RandomFourier", alpha="gcv"),
    "held out": lambda: mercer.KernelRegressor("gaussian", n_components=32, map="RandomFourier", alpha="holdout"),
    "squares": lambda: mercer.KernelClassifier("gaussian", n_components=32, loss="squared", C=1.0),
    "components": lambda: KernelPCA("gaussian", n_components=32),
    "novelty": lambda: KernelNovelty("gaussian", n_components=32, map="RandomFourier"),
    "clusters": lambda: KernelKMeans("gaussian", n_components=32, map="RandomFourier", n_clusters=3),
    "hinge": lambda: mercer.KernelClassifier("gaussian", n_components=32, map="RandomFourier", C=1.0),
    "landmarks": lambda: mercer.KernelClassifier(
        "gaussian", n_components=40, map="Nystrom", solver="landmarks", C=1.0, tol=1e-9
    ),
    "poisson": lambda: mercer.KernelRegressor("gaussian", n_components=32, loss="poisson", alpha=1.0),
    "tube": lambda: mercer.KernelRegressor(
        "gaussian", n_components=32, map="RandomFourier", loss="epsilon_insensitive", alpha=1.0
    ),
    "quantile": lambda: mercer.KernelRegressor(
        "gaussian", n_components=32, map="RandomFourier", loss="quantile", alpha=1.0
    ),
}


def result_of(model, X):
    """The results of a model for rows, as numbers."""
    for name in ("decision_function", "transform", "predict"):
        if hasattr(model, name):
            return getattr(model, name)(X)
    raise AssertionError(type(model))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_on_partitions_is_the_one_on_the_whole_rows_but_for_rounding(name, rows):
    X, y, classes = rows
    targets = np.abs(y).round() if name == "poisson" else classes if name in ("squares", "hinge", "landmarks") else y
    ours = LEARNERS[name]().set_params(random_state=0).fit(parts_of(X, targets, cuts=[1, 700, 1900]))
    theirs = LEARNERS[name]().set_params(random_state=0).fit(mercer.data.ArrayTable(X, targets))
    np.testing.assert_allclose(result_of(ours, X[:50]), result_of(theirs, X[:50]), rtol=1e-3, atol=1e-3)
    for learned in ("region_", "target_range_", "calibration_"):
        if hasattr(theirs, learned) and name not in ("hinge", "landmarks"):
            np.testing.assert_allclose(
                *(np.concatenate([np.ravel(part) for part in getattr(one, learned)[-2:]]) for one in (ours, theirs))
            )


def test_a_single_partition_gives_the_bits_of_the_whole_rows_on_landmarks(rows):
    X = rows[0]
    targets = (np.sin(3 * X[:600, 0]) * X[:600, 1] > 0).astype(np.int64)
    machine = mercer.KernelClassifier(
        "gaussian(0.5)", n_components=100, map="Nystrom", solver="landmarks", C=100.0, preparation=None, random_state=0
    )
    ours = clone(machine).fit(parts_of(X[:600], targets))
    theirs = clone(machine).fit(mercer.data.ArrayTable(X[:600], targets))
    assert ours.convergence_ == theirs.convergence_  # the same preconditioners too
    assert np.array_equal(ours.coef_, theirs.coef_)


class LittleRoom(HereParts):
    """Parts that claim to have too little memory for any features."""

    @property
    def room(self):
        return 1


@pytest.mark.parametrize("name", ["hinge", "landmarks", "clusters"])
def test_the_memory_of_workers_changes_no_bit(name, rows):
    X, _, classes = rows
    table = parts_of(X[:300], classes[:300], cuts=[100])
    ours = LEARNERS[name]().set_params(random_state=0).fit(table)
    table.parts = LittleRoom(table.parts._objects)
    with pytest.warns(UserWarning, match="but have room for 1 B: Dask writes the rest to disk"):
        theirs = LEARNERS[name]().set_params(random_state=0).fit(table)
    assert np.array_equal(result_of(ours, X), result_of(theirs, X))


def moved(part):
    """An object as another process receives it: buffers are received together, and begin anywhere in memory."""
    buffers = []
    told = cloudpickle.dumps(part, protocol=5, buffer_callback=buffers.append)
    received = []
    for buffer in buffers:
        memory = memoryview(bytearray(buffer.raw().nbytes + 1))[1:]
        memory[:] = buffer.raw()
        received.append(memory)
    return pickle.loads(told, buffers=received)


class MovingParts(HereParts):
    """Parts that are moved to another worker after everything that is done with them."""

    def __init__(self, objects):
        super().__init__(map(moved, objects))

    def kept(self, work, arguments=None):
        return MovingParts(super().kept(work, arguments)._objects)

    def chosen(self, places):
        return MovingParts(super().chosen(places)._objects)


MOVED = ("number", "hinge", "poisson", "clusters")


@pytest.mark.parametrize(
    "name", [name if name in MOVED else pytest.param(name, marks=pytest.mark.full) for name in LEARNERS]
)
def test_partitions_that_are_moved_between_workers_change_no_bit(name, rows):
    X, y, classes = (part[:300] for part in rows)
    targets = np.abs(y).round() if name == "poisson" else classes if name in ("squares", "hinge", "landmarks") else y
    ours, theirs = (LEARNERS[name]().set_params(random_state=0) for _ in range(2))
    table = parts_of(X, targets, cuts=[101, 150])
    theirs.fit(table)
    table.parts = MovingParts(table.parts._objects)
    ours.fit(table)
    assert np.array_equal(result_of(ours, X), result_of(theirs, X))


def test_dask_knows_how_large_partitions_and_their_features_are(rows):
    from dask.sizeof import sizeof

    X, y, _ = rows
    pandas = pytest.importorskip("pandas")
    for given in (X, scipy.sparse.csr_array(X), pandas.DataFrame(X)):
        assert X.nbytes + y.nbytes < sizeof(Partition(0, Block(given, y))) < 2 * (X.nbytes + y.nbytes)
    held = HeldFeatures(np.zeros((100, 50)), True, 1, None)
    assert 40_000 < sizeof(HeldPart(None, held)) < 41_000


class LittleMemory(HereParts):
    """Parts whose workers have too little memory for sums over many features."""

    @property
    def memory(self):
        return 300 * 2**20


def test_what_workers_have_no_memory_for_is_refused_although_this_machine_could_do_without_sums(rows):
    table = parts_of(rows[0], rows[1], cuts=[700])
    table.parts = LittleMemory(table.parts._objects)
    wide = mercer.KernelRegressor("gaussian", n_components=4096, map="RandomFourier", alpha=1.0)
    with pytest.raises(
        MemoryError, match=r"4096 features .* at least 0.38 GiB; a thread of a worker has room for 0.29"
    ):
        wide.fit(table)
    open_kernel = mercer.KernelRegressor(n_components=4096, map="RandomFourier", alpha=1.0, random_state=0)
    with pytest.raises(MemoryError, match="a thread of a worker has room for"):
        open_kernel.fit(table)


def test_workers_need_no_memory_for_the_state_of_rows():
    table = SimpleNamespace(n_rows=10**8)
    machine = mercer.KernelClassifier("gaussian", n_components=512, map="RandomFourier", C=1.0)
    check_before(machine, table, 2**40, True, workers=2**28)
    with pytest.raises(MemoryError, match="memory allows"):
        check_before(machine, table, 2**32, True, workers=2**40)
    with pytest.raises(MemoryError, match="a thread of a worker"):
        check_before(machine, table, 2**40, True, workers=2**20)


def test_threads_do_not_change_a_bit(rows):
    X, y, _ = rows
    models = [
        mercer.KernelRegressor("gaussian", n_components=32, alpha=0.1, random_state=0, n_jobs=n_jobs).fit(
            parts_of(X, y, cuts=[900])
        )
        for n_jobs in (1, 2)
    ]
    assert (models[0].coef_ == models[1].coef_).all()
