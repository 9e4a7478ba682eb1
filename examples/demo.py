"""The command line: fit, evaluate, predict, compare
==================================================

``make demo`` runs this script in about a minute: it writes scikit-learn's 1,797 handwritten digits to CSV files
in build/demo, where you also find two pages and a picture afterwards.
"""

# sphinx_gallery_thumbnail_path = "_static/error_against_time.png"

from __future__ import annotations

import csv
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from mercer.cli.command_group import mercer

FOLDER = Path(__file__).resolve().parents[1] / "build" / "demo"
MAPS = "orthogonal_fourier,quasi_fourier,nystrom,taylor_sketch"
COMMANDS = (
    "fit digits.csv --target digit --loss logistic --C 100 --features 1024 --report report.html -o digits.mercer",
    "evaluate digits.mercer unseen.csv",
    "predict digits.mercer unseen.csv --with probabilities -o predicted.csv",
    f"compare digits.csv --target digit --loss squared --C 100 --maps {MAPS} --features 64,256,1024"
    " --plot maps.png --html maps.html",
)


def write_rows(path: Path, X: Any, y: Sequence[int]) -> None:
    """Write pixels and digits as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([*(f"pixel_{row}_{column}" for row in range(8) for column in range(8)), "digit"])
        rows.writerows([*map(int, pixels), int(digit)] for pixels, digit in zip(X, y, strict=True))


def run(commands: Sequence[str], folder: Path) -> None:
    """Run the commands one after another, in a folder, as if they had been typed there."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        for command in commands:
            print(f"\n$ mercer {command}", flush=True)
            mercer.main(shlex.split(command), prog_name="mercer", standalone_mode=False)
    finally:
        os.chdir(before)


def main(folder: Path = FOLDER) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    X_train, X_test, y_train, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    write_rows(folder / "digits.csv", X_train, y_train)
    write_rows(folder / "unseen.csv", X_test, y_test)
    run(COMMANDS, folder)
    print("\nA picture of the table above, and two pages for a browser:")
    for name in ("maps.png", "maps.html", "report.html"):
        print(f"  {folder / name}")


if __name__ == "__main__":
    main()
