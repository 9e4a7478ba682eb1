r"""The guarantees of the literature as functions, corrected where a paper is wrong.

Every function returns a true bound on an error or on its probability, over the seeds of a map unless it says otherwise,
or the number of features that brings the probability down to ``delta``. The only exception is
:func:`pham_pagh_variance`, which states a false claim under the names of its authors. The bounds differ in what they
take into account: the less it is, the larger they are:

- **A fitted projection and rows**: :func:`projection_residual` and :func:`projection_error` (Nystrom, TEFM) hold with
  certainty, and are exact on the diagonal; :func:`projection_norm` (TEFM) can fail only through its random probes. Use
  them to certify a map.
- **A map and rows**: Chebyshev's :func:`relative_error` and :func:`norm_error`, from the exact variance, for every map
  that has one; for TensorSketch, before it is fitted, :func:`tensor_sketch_variance` and
  :func:`tensor_sketch_components`. Use them to choose the size of a map: for approximately normal errors they ask for 4
  times too many features at delta = 0.1, and 15 times too many at 0.01.
- **The size of rows**: :func:`hoeffding_error`, for one pair at a time, with :func:`maclaurin_range` or
  :func:`sketch_range`; :func:`uniform_error` (RandomMaclaurin) and :func:`fourier_uniform_error` (RandomFourier), for
  all pairs in a ball or a set at once, and the widths that they require. Use them for rows nobody has seen.
- **The number of rows**: :func:`nystrom_error` and :func:`nystrom_landmarks`, for uniform landmarks.

How loose are the last two kinds? For the Gaussian kernel with gamma = 0.5, d = 10 columns and rows in the unit ball, an
error of at most 0.1 everywhere, except for one seed in a hundred, requires, by :func:`fourier_uniform_components`,

>>> from mercer.bounds import fourier_uniform_components, nystrom_error
>>> from mercer.kernels import Gaussian
>>> fourier_uniform_components(Gaussian(0.5), 2.0, 10, epsilon=0.1, delta=0.01)
40586

features; with 3,700, hill climbing from 96 places found a larger error for 1 of 200 seeds. (Claim 1 of Rahimi and Recht
requires 88,534 frequencies there, which are 177,068 features.) For 2,000 such rows, drawn uniformly, and 200 landmarks,

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
