"""Mercer: kernel machines at linear cost, through explicit feature maps."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import bounds as bounds
    from . import choose as choose
    from . import data as data
    from . import export as export
    from . import kernels as kernels
    from . import learn as learn
    from . import maps as maps
    from . import persist as persist
    from . import report as report
    from . import stats as stats
    from ._kernel_error import KernelError as KernelError
    from ._kernel_error import kernel_error as kernel_error
    from ._versions import show_versions as show_versions
    from .choose.auto_map import AutoMap as AutoMap
    from .choose.certificate import certify as certify
    from .choose.diagnosis import diagnose as diagnose
    from .choose.tune import tune as tune
    from .learn import KernelClassifier as KernelClassifier
    from .learn import KernelRegressor as KernelRegressor
    from .maps import *  # noqa: F403  every map
    from .maps.rules import feature_map as feature_map
    from .persist import load as load
    from .persist import save as save

__version__ = "0.1.0.dev0"

_MODULES = ("bounds", "choose", "data", "export", "kernels", "learn", "maps", "persist", "report", "stats")
_HOMES = {
    "AutoMap": ".choose",
    "KernelClassifier": ".learn",
    "KernelError": "._kernel_error",
    "KernelRegressor": ".learn",
    "certify": ".choose",
    "diagnose": ".choose",
    "feature_map": ".maps",
    "kernel_error": "._kernel_error",
    "load": ".persist",
    "save": ".persist",
    "show_versions": "._versions",
    "tune": ".choose",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use, so that ``import mercer`` itself is fast."""
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    if name == "__all__" or not name.startswith("_"):  # every other public name is a map
        known = import_module(".maps", __name__)
        if name == "__all__":
            return sorted([*_MODULES, *_HOMES, *known.__all__])
        if name in known.__all__:
            return getattr(known, name)
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__getattr__("__all__"), "__version__"])
