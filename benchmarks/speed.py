"""Time of ``transform``, our maps and their peers in turns in one process: ``python benchmarks/speed.py``.

Options choose among the contests (``--maps Hadamard Tensor --sizes 784 --widths 4096 --dtypes float32``); ``--json
FILE`` keeps the figures, ``--compare OLD NEW`` holds two such files against each other, ``--scaling`` measures the gain
from two threads on 50,000 rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from contestants import DENSITY, Contest, contests, least_flops
from machine import Probe, Rates, facts, seconds_of
from peers import ABSENT
from scaling import scaling
from threadpoolctl import threadpool_limits

QUICK = {"sizes": [123, 784], "widths": [2048], "degrees": [3], "dtypes": ["float32"]}
PATIENCE = 1.5
"""Seconds that the repeats of a call may take together."""
SPIN = 0.05
"""Seconds after which BLAS threads that a peer has woken no longer wait busily, and leave the cores to the next."""
CHANGE = 0.15

HEADER = """\
us a row: microseconds of transform on one thread, median of {repeats} repeats (fewer where a call is slow), every map
and peer in turn, each after one call that does not count. The output is fresh: an array that the call allocates itself.
x peer: the peer's time over ours, on one thread and on {most}. {most}/1: our time on one thread over that on {most}.
limit: the least time over ours. The least is that of the FLOPs of the mathematics at the rate of a matrix product, or
that of the bytes, written to fresh memory and read, whichever is longer; both rates are measured between the calls.
peak: most memory that NumPy holds during transform, output and all, over the output."""
COLUMNS = f"{'map':26}{'d':>5} {'type':8}{'p':>2}{'D':>6}{'us a row':>10}  {'peer':23}"


def memory_of(array: Any) -> int:
    return array.data.nbytes + array.indices.nbytes + array.indptr.nbytes if sp.issparse(array) else array.nbytes


def as_peer_takes(name: str, X: Any) -> Any:
    return X.tocsc() if sp.issparse(X) and name == "PolynomialCountSketch" else X  # it would convert it


class Clock:
    """The times of one contestant by number of threads."""

    def __init__(self, name: str, model: Any, X: Any, ours: bool):
        self.name, self.model, self.X, self.ours = name, model, X, ours
        self.times: dict[int, list[float]] = {}
        start = time.perf_counter()
        self.peak, self.output = self._memory()
        self.is_slow = time.perf_counter() - start > PATIENCE

    def _memory(self) -> tuple[int, int]:
        """Peak memory during transform, and the memory of the output, in bytes.

        It is NumPy that tells; the compiled core allocates nothing.
        """
        if self.ours:
            self.model.set_params(n_jobs=1)
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        Z = self.model.transform(self.X)
        peak = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        return peak, memory_of(Z)

    def run(self, threads: int) -> float:
        if self.ours:
            self.model.set_params(n_jobs=threads)
        # A virtual machine may hand memory that lies idle back to its host and then wait for it, longer than a call
        # takes. What the same call has just used is at hand.
        if not self.is_slow:
            self.model.transform(self.X)
        seconds = seconds_of(lambda: self.model.transform(self.X))
        self.times.setdefault(threads, []).append(seconds)
        if not self.ours and threads > 1:
            time.sleep(SPIN)
        return seconds

    def us(self, of: Callable[[list[float]], float]) -> dict[int, float]:
        """Return microseconds per row by number of threads, the median of the repeats or the least."""
        return {count: 1e6 * of(times) / self.X.shape[0] for count, times in self.times.items()}


def fitted(contest: Contest, wanted: list[str], X: Any) -> list[Clock]:
    """The requested maps and, if there is at least one, all peers that work."""
    chosen = {name: make for name, make in contest.maps.items() if any(part in name for part in wanted)}
    clocks = [Clock(name, make().fit(X), X, True) for name, make in chosen.items()]
    for name, make in contest.peers.items() if chosen else ():
        rows = as_peer_takes(name, X)
        try:
            clocks.append(Clock(name, make().fit(rows), rows, False))
        except Exception as error:  # older packages may fail in any way with current versions of NumPy and scikit-learn
            print(f"{name} left out at {contest}: {error}", file=sys.stderr)
    return clocks


def timed(clocks: list[Clock], threads: list[int], repeats: int, probe: Probe) -> None:
    """Time all of them in turn, on every number of threads, so that a slow phase of the machine affects all."""
    first: dict[str, float] = {}
    for turn in range(repeats):
        for count in threads:
            with threadpool_limits(count):
                for clock in clocks:
                    if turn == 0 or (turn + 1) * first[clock.name] < PATIENCE:
                        seconds = clock.run(count)
                        first.setdefault(clock.name, seconds)
        with threadpool_limits(1):
            probe.measure()


def cells(contest: Contest, clocks: list[Clock], rates: Rates) -> list[dict[str, Any]]:
    """The figures of each of our maps."""
    peers, found = [clock for clock in clocks if not clock.ours], []
    for clock in (clock for clock in clocks if clock.ours):
        X, n = clock.X, clock.X.shape[0]
        stored = X.nnz / n if sp.issparse(X) else X.shape[1]
        flops = n * least_flops(clock.name, clock.model, stored, contest.d, contest.degree)
        least, bound = rates.least_seconds(flops, clock.output, memory_of(X))
        found.append(
            {
                "map": clock.name,
                "d": contest.d,
                "n": n,
                "D": clock.model.n_components_,
                "degree": contest.degree,
                "dtype": contest.dtype,
                "us": clock.us(statistics.median),
                "peers": {peer.name: peer.us(statistics.median) for peer in peers},
                "best_us": clock.us(min),
                "best_peers": {peer.name: peer.us(min) for peer in peers},
                "least_us": 1e6 * least / n,
                "bound": bound,
                "peak": clock.peak / clock.output,
                "rates": rates._asdict(),
            }
        )
    return found


def show(cell: dict[str, Any], threads: list[int]) -> None:
    """Print a line for each peer, with the map's own figures on the first."""
    us, first, most = cell["us"], threads[0], threads[-1]
    left = f"{cell['map']:26}{cell['d']:5} {cell['dtype']:8}{cell['degree'] or '-':>2}{cell['D']:6}{us[first]:10.2f}  "
    right = f"{us[first] / us[most]:7.2f}{cell['least_us'] / us[first]:8.2f} {cell['bound']:6}{cell['peak']:6.2f}"
    for place, (peer, times) in enumerate(cell["peers"].items() or [("-", us)]):
        ratios = f"{times[first] / us[first]:9.2f}{times[most] / us[most]:8.2f}"
        print((left if place == 0 else " " * len(left)) + f"{peer:23}{ratios}" + (right if place == 0 else ""))
    sys.stdout.flush()


