"""Text from files on a terminal: what would steer it is shown in its place."""

from __future__ import annotations

import codecs
import io
import re
from typing import Any

UNSEEN = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff"
"""Characters that move the cursor, change colours, turn the direction of writing or show nothing."""
STEERING = re.compile(f"[{UNSEEN}]")
STEERING_AND_BREAKS = re.compile(f"[{UNSEEN}\n\t]")


def printable(text: str, breaks: bool = False) -> str:
    r"""Text with ``\x1b`` and the like in place of characters that steer a terminal.

    Parameters
    ----------
    text : what is to be shown
    breaks : whether the ends of lines and tabs stay as they are

    Examples
    --------
    >>> print(printable("red \x1b[31malert"))
    red \x1b[31malert
    """
    return (STEERING if breaks else STEERING_AND_BREAKS).sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


class TerminalWriter(io.RawIOBase):
    """A binary file that shows text on a terminal, of which only line ends and tabs may steer it.

    Parameters
    ----------
    stream : the terminal, as a file of text
    """

    def __init__(self, stream: Any):
        super().__init__()
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        held = bytes(data)
        self._stream.write(printable(self._decoder.decode(held), breaks=True))
        return len(held)

    def flush(self) -> None:
        self._stream.flush()
