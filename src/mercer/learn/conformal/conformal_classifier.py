"""ConformalClassifier: sets of classes from the predictions of a classifier."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..._array import to_numpy
from ..._checks import check_choice, check_probability
from ..._random import RandomState
from ...gpu.exchange import in_kind_of_rows
from ...scale import lazily
from ..argument_types import WeightArgument
from ..classifier import KernelClassifier
from ..passes.fit_tasks import inner_fit, tells_of_estimator
from ..targets.labels import checked_labels
from .conformal_predictor import ConformalPredictor
from .groups import known_codes, learned_groups, warn_of_small
from .order_statistics import bound
from .splittable_rows import RowsHere, rows_in_memory, splittable

Matrix = NDArray[np.float64]

CONFORMITIES = ("probability", "cumulated")
ROUNDING = 1e-12
"""Probabilities that differ by less than this are equal."""


class ConformalClassifier(ClassifierMixin, ConformalPredictor):
    r"""Sets of classes that contain the true class of a new row with a given probability, for any classifier.

    Parameters
    ----------
    estimator : KernelClassifier
        The classifier, which is cloned and not changed. It must have one task, and probabilities.
    conformity : {"probability", "cumulated"}, default="probability"
        The score of a class. "probability" is one minus its probability, which gives the smallest sets on average, but
        possibly empty ones if no class is likely [1]_. "cumulated" adds up the probabilities of all classes that are at
        least as likely: its sets contain the most likely class and grow for difficult rows, but their coverage is
        somewhat higher than requested ([2]_, without random ties).
    coverage : float, default=0.9
        The share of new rows whose class should be in their set.
    holdout : float, default=0.25
        The share of rows that are set aside.
    random_state : int, Generator, RandomState or None, default=None
        The seed that chooses them.

    Attributes
    ----------
    estimator_ : KernelClassifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        The labels, in order.
    scores_ : ndarray of shape (n_calibration_rows,)
        The scores of the rows that were set aside, for their own classes.
    groups_ : ndarray of shape (n_groups,)
        The groups, in order.
    group_codes_ : ndarray of shape (n_calibration_rows,)
        The number of the group of each of these rows.
    is_grouped_ : bool
        Whether ``fit`` was given groups.
    seed_ : int
        The seed that was used.
    n_features_in_ : int
        The number of columns that ``fit`` has seen.

    Notes
    -----
    A share of the rows is set aside. A class is in the set of a new row unless its score is above the :math:`\lceil
    (1-\alpha)(n+1) \rceil`-th smallest score that the n rows set aside have for their own classes. If new rows come
    from the same source, in random order, sets contain the true class with a probability of at least :math:`1 -
    \alpha`, and at most :math:`1 - \alpha + 1 / (n + 1)` if no scores are equal, over the draw of all rows and for any
    classifier.

    This is the coverage of all rows together, or of a group if ``fit`` was given groups. It is not that of every class:
    a class that is rare or hard to tell from others is covered less, and the others more. If one row in a hundred is of
    a class that lies between others, its rows may hardly ever be covered (``benchmarks/README.md``).

    References
    ----------
    .. [1] Sadinle, Lei and Wasserman, Least ambiguous set-valued classifiers with bounded error levels, JASA 2019.
    .. [2] Romano, Sesia and Candes, Classification with valid and adaptive coverage, NeurIPS 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import ConformalClassifier, KernelClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = np.digitize(X[:, 0] + rng.normal(scale=0.4, size=2000), [-0.5, 0.5])
    >>> model = ConformalClassifier(KernelClassifier(n_components=64, random_state=0), random_state=0)
    >>> sets = model.fit(X[:1500], y[:1500]).predict_set(X[1500:])
    >>> sets.shape, bool(0.86 < sets[np.arange(500), y[1500:]].mean() < 0.94)
    ((500, 3), True)
    """

    def __init__(
        self,
        estimator: KernelClassifier,
        *,
        conformity: Literal["probability", "cumulated"] = "probability",
        coverage: float = 0.9,
        holdout: float = 0.25,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.conformity = conformity
        self.coverage = coverage
        self.holdout = holdout
        self.random_state = random_state

    def check_arguments(self) -> None:
        """Refuse invalid arguments."""
        if not isinstance(self.estimator, KernelClassifier):
            raise TypeError(f"expected a KernelClassifier as estimator, found {type(self.estimator).__name__}")
        super().check_arguments()
        check_choice("conformity", self.conformity, CONFORMITIES)

    @tells_of_estimator
    def fit(self, X: Any, y: Any = None, sample_weight: WeightArgument = None, groups: Any = None) -> Self:
        """Fit the classifier to most rows, and learn from the others how large sets must be.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Dask collection
            The rows. Of a Dask collection, the rows that are set aside come to this process.
        y : array-like of shape (n_samples,), default=None
            The labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights of the rows for the classifier. The rows that are set aside all count equally.
        groups : array-like of shape (n_samples,) or None, default=None
            Groups of rows, each of which is covered separately, by the scores of its own rows. They must be known for
            new rows.

        Returns
        -------
        ConformalClassifier
            The fitted predictor itself.
        """
        self.check_arguments()
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        given = splittable(X, y, sample_weight)
        labels = checked_labels(given.targets)
        check_consistent_length(X if isinstance(given, RowsHere) else labels, labels)
        known, codes = learned_groups(groups, len(labels))
        order = self._shuffled(given)
        kept, aside = self._kept_and_aside(order)
        model = clone(self.estimator)
        with inner_fit(self, model):
            given.fit(model, kept, classes=np.unique(labels[order]))
        scores = self._scores(model, given.rows(aside))
        self.estimator_, self.classes_ = model, model.classes_
        self.scores_ = scores[np.arange(len(aside)), np.searchsorted(model.classes_, labels[aside])]
        self.groups_, self.group_codes_, self.is_grouped_ = known, codes[aside], groups is not None
        warn_of_small(known, self.group_codes_, float(self.coverage), self.is_grouped_)
        return self

    def _scores(self, model: KernelClassifier, X: Any) -> Matrix:
        """Return how untypical of each class every row is, one column per class."""
        chances = np.asarray(to_numpy(model.predict_proba(X)), dtype=np.float64)
        if self.conformity == "probability":
            return 1.0 - chances
        order = np.argsort(-chances, axis=1, kind="stable")
        sums = np.cumsum(np.take_along_axis(chances, order, axis=1), axis=1)
        found = np.empty_like(sums)
        np.put_along_axis(found, order, sums, axis=1)
        return found

    def predict(self, X: Any) -> Any:
        """Return the predictions of the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), data frame or Table
            The rows, in memory or as a table from :func:`mercer.data.open`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities, one column per class.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @lazily
    @in_kind_of_rows
    def predict_set(self, X: Any, coverage: float | None = None, groups: Any = None) -> NDArray[np.bool_]:
        """Return the sets of classes of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or data frame
            The rows.
        coverage : float or None, default=None
            A coverage to use instead of the one given to the constructor; nothing has to be fitted again.
        groups : array-like of shape (n_samples,) or None, default=None
            The groups of the rows, if ``fit`` was given groups.

        Returns
        -------
        bool ndarray of shape (n_samples, n_classes)
            Whether each class, in the order of ``classes_``, is in the set of a row.
        """
        check_is_fitted(self)
        level = float(self.coverage if coverage is None else coverage)
        check_probability("coverage", level)
        X = rows_in_memory(X)
        codes = known_codes(groups, self.groups_, self.is_grouped_, int(X.shape[0]))
        scores = self._scores(self.estimator_, X)
        bounds = np.full(len(self.groups_), np.nan)
        for one in np.unique(codes):
            bounds[one] = bound(self.scores_[self.group_codes_ == one], level)
        sets = scores <= bounds[codes][:, None] + ROUNDING
        if self.conformity == "cumulated":
            sets[np.arange(len(sets)), scores.argmin(axis=1)] = True
        return sets

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.estimator.__sklearn_tags__().classifier_tags.poor_score
        return tags
