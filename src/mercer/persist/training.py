"""Fits that survive their process: ``train``."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import stat
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from .._atomic import is_stream
from .._checks import is_number
from .._figures import size
from .._file_identity import check_apart
from .._memory import as_bytes
from ..data import Table
from ..kernels import Kernel
from ..learn.argument_types import MemoryArgument, WeightArgument
from ..learn.context import FitContext
from ..learn.passes.checkpoint_state import CheckpointState
from ..learn.passes.progress import Progress
from ..learn.passes.progress_bar import Bar, fit_line
from ..maps import FeatureMap
from .checkpoints import Checkpoint, CheckpointError, Checkpoints
from .json_values import ArgumentWriter, plain_kernel
from .learner_records import check_machine
from .locks import check_lock, locked
from .model_files import save, versions
from .safetensors import array_bytes

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LOCKS = ("the lock of the output", "the lock of the checkpoint")
CHECKPOINT, PREVIOUS = "the checkpoint", "the checkpoint before it"
BEGINNING = b'{"__metadata__":{"mercer'
"""The first bytes of model files and checkpoints, after the length of their headers."""


def train(
    learner: BaseEstimator,
    X: Any,
    y: Any = None,
    sample_weight: WeightArgument = None,
    *,
    output: Any,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 60.0,
    resume: bool = False,
    progress: Callable[[Progress], None] | Literal["bar"] | None = None,
    memory: MemoryArgument = None,
) -> Any:
    """Fit a learner and save it, so that a run that is stopped can be resumed.

    Use it for fits of minutes and hours. The results of passes over the rows are written to a checkpoint from time to
    time, and when the process is asked to end (SIGINT, SIGTERM; a second signal ends it at once). With ``resume=True``
    the same call continues from there and ends in the same model file, byte for byte, on the same machine and with the
    same number of BLAS threads. An exception that ends a run early carries a note that says so.

    Sums over rows continue after the last chunk that was added; the Newton method of :class:`~mercer.KernelClassifier`
    and :class:`~mercer.learn.KernelKMeans` continue after their last pass. Rows are prepared and the map is fitted
    again. ``solver="liblinear"`` starts from the beginning.

    Before anything is learned, the arguments are checked for what a model file cannot contain, the folders are checked,
    and ``output`` is locked, so that a second run on it is refused. An output or a checkpoint is also refused if it is
    a file of the table, or needs the name of a file that does not belong to the run. If a checkpoint cannot be written,
    for example because the disk is full, a warning is issued and the run continues. Both checkpoints are removed when
    the model is saved.

    Parameters
    ----------
    learner : learner of mercer.learn
        The learner, which is fitted in place.
    X : array-like, sparse matrix, data frame or Table
        The rows, as for its ``fit``.
    y : array-like or None, default=None
        The targets, as for its ``fit``.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        The weights of the rows, as for its ``fit``.
    output : str or path-like
        The name of the model file, see :func:`mercer.save`. During the run there is a file ``output.lock`` next to it.
    checkpoint : str, path-like or None, default=None
        The name of the checkpoint, which is locked too. None means ``output`` followed by ``.checkpoint``. The previous
        checkpoint has ``.previous`` appended to this name.
    every : float, default=60.0
        The number of seconds between two checkpoints.
    resume : bool, default=False
        Whether to continue from the checkpoint, if there is one. A checkpoint of other rows, arguments or versions is
        refused. If it is damaged, the previous one is used, with a warning.
    progress : callable, "bar" or None, default=None
        A function that is called with a :class:`~mercer.learn.Progress` after every block of rows. "bar" shows one bar
        for the whole fit on standard error, with the elapsed and the remaining time, and finally a line that summarises
        the fit; nothing is shown if standard error is not a terminal.
    memory : int, str or None, default=None
        The largest number of bytes, or text like "2GB", that the fit may take in addition to the rows themselves and
        the package. If its sums, their solution and the state of every row would take more, the fit is refused with an
        estimate, before any pass or as soon as its map and its classes are known. Features are kept between passes only
        if there is space left. None means the memory of the machine.

    Returns
    -------
    learner of mercer.learn
        The same learner, fitted.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(1000, 4))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "model.safetensors")
    ...     learner = mercer.KernelRegressor(n_components=64, random_state=0)
    ...     model = mercer.persist.train(learner, X, X[:, 0], output=name, resume=True)
    ...     os.listdir(folder)
    ['model.safetensors']
    """
    _check_learner(learner)
    if not is_number(every) or every < 0:
        raise ValueError(f"every must be a number of seconds, at least 0, found {every!r}")
    bar = _bar(progress)
    target = Path(os.path.realpath(os.fspath(output)))
    if target.is_dir():
        raise IsADirectoryError(f"expected the name of a file as output, found the folder {os.fspath(output)!r}")
    if is_stream(output):
        raise ValueError(f"expected the name of a file as output, found the pipe or device {os.fspath(output)!r}")
    beside = files_beside(output, checkpoint)
    check_apart(
        [("the output", output), *beside.items()], [("the data", path) for path in files_of(X, y, sample_weight)]
    )
    store = Checkpoints(beside[CHECKPOINT])
    locks = [path for what, path in beside.items() if what in LOCKS]
    for lock in locks:
        check_lock(lock)
    store.check_ours()
    with ExitStack() as held:
        for lock in locks:
            held.enter_context(locked(lock))
        for path in (target, store.path):
            _clear(path)
        most = None if memory is None else as_bytes(memory)
        run = Run(store, identity(learner, most), float(every), store.read() if resume else None)
        told = bar if progress == "bar" else progress
        context = FitContext(progress=told, checkpoint=run, memory=most)
        with run.listening(), bar, run.telling():
            learner.fit_table(learner.table_to_fit(X, y, sample_weight), context)
            save(learner, target)
            store.remove()
        if bar.last is not None:
            bar.say(fit_line(learner, bar.last))
    return learner


def files_beside(output: str | os.PathLike[str], checkpoint: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """Return the files that a run writes next to its output, by their purpose: locks and checkpoints."""
    target = os.path.realpath(os.fspath(output))
    place = os.path.realpath(f"{target}.checkpoint" if checkpoint is None else os.fspath(checkpoint))
    found = {LOCKS[0]: Path(f"{target}.lock"), CHECKPOINT: Path(place), PREVIOUS: Path(f"{place}.previous")}
    return found if checkpoint is None else found | {LOCKS[1]: Path(f"{place}.lock")}


def files_of(*given: Any) -> Iterator[Path]:
    """Yield the files from which rows are read, if they are known: files of a table, or of memory-mapped arrays."""
    for part in given:
        if isinstance(part, Table):
            yield from getattr(part, "files", ())
        while isinstance(part, np.ndarray):
            if isinstance(part, np.memmap) and part.filename is not None:
                yield Path(part.filename)
            part = part.base


def _check_learner(learner: BaseEstimator) -> None:
    """Refuse a learner that could not be saved after the fit."""
    check_machine(learner)
    if learner.callback is not None:
        raise ValueError("callback is code, which a model file cannot contain; give progress= instead")
    ArgumentWriter({}, 0).arguments(learner, "")


def _bar(progress: Any) -> Bar:
    if not (progress is None or progress == "bar" or callable(progress)):
        raise ValueError(f"progress must be a function, 'bar' or None, found {progress!r}")
    return Bar()


def _clear(path: Path) -> None:
    """Remove files that a killed process left half-written, and check that the folder is writable."""
    half = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}\.tmp")  # as `atomic_write` names them
    for name in os.listdir(path.parent):
        if half.fullmatch(name) and _is_half_written(path.parent / name):
            os.unlink(path.parent / name)
    with tempfile.TemporaryFile(dir=path.parent):
        pass


def _is_half_written(path: Path) -> bool:
    """Return whether a run began to write this file: the user owns it, and it is empty or starts like ours."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        return False
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        return False
    with open(path, "rb") as file:
        first = file.read(8 + len(BEGINNING))[8:]
    return status.st_size == 0 or first == BEGINNING


