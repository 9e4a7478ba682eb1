"""The scales that are learned for the columns of Friedman's function and ten that have nothing to do with it."""

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import make_friedman1

import mercer

X, y = make_friedman1(1500, n_features=15, noise=1.0, random_state=0)
machine = mercer.KernelRegressor(random_state=0).fit(X, y)
scales = machine.preparation_.column_scales
figure, axes = pyplot.subplots(figsize=(7.5, 2.8))
axes.bar(range(15), scales, color=["#0072b2"] * 5 + ["0.7"] * 10)
axes.set_xticks(range(15), [f"x{number}" for number in range(15)])
axes.set(ylabel="learned scale", title="five columns matter, ten do not")
axes.grid(axis="x", visible=False)
print(np.round(scales, 2))
