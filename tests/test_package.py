"""The package as a whole: nothing forgotten, nothing slow, nothing large."""

import subprocess
import sys
import tomllib
import tracemalloc
from importlib import import_module
from inspect import isabstract
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import mercer
from mercer import (
    AdditiveMap,
    Calibrated,
    Compressed,
    FeatureMap,
    RandomFourier,
    Stack,
    TensorSketch,
    kernel_error,
    maps,
)
from mercer._random import Stream
from mercer.data import ArrayRows, is_rows
from mercer.kernels import Intersection, Polynomial

from .tables import ROWS, first_of_class, obeying, sample_rows

SOURCE = Path(mercer.maps.__file__).parent
REPOSITORY = Path(__file__).parent.parent


def test_every_map_has_a_file_a_name_and_a_row():
    files = [path.stem for path in SOURCE.glob("*.py") if not path.stem.startswith("_")]
    defined = {
        value
        for name in files
        for value in vars(import_module(f"mercer.maps.{name}")).values()
        if isinstance(value, type) and issubclass(value, FeatureMap) and value.__module__ == f"mercer.maps.{name}"
    }
    classes = {getattr(maps, name) for name in maps.__all__}
    assert {cls for cls in defined if not isabstract(cls) and not cls.__name__.startswith("_")} <= classes
    assert len({cls.__module__ for cls in classes}) == len(classes)
    assert {type(row(4)) for row in ROWS} == classes - {FeatureMap}
    assert set(maps.__all__) <= set(mercer.__all__)


def test_every_public_name_can_be_had():
    for name in mercer.__all__:
        assert getattr(mercer, name) is not None
    assert set(mercer.__all__) < set(dir(mercer))


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, mercer; sys.exit('numpy' in sys.modules or 'sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_show_versions(capsys):
    mercer.show_versions()
    printed = capsys.readouterr().out
    assert f"mercer: {mercer.__version__}" in printed
    assert "scikit-learn" in printed


def test_kernel_error_is_its_definition():
    X = sample_rows(30)
    sketch = TensorSketch(Polynomial(2), n_components=16, random_state=0).fit(X)
    Z, K = sketch.transform(X), Polynomial(2)(X)
    error = kernel_error(sketch, X)
    assert error.relative == pytest.approx(np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(K))
    assert error.maximum == pytest.approx(np.abs(Z @ Z.T - K).max())
    assert kernel_error(sketch, sp.csr_array(X)).relative == pytest.approx(error.relative)
    assert kernel_error(sketch, X.tolist()).relative == pytest.approx(error.relative)


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
def test_kernel_error_does_not_hang_on_the_scale(scale):
    X = np.abs(sample_rows(30))
    errors = [kernel_error(AdditiveMap(Intersection()).fit(rows), rows).relative for rows in (X, scale * X)]
    assert errors[1] == pytest.approx(errors[0], rel=1e-2)


def test_inner_maps_know_the_names_of_columns():
    X = pd.DataFrame(sample_rows(30), columns=list("abcde"))
    for map in (Compressed(TensorSketch()), Calibrated(RandomFourier()), Stack(TensorSketch(), RandomFourier())):
        inner = map.fit(X).left_ if isinstance(map, Stack) else map.fit(X).map_
        assert kernel_error(inner, X).relative >= 0.0  # and no warning about missing names


def test_kernel_error_of_zeros_and_of_frames():
    X = sample_rows(20)
    sketch = TensorSketch(Polynomial(2), n_components=16, random_state=0).fit(X)
    assert kernel_error(sketch, np.zeros((3, 5))) == (0.0, 0.0)
    expected = kernel_error(sketch, X)
    sketch.set_output(transform="pandas")
    assert kernel_error(sketch, X) == expected


def test_kernel_error_holds_blocks_only(monkeypatch):
    X = sample_rows(400)
    sketch = TensorSketch(n_components=16, random_state=0).fit(X)
    expected = kernel_error(sketch, X)
    monkeypatch.setattr("mercer._kernel_error.BLOCK_ELEMENTS", 4000)
    assert kernel_error(sketch, X).relative == pytest.approx(expected.relative)


@pytest.mark.parametrize("row", first_of_class(obeying()))
def test_extra_memory_is_bounded_by_the_tiles(row):
    X = row.sample(30_000, 8).astype(np.float32)
    sketch = row(64, random_state=0, n_jobs=1).fit(X[:500])
    sketch.transform(X[:1000])
    tracemalloc.start()
    Z = sketch.transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - Z.nbytes < 12e6


def test_rows_offer_a_sample_that_does_not_depend_on_blocks():
    X = np.arange(20_000.0).reshape(-1, 2)
    rows = ArrayRows(X, Stream(0))
    assert is_rows(rows)
    assert not is_rows(X)
    sample = rows.sample(100)
    assert len(np.unique(sample[:, 0])) == 100
    assert (np.diff(sample[:, 0]) > 0).all()
    np.testing.assert_array_equal(rows.sample(100), sample)
    assert set(rows.sample(50)[:, 0]) <= set(sample[:, 0])
    np.testing.assert_array_equal(np.concatenate(list(rows.blocks())), X)
    assert rows.sample(10**6).shape == X.shape


def test_wrappers_use_the_seed_of_the_wrapper():
    X = sample_rows()
    first, second = (
        Compressed(TensorSketch(random_state=inner), n_components=8, random_state=1).fit_transform(X)
        for inner in (0, 1)
    )
    np.testing.assert_array_equal(first, second)


def test_every_mutant_still_applies():
    """A mutant whose text no longer exists in its file would test nothing."""
    for mutant in tomllib.loads((REPOSITORY / "tests" / "mutants.toml").read_text())["mutant"]:
        path = (REPOSITORY if mutant["file"].startswith("csrc/") else SOURCE.parent) / mutant["file"]
        assert mutant["old"] in path.read_text(), mutant["name"]
        assert (REPOSITORY / mutant["tests"]).exists(), mutant["name"]
