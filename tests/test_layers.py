"""No package uses private modules of another: shared code is in a public module of the lower one.

That packages import only from those below them is checked by import-linter, in ``make lint``. No module imports itself
in a cycle, not even by an import inside a function.
"""

import ast
import re
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import mercer

SOURCE = Path(mercer.__file__).parent
PACKAGES = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py") if not path.parent.name.startswith("_"))


def nodes_that_run(tree):
    """The nodes of a module, except those for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from nodes_that_run(node)


def imports_of(path, nodes=ast.walk):
    """Everything that a file imports, by its full name, also inside of functions."""
    package = ("mercer", *path.relative_to(SOURCE).parts[:-1])
    for node in nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            home = package[: len(package) - node.level + 1] if node.level else ()
            home = (*home, node.module) if node.module else home
            yield from (".".join((*home, name.name)) for name in node.names)


def is_private(name):
    """Whether a name belongs to one package only; private modules next to the packages may be used by all."""
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


def test_no_module_needs_itself():
    modules = {}
    for path in SOURCE.rglob("*.py"):
        parts = ("mercer", *path.relative_to(SOURCE).with_suffix("").parts)
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    needs = {}
    for name, path in modules.items():
        imported = imports_of(path, nodes_that_run)
        needs[name] = {one if one in modules else one.rpartition(".")[0] for one in imported} & modules.keys() - {name}
    assert "mercer.learn.machine" in needs["mercer.learn.pca"]
    TopologicalSorter(needs).prepare()  # which names the modules of a cycle


def test_the_page_about_the_architecture_names_every_package():
    root = Path(__file__).parent.parent
    page = (root / "docs/contributing/architecture.md").read_text(encoding="utf-8")
    parts, fit = page.split("## A fit, step by step")
    assert [name for name in PACKAGES if f"| `src/mercer/{name}` |" not in parts] == []
    folders = {path.parent.name for path in (SOURCE / "learn").glob("*/__init__.py")}
    assert set(re.findall(r"`(\w+)`", fit.partition("|---|---|")[2].partition("## ")[0])) == folders
    contract = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ][0]
    order = [name for layer in reversed(contract["layers"]) for name in re.findall(r"\w+", layer) if name in PACKAGES]
    sentence = parts.partition("From bottom to top")[2].partition("`make lint`")[0]
    assert re.findall(r"`(\w+)`", sentence) == order
