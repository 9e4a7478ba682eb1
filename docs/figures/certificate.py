"""What is expected before a map is drawn, what it turned out to be, and the interval of a certificate."""

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_digits

import mercer

X = load_digits().data / 16
train, fresh = X[:1000], X[1000:1500]
kernel = mercer.kernels.Gaussian(0.05)
WIDTHS = (32, 64, 128, 256, 512, 1024)
figure, axes = pyplot.subplots(figsize=(6.5, 3.6))
expected, found = [], []
for D in WIDTHS:
    map = mercer.RandomFourier(kernel, n_components=D, random_state=0).fit(train)
    K = kernel(fresh)
    expected.append(np.sqrt(map.variance(fresh).sum() / np.square(K).sum()))
    found.append(mercer.certify(map, fresh, random_state=0).relative_frobenius)
middle = np.array([one.value for one in found])
span = [middle - [one.low for one in found], [one.high for one in found] - middle]
axes.loglog(WIDTHS, expected, "--", color="0.45", label="expected over seeds, from the exact variance")
axes.errorbar(WIDTHS, middle, yerr=span, fmt="o", color="#0072b2", capsize=3, label="this seed, with its certificate")
axes.set(xlabel="features", ylabel="relative error of the kernel")
axes.set_xticks(WIDTHS, [str(width) for width in WIDTHS])
axes.minorticks_off()
axes.legend()
