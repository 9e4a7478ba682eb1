"""Exported models in onnxruntime compared with the models themselves: agreement, time, size, and what is not exported.

``python benchmarks/export.py agreement`` fits every learner on every map of ``tests/tables.py`` and prints how far
apart answers are, by learner, and every pair that is not exported with its reason. ``python benchmarks/export.py
speed`` times predictions on one thread each, in rows per second of processor time. Needs onnx and onnxruntime.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
from threadpoolctl import threadpool_limits

import mercer
from mercer import KernelClassifier, export

sys.path.append(str(Path(__file__).parents[1]))

from tests.export.running import run
from tests.export.test_table import LEARNERS, samples
from tests.tables import ROWS

DTYPES = ("float32", "float64")
MAPS = {
    "RandomFourier": ("RandomFourier", "gaussian(0.02)"),
    "StructuredFourier": ("StructuredFourier", "gaussian(0.02)"),
    "Nystrom": ("Nystrom", "gaussian(0.02)"),
    "ComplexSketch": ("ComplexSketch", "polynomial(2)"),
    "TensorSketch": ("TensorSketch", "polynomial(2)"),
    "RandomRelu": ("RandomRelu", "arc_cosine()"),
}


def share(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, as a share of the largest answer; of labels, the share that differ."""
    if expected.dtype.kind != "f":
        return float(np.mean(found != expected))
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def agreement() -> None:
    """The largest difference of every answer over all maps, in either precision."""
    worst: dict[tuple[str, str], dict[str, float]] = {}
    refused: dict[tuple[str, str], str] = {}
    count = 0
    for row in ROWS:
        for name, (make, outputs) in LEARNERS.items():
            for dtype in DTYPES:
                X, new = samples(row, dtype)
                model = make(row(24, random_state=0), X)
                try:
                    found = run(model, new, dtype)
                except export.NotExportedError as error:
                    refused[row.id, name] = str(error)
                    continue
                count += 1
                for output, method in outputs.items():
                    here = worst.setdefault((name, output), dict.fromkeys(DTYPES, 0.0))
                    here[dtype] = max(here[dtype], share(found[output], getattr(model, method)(new)))
    print(f"{count} of {count + len(refused)} models on {len(ROWS)} maps are exported\n")
    print("| learner | answer | float32 | float64 |\n|---|---|---|---|")
    for (name, output), here in worst.items():
        print(f"| {name} | {output} | {here['float32']:.1e} | {here['float64']:.1e} |")
    for (row_id, name), reason in refused.items():
        print(f"not exported: {row_id}, {name}: {reason}")


def seconds(function: object, times: int = 3) -> float:
    """The least processor time of a call."""
    best = np.inf
    for _ in range(times):
        start = time.process_time()
        function()  # type: ignore[operator]
        best = min(best, time.process_time() - start)
    return best


def speed(n_rows: int = 20_000, columns: int = 64, width: int = 1024) -> None:
    """Rows per second, predicted by either."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(n_rows, columns)) / np.sqrt(columns)).astype(np.float32)
    y = np.digitize(X[:, 0] * X[:, 1], np.quantile(X[:, 0] * X[:, 1], [0.3, 0.6]))
    print("| map | MB | mercer, rows/s | onnxruntime, rows/s | ratio | one row: mercer, us | onnxruntime, us |")
    print("|---|---|---|---|---|---|---|")
    for name, (map, kernel) in MAPS.items():
        model = KernelClassifier(
            kernel, map=map, C=1.0, n_components=width, loss="squared", preparation=None, random_state=0, n_jobs=1
        ).fit(X[:4000], y[:4000])
        content = export.onnx(model).SerializeToString()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        with threadpool_limits(1):
            ours = seconds(lambda: model.decision_function(X))  # noqa: B023 - called at once
            ours_one = seconds(lambda: [model.decision_function(X[:1]) for _ in range(50)]) / 50  # noqa: B023
        theirs = seconds(lambda: session.run(["decision_values"], {"X": X}))  # noqa: B023
        theirs_one = seconds(lambda: [session.run(["decision_values"], {"X": X[:1]}) for _ in range(50)]) / 50  # noqa: B023
        print(
            f"| {name} | {len(content) / 1e6:.2f} | {n_rows / ours:,.0f} | {n_rows / theirs:,.0f} "
            f"| {ours / theirs:.2f} | {1e6 * ours_one:,.0f} | {1e6 * theirs_one:,.0f} |"
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(f"mercer {mercer.__version__}, onnxruntime {onnxruntime.__version__}\n")
    {"agreement": agreement, "speed": speed}[sys.argv[1]]()
