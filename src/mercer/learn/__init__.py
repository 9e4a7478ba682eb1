"""Kernel machines: linear models on features, trained in one or a few passes over blocks of rows."""

from .cca import KernelCCA
from .classifier import KernelClassifier
from .kmeans import KernelKMeans
from .pca import KernelPCA
from .progress import Progress
from .regressor import KernelRegressor

__all__ = ["KernelCCA", "KernelClassifier", "KernelKMeans", "KernelPCA", "KernelRegressor", "Progress"]
