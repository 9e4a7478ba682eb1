"""Kernel machines: linear models on features, trained in one or a few passes over blocks of rows.

Each learner has a file of its own here (``regressor``, ``classifier``, ``pca``, ``cca``, ``kmeans``, ``novelty``); what
they share is in ``machine`` and ``moment_machine``. The objective of a model is in ``losses``, its solver in
``solvers``, which ``solvers.choice`` chooses among, and the stopping rule is that solver's own. What leads there, in
the order in which rows go through it: ``passes`` (what is read when), ``prepare`` (columns), ``pilot`` and
``learned_columns`` (what is left open), ``targets``, ``features``, ``statistics`` (sums of rows), ``fitting`` (one
machine, one table). Beside them are ``estimates`` of memory and time, ``left_out`` (what a fit would say of rows that
it had not learned from), and ``training_rows``, which a fitted model remembers. ``conformal`` puts intervals and sets
of classes around learners.
"""

from .cca import KernelCCA
from .classifier import KernelClassifier
from .conformal.conformal_classifier import ConformalClassifier
from .conformal.conformal_regressor import ConformalRegressor
from .kmeans import KernelKMeans
from .novelty import KernelNovelty
from .passes.progress import Progress
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
]
