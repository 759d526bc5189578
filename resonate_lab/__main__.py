"""``python -m resonate_lab``: the command line."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; an interrupt while it loads ends it as one while it runs."""
    try:
        from resonate_lab.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; what is written stays\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
