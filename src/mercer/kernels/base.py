"""What every kernel can do: evaluate itself exactly, combine with others, and be a parameter of an estimator."""

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

from .._array import Array, canonical_csr, on_gpu, to_numpy
from .._memory import check_memory
from .._rows import Rows, as_rows, is_rows
from .._tiles import TILE, run_tiles
from ..gpu.device import Device

if TYPE_CHECKING:
    from .._random import Stream
    from .algebra import Product, Scaled, Sum
    from .composition import Composition, DistanceComposition

BLOCK_ELEMENTS = 1 << 21

Made = TypeVar("Made", bound=Callable[..., Any])
_OPERATIONS: dict[str, Any] = {}


def operation(make: Made) -> Made:
    """Register what makes a kernel of kernels or of text, by its name.

    All kernels build on this module, so it cannot import what its operators return: they are looked up here.
    """
    _OPERATIONS[make.__name__] = make
    return make


def operation_named(name: str) -> Any:
    """What was registered under a name."""
    return _OPERATIONS[name]


@contextmanager
def located(X: Array) -> Iterator[None]:
    """Let an error about NaN or infinity say where the first one is."""
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
    """X as float32 or float64, dense or CSR, finite."""
    with located(X):
        return check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name=name)


def first_entry(X: Array, wrong: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> str | None:
    """Where the first entry is that is wrong, in words; a CSR matrix is asked for the entries that it stores."""
    if on_gpu(X) and not bool(wrong(X.ravel()).any()):
        return None  # and nothing was fetched from the device
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
    """NumPy or CSR blocks of rows, small beside a large matrix, with the number of their first row."""
    X = to_numpy(X)
    width = -(-X.nnz // X.shape[0]) if sp.issparse(X) else X.shape[1]
    step = max(1, BLOCK_ELEMENTS // max(1, width))
    for start in range(0, X.shape[0], step):
        block = X if step >= X.shape[0] else X[start : start + step]  # SciPy copies what it slices
        yield start, canonical_csr(block) if sp.issparse(block) else block


def row_values(function: Callable[[Any], NDArray[np.float64]], X: Array) -> NDArray[np.float64]:
    """One number per row, computed in float64 block by block."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.concatenate([function(block.astype(np.float64)) for _, block in row_blocks(X)])


def format_value(value: Any) -> str:
    """A field's value in the form that :func:`mercer.kernels.parse` reads."""
    if isinstance(value, numbers.Integral):
        return repr(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, tuple):
        return "(" + ", ".join(map(format_value, value)) + ("," if len(value) == 1 else "") + ")"
    return repr(value)


class Kernel(ABC):
    """A positive definite function of two rows: frozen, hashable, without data or randomness.

    Subclasses are frozen dataclasses that give ``gram`` and ``diagonal``; what maps need of a kernel (a Maclaurin
    series, a spectral law) they give where they have it.
    """

    description: ClassVar[str] = "A function of two rows that says how alike they are."
    """What pages about a model say of the kernel."""

    __array_ufunc__ = None  # so that a NumPy scalar times a kernel arrives at __rmul__

    # -- exact values --------------------------------------------------------------------------------------------------

    def __call__(self, X: Array, Y: Any = None) -> NDArray[Any]:
        """The exact Gram matrix of the rows of X against those of Y (X itself when None).

        Computed in float64 block by block, returned in the precision of X.
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
        """The values k(x, x), without the rest of the Gram matrix."""
        self.check_resolved()
        X = check_matrix(X)
        self.check_rows(X)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.diagonal(X.astype(np.float64)).astype(X.dtype)
        self._check_finite(values)
        return values

    @abstractmethod
    def gram(self, X: Array, Y: Array) -> NDArray[np.float64]:
        """k of the rows of two float64 matrices."""

    def gram_against(self, Y: Array) -> Callable[[Any], NDArray[np.float64]]:
        """``gram`` as a function of X alone, with what depends on Y alone made once."""
        return lambda X: self.gram(X, Y)

    def single_core_gram_against(self, Y: Array) -> Callable[[Any], NDArray[np.float64]]:
        """The same for a thread that has some of the rows X: it is to use one core, and others have the other rows."""
        return self.gram_against(Y)

    def values_at(self, landmarks: Array, dtype: DTypeLike) -> Callable[[Any, NDArray[Any]], None]:
        """A function that writes the values of rows of this type at landmarks, in their own precision, on one core."""
        values = self.single_core_gram_against(landmarks)

        def write(X: Array, out: NDArray[Any]) -> None:
            out[...] = values(X.astype(np.float64, copy=False))

        return write

    def tensor_values_at(self, landmarks: Array, device: Device, dtype: DTypeLike) -> Callable[[Any], Any]:
        """The values of rows of this type at landmarks, as a function of tensors on a device.

        Here they are made on the processor, for kernels that no device knows.
        """
        write, count = self.values_at(landmarks, dtype), landmarks.shape[0]

        def values(X: Any) -> Any:
            rows, found = device.received(X), np.empty((X.shape[0], count), dtype=dtype)

            def work(tile: slice) -> None:
                with np.errstate(over="ignore", invalid="ignore"):
                    write(rows[tile], found[tile])

            run_tiles(work, len(rows), TILE, None)
            return device.sent(found)

        return values

    @abstractmethod
    def diagonal(self, X: Array) -> NDArray[np.float64]:
        """k(x, x) of the rows of a float64 matrix."""

    def check_rows(self, X: Array) -> None:  # noqa: B027 - most kernels are defined everywhere
        """Raise a ValueError that names the first row outside the kernel's domain."""

    @property
    def takes_every_row(self) -> bool:
        """Whether ``check_rows`` has nothing to refuse, so that rows need not be read for it.

        A class that gives a ``check_rows`` of its own is taken to refuse some unless it gives this as well.
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
        """Whether ``gradients`` gives the derivatives of k with respect to the columns of a row."""
        return False

    def gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weighted sums of derivatives sum_l weights[i, l] dk(x_i, y_l) / dx_i, one row for every row of X.

        For dense float64 rows; ``weights`` has the shape of the Gram matrix. A pair of equal rows, where some kernels
        have a corner, counts as flat.
        """
        raise ValueError(f"{self!r} has no derivatives with respect to columns")

    # -- algebra -------------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Sum:
        return operation_named("Sum")(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> Self:
        # What sum([k, l]) starts with.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, other: Any) -> Product | Scaled:
        if isinstance(other, Kernel):
            return operation_named("Product")(self, other)
        return self.__rmul__(other)

    def __rmul__(self, other: Any) -> Scaled:
        return operation_named("Scaled")(other, self) if isinstance(other, numbers.Real) else NotImplemented

    def of(self, inner: Kernel | str) -> Composition:
        """The composition f(inner(x, y)) of a dot-product kernel f(<x, y>) with any kernel, which may be text."""
        return operation_named("Composition")(self, inner)

    def of_distance(self, inner: Kernel | str) -> DistanceComposition:
        """This function of the distance that another kernel induces: ||x - y||^2 becomes k(x,x) + k(y,y) - 2 k(x,y).

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
        """The fields by name and, where ``deep``, the fields of inner kernels as ``left__gamma``."""
        params = self._fields()
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Kernel):
                    params |= {f"{name}__{inner}": field for inner, field in value.get_params().items()}
        return params

    def replace(self, **params: Any) -> Self:
        """A copy with other fields; ``left__gamma`` reaches into inner kernels.

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
        """A copy in which ``"scale"`` and ``"median"`` have become numbers learned from X.

        ``rng`` seeds the sample behind ``"median"``: an int, a Generator, a RandomState or None.
        """
        return self._resolved(X if is_rows(X) else as_rows(check_matrix(X), rng))

    def _resolved(self, rows: Rows) -> Self:
        fields = self._fields().items()
        resolved = {name: value._resolved(rows) if isinstance(value, Kernel) else value for name, value in fields}
        return type(self)(**resolved)._with_learned_bandwidth(rows)

    @property
    def rows_sampled(self) -> int:
        """How large a sample of the rows ``resolve`` takes; 0 where it takes none."""
        return max((value.rows_sampled for value in self._fields().values() if isinstance(value, Kernel)), default=0)

    def _learns(self) -> str | None:
        """The name of the field that is still to be learned from data."""
        return None

    def _with_learned_bandwidth(self, rows: Rows) -> Self:
        """A copy with that field learned."""
        return self

    @property
    def is_resolved(self) -> bool:
        """Whether all its fields are numbers, with nothing left to be learned from data."""
        parts = (value for value in self._fields().values() if isinstance(value, Kernel))
        return self._learns() is None and all(part.is_resolved for part in parts)

    def check_resolved(self) -> None:
        """Raise where a field is still to be learned."""
        field = self._learns()
        if field is not None:
            raise ValueError(
                f"{field}={getattr(self, field)!r} of {self!r} is not a number yet: "
                "call kernel.resolve(X, rng) first, or let a map's fit do it"
            )
        for value in self._fields().values():
            if isinstance(value, Kernel):
                value.check_resolved()

    # -- what maps ask for ---------------------------------------------------------------------------------------------

    @property
    def is_dot_product(self) -> bool:
        """Whether k(x, y) = sum a_n <x, y>^n, so that ``series`` gives the a_n."""
        return False

    @property
    def is_shift_invariant(self) -> bool:
        """Whether k depends on x - y alone, so that it has a spectral law."""
        return False

    @property
    def domain_is_non_negative(self) -> bool:
        """Whether k is defined for rows without negative values alone, as one of its parts may be."""
        return any(value.domain_is_non_negative for value in self._fields().values() if isinstance(value, Kernel))

    @property
    def max_degree(self) -> int | None:
        """The last degree of a dot-product kernel's series; None where it does not end."""
        return None

    @property
    def radius(self) -> float:
        """Where a dot-product kernel's series diverges."""
        return np.inf

    def series(self, count: int) -> NDArray[np.float64]:
        """The first ``count`` Maclaurin coefficients a_0, a_1, ... of a dot-product kernel."""
        raise ValueError(f"{self!r} is not a dot-product kernel: it has no Maclaurin series")

    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """f(t) of a dot-product kernel f(<x, y>)."""
        raise ValueError(f"{self!r} is not a dot-product kernel: it is no function of <x, y>")

    def check_arguments(self, t: NDArray[Any], what: str) -> None:
        """Raise where the series diverges at one of these values, k(x, x) of an inner kernel or a squared norm."""
        outside = t >= self.radius
        if outside.any():
            row = int(np.argmax(outside))
            raise ValueError(
                f"{self!r} is defined for rows of {what} below {self.radius:g}; row {row} has {float(t[row]):g}"
            )

    # -- spectral laws -------------------------------------------------------------------------------------------------

    @property
    def has_spectrum(self) -> bool:
        """Whether k is shift-invariant in ``coordinates(X)``, so that the methods below tell its spectral law."""
        return self.is_shift_invariant

    @property
    def is_rotation_invariant(self) -> bool:
        """Whether k is a function of ||x - y|| of ``coordinates``: frequencies are normal vectors times ``scales``."""
        return False

    @property
    def amplitude(self) -> float:
        """k(x, x) of a kernel that has a spectrum."""
        raise self._without_spectrum()

    @property
    def chart(self) -> Hashable:
        """What tells the ``coordinates`` of kernels apart: a shift, factors of columns, or None for X itself."""
        return None

    def coordinates(self, X: Array) -> Array:
        """The rows in which the kernel is shift-invariant: X itself, for most."""
        return X

    def spectral_block(self, X: Array, Y: Array) -> NDArray[np.float64]:
        """k between rows that are given by their coordinates."""
        return self.gram(X, Y)

    def frequencies(self, rng: Stream, count: int, n_features: int) -> NDArray[np.float64]:
        """Independent draws from the spectral law, one per row."""
        raise self._without_spectrum()

    def spectral_dimension(self, n_features: int) -> int:
        """How many uniform numbers make one frequency."""
        raise self._without_spectrum()

    def quantiles(self, points: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        """The frequencies that these points of the unit cube of ``spectral_dimension`` stand for, one per row."""
        raise self._without_spectrum()

    def spectral_moment(self, n_features: int) -> float:
        """E ||w||^2 of a frequency w, which may be infinite."""
        raise self._without_spectrum()

    def scales(self, rng: Stream, count: int) -> NDArray[np.float64]:
        """Independent random scales: times normal vectors, they are frequencies of a rotation-invariant kernel."""
        raise self._without_radius()

    def radial(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """A rotation-invariant kernel as a function of ||x - y||^2."""
        raise self._without_radius()

    def _without_spectrum(self) -> ValueError:
        return ValueError(f"{self!r} is not shift-invariant: it has no spectral law")

    def _without_radius(self) -> ValueError:
        return ValueError(f"{self!r} is not rotation-invariant: it is no function of ||x - y||")
