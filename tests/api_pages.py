"""Pages of all public functions and classes, by pdoc, from their docstrings: ``python tests/api_pages.py [FOLDER]``."""

import sys
from pathlib import Path

import neurofs

ROOMS = ("neurofs", "neurofs.selectors", "neurofs.decoders")


def main(folder: str = "pages") -> None:
    import pdoc  # one of the tools of development

    vars(neurofs).update({name: getattr(neurofs, name) for name in neurofs.__all__})  # pdoc asks for no lazy name
    pdoc.pdoc(*ROOMS, output_directory=Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:2])
