"""No package reaches into the private modules of another: what two need has a public home in the lower one.

That packages import only from those below them is checked by import-linter, in ``make lint``.
"""

import ast
from pathlib import Path

import pytest

import mercer

SOURCE = Path(mercer.__file__).parent
PACKAGES = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py") if not path.parent.name.startswith("_"))


def imports_of(path):
    """Everything that a file imports, by its full name, also inside of functions."""
    package = ("mercer", *path.relative_to(SOURCE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            home = package[: len(package) - node.level + 1] if node.level else ()
            home = (*home, node.module) if node.module else home
            yield from (".".join((*home, name.name)) for name in node.names)


def is_private(name):
    """Whether a name belongs to one package alone; the private modules beside the packages are for all."""
    _, package, *inside = name.split(".")
    return package in PACKAGES and any(part.startswith("_") and not part.startswith("__") for part in inside)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_imports_what_is_private_to_another(package):
    imported = {name for path in (SOURCE / package).rglob("*.py") for name in imports_of(path)}
    ours = f"mercer.{package}."
    private = {name for name in imported if name.startswith("mercer.") and not name.startswith(ours)}
    found = {name for name in private if is_private(name)}
    assert not found


def test_private_imports_are_found():
    assert is_private("mercer.maps._stored.Leaf")
    assert is_private("mercer.data.block._hidden")
    assert not is_private("mercer.data.block.Block")
    assert not is_private("mercer._array.aligned")
    assert "mercer._random.Stream" in imports_of(SOURCE / "_rows.py")
    assert "mercer.kernels.Gaussian" in imports_of(SOURCE / "choose" / "variants.py")
