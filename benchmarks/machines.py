"""Machines compared with exact support vector machines: time to fit, time to predict, and accuracy.

``python benchmarks/machines.py mnist|covertype|all-of-covertype|digits|landmarks|rows|width [--repeats 3] [--tiny]
[--only TEXT]`` reads the sets from the folder that ``MERCER_DATA`` names. "digits" distorts the digits that come with
scikit-learn. "landmarks" compares several rules for landmarks on MNIST, with the time of the rule and of the whole fit.
Contestants take turns, each fit in a process of its own on one thread; times are processor seconds, and the table has
their medians. scikit-learn-intelex takes part where it is
installed (the extra ``bench``).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

SVC, INTELEX = "SVC, scikit-learn", "SVC, scikit-learn-intelex"
OPEN = "Mercer, nothing set"
ROWS = [10_000, 30_000, 100_000, 300_000, 1_000_000]
WIDTHS = [1024, 2048, 4096, 8192, 16384]
RULES = ["uniform", "kmeans", "rpcholesky"]


def mnist(tiny: bool) -> tuple[Any, ...]:
    """MNIST with entries from 0 to 1."""
    if tiny:
        return made_up(400, 16, 3)
    held = np.load(Path(os.environ["MERCER_DATA"]) / "mnist.npz")
    X, y = np.ascontiguousarray(held["X"], dtype=np.float32) / 255, held["y"]
    return X[:60_000], y[:60_000], X[60_000:], y[60_000:]


def covertype(tiny: bool, n: int = 100_000) -> tuple[Any, ...]:
    """Covertype, class 2 against the rest, with columns of mean 0 and variance 1."""
    if tiny:
        return made_up(400, 16, 2)
    held = np.load(Path(os.environ["MERCER_DATA"]) / "covertype.npz")
    order = np.random.default_rng(0).permutation(len(held["y"]))
    train, test = order[:n], order[-116_203:]
    X, y = held["X"].astype(np.float32), (held["y"] == 2).astype(int)
    spread = X[train].std(axis=0)
    X = (X - X[train].mean(axis=0)) / np.where(spread > 0, spread, 1)
    test = test[:20_000]
    return X[train], y[train], X[test], y[test]


def all_of_covertype(tiny: bool) -> tuple[Any, ...]:
    """Return Covertype with all rows that are not held out."""
    return covertype(tiny, 464_809)


def digits(tiny: bool) -> tuple[Any, ...]:
    """scikit-learn's digits in 16 x 16 pixels, shifted, turned, stretched and noisy, 30,000 for training.

    These are made from 1,300 of the 1,797 images, and 10,000 for tests from the others.
    """
    if tiny:
        return made_up(400, 16, 3)
    from scipy.ndimage import affine_transform
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(labels))
    sets: list[Any] = []
    for some, count in ((order[:1_300], 30_000), (order[1_300:], 10_000)):
        chosen = rng.choice(some, count)
        X = np.empty((count, 256), dtype=np.float32)
        for row, number in enumerate(chosen):
            angle, size, shear = rng.normal(0.0, 0.15), rng.normal(0.5, 0.05, 2), rng.normal(0.0, 0.1)
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            matrix = turn @ np.array([[size[0], shear], [0.0, size[1]]])
            offset = np.full(2, 3.5) - matrix @ (np.full(2, 7.5) + rng.normal(0.0, 1.0, 2))
            distorted = affine_transform(images[number].reshape(8, 8) / 16.0, matrix, offset, (16, 16), order=1)
            X[row] = distorted.ravel() + rng.normal(0.0, 0.1, 256)
        sets += [X, labels[chosen]]
    return tuple(sets)


def made_up(n: int, d: int, classes: int, seed: int = 0) -> tuple[Any, ...]:
    """Rows of ``d`` columns whose class depends on some of them in a curved way."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 2_000, d)).astype(np.float32)
    score = np.sin(X[:, 0] * 1.5) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X))
    y = np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)
    return X[:n], y[:n], X[n:], y[n:]


SETS: dict[str, Any] = {
    "mnist": {"gamma": 0.02, "C": 10.0, "widths": [2048, 4096, 6144, 8192]},
    "digits": {"gamma": 0.03, "C": 10.0, "widths": [2048, 4096]},
    "all-of-covertype": {"gamma": 0.1, "C": 10.0, "widths": [8192, 12288]},
    "covertype": {"gamma": 0.1, "C": 10.0, "widths": [2048, 4096, 6144, 8192]},
}


def machine(name: str, gamma: float, C: float) -> Any:
    """A machine by the name of its row in the table."""
    if name in (SVC, INTELEX):
        if name == INTELEX:
            from sklearnex import patch_sklearn

            patch_sklearn(verbose=False)
        from sklearn import svm

        return svm.SVC(gamma=gamma, C=C, cache_size=2000)
    from mercer.kernels import Gaussian
    from mercer.learn import KernelClassifier

    if name == OPEN:
        return KernelClassifier(random_state=0, n_jobs=1)
    arguments = {"C": C, "random_state": 0, "n_jobs": 1, "tol": 1e-3}
    if name == "Mercer, exact":
        return KernelClassifier(
            Gaussian(gamma),
            map="exact",
            **({"C": 1.0, "preparation": None} | arguments),
        )
    width = int(name.split()[-1])
    if (rule := name.split()[1]) in RULES:
        from mercer import Nystrom

        map = Nystrom(Gaussian(gamma), n_components=width, landmarks=rule, random_state=0, n_jobs=1)
        return KernelClassifier(map=map, C=C, n_jobs=1, tol=1e-3, memory="16GB", kernel=None, preparation=None)
    return KernelClassifier(
        Gaussian(gamma),
        map="nystrom",
        n_components=width,
        memory="16GB",
        **({"C": 1.0, "preparation": None} | arguments),
    )