# -- a run -------------------------------------------------------------------------------------------------------------


class Run(CheckpointState):
    """Writes the results of a fit to a checkpoint every few seconds, and when a signal asks the process to end.

    Parameters
    ----------
    store : Checkpoints
        The checkpoints that are written.
    identity : dict
        The facts that must be the same in another run that continues from here.
    every : float
        The number of seconds between two checkpoints.
    held : Checkpoint or None
        The checkpoint from which to continue.
    """

    def __init__(self, store: Checkpoints, identity: dict[str, Any], every: float, held: Checkpoint | None):
        super().__init__()
        self.identity = identity
        self._store = store
        self._every = every
        self._held = held
        self._signal: int | None = None
        self._lock = threading.Lock()
        self._written = time.monotonic()
        self.is_kept = held is not None
        """Whether there is a checkpoint of this run."""
        if held is not None:
            self._check_same(held.identity)
            self.seeds, self.found, self.begun = list(held.seeds), dict(held.found), held.begun

    def begin(self, table: Table) -> None:
        self.identity = self.identity | {"rows": table.n_rows, "data": table.fingerprint()}
        if self._held is not None:
            self._check_same(self._held.identity)

    def _check_same(self, theirs: dict[str, Any]) -> None:
        difference = differing(self.identity, theirs)
        if difference is not None:
            raise CheckpointError(
                f"{str(self._store.path)!r} belongs to another run: {difference}; train with resume=False to start over"
            )

    def tick(self) -> None:
        with self._lock:
            asked, due = self._signal, time.monotonic() - self._written >= self._every
            if (due or asked is not None) and self.is_fresh:
                self._write()
            if asked is not None:
                raise_for(asked)

    def _write(self) -> None:
        self.is_fresh = False
        try:
            self._store.write(Checkpoint(self.identity, self.seeds, dict(self.found), self.begun))
            self.is_kept = True
        except OSError as error:
            self.is_fresh = True
            warnings.warn(f"no checkpoint could be written, the run continues: {error}", UserWarning, stacklevel=2)
        self._written = time.monotonic()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Let signals end the run at the next block of rows; after the last block, when the model is saved."""
        if threading.current_thread() is not threading.main_thread():  # only the main thread receives them
            yield
            return
        before = {number: signal.signal(number, self._hear) for number in SIGNALS}
        try:
            yield
            if self._signal is not None:
                raise_for(self._signal)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Add to any exception that ends the run a note that says what is kept and how to continue."""
        try:
            yield
        except BaseException as end:
            left = [path.stat().st_size for path in (self._store.path, self._store.previous) if path.exists()]
            if left and self.is_kept:
                which = f"{str(self._store.path)!r}{' and the previous one' if len(left) > 1 else ''}"
                end.add_note(
                    f"What the run had found is kept in the checkpoint {which}, {size(sum(left))}: "
                    "the same call with resume=True continues from there."
                )
            elif isinstance(end, KeyboardInterrupt | SystemExit):
                end.add_note("No checkpoint was written yet: the same call starts over.")
            raise

    def _hear(self, number: int, frame: Any) -> None:
        if self._signal is not None:
            raise_for(number)
        self._signal = number


