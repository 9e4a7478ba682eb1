"""Try a wheel that is installed outside the source tree, for ``make wheel-test`` and for the wheels of a release.

``wheel_smoke.py FOLDER compiled|pure``; the folder ``installed`` is that of the Python that runs it.
"""

from __future__ import annotations

import sys
import sysconfig
from importlib.metadata import entry_points, version
from pathlib import Path


def main(folder: str, kind: str) -> None:
    import numpy as np

    import mercer
    from mercer import _core

    if folder == "installed":
        folder = sysconfig.get_path("platlib")
    installed = Path(folder, "mercer").resolve()
    assert mercer.__file__ is not None
    assert Path(mercer.__file__).resolve().parent == installed, f"mercer came from {mercer.__file__}"
    assert (installed / "py.typed").is_file(), "py.typed is not in the wheel"
    assert (kind == "compiled") == _core.AVAILABLE, f"a {kind} wheel, but the instruction set is {_core.ISA}"

    (tags,) = Path(folder).glob("mercer-*.dist-info/WHEEL")
    found = [line for line in tags.read_text(encoding="utf-8").splitlines() if line.startswith("Tag: ")]
    assert all(tag.startswith("Tag: py3-none-") for tag in found), f"expected one wheel for every Python, got {found}"
    assert ("Tag: py3-none-any" in found) == (kind == "pure"), f"a {kind} wheel, but its tags are {found}"

    if hasattr(mercer, "TensorSketch"):
        X = np.random.default_rng(0).standard_normal((20, 5))
        Z = mercer.TensorSketch(n_components=64, random_state=0).fit_transform(X)
        assert Z.shape == (20, 64)
        assert np.isfinite(Z).all()
    (command,) = entry_points(group="console_scripts", name="mercer")
    assert command.value == "mercer.cli:main", command
    print(f"mercer {version('mercer')}: the {kind} wheel works, instruction set {_core.ISA}")


if __name__ == "__main__":
    main(*sys.argv[1:])
