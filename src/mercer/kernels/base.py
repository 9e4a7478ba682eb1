"""The interface of every kernel: exact values, algebra, and use as an estimator's parameter."""

from __future__ import annotations

import dataclasses
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray
from sklearn.utils.validation import check_array

from .._array import Array, as_stored, canonical_csr, on_gpu, to_numpy
from .._memory import check_memory
from .._rows import Rows, as_rows, is_rows
from .._tiles import TILE, run_tiles
from ..gpu.device import Device
from ..gpu.kernel_blocks import UnstoredBlock

if TYPE_CHECKING:
    from .._random import Stream
    from .algebra import Product, Scaled, Sum
    from .composition import Composition, DistanceComposition

BLOCK_ELEMENTS = 1 << 21

Made = TypeVar("Made", bound=Callable[..., Any])
_OPERATIONS: dict[str, Any] = {}


def operation(make: Made) -> Made:
    """Register, under its own name, a function or class that builds a kernel from other kernels or from text.

    Every kernel builds on this module, so it cannot import what its operators return; they look it up here instead.
    """
    _OPERATIONS[make.__name__] = make
    return make


def operation_named(name: str) -> Any:
    """Return what was registered under a name."""
    return _OPERATIONS[name]


@contextmanager
def located(X: Array) -> Iterator[None]:
    """Add the position of the first bad entry to an error about NaN or infinity."""
    try:
        yield
    except ValueError as error:
        values = X if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f" else np.zeros((0, 0))
        wrong = np.argwhere(~np.isfinite(values))
        if len(wrong) == 0:
            raise
        row, column = wrong[0]
        raise ValueError(f"{error}\nThe first is in row {row}, column {column}: {values[row, column]}.") from error


def check_matrix(X: Array, name: str = "X") -> Any:
    """Validate X and return it as a finite float32 or float64 matrix, dense or CSR."""
    with located(X):
        return check_array(as_stored(X), accept_sparse="csr", dtype=[np.float64, np.float32], input_name=name)


