"""Learners on a cluster of processes: the same bits as in this process, and the data that are sent."""

import numpy as np
import pytest

import mercer
from mercer.scale import table_of

from .test_partitions import LEARNERS

distributed = pytest.importorskip("distributed")

QUICK = ("leave-one-out", "landmarks")


def targets_for(name, y, classes):
    if name == "poisson":
        return abs(y).round()
    return classes if name in ("squares", "hinge", "landmarks") else y


def arrays_of(model):
    """Everything that a model has learned as arrays, by name."""
    return {name: value for name, value in vars(model).items() if name.endswith("_") and isinstance(value, np.ndarray)}


def check_same(ours, theirs):
    assert arrays_of(ours).keys() == arrays_of(theirs).keys()
    for name, value in arrays_of(ours).items():
        assert np.array_equal(value, arrays_of(theirs)[name]), name


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.full) for name in LEARNERS]
)
def test_workers_give_the_bits_of_this_process(name, collections, shared_cluster):
    X, y, classes = collections
    here = LEARNERS[name]().set_params(random_state=0).fit(X, targets_for(name, y, classes))
    with distributed.Client(shared_cluster):
        there = LEARNERS[name]().set_params(random_state=0).fit(X, targets_for(name, y, classes))
    check_same(there, here)


def test_an_error_names_the_partition_and_has_its_type(client, collections):
    import dask.array as da

    X = da.concatenate([collections[0][:1400], collections[0][1400:] * np.nan])
    model = mercer.KernelRegressor("gaussian", n_components=16, alpha=1.0, missing="error", random_state=0)
    with pytest.raises(ValueError, match="row 0 of partition 2"):
        model.fit(X, collections[1])


def test_predictions_are_made_by_workers(client, rows, collections):
    model = mercer.KernelRegressor("gaussian", n_components=16, alpha=1.0, random_state=0).fit(*collections[:2])
    assert np.array_equal(model.predict(collections[0]).compute(), model.predict(rows[0]))


def test_nothing_stays_on_the_workers(client, collections):
    mercer.KernelRegressor("gaussian", n_components=16, alpha=1.0, random_state=0).fit(*collections[:2])
    for _ in range(100):
        if not any(client.has_what().values()):
            break
        __import__("time").sleep(0.05)
    assert not any(client.has_what().values())


def test_the_table_of_a_collection_is_held_by_workers(client, rows, collections):
    table = table_of(*collections[:2])
    assert (np.concatenate([block.X for block in table.blocks()]) == rows[0]).all()
    assert table.fingerprint() == table_of(*collections[:2]).fingerprint()
