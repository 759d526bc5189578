"""``python -m resonate_lab``: the command line."""

from resonate_lab.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