def measured(name: str, data: tuple[Any, ...], gamma: float, C: float) -> dict[str, float]:
    """The processor seconds of one fit and its predictions, and how many of these are right."""
    X, y, test, truth = data
    model, pilots = machine(name, gamma, C), seconds_of_pilots()
    started = time.process_time()
    model.fit(X, y)
    fitted = time.process_time()
    right = float((model.predict(test) == truth).mean())
    found = {"fit": fitted - started, "predict": time.process_time() - fitted, "accuracy": right}
    if name.split()[1] in RULES:
        before = time.process_time()
        model.map.set_params(whiten=False).fit(X)
        found["choice"] = time.process_time() - before
    elif pilots:
        found["choice"] = sum(pilots)
    return found


def seconds_of_pilots() -> list[float]:
    """A list that grows by the processor seconds of every machine whose loss tells where landmarks are needed.

    Its kernel values, at a quarter of the landmarks, do not count: the fit needs them in any case.
    """
    from mercer.learn.fitting.landmark_fit import LandmarkFit

    seconds: list[float] = []
    piloted = LandmarkFit.piloted

    def timed(*given: Any) -> Any:
        started = time.process_time()
        found = piloted(*given)
        seconds.append(time.process_time() - started)
        return found

    LandmarkFit.piloted = timed  # type: ignore[method-assign]
    return seconds


def in_a_process(arguments: list[str]) -> dict[str, float]:
    """Return what this script prints when it is called with these arguments, on one thread."""
    single = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, env=os.environ | single, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(*arguments, found, file=sys.stderr)
    return found


def table(cells: dict[str, list[dict[str, float]]], first: str) -> None:
    """Print medians."""
    chosen = any("choice" in run for runs in cells.values() for run in runs)
    print(f"|{first}|fit, s|range|predict, s|error %|" + ("choice of landmarks alone, s|" if chosen else ""))
    print("|---|---:|---:|---:|---:|" + ("---:|" if chosen else ""))
    for name, runs in cells.items():
        fits = sorted(run["fit"] for run in runs)
        predicted = statistics.median(run["predict"] for run in runs)
        error = 100 - 100 * statistics.median(run["accuracy"] for run in runs)
        line = f"|{name}|{statistics.median(fits):.1f}|{fits[0]:.1f} to {fits[-1]:.1f}|{predicted:.2f}|{error:.2f}|"
        own = [run["choice"] for run in runs if "choice" in run]
        print(line + (f"{statistics.median(own):.1f}|" if own else "|" if chosen else ""))


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=[*SETS, "landmarks", "rows", "width"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tiny", action="store_true", help="a few made-up rows")
    parser.add_argument("--only", default="", help="contestants whose names contain this")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, default=100_000, help=argparse.SUPPRESS)
    asked = parser.parse_args(given)
    if asked.figure in SETS:
        settings = SETS[asked.figure]
        sets = {"mnist": mnist, "covertype": covertype, "all-of-covertype": all_of_covertype, "digits": digits}
        data = sets[asked.figure]
        widths = [64] if asked.tiny else settings["widths"]
        names = [f"Mercer, landmarks {width}" for width in widths]
        # On Covertype half of the rows are within the margin, and their kernel matrix does not fit in memory.
        exact = {"mnist": ["Mercer, exact", INTELEX, SVC], "covertype": [INTELEX, SVC]}
        names += (exact | {"digits": [OPEN, "Mercer, exact", INTELEX, SVC]}).get(asked.figure, [])
    elif asked.figure == "landmarks":
        settings, data, width = SETS["mnist"], mnist, 64 if asked.tiny else 2048
        names = [f"Mercer, landmarks {width}", *(f"Mercer, {rule} landmarks {width}" for rule in RULES)]
    else:
        settings, data = {"gamma": 1 / 18, "C": 1.0}, lambda tiny: made_up(400 if tiny else asked.rows, 18, 2)
        names = [f"Mercer, landmarks {width}" for width in ([64] if asked.tiny else WIDTHS)]
    if asked.one:
        print(json.dumps(measured(asked.one, data(asked.tiny), settings["gamma"], settings["C"])))
        return
    names = [name for name in names if asked.only in name]
    if INTELEX in names and importlib.util.find_spec("sklearnex") is None:
        names.remove(INTELEX)
    tiny = ["--tiny"] if asked.tiny else []
    cells: dict[str, list[dict[str, float]]] = {}
    if asked.figure == "rows":
        for n in [400] if asked.tiny else ROWS:
            one = "Mercer, landmarks 64" if asked.tiny else "Mercer, landmarks 4096"
            cells[f"{n} rows"] = [in_a_process(["rows", "--one", one, "--rows", str(n), *tiny])]
    else:
        for _ in range(asked.repeats):
            for name in names:
                cells.setdefault(name, []).append(in_a_process([asked.figure, "--one", name, *tiny]))
    table(cells, "machine" if asked.figure != "rows" else "4096 landmarks, 18 columns")


if __name__ == "__main__":
    main()
