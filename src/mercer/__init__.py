"""Mercer: kernel machines at linear cost, through explicit feature maps."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import bounds, choose, data, kernels, learn, maps, persist, report
    from ._error import KernelError, kernel_error
    from ._versions import show_versions
    from .choose import feature_map
    from .choose.tune import tune
    from .learn import KernelClassifier, KernelRegressor
    from .maps import (
        AdditiveMap,
        Calibrated,
        ComplexSketch,
        Composed,
        Compressed,
        Fastfood,
        FeatureMap,
        HadamardSketch,
        Nystrom,
        OrthogonalFourier,
        QuasiFourier,
        RandomFourier,
        RandomMaclaurin,
        RandomRelu,
        Stack,
        StructuredFourier,
        TaylorSketch,
        TensorProduct,
        TensorSketch,
        TreeSketch,
    )
    from .persist import load, save

__version__ = "0.1.0.dev0"
__all__ = [
    "AdditiveMap",
    "Calibrated",
    "ComplexSketch",
    "Composed",
    "Compressed",
    "Fastfood",
    "FeatureMap",
    "HadamardSketch",
    "KernelClassifier",
    "KernelError",
    "KernelRegressor",
    "Nystrom",
    "OrthogonalFourier",
    "QuasiFourier",
    "RandomFourier",
    "RandomMaclaurin",
    "RandomRelu",
    "Stack",
    "StructuredFourier",
    "TaylorSketch",
    "TensorProduct",
    "TensorSketch",
    "TreeSketch",
    "bounds",
    "choose",
    "data",
    "feature_map",
    "kernel_error",
    "kernels",
    "learn",
    "load",
    "maps",
    "persist",
    "report",
    "save",
    "show_versions",
    "tune",
]

_MODULES = ("bounds", "choose", "data", "kernels", "learn", "maps", "persist", "report")
_HOMES = {
    "KernelClassifier": ".learn",
    "KernelError": "._error",
    "KernelRegressor": ".learn",
    "feature_map": ".choose",
    "kernel_error": "._error",
    "load": ".persist",
    "save": ".persist",
    "show_versions": "._versions",
    "tune": ".choose",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use, so that ``import mercer`` itself costs nothing."""
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name in __all__:
        return getattr(import_module(_HOMES.get(name, ".maps"), __name__), name)
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
