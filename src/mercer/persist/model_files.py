"""Models as files: ``save``, ``load`` and ``describe``."""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from typing import Any

import numpy
import scipy
import sklearn
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from .. import __version__
from .._atomic import atomic_write
from .._checks import check_choice
from .._memory import as_bytes
from ..learn import ConformalClassifier, ConformalRegressor
from ..learn.argument_types import MemoryArgument
from ..learn.machine import KernelMachine
from ..maps import FeatureMap
from .conformal_records import WRAPPERS, read_conformal, write_conformal
from .json_values import NotStoredError
from .map_records import ArraySink, ArraySource, same_parameters
from .pipeline_records import check_holds_ours, difference, leaves, read_model, write_model
from .safetensors import Header, array_bytes, array_of, header_bytes, in_order, is_fortran, read_header
from .sklearn_estimators import KNOWN
from .validation import ModelFileError, as_dict, as_list, as_text, as_whole, check_names, read_json, refuse

FORMAT = 1
KEY = "mercer"
MODES = ("full", "seed")
ENTRIES = ("format", "class", "parameters", "versions", "sha256", "fortran", "model")


def save(model: BaseEstimator, path: str | os.PathLike[str], parameters: str = "full") -> None:
    """Write a fitted map or learner to a file.

    The file is a safetensors file, with everything except the arrays as JSON in its metadata. It contains no code and
    no time stamp: equal models give equal bytes. It appears as a whole or not at all, see
    :func:`mercer.persist.atomic_write`.

    A file contains everything that the model contains. :class:`~mercer.Nystrom` keeps some of the rows on which it was
    fitted (its landmarks), whatever ``parameters`` is, and learners keep the names and levels of columns. Consider who
    may read the file.

    Parameters
    ----------
    model : FeatureMap, learner, Pipeline or ColumnTransformer
        A fitted map of :mod:`mercer.maps` or learner of :mod:`mercer.learn`, or a pipeline or wrapper around some of
        these. The other steps of a :class:`~sklearn.pipeline.Pipeline` or :class:`~sklearn.compose.ColumnTransformer`
        may be scikit-learn's scalers, encoders, imputers, projections and linear models; the error for any other step
        lists them. Functions (a kernel, a callback) cannot be saved. If the coefficients of a
        :class:`~mercer.kernels.Maclaurin` kernel come from a function, the first 512 of them are saved.
    path : str or path-like
        The name of the file.
    parameters : {"full", "seed"}, default="full"
        "seed" leaves out what ``load`` can draw again from the seed: random frequencies, signs and buckets. What was
        learned from rows (weights, projections, landmarks) is always saved.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(100, 20))
    >>> model = mercer.KernelRegressor(n_components=64, map="RandomFourier", random_state=0).fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "model.safetensors")
    ...     mercer.save(model, name, parameters="seed")
    ...     again = mercer.load(name)
    >>> np.array_equal(again.predict(X), model.predict(X))
    True
    """
    check_choice("parameters", parameters, MODES)
    target = ArraySink(parameters == "seed")
    record = _record(model, target)
    names = in_order(target.arrays)
    sha = hashlib.sha256()
    for name in names:
        sha.update(array_bytes(target.arrays[name]))
    held = {
        "format": FORMAT,
        "class": type(model).__name__,
        "parameters": parameters,
        "versions": versions(),
        "sha256": sha.hexdigest(),
        "fortran": [name for name in names if is_fortran(target.arrays[name])],
        "model": record,
    }
    text = json.dumps(held, separators=(",", ":"), sort_keys=True, allow_nan=False)
    _rehearse(model, read_json(text, "the description of the model"), target)
    header = header_bytes(target.arrays, {KEY: text})
    with atomic_write(path) as file:
        file.write(header)
        for name in names:
            file.write(array_bytes(target.arrays[name]))


def versions() -> dict[str, str]:
    """Return the versions of this package and of the libraries on which its numbers depend."""
    packages = {"numpy": numpy, "scikit-learn": sklearn, "scipy": scipy}
    return {"mercer": __version__} | {name: package.__version__ for name, package in packages.items()}


def _rehearse(model: BaseEstimator, held: dict[str, Any], target: ArraySink) -> None:
    """Raise an error if the reader would refuse the file, or draw other parameters than those of the model."""
    source = ArraySource(target.arrays, target.arrays.__getitem__, target.from_seed)
    try:
        again = _model(held, source)
    except ModelFileError as error:
        hint = "; save with parameters='full'" if target.from_seed else ""
        raise ValueError(f"the model cannot be saved in this form: {error}{hint}") from error
    if source.takes_long(sum(array.size for array in target.arrays.values())):
        told = "the seed draws so much that load will require trusted=True; save with parameters='full' to avoid this"
        warnings.warn(told, UserWarning, stacklevel=3)
    for ours, theirs in zip(leaves(model), leaves(again), strict=True):
        if not isinstance(ours, FeatureMap | KernelMachine):
            lost = difference(ours, theirs)
            if lost is not None:
                raise NotStoredError(f"{type(ours).__name__} has {lost}, which a model file cannot contain")
        elif not all(map(same_parameters, *([one.parameters_ for one in _maps_of(both)] for both in (ours, theirs)))):
            raise ValueError("the seed does not draw the parameters of this model; save with parameters='full'")


def _maps_of(model: BaseEstimator) -> list[FeatureMap]:
    """Return the map that a model is or has, or the maps of its two views."""
    machines = [model, model.view_y_] if hasattr(model, "view_y_") else [model]
    return [model] if isinstance(model, FeatureMap) else [machine.map_ for machine in machines]


