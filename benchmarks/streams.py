"""Rows that do not fit in memory, text in the format of LIBSVM, and model files, with one subcommand per figure.

``python benchmarks/streams.py parquet|libsvm|models --csv streams.csv [--only PARTS]``. Every cell is measured in a
process of its own on two threads and appended to the CSV when it is done, as in ``learners.py``. Files are made by
cells of their own in a folder ``mercer-streams`` of the temporary one (``TMPDIR``), up to 1.3 GB each, and are not
removed. ``--tiny`` runs all of it on a few rows.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from machine import seconds_of
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import r2_score
from threadpoolctl import threadpool_limits

import mercer
from mercer.data.block import concatenated
from mercer.learn import KernelClassifier, KernelRegressor

sys.path.append(str(Path(__file__).parents[1] / "experiments"))  # cells and datasets are shared with these

from cells import THREADS, Cell, Figure, Found, Numbers, markdown, median, timed
from figures import command

FOLDER = Path(tempfile.gettempdir(), "mercer-streams")
COLUMNS, WIDTH = 28, 2048
WRITTEN = 1 << 16
"""Rows that are made at once."""


def peak() -> float:
    """Return the peak memory of this process in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


# -- Parquet -----------------------------------------------------------------------------------------------------------


def parquet_path(n: int) -> Path:
    return FOLDER / f"rows-{n}.parquet"


def rows_of(n: int, seed: int) -> Iterator[dict[str, Any]]:
    """Return columns of float32 and a target that is a nonlinear function of them."""
    for first in range(0, n, WRITTEN):
        rng = np.random.default_rng((seed, first))
        X = rng.standard_normal(size=(min(WRITTEN, n - first), COLUMNS), dtype=np.float32)
        y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(size=len(X), dtype=np.float32)
        yield {f"x{j}": X[:, j] for j in range(COLUMNS)} | {"y": y, "label": y > 0}


def written(n: int, seed: int, _: Found) -> Numbers:
    FOLDER.mkdir(exist_ok=True)
    numbers = timed(lambda: mercer.data.write(parquet_path(n), rows_of(n, seed)))
    return numbers | {"megabytes": parquet_path(n).stat().st_size / 1e6}


def table_of(n: int, target: str) -> Any:
    return mercer.data.open(parquet_path(n), target=target, columns=[f"x{j}" for j in range(COLUMNS)])


def regressed(n: int, width: int, seed: int, _: Found) -> Numbers:
    model = KernelRegressor(n_components=width, random_state=seed, kernel=None, alpha=1.0, preparation=None)
    numbers = timed(lambda: model.fit(table_of(n, "y"))) | {"peak": peak()}
    predicted = next(model.predict_blocks(table_of(n, "y")))
    return numbers | {"R2": r2_score(next(table_of(n, "y").blocks()).y, predicted)}


def read(n: int, seed: int, _: Found) -> Numbers:
    return timed(lambda: sum(len(block.X) for block in table_of(n, "y").blocks())) | {"peak": peak()}


