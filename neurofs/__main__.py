"""The command ``neurofs``, also ``python -m neurofs``; Ctrl-C ends it with one line even while it is starting."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from neurofs.commands.main import main as run
    except KeyboardInterrupt:
        print("neurofs: interrupted", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
