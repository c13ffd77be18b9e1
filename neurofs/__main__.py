"""``python -m neurofs``."""

from neurofs.cli import main

main()
