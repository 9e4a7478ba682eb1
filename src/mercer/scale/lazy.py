"""Methods of fitted maps and learners on Dask collections, whose results are Dask arrays that are not computed yet."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._set_output import _get_output_config

from .collections import check_rows, is_collection

Method = TypeVar("Method", bound=Callable[..., Any])

LIKELY = (0.0, 0.5, 1.0)
"""Numbers among which the domain of every kernel contains at least one."""


class Call(NamedTuple):
    """A method of a fitted estimator that is called with rows and further arguments."""

    estimator: Any
    method: str
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    learned: dict[str, Any]
    """Attributes that are sent separately from the estimator, because few methods need them."""
    item: int | None = None
    """The position of the requested result among several; None if there is only one."""

    @classmethod
    def of(cls, estimator: Any, method: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Call:
        """Return the call with all that it needs from the estimator."""
        learned = {"statistics_": estimator.statistics_} if named.get("return_std") else {}
        return cls(estimator, method, arguments, named, learned)

    def __call__(self, X: Any) -> Any:
        estimator = self.estimator
        if self.learned:
            estimator = copy(estimator)
            vars(estimator).update(self.learned)
        found = getattr(estimator, self.method)(X, *self.arguments, **self.named)
        return found if self.item is None else found[self.item]


def lazily(method: Method) -> Method:
    """Let a method that is given a Dask collection return a Dask array, computed partition by partition on demand.

    Parameters
    ----------
    method : callable
        A method whose first argument is rows, and whose result is an array with the same number of rows, or a tuple of
        such arrays.

    Returns
    -------
    callable
        The method, which is unchanged for other rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from mercer.scale import lazily
    >>> class Doubling:
    ...     @lazily
    ...     def transform(self, X):
    ...         return 2 * X
    >>> doubled = Doubling().transform(da.ones((4, 2), chunks=(2, 2)))
    >>> doubled.chunks, float(doubled.sum().compute())
    (((2, 2), (2,)), 16.0)
    """

    @wraps(method)
    def given_back(self: Any, X: Any, *arguments: Any, **named: Any) -> Any:
        if not is_collection(X):
            return method(self, X, *arguments, **named)
        check_rows(X)
        check_output(self, method.__name__)
        call = Call.of(self, method.__name__, arguments, named)
        example = example_of(call, X)
        if isinstance(example, list | tuple):
            return type(example)(mapped(call._replace(item=item), X, one) for item, one in enumerate(example))
        return mapped(call, X, example)

    return given_back  # type: ignore[return-value]


def check_output(estimator: Any, method: str) -> None:
    """Refuse data frames in place of features, which scikit-learn would make of all rows in this process."""
    wanted = _get_output_config("transform", estimator)["dense"]
    if method == "transform" and wanted != "default":
        raise ValueError(
            f"set_output(transform={wanted!r}) is not possible with a Dask collection: its features are a Dask array"
        )


def example_of(call: Call, X: Any) -> Any:
    """Return the result for an artificial row, to find out the type and the shape of results."""
    estimator = call.estimator
    if not hasattr(X, "chunks"):
        if hasattr(estimator, "treating_unknown"):
            call = call._replace(estimator=estimator.treating_unknown("ignore"))
        rows = [X._meta_nonempty.iloc[:1]]
    else:
        if X.shape[1] != X.shape[1]:
            raise ValueError("the number of columns of X is not known: call X.compute_chunk_sizes() first")
        rows = [np.full((1, X.shape[1]), number, dtype=X.dtype) for number in LIKELY]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in rows[:-1]:
            try:
                return call(row)
            except ValueError:  # outside the domain of a kernel, or another error about the rows
                continue
        return call(rows[-1])


def mapped(call: Call, X: Any, example: NDArray[Any]) -> Any:
    """Return the results for all rows as a Dask array, with the chunks of the collection."""
    import dask.array as da
    from dask.delayed import delayed

    from .parcels import packed

    parcel = delayed(packed(call), pure=True, traverse=False)
    empty = np.empty((0, *example.shape[1:]), dtype=example.dtype)
    if not hasattr(X, "chunks"):
        made = delayed(called, pure=False)
        shape = (np.nan, *empty.shape[1:])
        parts = [da.from_delayed(made(part, parcel, empty), shape, meta=empty) for part in X.to_delayed()]
        return da.concatenate(parts, allow_unknown_chunksizes=True)
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    axes = dict(enumerate(empty.shape[1:], 2))
    given = {"parcel": parcel, "empty": empty, "concatenate": True, "dtype": empty.dtype, "meta": empty}
    return da.blockwise(called, (0, *axes), X, (0, 1), new_axes=axes, **given)


def called(X: Any, parcel: bytes, empty: NDArray[Any]) -> Any:
    """Return the result of a packed call for the rows of one partition."""
    from .parcels import opened

    return opened(parcel)(X) if X.shape[0] else empty


def computed(*parts: Any) -> tuple[Any, ...]:
    """Return Dask collections as arrays in this process; other objects are returned unchanged.

    Parameters
    ----------
    *parts : object
        Collections, arrays or None.

    Returns
    -------
    tuple
        The arrays.

    Examples
    --------
    >>> import dask.array as da
    >>> from mercer.scale import computed
    >>> computed(da.arange(3), None)
    (array([0, 1, 2]), None)
    """
    return tuple(part.compute() if is_collection(part) else part for part in parts)
