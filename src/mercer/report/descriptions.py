"""Kernels and maps in one plain sentence each."""

from __future__ import annotations

from ..kernels import Kernel
from ..maps import FeatureMap

KERNELS = {
    "AdditiveChi2": "Histograms are alike where their bins are, by the harmonic mean of every pair of bins.",
    "ArcCosine": "Rows are alike where they point the same way, times their lengths: a wide random neural network.",
    "Cauchy": "Rows are alike where they are near in every column; likeness falls slowly, with heavy tails.",
    "Composition": "The likeness that one kernel finds is put through another, a power series in it.",
    "DistanceComposition": "Rows are alike where they are near each other, by the distance that another kernel has.",
    "Exponential": "Rows are alike where their inner product is large; all products of columns count, high ones less.",
    "Gaussian": "Rows are alike where they are near each other; likeness falls smoothly with the squared distance.",
    "Hellinger": "Histograms are alike where their bins are, by the geometric mean of every pair of bins.",
    "Intersection": "Histograms are alike by how much of them they share, bin by bin.",
    "JensenShannon": "Histograms are alike where telling them apart takes many draws: the Jensen-Shannon divergence.",
    "Laplacian": "Rows are alike where they are near in every column; likeness falls sharply, and allows for edges.",
    "Linear": "The inner product of rows: what is learned is a plane.",
    "Maclaurin": "A power series in the inner product of rows: products of columns, each degree with its own weight.",
    "Matern": "Rows are alike where they are near each other; nu sets how smooth what is learned must be.",
    "Polynomial": "A power of the inner product of rows: what is learned is a polynomial of the columns.",
    "Product": "Rows are alike where two kernels both find them so.",
    "Scaled": "Another kernel, times a weight.",
    "SkewedChi2": "Histograms are alike where every bin is, measured on a logarithmic scale.",
    "SkewedIntersection": "Histograms are alike where every bin is, on a logarithmic scale, with sharp edges.",
    "Sum": "Rows are alike where either of two kernels finds them so; what is learned is a sum of two parts.",
    "VovkInfinite": "All powers of the inner product of rows, each with the same weight.",
    "VovkReal": "The first few powers of the inner product of rows, each with the same weight.",
}


def of_kernel(kernel: Kernel) -> str:
    """What a kernel takes for likeness."""
    return KERNELS.get(type(kernel).__name__, "A function of two rows that says how alike they are.")


def of_map(map: FeatureMap) -> str:
    """What the features of a fitted map are, and what they are for."""
    return (
        f"Every row becomes {map.n_components_:,} numbers, whose inner products stand for the kernel: "
        f"{map.description.features}. "
        "A linear model of these numbers is a kernel machine."
    )
