"""Feed broken text to the reader of LIBSVM files, which must agree with its reference in Python and never crash.

``python tests/fuzz_libsvm.py --seconds 60 --seed 0``; exits 1 with the text on which the two differ.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from mercer import _core
from mercer._core import _libsvm

PIECES = (
    *(
        b"0",
        b"1",
        b"9",
        b"-",
        b"+",
        b".",
        b":",
        b" ",
        b"\t",
        b"\r",
        b"\n",
        b"#",
        b"e",
        b"E",
        b",",
        b"x",
        b"\x00",
        b"\xff",
    ),
    *(
        b"1:",
        b"3:2",
        b" 9:1.5",
        b"qid:7",
        b"nan",
        b"inf",
        b"1e400",
        b"1e-400",
        b"99999999999999999999",
        b" 2147483648:1",
    ),
)
LINE = b"1 1:0.5 2:-3e-5 7:123456789.123456789 100:1e22\n-1 qid:3 5:.25 # note\n"


def broken_text(rng: np.random.Generator) -> bytes:
    """Pieces in any order, or good lines with a few bytes changed, put in or left out."""
    if rng.random() < 0.5:
        return b"".join(PIECES[k] for k in rng.integers(0, len(PIECES), size=rng.integers(0, 40))) + b"\n"
    text = bytearray(LINE * int(rng.integers(1, 4)))
    for place in rng.integers(0, len(text), size=rng.integers(0, 6)).tolist():
        piece = PIECES[int(rng.integers(0, len(PIECES)))]
        text[place : place + int(rng.integers(0, 3))] = piece
    return bytes(text) + b"\n"


def outcome(text: bytes, compiled: bool, **options: object) -> object:
    """Return the result of a reader for a text: all arrays to the bit, or the error."""
    _libsvm._library.AVAILABLE = compiled
    try:
        rows = _libsvm.libsvm(text, **options)
    except _libsvm.LibsvmError as error:
        return error.line, str(error)
    return tuple(part.tobytes() if isinstance(part, np.ndarray) else part for part in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if not _core.AVAILABLE:
        raise SystemExit("there is no compiled core to try")
    rng, end, count = np.random.default_rng(given.seed), time.monotonic() + given.seconds, 0
    while time.monotonic() < end:
        text = broken_text(rng)
        options = {"base": int(rng.integers(0, 2)), "count": bool(rng.random() < 0.3)}
        results = [outcome(text, compiled, **options) for compiled in (True, False)]
        if results[0] != results[1]:
            print(f"after {count} texts, with {options}: {text!r}\ncompiled:  {results[0]}\nreference: {results[1]}")
            return 1
        count += 1
    print(f"{count} texts, no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
