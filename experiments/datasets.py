"""The real sets of the papers, as experiments and benchmarks use them, and small made-up ones.

Files are looked for in the folder that the environment variable ``MERCER_DATA`` names, and their checksums verified.
Without the folder, sets that scikit-learn can fetch are fetched, where there is a network.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_covtype, fetch_openml

CLASSES = ("spambase", "cod_rna", "ijcnn1", "adult", "covertype")
NUMBERS = ("cpu", "blog_feedback")
MOST_TRAIN, MOST_TEST = 100_000, 10_000
TINY = 300

Matrix = NDArray[Any]


class Published(NamedTuple):
    """What is known about a data set: the checksum of its archive, its shape, and where it comes from."""

    checksum: str
    shape: tuple[int, int]
    origin: str


SETS = {
    "adult": Published(
        "9f048dff1e37a15d23dbf7a8440eeee37646dd7ec1d0a1c6c692da6889c55ae0",
        (48_842, 123),
        "LIBSVM data collection, a9a and a9a.t, one below the other; n_train = 32561",
    ),
    "mnist": Published(
        "7572caf697d228450c4a739803e0badf58584a99b6a540a54814f4457e379a72",
        (70_000, 784),
        "the four files of LeCun, Cortes and Burges, training rows first; n_train = 60000",
    ),
    "covertype": Published(
        "a4327e85876f9cd5f483826ff62dbf002fe97cd543ef3afc0bfe35986f2fce3b", (581_012, 54), "UCI, Covertype"
    ),
    "nursery": Published(
        "a745ec37bd3e1e142f80b099d03937ac17941ad15c6f01019c0a8644ae0ff4df",
        (12_960, 8),
        "UCI, Nursery, categories as their numbers in the order of the description",
    ),
    "spambase": Published(
        "3a2fccb3ecee2381b83e16460f6cf510b702be2eb2572a2eb9cf94d2d57ab541", (4_601, 57), "UCI, Spambase"
    ),
    "cod_rna": Published(
        "64d929c6c6fd53a987139341d4bf04c8b651dd863e0fecb460d8cd8ed2ad8d67",
        (59_535, 8),
        "LIBSVM data collection, cod-rna (the training file)",
    ),
    "ijcnn1": Published(
        "b9cb63c5187864ae8caf15a49dd655b00c11f5422cccb1bf206801fb3dec16d0",
        (141_691, 22),
        "LIBSVM data collection, ijcnn1 (training and validation, then test); n_train = 49990",
    ),
    "cpu": Published(
        "128b9c9bc92f4f00d312045a22c1590a15503796c05fa92079836584461b8dd3", (8_192, 21), "DELVE, comp-activ"
    ),
    "blog_feedback": Published(
        "f24b996dd1ea7ef9347ce9a6a8f6ab29d043d023a3c60339f43b2056bcfab30d",
        (60_021, 280),
        "UCI, BlogFeedback, the training file, then the test files by date; n_train = 52397",
    ),
    "uji_indoor_loc": Published(
        "ddb5c102b121da0c06f59ebae10d0abcfd43009cf0dc2260b2e072ca4e8e1b7d",
        (21_048, 520),
        "UCI, UJIIndoorLoc, training, then validation rows, y the longitude; n_train = 19937",
    ),
}
"""Archives NAME.npz with X, y and, if the release is divided into parts, n_train."""

FETCHED: dict[str, tuple[Callable[[], Any], int | None]] = {
    "covertype": (lambda: fetch_covtype(), None),
    "mnist": (lambda: fetch_openml("mnist_784", version=1, as_frame=False), 60_000),
    "adult": (lambda: fetch_openml(data_id=1430, as_frame=False), 32_561),
    "spambase": (lambda: fetch_openml(data_id=44, as_frame=False), None),
}
"""The data sets that scikit-learn can download, with the number of training rows, which come first."""


class Split(NamedTuple):
    """Training rows and test rows."""

    X: Matrix
    y: Matrix
    X_test: Matrix
    y_test: Matrix


class DataError(RuntimeError):
    """Raised if a data set is missing or differs from the published one."""


# -- finding -----------------------------------------------------------------------------------------------------------


def folder() -> Path:
    named = os.environ.get("MERCER_DATA")
    if not named:
        raise DataError("set the environment variable MERCER_DATA to the folder with the sets")
    if not Path(named).is_dir():
        raise DataError(f"MERCER_DATA names {named}, which is no folder")
    return Path(named)


@cache
def _verified(path: Path, checksum: str) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != checksum:
        raise DataError(f"{path} has the SHA-256 {found}, expected {checksum}: not the file of the figures")


def archive(name: str) -> Any:
    """Return X, y and, if there are parts, n_train of a data set, by name."""
    published = SETS[name]
    if not os.environ.get("MERCER_DATA") and name in FETCHED:
        return _fetched(name)
    try:
        path = folder() / f"{name}.npz"
        if not path.exists():
            raise DataError(f"{path} is missing")
    except DataError as error:
        rows, columns = published.shape
        raise DataError(
            f"{error}. {name}.npz is an archive of numpy.savez with X ({rows} x {columns}) and y, "
            f"as published, in the published order: {published.origin}"
        ) from None
    _verified(path, published.checksum)
    return np.load(path)


def _fetched(name: str) -> dict[str, Any]:
    """Download with scikit-learn; the content is that of the archive, but its order and types may differ."""
    fetch, n_train = FETCHED[name]
    try:
        found = fetch()
    except OSError as error:
        raise DataError(
            f"MERCER_DATA is not set, and scikit-learn could not fetch {name} ({error}). Set it to a folder that "
            f"holds {name}.npz: {SETS[name].origin}"
        ) from error
    X, labels = found.data, found.target
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    if X.shape != SETS[name].shape:
        raise DataError(f"{name} as fetched has the shape {X.shape}, expected {SETS[name].shape}")
    y = np.asarray(labels).astype(np.float64).astype(np.int64)
    return {"X": X, "y": y} | ({} if n_train is None else {"n_train": n_train})


# -- sets that have no archive: the published files --------------------------------------------------------------------


def gisette() -> Split:
    """Gisette of UCI: 6,000 rows to learn from and 1,000 of validation, 5,000 columns, labels 1 and -1.

    The files ``gisette_train.data``, ``gisette_train.labels``, ``gisette_valid.data`` and ``gisette_valid.labels`` lie
    in the folder ``gisette``; a row is a line of numbers with spaces between them.
    """
    place = folder() / "gisette"
    parts = []
    for part in ("train", "valid"):
        for kind in ("data", "labels"):
            parts.append(np.loadtxt(_present(place / f"gisette_{part}.{kind}"), dtype=np.float32, ndmin=2))
    X, y, X_test, y_test = parts[0], parts[1].ravel(), parts[2], parts[3].ravel()
    for rows, labels, part in ((X, y, "train"), (X_test, y_test, "valid")):
        if len(rows) != len(labels) or set(np.unique(labels)) - {-1.0, 1.0}:
            raise DataError(f"gisette_{part}: {len(rows)} rows and {len(labels)} labels, which are to be 1 or -1")
    return Split(X, y.astype(np.int8), X_test, y_test.astype(np.int8))


def slice_localization() -> dict[str, Matrix]:
    """SliceLocalization of UCI, ``slice_localization_data.csv``: 53,500 rows of 384 columns from 97 patients.

    The header is patientId, value0 to value383, reference; ``patient`` comes with X and y, so that parts can be made of
    whole patients.
    """
    path = _present(folder() / "slice_localization_data.csv")
    with path.open() as file:
        head = file.readline().strip().split(",")
    if head[0] != "patientId" or head[-1] != "reference" or len(head) < 3:
        raise DataError(
            f"{path}: the header is to be patientId, value0, ..., reference, found {head[0]}, ..., {head[-1]}"
        )
    table = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    return {"X": table[:, 1:-1].astype(np.float32), "y": table[:, -1], "patient": table[:, 0].astype(np.int64)}


MISSING = {
    "gisette": "https://archive.ics.uci.edu/dataset/170/gisette",
    "slice_localization_data.csv": "https://archive.ics.uci.edu/dataset/206/relative+location+of+ct+slices+on+axial+axis",
}


def _present(path: Path) -> Path:
    if not path.exists():
        where = MISSING.get(path.name) or MISSING[path.parent.name]
        raise DataError(f"{path} is missing; it is published at {where}")
    return path


# -- as they are learned -----------------------------------------------------------------------------------------------


def digits() -> Split:
    """Return MNIST with entries from 0 to 1: 60,000 training and 10,000 test rows."""
    file = archive("mnist")
    X, y, n = file["X"].astype(np.float32) / np.float32(255), file["y"], int(file["n_train"])
    return Split(X[:n], y[:n], X[n:], y[n:])


def real_set(name: str, most_train: int = MOST_TRAIN, most_test: int = MOST_TEST) -> Split:
    """A set, shuffled, in its published parts where it has some, else four fifths and one; targets as they are fitted.

    Covertype is class 2 against the rest; the targets of BlogFeedback are log(1 + y).
    """
    file = archive(name)
    X, y = np.ascontiguousarray(file["X"], dtype=np.float32), file["y"]
    rng = np.random.default_rng(0)
    if "n_train" in file:
        n = int(file["n_train"])
        train, test = rng.permutation(n), n + rng.permutation(len(X) - n)
    else:
        order = rng.permutation(len(X))
        train, test = order[: 4 * len(X) // 5], order[4 * len(X) // 5 :]
    if name == "covertype":
        y = (y == 2).astype(np.int8)
    if name == "blog_feedback":
        y = np.log1p(y.astype(np.float64))
    train, test = train[:most_train], test[:most_test]
    return Split(X[train], y[train], X[test], y[test])


def made_up(n_classes: int | None) -> Split:
    """Generate a few rows with classes or with numbers as targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * TINY, 4)).astype(np.float32)
    value = np.sin(X[:, 0]) + X[:, 1] ** 2
    y = value if n_classes is None else np.digitize(value, np.quantile(value, np.linspace(0, 1, n_classes + 1)[1:-1]))
    return Split(X[:TINY], y[:TINY], X[TINY:], y[TINY:])


def standardised(split: Split) -> Split:
    """Scale columns to mean 0 and variance 1 in the training rows."""
    mean, deviation = split.X.mean(axis=0, dtype=np.float64), split.X.std(axis=0, dtype=np.float64)
    return _scaled(split, mean, deviation)


def from_zero_to_one(split: Split) -> Split:
    """Scale columns to values between 0 and 1 in the training rows."""
    least, most = split.X.min(axis=0).astype(np.float64), split.X.max(axis=0).astype(np.float64)
    return _scaled(split, least, most - least)


def unit_rows(split: Split) -> Split:
    """Scale rows to length 1; a row of zeros remains unchanged."""

    def shortened(X: Matrix) -> Matrix:
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        return (X / np.where(norms == 0.0, 1.0, norms)).astype(np.float32)

    return split._replace(X=shortened(split.X), X_test=shortened(split.X_test))


def _scaled(split: Split, centre: Matrix, unit: Matrix) -> Split:
    unit = np.where(unit == 0.0, 1.0, unit)
    scaled = (((X - centre) / unit).astype(np.float32) for X in (split.X, split.X_test))
    return split._replace(X=next(scaled), X_test=next(scaled))
