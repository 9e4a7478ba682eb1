"""Text from files on a terminal: characters that would control the terminal are shown as escapes."""

from __future__ import annotations

import codecs
import io
import re
from typing import Any

UNSEEN = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff"
"""Characters that move the cursor, change colours, reverse the direction of text or are invisible."""
STEERING = re.compile(f"[{UNSEEN}]")
STEERING_AND_BREAKS = re.compile(f"[{UNSEEN}\n\t]")


def printable(text: str, breaks: bool = False) -> str:
    r"""Return text with escapes such as ``\x1b`` in place of characters that control a terminal.

    Parameters
    ----------
    text : str
        The text to show.
    breaks : bool, default=False
        Whether to keep line ends and tabs.

    Returns
    -------
    str
        The text without control characters.

    Examples
    --------
    >>> print(printable("red \x1b[31malert"))
    red \x1b[31malert
    """
    return (STEERING if breaks else STEERING_AND_BREAKS).sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


class TerminalWriter(io.RawIOBase):
    """A binary file that shows text on a terminal, where only line ends and tabs take effect.

    Parameters
    ----------
    stream : text file
        The terminal.
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
