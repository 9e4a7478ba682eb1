"""What is in a model file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from ..persist import describe, load

HOLDERS = ("Pipeline", "ColumnTransformer")


class Column(NamedTuple):
    """A column that predictions need; ``levels`` is None for numbers, and for the dates and durations of ``time``."""

    name: str
    levels: list[Any] | None
    time: str | None = None


class Contents(NamedTuple):
    """What is in a model file; ``sha256`` is that of the whole file.

    ``target`` and ``weight`` are the columns of the table that it was fitted on, None where they are not known.
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
    """The classes of a pipeline's steps, in their order."""
    prepared: list[str] | None = None
    """What a learner does to columns before the kernel sees them, in sentences; None for maps alone."""


def contents(path: Any) -> Contents:
    """What is in a model file, which is read in full and checked.

    Parameters
    ----------
    path : the name of the file

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
    loaded = load(path)  # what is damaged or made up is an error
    whole = Path(path).read_bytes()
    steps = steps_of(held["model"])
    first, last = steps[0], steps[-1]
    model = next(one for one in steps if "map" in one or "kernel" in one)  # of several, the first
    features = model.get("map", model)  # a learner has a map, a map is one
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


def prepared_by(model: Any) -> list[str] | None:
    """What the first learner of a pipeline, or a learner alone, does to columns."""
    inside = getattr(model, "estimator_", model)
    learners = [step for _, step in getattr(inside, "steps", [("", inside)]) if hasattr(step, "preparation_")]
    return list(learners[0].preparation_.describe()) if learners else None


def _column(name: str, held: Any) -> Column:
    """A column as its record in a model file has it."""
    if not isinstance(held, dict):
        return Column(name, held)
    return Column(name, [*held["levels"], *held["rare"]]) if "rare" in held else Column(name, None, held["time"])


def steps_of(record: Any) -> list[dict[str, Any]]:
    """The records of all steps of a pipeline, flattened; for a model alone, its own record."""
    if not isinstance(record, dict):
        return []
    inside = [one[1] for one in record.get("steps", ()) or record.get("fitted", ())]
    inside += [record["machine"]] if "machine" in record else []  # intervals or sets around a learner
    found = [step for one in inside for step in steps_of(one)]
    return found if record["class"] == "Pipeline" or "machine" in record else [record, *found]


def classes_of(record: dict[str, Any]) -> Any:
    """The classes that a model tells apart, or None."""
    parts = record.get("parts", {})
    held = record.get("classes") or record.get("learned", {}).get("classes_")
    if held is None and "_label_binarizer" in parts:
        return classes_of(parts["_label_binarizer"])
    return held["items"] if isinstance(held, dict) else held
