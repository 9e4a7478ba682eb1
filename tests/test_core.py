"""The compiled core against naive mathematics, on every instruction set of this machine."""

from __future__ import annotations

import _ctypes
import ctypes
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import hadamard as hadamard_matrix

from mercer import _core
from mercer._core import _library, _libsvm

from .conftest import FORCED, ISAS, LIBRARY

WIDTHS = [2**k for k in range(13)]
DTYPES = [np.float32, np.float64]

compiled = pytest.mark.skipif(FORCED == "none", reason="MERCER_ISA=none asks for no compiled core")


@cache
def transform(width):
    """The matrix of the transform, which several tests compare with."""
    return hadamard_matrix(width, dtype=np.float64)


def normal(rows, width, dtype, seed=0):
    return np.random.default_rng([seed, rows, width]).standard_normal((rows, width)).astype(dtype)


def run(code, isa=None, path=(), flags=()):
    """Run Python code in a process of its own, with MERCER_ISA and PYTHONPATH set as given."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MERCER_ISA", "PYTHONPATH")}
    if isa is not None:
        environment["MERCER_ISA"] = isa
    if path:
        environment["PYTHONPATH"] = os.pathsep.join(map(str, path))
    return subprocess.run(
        [sys.executable, *flags, "-c", code], env=environment, capture_output=True, text=True, timeout=120
    )


@compiled
def test_the_library_is_built_and_the_best_instruction_set_picked():
    assert _core.AVAILABLE
    assert ISAS[-1] == "baseline"
    assert (FORCED or ISAS[0]) == _core.ISA


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
def test_agrees_with_the_matrix(isa, width, dtype):
    H = transform(width)
    for rows in (1, 2, 3, 5, 17):
        X = normal(rows, width, dtype)
        Z = X.copy()
        _core.hadamard(Z)
        assert Z.dtype == dtype
        # Each number is a sum of `width` terms in log2(width) rounded levels.
        exact = X.astype(np.float64)
        bound = np.finfo(dtype).eps * width.bit_length() * np.abs(exact).sum(axis=1, keepdims=True)
        assert (np.abs(Z - exact @ H) <= bound).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
def test_is_exact_on_small_integers(isa, width, dtype):
    X = np.random.default_rng(width).integers(-8, 9, (3, width)).astype(dtype)
    Z = X.copy()
    _core.hadamard(Z)
    np.testing.assert_array_equal(Z, X @ transform(width).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [*WIDTHS, 2**15, 2**16, 2**17, 2**20])
def test_twice_is_the_width_times_the_identity(isa, width, dtype):
    X = np.random.default_rng(width).integers(-3, 4, (2, width)).astype(dtype)
    Z = X.copy()
    _core.hadamard(Z)
    np.testing.assert_array_equal(Z[:, 0], X.sum(axis=1))
    _core.hadamard(Z)
    np.testing.assert_array_equal(Z, width * X)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [2**13, 2**15, 2**16, 2**18])
def test_a_long_row_agrees_with_two_short_transforms(isa, width, dtype):
    """H of length ab is H_a kron H_b: the recursion for rows beyond the cache against the matrix."""
    X = np.random.default_rng(width).integers(-3, 4, (1, width)).astype(dtype)
    Z = X.copy()
    _core.hadamard(Z)
    short = 256
    # Sums of small integers are exact in float64, whose product is quick.
    left, right = (hadamard_matrix(size).astype(np.float64) for size in (width // short, short))
    expected = left @ X.reshape(-1, short).astype(np.float64) @ right
    np.testing.assert_array_equal(Z.ravel(), expected.ravel())


@compiled
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [*WIDTHS, 2**16])
def test_all_instruction_sets_give_the_same_bits(width, dtype, monkeypatch):
    X = normal(3, width, dtype)
    results = []
    for isa in ISAS:
        monkeypatch.setattr(_library, "_TABLE", _library._kernels(LIBRARY, isa))
        results.append(X.copy())
        _core.hadamard(results[-1])
    assert len({Z.tobytes() for Z in results}) == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
def test_writes_nothing_but_its_rows(isa, width, dtype):
    """Memory before and after the rows is unchanged, for short rows with a padded tail and for any alignment."""
    for rows in (1, 3, 7):
        for start in (1, 3):
            memory = np.full(rows * width + 64, 7, dtype)
            X = memory[start : start + rows * width].reshape(rows, width)
            X[:] = normal(rows, width, dtype)
            expected = X.copy()
            _core.hadamard(X)
            _core.hadamard(expected)
            np.testing.assert_array_equal(X, expected)
            assert (memory[:start] == 7).all()
            assert (memory[start + rows * width :] == 7).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_threads_give_the_same_bits(isa, dtype):
    X = normal(4096, 256, dtype)
    whole = X.copy()
    _core.hadamard(whole)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(_core.hadamard, np.split(X, 64)))
    np.testing.assert_array_equal(X, whole)


@pytest.mark.parametrize("shape", [(0, 8), (0, 1)])
def test_no_rows_are_accepted(isa, shape):
    _core.hadamard(np.empty(shape))


READ_ONLY = np.zeros((2, 4))
READ_ONLY.flags.writeable = False
UNALIGNED = np.zeros(2 * 4 * 8 + 1, np.uint8)[1:].view(np.float64).reshape(2, 4)


@compiled
@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([[1.0, 2.0]], TypeError, "NumPy array, got list"),
        (np.zeros((2, 4), np.int64), TypeError, "float32 or float64.*<i8"),
        (np.zeros((2, 4), np.float16), TypeError, "float32 or float64.*<f2"),
        (np.zeros((2, 4), ">f8"), TypeError, "byte order, got >f8"),
        (np.zeros(4), ValueError, r"2 dimensions, got shape \(4,\)"),
        (np.zeros((2, 2, 2)), ValueError, "2 dimensions"),
        (np.zeros((2, 0)), ValueError, "power of two, got 0"),
        (np.zeros((2, 6)), ValueError, "power of two, got 6"),
        (np.zeros((2, 8))[:, ::2], ValueError, "C-contiguous"),
        (np.zeros((4, 4), order="F"), ValueError, "C-contiguous"),
        (UNALIGNED, ValueError, "aligned"),
        (READ_ONLY, ValueError, "read-only"),
    ],
)
def test_bad_input_is_named(X, error, message):
    with pytest.raises(error, match=message):
        _core.hadamard(X)


SHOW = "from mercer import _core; print(_core.ISA, _core.AVAILABLE)"


@compiled
@pytest.mark.parametrize("name", ["avx512", "avx2", "baseline"])
def test_an_instruction_set_can_be_forced(name):
    result = run(SHOW, isa=name)
    if name in ISAS:
        assert result.stdout.split() == [name, "True"], result.stderr
    else:
        assert result.returncode != 0
        assert f"ValueError: MERCER_ISA={name}, but this machine and build support only" in result.stderr


def test_an_empty_variable_forces_nothing():
    assert run(SHOW, isa="").stdout == run(SHOW).stdout


def test_an_unknown_instruction_set_is_refused():
    result = run(SHOW, isa="sse9")
    assert result.returncode != 0
    assert "ValueError: MERCER_ISA must be one of avx512, avx2, baseline or none, got 'sse9'" in result.stderr


@compiled
def test_a_machine_without_the_forced_instruction_set_gets_an_error(monkeypatch):
    monkeypatch.setattr(_library, "_supported", lambda library: ("baseline",))
    with pytest.raises(ValueError, match="MERCER_ISA=avx2, but this machine and build support only baseline"):
        _library._pick("avx2")
    assert _library._pick("")[0] == "baseline"


SOURCES = Path(__file__).parents[1] / "csrc"


@compiled
def test_the_library_has_what_the_headers_declare():
    for isa in ISAS:
        declared = {entry.declaration.decode() for entry in _library._entries(LIBRARY, isa)}
        assert declared == _library._declared(SOURCES).keys()
        names = {name.removesuffix("_f32").removesuffix("_f64") for name in _library._kernels(LIBRARY, isa)}
        assert names == set(_library._declared(SOURCES).values())


@compiled
def test_the_library_exports_nothing_but_its_table():
    assert hasattr(LIBRARY, "mercer_functions")
    # A kernel, and parts of the C++ library that is linked in.
    for name in ("_ZN6mercer8baseline12hadamard_f32EPfmm", "_ZSt9terminatev", "_ZSt16__throw_bad_castv"):
        assert not hasattr(LIBRARY, name)


@compiled
def test_the_library_describes_the_types_of_its_functions():
    table, size, pointer = _library._kernels(LIBRARY, "baseline"), ctypes.c_size_t, ctypes.c_void_p
    assert table["hadamard_f32"].argtypes == (pointer, size, size)
    assert table["hadamard_f32"].restype is None
    assert table["craft_f32"].argtypes[7] is ctypes.c_float
    assert table["craft_f64"].argtypes[7] is ctypes.c_double
    assert table["craft_f64"].restype is size
    assert table["libsvm"].argtypes == (pointer, size, ctypes.c_int64, size, *[pointer] * 5)
    assert table["libsvm"].restype is ctypes.c_int
    assert [name for name, _ in table["mercer_rows"]._fields_][-2:] == ["columns", "constant"]
    assert "radial_f32" not in table


def test_the_library_numbers_the_faults_of_text_as_python_does():
    (faults,) = re.findall(
        r"^enum \{(.*?)^\}", (SOURCES / "mercer.h").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    names = re.findall(r"MERCER_LIBSVM_(\w+)", faults)
    assert names[0] == "FINE"
    assert [getattr(_libsvm, name) for name in names[1:]] == list(range(1, len(names)))
    assert len(_libsvm.FAULTS) == len(names)


@compiled
@pytest.mark.parametrize(
    ("file", "old", "new", "differing"),
    [
        ("kernels.h", "hadamard, (T *data, size_t rows,", "hadamard, (T *data, int64_t rows,", "hadamard"),
        (
            "kernels.h",
            "KERNEL(size_t, scaled,",
            "KERNEL(void, absolute_sums, (T *X))\nKERNEL(size_t, scaled,",
            "absolute_sums",
        ),
        ("kernels.h", "KERNEL(size_t, scaled,", "KERNEL(size_t, scales,", "scaled, scales"),
        ("mercer.h", "FIELD(size_t, columns) ", "FIELD(int, columns) ", "mercer_rows"),
        ("kernels.h", "/* How many times", "/* Another comment */\n\n/* How many times", None),
        ("kernels.h", "KERNEL(void, hadamard, (T *data, ", "KERNEL(void, hadamard,\n    (T *data, ", None),
    ],
)
def test_a_library_built_from_other_sources_is_refused(file, old, new, differing, tmp_path, monkeypatch):
    for name in ("kernels.h", "mercer.h"):
        text = (SOURCES / name).read_text(encoding="utf-8")
        assert name != file or old in text
        (tmp_path / name).write_text(text.replace(old, new) if name == file else text, encoding="utf-8")
    monkeypatch.setattr(_library, "_SOURCES", tmp_path)
    if differing is None:
        assert _library._load() is not None
    else:
        with pytest.raises(ImportError, match=rf"libmercer.* differs from .* in {differing}\. Build it again"):
            _library._load()


def test_a_library_without_a_table_is_refused():
    with pytest.raises(ImportError, match="has no table of functions"):
        _library._open(Path(_ctypes.__file__))


def test_the_value_none_leaves_the_library_unloaded():
    code = """
import ctypes
ctypes.CDLL = None  # loading anything would fail
import numpy as np
from mercer import _core
assert _core.ISA is None and not _core.AVAILABLE
try:
    _core.hadamard(np.zeros((1, 2)))
except RuntimeError as error:
    print(error)
"""
    # NumPy itself loads libraries through ctypes on some platforms, so it comes first.
    result = run("import numpy" + code, isa="none")
    assert "compiled core is not loaded" in result.stdout, result.stderr


def test_works_without_the_library(tmp_path):
    """A copy of the package without the shared object, as in a pure wheel."""
    source = Path(_core.__file__).parents[1]
    shutil.copytree(source, tmp_path / "mercer", ignore=shutil.ignore_patterns("*.so", "*.dylib", "*.dll"))
    # Without site, so that an editable install cannot come first; the dependencies are then given by path.
    options = {"path": [tmp_path, Path(np.__file__).parents[1]], "flags": ["-S", "-P"]}
    result = run("import mercer; print(mercer.__path__); " + SHOW, **options)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [repr([str(tmp_path / "mercer")]), "None False"]
    result = run(SHOW, isa="avx2", **options)
    assert "ValueError: MERCER_ISA=avx2, but this installation of mercer has no compiled core" in result.stderr
