"""The scikit-learn contract of every feature map, and no mathematics.

A map gives ``_draw`` (parameters, once, in ``fit``) and ``_apply`` (a pure function of parameters and one tile of
rows). Validation, tiles, threads, precision and devices are here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import assert_all_finite, check_is_fitted, validate_data

from .. import _core
from .._array import (
    Array,
    canonical_csr,
    check_foreign,
    check_output,
    feature_array,
    first_overflow,
    has_kernels,
    is_foreign,
    is_sparse,
    send,
    spread,
    to_numpy,
)
from .._checks import check_choice, check_whole, is_whole
from .._memory import check_memory
from .._random import Stream, as_seed
from .._tiles import run_pieces, run_tiles, single_threaded_blas, tile_rows
from ..data import as_rows
from ..kernels import Kernel, Scaled
from ..kernels._base import located
from ._blackbox import as_objects


def without_weight(kernel: Kernel) -> tuple[float, Any]:
    """The factor in front of a kernel, and the kernel that it multiplies."""
    weight = 1.0
    while isinstance(kernel, Scaled):
        weight, kernel = weight * float(kernel.weight), kernel.kernel
    return weight, kernel


Native = Callable[[Any, NDArray[Any]], int | None]


def earliest(*reports: int | None) -> int | None:
    """The first row that one of several natives has reported, if any."""
    return min((row for row in reports if row is not None), default=None)


def other_maps(kernel: Kernel) -> str:
    """The end of a refusal: which map serves the kernel."""
    from ..choose import feature_map  # not above: choices are made among maps

    return f"; mercer.feature_map takes {type(feature_map(kernel)).__name__} for it"


class KernelParameters(BaseEstimator):
    """An estimator whose kernel parameters answer to ``set_params(kernel__gamma=...)`` although kernels are frozen."""

    def set_params(self, **params: Any) -> Self:
        current = self.get_params(deep=False)
        inner: dict[str, dict[str, Any]] = {}
        own: dict[str, Any] = {}
        for name, value in params.items():
            head, _, tail = name.partition("__")
            if tail and isinstance(params.get(head, current.get(head)), Kernel):
                inner.setdefault(head, {})[tail] = value
            else:
                own[name] = value
        swapped = {head: params.get(head, current[head]).replace(**fields) for head, fields in inner.items()}
        super().set_params(**(own | swapped))
        return self


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelParameters, ABC):
    """A map Z of rows whose inner products <Z(x), Z(y)> estimate a kernel.

    Parameters
    ----------
    kernel : a kernel of :mod:`mercer.kernels`
    n_components : the width of the output
    random_state : int, numpy Generator or RandomState, or None
        An int names the map: it draws the same parameters on every machine. Anything else yields a fresh one at
        ``fit``, kept as ``seed_``.
    n_jobs : int or None
        Threads that map tiles of rows; None means as many as BLAS is allowed, -1 all cores. The result is the same.

    Attributes
    ----------
    kernel_ : the kernel with every field a number
    n_components_ : the width of the output
    parameters_ : a NamedTuple of NumPy arrays
    seed_ : the integer that draws these parameters again
    """

    _choices: ClassVar[dict[str, tuple[Any, ...]]] = {}
    """Arguments that take one of a few values."""

    _reports_nonfinite: ClassVar[bool] = False
    """Whether a row that is not finite has such features, or is what ``_native`` returns: no pass over X looks then."""

    _bias: ClassVar[str] = ""
    """Why the mean of the estimate is not known, where it is not."""

    def __init__(self, kernel: Kernel, *, n_components: int = 256, random_state: Any = None, n_jobs: int | None = None):
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    # -- what a map gives ----------------------------------------------------------------------------------------------

    @abstractmethod
    def _draw(self, rng: Stream, rows: Any) -> Any:
        """The parameters: a NamedTuple of arrays."""

    @abstractmethod
    def _apply(self, params: Any, X: Array) -> Array:
        """The features of one tile of rows, dense."""

    def _apply_sparse(self, params: Any, X: Any) -> Any:
        """The features of one CSR tile as CSR."""
        raise NotImplementedError(f"{type(self).__name__} has no sparse features")

    def _native(self, params: Any, dtype: Any) -> Native | None:
        """``_apply`` by the compiled core: it writes the features of a NumPy or CSR tile of this type into ``out``.

        It returns the first row of which a feature overflowed, None where none did.
        """
        return None

    def _writer(self, params: Any, dtype: Any) -> Native:
        """``_native`` inside that of another map, or where there is none a copy of what ``_apply`` returns."""
        native = self._native(params, dtype)
        if native is not None:
            return native

        def write(X: Any, out: NDArray[Any]) -> int | None:
            with np.errstate(over="ignore", invalid="ignore"):
                out[...] = self._apply(params, X)
            return first_overflow(out)

        return write

    def _mapped(self, params: Any, X: Array) -> Array:
        """The features of one tile inside another map: what ``_native`` writes where it can, else ``_apply``."""
        native = self._native(params, X.dtype) if _core.AVAILABLE and has_kernels(X) else None
        if native is None:
            return self._apply(params, X)
        Z = feature_array(X, self.n_components_)
        native(X, Z)
        return Z

    def _variance(self, params: Any, X: Any, Y: Any) -> NDArray[np.float64]:
        raise NotImplementedError(
            f"no exact variance is known for {type(self).__name__}; mercer.kernel_error over several seeds measures it"
        )

    def _mean(self, params: Any, X: Any, Y: Any) -> NDArray[np.float64]:
        if self._bias:
            raise NotImplementedError(f"the mean of {type(self).__name__} is not known: {self._bias}")
        return self.kernel_(X, Y)

    def _apply_as_is(self, params: Any, X: Array) -> Array:
        """The features of one tile, sparse where they can be: for a map that takes either."""
        return (self._apply_sparse if is_sparse(X) and self._keeps_sparse else self._mapped)(params, X)

    @property
    def is_deterministic(self) -> bool:
        """Whether every seed gives the same features, once arguments and rows are given."""
        return False

    @property
    def _keeps_sparse(self) -> bool:
        """Whether sparse rows have sparse features: ``transform`` then asks ``_apply_sparse`` for them.

        Every column, and so every stored entry, has equally many features.
        """
        return False

    @property
    def _rows_alone(self) -> bool:
        """Whether ``_native`` maps every row by itself, without BLAS and room for whole tiles: cuts are then free."""
        return False

    @property
    def _paired(self) -> bool:
        """Whether columns 2 i and 2 i + 1 are the cosine and the sine of one frequency, to be weighed together."""
        return False

    def _check_kernel(self, kernel: Kernel) -> None:
        """Raise a ValueError for a kernel that this map cannot serve."""

    def _width(self) -> Any:
        """The width that is asked for; ``n_components_`` is what it has become."""
        return self.n_components

    def _scratch(self, n_features: int) -> int:
        """About how many floats one row needs while it is mapped."""
        return 4 * (n_features + self.n_components_)

    # -- scikit-learn --------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Resolve the kernel on X and draw the parameters.

        Parameters
        ----------
        X : dense or CSR matrix of shape (n_rows, n_features)
        y : ignored
        """
        X = self._validated(X, reset=True)
        self.seed_ = as_seed(self.random_state)
        # The sample hangs on the seed alone: every map of this seed then learns the same bandwidth.
        rows = as_rows(X, Stream(self.seed_))
        with single_threaded_blas():  # so that what is learned does not depend on the number of threads
            self._specify(rows)
            self.kernel_.check_rows(X)
            self._adopt(self._draw(Stream(self.seed_, type(self).__name__), rows), rows.n_features)
        return self

    def _adopt(self, params: Any, n_features: int) -> None:
        """Be fitted, with these parameters."""
        self.parameters_ = params
        self.n_features_in_ = n_features
        self._n_features_out = self.n_components_

    def _hand_on(self, inner: FeatureMap, params: Any, n_features: int) -> None:
        """Let a map of the same rows be fitted too, with these parameters."""
        inner._adopt(params, n_features)
        if hasattr(self, "feature_names_in_"):
            inner.feature_names_in_ = self.feature_names_in_

    def _specify(self, rows: Any) -> None:
        """Turn the arguments into ``kernel_`` and ``n_components_``; parameters come after."""
        self._check_arguments()
        self.n_components_ = int(self.n_components)
        self.kernel_: Any = self._resolved_kernel(rows)
        self._check_kernel(self.kernel_)

    def _resolved_kernel(self, rows: Any) -> Any:
        """The kernel with every field a number."""
        if not isinstance(self.kernel, Kernel):
            hint = f"; write {self.kernel.__name__}()" if isinstance(self.kernel, type) else ""
            hint = "; mercer.kernels.parse reads one from text" if isinstance(self.kernel, str) else hint
            raise TypeError(f"kernel must be a kernel of mercer.kernels, found {self.kernel!r}{hint}")
        return self.kernel.resolve(rows)

    def _check_arguments(self) -> None:
        check_whole("n_components", self._width())
        if self.n_jobs is not None and (not is_whole(self.n_jobs) or self.n_jobs == 0):
            raise ValueError(f"n_jobs must be None or a whole number other than 0, found {self.n_jobs!r}")
        for name, choices in self._choices.items():
            check_choice(name, getattr(self, name), choices)

    # scikit-learn would else offer to route ``out`` as metadata of the rows.
    __metadata_request__transform: ClassVar[dict[str, str]] = {"out": UNUSED}

    def transform(self, X: Any, out: Any = None) -> Any:
        """Map rows to features.

        Parameters
        ----------
        X : dense or CSR matrix, or a torch or CuPy array, of shape (n_rows, n_features)
        out : array of shape (n_rows, n_components_) and the dtype of the features, or None
            Written to and returned. Memory that was used before is faster to write than fresh memory.

        Returns
        -------
        Z : array of shape (n_rows, n_components_), in the precision, namespace and device of X
            Dense, but for maps that say so.
        """
        if not hasattr(self, "parameters_"):
            check_is_fitted(self)
        if not self._is_plain(X):
            X = self._validated(X, reset=False)
        try:
            self.kernel_.check_rows(X)
        except ValueError:
            self._check_finite(X)  # what is no number is outside every domain, and that is to be said first
            raise
        if is_sparse(X) and self._keeps_sparse:
            if out is not None:
                raise ValueError("out must be None where sparse rows have sparse features, found an array")
            return self._transform_sparse(send(self.parameters_, X), X)
        if out is None:
            check_memory((X.shape[0], self.n_components_), X.dtype.itemsize, "the array of features")
        else:
            check_output(out, X, self.n_components_)
        return self._features(self.parameters_, X, self.n_jobs, out=out)

    def _features(self, params: Any, X: Array, n_jobs: int | None, first_row: int = 0, out: Array = None) -> Array:
        """Map every row of X, tile by tile; ``first_row`` is the number of its first one, for messages."""
        params = send(params, X)
        Z = feature_array(X, self.n_components_) if out is None else out
        native = self._native(params, Z.dtype) if _core.AVAILABLE and has_kernels(X) else None

        def fill(tile: slice) -> None:
            if native is None:
                Z[tile] = self._tile(params, X, tile, first_row)
            else:
                self._refuse(native(X[tile], Z[tile]), first_row + tile.start, Z, X)

        n_jobs = 1 if is_foreign(X) else n_jobs
        if native is not None and self._rows_alone and isinstance(X, np.ndarray) and X.flags.c_contiguous:
            run_pieces(fill, X.shape[0], n_jobs)
        else:
            run_tiles(fill, X.shape[0], tile_rows(self._scratch(X.shape[1] if X.ndim == 2 else 1)), n_jobs)
        return Z

    def _transform_sparse(self, params: Any, X: Any) -> Any:
        X = canonical_csr(X)
        length, itemsize = self.n_components_ // X.shape[1], X.dtype.itemsize + X.indices.itemsize
        check_memory((X.nnz, length), itemsize, "the sparse matrix of features")
        Z = self._sparse_frame(X)
        # A tile holds what its stored entries need, not what its dense rows would.
        rows = tile_rows(self._scratch(X.shape[1]) * X.nnz // (X.shape[0] * X.shape[1]))

        def fill(tile: slice) -> None:
            part = self._tile(params, X, tile, as_is=True)
            Z.data[Z.indptr[tile.start] : Z.indptr[tile.stop]] = part.data

        run_tiles(fill, X.shape[0], rows, self.n_jobs)
        return Z

    def _sparse_frame(self, X: Any) -> Any:
        """Where the features of CSR rows will stand: those of a column are neighbours."""
        return spread(X, self.n_components_ // X.shape[1])

    def _tile(self, params: Any, X: Array, tile: slice, first_row: int = 0, as_is: bool = False) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            Z = (self._apply_as_is if as_is else self._apply)(params, X[tile])
        self._refuse(first_overflow(Z), first_row + tile.start, Z, X)
        return Z

    def _refuse(self, row: int | None, first_row: int, Z: Array, X: Array) -> None:
        """Raise where a row of a tile, which begins with row ``first_row`` of X, has overflowed or was not finite."""
        if row is not None:
            self._check_finite(X)
            row += first_row
            raise ValueError(f"the features of row {row} overflow {Z.dtype}: scale the rows down or lower the degree")

    def _check_finite(self, X: Array) -> None:
        if isinstance(X, np.ndarray) and X.dtype != object:
            with located(X):
                assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")

    def mean(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """The exact mean, over seeds, of the estimate <Z(x), Z(y)>: the kernel itself where the map is unbiased."""
        X, Y = self._pair(X, Y)
        return self._mean(self.parameters_, X, Y)

    def variance(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """The exact variance, over seeds, of the estimate <Z(x), Z(y)> for every row x of X and y of Y.

        Y defaults to X. What the map learned from data (not from the seed) is held fixed.
        """
        X, Y = self._pair(X, Y)
        with np.errstate(over="ignore", invalid="ignore"):
            variance = self._variance(self.parameters_, X, Y)
        return np.where(np.isnan(variance), np.inf, variance)  # inf - inf: beyond what float64 can tell

    def _pair(self, X: Any, Y: Any) -> tuple[Any, Any]:
        check_is_fitted(self)
        pair = [to_numpy(self._validated(M, reset=False)) for M in (X, X if Y is None else Y)]
        for M in pair:
            self.kernel_.check_rows(M)
        left, right = (M if M.dtype == object else M.astype(np.float64) for M in pair)
        return left, right

    def _takes_objects(self, X: Any, reset: bool) -> bool:
        """Whether X is a sequence of objects to this map, as to a map inside it, and not rows of numbers."""
        parts = self.get_params(deep=False).values() if reset else ()
        return any(part._takes_objects(X, reset) for part in parts if isinstance(part, FeatureMap))

    def _is_plain(self, X: Any) -> bool:
        """Whether these rows can be mapped as they are: scikit-learn would only look for what is not finite."""
        return (
            self._reports_nonfinite
            and type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in (np.float32, np.float64)
            and X.shape[0] > 0
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
        )

    def _validated(self, X: Any, reset: bool) -> Any:
        if self._takes_objects(X, reset):
            return as_objects(X)
        if not is_foreign(X):
            with located(X):
                return validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
        X = check_foreign(X)
        if reset:
            self.n_features_in_ = int(X.shape[1])
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features"
            )
        return X

    @property
    def domain_is_non_negative(self) -> bool:
        """Whether the rows must have no negative values, as the kernel or a map inside this one may ask."""
        parts = self.get_params(deep=False).values()
        return any(part.domain_is_non_negative for part in parts if isinstance(part, Kernel | FeatureMap))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.domain_is_non_negative
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
