r"""The gradient of the marginal likelihood with respect to the fields of the kernel and one scale per column.

Let z be the centred features of a row, y its centred targets, s its weight, r its residual, w the coefficients,
:math:`\sigma^2` the noise variance with the highest likelihood, and A the second moments of the features plus alpha.
The derivative of the log-density with respect to z is

.. math:: g = s \Bigl(\frac{r}{\sigma^2}\, w - A^{-1} z\Bigr),

summed over targets, and the chain rule of the map leads back to the rows and the kernel. Features of landmarks L depend
on the kernel in two ways: features are :math:`k(x, L) R` with :math:`R R^\top = k(L, L)^{-1}`, whose change adds the
sum of
:math:`-\tfrac{1}{2} R B R^\top` times the change of :math:`k(L, L)`, with :math:`B = \alpha A^{-1} - I + \alpha
w w^\top / \sigma^2`. Since the noise maximises the likelihood, its own change does not contribute.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from .._array import dense, double
from ..kernels import Kernel
from ..kernels.algebra import Scaled
from ..maps import FeatureMap
from ..maps.nystrom_parameters import restored
from .solvers.evidence import Evidence
from .solvers.posterior import Posterior
from .statistics import Moments

Matrix = NDArray[np.float64]


class LikelihoodGradient(NamedTuple):
    """The derivatives of ``log_marginal_likelihood_`` with respect to logarithms.

    Attributes
    ----------
    alpha : float
        With respect to the logarithm of alpha.
    fields : dict of ndarray
        With respect to the logarithms of the kernel's positive fields, by their names in ``kernel_.get_params()``:
        numbers, or one number per column. For sums and products of kernels, and for the ``coef0`` of a polynomial, they
        are available only with landmarks; the fields of compositions, such as ``f.of(k)``, and the ``nu`` of a Matern
        kernel are not among them.
    columns : ndarray of shape (n_prepared_columns,)
        With respect to the logarithms of factors by which prepared columns are multiplied.
    """

    alpha: float
    fields: dict[str, Matrix]
    columns: Matrix


class LikelihoodSlopes:
    """The derivatives with respect to the features of rows.

    Parameters
    ----------
    moments : Moments
        The moments of all rows.
    posterior : Posterior
    """

    def __init__(self, moments: Moments, posterior: Posterior):
        centred = moments.centred(posterior.intercept)
        self.posterior, self._target_mean = posterior, centred.target_mean
        self._coef = scipy.linalg.cho_solve(posterior.factor, centred.cross)
        weight = posterior.weight - posterior.intercept
        evidence = Evidence.of_factor(posterior.factor, posterior.alpha, self._coef, centred, weight)
        self._noise, self._inverse = evidence.noise, scipy.linalg.cho_solve(posterior.factor, np.eye(len(self._coef)))

    def at(self, Z: Matrix, Y: Matrix, weight: Matrix | None) -> Matrix:
        """Return the derivatives with respect to these features."""
        about = Z - self.posterior.feature_mean
        residuals = Y - self._target_mean - about @ self._coef
        found = (residuals / self._noise) @ self._coef.T - len(self._noise) * about @ self._inverse
        return found if weight is None else found * weight[:, None]

    @property
    def products(self) -> Matrix:
        """Return B, summed over targets: the products of the features of all rows and these derivatives."""
        alpha, held = self.posterior.alpha, len(self._noise)
        found = held * (alpha * self._inverse - np.eye(len(self._inverse)))
        return found + alpha * (self._coef / self._noise) @ self._coef.T

    @property
    def of_alpha(self) -> float:
        """Return the derivative with respect to log(alpha), which is minus the derivative with respect to log(k)."""
        return -0.5 * float(np.trace(self.products))


def likelihood_gradient(
    map: FeatureMap, slopes: LikelihoodSlopes, parts: Iterator[tuple[Any, Matrix, Matrix, Matrix | None]]
) -> LikelihoodGradient:
    """Return the gradient of the likelihood with respect to the kernel of a map.

    Parameters
    ----------
    map : FeatureMap
        Fitted.
    slopes : LikelihoodSlopes
    parts : iterator of tuple
        Prepared rows, dense and in float64, their features, targets and weights, a few rows at a time.
    """
    kernel, fitted = map.kernel_, map.fitted_
    if not isinstance(kernel, Kernel):
        raise ValueError(f"{kernel!r} has no derivatives with respect to columns")
    columns, fields = np.zeros(int(map.n_features_in_)), dict[str, Matrix]()
    if not fitted.construction.evaluates_kernel:
        for X, Z, Y, weight in parts:
            columns += (X * fitted.pullback(X, slopes.at(Z, Y, weight))).sum(axis=0)
        inner = kernel.kernel if isinstance(kernel, Scaled) else kernel
        fields = inner.fields_that_stretch(columns)
        if inner is not kernel:
            fields = {"weight": np.asarray(-slopes.of_alpha)} | {f"kernel__{name}": one for name, one in fields.items()}
        return LikelihoodGradient(slopes.of_alpha, fields, columns)
    if not kernel.has_gradient:
        raise ValueError(f"{kernel!r} has no derivatives with respect to columns")
    landmarks = np.asarray(double(dense(restored(fitted.parameters.landmarks, int(map.n_features_in_)))))
    root = fitted.parameters.whitening

    def add(X: Matrix, weights: Matrix) -> None:
        nonlocal columns
        here = kernel.column_gradients(X, landmarks, weights)
        columns = columns + here
        if kernel.scale_powers:
            of_fields = kernel.fields_that_stretch(here) | kernel.other_field_gradients(X, landmarks, weights)
        else:
            of_fields = kernel.field_gradients(X, landmarks, weights)
        for name, found in of_fields.items():
            fields[name] = fields.get(name, np.zeros(())) + found

    for X, Z, Y, weight in parts:
        add(X, slopes.at(Z, Y, weight) @ root.T)
    add(landmarks, -0.5 * root @ slopes.products @ root.T)
    return LikelihoodGradient(slopes.of_alpha, fields, columns)
