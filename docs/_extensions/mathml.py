"""Formulas as MathML, which browsers show by themselves: no script, no font and no picture is fetched for them."""

from __future__ import annotations

import html
import re
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

log = logging.getLogger(__name__)

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
ElementTree.register_namespace("", NAMESPACE)

SIZES = re.compile(r"\\[bB]igg?([lr]?)(?![a-zA-Z])\s*(?=([\[(\])]|\\[lr]))")
"""Commands for the size of brackets, which docutils does not know: the brackets become as high as their contents."""

FENCES = "‖⟨⟩⌈⌉⌊⌋"
"""Brackets that browsers would stretch to the height of the whole formula."""

FRACTION = re.compile(r"(\\[td]?frac)\s*(\d)(\d)")
r"""``\frac12``, which docutils reads as 12 over what follows."""


ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)\w+;")
"""Characters by their names in HTML, such as that of the invisible sign after a function, which XML does not know."""


def _stretched(match: re.Match[str]) -> str:
    side = match[1] or ("l" if match[2] in {"[", "(", r"\l"} else "r")
    return r"\left" if side == "l" else r"\right"


def _is_fence(element: ElementTree.Element) -> bool:
    return element.tag.endswith("mo") and element.text is not None and element.text in FENCES


def with_plain_fences(formula: str) -> str:
    """Keep the brackets of a formula in MathML from stretching, unless they enclose a group, as ``\\left`` does."""
    root = ElementTree.fromstring(ENTITY.sub(lambda match: html.unescape(match[0]), formula))
    for parent in root.iter():
        ends = [parent[0], parent[-1]] if parent.tag.endswith("mrow") and len(parent) > 1 else []
        group = ends if all(_is_fence(end) for end in ends) else []
        for one in parent:
            if _is_fence(one) and one not in group:
                one.set("stretchy", "false")
    return ElementTree.tostring(root, encoding="unicode")


def readable(formula: str) -> str:
    """A formula in the part of TeX that docutils reads."""
    return FRACTION.sub(r"\1{\2}{\3}", SIZES.sub(_stretched, formula))


def _written(self: Any, node: nodes.Node, *, as_block: bool) -> str:
    try:
        return with_plain_fences(tex2mathml(readable(node.astext()), as_block=as_block))
    except (MathError, AttributeError) as error:
        log.warning("formula %r: %s", node.astext(), error, location=node, type="mathml")
        return self.encode(node.astext())


def inline(self: Any, node: nodes.math) -> None:
    self.body.append(f'<span class="math">{_written(self, node, as_block=False)}</span>')
    raise nodes.SkipNode


def display(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math">{_written(self, node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
