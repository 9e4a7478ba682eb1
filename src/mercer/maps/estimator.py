"""The scikit-learn interface of every feature map; the mathematics is elsewhere."""

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

from .._array import Array, check_foreign, check_output, is_foreign, is_sparse, on_gpu, rounded_array, to_numpy
from .._checks import check_choice, check_jobs, check_whole
from .._memory import check_memory
from .._random import RandomState, Stream, as_seed
from .._rows import Rows
from .._tiles import single_threaded_blas
from ..data import Table
from ..kernels import Kernel
from ..kernels.base import located
from ..kernels.parse import as_kernel
from ..scale import lazily
from .construction import Construction
from .description import MapDescription
from .executor import features, sparse_features
from .fitted_map import FittedMap
from .kernel_parameters import KernelParameters
from .opaque_kernels import as_objects
from .row_checks import check_domain, is_plain, row_check, validated
from .table_input import feature_blocks, rows_to_fit, table_features


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelParameters, ABC):
    """Base class of feature maps: transformers Z whose inner products <Z(x), Z(y)> approximate a kernel.

    A subclass names its :class:`~mercer.maps.construction.Construction`, which holds the mathematics, and stores the
    arguments of its constructor.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel of :mod:`mercer.kernels`, or text that :func:`mercer.kernels.parse` understands, such as
        ``"gaussian(0.1)"``; the bandwidth of plain ``"gaussian"`` is learned from the rows. Text is stored unchanged
        and parsed in ``fit``. The default kernel has ``gamma="scale"``, as in scikit-learn's ``SVC``. Note that
        ``Gaussian()`` has gamma = 1 whatever the scale of the rows.
    n_components : int, default=256
        The number of features.
    random_state : int, Generator, RandomState or None, default=None
        An int determines the parameters: it draws the same ones on every machine. Anything else provides a fresh
        integer in ``fit``, which is stored as ``seed_``.
    n_jobs : int or None, default=None
        The number of threads that map tiles of rows. None means as many as BLAS may use, -1 all cores. The result does
        not depend on it.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, with a number in every field.
    n_components_ : int
        The number of features.
    parameters_ : NamedTuple of ndarray
        The parameters that were drawn, as read-only NumPy arrays.
    fitted_ : FittedMap
        The construction of the map together with its parameters.
    seed_ : int
        The integer that reproduces these parameters.
    """

    description: ClassVar[MapDescription] = MapDescription("features of its own", "its own", "", "", "no")
    """The description shown in reports and in lists of maps."""

    construction: ClassVar[type[Construction]]
    """The mathematics of the map."""

    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {}
    """Arguments with a fixed set of values."""

    has_landmarks: ClassVar[bool] = False
    """Whether features belong to landmarks chosen from the rows, which limits their number to that of the rows."""

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
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or Table
            The rows, as a matrix or as a table of :mod:`mercer.data`.
        y : None
            Ignored; present because scikit-learn's pipelines pass it.

        Returns
        -------
        FeatureMap
            The fitted map itself.
        """
        self.__dict__.pop("fitted_", None)  # a fit that fails must not leave an earlier map behind
        seed = as_seed(self.random_state)
        # The sample depends only on the seed, so that every map with this seed learns the same bandwidth.
        self.fit_rows(rows_to_fit(self, X, Stream(seed)), seed)
        return self

    def fit_rows(self, rows: Rows, seed: int) -> Self:
        """Fit the map to validated rows, with the parameters that ``seed`` draws.

        Parameters
        ----------
        rows : Rows
            The rows to learn from.
        seed : int
            The seed of the parameters.

        Returns
        -------
        FeatureMap
            The fitted map itself.
        """
        self.seed_ = seed
        with single_threaded_blas():  # what is learned must not depend on the number of threads
            self.adopt(self._drawn(rows, seed))
        return self

    def _drawn(self, rows: Rows, seed: int) -> FittedMap:
        construction = self.construct(rows)
        check_domain(construction.kernel, rows)
        return construction.draw(Stream(seed, type(self).__name__), rows)

    def construct(self, rows: Rows) -> Construction:
        """Return the construction that follows from the arguments and the rows, ready to draw parameters.

        Parameters
        ----------
        rows : Rows
            The rows to learn from.

        Returns
        -------
        Construction
            The construction.
        """
        self.check_arguments()
        return self.settled(rows.n_features, kernel=self.resolved_kernel(rows)).adapted(rows)

    def settled(self, n_features: int, **given: Any) -> Construction:
        """Return the construction that follows from the arguments alone, before any rows are read.

        Parameters
        ----------
        n_features : int
            The number of columns.
        **given : dict
            The resolved ``kernel``, or the constructions of the maps inside this one.

        Returns
        -------
        Construction
            The construction.
        """
        # Attributes rather than parameters, because a subclass may set some of them itself.
        names = (field.name for field in fields(self.construction))
        arguments = {name: getattr(self, name) for name in names if hasattr(self, name)}
        sizes = {"n_features": n_features, "n_components": int(self.width()), "asked": self.n_components}
        construction = self.construction(**{**arguments, "name": type(self).__name__, **sizes, **given})
        construction.check_kernel()
        return construction.settled()

    def width(self) -> Any:
        """Return the requested number of features, of which ``n_components_`` is the rounded value.

        Returns
        -------
        int or None
            The number of features.
        """
        return self.n_components

    def resolved_kernel(self, rows: Rows) -> Any:
        """Return the kernel with a number in every field.

        Parameters
        ----------
        rows : Rows
            The rows from which bandwidths are learned.

        Returns
        -------
        Kernel
            The resolved kernel.
        """
        return as_kernel(self.kernel).resolve(rows)

    def check_arguments(self) -> None:
        """Raise an error that names the first invalid argument, if there is one."""
        check_whole("n_components", self.width())
        check_jobs(self.n_jobs)
        for name, choices in self._choices.items():
            check_choice(name, getattr(self, name), choices)

    def adopt(self, fitted: FittedMap) -> None:
        """Adopt a fitted map, and let the maps inside this one adopt theirs.

        Parameters
        ----------
        fitted : FittedMap
            The map to adopt.
        """
        self.fitted_ = fitted.construction.finished().fitted(fitted.parameters)
        self.n_features_in_ = fitted.construction.n_features
        for part, construction in fitted.construction.inner_maps.items():
            inner: FeatureMap = clone(getattr(self, part)).set_params(n_components=construction.asked)
            inner.adopt(fitted.part(part))
            if hasattr(self, "feature_names_in_") and self.construction.takes_rows(part):
                inner.feature_names_in_ = self.feature_names_in_
            setattr(self, f"{part}_", inner)

    def for_parts(self) -> tuple[Any, ...] | None:
        """Return how another process can make this map from its seed, or None if it must be sent the parameters.

        Returns
        -------
        tuple or None
            A function and its arguments.
        """
        fitted = self.__dict__.get("fitted_")
        if (
            fitted is None
            or not hasattr(self, "seed_")
            or fitted.construction.draws_from_rows
            or self.construction.parts
        ):
            return None
        attributes = {name: value for name, value in vars(self).items() if name != "fitted_"}
        return drawn_again, (type(self), attributes, fitted.construction)

    @property
    def is_precomputed(self) -> bool:
        """Whether X is a kernel matrix."""
        return False

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")  # the number of columns is known before parameters are drawn

    # -- what was learned ----------------------------------------------------------------------------------------------

    @property
    def construction_(self) -> Any:
        """The construction of the fitted map."""
        return self.fitted_.construction

    @property
    def kernel_(self) -> Any:
        """The kernel, with a number in every field."""
        return self.fitted_.kernel

    @property
    def n_components_(self) -> int:
        """The number of features."""
        return self.fitted_.n_components

    @property
    def parameters_(self) -> Any:
        """The parameters, as a NamedTuple of read-only arrays."""
        return self.fitted_.parameters

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def width_for(self, n_rows: int) -> int:
        """Return the expected number of features when fitted to ``n_rows`` distinct rows.

        Parameters
        ----------
        n_rows : int
            The number of rows.

        Returns
        -------
        int
            The number of features.
        """
        width = int(self.n_components)
        return min(width, n_rows) if self.has_landmarks else width

    @property
    def is_deterministic(self) -> bool:
        """Whether the features do not depend on the seed, given the arguments and the rows."""
        inner = [getattr(self, part) for part in self.construction.parts]
        return self.construction.deterministic and all(map.is_deterministic for map in inner)

    @property
    def gives_kernel_values(self) -> bool:
        """Whether features are kernel values at landmarks, whose inner products do not approximate the kernel."""
        return False

    # -- features ------------------------------------------------------------------------------------------------------

    # Otherwise scikit-learn would offer to route ``out`` as metadata.
    __metadata_request__transform: ClassVar[dict[str, str]] = {"out": UNUSED}

    @lazily
    def transform(self, X: Array, out: Any = None) -> Any:
        """Map rows to features.

        Parameters
        ----------
        X : {array-like, sparse matrix, tensor} of shape (n_samples, n_features) or Table
            The rows: a NumPy, SciPy sparse, torch or CuPy matrix, or a table of :mod:`mercer.data`.
        out : ndarray of shape (n_samples, n_components_) or None, default=None
            An array with the dtype of the features, which is written to and returned. Reused memory is faster to write
            than fresh memory. After an error its content is undefined.

        Returns
        -------
        {ndarray, sparse matrix, tensor} of shape (n_samples, n_components_)
            The features, with the dtype, array library and device of X. They are dense unless the map says otherwise.
        """
        if not hasattr(self, "fitted_"):  # skips the check of the type below, which takes a hundred times longer
            check_is_fitted(self)
        if isinstance(X, Table):
            return table_features(self, X, out)
        given, X = X, X if is_plain(X, self) else self.validated(X, finite=False)
        check_rows = self.kernel_.check_rows
        check = row_check(X, check_rows, lambda: check_rows(self.validated(given)))
        if is_sparse(X) and self.fitted_.keeps_sparse:
            if out is not None:
                raise ValueError("out must be None if sparse rows have sparse features, found an array")
            return sparse_features(self.fitted_, X, self.n_jobs, check)
        if out is None:
            check_memory((X.shape[0], self.n_components_), X.dtype.itemsize, "the array of features")
            out = rounded_array(X, self.n_components_) if on_gpu(X) else None
        else:
            check_output(out, X, self.n_components_)
        return features(self.fitted_, X, self.n_jobs, out=out, check=check)

    def transform_blocks(self, table: Table) -> Iterator[Any]:
        """Map the rows of a table block by block, if its features do not fit in memory.

        Parameters
        ----------
        table : Table
            The rows.

        Returns
        -------
        iterator of ndarray of shape (n_samples_in_block, n_components_)
            The features of one block after another.
        """
        check_is_fitted(self)
        return feature_blocks(self, table)

    # -- moments of the estimate ---------------------------------------------------------------------------------------

    def mean(self, X: Array, Y: Any = None) -> NDArray[np.float64]:
        """Compute the exact mean of the estimate <Z(x), Z(y)> over seeds, which is the kernel if the map is unbiased.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
            The rows x.
        Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features) or None, default=None
            The rows y. If None, ``X`` is used.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples_Y)
            The means.
        """
        return self.fitted_.mean(*self.validated_pair(X, Y))

    def variance(self, X: Array, Y: Any = None) -> NDArray[np.float64]:
        """Compute the exact variance of the estimate <Z(x), Z(y)> over seeds.

        Whatever the map learned from the data rather than from the seed is held fixed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
            The rows x.
        Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features) or None, default=None
            The rows y. If None, ``X`` is used.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples_Y)
            The variances.
        """
        X, Y = self.validated_pair(X, Y)
        with np.errstate(over="ignore", invalid="ignore"):
            variance = self.fitted_.variance(X, Y)
        return np.where(np.isnan(variance), np.inf, variance)  # NaN is inf - inf: too large for float64

    def validated_pair(self, X: Array, Y: Array) -> tuple[Any, Any]:
        """Validate two sets of rows: matrices in float64, or objects that the kernel accepts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
            The first rows.
        Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features) or None
            The second rows. If None, ``X`` is used.

        Returns
        -------
        tuple
            Both sets of rows.
        """
        check_is_fitted(self)
        pair = [to_numpy(self.validated(M)) for M in (X, X if Y is None else Y)]
        for M in pair:
            self.kernel_.check_rows(M)
        left, right = (M if M.dtype == object else M.astype(np.float64) for M in pair)
        return left, right

    # -- validation ----------------------------------------------------------------------------------------------------

    def takes_objects(self, X: Array, reset: bool) -> bool:
        """Return whether this map, or one inside it, treats X as a sequence of objects instead of rows of numbers.

        Parameters
        ----------
        X : object
            The argument of ``fit`` or ``transform``.
        reset : bool
            Whether the map is being fitted.

        Returns
        -------
        bool
            True for a sequence of objects.
        """
        parts = self.get_params(deep=False).values() if reset else ()
        return any(part.takes_objects(X, reset) for part in parts if isinstance(part, FeatureMap))

    def validated(self, X: Array, reset: bool = False, finite: bool = True) -> Any:
        """Validate X: two-dimensional, of a floating-point type, with the columns of ``fit``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence
            The rows.
        reset : bool, default=False
            Whether the map is being fitted.
        finite : bool, default=True
            Whether to check for NaN and infinities. If False, the entries of NumPy and CSR rows remain to be checked.

        Returns
        -------
        {ndarray, sparse matrix, tensor} of shape (n_samples, n_features)
            The validated rows.
        """
        if self.takes_objects(X, reset):
            return as_objects(X)
        if not is_foreign(X):
            validate = partial(validated, self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
            if not finite:
                with suppress(ValueError):  # the full check follows, in scikit-learn's order
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
        """Whether rows must not contain negative values, because of the kernel or of a map inside this one."""
        parts = [self.known_kernel, *self.get_params(deep=False).values()]
        return any(part.domain_is_non_negative for part in parts if isinstance(part, Kernel | FeatureMap))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.domain_is_non_negative
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def drawn_again(kind: type[FeatureMap], attributes: dict[str, Any], construction: Construction) -> FeatureMap:
    """Return a map with the parameters that its seed draws."""
    map = kind.__new__(kind)
    map.__dict__.update(attributes)
    map.fitted_ = construction.fitted(construction.redrawn(Stream(map.seed_, kind.__name__), None))
    return map
