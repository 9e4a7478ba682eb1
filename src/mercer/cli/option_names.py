"""Translation of messages: arguments of the library become options of the command line."""

from __future__ import annotations

OPTIONS = {
    "missing='mean'": "--missing mean",
    "unknown='ignore'": "--unknown ignore",
    "give format": "give --format",
    "loss='logistic'": "--loss logistic",
    "keep_statistics=True": "--deviations",
    "spreadsheet_safe is": "--spreadsheet-safe is",
    "the same call with resume=True": "the same command with --resume",
    "the same call starts": "the same command starts",
    "class_weight is for": "--class-weight is for",
    "class_weight='balanced'": "--class-weight balanced",
    "drop=True of mercer.data.open": "--drop",
    "exclude= of mercer.data.open": "--exclude",
    "give encoding=": "give --encoding ",
    "such as encoding=": "such as --encoding ",
    "or encoding=": "or --encoding ",
    "give delimiter=": "give --delimiter ",
    "give decimal=": "give --decimal ",
    "ask for classification": "give --task classification",
}
"""Options of the command line for the arguments that messages of the library mention."""


def with_options(text: str) -> str:
    """Return a text of the library with options in place of arguments."""
    for argument, option in OPTIONS.items():
        text = text.replace(argument, option)
    return text
