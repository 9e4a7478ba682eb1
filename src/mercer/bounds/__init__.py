r"""What the papers guarantee, as functions, and corrected where a paper is wrong.

Every function gives a true bound on the probability of an error, over the seeds of a map, or the number of features
that brings it down to ``delta``. Chebyshev's (:func:`relative_error`, :func:`norm_error`) know the rows and the exact
variance of the map and are the ones to size a map with; Hoeffding's and the uniform bound hold for all rows of a ball
and are far too large in practice. Only :func:`pham_pagh_variance` states a claim that is false; its name says whose.
"""

from .chebyshev import norm_error, relative_error
from .fourier import fourier_uniform_components, fourier_uniform_error
from .hoeffding import hoeffding_count, hoeffding_error
from .maclaurin import maclaurin_lipschitz, maclaurin_range, uniform_components, uniform_error
from .nystrom import nystrom_error, nystrom_landmarks
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
    "relative_error",
    "sketch_range",
    "tensor_sketch_components",
    "tensor_sketch_variance",
    "uniform_components",
    "uniform_error",
]
