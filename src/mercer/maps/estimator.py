"""The scikit-learn contract of every feature map, and no mathematics."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from .._array import Array, check_foreign, check_output, is_foreign, is_sparse, on_gpu, to_numpy
from .._checks import check_choice, check_jobs, check_whole
from .._memory import check_memory
from .._random import RandomState, Stream, as_seed
from .._rows import Rows
from .._tiles import single_threaded_blas
from ..data import Table
from ..kernels import Kernel
from ..kernels.base import located
from ..kernels.parse import as_kernel
from .construction import Construction
from .description import MapDescription
from .executor import features, sparse_features
from .fitted_map import FittedMap
from .kernel_parameters import KernelParameters
from .opaque_kernels import as_objects
from .row_checks import check_domain, is_plain, row_check, validated
from .table_input import feature_blocks, rows_to_fit, table_features


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelParameters, ABC):
    """A map Z of rows whose inner products <Z(x), Z(y)> estimate a kernel.

    A subclass names its :class:`~mercer.maps.construction.Construction`, which holds the mathematics, and stores the
    arguments of its constructor.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel of :mod:`mercer.kernels`, or text that :func:`mercer.kernels.parse` reads, such as
        ``"gaussian(0.1)"``, or ``"gaussian"`` with the bandwidth learned from the rows. Text is kept as it is and
        read in ``fit``. Where no kernel is given, the bandwidth of the default one is ``gamma="scale"``, as in
        scikit-learn's ``SVC``. ``Gaussian()``, however, is the kernel with gamma = 1 on rows of any scale.
    n_components : int, default=256
        The width of the output.
    random_state : int, numpy Generator or RandomState, or None, default=None
        An int names the map: it draws the same parameters on every machine. Anything else yields a fresh integer in
        ``fit``, which is kept as ``seed_``.
    n_jobs : int or None, default=None
        The number of threads that map tiles of rows; None means as many as BLAS may use, -1 all cores. The result is
        the same.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with every field a number.
    n_components_ : int
        The width of the output.
    parameters_ : NamedTuple of read-only NumPy arrays
        What was drawn.
    fitted_ : FittedMap
        The construction of the map with its parameters.
    seed_ : int
        The integer that draws these parameters again.
    """

    description: ClassVar[MapDescription] = MapDescription("features of its own", "its own", "", "", "no")
    """What lists of maps and pages say of it."""

    construction: ClassVar[type[Construction]]
    """The mathematics of the map."""

    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {}
    """Arguments that take one of a few values."""

    has_landmarks: ClassVar[bool] = False
    """Whether features belong to landmarks among the rows, so that there are no more of them than rows."""

    fitted_: FittedMap

    def __init__(
        self,
        kernel: Kernel | str,
        *,
        n_components: int = 256,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        self.kernel: Any = kernel
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    # -- from arguments to a fitted map --------------------------------------------------------------------------------

    def fit(self, X: Array, y: Any = None) -> Self:
        """Resolve the kernel on X and draw the parameters.

        Parameters
        ----------
        X : matrix or table
            A dense or CSR matrix of shape (n_rows, n_features), or a table of :mod:`mercer.data`.
        y : ignored

        Returns
        -------
        self : FeatureMap
            The fitted map.
        """
        self.__dict__.pop("fitted_", None)  # a fit that fails leaves no features of other rows behind
        seed = as_seed(self.random_state)
        # The sample depends on the seed alone, so that every map with this seed learns the same bandwidth.
        self.fit_rows(rows_to_fit(self, X, Stream(seed)), seed)
        return self

    def fit_rows(self, rows: Rows, seed: int) -> Self:
        """Learn from validated rows, with the parameters that ``seed`` draws.

        Parameters
        ----------
        rows : Rows
        seed : int
        """
        self.seed_ = seed
        with single_threaded_blas():  # so that what is learned does not depend on the number of threads
            self.adopt(self._drawn(rows, seed))
        return self

    def _drawn(self, rows: Rows, seed: int) -> FittedMap:
        construction = self.construct(rows)
        check_domain(construction.kernel, rows)
        return construction.draw(Stream(seed, type(self).__name__), rows)

    def construct(self, rows: Rows) -> Construction:
        """The construction that the arguments and the rows lead to; parameters can be drawn from it.

        Parameters
        ----------
        rows : Rows

        Returns
        -------
        construction : Construction
        """
        self.check_arguments()
        return self.settled(rows.n_features, kernel=self.resolved_kernel(rows)).adapted(rows)

    def settled(self, n_features: int, **given: Any) -> Construction:
        """The construction before rows are looked at.

        Parameters
        ----------
        n_features : int
            The number of columns.
        given : the resolved ``kernel``, or the constructions of the maps inside this one

        Returns
        -------
        construction : Construction
        """
        # Attributes rather than parameters: a subclass may set some of them itself.
        names = (field.name for field in fields(self.construction))
        arguments = {name: getattr(self, name) for name in names if hasattr(self, name)}
        sizes = {"n_features": n_features, "n_components": int(self.width()), "asked": self.n_components}
        construction = self.construction(**{**arguments, "name": type(self).__name__, **sizes, **given})
        construction.check_kernel()
        return construction.settled()

    def width(self) -> Any:
        """The width that is asked for; ``n_components_`` is what it becomes."""
        return self.n_components

    def resolved_kernel(self, rows: Rows) -> Any:
        """The kernel with every field a number.

        Parameters
        ----------
        rows : Rows
        """
        return as_kernel(self.kernel).resolve(rows)

    def check_arguments(self) -> None:
        """Raise an error that names the first argument with an impossible value."""
        check_whole("n_components", self.width())
        check_jobs(self.n_jobs)
        for name, choices in self._choices.items():
            check_choice(name, getattr(self, name), choices)

    def adopt(self, fitted: FittedMap) -> None:
        """Take over a fitted map, and let the maps inside take over theirs.

        Parameters
        ----------
        fitted : FittedMap
        """
        self.fitted_ = fitted.construction.finished().fitted(fitted.parameters)
        self.n_features_in_ = fitted.construction.n_features
        for part, construction in fitted.construction.inner_maps.items():
            inner: FeatureMap = clone(getattr(self, part)).set_params(n_components=construction.asked)
            inner.adopt(fitted.part(part))
            if hasattr(self, "feature_names_in_") and self.construction.takes_rows(part):
                inner.feature_names_in_ = self.feature_names_in_
            setattr(self, f"{part}_", inner)

    @property
    def is_precomputed(self) -> bool:
        """Whether X is a kernel matrix."""
        return False

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")  # the number of columns is known before the parameters are drawn

    # -- what was learned ----------------------------------------------------------------------------------------------

    @property
    def construction_(self) -> Any:
        """The construction of the fitted map."""
        return self.fitted_.construction

    @property
    def kernel_(self) -> Any:
        """The kernel with every field a number."""
        return self.fitted_.kernel

    @property
    def n_components_(self) -> int:
        """The width of the output."""
        return self.fitted_.n_components

    @property
    def parameters_(self) -> Any:
        """The parameters, a NamedTuple of read-only arrays."""
        return self.fitted_.parameters

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def width_for(self, n_rows: int) -> int:
        """How many features the map is expected to have when fitted to ``n_rows`` different rows.

        Parameters
        ----------
        n_rows : int
        """
        width = int(self.n_components)
        return min(width, n_rows) if self.has_landmarks else width

    @property
    def is_deterministic(self) -> bool:
        """Whether every seed gives the same features, once arguments and rows are given."""
        inner = [getattr(self, part) for part in self.construction.parts]
        return self.construction.deterministic and all(map.is_deterministic for map in inner)

    # -- features ------------------------------------------------------------------------------------------------------

    # scikit-learn would otherwise offer to route ``out`` as metadata of the rows.
    __metadata_request__transform: ClassVar[dict[str, str]] = {"out": UNUSED}

    def transform(self, X: Array, out: Any = None) -> Any:
        """Map rows to features.

        Parameters
        ----------
        X : matrix or table
            A dense or CSR matrix, or a torch or CuPy array, of shape (n_rows, n_features), or a table.
        out : array or None, default=None
            An array of shape (n_rows, n_components_) and the dtype of the features, which is written to and returned.
            Memory that was used before is faster to write than fresh memory. After an error its content is lost.

        Returns
        -------
        Z : array of shape (n_rows, n_components_)
            In the precision, the namespace and on the device of X. Dense, except for maps that say otherwise.
        """
        if not hasattr(self, "fitted_"):  # a hundred times cheaper than the question that follows
            check_is_fitted(self)
        if isinstance(X, Table):
            return table_features(self, X, out)
        given, X = X, X if is_plain(X, self) else self.validated(X, finite=False)
        check_rows = self.kernel_.check_rows
        check = row_check(X, check_rows, lambda: check_rows(self.validated(given)))
        if is_sparse(X) and self.fitted_.keeps_sparse:
            if out is not None:
                raise ValueError("out must be None where sparse rows have sparse features, found an array")
            return sparse_features(self.fitted_, X, self.n_jobs, check)
        if out is None:
            check_memory((X.shape[0], self.n_components_), X.dtype.itemsize, "the array of features")
        else:
            check_output(out, X, self.n_components_)
        return features(self.fitted_, X, self.n_jobs, out=out, check=check)

    def transform_blocks(self, table: Table) -> Iterator[Any]:
        """Map the rows of a table block by block, for tables whose features do not fit in memory.

        Parameters
        ----------
        table : Table

        Yields
        ------
        Z : array of shape (n_rows_of_block, n_components_)
        """
        check_is_fitted(self)
        return feature_blocks(self, table)

    # -- moments of the estimate ---------------------------------------------------------------------------------------

    def mean(self, X: Array, Y: Any = None) -> NDArray[np.float64]:
        """The exact mean, over seeds, of the estimate <Z(x), Z(y)>: the kernel itself where the map is unbiased.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
        Y : matrix of shape (n_other_rows, n_features) or None, default=None
            None means X.

        Returns
        -------
        mean : array of shape (n_rows, n_other_rows)
        """
        return self.fitted_.mean(*self.validated_pair(X, Y))

    def variance(self, X: Array, Y: Any = None) -> NDArray[np.float64]:
        """The exact variance, over seeds, of the estimate <Z(x), Z(y)> for every row x of X and y of Y.

        What the map learned from data, and not from the seed, is held fixed.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
        Y : matrix of shape (n_other_rows, n_features) or None, default=None
            None means X.

        Returns
        -------
        variance : array of shape (n_rows, n_other_rows)
        """
        X, Y = self.validated_pair(X, Y)
        with np.errstate(over="ignore", invalid="ignore"):
            variance = self.fitted_.variance(X, Y)
        return np.where(np.isnan(variance), np.inf, variance)  # inf - inf: beyond what float64 can tell

    def validated_pair(self, X: Array, Y: Array) -> tuple[Any, Any]:
        """Two sets of rows in float64, or of objects, that the kernel takes; Y = None means X.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
        Y : matrix of shape (n_other_rows, n_features) or None
        """
        check_is_fitted(self)
        pair = [to_numpy(self.validated(M)) for M in (X, X if Y is None else Y)]
        for M in pair:
            self.kernel_.check_rows(M)
        left, right = (M if M.dtype == object else M.astype(np.float64) for M in pair)
        return left, right

    # -- validation ----------------------------------------------------------------------------------------------------

    def takes_objects(self, X: Array, reset: bool) -> bool:
        """Whether this map, or one inside it, takes X as a sequence of objects and not as rows of numbers.

        Parameters
        ----------
        X : what ``fit`` or ``transform`` was given
        reset : bool
            Whether the map is being fitted.
        """
        parts = self.get_params(deep=False).values() if reset else ()
        return any(part.takes_objects(X, reset) for part in parts if isinstance(part, FeatureMap))

    def validated(self, X: Array, reset: bool = False, finite: bool = True) -> Any:
        """X as maps take it: two-dimensional, of a floating type, with the columns of ``fit``.

        Parameters
        ----------
        X : matrix, frame or sequence
        reset : bool, default=False
            Whether the map is being fitted.
        finite : bool, default=True
            Whether to look for NaN and infinities; if not, the entries of NumPy and CSR rows are still to be checked.
        """
        if self.takes_objects(X, reset):
            return as_objects(X)
        if not is_foreign(X):
            validate = partial(validated, self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
            if not finite:
                with suppress(ValueError):  # then everything is checked, in scikit-learn's order
                    return validate(ensure_all_finite=False)
            with located(X):
                return validate()
        X = check_foreign(X, finite or not on_gpu(X))
        if reset:
            self.n_features_in_ = int(X.shape[1])
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features"
            )
        return X

    @property
    def domain_is_non_negative(self) -> bool:
        """Whether rows must have no negative values, because the kernel or a map inside this one asks for it."""
        parts = [self.known_kernel, *self.get_params(deep=False).values()]
        return any(part.domain_is_non_negative for part in parts if isinstance(part, Kernel | FeatureMap))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.domain_is_non_negative
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
