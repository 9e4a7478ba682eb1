"""Kernel machines: linear models on features, trained in one or a few passes over blocks of rows.

Each learner has its own file here (``regressor``, ``classifier``, ``pca``, ``cca``, ``kmeans``, ``novelty``); what they
share is in ``machine`` and ``moment_machine``. The objective of a model is in ``losses``, its solver in ``solvers``,
where ``solvers.choice`` chooses one, and every solver has its own stopping rule. Before the solver come, in the order
in which rows pass through them: ``passes`` (what is read when), ``prepare`` (columns), ``pilot`` and
``learned_columns`` (arguments that are left open), ``targets``, ``features``, ``statistics`` (sums over rows), and
``fitting`` (one machine, one table). In addition there are ``estimates`` of memory and time, ``left_out`` for errors on
left-out rows, and ``training_rows``, which a fitted model remembers. ``conformal`` computes prediction intervals and
sets of classes with any learner.
"""

from .cca import KernelCCA
from .classifier import KernelClassifier
from .conformal.conformal_classifier import ConformalClassifier
from .conformal.conformal_regressor import ConformalRegressor
from .kmeans import KernelKMeans
from .novelty import KernelNovelty
from .passes.progress import Progress
from .passes.progress_bar import ProgressBar
from .pca import KernelPCA
from .regressor import KernelRegressor

__all__ = [
    "ConformalClassifier",
    "ConformalRegressor",
    "KernelCCA",
    "KernelClassifier",
    "KernelKMeans",
    "KernelNovelty",
    "KernelPCA",
    "KernelRegressor",
    "Progress",
    "ProgressBar",
]
