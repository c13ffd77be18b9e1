"""The search: trial after trial with numbers drawn from a seed, until the time or the number of trials is up."""

from __future__ import annotations

import collections
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from neurofs.recordings.readers.door import REMEDY

from .corpus import ROWS
from .kinds import KINDS, count_bytes, lay_bait
from .seeds import SEEDS
from .trial import try_command


def try_corpus(only: str = "") -> int:
    """Try every reproducer whose name has `only`, print what failed, and return how many did."""
    _warm()
    n_failed = 0
    for name, make, wanted in [row for row in ROWS if only in row[0]]:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            arguments = make(folder)
            verdict = try_command(arguments, count_bytes(folder), lay_bait(folder))
        failure = verdict.failure or ("" if wanted in (None, verdict.kind) else f"{verdict.kind}, not {wanted}")
        if failure:
            n_failed += 1
            print(f"FAILED {name}: {failure}: {' | '.join(verdict.words.splitlines()[-4:])}", flush=True)
    print(f"{n_failed} of {len(ROWS)} reproducers failed")
    return n_failed


def search(
    kinds: list[str], seed: int, n_trials: int, deadline: float | None, keep: Path, strict: bool = False, first: int = 0
) -> int:
    """Try until the end, print each failure as it comes and a line about all; return how many failed."""
    _warm()
    for make in SEEDS.values():
        with tempfile.TemporaryDirectory() as place:
            make(Path(place))
    tally: collections.Counter[str] = collections.Counter()
    slowest = largest = 0.0
    for number in range(first, first + n_trials):
        if deadline is not None and time.monotonic() > deadline:
            break
        kind = kinds[number % len(kinds)]
        with tempfile.TemporaryDirectory() as place:
            what, verdict = KINDS[kind](Path(place), np.random.default_rng([seed, number]))
            if strict and not verdict.failure and REMEDY in verdict.words:
                verdict = replace(verdict, failure="only the last guard")
            slowest, largest = max(slowest, verdict.seconds), max(largest, verdict.memory)
            tally[f"{kind} {verdict.kind}" if not verdict.failure else "FAILED"] += 1
            if verdict.failure:
                shutil.copytree(place, keep / f"{seed}-{number}", dirs_exist_ok=True, symlinks=True)
                print(f"FAILED {kind}, seed {seed}, trial {number}: {what}: {verdict.failure}", flush=True)
                print("    " + "\n    ".join(verdict.words.splitlines()[-6:]), flush=True)
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(tally.items()))
    print(f"{sum(tally.values())} trials: {counts}; slowest {slowest:.1f} s, largest {largest / 1e9:.2f} GB")
    return tally["FAILED"]


def _warm() -> None:
    """Load what trials need before they fork; nothing compiled runs here."""
    import neurofs.decoders.model
    import neurofs.pipeline
    import neurofs.recordings.contents
    import neurofs.recordings.quality
    import neurofs.recordings.readers.hdf5
    import neurofs.recordings.readers.matlab
    import neurofs.recordings.readers.netcdf
    import neurofs.recordings.readers.npz
    import neurofs.report.page
    import neurofs.running.session  # noqa: F401
