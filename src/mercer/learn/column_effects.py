r"""The effect of columns on predictions: gradients, explanations of rows, and importances.

A machine is a linear model on features, :math:`f(x) = \langle w, z(x)\rangle + b`, and every map has the gradient of
its features in closed form, so the gradients of f are exact.

- A *gradient* is in the units of the user's columns, by the chain rule through the preparation.
- An *explanation* divides the difference between f(x) and f at a baseline among the columns. The gradient is integrated
  along the line from the baseline to the row, in prepared columns, where tails are tamed; the contributions of the
  columns add up to the difference (Sundararajan, Taly and Yan, Axiomatic attribution for deep networks, 2017).
- The *importance* of a column is the mean, over rows, of the variance that f would have at a row if only this column
  were drawn again and f were linear: the squared gradient times the variance of the column. Columns of 0 and 1 that
  represent the levels of one column are drawn together, with their covariance; so are the parts of dates, and the
  indicator of missing values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._array import dense, double, to_numpy
from .._caller import warn_caller
from .._checks import check_whole
from .._tiles import single_threaded_blas
from ..data import ArrayTable, Table
from ..data.block import part_of
from ..data.table_rows import placed
from ..gpu.exchange import in_kind_of_rows
from ..kernels import Kernel
from ..maps.executor import features
from ..maps.nystrom_parameters import restored
from .machine import KernelMachine, numbered

Matrix = NDArray[np.float64]

ROWS_AT_ONCE = 256
MOST_ROWS = 2048
"""The largest number of rows for importances; of more rows, this many evenly spaced ones are used."""
N_POINTS = 16
"""The first number of points between the baseline and a row: the integral is exact for polynomials of degree 31."""
MOST_POINTS = 512
COMPLETE = 1e-3
"""How far the sum of contributions may be off, as a share of their sizes, before more points are used."""
INCOMPLETE = 0.05
"""How far it may be off with the largest number of points before there is a warning."""


class ColumnEffects(KernelMachine):
    """A linear model on features that explains the effect of its columns."""

    coef_: NDArray[Any]

    @in_kind_of_rows
    def gradient(self, X: Any) -> Matrix:
        r"""Compute the derivatives of decision values with respect to the columns.

        These are the derivatives of :math:`\langle w, z(x)\rangle`: of the predictions of a regressor, or of their
        logarithm with ``loss="poisson"``, and of the ``decision_function`` of a classifier, or its latent mean with
        ``probabilities="laplace"``, inside the region of the rows of ``fit``. The map must have a gradient in closed
        form, as all maps have except :class:`mercer.Nystrom` with kernels that have no derivatives.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_rows, n_columns) or (n_rows, n_outputs, n_columns)
            The derivatives, in units of the output per unit of the column; 0 at missing values, and for dropped
            columns. A column of levels has one entry per level, and dates in parts have one per part:
            ``preparation_.encoded_labels`` returns their names.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.learn import KernelRegressor
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
        >>> model = KernelRegressor(alpha=1e-4, random_state=0).fit(X, X[:, 0] ** 2)
        >>> (model.gradient([[0.5, 0.5]]) + 0.0).round(2)
        array([[1., 0.]])
        """
        parts = []
        for raw, prepared in self._parts(X):
            slopes = self._slopes(prepared)
            each = [self.preparation_.pullback(raw, slopes[:, output]) for output in range(slopes.shape[1])]
            parts.append(np.stack(each, axis=1))
        return self._by_output(np.concatenate(parts))

    @in_kind_of_rows
    def explain(self, X: Any, baseline: Any = None, n_points: int | None = None) -> Matrix:
        """Divide the decision values of rows among the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.
        baseline : array-like, sparse matrix, data frame, Table or None, default=None
            Rows whose mean, after preparation, is the point of comparison. None uses the landmarks, which are rows of
            ``fit``, or the rows of X if the map has no landmarks.
        n_points : int or None, default=None
            The number of points between the baseline and a row at which gradients are computed. None means 16, doubled
            up to 512 for rows whose contributions do not add up to within a thousandth of their sizes, as with kernels
            that have kinks. There is a warning if that leaves contributions that are off by more than a twentieth.

        Returns
        -------
        ndarray of shape (n_rows, n_features_in_) or (n_rows, n_outputs, n_features_in_)
            The contribution of every column to the decision value. The sum over columns is the decision value minus the
            one at the baseline, inside the region of the rows of ``fit`` and up to the precision of the integral.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.learn import KernelRegressor
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
        >>> model = KernelRegressor(alpha=1e-4, random_state=0).fit(X, X[:, 0] + 2 * X[:, 1])
        >>> model.explain([[0.5, -0.5]], baseline=[[0.0, 0.0]]).round(2)
        array([[ 0.5, -1. ]])
        """
        if n_points is not None:
            check_whole("n_points", n_points)
        if baseline is None:
            known = self._landmarks()
            known = np.concatenate([rows for _, rows in self._parts(X)]) if known is None else known
        else:
            known = np.concatenate([rows for _, rows in self._parts(baseline)])
        start, parts = known.mean(axis=0), []
        n_incomplete = 0
        for _, rows in self._parts(X):
            found = self._contributions(start, rows - start, N_POINTS if n_points is None else n_points)
            n_incomplete += self._complete(start, rows, found) if n_points is None else 0
            parts.append(found)
        if n_incomplete:
            warn_caller(
                f"the contributions of {n_incomplete} rows are off by more than {INCOMPLETE:.0%} of their sizes, "
                "because the decision values vary too quickly between the baseline and these rows: scale the columns, "
                "or give a baseline that is closer"
            )
        return self._by_output(self._by_source(np.concatenate(parts)))

    def importances(self, X: Any) -> Matrix:
        """Compute how much every column matters among rows, as a share.

        This is the variance that predictions at a row would have if only this column were drawn again and they were
        linear, averaged over rows: the mean squared gradient times the variance of the column. All outputs count
        equally.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            At least two rows; of more than 2,048, that many evenly spaced ones are used.

        Returns
        -------
        ndarray of shape (n_features_in_,)
            Shares that add up to 1, or zeros if predictions do not change.
        """
        check_is_fitted(self)
        table = self._table_of(X) if isinstance(X, Table) else self._thinned(X)
        parts = [prepared for _, prepared in self._parts_of(table)]
        count = sum(map(len, parts))
        if count < 2:
            raise ValueError(f"importances are about differences between rows: expected at least 2, found {count}")
        return self._importances(np.concatenate(parts))

    @property
    def feature_importances_(self) -> Matrix:
        """The importances of columns among the landmarks of the map, which are rows of ``fit``.

        Other maps keep no rows: give rows to :meth:`importances`.
        """
        landmarks = self._landmarks() if hasattr(self, "map_") and hasattr(self, "coef_") else None
        if landmarks is None:
            raise AttributeError(
                "feature_importances_ needs a fitted machine with landmarks, which are rows of fit: give rows to "
                "importances(X)"
            )
        if not self.map_.kernel_.has_gradient:
            raise AttributeError(f"{self.map_.kernel_!r} has no derivatives with respect to columns")
        return self._importances(landmarks)

    # -- prepared rows and their slopes --------------------------------------------------------------------------------

    @property
    def _coefficients(self) -> Matrix:
        return np.atleast_2d(self.coef_).astype(np.float64)

    def _landmarks(self) -> Matrix | None:
        """Return the landmarks of the map, prepared, if they come from rows of numbers; otherwise None."""
        params = self.map_.fitted_.parameters
        if not (self.map_.fitted_.construction.evaluates_kernel and isinstance(self.map_.kernel_, Kernel)):
            return None
        return np.asarray(double(dense(restored(params.landmarks, self.map_.n_features_in_))))

    def _thinned(self, X: Any) -> Table:
        """Return rows in memory, at most as many as are used."""
        X = self._checked(X, reset=False)
        count = int(X.shape[0])
        return ArrayTable(part_of(X, np.arange(0, count, -(-count // MOST_ROWS))) if count > MOST_ROWS else X)

    def _table_of(self, X: Any) -> Table:
        return self._adopted(X.features(), False) if isinstance(X, Table) else ArrayTable(self._checked(X, False))

    def _parts(self, X: Any) -> Iterator[tuple[Any, Matrix]]:
        """Yield a few rows at a time, as given and as dense prepared rows."""
        check_is_fitted(self)
        yield from self._parts_of(self._table_of(X))

    def _parts_of(self, table: Table) -> Iterator[tuple[Any, Matrix]]:
        for first, block in numbered(table):
            for start in range(0, block.X.shape[0], ROWS_AT_ONCE):
                raw = part_of(block.X, slice(start, start + ROWS_AT_ONCE))
                numbers = range(first + start, first + start + raw.shape[0])
                yield raw, np.asarray(double(dense(to_numpy(placed(table, self.preparation_, raw, numbers)))))
        self.preparation_.new_entries.clear()

    def _slopes(self, prepared: Matrix) -> Matrix:
        """Return derivatives of decision values with respect to prepared columns: (n_rows, n_outputs, n_prepared)."""
        with single_threaded_blas():
            each = [self.map_.fitted_.pullback(prepared, one[None]) for one in self._coefficients]
        return np.stack(each, axis=1)

    def _contributions(self, start: Matrix, away: Matrix, n_points: int) -> Matrix:
        """Return slopes integrated along lines from a start, times the steps: (n_rows, n_outputs, n_prepared)."""
        points, shares = np.polynomial.legendre.leggauss(n_points)
        mean = np.zeros((len(away), len(self._coefficients), away.shape[1]))
        for point, share in zip((0.5 * (points + 1.0)).tolist(), (0.5 * shares).tolist(), strict=True):
            mean += share * self._slopes(start + point * away)
        return mean * away[:, None]

    def _complete(self, start: Matrix, rows: Matrix, found: Matrix) -> int:
        """Replace contributions that do not add up, using more and more points; return how many still do not."""
        at_rows, at_start = (features(self.map_.fitted_, one, 1) for one in (rows, start[None]))
        wanted, n_points = (at_rows - at_start) @ self._coefficients.T, N_POINTS

        def are_off(share: float) -> NDArray[np.bool_]:
            off = np.abs(found.sum(axis=2) - wanted)
            return np.asarray((off > share * np.abs(found).sum(axis=2)).any(axis=1))

        while n_points < MOST_POINTS:
            n_points *= 2
            again = np.flatnonzero(are_off(COMPLETE))
            if not len(again):
                break
            found[again] = self._contributions(start, rows[again] - start, n_points)
        return int(np.count_nonzero(are_off(INCOMPLETE)))

    def _by_output(self, effects: Matrix) -> Matrix:
        """Remove the axis of outputs if there is only one, for one target or two classes."""
        alone = np.ndim(self.coef_) == 1 or (hasattr(self, "classes_") and len(self.coef_) == 1)
        return effects[:, 0] if alone else effects

    def _by_source(self, effects: Matrix) -> Matrix:
        """Return sums over the prepared columns that come from the same original column."""
        sources = self.preparation_.prepared_sources(int(self.n_features_in_))
        found = np.zeros((int(self.n_features_in_), *effects.shape[:-1]))
        np.add.at(found, sources, np.moveaxis(effects, -1, 0))
        return np.moveaxis(found, 0, -1)

    def _importances(self, prepared: Matrix) -> Matrix:
        about = prepared - prepared.mean(axis=0)
        variance, sources = np.mean(about**2, axis=0), self.preparation_.prepared_sources(int(self.n_features_in_))
        widths = np.bincount(sources, minlength=int(self.n_features_in_))
        alone, totals = widths[sources] == 1, np.zeros((len(self._coefficients), int(self.n_features_in_)))
        for start in range(0, len(prepared), ROWS_AT_ONCE):
            slopes = self._slopes(prepared[start : start + ROWS_AT_ONCE])
            totals[:, sources[alone]] += ((slopes**2).sum(axis=0) * variance)[:, alone]
            for source in np.flatnonzero(widths > 1).tolist():
                columns = np.flatnonzero(sources == source)
                moves = slopes[:, :, columns] @ about[:, columns].T
                totals[:, source] += np.mean(moves**2, axis=2).sum(axis=0)
        sums = totals.sum(axis=1, keepdims=True)
        shares = np.divide(totals, sums, out=np.zeros_like(totals), where=sums > 0.0)
        return shares.sum(axis=0) / max(1, int(np.count_nonzero(sums)))
