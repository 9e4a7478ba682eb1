"""The scikit-learn contract of every feature map, and no mathematics.

A map gives ``_draw`` (parameters, once, in ``fit``) and ``_apply`` (a pure function of parameters and one tile of
rows). Validation, tiles, threads, precision and devices are here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

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
from .._checks import check_choice, check_jobs, check_whole
from .._memory import check_memory
from .._random import Stream, as_seed
from .._tiles import TILE, run_pieces, run_tiles, single_threaded_blas, tile_rows
from ..data import Table
from ..kernels import Kernel
from ..kernels.base import located
from ..kernels.parse import as_kernel
from ._blackbox import as_objects
from ._parameters import KernelParameters
from ._row_check import Check, check_blocks, is_plain, row_check, validated
from ._sparse_features import sparse_features
from ._stored import StoredMap
from ._tables import TableFeatures, rows_to_fit, table_features

Native = Callable[[Any, NDArray[Any]], int | None]
Entries = Callable[[NDArray[Any], NDArray[Any]], int | None]


def other_maps(kernel: Kernel) -> str:
    """The end of a refusal: which map serves the kernel."""
    from .rules import feature_map  # not above: the rules know every map

    return f"; mercer.feature_map takes {type(feature_map(kernel)).__name__} for it"


class FeatureMap(TableFeatures, ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelParameters, StoredMap, ABC):
    """A map Z of rows whose inner products <Z(x), Z(y)> estimate a kernel.

    Parameters
    ----------
    kernel : a kernel of :mod:`mercer.kernels`, or text that describes one
        Text is what :func:`mercer.kernels.parse` reads, such as ``"gaussian(0.1)"``, or ``"gaussian"`` with the
        bandwidth by the rows. It is kept as it is and read in ``fit``. Where none is given, and the kernel of the map
        has a bandwidth, it is by the rows too: ``gamma="scale"``, as in scikit-learn's ``SVC``. ``Gaussian()`` however
        is the kernel with its gamma of 1, on rows of any scale.
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

    _largest_tile: ClassVar[int] = TILE
    """The most rows a tile has, a power of two."""

    _bias: ClassVar[str] = ""
    """Why the mean of the estimate is not known, where it is not."""

    def __init__(
        self, kernel: Kernel | str, *, n_components: int = 256, random_state: Any = None, n_jobs: int | None = None
    ):
        self.kernel: Any = kernel
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

    def _native_entries(self, params: Any, dtype: Any) -> Entries | None:
        """``_apply_sparse`` by the compiled core: it writes the features of stored entries, one after the other.

        For a map that keeps rows sparse, with the features of a column beside each other. It returns the number of the
        first entry that is not finite or outside the kernel's domain, None where there is none; no other may overflow.
        """
        return None

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
        if not (is_sparse(X) and self._keeps_sparse):
            return self._mapped(params, X)
        entries = self._native_entries(params, X.dtype) if _core.AVAILABLE else None
        if entries is None:
            return self._apply_sparse(params, X)
        X = canonical_csr(X)
        Z = self._sparse_frame(X)
        entries(X.data, Z.data)
        return Z

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
        """Whether ``_native`` maps every dense row by itself, into no room but ``out``, without BLAS.

        Cuts are then free. Rows that are not finite or outside the kernel's domain must be among those that it reports:
        what ``_native`` finds out on the way needs no other look at the rows.
        """
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
        X : dense or CSR matrix of shape (n_rows, n_features), or a table of :mod:`mercer.data`
        y : ignored
        """
        seed = as_seed(self.random_state)
        # The sample hangs on the seed alone: every map of this seed then learns the same bandwidth.
        self._fit_rows(rows_to_fit(self, X, Stream(seed)), seed)
        return self

    def _fit_rows(self, rows: Any, seed: int) -> None:
        """Learn from rows that are validated."""
        self.seed_ = seed
        with single_threaded_blas():  # so that what is learned does not depend on the number of threads
            self._specify(rows)
            check_blocks(self.kernel_, rows)
            self._adopt(self._draw(Stream(seed, type(self).__name__), rows), rows.n_features)

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
        self._settle(rows.n_features)

    def _resolved_kernel(self, rows: Any) -> Any:
        """The kernel with every field a number."""
        return as_kernel(self.kernel).resolve(rows)

    def _check_arguments(self) -> None:
        check_whole("n_components", self._width())
        check_jobs(self.n_jobs)
        for name, choices in self._choices.items():
            check_choice(name, getattr(self, name), choices)

    # scikit-learn would else offer to route ``out`` as metadata of the rows.
    __metadata_request__transform: ClassVar[dict[str, str]] = {"out": UNUSED}

    def transform(self, X: Any, out: Any = None) -> Any:
        """Map rows to features.

        Parameters
        ----------
        X : dense or CSR matrix, or a torch or CuPy array, of shape (n_rows, n_features), or a table
        out : array of shape (n_rows, n_components_) and the dtype of the features, or None
            Written to and returned. Memory that was used before is faster to write than fresh memory. After an error
            its content is lost.

        Returns
        -------
        Z : array of shape (n_rows, n_components_), in the precision, namespace and device of X
            Dense, but for maps that say so.
        """
        if not hasattr(self, "parameters_"):  # which costs a hundredth of what is asked then
            check_is_fitted(self)
        if isinstance(X, Table):
            return table_features(self, X, out)
        given, X = X, X if is_plain(X, self) else self._validated(X, reset=False, finite=False)
        check_rows = self.kernel_.check_rows
        check = row_check(X, check_rows, lambda: check_rows(self._validated(given, reset=False)))
        if is_sparse(X) and self._keeps_sparse:
            if out is not None:
                raise ValueError("out must be None where sparse rows have sparse features, found an array")
            return sparse_features(self, send(self.parameters_, X), X, check)
        if out is None:
            check_memory((X.shape[0], self.n_components_), X.dtype.itemsize, "the array of features")
        else:
            check_output(out, X, self.n_components_)
        return self._features(self.parameters_, X, self.n_jobs, out=out, check=check)

    def _features(
        self,
        params: Any,
        X: Array,
        n_jobs: int | None,
        first_row: int = 0,
        out: Array = None,
        check: Check | None = None,
    ) -> Array:
        """Map every row of X, the first of which has this number; ``check`` raises where one is not to be mapped."""
        params = send(params, X)
        Z = feature_array(X, self.n_components_) if out is None else out
        native = self._native(params, Z.dtype) if _core.AVAILABLE and has_kernels(X) else None
        alone = native is not None and self._rows_alone and isinstance(X, np.ndarray) and X.flags.c_contiguous

        def fill(tile: slice) -> None:
            part = X[tile]
            if check is not None and not alone:
                check(part)
            if native is None:
                Z[tile] = self._tile(params, part, first_row + tile.start)
                return
            row = native(part, Z[tile])
            if row is not None and check is not None:
                check(part)
            self._refuse(row, first_row + tile.start, Z)

        if alone:
            run_pieces(fill, X.shape[0], n_jobs)
        else:
            rows = tile_rows(self._scratch(X.shape[1] if X.ndim == 2 else 1), self._largest_tile)
            run_tiles(fill, X.shape[0], rows, 1 if is_foreign(X) else n_jobs)
        return Z

    def _sparse_frame(self, X: Any) -> Any:
        """Where the features of CSR rows will stand: those of a column are neighbours."""
        return spread(X, self.n_components_ // X.shape[1])

    def _tile(self, params: Any, X: Array, first_row: int, as_is: bool = False) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            Z = (self._apply_as_is if as_is else self._apply)(params, X)
        self._refuse(first_overflow(Z), first_row, Z)
        return Z

    def _refuse(self, row: int | None, first_row: int, Z: Array) -> None:
        """Raise where a row of a tile, which begins with row ``first_row``, has overflowed."""
        if row is not None:
            row += first_row
            raise ValueError(f"the features of row {row} overflow {Z.dtype}: scale the rows down or lower the degree")

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

    def _validated(self, X: Any, reset: bool, finite: bool = True) -> Any:
        """X as the maps take it; unless ``finite``, entries of NumPy and CSR rows are still to be looked at."""
        if self._takes_objects(X, reset):
            return as_objects(X)
        if not is_foreign(X):
            validate = partial(validated, self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
            if not finite:
                with suppress(ValueError):  # then all is asked, in scikit-learn's order
                    return validate(ensure_all_finite=False)
            with located(X):
                return validate()
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
        parts = [self._known_kernel, *self.get_params(deep=False).values()]
        return any(part.domain_is_non_negative for part in parts if isinstance(part, Kernel | FeatureMap))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.domain_is_non_negative
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
