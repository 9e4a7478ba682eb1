"""Checks of every page: it must be complete, self-contained, and accessible without its pictures."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "br", "img", "hr", "col", "link", "input"}
FETCHING = {"src", "srcset", "href", "xlink:href", "data", "action", "formaction", "poster", "background", "ping"}
HOSTILE = "\"><img src=http://hostile.invalid/x.png onerror=top.a=1><script>top.b=2</script>'&amp;$\\frac{$"
"""A name that would break the page if it were not escaped, or if it were read as a formula."""


class Page(HTMLParser):
    """The tags of a page: whether they close in order, what they would fetch, and their pictures."""

    def __init__(self, text: str):
        super().__init__()
        self._open: list[str] = []
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.handlers: list[str] = []
        self.pictures: list[tuple[str, int]] = []
        self.ids: list[str] = []
        self.cells = 0
        self.still: list[str] = []
        self._moving = False
        self.words = ""
        self.feed(text)
        self.close()
        assert self._open == []
        self.fetched += [
            url for url in re.findall(r"url\(['\"]?([^'\")]+)|@import", text) if url and not url.startswith("#")
        ]

    def handle_starttag(self, tag, attributes):
        held = dict(attributes)
        self.tags.append(tag)
        self.fetched += [
            f"{tag} {value}" for name, value in attributes if name in FETCHING and not (value or "").startswith("#")
        ]
        self.handlers += [name for name in held if name.startswith("on")]
        self.ids += [held["id"]] if "id" in held else []
        self.cells += tag == "td"
        if tag in ("svg", "img"):
            assert held.get("role") == "img" or tag == "img"
            self.pictures.append((held.get("aria-label") or held.get("alt") or "", 0))
        if tag == "path" and self.pictures:
            name, paths = self.pictures[-1]
            self.pictures[-1] = name, paths + 1
        if tag == "table" and not self._moving:
            self.still.append(str(held))
        self._moving = tag == "div" and held.get("class") == "wide" and held.get("tabindex") == "0"
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] != "style":
            self.words += data


def checked(text: str) -> Page:
    """A page that is complete, fetches nothing, runs nothing, and describes its pictures in words."""
    found = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert "mathdefault" not in text
    assert found.fetched == []
    assert found.handlers == []
    assert found.still == []  # every table is in a box that moves, also by the keyboard
    assert not {"script", "img", "iframe", "object", "embed", "link", "form"} & set(found.tags)
    for name, paths in found.pictures:
        assert len(name.split()) >= 5
        assert "nan" not in name.split()
        assert paths > 3
    return found