def _record(model: BaseEstimator, target: ArraySink) -> dict[str, Any]:
    if isinstance(model, ConformalClassifier | ConformalRegressor):
        return write_conformal(model, target)
    if not isinstance(model, FeatureMap | KernelMachine | Pipeline | ColumnTransformer):
        raise TypeError(
            f"save expects a map or a learner of mercer, or a pipeline around one, found {type(model).__name__}"
        )
    return write_model(model, target)


def load(path: str | os.PathLike[str], *, memory: MemoryArgument = None, trusted: bool = False) -> Any:
    """Read a fitted map or learner from a file that :func:`save` has written.

    No code from the file is run, and everything in it is checked before it is used: a file that is damaged or forged
    raises a :class:`mercer.persist.ModelFileError`. Only the honesty of the sender cannot be checked: an intact model
    may make bad predictions.

    Parameters
    ----------
    path : str or path-like
        The name of the file.
    memory : int, str or None, default=None
        The largest number of bytes, or text like "2GB", for parameters that are drawn from the seed, since a short file
        could ask for any number of them. None means a quarter of the machine's memory.
    trusted : bool, default=False
        Whether drawing from the seed may take any amount of time. By default a file is refused if its seed draws more
        than 268 million numbers, or 262,144 blocks of as many features as there are columns, unless the file contains
        enough coefficients to need them: a few hundred bytes could ask for hours of work.

    Returns
    -------
    FeatureMap, learner, Pipeline or ColumnTransformer
        The model, whose predictions are the same to the bit as those of the saved one.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> map = mercer.RandomFourier("gaussian(0.1)", n_components=8, random_state=0).fit(X)
    >>> path = os.path.join(tempfile.mkdtemp(), "map.mercer")
    >>> mercer.save(map, path)
    >>> bool((mercer.load(path).transform(X) == map.transform(X)).all())
    True
    """
    name, most = os.fspath(path), as_bytes(memory)
    try:
        with open(path, "rb") as file:
            header = read_header(file)
            held = _held(header)
            payload = memoryview(file.read())
        return _model(held, _source(header, held, payload, most, trusted))
    except ModelFileError as error:
        raise ModelFileError(f"{name!r}: {error}") from error.__cause__
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise ModelFileError(f"{name!r}: {error}") from error


def _held(header: Header) -> dict[str, Any]:
    """Return the part of a description that all models have."""
    if KEY not in header.metadata:
        refuse(f"the file has no metadata {KEY!r}, so it is not a model of this package")
    held = read_json(header.metadata[KEY], f"the metadata {KEY!r}")
    if as_whole(held.get("format"), "format", 1) > FORMAT:
        refuse(f"the file has format {held['format']}, and this version reads up to {FORMAT}: use a newer mercer")
    check_names(held, ENTRIES, "the description")
    if held.get("parameters") not in MODES:
        refuse(f"parameters must be one of {MODES}, found {held.get('parameters')!r:.40}")
    return held


def _source(header: Header, held: dict[str, Any], payload: memoryview, memory: int, trusted: bool) -> ArraySource:
    """Return the arrays of a file, after checking that they are those that were saved."""
    expected = as_text(held.get("sha256"), "sha256")
    if hashlib.sha256(payload).hexdigest() != expected:
        refuse("the arrays have changed since they were saved: their SHA-256 differs")
    fortran = {as_text(name, "a name in fortran") for name in as_list(held.get("fortran"), "fortran")}

    def fetch(name: str) -> Any:
        array = array_of(payload, header.tensors[name])
        return numpy.asfortranarray(array) if name in fortran else array

    entries = None if trusted else sum(math.prod(tensor.shape) for tensor in header.tensors.values())
    return ArraySource(header.tensors, fetch, held["parameters"] == "seed", memory, entries)


def _model(held: dict[str, Any], source: ArraySource) -> Any:
    record = as_dict(held.get("model"), "the model")
    name = as_text(held.get("class"), "the class of the model")
    if record.get("class") != name:
        refuse(f"the class of the model must be {name!r:.60}, found {record.get('class')!r:.60}")
    if name in KNOWN:
        refuse(f"the model must be a map, a learner or a pipeline, found a {name}")
    model = read_conformal(record, source) if name in WRAPPERS else read_model(record, source)
    check_holds_ours(model)
    source.check_all_used()
    return model


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the description of a model that its file contains, without reading the arrays.

    Parameters
    ----------
    path : str or path-like
        The name of the file.

    Returns
    -------
    dict
        The entries ``format``, ``class``, ``parameters`` ("full" or "seed"), ``versions``, ``sha256`` (of the arrays),
        ``model`` (arguments, kernel, preparation, names, classes, seed) and ``tensors`` (type and shape of every
        array).

    Examples
    --------
    >>> import os, tempfile
    >>> import mercer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "map.safetensors")
    ...     mercer.save(mercer.TensorSketch(n_components=8, random_state=0).fit([[1.0, 2.0]]), name)
    ...     found = mercer.persist.describe(name)
    >>> found["class"], found["model"]["seed"], found["tensors"]["parameters.signs"]
    ('TensorSketch', 0, ('I8', (2, 3)))
    """
    try:
        with open(path, "rb") as file:
            header = read_header(file)
        held = _held(header)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r}: {error}") from error.__cause__
    return held | {"tensors": {name: (tensor.dtype, tensor.shape) for name, tensor in header.tensors.items()}}
