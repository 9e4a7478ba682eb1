"""Short files that ask for much: refused before anything of that size is made."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import AdditiveMap, Composed, HadamardSketch, RandomFourier
from mercer.kernels import AdditiveChi2, Gaussian, Polynomial
from mercer.persist import ModelFileError

from .hostile import Parts
from .models import rows


def test_what_is_left_to_a_seed_has_a_limit(tmp_path):
    path = tmp_path / "model"
    sketch = HadamardSketch(Polynomial(2), n_components=16, random_state=0).fit(rows())
    mercer.save(sketch, path, "seed")
    needed = sum(part.nbytes for part in sketch.parameters_)
    mercer.load(path, memory=needed)
    with pytest.raises(
        ModelFileError, match=f"draw parameters of {needed} bytes or more, and {needed - 1} are allowed"
    ):
        mercer.load(path, memory=needed - 1)
    parts = Parts(path.read_bytes())
    parts.held["model"]["columns"] = 2**31 - 1
    path.write_bytes(parts.bytes())
    with pytest.raises(ModelFileError, match="bytes or more, and 1000000000 are allowed: give load more memory"):
        mercer.load(path, memory="1GB")


def test_widths_are_compared_first(tmp_path):
    path = tmp_path / "model"
    composed = Composed(RandomFourier(Gaussian(0.5)), AdditiveMap(AdditiveChi2(), n_components=12), n_components=10)
    mercer.save(composed.fit(np.abs(rows())), path)
    parts = Parts(path.read_bytes())
    parts.held["model"]["parts"]["inner"]["asked"] = 2**30
    path.write_bytes(parts.bytes())
    with pytest.raises(ModelFileError, match=r"the width of Composed\.inner must be"):
        mercer.load(path)
