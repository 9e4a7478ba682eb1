"""Checkpoint files: damaged ones, forged ones, and the two generations."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer.learn import KernelRegressor
from mercer.persist import CheckpointError, ModelFileError, train
from mercer.persist.checkpoints import Checkpoint, Checkpoints, read_checkpoint
from mercer.persist.safetensors import header_bytes

from .small_runs import CHUNK, checkpoint_of, features, problem

pytestmark = pytest.mark.usefixtures("small_blocks")


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path):
    X = problem()[0]
    model = KernelRegressor(map=features(), alpha=1.0, preparation=None)
    mercer.save(clone(model).fit(X, X[:, 0]), tmp_path / "whole")
    path = checkpoint_of(clone(model), X, X[:, 0], tmp_path)
    previous = Path(f"{path}.previous")
    good, older = path.read_bytes(), previous.read_bytes()
    for place in range(0, len(good), 97):  # in the header and in every array
        bad = bytearray(good)
        bad[place] ^= 0x10
        path.write_bytes(bad)
        with pytest.warns(UserWarning, match=r"is damaged: .*continues from the previous one"):
            assert Checkpoints(path).read().begun.rows == 3 * CHUNK
    path.write_bytes(good[: len(good) // 2])
    seen = []

    def stop(progress):
        seen.append(previous.read_bytes())
        if progress.what == "sums":
            raise ArithmeticError

    with pytest.warns(UserWarning, match="damaged"), pytest.raises(ArithmeticError):
        train(clone(model), X, X[:, 0], output=tmp_path / "model", every=0.0, resume=True, progress=stop)
    assert seen[-1] == older  # what is damaged takes no one's place
    assert read_checkpoint(path).begun.rows == 4 * CHUNK
    train(clone(model), X, X[:, 0], output=tmp_path / "model", resume=True)
    assert (tmp_path / "model").read_bytes() == (tmp_path / "whole").read_bytes()


def test_two_damaged_checkpoints_are_an_error(tmp_path):
    X = problem()[0]
    path = checkpoint_of(KernelRegressor(map=features(), alpha=1.0, preparation=None), X, X[:, 0], tmp_path)
    older = path.with_name(f"{path.name}.previous")
    path.write_bytes(b"")
    older.write_bytes(older.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match=r"checkpoint' is damaged.*previous' is damaged.*arrays.*resume=False"):
        train(
            KernelRegressor(map=features(), alpha=1.0, preparation=None),
            X,
            X[:, 0],
            output=tmp_path / "model",
            resume=True,
        )


PARTS = {"format": 1, "identity": {}, "seeds": [], "found": [["one", 1]], "begun": None, "fortran": []}


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"format": "1"},
        {"code": "import os"},
        {"identity": []},
        {"seeds": [-1]},
        {"seeds": None},
        {"found": [["one", 2]]},
        {"found": [["one"]]},
        {"found": [["one", "1"]]},
        {"found": {}},
        {"begun": ["sums", -1, 0]},
        {"begun": ["sums", 1, 1]},
        {"fortran": ["none"]},
        {"arrays": {"0.0": ["float32", [2]]}},
    ],
    ids=str,
)
def test_a_checkpoint_that_was_made_up_is_refused(change, tmp_path):
    arrays = {"0.0": np.ones(2)}

    def write(parts):
        text = json.dumps({"arrays": {"0.0": ["float64", [2]]}} | parts)
        sha = hashlib.sha256(text.encode() + arrays["0.0"].tobytes()).hexdigest()
        data = header_bytes(arrays, {"mercer-checkpoint": text, "sha256": sha}) + arrays["0.0"].tobytes()
        (tmp_path / "checkpoint").write_bytes(data)

    write(PARTS)
    assert read_checkpoint(tmp_path / "checkpoint").found["one"][0].tolist() == [1.0, 1.0]
    write(PARTS | change)
    with pytest.raises(ModelFileError):
        read_checkpoint(tmp_path / "checkpoint")


def test_a_checkpoint_keeps_the_memory_order_of_arrays(tmp_path):
    store = Checkpoints(tmp_path / "checkpoint")
    arrays = (
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.zeros((0, 2), np.float32),
    )
    store.write(Checkpoint({"class": "A"}, [2**127], {"one": arrays, "two": (np.array([3]),)}, None))
    found = store.read()
    assert (found.identity, found.seeds, found.begun) == ({"class": "A"}, [2**127], None)
    for ours, theirs in zip(arrays, found.found["one"], strict=True):
        assert (ours.dtype, ours.flags.c_contiguous, ours.tolist()) == (
            theirs.dtype,
            theirs.flags.c_contiguous,
            theirs.tolist(),
        )
