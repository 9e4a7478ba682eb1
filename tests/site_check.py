"""Check the site that `make docs` built: all links have a target, and nothing is loaded from outside.

`python tests/site_check.py build/docs` prints what is wrong and counts pages; it exits with 1 where there is anything.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {
    "script": "src",
    "img": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "object": "data",
}
OUTSIDE = re.compile(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//")


class Page(HTMLParser):
    """The anchors of a page, its links, and what a browser loads to show it."""

    def __init__(self, text: str):
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in FETCHED and FETCHED[tag] in given and given.get("rel") != "canonical":
            self.fetched.append(given[FETCHED[tag]])


@cache
def page(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def wrong(root: Path) -> list[str]:
    """Describe what is wrong with the site."""
    found = []
    for path in sorted(root.rglob("*.html")):
        where = path.relative_to(root)
        if where.parts[0] in {"_modules", "_static"}:  # pages of source, and a template of the theme
            continue
        for address in [*page(path).links, *page(path).fetched]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page(path).fetched and parts.scheme != "data":
                    found.append(f"{where} fetches {address}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                found.append(f"{where} points at {address}, which is not there")
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in page(target).places:
                found.append(f"{where} points at {address}, a place that is not there")
    for path in sorted(root.rglob("*.css")):
        if OUTSIDE.search(path.read_text(encoding="utf-8")):
            found.append(f"{path.relative_to(root)} fetches from outside")
    return found


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    complaints = wrong(folder)
    print(*complaints, sep="\n", end="\n" if complaints else "")
    print(f"{len(list(folder.rglob('*.html')))} pages, {len(complaints)} complaints")
    sys.exit(bool(complaints))