def products(width: int, seed: int, _: Found) -> Numbers:
    """Measure second moments of chunks in memory, with as many threads: a lower limit for any fit."""
    chunks = [np.random.default_rng(seed).standard_normal((4096, width), dtype=np.float32) for _ in range(THREADS)]
    repeats = 4

    def work(Z: Any) -> None:
        for _ in range(repeats):
            Z.T @ Z

    def both() -> None:
        threads = [threading.Thread(target=work, args=(Z,)) for Z in chunks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with threadpool_limits(1):
        both()
        seconds = min(seconds_of(both) for _ in range(3))
    return {"rate": THREADS * repeats * 4096 * width * (width + 1) / seconds / 1e9}


def classified(n: int, width: int, seed: int, _: Found) -> Numbers:
    """The first steps of the solver, and the time of every kind of pass, each of which computes the features again."""
    ends: dict[tuple[int, str], float] = {}
    model = KernelClassifier(
        n_components=width,
        random_state=seed,
        max_iter=1,
        memory="1MB",
        callback=lambda told: ends.update({(told.number, told.what): time.perf_counter()}),
        kernel=None,
        C=1.0,
        preparation=None,
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numbers = timed(lambda: model.fit(table_of(n, "label"))) | {"peak": peak()}
    for (_, what), end in ends.items():
        numbers[f"passes, {what}"] = numbers.get(f"passes, {what}", 0.0) + 1.0
        numbers[f"seconds, {what}"] = numbers.get(f"seconds, {what}", 0.0) + end - start
        start = end
    return numbers


def parquet(tiny: bool) -> Figure:
    counts, width = ((300, 600), 16) if tiny else ((1_000_000, 10_000_000), WIDTH)
    cells = [Cell(f"file, {n} rows", partial(written, n)) for n in counts]
    cells += [Cell("machine", partial(products, width)), Cell(f"read, {counts[0]} rows", partial(read, counts[0]))]
    cells += [Cell(f"KernelRegressor, {n} rows", partial(regressed, n, width)) for n in counts]
    cells += [Cell(f"KernelClassifier, {counts[0]} rows", partial(classified, counts[0], width))]
    return Figure("parquet", tuple(cells), partial(parquet_table, width))


def parquet_table(width: int, found: Found) -> str:
    lines, passes = [], []
    rate = median(found, "machine", "rate")
    for name, _ in found:
        seconds, spent, most = (median(found, name, key) for key in ("seconds", "processor", "peak"))
        if name.startswith("KernelRegressor"):
            reached = int(name.split()[1]) * width * (width + 1) / seconds / 1e9
            score = f"{median(found, name, 'R2'):.3f}"
            lines.append((name, f"{seconds:.1f}", f"{spent:.1f}", f"{most:.0f}", f"{reached:.0f} of {rate:.0f}", score))
        elif name.startswith(("file", "read", "KernelClassifier")):
            lines.append((name, f"{seconds:.1f}", f"{spent:.1f}", "" if name[0] == "f" else f"{most:.0f}", "", ""))
        for what in [key.partition(", ")[2] for key in found[name, 0] if key.startswith("seconds, ")]:
            count, took = (median(found, name, f"{key}, {what}") for key in ("passes", "seconds"))
            passes.append((what, f"{count:.0f}", f"{took / count:.2f}"))
    head = ("", "s", "processor, s", "peak, MB", "GFLOP/s of Z'Z, of the machine's", "R2")
    return markdown(head, lines) + "\n" + markdown(("pass of KernelClassifier", "passes", "s each"), passes)


# -- LIBSVM ------------------------------------------------------------------------------------------------------------


def text_of(name: str) -> Path:
    return FOLDER / f"{name}.libsvm"


def adult_text(tiny: bool, seed: int, _: Found) -> Numbers:
    FOLDER.mkdir(exist_ok=True)
    if tiny:
        X, y = np.random.default_rng(seed).integers(0, 2, size=(50, 9)), np.ones(50)
    else:
        with np.load(Path(os.environ["MERCER_DATA"], "adult.npz")) as file:
            X, y = file["X"], file["y"]
    mercer.data.write_libsvm(text_of("adult"), X, y)
    return {"megabytes": text_of("adult").stat().st_size / 1e6}


def synthetic_text(name: str, megabytes: float, different: int, seed: int, _: Found) -> Numbers:
    """Rows with 20 of 1,000 columns and four digits each; this number of different ones, repeated."""
    FOLDER.mkdir(exist_ok=True)
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(different):
        places = np.sort(rng.choice(1000, size=20, replace=False)) + 1
        entries = zip(places.tolist(), rng.normal(size=20).tolist(), strict=True)
        lines.append("1 " + " ".join(f"{place}:{value:.4g}" for place, value in entries) + "\n")
    text = "".join(lines).encode()
    with text_of(name).open("wb") as file:
        while file.tell() < megabytes * 1e6:
            file.write(text)
    return {"megabytes": text_of(name).stat().st_size / 1e6}


def by_mercer(path: Path) -> Any:
    return concatenated(list(mercer.data.open(path).blocks())).X


def by_pass(path: Path) -> Any:
    return sum(block.X.nnz for block in mercer.data.open(path).blocks())


READERS: dict[str, Callable[[Path], Any]] = {
    "mercer, a matrix": by_mercer,
    "mercer, block by block": by_pass,
    "scikit-learn": lambda path: load_svmlight_file(str(path))[0],
}


def parsed(name: str, reader: str, seed: int, _: Found) -> Numbers:
    size = text_of(name).stat().st_size / 1e6
    work, repeats = partial(READERS[reader], text_of(name)), 5 if size < 100 else 1
    seconds = sorted(seconds_of(work) for _ in range(repeats))[repeats // 2]
    return {"rate": size / seconds, "seconds": seconds, "peak": peak()}


def libsvm(tiny: bool) -> Figure:
    sizes = {"60 MB": 0.01, "1 GB": 0.02} if tiny else {"60 MB": 60.0, "1 GB": 1000.0}
    cells = [Cell("file, adult", partial(adult_text, tiny))]
    cells += [
        Cell(f"file, {name}", partial(synthetic_text, name, size, 200 if tiny else 20_000))
        for name, size in sizes.items()
    ]
    cells += [
        Cell(f"{name}: {reader}", partial(parsed, name, reader)) for name in ("adult", *sizes) for reader in READERS
    ]
    return Figure("libsvm", tuple(cells), libsvm_table)


def libsvm_table(found: Found) -> str:
    lines = []
    for name, _ in found:
        file, _, reader = name.partition(": ")
        if reader:
            rate, most = (median(found, name, key) for key in ("rate", "peak"))
            times = rate / median(found, f"{file}: scikit-learn", "rate")
            lines.append(
                (
                    f"{file}, {reader}",
                    f"{median(found, name, 'seconds'):.3g}",
                    f"{rate:.0f}",
                    f"{times:.1f}",
                    f"{most:.0f}",
                )
            )
    return markdown(("file and reader", "s", "MB/s", "times scikit-learn's", "peak, MB"), lines)


# -- model files -------------------------------------------------------------------------------------------------------

FRESH = """
import time
start = time.perf_counter()
import sys, numpy as np, mercer.learn, mercer.persist
loading = time.perf_counter()
model = mercer.load(sys.argv[1])
loaded = time.perf_counter()
model.predict(np.zeros((1000, model.n_features_in_)))
print(loading - start, loaded - loading, time.perf_counter() - loaded)
"""


def stored(columns: int, width: int, parameters: str, repeats: int, seed: int, _: Found) -> Numbers:
    FOLDER.mkdir(exist_ok=True)
    X = np.random.default_rng(seed).normal(size=(2 * width, columns))
    model = KernelRegressor(
        n_components=width, map="RandomFourier", random_state=seed, kernel=None, alpha=1.0, preparation=None
    ).fit(X, X[:, 0])
    path = FOLDER / "model.safetensors"
    saving = float(np.median([seconds_of(lambda: mercer.save(model, path, parameters)) for _ in range(repeats)]))
    runs = []
    for _ in range(repeats):
        start = time.perf_counter()
        told = subprocess.run([sys.executable, "-c", FRESH, str(path)], check=True, stdout=subprocess.PIPE, text=True)
        runs.append([time.perf_counter() - start, *map(float, told.stdout.split())])
    process, imports, loading, predicting = np.median(runs, axis=0).tolist()
    numbers = {"save": saving, "process": process, "import": imports, "load": loading, "predict": predicting}
    return numbers | {"kilobytes": path.stat().st_size / 1e3}


def models(tiny: bool) -> Figure:
    sizes, repeats = (((4, 8),), 1) if tiny else (((28, 2048), (784, 2048)), 5)
    cells = (
        Cell(f"{columns} columns, D = {width}, {parameters}", partial(stored, columns, width, parameters, repeats))
        for columns, width in sizes
        for parameters in ("full", "seed")
    )
    return Figure("models", tuple(cells), models_table)


def models_table(found: Found) -> str:
    keys = ("save", "load", "predict", "import", "process")
    lines = []
    for name, _ in found:
        times = (f"{1e3 * median(found, name, key):.1f}" for key in keys)
        lines.append((name, f"{median(found, name, 'kilobytes'):.1f}", *times))
    head = ("model file", "kB", "save, ms", "load, ms", "predict 1,000 rows, ms", "import, ms", "fresh process, ms")
    return markdown(head, lines)


FIGURES = {"parquet": parquet, "libsvm": libsvm, "models": models}


def main(given: list[str] | None = None) -> None:
    command(FIGURES, __doc__, __file__, given)


if __name__ == "__main__":
    main()