def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    threads, most = arguments.threads, arguments.threads[-1]
    about = facts()
    print(", ".join(f"{name} {value}" for name, value in about.items() if name != "versions"))
    print(", ".join(f"{name} {value}" for name, value in about["versions"].items()))
    print(f"not installed: {', '.join(ABSENT) or '-'}")
    print(HEADER.format(repeats=arguments.repeats, most=most))
    print(f"\n{COLUMNS}{'x peer':>9}{f'on {most}':>8}{f'{most}/1':>7}{'limit':>8} {'of':6}{'peak':>6}", flush=True)
    everything = list(contests(arguments.sizes, arguments.widths, arguments.degrees, arguments.dtypes))
    found: list[dict[str, Any]] = []
    for place, contest in enumerate(everything):
        if sys.stderr.isatty():
            print(f"\r{place + 1} of {len(everything)}: {contest}\033[K", end="\r", file=sys.stderr, flush=True)
        clocks = fitted(contest, arguments.maps, contest.rows())
        if not clocks:
            continue
        probe = Probe(contest.dtype, contest.n * contest.width * np.dtype(contest.dtype).itemsize)
        timed(clocks, threads, arguments.repeats, probe)
        for cell in cells(contest, clocks, probe.rates):
            show(cell, threads)
            found.append(cell)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"facts": about, "cells": found}, indent=1))
    return found


def compare(old: str, new: str) -> None:
    """Print the ratio of old to new time, the least of the repeats, for every cell in both files.

    A change is marked where it is above 15 %, and so is that against the peer: neighbours may slow the whole machine,
    and the peer with it.
    """
    tables = []
    for file in (old, new):
        content = json.loads(Path(file).read_text())
        print(f"{file}: commit {content['facts']['commit']}, {content['facts']['isa']}")
        keys = ("map", "d", "dtype", "degree", "D")
        tables.append({tuple(cell[key] for key in keys): cell for cell in content["cells"]})
    print(f"{COLUMNS[:-35]}{'old':>10}{'new':>10}{'old/new':>10}{'against the peer':>18}")
    for key in (key for key in tables[1] if key in tables[0]):
        before, after = (table[key] for table in tables)
        one = min(after["best_us"])
        peer = next((name for name in after["best_peers"] if name in before["best_peers"]), None)
        ratio = before["best_us"][one] / after["best_us"][one]
        drift = 1.0 if peer is None else before["best_peers"][peer][one] / after["best_peers"][peer][one]
        least, most = sorted((ratio, ratio / drift))
        mark = "  faster" if least > 1.0 + CHANGE else "  SLOWER" if most < 1.0 / (1.0 + CHANGE) else ""
        name, d, dtype, degree, D = key
        left = f"{name:26}{d:5} {dtype:8}{degree or '-':>2}{D:6}"
        times = f"{before['best_us'][one]:10.2f}{after['best_us'][one]:10.2f}"
        print(f"{left}{times}{ratio:10.2f}{ratio / drift:18.2f}{mark}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--maps", nargs="+", default=[""], help="parts of the names of our maps")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(DENSITY), choices=DENSITY)
    parser.add_argument("--widths", nargs="+", type=int, default=[512, 1024, 4096, 16384])
    parser.add_argument("--degrees", nargs="+", type=int, default=[2, 3, 4])
    parser.add_argument("--dtypes", nargs="+", default=["float32", "float64"], choices=("float32", "float64"))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="few sizes, in less than two minutes")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    parser.add_argument("--compare", nargs=2, metavar=("OLD", "NEW"), help="compare two such files and time nothing")
    parser.add_argument("--scaling", action="store_true", help="two threads over one at n = 50,000, D = 4096")
    arguments = parser.parse_args()
    if arguments.compare:
        compare(*arguments.compare)
    elif arguments.scaling:
        scaling(arguments.maps, arguments.threads, arguments.repeats)
    else:
        if arguments.quick:
            parser.set_defaults(**QUICK)
            arguments = parser.parse_args()
        run(arguments)


if __name__ == "__main__":
    main()
