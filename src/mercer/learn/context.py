"""Everything outside a learner that affects its fit: progress, checkpoints, memory and the starting point."""

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
    """The circumstances of one fit; what is learned depends on the arguments of the learner.

    ``fit`` of a learner uses the default; :func:`mercer.persist.train` and :class:`mercer.choose.Search` create their
    own and pass it to ``fit_table``. Only two of its fields affect the model: ``preparation``, which replaces what
    would be learned about the columns, and ``warm_start``, which changes where a solver starts and therefore the last
    digits of its result.

    Parameters
    ----------
    progress : callable or None, default=None
        A function that is called with every :class:`mercer.learn.Progress`, after the callback of the learner.
    checkpoint : CheckpointState or None, default=None
        Keeps the results of passes over the rows, from which another fit can resume.
    memory : int or None, default=None
        The largest number of bytes that the fit may take. None means the memory of the machine.
    warm_start : KernelClassifier or None, default=None
        A machine fitted to the same rows with fewer features, or with another loss. An iterative solver starts with its
        coefficients if the features of both agree.
    counts_hits : bool, default=False
        Whether the targets of a regression are codes of classes, 1 and -1, so that leave-one-out predictions with the
        correct sign are counted. The regressor then has ``hits_``, their share for every alpha.
    preparation : Preparation or None, default=None
        How rows are prepared, if that is already known, including the scales of learned columns. A learner whose kernel
        is chosen by a pilot then considers only the scales that such a preparation can have.
    device : Device or None, default=None
        Where to compute if the ``device`` of the learner is None. If both are None, this is the CPU.

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
        """Return the seed of the next map; a resumed fit uses the one drawn at first."""
        if self.checkpoint is None:
            return as_seed(random_state)
        return self.checkpoint.seed(lambda: as_seed(random_state))
