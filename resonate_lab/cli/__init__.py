"""The command line: ``resonate-lab COMMAND``, or ``python -m resonate_lab COMMAND``.

A command is one function: it asks the library and prints the answer, so what a command
does can be done in a notebook with the same words. Exit codes stand in `program`.
"""

from resonate_lab.cli.program import cli, main

__all__ = ["cli", "main"]
