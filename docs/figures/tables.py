"""Tables of measured figures, read from the pages that show them, so that a picture never says anything else."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def table(page: str, first: str) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of the Markdown table whose header begins with this text."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if re.sub(r"\s*\|\s*", "|", line).startswith(first))
    end = next((number for number in range(start, len(lines)) if not lines[number].startswith("|")), len(lines))
    header, _, *rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines[start:end]]
    return header, rows


def number(cell: str) -> float:
    """The first number of a cell: 1,234 or .5."""
    return float(re.findall(r"[\d.,]+", cell)[0].replace(",", ""))
