"""The command line, ``mercer COMMAND``: one file per command, and nothing large is imported before a command runs."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        from .command_group import mercer
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        raise SystemExit(f"mercer: the command line needs {error.name}: pip install 'mercer[cli]'") from None
    mercer()
