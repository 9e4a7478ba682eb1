"""Relative errors that the exact variances of polynomial maps promise on digits, by degree."""

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

import mercer

X = normalize(load_digits().data)[:150]
degrees, D = (1, 2, 3, 4, 5, 6), 1024
figure, axes = pyplot.subplots(figsize=(6.5, 3.4))
for kind, colour in (
    (mercer.RandomMaclaurin, "#d55e00"),
    (mercer.TensorSketch, "#cc79a7"),
    (mercer.HadamardSketch, "#56b4e9"),
    (mercer.ComplexSketch, "#0072b2"),
    (mercer.TaylorSketch, "#009e73"),
):
    errors = []
    for p in degrees:
        kernel = mercer.kernels.Polynomial(p)
        map = kind(kernel, n_components=D, random_state=0).fit(X)
        if kind is mercer.TaylorSketch:
            errors.append(mercer.kernel_error(map, X).relative)
        else:
            errors.append(np.sqrt(map.variance(X).sum() / np.square(kernel(X)).sum()))
    axes.semilogy(degrees, np.maximum(errors, 1e-3), "o-", color=colour, label=kind.__name__)
axes.set(xlabel="degree of <x, y>^p", ylabel=f"relative error, D = {D:,}", ylim=(1e-3, None))
axes.legend(fontsize=8)