def first_entry(X: Array, wrong: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> str | None:
    """Describe the first entry for which ``wrong`` is true; only the stored entries of a CSR matrix are examined."""
    if on_gpu(X) and not bool(wrong(X.ravel()).any()):
        return None  # nothing was copied from the device
    for start, block in row_blocks(X):
        values = block.data if sp.issparse(block) else block.ravel()
        found = wrong(values)
        if found.any():
            place = int(np.argmax(found))
            if sp.issparse(block):
                row, column = int(np.searchsorted(block.indptr, place, side="right")) - 1, int(block.indices[place])
            else:
                row, column = divmod(place, block.shape[1])
            return f"row {start + row}, column {column} has {values[place]:g}"
    return None


def row_blocks(X: Array) -> Iterator[tuple[int, Any]]:
    """Yield moderately sized NumPy or CSR blocks of rows, each with the index of its first row."""
    X = to_numpy(X)
    width = -(-X.nnz // X.shape[0]) if sp.issparse(X) else X.shape[1]
    step = max(1, BLOCK_ELEMENTS // max(1, width))
    for start in range(0, X.shape[0], step):
        block = X if step >= X.shape[0] else X[start : start + step]  # slicing a SciPy matrix copies it
        yield start, canonical_csr(block) if sp.issparse(block) else block


def row_values(function: Callable[[Any], NDArray[np.float64]], X: Array) -> NDArray[np.float64]:
    """Compute one number per row in float64, block by block."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.concatenate([function(block.astype(np.float64)) for _, block in row_blocks(X)])


def format_value(value: Any) -> str:
    """Format a field's value so that :func:`mercer.kernels.parse` can read it back."""
    if isinstance(value, numbers.Integral):
        return repr(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, tuple):
        return "(" + ", ".join(map(format_value, value)) + ("," if len(value) == 1 else "") + ")"
    return repr(value)


class Kernel(ABC):
    """Base class of all kernels: positive definite functions of two rows.

    A kernel is a frozen, hashable dataclass that holds neither data nor randomness. Calling it evaluates it exactly;
    ``+``, ``*``, :meth:`of` and :meth:`of_distance` combine kernels. A subclass implements :meth:`gram` and
    :meth:`diagonal`, and whatever else the feature maps for it need: a Maclaurin series or a spectral distribution.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> kernel = 0.5 * Gaussian(gamma=2.0) + Linear()
    >>> kernel([[0.0], [1.0]]).round(3)
    array([[0.5  , 0.068],
           [0.068, 1.5  ]])
    """

    description: ClassVar[str] = "A function of two rows that says how similar they are."
    """One sentence about the kernel, shown in reports."""

    __array_ufunc__ = None  # makes a NumPy scalar times a kernel call __rmul__

    # -- exact values --------------------------------------------------------------------------------------------------

    def __call__(self, X: Array, Y: Any = None) -> NDArray[Any]:
        """Compute the exact Gram matrix of the rows of X and Y.

        It is computed in float64, block by block, and returned in the precision of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
            The rows of the Gram matrix.
        Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
            The columns of the Gram matrix. If None, ``X`` is used.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples_Y)
            The values k(x, y).
        """
        self.check_resolved()
        X = check_matrix(X)
        Y = X if Y is None else check_matrix(Y, "Y")
        if X.shape[1] != Y.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns but Y has {Y.shape[1]}")
        self.check_rows(X)
        self.check_rows(Y)
        dtype = np.result_type(X.dtype, Y.dtype)
        check_memory((X.shape[0], Y.shape[0]), dtype.itemsize, "the Gram matrix")
        values = self.gram_against(Y.astype(np.float64))

        def block(start: int, stop: int) -> NDArray[Any]:
            with np.errstate(over="ignore", invalid="ignore"):
                part = values(X[start:stop].astype(np.float64)).astype(dtype, copy=False)
            self._check_finite(part, start)
            return part

        step = max(1, BLOCK_ELEMENTS // Y.shape[0])
        if step >= X.shape[0]:
            return block(0, X.shape[0])
        gram = np.empty((X.shape[0], Y.shape[0]), dtype=dtype)
        for start in range(0, X.shape[0], step):
            gram[start : start + step] = block(start, start + step)
        return gram

    def diag(self, X: Array) -> NDArray[Any]:
        """Compute k(x, x) for every row, without the rest of the Gram matrix.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The diagonal of the Gram matrix, in the precision of X.
        """
        self.check_resolved()
        X = check_matrix(X)
        self.check_rows(X)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.diagonal(X.astype(np.float64)).astype(X.dtype)
        self._check_finite(values)
        return values

    @abstractmethod
    def gram(self, X: Array, Y: Array) -> NDArray[np.float64]:
        """Compute the Gram matrix of two validated float64 matrices.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples_X, n_features)
            Rows in float64.
        Y : {ndarray, sparse matrix} of shape (n_samples_Y, n_features)
            Rows in float64.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples_Y)
            The values k(x, y) in float64.
        """

    def gram_against(self, Y: Array) -> Callable[[Any], NDArray[np.float64]]:
        """Return :meth:`gram` as a function of X alone, having prepared everything that depends only on Y.

        Parameters
        ----------
        Y : {ndarray, sparse matrix} of shape (n_samples_Y, n_features)
            Rows in float64.

        Returns
        -------
        callable
            A function from X to the Gram matrix of X and Y.
        """
        return lambda X: self.gram(X, Y)

    def single_core_gram_against(self, Y: Array) -> Callable[[Any], NDArray[np.float64]]:
        """Return :meth:`gram_against` for use by one of several threads, each of which must stay on one core.

        Parameters
        ----------
        Y : {ndarray, sparse matrix} of shape (n_samples_Y, n_features)
            Rows in float64.

        Returns
        -------
        callable
            A function from X to the Gram matrix of X and Y.
        """
        return self.gram_against(Y)

    def values_at(self, landmarks: Array, dtype: DTypeLike) -> Callable[[Any, NDArray[Any]], None]:
        """Return a function that writes kernel values at landmarks into an array, on one core.

        Parameters
        ----------
        landmarks : {ndarray, sparse matrix} of shape (n_landmarks, n_features)
            The landmarks.
        dtype : dtype
            The precision of the rows and of the values.

        Returns
        -------
        callable
            A function of the rows X and of the array that receives their values at the landmarks.
        """
        values = self.single_core_gram_against(landmarks)

        def write(X: Array, out: NDArray[Any]) -> None:
            out[...] = values(X.astype(np.float64, copy=False))

        return write

    def tensor_values_at(self, landmarks: Array, device: Device, dtype: DTypeLike) -> Callable[[Any], Any]:
        """Return a function that computes kernel values at landmarks from tensors on a device.

        This fallback computes them on the CPU, for kernels that have no implementation on a device.

        Parameters
        ----------
        landmarks : {ndarray, sparse matrix} of shape (n_landmarks, n_features)
            The landmarks.
        device : device
            Where the tensors are.
        dtype : dtype
            The precision of the rows and of the values.

        Returns
        -------
        callable
            A function from a tensor of rows to the tensor of their values at the landmarks.
        """
        landmarks = to_numpy(landmarks)
        write, count = self.values_at(landmarks, dtype), landmarks.shape[0]

        def values(X: Any) -> Any:
            rows, found = device.received(X), np.empty((X.shape[0], count), dtype=dtype)

            def work(tile: slice) -> None:
                with np.errstate(over="ignore", invalid="ignore"):
                    write(rows[tile], found[tile])

            run_tiles(work, len(rows), TILE, None)
            return device.sent(found)

        return values

    def unstored_values_at(
        self, landmarks: Array, device: Device, dtype: DTypeLike, outputs: int
    ) -> Callable[[Any], UnstoredBlock] | None:
        """Return a function for products of kernel values at landmarks that are never stored.

        Parameters
        ----------
        landmarks : {ndarray, sparse matrix} of shape (n_landmarks, n_features)
            The landmarks.
        device : device
            Where the tensors are.
        dtype : dtype
            The precision of the rows and of the products.
        outputs : int
            The number of columns of what the values are multiplied by.

        Returns
        -------
        callable or None
            A function from a tensor of rows to an object that can be multiplied, as can its transpose ``T``; None if
            the device has no code for it, or if products with stored values are faster.
        """
        return None

    @abstractmethod
    def diagonal(self, X: Array) -> NDArray[np.float64]:
        """Compute k(x, x) for the rows of a validated float64 matrix.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            Rows in float64.

        Returns
        -------
        ndarray of shape (n_samples,)
            The values k(x, x) in float64.
        """

    def check_rows(self, X: Array) -> None:  # noqa: B027 - most kernels are defined everywhere
        """Raise a ValueError that names the first row outside the kernel's domain, if there is one.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            The rows to check.
        """

    @property
    def takes_every_row(self) -> bool:
        """Whether ``check_rows`` accepts every finite row, so that rows need not be read for the check.

        A class that overrides ``check_rows`` is assumed to refuse some rows unless it overrides this property as well.
        """
        return True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "check_rows" in vars(cls) and "takes_every_row" not in vars(cls):
            cls.takes_every_row = False  # type: ignore[assignment,method-assign]

    def _check_finite(self, values: NDArray[Any], first_row: int = 0) -> None:
        finite = np.isfinite(values)
        if not finite.all():
            row, *column = np.unravel_index(np.argmin(finite), finite.shape)
            place = f"row {first_row + row} of X" + "".join(f" and row {other} of Y" for other in column)
            raise ValueError(f"{self!r} overflows {values.dtype} at {place}: scale the rows down or lower the degree")

    # -- derivatives ---------------------------------------------------------------------------------------------------

    @property
    def has_gradient(self) -> bool:
        """Whether :meth:`gradients` is available."""
        return False

    def gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute weighted sums of derivatives, sum_l weights[i, l] dk(x_i, y_l) / dx_i, for every row x_i.

        A pair of equal rows, at which some kernels have a corner, contributes 0.

        Parameters
        ----------
        X : ndarray of shape (n_samples_X, n_features)
            Dense rows in float64.
        Y : ndarray of shape (n_samples_Y, n_features)
            Dense rows in float64.
        weights : ndarray of shape (n_samples_X, n_samples_Y)
            The weights of the pairs.

        Returns
        -------
        ndarray of shape (n_samples_X, n_features)
            The sum for every row of X.
        """
        raise ValueError(f"{self!r} has no derivatives with respect to columns")

    scale_powers: ClassVar[dict[str, float]] = {}
    """By which power of a field the rows are multiplied, for fields on which the kernel depends in no other way."""

    def column_gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the derivatives of sum_il weights[i, l] k(x_i, y_l) with respect to a rescaling of each column.

        Parameters
        ----------
        X : ndarray of shape (n_samples_X, n_features)
            Dense rows in float64.
        Y : ndarray of shape (n_samples_Y, n_features)
            Dense rows in float64.
        weights : ndarray of shape (n_samples_X, n_samples_Y)
            The weights of the pairs.

        Returns
        -------
        ndarray of shape (n_features,)
            The derivative with respect to the logarithm of a factor of every column, at a factor of 1.
        """
        own = (X * self.gradients(X, Y, weights)).sum(axis=0)
        return own + (Y * self.gradients(Y, X, np.ascontiguousarray(weights.T))).sum(axis=0)

    def field_gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Compute the derivatives of sum_il weights[i, l] k(x_i, y_l) with respect to the logarithms of fields.

        Parameters
        ----------
        X : ndarray of shape (n_samples_X, n_features)
            Dense rows in float64.
        Y : ndarray of shape (n_samples_Y, n_features)
            Dense rows in float64.
        weights : ndarray of shape (n_samples_X, n_samples_Y)
            The weights of the pairs.

        Returns
        -------
        dict of ndarray
            For every field that is a positive number or one number per column, by its name as in ``get_params``.
        """
        stretching = self.fields_that_stretch(self.column_gradients(X, Y, weights)) if self.scale_powers else {}
        return stretching | self.other_field_gradients(X, Y, weights)

    def other_field_gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Compute the derivatives of :meth:`field_gradients` for the fields that do not rescale rows.

        Parameters
        ----------
        X : ndarray of shape (n_samples_X, n_features)
            Dense rows in float64.
        Y : ndarray of shape (n_samples_Y, n_features)
            Dense rows in float64.
        weights : ndarray of shape (n_samples_X, n_samples_Y)
            The weights of the pairs.

        Returns
        -------
        dict of ndarray
            The derivatives, by the names of fields.
        """
        return {}

    def fields_that_stretch(self, columns: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return the derivatives with respect to fields that rescale rows, given :meth:`column_gradients`.

        Parameters
        ----------
        columns : ndarray of shape (n_features,)
            The derivatives with respect to the logarithms of factors of columns.

        Returns
        -------
        dict of ndarray
            The derivative with respect to the logarithm of every such field.
        """
        powers = self.scale_powers.items()
        return {n: p * (columns if isinstance(getattr(self, n), tuple) else columns.sum()) for n, p in powers}

    # -- algebra -------------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Sum:
        return operation_named("Sum")(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> Self:
        # sum([k, l]) starts with 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, other: Any) -> Product | Scaled:
        if isinstance(other, Kernel):
            return operation_named("Product")(self, other)
        return self.__rmul__(other)

    def __rmul__(self, other: Any) -> Scaled:
        return operation_named("Scaled")(other, self) if isinstance(other, numbers.Real) else NotImplemented

    def of(self, inner: Kernel | str) -> Composition:
        """Compose this dot-product kernel f(<x, y>) with another kernel, giving f(inner(x, y)).

        Parameters
        ----------
        inner : Kernel or str
            Any kernel, or text that :func:`parse` understands.

        Returns
        -------
        Composition
            The composed kernel.

        Examples
        --------
        >>> from mercer.kernels import Gaussian, Polynomial
        >>> Polynomial(2, coef0=1.0).of(Gaussian(0.5))
        Polynomial(degree=2, gamma=1.0, coef0=1.0).of(Gaussian(gamma=0.5))
        """
        return operation_named("Composition")(self, inner)

    def of_distance(self, inner: Kernel | str) -> DistanceComposition:
        """Apply this kernel of distances to the distance that another kernel induces.

        Every ||x - y||^2 becomes inner(x, x) + inner(y, y) - 2 inner(x, y).

        Parameters
        ----------
        inner : Kernel or str
            Any kernel, or text that :func:`parse` understands.

        Returns
        -------
        DistanceComposition
            The composed kernel.

        Examples
        --------
        >>> from mercer.kernels import Gaussian, Linear
        >>> Gaussian(0.5).of_distance(Linear())
        Gaussian(gamma=0.5).of_distance(Linear())
        >>> Gaussian(0.5).of_distance("additive_chi2")
        Gaussian(gamma=0.5).of_distance(AdditiveChi2())
        """
        return operation_named("DistanceComposition")(self, inner)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={format_value(value)}" for name, value in self._fields().items())
        return f"{type(self).__name__}({fields})"

    # -- as a parameter ------------------------------------------------------------------------------------------------

    def _fields(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the fields by name, as an estimator's ``get_params`` does.

        Parameters
        ----------
        deep : bool, default=True
            If True, the fields of inner kernels are included under names such as ``left__gamma``.

        Returns
        -------
        dict
            The values by name.
        """
        params = self._fields()
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Kernel):
                    params |= {f"{name}__{inner}": field for inner, field in value.get_params().items()}
        return params

    def replace(self, **params: Any) -> Self:
        """Return a copy with some fields replaced.

        Parameters
        ----------
        **params : dict
            The new values by field name. A name such as ``left__gamma`` reaches into an inner kernel.

        Returns
        -------
        Kernel
            The changed copy.

        Examples
        --------
        >>> from mercer.kernels import Gaussian, Linear
        >>> (Gaussian(0.5) + Linear()).replace(left__gamma=2.0)
        Gaussian(gamma=2.0) + Linear()
        """
        fields = self._fields()
        nested: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            head, _, tail = name.partition("__")
            if head not in fields or (tail and not isinstance(fields[head], Kernel)):
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {sorted(self.get_params())}")
            if tail:
                nested.setdefault(head, {})[tail] = value
            else:
                fields[head] = value
        for head, inner in nested.items():
            fields[head] = fields[head].replace(**inner)
        return type(self)(**fields)

    def __sklearn_clone__(self) -> Self:
        return self  # frozen: a copy could not differ

    def resolve(self, X: Array, rng: Any = None) -> Self:
        """Return a copy in which ``"scale"`` and ``"median"`` have been replaced by numbers learned from X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows to learn from.
        rng : int, Generator, RandomState or None, default=None
            Seeds the sample of rows from which ``"median"`` is computed.

        Returns
        -------
        Kernel
            The kernel with numbers in place of the rules.

        Examples
        --------
        >>> from mercer.kernels import Gaussian
        >>> Gaussian("scale").resolve([[0.0, 2.0], [2.0, 0.0]])
        Gaussian(gamma=0.5)
        """
        return self._resolved(X if is_rows(X) else as_rows(check_matrix(X), rng))

    def _resolved(self, rows: Rows) -> Self:
        fields = self._fields().items()
        resolved = {name: value._resolved(rows) if isinstance(value, Kernel) else value for name, value in fields}
        return type(self)(**resolved)._with_learned_bandwidth(rows)

    @property
    def rows_sampled(self) -> int:
        """The number of rows that ``resolve`` samples, or 0."""
        return max((value.rows_sampled for value in self._fields().values() if isinstance(value, Kernel)), default=0)

    def _learns(self) -> str | None:
        """Return the name of the field that is still to be learned from data, if there is one."""
        return None

    def _with_learned_bandwidth(self, rows: Rows) -> Self:
        """Return a copy in which that field has been learned."""
        return self

    @property
    def is_resolved(self) -> bool:
        """Whether every field is a number, so that nothing is left to learn from data."""
        parts = (value for value in self._fields().values() if isinstance(value, Kernel))
        return self._learns() is None and all(part.is_resolved for part in parts)

    def check_resolved(self) -> None:
        """Raise a ValueError if a field is still to be learned from data."""
        field = self._learns()
        if field is not None:
            raise ValueError(
                f"{field}={getattr(self, field)!r} of {self!r} is not a number yet: "
                "call kernel.resolve(X, rng) first, or let a map's fit do it"
            )
        for value in self._fields().values():
            if isinstance(value, Kernel):
                value.check_resolved()

    # -- what maps need ------------------------------------------------------------------------------------------------

    @property
    def is_dot_product(self) -> bool:
        """Whether k(x, y) = sum a_n <x, y>^n, with the a_n given by :meth:`series`."""
        return False

    @property
    def is_shift_invariant(self) -> bool:
        """Whether k depends only on x - y and therefore has a spectral distribution."""
        return False

    @property
    def domain_is_non_negative(self) -> bool:
        """Whether k, or a kernel that it is made of, is defined only for rows without negative values."""
        return any(value.domain_is_non_negative for value in self._fields().values() if isinstance(value, Kernel))

    @property
    def max_degree(self) -> int | None:
        """The highest degree in the series of a dot-product kernel, or None if the series is infinite."""
        return None

    @property
    def radius(self) -> float:
        """The radius of convergence of a dot-product kernel's series."""
        return np.inf

    def series(self, count: int) -> NDArray[np.float64]:
        """Return the first Maclaurin coefficients of a dot-product kernel.

        Parameters
        ----------
        count : int
            The number of coefficients.

        Returns
        -------
        ndarray of shape (count,)
            The coefficients a_0, a_1, ...
        """
        raise ValueError(f"{self!r} is not a dot-product kernel: it has no Maclaurin series")

    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute f(t) for a dot-product kernel f(<x, y>).

        Parameters
        ----------
        t : ndarray
            Inner products, or values of an inner kernel.

        Returns
        -------
        ndarray
            The values of f, in the shape of t.
        """
        raise ValueError(f"{self!r} is not a dot-product kernel: it is not a function of <x, y>")

    def check_arguments(self, t: NDArray[Any], what: str) -> None:
        """Raise a ValueError if the series diverges at one of these values.

        Parameters
        ----------
        t : ndarray of shape (n_samples,)
            The squared norm of every row, or k(x, x) of an inner kernel.
        what : str
            What the values are, for the message.
        """
        outside = t >= self.radius
        if outside.any():
            row = int(np.argmax(outside))
            raise ValueError(
                f"{self!r} is defined for rows of {what} below {self.radius:g}; row {row} has {float(t[row]):g}"
            )

    # -- spectral distributions ----------------------------------------------------------------------------------------

    @property
    def has_spectrum(self) -> bool:
        """Whether k is shift-invariant in ``coordinates(X)``, so that the methods below describe its spectrum."""
        return self.is_shift_invariant

    @property
    def is_rotation_invariant(self) -> bool:
        """Whether k is a function of the distance in ``coordinates``; frequencies are then scaled normal vectors."""
        return False

    @property
    def amplitude(self) -> float:
        """The value k(x, x), which is the same for every x if the kernel has a spectrum."""
        raise self._without_spectrum()

    @property
    def chart(self) -> Hashable:
        """A value that differs between kernels with different ``coordinates``; None if these are X itself."""
        return None

    def coordinates(self, X: Array) -> Array:
        """Transform rows into the coordinates in which the kernel is shift-invariant; most kernels return X itself.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_features)
            The transformed rows.
        """
        return X

    def coordinate_slopes(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the derivative of every coordinate with respect to the entry from which it is computed.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Dense rows in float64.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The derivatives.
        """
        return np.ones_like(X)

    def spectral_block(self, X: Array, Y: Array) -> NDArray[np.float64]:
        """Compute the Gram matrix of rows that are given by their coordinates.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples_X, n_features)
            The coordinates of the rows of the Gram matrix.
        Y : {ndarray, sparse matrix} of shape (n_samples_Y, n_features)
            The coordinates of its columns.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples_Y)
            The values k(x, y).
        """
        return self.gram(X, Y)

    def frequencies(self, rng: Stream, count: int, n_features: int) -> NDArray[np.float64]:
        """Draw frequencies independently from the spectral distribution.

        Parameters
        ----------
        rng : Stream
            The source of randomness.
        count : int
            The number of frequencies.
        n_features : int
            The number of columns of the rows.

        Returns
        -------
        ndarray of shape (count, n_features)
            One frequency per row.
        """
        raise self._without_spectrum()

    def spectral_dimension(self, n_features: int) -> int:
        """Return how many uniform numbers :meth:`quantiles` turns into one frequency.

        Parameters
        ----------
        n_features : int
            The number of columns of the rows.

        Returns
        -------
        int
            The dimension of the unit cube.
        """
        raise self._without_spectrum()

    def quantiles(self, points: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        """Map points of the unit cube to frequencies by the quantile function of the spectral distribution.

        Parameters
        ----------
        points : ndarray of shape (n_points, spectral_dimension)
            Points of the unit cube.
        n_features : int
            The number of columns of the rows.

        Returns
        -------
        ndarray of shape (n_points, n_features)
            One frequency per row.
        """
        raise self._without_spectrum()

    def spectral_moment(self, n_features: int) -> float:
        """Return E ||w||^2 of a frequency w, which may be infinite.

        Parameters
        ----------
        n_features : int
            The number of columns of the rows.

        Returns
        -------
        float
            The second moment.
        """
        raise self._without_spectrum()

    def scales(self, rng: Stream, count: int) -> NDArray[np.float64]:
        """Draw the random factors that turn normal vectors into frequencies of a rotation-invariant kernel.

        Parameters
        ----------
        rng : Stream
            The source of randomness.
        count : int
            The number of scales.

        Returns
        -------
        ndarray of shape (count,)
            Independent scales.
        """
        raise self._without_radius()

    def radial(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute a rotation-invariant kernel from squared distances.

        Parameters
        ----------
        squares : ndarray
            Squared distances ||x - y||^2.

        Returns
        -------
        ndarray
            The kernel's values, in the shape of ``squares``.
        """
        raise self._without_radius()

    def _without_spectrum(self) -> ValueError:
        return ValueError(f"{self!r} is not shift-invariant: it has no spectral distribution")

    def _without_radius(self) -> ValueError:
        return ValueError(f"{self!r} is not rotation-invariant: it is not a function of ||x - y||")
