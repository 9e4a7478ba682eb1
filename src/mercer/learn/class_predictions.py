"""What a classifier says of rows: decision values, classes, probabilities and scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..data import Table
from .arguments import WeightArgument
from .labels import Classes, Tasks, checked_labels, each, log_probabilities, probabilities
from .machine import KernelMachine

Matrix = NDArray[np.float64]


class ClassPredictions(KernelMachine):
    """A machine with classes, and coefficients for each."""

    loss: str
    classes_: Classes
    coef_: Matrix
    intercept_: Matrix

    def decision_function(self, X: Any) -> Any:
        """How far rows are on the side of each class; of two classes, on that of the second.

        Parameters
        ----------
        X : dense or CSR matrix, pandas or polars frame, or a table

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_classes); for several tasks a list of such
        """
        check_is_fitted(self)
        return Tasks(self.classes_).apart(self.linear_values(X, self.coef_, self.intercept_))

    def predict(self, X: Any) -> NDArray[Any]:
        """The classes of rows.

        Parameters
        ----------
        X : dense or CSR matrix, pandas or polars frame, or a table

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_tasks)
        """
        check_is_fitted(self)
        return Tasks(self.classes_).predicted(self.linear_values(X, self.coef_, self.intercept_))

    @available_if(lambda self: self.loss == "logistic")
    def predict_proba(self, X: Any) -> Any:
        """The probability of every class, a column each.

        Parameters
        ----------
        X : dense or CSR matrix, pandas or polars frame, or a table

        Returns
        -------
        array of shape (n_rows, n_classes); for several tasks a list of such
        """
        return each(probabilities, self.decision_function(X))

    @available_if(lambda self: self.loss == "logistic")
    def predict_log_proba(self, X: Any) -> Any:
        """The logarithms of ``predict_proba``.

        Parameters
        ----------
        X : dense or CSR matrix, pandas or polars frame, or a table
        """
        return each(log_probabilities, self.decision_function(X))

    def score(self, X: Any, y: Any = None, sample_weight: WeightArgument = None) -> float:
        """The share of rows whose class is predicted; for several tasks, of those of which every class is.

        Parameters
        ----------
        X, y, sample_weight : as for ``fit``
        """
        if isinstance(X, Table):
            y, predicted, sample_weight = self.observed(X, self.predict)
        else:
            predicted = self.predict(X)
        if predicted.ndim == 1:
            return float(accuracy_score(y, predicted, sample_weight=sample_weight))
        weights = None if sample_weight is None else np.asarray(sample_weight)
        return float(np.average((predicted == checked_labels(y)).all(axis=1), weights=weights))
