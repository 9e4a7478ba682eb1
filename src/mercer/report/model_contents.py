"""The contents of a model file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from ..persist import describe, load

HOLDERS = ("Pipeline", "ColumnTransformer")


class Column(NamedTuple):
    """A column that predictions need.

    Attributes
    ----------
    name : str
        The name of the column.
    levels : list or None
        The levels of a column of text or truth values; None for numbers, dates and durations.
    time : str or None
        "date" or "duration" for columns of this kind, otherwise None.
    """

    name: str
    levels: list[Any] | None
    time: str | None = None


class Contents(NamedTuple):
    """The contents of a model file.

    Attributes
    ----------
    name : str
        The name of the file.
    bytes : int
        The size of the file.
    sha256 : str
        The SHA-256 digest of the whole file.
    kind : str
        The class of the model.
    map : str
        The class of the map.
    kernel : str
        The kernel.
    features : int
        The number of features.
    seed : int
        The seed of the map.
    scale : str or None
        How columns are scaled before the kernel sees them.
    classes : list or None
        The classes of a classifier.
    target : str, int, list of str or None
        The target in the table on which the model was trained; None if it is not known.
    weight : str, int or None
        The column of weights in that table; None if it is not known.
    columns : int
        The number of columns that predictions need.
    named : list of Column or None
        These columns, if they have names.
    parameters : str
        The arguments of the model.
    arrays : dict of str to tuple
        The type and shape of every array in the file.
    versions : dict of str to str
        The versions of the libraries with which the file was written.
    steps : list of str or None
        The classes of the steps of a pipeline, in order.
    prepared : list of str or None
        What a learner does to columns before the kernel sees them, in sentences; None for maps.
    """

    name: str
    bytes: int
    sha256: str
    kind: str
    map: str
    kernel: str
    features: int
    seed: int
    scale: str | None
    classes: list[Any] | None
    target: str | int | list[str] | None
    weight: str | int | None
    columns: int
    named: list[Column] | None
    parameters: str
    arrays: dict[str, tuple[str, tuple[int, ...]]]
    versions: dict[str, str]
    steps: list[str] | None = None
    prepared: list[str] | None = None


def contents(path: Any) -> Contents:
    """Return the contents of a model file, which is read in full and checked.

    Parameters
    ----------
    path : str or path-like
        The name of the file.

    Returns
    -------
    Contents
        The kind of model, its columns, arguments and arrays.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import mercer
    >>> model = mercer.RandomFourier(n_components=8, random_state=0).fit(np.eye(3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mercer.save(model, os.path.join(folder, "map.mercer"))
    ...     found = mercer.report.contents(os.path.join(folder, "map.mercer"))
    >>> found.kind, found.features, found.columns, found.named
    ('RandomFourier', 8, 3, None)
    """
    held = describe(path)
    loaded = load(path)  # raises an error if the file is damaged or inconsistent
    whole = Path(path).read_bytes()
    steps = steps_of(held["model"])
    first, last = steps[0], steps[-1]
    model = next(one for one in steps if "map" in one or "kernel" in one)  # the first of several
    features = model.get("map", model)  # a learner has a map; otherwise the model itself is one
    prepared = model.get("preparation", {})
    names = first.get("names")
    held_by = {name: None for name in names or ()} | dict(first.get("preparation", {}).get("columns") or ())
    return Contents(
        name=str(path),
        bytes=len(whole),
        sha256=hashlib.sha256(whole).hexdigest(),
        kind=held["class"],
        map=features["class"],
        kernel=str(features["kernel"]),
        features=features["width"],
        seed=features["seed"],
        scale=prepared.get("scale"),
        classes=classes_of(last),
        target=last.get("apart", {}).get("target"),
        weight=last.get("apart", {}).get("weight"),
        columns=first["columns"],
        named=[_column(name, held_by[name]) for name in held_by] or None,
        parameters=held["parameters"],
        arrays=held["tensors"],
        versions=held["versions"],
        steps=[one["class"] for one in steps] if held["class"] in HOLDERS else None,
        prepared=prepared_by(loaded),
    )


def prepared_by(model: BaseEstimator) -> list[str] | None:
    """Return what a learner, or the first learner of a pipeline, does to columns."""
    inside = getattr(model, "estimator_", model)
    learners = [step for _, step in getattr(inside, "steps", [("", inside)]) if hasattr(step, "preparation_")]
    return list(learners[0].preparation_.describe()) if learners else None


def _column(name: str, held: Any) -> Column:
    """Return a column from its record in a model file."""
    if not isinstance(held, dict):
        return Column(name, held)
    return Column(name, [*held["levels"], *held["rare"]]) if "rare" in held else Column(name, None, held["time"])


def steps_of(record: Any) -> list[dict[str, Any]]:
    """Return the records of all steps of a pipeline, flattened, or the record of a single model."""
    if not isinstance(record, dict):
        return []
    inside = [one[1] for one in record.get("steps", ()) or record.get("fitted", ())]
    inside += [record["machine"]] if "machine" in record else []  # a conformal predictor contains a learner
    found = [step for one in inside for step in steps_of(one)]
    return found if record["class"] == "Pipeline" or "machine" in record else [record, *found]


def classes_of(record: dict[str, Any]) -> Any:
    """Return the classes of a classifier, or None."""
    parts = record.get("parts", {})
    held = record.get("classes") or record.get("learned", {}).get("classes_")
    if held is None and "_label_binarizer" in parts:
        return classes_of(parts["_label_binarizer"])
    return held["items"] if isinstance(held, dict) else held
