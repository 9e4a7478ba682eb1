"""Times of machines on a GPU, from arrays in CPU memory to predictions, compared with target times.

``python benchmarks/gpu.py [TASK ...]`` needs an NVIDIA GPU and torch, and for "mnist", "exact" and "covertype" the
folder that ``MERCER_DATA`` names. ``--tiny --device cpu`` goes through the same steps anywhere, on a few made-up rows.
Times are medians of wall clock with the device at rest before and after; compilation and loading come before the
measurement. ``--compare`` also fits machines on the CPU if that says something about accuracy, which takes minutes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from machines import made_up, mnist

import mercer
from mercer import StructuredFourier
from mercer._random import Stream
from mercer._rows import ArrayRows
from mercer.gpu.device import Device
from mercer.gpu.split_products import add_second_moments, mirrored
from mercer.kernels import Gaussian, Matern
from mercer.learn import KernelClassifier, KernelRegressor
from mercer.maps.landmarks import Candidates

TOGETHER = 32_768
"""Rows whose second moments are added at once."""


class Result(NamedTuple):
    """A row of the table."""

    task: str
    seconds: float
    most: float
    found: str


class Run(NamedTuple):
    """The settings with which tasks are run."""

    device: Device
    tiny: bool
    repeats: int
    compare: bool
    points: int

    def size(self, full: int, tiny: int) -> int:
        """Return a size, or the small one if everything is small."""
        return tiny if self.tiny else full

    def timed(self, work: Callable[[], Any]) -> tuple[float, Any]:
        """Return the median time of some work in seconds, and its last result."""
        times = []
        for _ in range(self.repeats):
            self.device.synchronise()
            start = time.perf_counter()
            found = work()
            self.device.synchronise()
            times.append(time.perf_counter() - start)
        return statistics.median(times), found


def hinge(run: Run) -> Iterator[Result]:
    """MNIST by landmarks and the squared hinge."""
    X, y, test, labels = mnist(run.tiny)
    width = run.size(6144, 64)
    model = KernelClassifier(
        Gaussian(0.02), map="nystrom", solver="landmarks", n_components=width, C=10.0, tol=1e-3,
        preparation=None, random_state=0, device=run.device.name,
    )  # fmt: skip
    seconds, predicted = run.timed(lambda: model.fit(X, y).predict(test))
    accuracy = f"{100 * (predicted == labels).mean():.2f} % right, {model.solver_.name}, {model.n_iter_} steps"
    yield Result(f"MNIST, squared hinge, {width} landmarks", seconds, 1.0, accuracy)


def exact(run: Run) -> Iterator[Result]:
    """MNIST by exact kernel ridge regression on codes of classes."""
    X, y, test, labels = mnist(run.tiny)
    codes = np.where(y[:, None] == np.arange(y.max() + 1), 1.0, -1.0)
    model = KernelRegressor(
        Gaussian(0.02), map="exact", alpha=0.05, preparation=None, random_state=0, device=run.device.name
    )
    seconds, values = run.timed(lambda: model.fit(X, codes).predict(test))
    accuracy = f"{100 * (values.argmax(axis=1) == labels).mean():.2f} % right, gap {model.gap_:.1e}"
    yield Result(f"MNIST, exact kernel ridge of {len(X):,} rows", seconds, 3.0, accuracy)


def covertype(tiny: bool) -> tuple[Any, ...]:
    """500,000 rows of Covertype, class 2 against the rest, and 20,000 others for a test; columns of variance 1."""
    if tiny:
        return made_up(400, 16, 2)
    held = np.load(Path(os.environ["MERCER_DATA"]) / "covertype.npz")
    order = np.random.default_rng(0).permutation(len(held["y"]))
    train, test = order[:500_000], order[500_000:520_000]
    X, y = held["X"].astype(np.float32), (held["y"] == 2).astype(int)
    spread = X[train].std(axis=0)
    X = (X - X[train].mean(axis=0)) / np.where(spread > 0, spread, 1)
    return X[train], y[train], X[test], y[test]


def forest(run: Run) -> Iterator[Result]:
    """Covertype by many landmarks."""
    X, y, test, labels = covertype(run.tiny)
    width = run.size(32_768, 64)
    model = KernelClassifier(
        Gaussian(0.4), map="nystrom", solver="landmarks", n_components=width, C=10.0, tol=1e-2,
        preparation=None, random_state=0, device=run.device.name,
    )  # fmt: skip
    seconds, predicted = run.timed(lambda: model.fit(X, y).predict(test))
    error = f"{100 * (predicted != labels).mean():.2f} % wrong, {model.solver_.name}, {model.n_iter_} steps"
    yield Result(f"Covertype, {len(X):,} rows, {width} landmarks", seconds, 5.0, error)


def left_out(run: Run) -> Iterator[Result]:
    """Ridge regression with leave-one-out on many rows."""
    n, d, width = run.size(10_000_000, 3000), 28, run.size(4096, 64)
    rng = np.random.default_rng(0)
    X = rng.standard_normal(size=(n, d), dtype=np.float32)
    f = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(n, dtype=np.float32)
    model = KernelRegressor(
        Gaussian(0.5 / d), map="StructuredFourier", n_components=width, alpha="loo", preparation=None, random_state=0,
        device=run.device.name,
    )  # fmt: skip
    seconds, _ = run.timed(lambda: model.fit(X, f))
    found = f"alpha {model.alpha_:.3g}, leave-one-out error {float(model.scores_.min()):.5f}"
    yield Result(f"ridge, leave-one-out, {n:,} x {d}, D = {width}", seconds, 10.0, found)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("rows.parquet" if find_spec("pyarrow") else "rows.npz")
        written(path, X, f)
        start = time.perf_counter()
        for _ in mercer.data.open(path, target="y").blocks():
            pass
        reading = time.perf_counter() - start
        seconds, _ = run.timed(lambda: model.fit(mercer.data.open(path, target="y")))
    found = f"alpha {model.alpha_:.3g}, of which to read the file alone once {reading:.1f} s"
    yield Result(f"the same from a file in {path.suffix[1:]}", seconds, 10.0, found)


def written(path: Path, X: Any, y: Any) -> None:
    """Write rows with a target to a file."""
    if path.suffix == ".npz":
        np.savez(path, X=X, y=y)
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"x{number}": column for number, column in enumerate(X.T)}
    pq.write_table(pa.table(columns | {"y": y}), path, row_group_size=1 << 20, compression="none")


def globe(run: Run) -> Iterator[Result]:
    """Land or sea, by the half-minute grid of global-land-mask, as points on the sphere."""
    if find_spec("global_land_mask") is None:
        print("globe: left out, global-land-mask is not installed")
        return
    from global_land_mask import globe as grid

    n, width = run.size(run.points, 3000), run.size(16_384, 64)
    rng = np.random.default_rng(0)

    def points(count: int) -> tuple[Any, Any]:
        places = rng.normal(size=(count, 3))
        places /= np.linalg.norm(places, axis=1, keepdims=True)
        latitude = np.degrees(np.arcsin(places[:, 2]))
        longitude = np.degrees(np.arctan2(places[:, 1], places[:, 0]))
        return places.astype(np.float32), grid.is_land(np.clip(latitude, -89.99, 89.99), longitude).astype(int)

    (X, y), (test, truth) = points(n), points(run.size(1_000_000, 500))
    model = KernelClassifier(
        Matern(0.5, length_scale=0.5), map="nystrom", solver="landmarks", n_components=width, C=10.0, tol=1e-2,
        preparation=None, random_state=0, device=run.device.name,
    )  # fmt: skip
    start = time.perf_counter()
    wrong = 100 * (model.fit(X, y).predict(test) != truth).mean()
    seconds = time.perf_counter() - start
    found = (
        f"{wrong:.2f} % of {len(test):,} other points wrong, {model.n_iter_} steps, {model.convergence_.passes} passes"
    )
    yield Result(f"land or sea, {n:,} points, {width} landmarks", seconds, np.inf, found)


def pivots(run: Run) -> Iterator[Result]:
    """Landmarks by randomly pivoted Cholesky."""
    n, d, count = run.size(1_000_000, 2000), 28, run.size(1000, 50)
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)

    def trace(device: Device | None) -> float:
        rows = RowsOn(X, device)
        return Candidates(Gaussian(0.5 / d), rows, n).pivots(Stream(0), count, 0.0).trace

    seconds, found = run.timed(lambda: trace(run.device))
    said = f"residual trace {found / n:.5f} of the trace"
    if run.compare:
        said += f", {100 * (found / trace(None) - 1):+.3f} % from the processor's"
    yield Result(f"RPCholesky, {n:,} x {d}, {count} pivots", seconds, 5.0, said)


class RowsOn(ArrayRows):
    """Rows in memory from which something is learned on a device."""

    def __init__(self, X: Any, device: Device | None):
        super().__init__(X, Stream(0).child("rows"))
        self._there = device

    @property
    def device(self) -> Device | None:
        return self._there


def squares(run: Run) -> Iterator[Result]:
    """Second moments of features, the features included, and the ridge solution that they lead to."""
    n, d, width = run.size(262_144, 2000), run.size(784, 20), run.size(8192, 128)
    device, torch = run.device, run.device.torch
    torch.manual_seed(0)
    X = torch.randn((n, d), dtype=torch.float32, device=device.place)
    map = StructuredFourier(Gaussian(0.5 / d), n_components=width, random_state=0).fit(np.zeros((1, d), np.float32))

    def gram(exact: bool) -> Any:
        sums = device.zeros((width, width), np.float64)
        for start in range(0, n, TOGETHER):
            add_second_moments(device, map.transform(X[start : start + TOGETHER]), sums, exact)
        return mirrored(sums)

    seconds, found = run.timed(lambda: gram(False))
    right = gram(True)
    entry = float((found - right).abs().max() / right.abs().max())
    y = torch.sin(X[:, 0]).double()
    cross = sum(
        map.transform(X[some]).double().T @ y[some]
        for some in (slice(start, start + TOGETHER) for start in range(0, n, TOGETHER))
    )
    eye = torch.eye(width, dtype=torch.float64, device=device.place)
    ours, theirs = (torch.linalg.solve(one + 1e-3 * n / width * eye, cross) for one in (found, right))
    error = float((ours - theirs).norm() / theirs.norm())
    said = f"largest error {entry:.1e} of the largest entry, of the ridge solution {error:.1e}"
    yield Result(f"Z'Z, {n:,} x {width:,} StructuredFourier features", seconds, 0.2, said)


TASKS = {"mnist": hinge, "exact": exact, "covertype": forest, "ridge": left_out, "pivots": pivots, "moments": squares}
OTHERS = {"globe": globe}
"""Tasks that run only where they are asked for."""


def warmed(run: Run) -> None:
    """Run once, so that loading and compilation are not measured later."""
    small = run._replace(tiny=True, repeats=1, compare=False)
    for task in TASKS.values():
        list(task(small))


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", help=", ".join(TASKS | OTHERS))
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1 and so on, or cpu: torch on the processor")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--points", type=int, default=10_000_000, help="of the globe, to learn from")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--compare", action="store_true")
    given = parser.parse_args(arguments)
    tasks = TASKS | OTHERS
    unknown = set(given.tasks) - set(tasks)
    if unknown:
        parser.error(f"unknown tasks: {', '.join(sorted(unknown))}")
    device = Device.named("torch:cpu" if given.device == "cpu" else given.device)
    assert device is not None
    run = Run(device, given.tiny, given.repeats, given.compare, given.points)
    warnings.simplefilter("ignore", UserWarning)
    print(f"mercer {mercer.__version__}, torch {device.torch.__version__}, {described(device)}", flush=True)
    warmed(run)
    for name in given.tasks or TASKS:
        for row in tasks[name](run):
            print(f"{row.task:55s} {row.seconds:9.3f} s  (at most {row.most:g})  {row.found}", flush=True)


def described(device: Device) -> str:
    """Describe the GPU, if there is one."""
    return device.torch.cuda.get_device_name(device.place) if device.is_cuda else "the processor"


if __name__ == "__main__":
    main(sys.argv[1:])
