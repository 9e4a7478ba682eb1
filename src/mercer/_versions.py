"""What a bug report needs to say about the machine."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from threadpoolctl import threadpool_info

from . import __version__, _core

PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "array-api-compat",
    "threadpoolctl",
    "joblib",
    "pyarrow",
    "torch",
    "matplotlib",
)


def show_versions() -> None:
    """Print the versions of Mercer, Python, its dependencies and BLAS, and the compiled core in use.

    Examples
    --------
    >>> import mercer
    >>> mercer.show_versions()
    mercer: ...
    """
    rows = {
        "mercer": __version__,
        "compiled core": _core.ISA or "absent (pure Python, slower)",
        "python": sys.version.split()[0],
        "platform": platform.platform(),
    }
    for package in PACKAGES:
        try:
            rows[package] = version(package)
        except PackageNotFoundError:
            rows[package] = "-"
    for pool in threadpool_info():
        rows[f"{pool['user_api']} pool"] = f"{pool['internal_api']} {pool['version']}, {pool['num_threads']} threads"
    width = max(map(len, rows))
    for name, value in rows.items():
        print(f"{name:>{width}}: {value}")
