"""The command ``neurofs``, also ``python -m neurofs``; Ctrl-C ends it with one line even while it is starting."""

import gc
import os
import sys


def main() -> None:
    """Run the command line."""
    _open_closed()
    try:
        from neurofs.ground.garbage import collect_seldom

        collect_seldom()
        from neurofs.commands.main import main as run
    except KeyboardInterrupt:
        print("neurofs: interrupted", file=sys.stderr)
        sys.exit(130)
    try:
        run()
    finally:
        gc.freeze()  # the end of the process frees all; to look for cycles once more takes half a second


def _open_closed() -> None:
    """Put nothing in the place of an input or output that was closed before the start, as by `0<&-` or a service."""
    for name, mode in {"stdin": "r", "stdout": "w", "stderr": "w"}.items():
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open to the end


if __name__ == "__main__":
    main()
