"""``python -m mercer``: the command line."""

from .cli import main

main()
