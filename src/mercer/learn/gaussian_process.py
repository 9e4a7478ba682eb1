"""The Gaussian process behind ridge regression: uncertainties, samples, and the gradient of the likelihood.

Ridge regression on features is the mean of a Gaussian process whose kernel is the product of features. A machine that
has kept its sums has a :class:`Posterior` of its coefficients; what landmarks miss of the kernel is added to it, as a
part of the process of which the rows have told nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._array import Array, dense, double
from .._checks import check_truth, check_whole
from .._memory import check_room
from .._random import RandomState, Stream, as_seed
from ..data.block import Block, concatenated
from ..data.table_rows import placed
from ..gpu.exchange import in_kind_of_rows
from .argument_types import WeightArgument
from .features.missed_kernel import missed_diagonal, missed_matrix, misses_kernel
from .likelihood_gradient import LikelihoodGradient, LikelihoodSlopes, likelihood_gradient
from .machine import numbered
from .moment_machine import MomentMachine
from .solvers.posterior import Posterior, semidefinite_root
from .training_rows.region import Region

Matrix = NDArray[np.float64]

LIKELIHOOD_ROWS = 1024
"""The number of rows whose contribution to the gradient of the likelihood is computed at once."""
JOINT_ROWS = 2048
"""The largest number of rows for which the part that landmarks miss is drawn jointly: the time grows with its cube."""


class GaussianProcessMachine(MomentMachine):
    """Ridge regression that tells, from its sums over the rows, how uncertain it is."""

    alpha_: float
    intercept_: float | Matrix

    @property
    @abstractmethod
    def has_one_target(self) -> bool:
        """Whether the targets of ``fit`` were one number for every row."""

    @property
    @abstractmethod
    def predicted_region(self) -> Region | None:
        """The region to whose surface rows outside are moved before they are predicted; None if they are not moved."""

    @abstractmethod
    def size_of_predictions(self) -> Matrix | None:
        """Return the size of predictions before a link, one number per row of coefficients; None if not known."""

    def posterior(self) -> Posterior:
        """Return the uncertainty of the coefficients; it needs the sums over the rows, as ``return_std`` does.

        Returns
        -------
        Posterior
            The distribution of the coefficients given the rows of ``fit``.
        """
        posterior = Posterior.of(self._held(), self.alpha_, bool(self.fit_intercept), self._precision)
        if posterior is None:
            raise ValueError(
                f"standard deviations need an alpha larger than {self.alpha_:g}, because the features are dependent"
            )
        return posterior

    def log_marginal_likelihood_gradient(
        self, X: Any, y: Any = None, sample_weight: WeightArgument = None
    ) -> LikelihoodGradient:
        """Compute how ``log_marginal_likelihood_`` changes with alpha, the kernel and the scales of columns.

        It serves to maximise the likelihood by gradient ascent. It takes one pass over the rows, whose sums must have
        been kept, and requires a map with gradients in closed form.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            All rows that the model was trained on.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Their targets; None if X is a table, which has its own.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Their weights.

        Returns
        -------
        LikelihoodGradient
            The gradient, with ``alpha``, ``fields`` and ``columns``.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Gaussian
        >>> from mercer.learn import KernelRegressor
        >>> X = np.random.default_rng(0).uniform(-3, 3, size=(300, 2))
        >>> y = np.sin(2 * X[:, 0]) + np.random.default_rng(1).normal(scale=0.1, size=300)
        >>> model = KernelRegressor(Gaussian(0.5), map="nystrom", alpha="evidence", keep_statistics=True)
        >>> found = model.fit(X, y).log_marginal_likelihood_gradient(X, y)
        >>> bool(found.columns[0] > 0 > found.columns[1])
        True
        """
        check_is_fitted(self)
        rows = self._more(X, y, sample_weight)
        slopes = LikelihoodSlopes(self._held(), self.posterior())

        def parts() -> Iterator[tuple[Any, Matrix, Matrix, Matrix | None]]:
            for chunk in rows.chunks(LIKELIHOOD_ROWS):
                prepared = np.asarray(double(dense(chunk.X)))
                yield prepared, double(self.features_of(chunk.X, chunk.first)), *self._targets(chunk)

        return likelihood_gradient(self.map_, slopes, parts())

    def _deviations(self, X: Any) -> Matrix:
        """Return the standard deviations of new targets, one column per target."""
        posterior = self.posterior()

        def deviations(rows: Array, first: int) -> Matrix:
            Z = self.features_of(rows, first)
            return posterior.deviations(Z, missed_diagonal(self.map_, rows, Z))

        return self._by_rows(X, deviations)

    def _covariances(self, X: Any) -> Matrix:
        """Return the covariances of new targets at all rows, one matrix per target along the last axis."""
        posterior = self.posterior()
        return posterior.covariance(*self._features_and_missed(X))[:, :, None] * posterior.noise

    def _features_and_missed(self, X: Any) -> tuple[Matrix, Matrix | None]:
        """Return the features of rows, and the part of their kernel matrix that these miss, if it is known."""
        table = self._table_of(X)
        parts = [
            Block(placed(table, self.preparation_, block.X, range(first, first + block.X.shape[0])), None, None)
            for first, block in numbered(table)
        ]
        rows = concatenated(parts).X
        count = int(rows.shape[0])
        check_room(3 * 8 * count**2, f"the covariance of {count} rows", None)
        Z = self.features_of(rows, 0).astype(np.float64, copy=False)
        return Z, missed_matrix(self.map_, rows, Z)

    @in_kind_of_rows
    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: RandomState = 0, *, noise: bool = True
    ) -> NDArray[np.float64]:
        """Draw targets of rows from their distribution given the rows of ``fit``.

        Every sample is one function of the rows, with coefficients drawn from their distribution, so that its cost is
        linear in the number of rows. The part of the kernel that landmarks miss is drawn jointly for up to 2,048 rows,
        whose covariance is then that of ``predict`` with ``return_cov``, and for more rows independently. It needs the
        same sums as standard deviations.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        n_samples : int, default=1
            The number of samples.
        random_state : int, Generator, RandomState or None, default=0
            The seed. If more samples are drawn, the first ones remain the same.
        noise : bool, default=True
            Whether samples are new observations, with the deviations that ``predict`` returns with ``return_std``. If
            False, they are the functions behind the observations, for more than 2,048 rows without the part of the
            kernel that landmarks miss, which cannot be drawn cheaply.

        Returns
        -------
        ndarray of shape (n_rows, n_samples) or (n_rows, n_targets, n_samples)
            The samples.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.learn import KernelRegressor
        >>> X = np.linspace(0, 6, 200)[:, None]
        >>> y = np.sin(X[:, 0]) + np.random.default_rng(0).normal(scale=0.1, size=200)
        >>> model = KernelRegressor("gaussian", alpha="evidence", keep_statistics=True, random_state=0).fit(X, y)
        >>> drawn = model.sample_y(X, 500, noise=False)
        >>> drawn.shape, bool(np.abs(drawn.mean(axis=1) - model.predict(X)).max() < 0.02)
        ((200, 500), True)
        """
        check_is_fitted(self)
        check_whole("n_samples", n_samples)
        check_truth("noise", noise)
        posterior, rng = self.posterior(), Stream(as_seed(random_state), "sample_y")
        coef, targets = np.atleast_2d(self.coef_).astype(np.float64), np.size(self.intercept_)
        drawn, constants = posterior.coefficients(rng, coef, n_samples)
        centre = np.atleast_1d(self.intercept_) + coef @ posterior.feature_mean
        constants = constants + centre[:, None] - drawn @ posterior.feature_mean
        size = self.size_of_predictions()
        size = None if size is None else np.repeat(size, n_samples)
        flat = drawn.reshape(targets * n_samples, -1), constants.ravel()
        y = self.linear_values(X, *flat, np.float64, size, within=self.predicted_region)
        y = y.reshape(len(y), targets, n_samples)
        variance = posterior.noise * np.ones((len(y), 1)) if noise else None
        if misses_kernel(self.map_) and len(y) <= JOINT_ROWS:
            turns = rng.child("missed").normals((n_samples, targets, len(y))).transpose(2, 1, 0)
            missed = self._features_and_missed(X)[1]
            assert missed is not None
            root = semidefinite_root(missed)
            y += np.sqrt(posterior.noise / posterior.alpha)[:, None] * np.tensordot(root, turns, axes=1)
        elif misses_kernel(self.map_) and noise:
            each = self._by_rows(X, self._missed)
            variance = posterior.noise * (1.0 + each[:, None] / posterior.alpha)
        if variance is not None:
            normals = rng.child("noise").normals((n_samples, targets, len(y)))
            y += np.sqrt(variance)[:, :, None] * normals.transpose(2, 1, 0)
        return y[:, 0] if self.has_one_target else y

    def _missed(self, rows: Array, first: int) -> Matrix:
        """Return the part of k(x, x) that landmarks miss at prepared rows."""
        missed = missed_diagonal(self.map_, rows, self.features_of(rows, first))
        assert missed is not None
        return missed
