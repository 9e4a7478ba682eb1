"""The number of reads of a table: one scan serves several steps, and columns that no step needs are not read."""

import inspect
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file

from mercer import data, kernels
from mercer._random import Stream
from mercer.data import arrow_ipc, as_rows, csv, libsvm, numpy_files, parquet, sources
from mercer.data.block import BLOCK_ROWS, Block
from mercer.data.table_rows import Chunk
from mercer.kernels import AdditiveChi2, Gaussian, Laplacian, Polynomial
from mercer.learn import KernelCCA, KernelClassifier, KernelKMeans, KernelNovelty, KernelPCA, KernelRegressor
from mercer.learn.context import FitContext
from mercer.learn.features import kept_features
from mercer.learn.passes.fit_passes import Passes
from mercer.learn.passes.scan_plan import Need, RowSample, ScanPlan

from ..tables import every_value

N = 2 * BLOCK_ROWS + 100
KINDS = {
    "parquet": parquet.ParquetFile,
    "csv": csv.CsvFile,
    "arrow": arrow_ipc.ArrowFile,
    "libsvm": libsvm.LibsvmFile,
    "npz": numpy_files.NpyFile,
}
COMMON = {"n_components": 16, "scale": "minmax", "random_state": 0}
MEDIAN = Gaussian("median")
# Whole reads of a file of numbers, the last of them for features or sums; before it one scan finds labels, scales and
# a sample: that of the bandwidth, of the pilot, and of the rows that landmarks are chosen from. Leave-one-out errors
# are found from features that are kept. The second view of KernelCCA takes another read, of targets alone.
LEARNERS = {
    "ridge": (KernelRegressor(MEDIAN, **({"alpha": 1.0, "preparation": None} | COMMON)), "number", 2),
    "ridge loo": (KernelRegressor(MEDIAN, alpha="loo", **({"preparation": None} | COMMON)), "number", 2),
    "hinge": (KernelClassifier(MEDIAN, **({"C": 1.0, "preparation": None} | COMMON)), "label", 2),
    "squared": (KernelClassifier(MEDIAN, loss="squared", **({"C": 1.0, "preparation": None} | COMMON)), "label", 2),
    "regressor by default": (KernelRegressor(n_components=16, random_state=0), "number", 2),
    "classifier by default": (KernelClassifier(n_components=16, random_state=0), "label", 2),
    "pca": (KernelPCA(MEDIAN, **COMMON), None, 2),
    "kmeans": (KernelKMeans(MEDIAN, n_clusters=2, n_init=1, **COMMON), None, 2),
    "novelty": (KernelNovelty(MEDIAN, **COMMON), None, 2),
    "cca": (KernelCCA(MEDIAN, kernel_y=MEDIAN, n_components_y=16, **COMMON), "number", 3),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place, rng = tmp_path_factory.mktemp("passes"), np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["number"] = X[:, 0] + rng.normal(size=N)
    frame["label"] = (X[:, 1] > 0).astype(int)
    frame.to_parquet(place / "rows.parquet")
    frame.to_csv(place / "rows.csv", index=False)
    frame.to_feather(place / "rows.arrow")
    frame["town"] = np.where(X[:, 2] > 0, "Oslo", "Rome")
    frame.to_parquet(place / "towns.parquet")
    for target in ("number", "label"):
        dump_svmlight_file(X, frame[target], str(place / f"{target}.libsvm"))
        np.savez(place / f"{target}.npz", X=X, y=frame[target])
    return place


@pytest.fixture
def read(monkeypatch):
    """Counts how often files are opened, and read to the end: all columns, or only one or two of them."""
    counted = Counter()
    monkeypatch.setattr(sources, "NUMBERS_AT_ONCE", 1)  # no more than a block is read at once

    def watched(read):
        def wrapped(self, start, names):
            counted["opened"] += 1
            rows = start
            for raw in read(self, start, names):
                rows += (raw.X if isinstance(raw, Block) else raw).shape[0]
                yield raw
            counted["whole"] += 1
            counted["narrow"] += 0 < len(names) <= 2

        return wrapped

    for kind in KINDS.values():
        monkeypatch.setattr(kind, "read", watched(kind.read))
    return counted


def table_of(folder, ending, target, **options):
    if ending in ("libsvm", "npz"):
        path, named = folder / f"{target or 'number'}.{ending}", {"target": "y"} if ending == "npz" and target else {}
        return data.open(path, memory=1, **named, **options)
    unused = [name for name in ("number", "label") if name != target]
    return data.open(folder / f"rows.{ending}", target=target, exclude=unused, memory=1, **options)


@every_value(name=LEARNERS, ending=KINDS)
def test_whole_reads_of_a_file(folder, read, name, ending):
    learner, target, expected = LEARNERS[name]
    table, seen = table_of(folder, ending, target), []
    read.clear()
    clone(learner).set_params(callback=seen.append).fit(table)
    assert seen[-1].reads == expected
    assert read["whole"] == expected
    assert read["opened"] <= expected + (2 if name == "cca" else 1)  # the first block of each view
    if name == "cca":
        assert read["narrow"] == (1 if ending in ("parquet", "csv", "arrow") else 0)


@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_landmarks_and_features_that_are_kept_need_no_reads_of_their_own(folder, read, solver):
    learner = KernelClassifier(n_components=600, solver=solver, random_state=0)
    count, passes = reads(learner, table_of(folder, "parquet", "label"))
    # Of many landmarks a first machine, on some of them, tells where the others are wanted: its features are a read.
    assert count == (3 if solver == "auto" else 2)
    assert "scales and labels and sample" in passes


def test_features_that_take_too_much_memory_are_recomputed(folder, monkeypatch):
    learner, table = LEARNERS["regressor by default"][0], table_of(folder, "parquet", "number")
    kept = clone(learner).fit(table)
    assert reads(learner, table)[0] == 2
    monkeypatch.setattr(kept_features, "MOST_BYTES", 8 * N * 16 - 1)
    assert reads(learner, table)[0] == 3
    again = clone(learner).fit(table)
    np.testing.assert_array_equal(again.coef_, kept.coef_)
    assert again.alpha_ == kept.alpha_


def test_kept_features_are_used_when_all_are_there():
    kept, rows = kept_features.KeptFeatures(5, 40, 100.0), np.arange(10.0).reshape(5, 2)
    kept.add(Chunk(3, rows[3:], None, None), rows[3:])
    assert not kept.are_complete
    kept.add(Chunk(0, rows[:3], None, None), rows[:3])
    assert kept.are_complete
    assert [chunk.first for chunk in kept.chunks(0)] == [0, 3]
    assert [chunk.first for chunk in kept.chunks(3)] == [3]


def test_bits_are_those_of_an_array(folder):
    frame = pd.read_parquet(folder / "rows.parquet")
    for learner, target, _ in (LEARNERS["regressor by default"], LEARNERS["classifier by default"]):
        from_file = clone(learner).fit(table_of(folder, "parquet", target))
        from_array = clone(learner).fit(np.ascontiguousarray(frame[["a", "b", "c"]]), frame[target].to_numpy())
        np.testing.assert_array_equal(from_file.coef_, from_array.coef_)
        np.testing.assert_array_equal(from_file.map_.parameters_.indices, from_array.map_.parameters_.indices)


def reads(learner, table):
    seen = []
    clone(learner).set_params(callback=seen.append).fit(table)
    return seen[-1].reads, [one.what for one in seen]


def test_levels_are_known_before_scales(folder, read):
    table = data.open(folder / "towns.parquet", target="label", exclude=["number"], memory=1)
    count, passes = reads(LEARNERS["hinge"][0], table)
    assert count == 3
    assert {"levels and labels and sample", "scales"} <= set(passes)
    assert reads(clone(LEARNERS["hinge"][0]).set_params(scale="unit"), table)[0] == 2


def test_what_no_step_needs_is_not_read(folder, read):
    table = table_of(folder, "parquet", "label")
    learner = KernelClassifier(Gaussian(0.3), n_components=16, random_state=0, C=1.0, preparation=None)
    read.clear()
    assert reads(learner, table)[0] == 2
    assert (read["whole"], read["narrow"]) == (2, 1)  # only the labels, and then the features
    # Kernels that do not accept all rows check them, and kernels with a bandwidth by variance sum it up.
    numbers = table_of(folder, "parquet", "number")
    ridge = KernelRegressor(n_components=16, random_state=0, kernel=None, alpha=1.0, preparation=None)
    assert reads(clone(ridge).set_params(kernel=Gaussian(0.3)), numbers)[0] == 1
    assert reads(clone(ridge).set_params(kernel=Gaussian("scale")), numbers)[0] == 2
    # The variance of scaled columns depends on their scales: another scan.
    assert reads(clone(ridge).set_params(kernel=Gaussian("scale"), scale="minmax"), numbers)[0] == 3
    known = {"classes": [0, 1]}
    seen = []
    learner = KernelClassifier(
        Gaussian(0.3),
        n_components=16,
        loss="squared",
        random_state=0,
        callback=seen.append,
        C=1.0,
        preparation=None,
    )
    learner.fit(table, **known)
    assert seen[-1].reads == 1


def test_weights_are_counted_by_a_pass_over_them_alone(folder, read):
    table = data.open(folder / "rows.parquet", target="number", weight="label", memory=1)
    read.clear()
    assert 0 < table.n_rows < N
    assert (read["whole"], read["narrow"]) == (1, 1)
    blocks = list(table.blocks())
    assert sum(block.X.shape[0] for block in blocks) == table.n_rows
    np.testing.assert_array_equal(next(table.blocks(1)).X, blocks[1].X)


class Everything(Need):
    def begin(self):
        self.rows, self.firsts = 0, []

    def update(self, block, first):
        self.rows += block.X.shape[0]
        self.firsts.append(first)


def a_plan(X):
    table = data.ArrayTable(X)
    return ScanPlan(table, Passes(table, FitContext()))


def test_a_scan_serves_all_that_waits_once():
    plan, first, second = a_plan(np.zeros((N, 2))), Everything(), Everything()
    plan.add("first", first)
    plan.add("second", second)
    assert sum(1 for _ in plan.scan("a step")) == 3
    assert first.rows == second.rows == N
    assert first.firsts == [0, BLOCK_ROWS, 2 * BLOCK_ROWS]
    first.begin()
    plan.finish()
    assert first.rows == 0


def test_an_interrupted_scan_satisfies_no_need():
    plan, need = a_plan(np.zeros((N, 2))), Everything()
    plan.add("all", need)
    next(plan.scan("a step"))
    plan.finish()
    assert need.rows == N


@pytest.mark.parametrize("count", [1, 50, 3000, 2 * N])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_sample_of_a_scan_is_that_of_rows(count, kind):
    X = np.arange(2.0 * N).reshape(N, 2)
    X = sp.csr_array(X) if kind == "sparse" else X
    rng = Stream(7)
    rows = as_rows(X, rng)
    sample = RowSample(rng.child("rows"), count)
    sample.begin()
    for first in range(0, N, BLOCK_ROWS):
        sample.update(Block(X[first : first + BLOCK_ROWS]), first)
    for fewer in (count, max(1, count // 3)):
        numbers = rows.choose(fewer)
        assert sample.holds(numbers)
        parts = sample.take(numbers)
        whole = sp.vstack(parts).toarray() if kind == "sparse" else np.concatenate(parts)
        wanted = rows.take(numbers)
        np.testing.assert_array_equal(whole, wanted.toarray() if kind == "sparse" else wanted)
    if count == 1:
        assert not sample.holds(np.arange(N))


def test_kernels_that_refuse_rows_say_so():
    assert Gaussian(0.5).takes_every_row
    assert Polynomial(2).takes_every_row
    assert not AdditiveChi2().takes_every_row
    assert not (Gaussian(0.5) + AdditiveChi2()).takes_every_row
    assert not (0.5 * AdditiveChi2()).takes_every_row
    assert not Polynomial(2).of(AdditiveChi2()).takes_every_row
    assert not Gaussian(1e-320).takes_every_row  # at no distance that a number holds is it 0
    assert (Gaussian(0.5) * Laplacian(0.5)).takes_every_row
    known = [found for name in kernels.__all__ if inspect.isclass(found := getattr(kernels, name))]
    for kind in {base for one in known for base in one.__mro__ if base.__module__.startswith("mercer")}:
        assert ("check_rows" in vars(kind)) == ("takes_every_row" in vars(kind)), kind


def test_a_kernel_with_a_check_of_its_own_is_asked():
    given = {name: lambda self, *rows: None for name in kernels.Kernel.__abstractmethods__}
    assert type("Plain", (kernels.Kernel,), given)().takes_every_row
    assert not type("Strict", (kernels.Kernel,), given | {"check_rows": lambda self, X: None})().takes_every_row
