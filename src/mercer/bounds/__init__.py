r"""What the papers guarantee, as functions, and corrected where a paper is wrong.

Every function gives a true bound on an error or on its probability, over the seeds of a map where nothing else is said,
or the number of features that brings it down to ``delta``; only :func:`pham_pagh_variance` states a claim that is
false, its name says whose. They differ in what they know, and the less that is, the larger they are:

- **A fitted projection and rows**: :func:`projection_residual` and :func:`projection_error` (Nystrom, TEFM) are no
  probabilities but certain, and exact on the diagonal; :func:`projection_norm` (TEFM) may fail by its probes alone. To
  trust a map by.
- **A map and rows**: Chebyshev's :func:`relative_error` and :func:`norm_error`, from the exact variance, for every map
  that has one; of TensorSketch before it is fitted :func:`tensor_sketch_variance` and
  :func:`tensor_sketch_components`. To size a map by: for errors that are about normal they ask for 4 times too much at
  delta = 0.1, and for 15 times at 0.01.
- **The size of rows**: :func:`hoeffding_error`, for one pair at a time, with :func:`maclaurin_range` or
  :func:`sketch_range`; :func:`uniform_error` (RandomMaclaurin) and :func:`fourier_uniform_error` (RandomFourier), for
  all pairs of a ball or a set at once, and the widths that they ask for. For rows nobody has seen.
- **The number of rows**: :func:`nystrom_error` and :func:`nystrom_landmarks`, for uniform landmarks.

How loose the last two kinds are: for the Gaussian kernel with gamma = 0.5, d = 10 columns and rows in the unit ball, an
error of at most 0.1 everywhere but for one seed in a hundred takes, by :func:`fourier_uniform_components`,

>>> from mercer.bounds import fourier_uniform_components, nystrom_error
>>> from mercer.kernels import Gaussian
>>> fourier_uniform_components(Gaussian(0.5), 2.0, 10, epsilon=0.1, delta=0.01)
40586

features; with 3,700 a search uphill from 96 places found a larger error in 1 of 200 seeds. (Claim 1 of Rahimi and Recht
has 88,534 frequencies there, which are 177,068 features.) For 2,000 such rows, drawn uniformly, and 200 landmarks,

>>> round(nystrom_error(200, 2000, delta=0.01), 2)
0.22

bounds the root mean square error of an entry; that of :class:`mercer.Nystrom` was 0.0026 on average over 20 seeds.
"""

from .chebyshev import norm_error, relative_error
from .fourier import fourier_uniform_components, fourier_uniform_error
from .hoeffding import hoeffding_count, hoeffding_error
from .maclaurin import maclaurin_lipschitz, maclaurin_range, uniform_components, uniform_error
from .nystrom import nystrom_error, nystrom_landmarks
from .projection import projection_error, projection_norm, projection_residual
from .tensor_sketch import pham_pagh_variance, sketch_range, tensor_sketch_components, tensor_sketch_variance

__all__ = [
    "fourier_uniform_components",
    "fourier_uniform_error",
    "hoeffding_count",
    "hoeffding_error",
    "maclaurin_lipschitz",
    "maclaurin_range",
    "norm_error",
    "nystrom_error",
    "nystrom_landmarks",
    "pham_pagh_variance",
    "projection_error",
    "projection_norm",
    "projection_residual",
    "relative_error",
    "sketch_range",
    "tensor_sketch_components",
    "tensor_sketch_variance",
    "uniform_components",
    "uniform_error",
]
