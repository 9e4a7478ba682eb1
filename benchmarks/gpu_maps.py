"""Features on a GPU: the time of every map, and its error against float64 on a CPU.

``python benchmarks/gpu_maps.py`` needs an NVIDIA GPU and torch; ``--tiny --device cpu`` goes through the same steps
anywhere. There are n random rows of d columns and D features, in float32 unless noted otherwise. Times are medians by
CUDA events of ``transform`` into memory that was used before. "plain" is the reference formula in torch on the same
device, in one tile where that fits; "limit" is the time for reading rows and writing features at the speed of a copy.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext

import numpy as np
import torch

import mercer
from mercer import gpu
from mercer.kernels import AdditiveChi2, ArcCosine, Exponential, Gaussian, Polynomial
from mercer.maps import FeatureMap

CHECKED = 64
"""Rows whose features are compared."""


def maps(d: int, D: int) -> Iterator[tuple[str, FeatureMap, str]]:
    """Names, maps and precisions."""
    radial, square, fourth = Gaussian(0.5 / d), Polynomial(2, gamma=1.0 / d), Polynomial(4, gamma=1.0 / d)
    sizes = {"n_components": D, "random_state": 0}
    yield "StructuredFourier", mercer.StructuredFourier(radial, **sizes), "float32"
    yield "Fastfood", mercer.Fastfood(radial, **sizes), "float32"
    for kernel in (square, fourth):
        yield f"HadamardSketch, degree {kernel.degree}", mercer.HadamardSketch(kernel, **sizes), "float32"
        yield f"ComplexSketch, degree {kernel.degree}", mercer.ComplexSketch(kernel, **sizes), "float32"
    yield "TensorSketch, degree 2", mercer.TensorSketch(square, **sizes), "float32"
    yield "StructuredFourier, bfloat16", mercer.StructuredFourier(radial, **sizes), "bfloat16"
    for name in gpu.PRECISIONS:
        yield f"RandomFourier, {name}", mercer.RandomFourier(radial, **sizes), name
    yield "OrthogonalFourier", mercer.OrthogonalFourier(radial, **sizes), "float32"
    yield "QuasiFourier", mercer.QuasiFourier(radial, **sizes), "float32"
    yield "RandomMaclaurin", mercer.RandomMaclaurin(Exponential(1.0 / d), **sizes), "float32"
    yield "RandomRelu", mercer.RandomRelu(ArcCosine(), **sizes), "float32"
    yield "Nystrom", mercer.Nystrom(radial, n_components=D // 2, random_state=0), "float32"
    yield "AdditiveMap", mercer.AdditiveMap(AdditiveChi2(), n_components=D // d * d), "float32"
    yield "TaylorSketch", mercer.TaylorSketch(Exponential(1.0 / d), **sizes), "float32"
    yield "TreeSketch", mercer.TreeSketch(fourth, n_components=D // 4, random_state=0), "float32"
    yield "Compressed", mercer.Compressed(mercer.TensorSketch(square), n_components=D // 4, random_state=0), "float32"


def milliseconds(work: Callable[[], object], device: torch.device, repeats: int) -> float:
    """The median time of some work, which is run once before."""
    work()
    times = []
    for _ in range(repeats):
        if device.type == "cuda":
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            work()
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end))
        else:
            begin = time.perf_counter()
            work()
            times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def copy_rate(device: torch.device, size: int) -> float:
    """Bytes per millisecond, read and written, of a copy."""
    source = torch.ones(size, dtype=torch.uint8, device=device)
    copied = torch.empty_like(source)
    return 2.0 * size / milliseconds(lambda: copied.copy_(source), device, 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="few rows, to see that it runs")
    parser.add_argument("--only", default="", help="maps whose names begin like this")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    n, d, D, repeats = (512, 32, 128, 1) if arguments.tiny else (262_144, 784, 8192, 7)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}: n = {n:,}, d = {d}, D = {D}")
    X = torch.rand((n, d), device=device, generator=torch.Generator(device).manual_seed(0))
    rate = copy_rate(device, 1 << (20 if arguments.tiny else 32))
    print(f"copies move {rate / 1e9:.2f} TB/s")
    few = X[:: max(1, n // CHECKED)].cpu().numpy().astype(np.float64)
    print(f"{'map':28}{'ms':>10}{'plain':>10}{'limit':>8}{'error':>10}")
    for title, map_, precision in maps(d, D):
        if not title.startswith(arguments.only):
            continue
        map_.fit(X[: min(n, 16_384)].cpu().numpy())
        width = map_.n_components_
        kind = torch.bfloat16 if precision == "bfloat16" and device.type == "cuda" else torch.float32
        out = torch.full((n, width), float("nan"), dtype=kind, device=device)
        with gpu.precision(precision) if precision != "float32" else nullcontext():
            taken = milliseconds(lambda map_=map_, out=out: map_.transform(X, out=out), device, repeats)
            exact = map_.transform(few)
            found = out[:: max(1, n // CHECKED)].cpu().float().numpy()
            error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
            assert not bool(out.isnan().any()), f"{title} left features unwritten"
        del out
        plain = plain_milliseconds(map_, X, device, repeats)
        limit = n * (4.0 * d + kind.itemsize * width) / rate
        print(f"{title:28}{taken:10.2f}{plain:10.2f}{limit:8.2f}{error:10.1e}", flush=True)


def plain_milliseconds(map_: FeatureMap, X: torch.Tensor, device: torch.device, repeats: int) -> float:
    """Return the time of the reference formula in torch, on as many rows as its intermediate results allow."""
    fitted, rows = map_.fitted_.on(X), len(X)
    while rows > 1024:
        try:
            return len(X) / rows * milliseconds(lambda rows=rows: fitted.apply(X[:rows]), device, min(3, repeats))
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            rows //= 4
    return milliseconds(lambda: fitted.apply(X[:rows]), device, 1) * len(X) / rows


if __name__ == "__main__":
    main()
