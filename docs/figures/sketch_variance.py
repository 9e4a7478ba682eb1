"""Lemma 6 of Pham and Pagh against simulation: the variance of TensorSketch for a row of equal entries."""

import numpy as np
from matplotlib import pyplot

import mercer
from mercer.bounds import pham_pagh_variance, tensor_sketch_variance

D, SEEDS = 256, 300
x = np.full((1, 64), 1 / 8.0)
degrees = np.arange(1, 5)
simulated, exact, claimed = [], [], []
for p in degrees:
    kernel = mercer.kernels.Polynomial(int(p))
    values = []
    for seed in range(SEEDS):
        map = mercer.TensorSketch(kernel, n_components=D, random_state=seed).fit(x)
        values.append(np.square(map.transform(x)).sum())
    simulated.append(D * np.mean((np.array(values) - 1.0) ** 2))
    exact.append(D * tensor_sketch_variance(x, x, int(p), D)[0, 0])
    claimed.append(D * pham_pagh_variance(x, x, int(p), D)[0, 0])
figure, axes = pyplot.subplots(figsize=(6, 3.2))
axes.semilogy(degrees, exact, "-", color="#0072b2", label="the exact formula")
axes.semilogy(degrees, simulated, "o", color="#1f2328", label=f"simulated, {SEEDS} seeds")
axes.semilogy(degrees, claimed, "--", color="#d55e00", label="the bound of Lemma 6")
axes.set(xlabel="degree p", ylabel="D times the variance")
axes.set_xticks(degrees)
axes.set_yticks((2, 5, 10, 20, 30), ("2", "5", "10", "20", "30"))
axes.minorticks_off()
axes.legend()
