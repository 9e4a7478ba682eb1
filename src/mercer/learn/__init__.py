"""Kernel machines: linear models on features, trained in one or a few passes over blocks of rows."""

from ._machine import Progress
from .classifier import KernelClassifier
from .regressor import KernelRegressor

__all__ = ["KernelClassifier", "KernelRegressor", "Progress"]
