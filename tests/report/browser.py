"""A page as Chromium shows it: its content, its width, and its requests to the network."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--allow-file-access-from-files",
    "--virtual-time-budget=10000",
)

# The page is shown in frames of the requested widths and examined from outside: it runs no script itself.
FRAME = '<iframe src="{page}" style="border:0;width:{width}px;height:900px"></iframe>'
OUTSIDE = """<!DOCTYPE html><body style="margin:0">{frames}<pre></pre><script>
const cut = (inside, page, root, box) => {{
  page.querySelectorAll("details").forEach(one => one.open = true);
  const all = [...page.body.querySelectorAll("*")].filter(one => !one.closest("svg") || one.tagName === "svg");
  const across = one => inside.getComputedStyle(one).overflowX;
  const moves = one => ["auto", "scroll"].includes(across(one));
  const told = one => `${{one.tagName}}.${{one.getAttribute("class")}}: ${{one.textContent.slice(0, 40)}}`;
  const wider = all.filter(one => one.tagName !== "svg" && one.scrollWidth > one.clientWidth + 1);
  const within = one => one.parentElement && (moves(one.parentElement) || within(one.parentElement));
  const labels = one => [...one.querySelectorAll("text")].map(text => [one, text]);
  const texts = [...page.querySelectorAll("svg")].flatMap(labels);
  const beyond = (inner, outer) => inner.left < outer.left - 1 || inner.right > outer.right + 1
    || inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1;
  return {{
    clipped: wider.filter(one => ["hidden", "clip"].includes(across(one))).map(told),
    outside: all.filter(one => !within(one) && (box(one).right > root.clientWidth + 1 || box(one).left < -1)).map(told),
    moving: wider.filter(moves).map(told), opened: root.scrollWidth,
    unread: texts.filter(([one, text]) => beyond(box(text), box(one))).map(([_, text]) => text.textContent),
  }};
}};
const look = frame => {{
  const inside = frame.contentWindow, page = inside.document, root = page.documentElement;
  const box = one => one.getBoundingClientRect();
  const colour = inside.getComputedStyle(page.body);
  return {{
    width: root.clientWidth, scrolled: root.scrollWidth, ink: colour.color, ground: colour.backgroundColor,
    svg: [...page.querySelectorAll("svg")].map(one => ({{
      label: one.getAttribute("aria-label"), width: box(one).width, height: box(one).height,
      drawn: one.getBBox().width * one.getBBox().height, marks: one.querySelectorAll("path, use, rect").length,
      text: [...one.querySelectorAll("text")].map(text => inside.getComputedStyle(text).fill),
    }})),
    img: [...page.images].map(one => ({{ alt: one.alt, width: one.naturalWidth }})),
    scripts: page.scripts.length, fetched: inside.performance.getEntriesByType("resource").map(one => one.name),
    words: page.body.innerText, ...cut(inside, page, root, box),
  }};
}};
onload = () => {{
  const frames = [...document.querySelectorAll("iframe")];
  document.querySelector("pre").textContent = JSON.stringify(frames.map(look));
}};
</script>"""


def shown(
    page: Path, widths: Sequence[int], dark: bool = False, folder: str = "whole"
) -> tuple[list[dict[str, Any]], set[str]]:
    """Show a page at these widths, and return the addresses that it requested from the network."""
    place = page.parent / f"browser-{page.stem}-{folder}-{dark}"
    place.mkdir()
    outside, log = place / "outside.html", place / "net.json"
    frames = "".join(FRAME.format(page=page.as_uri(), width=width) for width in widths)
    outside.write_text(OUTSIDE.format(frames=frames), encoding="utf-8")
    assert CHROMIUM is not None
    words = [CHROMIUM, *FLAGS, f"--user-data-dir={place / 'profile'}", f"--log-net-log={log}", "--dump-dom"]
    words += ["--window-size=1600,1000", "--host-resolver-rules=MAP * ~NOTFOUND"]
    words += [f"--blink-settings=preferredColorScheme={0 if dark else 1}", outside.as_uri()]
    result = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    found = json.loads(html.unescape(re.search(r"<pre>(.*?)</pre>", result.stdout, re.DOTALL)[1]))
    return found, requests(log)


def requests(log: Path) -> set[str]:
    """The addresses that pages requested from the network, without Chromium's own requests."""
    held = json.loads(log.read_text(encoding="utf-8"))
    begun = held["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    started = [event["params"] for event in held["events"] if event["type"] == begun and "url" in event["params"]]
    return {one["url"] for one in started if one["initiator"] == "file://" and not one["url"].startswith("file:")}
