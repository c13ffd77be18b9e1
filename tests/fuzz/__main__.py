"""The fuzzer: ``python -m tests.fuzz --minutes 60``, ``--trials 1000`` or ``--corpus``; exit code 1 after a failure."""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):  # forks need a process of one thread
    os.environ[f"{_name}_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from .damage import kill_batches, spoil_batches  # noqa: E402  after the environment is set
from .faults import try_faults  # noqa: E402
from .search import KINDS, search, try_corpus  # noqa: E402


def main() -> int:
    """Try what was asked for and print what failed; what made it fail is kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=0.0, help="go on for so long")
    parser.add_argument("--trials", type=int, default=0, help="or for so many trials")
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"what is tried; all of {', '.join(KINDS)}")
    parser.add_argument("--seed", type=int, default=0, help="seed of all that is drawn")
    parser.add_argument("--keep", type=Path, help="folder for what failed")
    parser.add_argument("--strict", action="store_true", help="count as failures what only the last guard has caught")
    parser.add_argument("--corpus", nargs="?", const="", help="only the reproducers whose name has this")
    parser.add_argument("--faults", nargs="?", const="", help="only the faults of the machine whose name has this")
    parser.add_argument("--kills", type=int, default=0, help="kill a batch, or a part of it, so many times")
    parser.add_argument("--spoils", type=int, default=0, help="spoil the folder of a finished batch so many times")
    given = parser.parse_args()
    if given.faults is not None:
        return bool(try_faults(given.faults))
    if given.kills or given.spoils:
        n_failed = kill_batches(given.kills, given.seed) if given.kills else 0
        return bool(n_failed + (spoil_batches(given.spoils, given.seed) if given.spoils else 0))
    if given.corpus is not None:
        return bool(try_corpus(given.corpus))
    deadline = time.monotonic() + 60 * given.minutes if given.minutes else None
    keep = given.keep or Path(tempfile.mkdtemp(prefix="fuzz-"))
    n_trials = given.trials or 10**9
    return bool(search(given.kinds.split(","), given.seed, n_trials, deadline, keep, given.strict, given.first))


if __name__ == "__main__":
    sys.exit(main())
