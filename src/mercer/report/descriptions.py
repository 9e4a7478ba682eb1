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
MAPS = {
    "AdditiveMap": "every column becomes a few cosines and sines of its logarithm, chosen, not drawn",
    "Calibrated": "the features of another map, with weights that were fitted to the kernel on pairs of rows",
    "ComplexSketch": "products of random projections by complex signs, as many as the degree",
    "Composed": "the features of one map go through another",
    "Compressed": "a wide map, brought down to fewer features that keep most of the kernel",
    "Fastfood": "cosines and sines along random directions that are made by fast transforms",
    "HadamardSketch": "products of fast transforms of random sums of columns, as many as the degree",
    "Nystrom": "likeness to landmark rows, turned so that it is exact between them",
    "OrthogonalFourier": "cosines and sines along random directions that stand at right angles to each other",
    "QuasiFourier": "cosines and sines along directions that are spread evenly, not drawn one by one",
    "RandomFourier": "cosines and sines along random directions, drawn one by one",
    "RandomMaclaurin": "products of a random number of random projections",
    "RandomRelu": "random projections, of which what is negative is cut off: units of a neural network",
    "Stack": "the features of two maps side by side, one for each part of the kernel",
    "StructuredFourier": "cosines and sines along nearly orthogonal directions, made by fast transforms",
    "TaylorSketch": "the power series of the kernel, a sketch for each of the degrees that matter",
    "TensorProduct": "products of the features of two maps, one for each factor of the kernel",
    "TensorSketch": "products of Fourier transforms of random sums of columns, as many as the degree",
    "TreeSketch": "a tree of sketches of degree two, which grows with the logarithm of the degree",
}


def of_kernel(kernel: Kernel) -> str:
    """What a kernel takes for likeness."""
    return KERNELS.get(type(kernel).__name__, "A function of two rows that says how alike they are.")


def of_map(map: FeatureMap) -> str:
    """What the features of a fitted map are, and what they are for."""
    what = MAPS.get(type(map).__name__, "features of its own")
    return (
        f"Every row becomes {map.n_components_:,} numbers, whose inner products stand for the kernel: {what}. "
        "A linear model of these numbers is a kernel machine."
    )
