"""Files in partitions, read by workers, and the command that asks for it."""

import os

import numpy as np
import pytest

import mercer
from mercer.data import partitioned_files
from mercer.data.block import BLOCK_ROWS
from mercer.data.partitioned_files import BlockRange, PartitionedFiles
from mercer.data.partitions import HereParts
from mercer.scale.local import ALLOCATION, connected, files_on
from mercer.scale.parcels import packed, unpacked

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
N_ROWS = 4 * BLOCK_ROWS + 100


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("files")
    X = np.random.default_rng(0).normal(size=(N_ROWS, 3))
    frame = pandas.DataFrame(X, columns=list("abc")).assign(y=np.sin(X[:, 0]))
    frame["kind"] = np.where(X[:, 1] > 0, "yes", "no")
    frame.to_parquet(found / "rows.parquet", row_group_size=3000)
    frame.to_csv(found / "rows.csv", index=False)
    mercer.data.write_libsvm(found / "rows.libsvm", X, frame["y"].to_numpy())
    return found


@pytest.fixture(autouse=True)
def small_partitions(monkeypatch):
    monkeypatch.setattr(partitioned_files, "PARTITION_BYTES", 8 * 4 * 2 * BLOCK_ROWS)


def opened(folder, ending):
    target = {} if ending == "libsvm" else {"target": "y"}
    return mercer.data.open(folder / f"rows.{ending}", **target)


@pytest.mark.parametrize("ending", ["parquet", "csv", "libsvm"])
@pytest.mark.parametrize("part", ["all", "some"])
def test_partitions_have_all_rows_of_the_files_once_and_in_order(folder, ending, part):
    source = opened(folder, ending)
    source = source if part == "all" else source.split(0.3, seed=1)[0]
    table = PartitionedFiles(source, HereParts)
    assert len(table.parts) > 1
    assert table.n_rows == source.n_rows
    for ours, theirs in zip(table.blocks(), source.blocks(), strict=True):
        assert np.array_equal(ours.y, theirs.y)
    numbers = np.array([0, 5, BLOCK_ROWS - 1, 2 * BLOCK_ROWS, 2 * BLOCK_ROWS + 7, table.n_rows - 1])
    ours, theirs = (np.concatenate([np.asarray(mercer.data.frames.columns(X)["a"]) if ending != "libsvm"
                                    else X.toarray()[:, 0] for X in one.take(numbers)])
                    for one in (table, source))  # fmt: skip
    assert np.array_equal(ours, theirs)
    assert table.where(3) == source.where(3)
    assert table.fingerprint() == source.fingerprint()


def test_workers_read_files_and_give_the_bits_of_this_process(folder, client):
    source = opened(folder, "parquet")
    models = []
    for table in (PartitionedFiles(source, HereParts), files_on(client, source)):
        model = mercer.KernelRegressor("gaussian", n_components=16, alpha=1.0, random_state=0)
        models.append(model.fit(table))
    assert np.array_equal(models[0].coef_, models[1].coef_)
    assert models[1].feature_names_in_.tolist() == ["a", "b", "c", "kind"]
    assert models[1].target_name_ == "y"
    assert models[1].first_rows_ == models[0].first_rows_ != ()


@pytest.mark.parametrize("ending", ["parquet", "csv", "libsvm"])
def test_ranges_of_files_are_sent_without_rows(folder, ending):
    source = opened(folder, ending).split(0.3, seed=1)[0]
    table = PartitionedFiles(source, HereParts)
    table.head()
    (first, *_, last) = table.parts._objects
    assert len(packed(first)) < 30_000  # the rows at the head would be ten times as many bytes
    sent = unpacked(packed(BlockRange.apart(last.source, last.first, last.stop)))
    for ours, theirs in zip(sent.blocks(), last.blocks(), strict=True):
        assert np.array_equal(ours.y, theirs.y)


@pytest.mark.parametrize("ending", ["csv", "libsvm"])
def test_a_range_is_read_from_a_place_near_its_first_row(folder, ending, monkeypatch):
    monkeypatch.setattr("mercer.data.csv_places.PLACE_BYTES", 2**16)
    monkeypatch.setattr("mercer.data.libsvm.READ_BYTES", 2**16)
    source = opened(folder, ending)
    PartitionedFiles(source, HereParts)
    (file,) = source.sources
    rows = [place.row for place in (file._places if ending == "csv" else file.survey.parts)]
    assert len(rows) > 10
    assert max(np.diff(rows)) < 1500


def test_an_invalid_address_is_refused():
    told = "the address of a scheduler, .local. or .local:2., found .lokal:2."
    with pytest.raises(ValueError, match=told), connected("lokal:2"):
        pass


def test_a_cluster_of_this_machine_listens_on_loopback_alone(shared_cluster):
    with connected(shared_cluster.scheduler_address) as client:
        assert client.scheduler.address == shared_cluster.scheduler_address


def test_workers_keep_memory_for_the_next_chunk(shared_cluster):
    """The C library reads its settings when a process starts; Dask's other settings remain."""
    with connected(shared_cluster.scheduler_address) as client:
        for name, expected in (*ALLOCATION.items(), ("OMP_NUM_THREADS", 1)):
            assert set(client.run(os.environ.get, name).values()) == {str(expected)}


@pytest.mark.full
def test_the_command_learns_on_a_local_cluster(folder, tmp_path, monkeypatch):
    from click.testing import CliRunner

    from mercer.cli.command_group import mercer as command

    given = ["fit", str(folder / "rows.parquet"), "--target", "y", "--features", "16", "--kernel", "gaussian"]
    given += ["--alpha", "1", "-o", str(tmp_path / "model"), "--dask", "local:1"]
    said: list[str] = []
    monkeypatch.setattr("mercer.cli.fit.say", said.append)  # which only terminals see
    found = CliRunner().invoke(command, given)
    assert found.exit_code == 0, found.output
    assert any(line.startswith("1 worker; dashboard: http://127.0.0.1:") for line in said)
    assert mercer.load(tmp_path / "model").coef_.shape == (16,)
