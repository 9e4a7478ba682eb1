"""Formulas as MathML, which browsers show by themselves: no script, no font and no picture is fetched for them."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

log = logging.getLogger(__name__)

SIZES = re.compile(r"\\[bB]igg?[lr]?(?![a-zA-Z])")
"""Commands for the size of brackets, which docutils does not know: browsers stretch brackets by themselves."""

FRACTION = re.compile(r"(\\[td]?frac)\s*(\d)(\d)")
r"""``\frac12``, which docutils reads as 12 over what follows."""


def _written(self: Any, node: nodes.Node, *, as_block: bool) -> str:
    try:
        return tex2mathml(FRACTION.sub(r"\1{\2}{\3}", SIZES.sub("", node.astext())), as_block=as_block)
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
