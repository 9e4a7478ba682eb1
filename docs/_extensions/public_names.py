"""The reference: a page for every public name that a package exports, and links to these pages."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import isclass, isfunction, ismodule
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.nodes import make_refnode

import mercer

PACKAGES = {
    "mercer": "What most programs need: every map, the two learners, and functions around them.",
    "mercer.kernels": "Kernels, their algebra, and `parse`, which reads them from text.",
    "mercer.learn": "All learners except the regressor and the classifier.",
    "mercer.stats": "Tests of two samples and of independence.",
    "mercer.data": "Tables of rows from files, from memory and from your own code.",
    "mercer.choose": "How maps, widths and learners are chosen; certificates and diagnoses.",
    "mercer.persist": "Model files, checkpoints and long runs.",
    "mercer.report": "Reports and comparisons, as values and as pages.",
    "mercer.bounds": "Guarantees from the literature, corrected where they do not hold.",
    "mercer.gpu": "Precision of arithmetic on a GPU.",
}
"""The packages with pages, in the order of the index; others that `mercer` exports follow."""


def packages() -> dict[str, str]:
    """Packages with names of their own, and what they are for."""
    others = [f"mercer.{name}" for name in mercer.__all__ if ismodule(getattr(mercer, name))]
    found = PACKAGES | {name: _first_line(import_module(name)) for name in others if name not in PACKAGES}
    return {name: words for name, words in found.items() if names(name)}


def _first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().split("\n")[0]


def names(package: str) -> list[str]:
    """What a package exports, without what `mercer` itself exports: each thing has one page."""
    module = import_module(package)
    own = [name for name in module.__all__ if not ismodule(getattr(module, name))]
    return own if package == "mercer" else [name for name in own if name not in mercer.__all__]


def kinds(package: str) -> dict[str, list[str]]:
    """Names of a package by what they are, in the order in which they are shown."""
    module = import_module(package)
    found: dict[str, list[str]] = {"Maps": [], "Classes": [], "Functions": [], "Errors": [], "Constants": []}
    for name in names(package):
        thing = getattr(module, name)
        if isclass(thing):
            is_map = package == "mercer" and issubclass(thing, mercer.FeatureMap)
            is_error = issubclass(thing, BaseException)
            found["Maps" if is_map else "Errors" if is_error else "Classes"].append(name)
        else:
            found["Functions" if isfunction(thing) or callable(thing) else "Constants"].append(name)
    return {kind: listed for kind, listed in found.items() if listed}


def page(package: str) -> str:
    """The page of a package, as reStructuredText."""
    lines = [package, "=" * len(package), "", packages()[package].replace("`", "``"), "", f".. module:: {package}", ""]
    for kind, listed in kinds(package).items():
        lines += [kind, "-" * len(kind), ""]
        if kind == "Constants":
            lines += [line for name in listed for line in (f".. autodata:: {name}", "")]
        else:
            lines += [".. autosummary::", "   :toctree: generated", "", *(f"   {name}" for name in listed), ""]
    return "\n".join(lines)


def write(app: Any, config: Any) -> None:
    """The pages of packages, before Sphinx looks for pages."""
    folder = Path(app.srcdir) / "reference" / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    written = set()
    for package in packages():
        path = folder / f"{package}.rst"
        written.add(path)
        text = page(package)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in set(folder.glob("*.rst")) - written:
        path.unlink()
    listed = [f"- [{package}](packages/{package}.rst): {words}" for package, words in packages().items()]
    pages = ["```{toctree}", ":hidden:", "", *(f"packages/{package}" for package in packages()), "```"]
    (folder / "list.txt").write_text("\n".join([*listed, "", *pages, ""]), encoding="utf-8")


def find(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """A link to a public name from wherever it is written, or, of names of other projects, the name alone."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    last = target.rpartition(".")[2]
    domain = env.get_domain("py")
    for package in packages():
        full = f"{package}.{last}"
        if full in domain.objects and (not target.startswith("mercer.") or target == full or last in names(package)):
            found = domain.objects[full]
            return make_refnode(app.builder, node["refdoc"], found.docname, found.node_id, contnode, full)
    is_public = node.get("reftype") != "mod" and target.rpartition(".")[0] in domain.modules
    return None if is_public else nodes.literal("", "", *contnode.children)


