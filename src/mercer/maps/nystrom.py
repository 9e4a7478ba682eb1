"""Nystrom: features from a kernel's values at a few landmarks, for any kernel on any kind of object."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .. import _core
from .._array import Array, dense, double, first_overflow, is_cupy, namespace, on_gpu, pad, send, squares, to_numpy
from .._caller import warn_caller
from .._checks import check_choice, check_fraction, check_truth, check_whole
from .._memory import check_memory
from .._random import RandomState, Stream
from .._rows import Rows
from .._tiles import single_threaded_blas, tile_rows, tiles
from ..gpu.device import Device
from ..kernels import Kernel
from ..kernels.defaults import GAUSSIAN
from .construction import Construction, Gpu, Native, in_tiles
from .description import MapDescription
from .estimator import FeatureMap
from .fitted_map import FittedMap
from .landmarks import (
    Candidates,
    as_landmarks,
    given_numbers,
    given_rows,
    kernel_block,
    kernel_epsilon,
    kmeans,
    leverage,
    name_rows,
)
from .nystrom_parameters import NystromParameters, SparseRows, check_parameters, nystrom_layout, restored, stored
from .opaque_kernels import Pairwise, Precomputed, as_objects, is_matrix
from .whitening import check_symmetric

if TYPE_CHECKING:
    import torch

RULES = ("uniform", "kmeans", "leverage", "rpcholesky")


class ResidualTrace(NamedTuple):
    """The part of the kernel that Nystrom features miss, as a trace.

    Parameters
    ----------
    trace : float
        The sum of k(x, x) - ||Z(x)||^2 over the rows.
    relative : float
        The trace divided by the sum of k(x, x).
    rows : int
        The number of rows.

    Notes
    -----
    Both traces are NaN if the kernel turned out not to be positive semi-definite: then no trace bounds the error.
    """

    trace: float
    relative: float
    rows: int


@dataclass(frozen=True, kw_only=True, eq=False)
class NystromConstruction(Construction):
    """Landmarks chosen from the rows, and the inverse root of their kernel matrix.

    ``n_landmarks`` is learned from rows. ``measure`` returns the residual trace of a kernel that is a function; it is
    measured only on demand. ``measure`` is None if the trace is known or cannot be known.
    """

    rank: int | None
    landmarks: Any
    tol: float
    max_rows: int
    whiten: bool = True
    n_landmarks: int = 0
    measure: Callable[[], NDArray[np.float64]] | None = None

    evaluates_kernel = True
    bias = "its landmarks are chosen from the rows"
    learned: ClassVar[dict[str, tuple[str, Any]]] = {
        "n_components_": ("n_components", int),
        "_n_landmarks": ("n_landmarks", int),
    }
    largest_tile = 128  # few enough that their kernel values stay in cache until they are multiplied

    @property
    def draws_from_rows(self) -> bool:
        return True

    def _by(self, *rules: str) -> bool:
        return isinstance(self.landmarks, str) and self.landmarks in rules

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed)

    @property
    def _is_function(self) -> bool:
        return isinstance(self.kernel, Pairwise)

    def adapted(self, rows: Rows) -> Self:
        if self._is_precomputed and rows.n_rows != rows.n_features:
            shape = (rows.n_rows, rows.n_features)
            raise ValueError(f"kernel='precomputed' needs the square kernel matrix in fit, found shape {shape}")
        if self._by("kmeans") and (self._is_precomputed or rows.dtype == object):
            what = "a precomputed kernel" if self._is_precomputed else "objects"
            raise ValueError(f"landmarks='kmeans' needs rows of numbers, found {what}")
        if isinstance(self.landmarks, str):
            asked, count = self.n_components, min(self.n_components, rows.n_rows)
        else:
            asked = count = self._given(rows, lambda numbers: numbers)[0].shape[0]
        if self.rank is not None and self.rank > asked:
            raise ValueError(f"rank must be at most the number of landmarks, {asked}, found {self.rank}")
        if self._by("kmeans", "leverage", "rpcholesky") and self.max_rows < count:
            raise ValueError(f"max_rows must be at least the number of landmarks, {count}, found {self.max_rows}")
        most = count if self.rank is None else int(self.rank)
        return replace(self, n_landmarks=count, n_components=min(count, most))

    @property
    def _most(self) -> int:
        """The largest number of eigenpairs that may be kept."""
        return self.n_landmarks if self.rank is None else int(self.rank)

    def _given(self, rows: Rows, take: Callable[[Any], Any] | None = None) -> tuple[Any, Any]:
        """Return the landmarks that were given and their row numbers, which are absent for a matrix of landmarks.

        ``take`` makes landmarks of row numbers; by default it takes the rows.
        """
        landmarks, none = self.landmarks, np.zeros(0, dtype=np.int64)
        if rows.dtype == object:
            if not name_rows(landmarks, rows):
                return as_objects(landmarks, "landmarks"), none
        elif not sp.issparse(landmarks) and np.ndim(landmarks) == 0:
            raise ValueError(f"landmarks must be one of {RULES}, row numbers or a matrix, found {landmarks!r}")
        elif sp.issparse(landmarks) or np.ndim(landmarks) == 2:
            if self._is_precomputed:
                raise ValueError("landmarks of a precomputed kernel must be row numbers, found a matrix")
            landmarks = given_rows(landmarks, rows.n_features)
            self.kernel.check_rows(landmarks)
            return landmarks, none
        chosen = given_numbers(landmarks, rows.n_rows)
        return (as_landmarks(self.kernel, rows, chosen) if take is None else take(chosen)), chosen

    # -- parameters ----------------------------------------------------------------------------------------------------

    def draw(self, rng: Stream, rows: Rows) -> FittedMap:
        candidates = Candidates(self.kernel, rows, int(self.max_rows))
        landmarks, chosen = self._landmarks(rng.child("landmarks"), rows, candidates)
        count = landmarks.shape[0]
        if not self.whiten:
            unknown = np.array([math.nan, 0.0, 0.0])
            return self.fitted(NystromParameters(stored(landmarks), chosen, np.zeros((0, count)), unknown))
        check_memory((count, count), 8, "the kernel matrix of the landmarks")
        gram = self._gram(landmarks, rows)
        root = candidates.whitening(gram, self._most)
        # A wrapper relies on the width settled before; `fit` drops these columns again.
        root = pad(root, min(self.n_landmarks, self._most))
        params, probes = NystromParameters(stored(landmarks), chosen, root, np.zeros(3)), rng.child("probes")
        if self._is_function and not self._by("leverage", "rpcholesky"):
            # Every value is a call of the function: only a few rows are examined now, and all of them on demand.
            self._judge(probes, None, params, gram, candidates)
            later = None
            if candidates.negative == 0.0:
                later = partial(self._residual, probes, params, gram, candidates)
            return self.fitted(params._replace(residual=np.array([math.nan, 0.0, len(candidates)])), measure=later)
        return self.fitted(params._replace(residual=self._residual(probes, params, gram, candidates)))

    def _landmarks(self, rng: Stream, rows: Rows, candidates: Candidates) -> tuple[Any, Any]:
        """Choose landmarks, and return them with their row numbers."""
        if not isinstance(self.landmarks, str):
            return self._given(rows)
        count = self.n_landmarks
        if self._by("uniform") or (count == rows.n_rows and self.tol == 0.0):
            chosen = rows.choose(count)
        elif self._by("leverage"):
            chosen = candidates.numbers[leverage(rng, candidates, count)]
        elif self._by("rpcholesky"):
            chosen = candidates.numbers[candidates.pivots(rng, count, float(self.tol)).pivots]
        else:
            return kmeans(candidates.sample(slice(None)), rows.sample(count)), np.zeros(0, dtype=np.int64)
        if len(chosen) == 0:  # a kernel that is 0 on all rows: any of them will do
            chosen = rows.choose(1)
        # Centres are not rows, even if there are so few rows that each of them is a centre.
        return as_landmarks(self.kernel, rows, chosen), chosen[:0] if self._by("kmeans") else chosen

    def _gram(self, landmarks: Any, rows: Rows) -> NDArray[np.float64]:
        """Compute the kernel matrix of the landmarks."""
        if isinstance(self.kernel, Kernel):
            return self.kernel(landmarks)
        left = rows.take(landmarks) if self._is_precomputed else landmarks
        name = "the kernel matrix" if self._is_precomputed else "the kernel"
        return check_symmetric(kernel_block(self.kernel, left, landmarks), kernel_epsilon(self.kernel, rows), name)

    def _residual(
        self, rng: Stream, params: NystromParameters, gram: NDArray[np.float64], candidates: Candidates
    ) -> NDArray[np.float64]:
        """Return the residual trace, the trace and the number of rows; warn if the kernel is not positive definite."""
        residual = candidates.diagonal.copy()
        for tile in tiles(len(candidates), tile_rows(self.scratch)):
            residual[tile] -= squares(self.apply(params, double(candidates.sample(tile))))
        self._judge(rng, residual, params, gram, candidates)
        # Beyond rounding, a negative residual is an error as well, of a nearly singular matrix of landmarks.
        trace = float(candidates.unexplained(np.abs(residual)).sum()) if candidates.negative == 0.0 else math.nan
        return np.array([trace, float(candidates.diagonal.sum()), len(candidates)])

    def _judge(
        self,
        rng: Stream,
        residual: NDArray[np.float64] | None,
        params: NystromParameters,
        gram: NDArray[np.float64],
        candidates: Candidates,
    ) -> None:
        """Warn if the part of the kernel that the features miss is not positive semi-definite on a few candidates."""
        places = candidates.probes(rng, residual, params.indices)
        if candidates.negative == 0.0 and len(places):
            X, inner = double(candidates.sample(places)), candidates.block(places)
            cross = kernel_block(self.kernel, X, restored(params.landmarks, X.shape[-1]))
            Z = cross @ params.whitening
            candidates.judge(inner - Z @ Z.T, gram, cross, inner)
        if candidates.negative < 0.0:
            diagonal = np.diag(gram) if residual is None else candidates.diagonal
            warn_caller(
                f"the kernel matrix is not positive semi-definite: on some rows it has the eigenvalue "
                f"{candidates.negative:.3g}, where the mean of k(x, x) is {diagonal.mean():.3g}; the features leave "
                "out negative eigenvalues, and residual_trace_ is NaN because no trace bounds the error",
            )

    def apply(self, params: NystromParameters, X: Array) -> Array:
        if on_gpu(X) and not is_cupy(X) and self._has_dense_landmarks(params):
            place = Device.holding(X)
            values = self.kernel.tensor_values_at(to_numpy(params.landmarks), place, np.float64)(double(X))
            features = values @ params.whitening if self.whiten else values
            return namespace(X).astype(features, X.dtype)
        values = kernel_block(self.kernel, to_numpy(X), restored(params.landmarks, X.shape[-1]))
        features = send(values, X, cast=False)
        if self.whiten:
            features = features @ params.whitening
        return features if X.dtype == object else namespace(X).astype(features, X.dtype)

    def pullback(
        self, params: NystromParameters, X: NDArray[np.float64], G: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        if not (isinstance(self.kernel, Kernel) and self.kernel.has_gradient):
            raise ValueError(f"{self.kernel!r} has no derivatives with respect to columns")
        landmarks = dense(restored(params.landmarks, self.n_features)).astype(np.float64, copy=False)
        weights = G @ params.whitening.T if self.whiten else G
        return self.kernel.gradients(X, landmarks, np.broadcast_to(weights, (len(X), len(landmarks))))

    def _has_dense_landmarks(self, params: NystromParameters) -> bool:
        """Return whether kernel values can be computed from dense rows and landmarks."""
        return isinstance(self.kernel, Kernel) and not isinstance(params.landmarks, SparseRows)

    def gpu(self, params: NystromParameters, device: torch.device) -> Gpu | None:
        if not self._has_dense_landmarks(params):
            return None
        place = Device.at(device)
        # Whitening would amplify the rounding errors of float32.
        precise = np.float64 if self.whiten else np.float32
        values, whitening = self.kernel.tensor_values_at(params.landmarks, place, precise), place.sent(params.whitening)

        def write(X: Array, out: Array) -> Array:
            at_landmarks = values(double(X) if self.whiten else X)
            out[...] = at_landmarks @ whitening if self.whiten else at_landmarks
            return ~namespace(X).isfinite(out.sum(dim=1))

        return in_tiles(write, 4 * self.n_landmarks)

    def native(self, params: NystromParameters, dtype: DTypeLike) -> Native | None:
        if not self._has_dense_landmarks(params):
            return None
        if not self.whiten:
            write = self.kernel.values_at(params.landmarks, dtype)

            def kernel_values(X: Array, out: NDArray[Any]) -> int | None:
                with np.errstate(over="ignore", invalid="ignore"):
                    write(X, out)
                return first_overflow(out)

            return kernel_values
        values = self.kernel.single_core_gram_against(params.landmarks)
        whitening = _core.panels(params.whitening, np.float64)

        def features(X: Array, out: NDArray[Any]) -> int | None:
            wide = out if out.dtype == np.float64 and out.flags.c_contiguous else np.empty(out.shape)
            with np.errstate(over="ignore", invalid="ignore"):
                at_landmarks = np.ascontiguousarray(values(X.astype(np.float64, copy=False)))
                row = _core.product(at_landmarks, whitening, wide)
                if wide is out:
                    return row
                out[...] = wide
            return first_overflow(out)

        return features

    def trimmed(self, params: NystromParameters) -> FittedMap:
        """Return the map without the columns of zeros at the end."""
        if not self.whiten:
            return self.fitted(params, n_components=params.whitening.shape[1])
        root = params.whitening
        kept = max(1, int(np.count_nonzero(root.any(axis=0))))
        return self.fitted(params._replace(whitening=np.ascontiguousarray(root[:, :kept])), n_components=kept)

    def finished(self) -> Self:
        # A copy contains the landmarks but not the rows, so that the residual trace can no longer be measured.
        return replace(super().finished(), measure=None)

    def linear(self, fitted: FittedMap, coef: NDArray[Any]) -> tuple[FittedMap, NDArray[Any] | None]:
        """Combine whitening and coefficients, so that kernel values are multiplied once and by few columns."""
        if not self.whiten:
            return fitted, coef
        params: NystromParameters = fitted.parameters
        narrow = params._replace(whitening=np.ascontiguousarray(params.whitening @ coef.T))
        return self.fitted(narrow, n_components=len(coef)), None

    @property
    def scratch(self) -> int:
        return 3 * self.n_features + 6 * self.n_landmarks + 2 * self.n_components

    @classmethod
    def row_operations(cls, n_features: int, width: int, degree: int) -> float:
        return super().row_operations(n_features, width, degree) + float(width) ** 2

    def layout(self) -> NystromParameters:
        return nystrom_layout(self._is_precomputed, self.n_components, self.n_features)

    def check_parameters(self, params: NystromParameters) -> None:
        check_parameters(params, self.kernel, self.n_features, self.whiten)


class Nystrom(FeatureMap):
    r"""Nystrom features: exact at landmarks, for any kernel and any kind of object.

    The only map for kernels without structure, and the most accurate one if few directions carry most of the kernel:
    wide bandwidths, low dimension, clustered rows. Every landmark costs one kernel evaluation per row. For narrow
    bandwidths in high dimension, random features of the same width come close and need no data.

    ``landmarks="uniform"`` is free, and nested: a larger map keeps the landmarks of a smaller one. ``"rpcholesky"``
    draws each landmark in proportion to the part of k(x, x) that the previous ones leave unexplained; it finds small
    clusters that uniform landmarks miss, and is nested too. ``"leverage"`` draws by ridge leverage scores computed from
    a uniform pilot map. ``"kmeans"`` uses cluster centres, which suit smooth kernels on dense rows.

    Landmarks are rows of the training data. They are part of the map, so model files and pickles contain them.

    Parameters
    ----------
    kernel : Kernel, str or callable, default=Gaussian("scale")
        A kernel of :mod:`mercer.kernels`, text that describes one, a function, or "precomputed". A function takes two
        objects, or two float64 rows of a matrix, and returns a number; it is called for one row and one landmark at a
        time, from several threads unless ``n_jobs=1``. With "precomputed", ``fit`` takes the square kernel matrix and
        ``transform`` the values of new rows against the training rows.
    n_components : int, default=256
        The number of landmarks to choose. If there are fewer rows, all of them are landmarks and the map is exact on
        them. Ignored if landmarks are given.
    rank : int or None, default=None
        The largest number of eigenpairs to keep. None means as many as there are landmarks.
    landmarks : {"uniform", "kmeans", "leverage", "rpcholesky"} or array-like, default="uniform"
        A rule, row numbers, or the landmarks themselves as a matrix or sequence. If the objects are themselves
        integers, give row numbers as a NumPy array of integers and landmarks as an array of dtype object.
    tol : float, default=0.0
        Stop "rpcholesky" when the residual trace is at most this fraction of the trace.
    max_rows : int, default=10_000
        The largest number of rows from which landmarks (except uniform ones) are chosen and on which the residual trace
        is measured.
    whiten : bool, default=True
        Whether to whiten the features, so that their inner products approximate the kernel. If False, the features are
        the kernel values :math:`k(x, L)` themselves, which need no decomposition and no product. This is for models
        that penalise :math:`\alpha^\top k(L, L) \alpha` themselves, like the learners of :mod:`mercer.learn`. There is
        then no residual trace.
    random_state : int, Generator, RandomState or None, default=None
        Determines the landmarks; an int makes them reproducible. See :class:`FeatureMap`.
    n_jobs : int or None, default=None
        The number of threads; see :class:`FeatureMap`.

    Attributes
    ----------
    n_components_ : int
        The number of features, which is the number of eigenpairs kept. It is at most the number of landmarks, and
        smaller for duplicate rows and kernels of low rank. Inside another map, whose width is fixed before landmarks
        are known, columns of zeros take the place of missing eigenpairs.
    component_indices_ : ndarray of int or None
        The row numbers of the landmarks, or None for "kmeans" and for landmarks given as rows.
    residual_trace_ : ResidualTrace
        The trace of the part of the kernel that the features miss, the same relative to the trace of the kernel, and
        the number of rows: all rows if there are at most ``max_rows`` of them, otherwise
        ``data.as_rows(X, seed_).choose(max_rows)``. It is NaN if the kernel is not positive semi-definite. If the
        kernel is a function and landmarks are not chosen by its values on all rows ("leverage", "rpcholesky"), the
        trace is measured when it is first accessed: ``fit`` calls the function only for landmarks and 16 other rows,
        and keeps the rows. In copies and pickles it is then NaN.

    Notes
    -----
    With landmarks L and :math:`k(L, L) = V \Sigma V^\top`, the features are :math:`k(x, L) V \Sigma^{-1/2}`, largest
    eigenvalue first. Eigenvalues up to :math:`c\,\epsilon` times the largest, for c landmarks, are rounding errors and
    dropped. Here :math:`\epsilon` is the precision of the kernel matrix: that of a precomputed matrix, and otherwise
    that of float64, in which kernels are evaluated for float32 rows too.

    The part of the kernel that the features miss is positive semi-definite, so its trace bounds every error;
    ``residual_trace_`` measures it on training rows. A function or matrix that is not positive semi-definite has no
    such bound. If this shows, in the landmarks' matrix, in a row with k(x, x) < ||Z(x)||^2 or on a few random rows,
    a warning is issued and the trace is NaN.

    The ridge of the leverage scores is the part of the trace outside the first ``n_components / 8`` eigenvalues,
    divided by their number.

    References
    ----------
    Williams and Seeger, Using the Nystrom method to speed up kernel machines, NIPS 2000.
    Zhang, Tsang and Kwok, Improved Nystrom low-rank approximation and error analysis, ICML 2008, for "kmeans".
    Alaoui and Mahoney, Fast randomized kernel ridge regression with statistical guarantees, NIPS 2015, for "leverage".
    Epperly, Tropp and Webber, Embrace rejection, SIAM J. Matrix Anal. Appl. 2025, for "rpcholesky".

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> map = mercer.Nystrom(mercer.kernels.Gaussian(0.1), n_components=64, landmarks="rpcholesky", random_state=0)
    >>> map.fit_transform(X).shape, bool(map.residual_trace_.relative < 1e-3)
    ((500, 64), True)

    Strings, compared by the letters that they share:

    >>> words = ["cat", "act", "dog", "god", "cart"]
    >>> letters = mercer.Nystrom(lambda a, b: len(set(a) & set(b))).fit(words)
    >>> (letters.transform(["cat"]) @ letters.transform(["cart", "dog"]).T).round(6) + 0.0
    array([[3., 0.]])
    """

    description = MapDescription(
        features="similarities to landmark rows, transformed so that the kernel is exact between the landmarks",
        kernels="all; any function of two objects; precomputed",
        when="a few directions explain most of the kernel; strings, graphs",
        cost="D kernel values and D^2",
        variance="no",
    )

    has_landmarks = True
    construction = NystromConstruction

    def __init__(
        self,
        kernel: Kernel = GAUSSIAN,
        *,
        n_components: int = 256,
        rank: int | None = None,
        landmarks: Any = "uniform",
        tol: float = 0.0,
        max_rows: int = 10_000,
        whiten: bool = True,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        super().__init__(kernel, n_components=n_components, random_state=random_state, n_jobs=n_jobs)
        self.rank = rank
        self.landmarks = landmarks
        self.tol = tol
        self.max_rows = max_rows
        self.whiten = whiten

    def check_arguments(self) -> None:
        super().check_arguments()
        check_whole("max_rows", self.max_rows)
        if self.rank is not None:
            check_whole("rank", self.rank, alternatives=" or None")
        if isinstance(self.landmarks, str):
            check_choice("landmarks", self.landmarks, RULES)
        elif not self._is_function:  # rows are numbers
            if not (hasattr(self.landmarks, "shape") or isinstance(self.landmarks, Sequence)):
                raise ValueError(f"landmarks must be one of {RULES}, row numbers or a matrix, found {self.landmarks!r}")
            if isinstance(self.landmarks, Sequence) and not self.landmarks:
                raise ValueError("landmarks must name at least one row, found none")
        check_truth("whiten", self.whiten)
        if self.rank is not None and not self.whiten:
            raise ValueError(
                f"rank is the number of whitened features to keep, found rank={self.rank} and whiten=False"
            )
        check_fraction("tol", self.tol)
        if self.tol > 0.0 and not (isinstance(self.landmarks, str) and self.landmarks == "rpcholesky"):
            raise ValueError(f"tol is for landmarks='rpcholesky', found landmarks={self.landmarks!r}")

    @property
    def is_precomputed(self) -> bool:
        """Whether rows are rows of a kernel matrix."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _is_function(self) -> bool:
        return callable(self.kernel) and not isinstance(self.kernel, Kernel | type)

    def resolved_kernel(self, rows: Rows) -> Any:
        if self.is_precomputed:
            return Precomputed()
        if self._is_function:
            return Pairwise(self.kernel)
        return super().resolved_kernel(rows)

    def fit(self, X: Array, y: Any = None) -> Self:
        """Choose landmarks from the rows of X and decompose their kernel matrix.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or sequence
            The rows. If the kernel is a function, any sequence of objects (with numbers as a list or an array of dtype
            object); if it is "precomputed", the square kernel matrix.
        y : None
            Ignored; present because scikit-learn's pipelines pass it.

        Returns
        -------
        Nystrom
            The fitted map itself.
        """
        return super().fit(X, y)

    def _drawn(self, rows: Rows, seed: int) -> FittedMap:
        fitted = super()._drawn(rows, seed)
        assert isinstance(fitted.construction, NystromConstruction)
        return fitted.construction.trimmed(fitted.parameters)

    def adopt(self, fitted: FittedMap) -> None:
        construction = fitted.construction
        assert isinstance(construction, NystromConstruction)
        self._measure = construction.measure
        super().adopt(fitted)

    @property
    def gives_kernel_values(self) -> bool:
        return not self.whiten

    @property
    def component_indices_(self) -> NDArray[np.int64] | None:
        """The row numbers of the landmarks, or None for "kmeans" and for landmarks given as rows."""
        indices = self.parameters_.indices
        return indices if len(indices) else None

    @property
    def residual_trace_(self) -> ResidualTrace:
        """The part of the kernel that the features miss, measured on first access if the kernel is a function."""
        check_is_fitted(self)
        measure = self._measure
        if measure is not None:
            with single_threaded_blas():
                residual, self._measure = measure(), None
            self.fitted_ = self.construction_.fitted(self.parameters_._replace(residual=residual))
        trace, total, rows = self.parameters_.residual.tolist()
        return ResidualTrace(trace, trace / (total or 1.0), int(rows))

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "_measure": None} if hasattr(self, "_measure") else super().__getstate__()

    def takes_objects(self, X: Array, reset: bool) -> bool:
        return self._is_function and not (is_matrix(X) if reset else self._fitted_on_rows())

    def _fitted_on_rows(self) -> bool:
        landmarks = self.parameters_.landmarks
        return isinstance(landmarks, SparseRows) or landmarks.dtype != object

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.is_precomputed
        return tags
