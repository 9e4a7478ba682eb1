"""What a search has tried, as a part of a page."""

from __future__ import annotations

from ..choose import Tuned
from .page import paragraph, section, table

HEADERS = ("round", "kernel", "scale", "loss", "alpha or C", "rows", "features", "score", "value", "seconds")


def trials_section(found: Tuned) -> str:
    """What a search has tried, the best of every round first, and the fits of its model, as HTML.

    Parameters
    ----------
    found : what :meth:`mercer.choose.Search.run` returned

    Examples
    --------
    >>> import mercer
    >>> mercer.report.trials_section(mercer.choose.Tuned(None, [], [], ["no time for more"]))[:57]
    '<section><h2>What was tried</h2><p>no time for more</p><d'
    """
    rows = [(one.round or "-", *one._replace(scale=one.scale or "none")[1:]) for one in found.in_order()]
    return section("What was tried", *map(paragraph, found.notes), table(HEADERS, rows))