# fmt: off
HOOKS = frozenset((
    "adopt", "array_layout", "asked_missing", "asked_scale", "asked_unknown", "bytes_needed", "can_be_exact",
    "check_arguments", "check_arrays", "clips", "columns_learned", "construct", "construction", "construction_",
    "description", "device", "domain_is_non_negative", "falls_back", "feature_blocks", "features_at", "features_of",
    "fit_rows", "fit_table", "for_parts", "foreseen", "gives_kernel_values", "has_landmarks", "has_one_penalty",
    "has_one_target", "has_pilot", "has_probabilities", "holds_all_features", "holds_rows", "is_deterministic",
    "is_precomputed", "is_prepared", "iterates", "known_kernel", "learned_types", "linear_values", "log_odds",
    "matched_table", "may_iterate", "n_columns", "observed", "precision_for", "predict_by", "predicted_region",
    "prepares_columns", "resolved_kernel", "settled", "size_of_decisions", "size_of_predictions", "sums_suffice",
    "table_to_fit", "takes_objects", "treating_unknown", "validated", "validated_pair", "values_on_device", "width",
    "width_for",
))
# fmt: on
"""Methods of estimators that only other packages of Mercer call, so the reference leaves them out."""


def skip(app: Any, what: str, name: str, thing: Any, is_skipped: bool, options: Any) -> bool | None:
    """Leave out hooks, methods that scikit-learn gives every estimator, and classes that are attributes of a class.

    Fields of named tuples are described by the class, and ``count`` and ``index`` belong to every tuple.
    """
    if type(thing).__name__ == "_tuplegetter" or getattr(thing, "__objclass__", None) is tuple:
        return True
    if isclass(thing) or (what == "class" and name in HOOKS and is_method_of_estimator(thing)):
        return True
    home = getattr(thing, "__module__", None) or getattr(getattr(thing, "fget", None), "__module__", "")
    return True if str(home).startswith(("sklearn.", "builtins")) else None


def is_method_of_estimator(thing: Any) -> bool:
    """Return whether a method or property is defined by a map or a learner rather than, for example, a table.

    Constants of a class do not say where they are defined; only maps and learners have some with the names of hooks.
    """
    if thing is None or isinstance(thing, (bool, str, tuple)):
        return True
    home = getattr(thing, "__module__", None) or getattr(getattr(thing, "fget", None), "__module__", None)
    return str(home).startswith(("mercer.maps", "mercer.learn", "mercer.choose"))


LINKED = ("mercer", "mercer.kernels", "mercer.learn", "mercer.stats")
"""Packages whose classes are linked wherever a page names them."""

ALSO_ELSEWHERE = ("KernelPCA",)
"""Names that scikit-learn has as well; they are linked only if the name of the package precedes them."""


def link(app: Any, tree: Any, page: str) -> None:
    """Link the names of public classes on pages to the reference, if they are alone or begin a call."""
    if page.startswith("reference"):
        return
    classes = {
        name: f"{package}.{name}"
        for package in LINKED
        for name in names(package)
        if isclass(getattr(import_module(package), name))
    }
    found = app.env.get_domain("py").objects
    for literal in list(tree.findall(nodes.literal)):
        package, _, name = literal.astext().partition("(")[0].rpartition(".")
        full = None if name in ALSO_ELSEWHERE and not package else classes.get(name)
        if full in found and isinstance(literal.parent, (nodes.paragraph, nodes.entry, nodes.emphasis)):
            target = found[full]
            copy = literal.deepcopy()
            literal.replace_self(make_refnode(app.builder, page, target.docname, target.node_id, copy, full))


LITERAL = re.compile(r"(``.*?``|:\w+:`[^`]*`|`[^`]*`_?)", re.DOTALL)
TRAILING = re.compile(r"(?<![\w*`:\\])([A-Za-z]\w*)_(?=[\s,.;:)\]]|$)")


def plain(text: str) -> str:
    """Escape text so that, outside of literals, names such as ``coef_`` are not links and bars not substitutions."""
    parts = LITERAL.split(text)
    return "".join(
        part if number % 2 else TRAILING.sub(r"\1\\_", part).replace("|", r"\|") for number, part in enumerate(parts)
    )


def escape(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Allow docstrings to contain names with a trailing underscore, and absolute values, without escapes."""
    indent, is_doctest = -1, False
    paragraphs: list[list[int]] = [[]]  # numbers of lines, since a literal may continue on the next line
    for number, line in enumerate(lines):
        text = line.strip()
        depth = len(line) - len(line.lstrip())
        is_doctest = bool(text) and (is_doctest or text.startswith(">>>"))
        if indent >= 0 and text and depth <= indent:
            indent = -1
        if text.startswith(".. ") or text.endswith("::"):
            indent = depth
        elif text and indent < 0 and not is_doctest and not text.startswith(("|", "+", "..")):
            paragraphs[-1].append(number)
            continue
        paragraphs.append([])
    for numbers in paragraphs:
        changed = plain("\n".join(lines[number] for number in numbers)).split("\n")
        for number, line in zip(numbers, changed, strict=False):
            lines[number] = line


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", write)
    app.connect("missing-reference", find)
    app.connect("doctree-resolved", link)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", escape, priority=900)  # after numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
