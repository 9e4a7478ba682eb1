"""What every kernel machine shares: arguments, the way from rows to features, and predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import maps
from .._checks import check_choice, check_whole
from .._memory import check_room
from .._random import Stream
from .._tiles import run_tiles, sum_in_order
from ..choose import feature_map
from ..data import ArrayTable, Table
from ..data.frames import columns, is_frame, is_numeric
from ..data.tables import part_of
from ..kernels import Gaussian, Kernel
from ..kernels._base import located
from ..maps import Compressed, FeatureMap, Nystrom
from ..maps._parameters import KernelParameters
from ..maps._row_check import check_rows
from ._keeping import Keeper
from ._preparation import MISSING, SCALES, UNKNOWN, Preparation
from ._progress import Progress, Watch
from ._rows import Chunk, PreparedRows
from .statistics import chunk_rows

DEFAULT_COMPONENTS = 1024
PREDICTED_ROWS = 1024
"""Rows that are prepared and mapped at once for a prediction."""


class KernelMachine(KernelParameters):
    """A linear model on the features of a map.

    Parameters
    ----------
    kernel : a kernel of :mod:`mercer.kernels`, text that describes one, a function of two rows, "precomputed", or None
        None is ``Gaussian("scale")``. With "precomputed", ``fit`` takes the square kernel matrix in place of rows, and
        predictions the values of new rows against those of ``fit``, of which only the columns
        ``map_.component_indices_`` are read. A function and "precomputed" are for :class:`Nystrom`, which "auto" takes.
    n_components : int or None
        The width of the map; None is 1024.
    map : "auto", the name of a map, or a FeatureMap
        "auto" takes the rules of :func:`mercer.feature_map`, or where there are no more rows than ``n_components``,
        :class:`Nystrom` on all of them, which is exact. A FeatureMap brings its own kernel, width and seed.
    scale : "standard", "unit", "minmax" or None
        Columns of mean 0 and variance 1, rows of norm 1, columns from 0 to 1, or rows as they are. Zeros of sparse rows
        stay zeros.
    missing : "error" or "mean"
        Whether gaps are refused or filled with the mean of their column.
    unknown : "error" or "ignore"
        Whether a level that was not there in ``fit`` is refused, or stands for none.
    random_state : int, numpy Generator or RandomState, or None
    n_jobs : int or None
        Threads; see :class:`FeatureMap`.
    callback : function or None
        Called with a :class:`Progress` after every block of rows, in every pass. Where it raises an error, ``fit`` ends
        with that error and nothing is fitted; ``partial_fit``, ``merge`` and ``forget`` leave all as it was.

    Attributes
    ----------
    map_ : the map, fitted
    preparation_ : what was learned of the columns
    """

    _set_last: ClassVar[str] = "coef_"
    """The attribute that ``fit`` sets last: without it nothing is fitted."""

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_components: int | None = None,
        map: Any = "auto",
        scale: str | None = None,
        missing: str = "error",
        unknown: str = "error",
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callable[[Progress], None] | None = None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.map = map
        self.scale = scale
        self.missing = missing
        self.unknown = unknown
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback

    _keeper: Keeper | None = None
    """Where what passes find is kept, while there is a run that can be gone on with."""

    # -- from X to a table of rows -------------------------------------------------------------------------------------

    def _checked(self, X: Any, reset: bool) -> Any:
        """X as scikit-learn validates it; a frame with levels as it is."""
        if is_frame(X) and not all(map(is_numeric, columns(X).values())):
            return validate_data(self, X, skip_check_array=True, reset=reset)
        gaps = "allow-nan" if self.missing == "mean" else True
        with located(X):
            return validate_data(
                self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=gaps, reset=reset
            )

    def _table(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Table:
        """The rows to learn from; with ``reset`` nothing of an earlier ``fit`` stays."""
        if reset:
            self._drop_learned()
            self._check_pairwise()
        if isinstance(X, Table):
            if y is not None or sample_weight is not None:
                raise ValueError("the blocks of X bring their own y and weights, found y or sample_weight beside them")
            validate_data(self, next(X.blocks()).X, skip_check_array=True, reset=reset)
            self._check_room(X)
            return X
        X = self._checked(X, reset)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if not weight.any():
                raise ValueError("sample_weight must not be all 0")
        table = ArrayTable(X, y, weight, square=reset and self._is_pairwise)
        self._check_room(table)
        return table

    def _least_memory(self, width: int) -> int:
        """Bytes that a fit with so many features takes at least, beside those of the map and of rows."""
        return 0

    def _check_room(self, table: Table) -> None:
        """Refuse, before any pass, what cannot be held."""
        asked = self.map.n_components if isinstance(self.map, FeatureMap) else self.n_components
        width = DEFAULT_COMPONENTS if asked is None else asked
        if not isinstance(width, int | np.integer) or self._least_memory(int(width)) == 0:
            return
        few = self.map == "auto" if isinstance(self.map, str) else isinstance(self.map, Nystrom)
        memory = None if self._keeper is None else self._keeper.memory
        try:
            check_room(self._least_memory(int(width)), f"the sums over {width} features and their solution", memory)
        except MemoryError:
            if not few or table.n_rows > width:  # of few rows there are no more landmarks
                raise
            check_room(self._least_memory(table.n_rows), f"the sums over {table.n_rows} landmarks", memory)

    # -- from rows to features -----------------------------------------------------------------------------------------

    def _start(self, table: Table, exact: bool, watch: Watch | None = None) -> PreparedRows:
        """Learn the preparation and the map; ``exact`` allows the map that "auto" takes for few rows."""
        watch = watch or Watch(self.callback, table, self._keeper)
        for name, choices in (("scale", SCALES), ("missing", MISSING), ("unknown", UNKNOWN)):
            check_choice(name, getattr(self, name), choices)
        self.preparation_ = Preparation(self.scale, self.missing, self.unknown)
        self.preparation_.learn_columns(block.X for block in watch.over("levels", table.blocks()))
        if self._is_pairwise and self.preparation_.levelled is not None:
            raise ValueError(
                f"kernel='precomputed' takes kernel values, found the levels of column {self.preparation_.levelled!r}"
            )
        self.preparation_.learn_scale((block.X, block.weight) for block in watch.over("scales", table.blocks()))
        # Those of `map.fit` with this seed, so that the model's map is the one that the user would fit alone.
        chosen = self._chosen_map(table.n_rows if exact else None)
        seed = watch.seed(chosen.random_state)
        self._rng = Stream(seed).child("rows")
        rows = PreparedRows(table, self.preparation_, self._rng, watch)
        chosen._fit_rows(rows, seed)
        self.map_: FeatureMap = chosen
        return rows

    @property
    def _is_pairwise(self) -> bool:
        """Whether rows are those of a kernel matrix."""
        named = self.get_params(deep=True).items()
        return any(
            isinstance(value, str) and value == "precomputed"
            for name, value in named
            if name == "kernel" or name.startswith("map__")
        )

    def _check_pairwise(self) -> None:
        if self._is_pairwise and not (self.scale is None and self.missing == "error"):
            raise ValueError(
                "kernel='precomputed' has kernel values in place of columns, which cannot be scaled or filled: give "
                f"scale=None and missing='error', found scale={self.scale!r} and missing={self.missing!r}"
            )

    def _drop_learned(self) -> None:
        """Be as before ``fit``, so that one that fails leaves no coefficients of another map behind."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.endswith("_in_")]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._set_last)

    @property
    def _is_prepared(self) -> bool:
        """Whether there is a model to save: one that is fitted, or could add rows."""
        return hasattr(self, self._set_last)

    def _chosen_map(self, n_rows: int | None) -> FeatureMap:
        given = {name: getattr(self, name) for name in ("kernel", "n_components", "random_state")}
        if isinstance(self.map, FeatureMap):
            twice = [name for name, value in given.items() if value is not None]
            if twice:
                raise ValueError(f"a FeatureMap brings its own {', '.join(twice)}: give None beside it")
            return clone(self.map)
        width = DEFAULT_COMPONENTS if self.n_components is None else self.n_components
        check_whole("n_components", width, alternatives=" or None")
        kernel = Gaussian("scale") if self.kernel is None else self.kernel
        if isinstance(self.map, str) and self.map != "auto":
            arguments = {"kernel": parsed(kernel), "n_components": width, "random_state": self.random_state}
            return named_map(self.map)(**arguments)
        check_choice("map", self.map, ("auto", "the name of a map", "a FeatureMap"))
        if n_rows is not None and n_rows <= width:
            return Nystrom(parsed(kernel), n_components=width, random_state=self.random_state)
        return feature_map(kernel, n_components=width, random_state=self.random_state)

    def _features(self, X: Any, first_row: int) -> NDArray[Any]:
        """The features of prepared rows."""
        check_rows(self.map_.kernel_, X, first_row)
        return self.map_._features(self.map_.parameters_, X, 1, first_row)

    def _summed(
        self,
        part: Callable[[NDArray[Any], Chunk], tuple[Any, ...]],
        rows: PreparedRows,
        held: int,
        what: str,
    ) -> tuple[Any, ...]:
        """The sums over all rows of what ``part`` makes of a chunk's features; ``held`` is the size of one result."""
        size = chunk_rows(self.map_.n_components_, rows.dtype.itemsize)

        def work(chunk: Chunk) -> tuple[Any, ...]:
            return part(self._features(chunk.X, chunk.first), chunk)

        def add(first: int, totals: Any, tell: Callable[[int], None] | None) -> tuple[Any, ...]:
            def after(chunk: Chunk) -> None:
                if tell is not None:
                    tell(chunk.last)

            return sum_in_order(work, rows.chunks(size, first), self.n_jobs, held, after, totals)

        return rows.watch.summed(what, add)

    def _difference(self, other: KernelMachine) -> str | None:
        """What tells the features of two machines apart, in words."""
        ours, theirs = self.map_, other.map_
        for name, mine, its in (
            ("the map", type(ours).__name__, type(theirs).__name__),
            ("the kernel", ours.kernel_, theirs.kernel_),
            ("the seed", ours.seed_, theirs.seed_),
            ("the width", ours.n_components_, theirs.n_components_),
            ("the number of columns", self.n_features_in_, other.n_features_in_),
        ):
            if mine != its:
                return f"{name} is {mine!r} here and {its!r} there"
        difference = self.preparation_.differs(other.preparation_)
        if difference is None and not equal_parameters(ours.parameters_, theirs.parameters_):
            return "the maps have learned from different rows"
        return difference

    # -- predictions ---------------------------------------------------------------------------------------------------

    def _products(self, X: Any, coef: NDArray[Any], intercept: NDArray[Any]) -> NDArray[Any]:
        """<coef, z> + intercept for every row of X and every row of ``coef``."""
        features, params = self.map_, self.map_.parameters_
        while isinstance(features, Compressed):  # what is learned on a projection needs none
            coef = features.fold(coef)
            features, params = features.map_, params.map
        weights: dict[Any, NDArray[Any]] = {}

        def products(prepared: Any, first: int) -> NDArray[Any]:
            dtype = prepared.dtype
            if dtype not in weights:
                weights[dtype] = np.ascontiguousarray(coef.T, dtype=dtype)
            Z = features._features(params, prepared, 1, first)
            return Z @ weights[dtype] + intercept.astype(dtype)

        return self._by_rows(X, products)

    def _by_rows(self, X: Any, function: Callable[[Any, int], NDArray[Any]]) -> NDArray[Any]:
        """What a function gives for prepared rows, some of them at a time."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        first = function(self._prepared(X, slice(0, 1)), 0)
        out = np.empty((X.shape[0], *first.shape[1:]), dtype=first.dtype)

        def fill(rows: slice) -> None:
            out[rows] = function(self._prepared(X, rows), rows.start)

        run_tiles(fill, X.shape[0], PREDICTED_ROWS, self.n_jobs)
        return out

    def _prepared(self, X: Any, rows: slice) -> Any:
        prepared = self.preparation_(part_of(X, rows), rows.start)
        check_rows(self.map_.kernel_, prepared, rows.start)
        return prepared

    # -- model files ---------------------------------------------------------------------------------------------------

    _learned: ClassVar[dict[str, Any]] = {}
    """Attributes that ``fit`` gives beside arrays, the map and the preparation, with their types."""

    def _layout(self) -> dict[str, Any]:
        """The arrays that ``fit`` may give: a Leaf, or a tuple of them, for every attribute."""
        return {}

    def _check_fitted(self) -> None:
        """Raise a ValueError where arrays are missing or do not belong together; what is not there may be None."""

    def _refuse_unless(self, agree: bool) -> None:
        if not agree:
            raise ValueError(f"the arrays of this {type(self).__name__} are incomplete or do not belong together")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "mean"
        tags.input_tags.pairwise = self._is_pairwise
        parts = (self.kernel, self.map)
        tags.input_tags.positive_only = any(
            part.domain_is_non_negative for part in parts if isinstance(part, Kernel | FeatureMap)
        )
        return tags


def parsed(kernel: Any) -> Any:
    """A kernel, also where it was given as text."""
    from ..kernels import parse

    return parse(kernel) if isinstance(kernel, str) and kernel != "precomputed" else kernel


def named_map(name: str) -> Any:
    """The class of a map by its name, as it is written or in lower case with underscores."""
    names = {known.lower(): known for known in maps.__all__ if known not in ("FeatureMap",)}
    found = names.get(name.replace("_", "").lower())
    if found is None:
        raise ValueError(f"map must be 'auto', a FeatureMap or one of {sorted(names.values())}, found {name!r}")
    return getattr(maps, found)


def equal_parameters(ours: Any, theirs: Any) -> bool:
    """Whether two trees of arrays are equal."""
    if isinstance(ours, tuple):
        return len(ours) == len(theirs) and all(map(equal_parameters, ours, theirs))
    return np.array_equal(ours, theirs)