def raise_for(number: int) -> None:
    """Raise the exception with which a process ends that is interrupted or terminated."""
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


# -- the identity of a run
# -----------------------------------------------------------------------------------------------------


def identity(learner: BaseEstimator, most: int | None = None) -> dict[str, Any]:
    """Return the facts that must be the same when a run continues: the learner, its arguments, the versions."""
    given = {name: value for name, value in learner.get_params(deep=True).items() if name != "callback"}
    maps = {name for name, value in given.items() if isinstance(value, FeatureMap)}  # a kernel's text has its fields
    arguments = {name: _text(value) for name, value in given.items() if name.rpartition("__")[0] in {"", *maps}}
    if "memory" in arguments:  # it decides whether features are kept
        arguments["memory"] = f"{min(as_bytes(learner.memory), most or as_bytes(learner.memory))} bytes"
    return {"class": type(learner).__name__, "arguments": arguments, "versions": versions()}


def _text(value: object) -> str:
    """Return an argument as text, the same for equal ones."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {hashlib.sha256(array_bytes(value)).hexdigest()[:16]}"
    if isinstance(value, Kernel):
        plain = plain_kernel(value, "kernel")
        series = hashlib.sha256(repr(plain).encode()).hexdigest()[:16]
        return repr(value) if plain == value else f"{type(value).__name__} with the series {series}"
    if isinstance(value, FeatureMap | np.random.Generator | np.random.RandomState):
        return type(value).__name__  # the arguments of a map are listed separately, and a seed is kept
    return repr(value)


def differing(ours: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    """Describe the first of our entries that differs from theirs."""
    for name, mine in ours.items():
        its = theirs.get(name)
        if isinstance(mine, dict) and isinstance(its, dict):
            for inner in sorted({*mine, *its}):
                if mine.get(inner) != its.get(inner):
                    what = f"the version of {inner}" if name == "versions" else inner
                    return f"{what} is {mine.get(inner)} here and {its.get(inner)} there"
        elif mine != its:
            what = {"class": "the learner", "rows": "the number of rows", "data": "the data's fingerprint"}[name]
            return f"{what} is {mine} here and {its} there"
    return None
