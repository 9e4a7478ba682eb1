"""Can I use a kernel that nobody has implemented?
==================================================

If your kernel is a power series of the inner product with non-negative coefficients, all you need are the coefficients.
This example uses :math:`k(x, y) = \\cosh(2 \\langle x, y\\rangle)`. It only contains even degrees, so it cannot
distinguish x from -x.
"""

# %%
# The coefficients of the series are :math:`2^n / n!` for even n, and 0 otherwise. A negative
# coefficient would be rejected, because the kernel would not be positive definite in every dimension.

from __future__ import annotations

from math import factorial

import numpy as np
from matplotlib import pyplot

from mercer import KernelRegressor, RandomMaclaurin, TaylorSketch, kernel_error
from mercer.kernels import Maclaurin

COEFFICIENTS = tuple(2.0**n / factorial(n) if n % 2 == 0 else 0.0 for n in range(17))
kernel = Maclaurin(COEFFICIENTS)
rng = np.random.default_rng(0)
X = rng.standard_normal((1500, 8))
X /= np.linalg.norm(X, axis=1, keepdims=True)
print(f"k(x, x) = {kernel(X[:1])[0, 0]:.4f}, cosh(2) = {np.cosh(2.0):.4f}")

# %%
# Two maps support every such kernel. ``TaylorSketch`` gives each degree as many features as it needs for these rows;
# ``RandomMaclaurin`` draws a random degree for each feature.

WIDTHS = (64, 128, 256, 512, 1024)
figure, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
for map, colour in ((TaylorSketch, "#009e73"), (RandomMaclaurin, "#d55e00")):
    errors = [
        np.mean(
            [
                kernel_error(map(kernel, n_components=D, random_state=s).fit(X[:1000]), X[1000:]).relative
                for s in range(3)
            ]
        )
        for D in WIDTHS
    ]
    print(f"{map.__name__:16}", *(f"{error:.3f}" for error in errors))
    axes.loglog(WIDTHS, errors, "o-", color=colour, label=map.__name__)
axes.set(xlabel="features", ylabel="relative error of the kernel")
axes.set_xticks(WIDTHS, [str(width) for width in WIDTHS])
axes.minorticks_off()
axes.legend(frameon=False)
pyplot.show()

# %%
# Learners accept it like any other kernel. The target in this example is an even function, like the kernel.

y = np.abs(X[:, 0]) + X[:, 1] * X[:, 2]
model = KernelRegressor(kernel, n_components=512, random_state=0).fit(X[:1000], y[:1000])
print(f"R2 on other rows: {model.score(X[1000:], y[1000:]):.3f}")
print(f"the same for x and -x: {np.allclose(model.predict(X), model.predict(-X))}")
