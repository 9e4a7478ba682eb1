"""Damaged and forged model files are refused with a reason, before anything is created from them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer import Nystrom, TreeSketch
from mercer.kernels import Polynomial
from mercer.persist import ModelFileError, describe
from mercer.persist.safetensors import MAX_HEADER
from mercer.persist.validation import MAX_DEPTH

from .hostile import Parts, framed
from .models import fitted_learners, fitted_maps, fitted_pipelines, rows

SOURCE = Path(mercer.persist.__file__).parent
GOLDEN = Path(__file__).parent.parent / "golden" / "models"


@cache
def saved(name, mode="full"):
    import tempfile

    models = fitted_maps() | fitted_learners() | fitted_pipelines()
    with tempfile.TemporaryDirectory() as folder:
        mercer.save(models[name][0], f"{folder}/model", mode)
        return Path(folder, "model").read_bytes()


def refused(data, reason, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=reason) as caught:
        mercer.load(path)
    assert str(path) in str(caught.value)


# -- the file ----------------------------------------------------------------------------------------------------------

FILES = {
    "empty": (lambda data: b"", "length of its header in 8 bytes, found 0"),
    "three bytes": (lambda data: data[:3], "in 8 bytes, found 3"),
    "a huge header": (lambda data: (2**63).to_bytes(8, "little") + data[8:], f"at most {MAX_HEADER} bytes"),
    "a header beyond the end": (lambda data: (10**6).to_bytes(8, "little") + data[8:], "the file ends after"),
    "cut in the header": (lambda data: data[:200], "the file ends after 192"),
    "cut in the arrays": (lambda data: data[:-1], "the arrays should take"),
    "extra bytes": (lambda data: data + b"\0", "the arrays should take"),
    "no JSON": (lambda data: framed(b"{nonsense}"), "the header is not JSON"),
    "a list": (lambda data: framed(b"[]"), "must start with '{'"),
    "no UTF-8": (lambda data: framed(b'{"\xff\xfe": 1}'), "not UTF-8"),
    "deep nesting": (lambda data: framed(b'{"a":' * 9999 + b"1" + b"}" * 9999), f"more than {MAX_DEPTH} deep"),
    "deep lists": (lambda data: framed(b'{"a":' + b"[" * 10**6), f"more than {MAX_DEPTH} deep"),
    "a name twice": (lambda data: framed(b'{"a": 1, "a": 2}'), "'a' is given twice"),
    "NaN": (lambda data: framed(b'{"a": NaN}'), "NaN is not JSON"),
    "an endless number": (lambda data: framed(b'{"a": ' + b"9" * 5000 + b"}"), "the header is not JSON"),
    "another safetensors file": (lambda data: framed(b'{"__metadata__":{"format":"pt"}}'), "no metadata 'mercer'"),
    "a pickle": (lambda data: b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00" + data, "not start like a model file"),
    "a bit of an array": (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "SHA-256 differs"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_not_whole(name, tmp_path):
    change, reason = FILES[name]
    refused(change(saved("stack")), reason, tmp_path)


# -- tensors -----------------------------------------------------------------------------------------------------------


def entry(name, **changes):
    def change(parts):
        parts.entries[name] |= changes

    return change


def value(name, number):
    def change(parts):
        parts.array(name).flat[0] = number

    return change


def another(name, make):
    return lambda parts: parts.put(name, make(parts.array(name).copy()))


def moved(parts):
    for tensor in parts.entries.values():
        tensor["data_offsets"] = [offset + 8 for offset in tensor["data_offsets"]]


def without(name):
    def change(parts):
        start, stop = parts.entries.pop(name)["data_offsets"]
        del parts.payload[start:stop]
        for tensor in parts.entries.values():
            tensor["data_offsets"] = [offset - (stop - start) * (offset > start) for offset in tensor["data_offsets"]]

    return change


def second(parts):
    first, last = list(parts.entries)[:2]
    parts.entries[last]["data_offsets"] = parts.entries[first]["data_offsets"]
    parts.entries[last]["shape"] = parts.entries[first]["shape"]


F, H = "parameters.frequencies", "parameters.buckets"
TENSORS = {
    "negative offset": ("fourier", entry(F, data_offsets=[-8, 184]), "offset .* must be an integer from 0"),
    "offsets overlap": ("fourier", second, "overlaps the previous one"),
    "a gap": ("fourier", moved, "leaves a gap"),
    "offsets beyond the end": ("fourier", entry(F, shape=[2**40], data_offsets=[0, 2**43]), "overlaps|should take"),
    "turned offsets": ("fourier", entry(F, data_offsets=[8, 0]), "needs 192 bytes"),
    "a shape that overflows": ("fourier", entry(F, shape=[2**62, 4]), "needs 147573952589676412928 bytes"),
    "a shape beyond": ("fourier", entry(F, shape=[2**63, 2**63, 2**63]), "must be an integer"),
    "a product that wraps to 0": ("fourier", entry(F, shape=[2**32, 2**32]), "needs 147573952589676412928 bytes"),
    "negative lengths": ("fourier", entry(F, shape=[-6, -4]), "must be an integer from 0"),
    "a truth value as length": ("fourier", entry("parameters.offset", shape=[True]), "an integer .* found True"),
    "a float as length": ("fourier", entry("parameters.offset", shape=[1.0]), "an integer .* found 1.0"),
    "many axes": ("fourier", entry(F, shape=[1] * 50), "at most 4 axes"),
    "an unknown dtype": ("fourier", entry(F, dtype="F16"), "must have a dtype of"),
    "objects": ("fourier", entry(F, dtype="O"), "must have a dtype of"),
    "an entry of a tensor": ("fourier", entry(F, pickle="x"), "unknown entry 'pickle'"),
    "no shape": ("fourier", lambda p: p.entries[F].pop("shape"), "must be a list"),
    "another dtype": ("fourier", another(F, lambda a: a.astype("<f4")), "must be float64, found float32"),
    "integers": ("fourier", another(F, lambda a: a.astype("<i8")), "must be float64, found int64"),
    "another shape": ("fourier", another(F, lambda a: a[:5]), r"must have the shape \(6, 4\), found \(5, 4\)"),
    "another rank": ("fourier", another(F, lambda a: a.ravel()), r"must have the shape \(6, 4\)"),
    "one tensor more": ("fourier", lambda p: p.put("../../etc/passwd", np.zeros(1)), "does not belong to the model"),
    "one tensor less": ("fourier", without("parameters.offset"), "tensor 'parameters.offset' is missing"),
    "NaN": ("fourier", value(F, np.nan), "not finite"),
    "infinity": ("regressor", value("coef_", np.inf), "tensor 'coef_' has an entry that is not finite"),
    "a bucket of D": ("hadamard", value(H, 8), "must have entries from 0 to 7, found 0 to 8"),
    "a negative bucket": ("hadamard", value(H, -1), "must have entries from 0 to 7"),
    "a turn of 4": ("hadamard", value("parameters.turns", 4), "must have entries from 0 to 3"),
    "a sign of 0": ("structured", value("parameters.signs", 0), "entries other than 0"),
    "a sign of 2": ("structured", value("parameters.signs", 2), "from -1 to 1"),
    "a product of fewer factors": ("maclaurin", value("parameters.random.degrees", 40), "need .* factors, found"),
    "a negative degree": ("maclaurin", value("parameters.random.degrees", -1), "must have entries from 0"),
    "another exact degree": ("maclaurin", value("parameters.exact", 2), r"must be \(0, 1\), found \(2, 1\)"),
    "a column beyond": ("nystrom-sparse", value("parameters.landmarks.indices", 12), "from 0 to 11"),
    "rows that end before they begin": ("nystrom-sparse", value("parameters.landmarks.indptr", 3), "not a CSR matrix"),
    "fewer rows of whitening": ("nystrom", another("parameters.whitening", lambda a: a[:-1]), "rows of whitening"),
    "negative weights": ("stack", value("parameters.left.weights", -1.0), "must have entries from 0.0"),
    "labels beyond": ("kmeans", value("labels_", 3), "do not belong together"),
    "fewer coefficients": ("regressor", another("coef_", lambda a: a[:-1]), r"the shape \(16\), found \(15,\)"),
    "fewer classes": ("classifier-frame", another("coef_", lambda a: a[:-1]), r"the shape \(3, 16\), found"),
    "sums of other targets": ("regressor", another("statistics_.cross", lambda a: np.hstack([a, a])), "shape"),
    "scores of other alphas": ("regressor", another("scores_", lambda a: a[:-1]), "do not belong together"),
    "fewer directions": ("pca", another("directions_", lambda a: a[:-1]), "do not belong together"),
    "scores that fall": ("novelty", another("left_out_scores_", lambda a: a[::-1]), "do not belong together"),
    "kept rows of other numbers": ("novelty", another("_kept.keys", lambda a: a[:-1]), "do not belong together"),
    "directions of one view": ("cca", another("y_directions_", lambda a: a[:-1]), "do not belong together"),
    "fewer factors of columns": ("regressor", another("preparation.factor", lambda a: a[:-1]), "must have the shape"),
}  # fmt: skip


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_that_do_not_fit(name, tmp_path):
    model, change, reason = TENSORS[name]
    parts = Parts(saved(model))
    change(parts)
    refused(parts.bytes(), reason, tmp_path)


# -- the description ---------------------------------------------------------------------------------------------------


def at(path, held):
    """A change of the description: the entry at this path."""

    def change(parts):
        *above, last = path.split("/")
        place = parts.held
        for name in above:
            place = place[int(name) if isinstance(place, list) else name]
        if held is None and isinstance(place, dict):
            del place[last]
        else:
            place[int(last) if isinstance(place, list) else last] = held

    return change


DESCRIPTIONS = {
    "a newer format": ("fourier", at("format", 2), "has format 2, and this version reads up to 1"),
    "a format that is a truth value": ("fourier", at("format", True), "format must be an integer"),
    "no format": ("fourier", at("format", None), "format must be an integer"),
    "an unknown entry": ("fourier", at("code", "import os"), "unknown entry 'code'"),
    "unknown parameters": ("fourier", at("parameters", "none"), "parameters must be one of"),
    "a wrong hash": ("fourier", lambda p: (at("sha256", "0" * 64)(p), setattr(p, "rehash", False)), "SHA-256 differs"),
    "an unknown class": ("fourier", at("class", "os.system"), "the class of the model must be"),
    "two classes": ("fourier", at("model/class", "TensorSketch"), "the class of the model must be 'RandomFourier'"),
    "a class that is abstract": (
        "fourier",
        lambda p: (at("class", "FeatureMap")(p), at("model/class", "FeatureMap")(p)),
        "one of the maps of mercer.maps, found the class 'FeatureMap'",
    ),
    "a class of another module": (
        "fourier",
        lambda p: (at("class", "../kernels")(p), at("model/class", "../kernels")(p)),
        "one of the maps of mercer.maps",
    ),
    "another map inside": ("regressor", at("model/map/class", "KernelRegressor"), "one of the maps of mercer.maps"),
    "an unknown argument": ("fourier", at("model/arguments/shell", "ls"), "unknown entry 'shell'"),
    "an unknown kind": ("fourier", at("model/arguments/form", {"eval": "1"}), "unknown kind 'eval'"),
    "a hidden kind": ("fourier", at("model/arguments/form", {"_init__": "1"}), "unknown kind"),
    "two kinds": ("fourier", at("model/arguments/form", {"list": [], "tuple": []}), "must have exactly one kind"),
    "a bare list": ("fourier", at("model/arguments/form", [1]), "a list without a kind"),
    "another form": ("fourier", at("model/arguments/form", "offset"), "must have the shape"),
    "a form that is none": ("fourier", at("model/arguments/form", "evil"), "form must be one of"),
    "a truth value as width": ("fourier", at("model/arguments/n_components", True), "whole number .* found True"),
    "a negative width": ("fourier", at("model/arguments/n_components", -5), "n_components must be a whole number"),
    "another width": ("fourier", at("model/arguments/n_components", 99), "the width of .* must be 99"),
    "a width beyond": ("fourier", at("model/arguments/n_components", 2**31), "must be an integer from 1"),
    "another width twice": (
        "fourier",
        lambda p: (at("model/arguments/n_components", 13)(p), at("model/width", 13)(p)),
        r"must have the shape \(7, 4\), found \(6, 4\)",
    ),
    "other columns": ("fourier", at("model/columns", 5), r"must have the shape \(6, 5\)"),
    "columns as truth": ("fourier", at("model/columns", True), "columns must be an integer"),
    "no columns": ("fourier", at("model/columns", 0), "columns must be an integer from 1"),
    "a seed below 0": ("fourier", at("model/seed", -1), "seed must be an integer"),
    "a seed of 129 bits": ("fourier", at("model/seed", 2**128), "seed must be an integer"),
    "a kernel that is code": (
        "fourier",
        at("model/kernel", "__import__('os').system('ls')"),
        "unknown kernel|expected",
    ),
    "a kernel not resolved": ("fourier", at("model/kernel", "Laplacian(gamma='median')"), "is not a number yet"),
    "a kernel that the map cannot serve": ("fourier", at("model/kernel", "Linear()"), "shift-invariant"),
    "a kernel written otherwise": ("fourier", at("model/kernel", "laplacian(0.5)"), "the kernel of .* must be"),
    "a kernel of huge degree": (
        "hadamard",
        at("model/kernel", "Polynomial(degree=1000000000)"),
        "has degree 1000000000",
    ),
    "a precomputed kernel": ("nystrom", at("model/kernel", "precomputed"), "cannot be part of an expression"),
    "an argument precomputed": ("nystrom", at("model/arguments/kernel", "precomputed"), "must be precomputed"),
    "names too few": ("fourier", at("model/names", ["a"]), "there must be 4 column names"),
    "names that are numbers": ("fourier", at("model/names", [1, 2, 3, 4]), "the name of a column must be text"),
    "an array as argument": (
        "fourier",
        at("model/arguments/form", {"array": "parameters.offset"}),
        "must be the array",
    ),
    "no parts": ("stack", at("model/parts", {}), "has the parts"),
    "a part that is no map": ("stack", at("model/arguments/left", 3), "left of .* must be a map"),
    "a part of a part that is no map": (
        "stack",
        at("model/arguments/left/map/arguments/map", "x"),
        "map of .*left must be a map",
    ),
    "another width of a part": ("stack", at("model/parts/right/asked", 100), "the width of .*right must be 100"),
    "learned degrees": ("tefm", at("model/parts/map/learned/degrees_", [[0, 10**6]]), "are not an allotment"),
    "a learned degree that is sketched at 0": ("tefm", at("model/parts/map/learned/exact_degrees_", []), "allotment"),
    "a degree twice": ("tefm", at("model/parts/map/learned/exact_degrees_", [0, 0]), "are not an allotment"),
    "no degrees": ("tefm", at("model/parts/map/learned/degrees_", []), "are not an allotment"),
    "a learned value of another type": ("tefm", at("model/learned/captured_", "much"), "must be of type float"),
    "a learned value more": ("tefm", at("model/learned/x", 1), "learned of .* must have the entries"),
    "a calibration without fields": ("stack", at("model/parts/left/learned/calibration_", {}), "must have the entries"),
    "classes out of order": ("classifier-frame", at("model/classes/items", ["b", "a", "c"]), "in increasing order"),
    "classes of code": ("classifier-frame", at("model/classes/dtype", "O"), "must be text or numbers"),
    "classes that are too long": (
        "classifier-frame",
        at("model/classes/dtype", "<U9999999"),
        "must be text or numbers",
    ),
    "one class": ("classifier-frame", at("model/classes/items", ["a"]), "at least 2"),
    "no classes": ("classifier-frame", at("model/classes", None), r"the shape \(0, 16\)"),
    "classes of one task": (
        "classifier-frame",
        at("model/classes", [{"dtype": "bool", "items": [False, True]}]),
        "at least 2 tasks",
    ),
    "classes of none": ("classifier-frame", at("model/classes", []), "at least 2 tasks, found 0"),
    "another scale": ("classifier-frame", at("model/preparation/scale", "evil"), "scale of the preparation must be"),
    "no scale": ("classifier-frame", at("model/preparation/scale", None), "must have factors if it scales"),
    "a level less": ("classifier-frame", at("model/preparation/columns/1/1", ["high", "low"]), "but the map expects 7"),
    "a level that is a list": (
        "classifier-frame",
        at("model/preparation/columns/1/1/0", [1]),
        "neither text nor a number",
    ),
    "another time": ("classifier-frame", at("model/preparation/columns/0/1", {"time": "soon"}), "must be one of"),
    "a time and more": ("classifier-frame", at("model/preparation/columns/0/1", {"time": "date", "x": 1}), "unknown"),
    "a time that is a list": ("classifier-frame", at("model/preparation/columns/0/1", {"time": [1]}), "must be one of"),
    "other dates": ("classifier-frame", at("model/preparation/dates", "evil"), "dates of the preparation must be"),
    "a column twice": ("classifier-frame", at("model/preparation/columns/0/0", "width"), "different names"),
    "a second view of one": ("regressor", at("model/view_y", {}), "has no second view"),
    "no second view": ("cca", at("model/view_y", None), "needs a second view"),
    "a map of other columns": ("regressor", at("model/columns", 5), "are prepared as 5, but the map expects 4"),
    "an order in memory of nothing": ("fourier", at("fortran", [1]), "a name in fortran must be text"),
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_descriptions_that_do_not_fit(name, tmp_path):
    model, change, reason = DESCRIPTIONS[name]
    parts = Parts(saved(model))
    change(parts)
    refused(parts.bytes(), reason, tmp_path)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.safetensors")), ids=lambda path: path.stem)
def test_arguments_of_another_type_are_refused(path, tmp_path):
    data = path.read_bytes()
    for name in Parts(data).held["model"]["arguments"]:
        for wrong in ("evil", {"list": []}, -3.5):
            parts = Parts(data)
            at(f"model/arguments/{name}", wrong)(parts)
            refused(parts.bytes(), "must|expected|unknown|found", tmp_path)


def test_arguments_of_maps_inside_are_checked_too(tmp_path):
    data = (GOLDEN / "regressor-nested-1.safetensors").read_bytes()
    inside = Parts(data).held["model"]["arguments"]["map"]["map"]["arguments"]
    for name in inside:
        parts = Parts(data)
        at(f"model/arguments/map/map/arguments/{name}", {"list": []})(parts)
        refused(parts.bytes(), "must|expected|unknown|found", tmp_path)


def test_an_untouched_file_goes_through_the_same_mill(tmp_path):
    for name in {**fitted_maps(), **fitted_learners(), **fitted_pipelines()}:
        (tmp_path / "model").write_bytes(Parts(saved(name)).bytes())
        mercer.load(tmp_path / "model")


def test_a_seed_that_draws_other_integers_is_noticed(tmp_path):
    parts = Parts(saved("hadamard", "seed"))
    parts.held["model"]["seed"] += 1
    refused(parts.bytes(), "does not draw the parameters of the saved model", tmp_path)


def test_trees_and_precomputed_kernels_are_checked_too(tmp_path):
    tree = TreeSketch(Polynomial(5, coef0=0.5), n_components=8, random_state=0).fit(rows())
    mercer.save(tree, tmp_path / "model")
    parts = Parts((tmp_path / "model").read_bytes())
    parts.array("parameters.nodes.3.buckets").flat[0] = 8
    refused(parts.bytes(), "'parameters.nodes.3.buckets' must have entries from 0 to 7", tmp_path)
    parts.held["model"]["arguments"]["factor"] = -3
    refused(parts.bytes(), "factor must be a whole number", tmp_path)
    X = rows(20)
    mercer.save(Nystrom("precomputed", n_components=5).fit(X @ X.T), tmp_path / "model")
    parts = Parts((tmp_path / "model").read_bytes())
    parts.array("parameters.landmarks")[0] = 20
    refused(parts.bytes(), "must have entries from 0 to 19", tmp_path)


def test_describe_refuses_what_load_refuses_of_a_header(tmp_path):
    (tmp_path / "model").write_bytes(b"12345678")
    with pytest.raises(ModelFileError, match="at most"):
        describe(tmp_path / "model")
    with pytest.raises(FileNotFoundError):
        mercer.load(tmp_path / "nothing")


def test_nothing_that_reads_models_can_run_code():
    words = r"\b(pickle|joblib|marshal|shelve|eval|exec|__import__|importlib|import_module|allow_pickle)\b"
    for path in SOURCE.glob("*.py"):
        assert not re.search(words, path.read_text()), path.name


@pytest.mark.full
def test_models_are_read_without_pickle():
    code = "import sys, mercer; mercer.load; sys.modules['pickle'] = None\nmercer.load(sys.argv[1])"
    golden = sorted((Path(__file__).parent.parent / "golden" / "models").glob("*.safetensors"))
    subprocess.run([sys.executable, "-c", code, str(golden[0])], check=True)


def test_messages_stay_short(tmp_path):
    parts = Parts(saved("fourier"))
    parts.held["x" * 10**5] = 1
    path = tmp_path / "model"
    path.write_bytes(parts.bytes())
    with pytest.raises(ModelFileError) as caught:
        mercer.load(path)
    assert len(str(caught.value)) < 400
    assert json.loads(json.dumps(str(caught.value)))
