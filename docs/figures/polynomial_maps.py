"""Relative errors that the exact variances of polynomial maps promise on digits, by degree."""

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

import mercer

X = normalize(load_digits().data)[:150]
degrees, D = (1, 2, 3, 4, 5, 6), 1024
figure, axes = pyplot.subplots(figsize=(6.5, 3.4))
for kind, colour, line in (
    (mercer.RandomMaclaurin, "#d55e00", "o-"),
    (mercer.TensorSketch, "#cc79a7", "s-"),
    (mercer.HadamardSketch, "#56b4e9", "x--"),
    (mercer.ComplexSketch, "#0072b2", "o-"),
    (mercer.TaylorSketch, "#009e73", "o-"),
):
    errors = []
    for p in degrees:
        kernel = mercer.kernels.Polynomial(p)
        map = kind(kernel, n_components=D, random_state=0).fit(X)
        if kind is mercer.TaylorSketch:
            errors.append(mercer.kernel_error(map, X).relative)
        else:
            errors.append(np.sqrt(map.variance(X).sum() / np.square(kernel(X)).sum()))
    shown = [error if error > 1e-6 else np.nan for error in errors]  # degree 1 needs no sketch in some maps
    axes.semilogy(degrees, shown, line, color=colour, label=kind.__name__)
axes.set(xlabel="degree p of <x, y>^p", ylabel=f"relative error, D = {D:,}")
axes.legend(fontsize=8)
