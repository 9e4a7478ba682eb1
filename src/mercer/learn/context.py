"""What steers a fit from outside: who is told, where it is kept, what memory it may take and where it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._random import RandomState, as_seed
from .passes.checkpoint_state import CheckpointState
from .passes.progress import Callback

if TYPE_CHECKING:
    from ..gpu.device import Device
    from .prepare.preparation import Preparation
    from .protocols import LinearClassifier


@dataclass(frozen=True)
class FitContext:
    """How one fit is run, beside the arguments of the learner, which say what is learned.

    ``fit`` of a learner takes the default; :func:`mercer.persist.train` and :class:`mercer.choose.Search` make their
    own and hand it to ``fit_table``. The model depends on none of it but ``preparation``, which takes the place of what
    would be learned of the columns, and ``warm_start``, which changes where a solver begins, and so the last digits of
    what it finds.

    Parameters
    ----------
    progress : callable or None, default=None
        Called with every :class:`mercer.learn.Progress`, after the callback of the learner.
    checkpoint : CheckpointState or None, default=None
        Keeps what passes over the rows have found, for another fit to resume from.
    memory : int or None, default=None
        The largest number of bytes that the fit may take; None is what the machine has.
    warm_start : KernelClassifier or None, default=None
        A machine that is fitted to the same rows with fewer features, or with another loss. A solver that iterates
        begins with its coefficients where the features of both agree.
    counts_hits : bool, default=False
        Whether the targets of a regression are codes of classes, 1 and -1, so that the leave-one-out predictions with
        the right sign are counted; the regressor then has ``hits_``, their share for every alpha.
    preparation : Preparation or None, default=None
        How rows are prepared, where that is known already, with the scales of learned columns. A learner that leaves
        its kernel to a pilot chooses among the scales that such a preparation can have.
    device : Device or None, default=None
        Where the arithmetic is done, for a learner whose ``device`` is None; both None is the processor.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import KernelRegressor
    >>> from mercer.learn.context import FitContext
    >>> learner = KernelRegressor("gaussian", alpha=1.0, preparation=None, n_components=16, random_state=0)
    >>> X, seen = np.eye(40), []
    >>> model = learner.fit_table(learner.table_to_fit(X, X[:, 0]), FitContext(progress=seen.append))
    >>> seen[-1].what
    'solution'
    """

    progress: Callback | None = None
    checkpoint: CheckpointState | None = None
    memory: int | None = None
    warm_start: LinearClassifier | None = None
    counts_hits: bool = False
    preparation: Preparation | None = None
    device: Device | None = None

    def seed(self, random_state: RandomState) -> int:
        """The integer that names the randomness of the next map: in a fit that is resumed, the one drawn at first."""
        if self.checkpoint is None:
            return as_seed(random_state)
        return self.checkpoint.seed(lambda: as_seed(random_state))
