"""What is tried: mutated files, odd options, session files, run folders and models."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import tomli_w

from neurofs.ground.config import LoadOptions, RunOptions

from .corpus import QUICK
from .mutate import ODD_TEXT, Rng, list_files, mutate, pick, spoil
from .seeds import APART, SEEDS
from .trial import Verdict, try_command

ODD_NUMBERS = (0, 1, -1, 2, 3, 7, 0.5, 1e-9, -0.0, 1e9, 1e300, 2**63, -(2**70), float("nan"), float("inf"))
WORDS = ("counts", "velocity", "bin_width", "velocity:x", "velocity.velocity", "all", "auto", "none", "rgs", "ridge",
         "rate > 0.5", "rate >", "1-", "0-3", "direction == 1", "__import__('os')", "1,2,3", "true",
         "s", "ms")  # fmt: skip
VARY = ["vary", "--by", "lead", "--values", "0,0.1", "--target", "velocity", "--n-splits", 2, "--n-lags", 2, "-q",
        "-j", 1]  # fmt: skip
LISTS = ((), ("velocity",), ("a", "b"), (1, 2))


def try_file(folder: Path, rng: Rng) -> tuple[str, Verdict]:
    """Inspect a mutated file."""
    seed = pick(rng, APART if rng.random() < 0.06 else [name for name in SEEDS if name not in APART])
    path = SEEDS[seed](folder)
    how = mutate(seed, path, rng)
    return f"{seed} {how}", try_command(["inspect", path], count_bytes(path), lay_bait(folder))


def try_decode(folder: Path, rng: Rng) -> tuple[str, Verdict]:
    """Decode a mutated file, of which most are refused before that."""
    seed = pick(rng, ("npz", "npz-trials", "mat", "h5", "csv", "nwb"))
    path = SEEDS[seed](folder)
    how = mutate(seed, path, rng)
    target = pick(rng, ("velocity", "hand_velocity", "hand", "direction"))
    command = ["decode", path, "--target", target, "--out", folder / "run", *QUICK]
    return f"{seed} {how} {target}", try_command(command, count_bytes(path), lay_bait(folder))


def try_options(folder: Path, rng: Rng) -> tuple[str, Verdict]:
    """Inspect or decode a sound file with odd options."""
    path = SEEDS[pick(rng, ("npz", "npz-trials", "npz-times", "mat-cells", "nwb", "csv"))](folder)
    loads = rng.random() < 0.5
    keys = list((LoadOptions if loads else RunOptions).model_fields)
    flags = [part for key in rng.choice(keys, int(rng.integers(1, 4))) for part in _make_flag(str(key), rng)]
    start = ["inspect", path] if loads else ["decode", path, "--out", folder / "run", "--target", "velocity", *QUICK]
    return " ".join(map(str, flags))[:300], try_command([*start, *flags], count_bytes(path), lay_bait(folder))


def _make_flag(key: str, rng: Rng) -> list[str]:
    values = [str(value) for value in (*ODD_NUMBERS, *WORDS, *(text for text in ODD_TEXT if "\0" not in text))]
    value = pick(rng, values)[:300]
    flag = f"--{key.replace('_', '-')}"
    return [f"{flag}={value}"] if key != "period" else [flag, value, pick(rng, values)[:300]]


def try_toml(folder: Path, rng: Rng) -> tuple[str, Verdict]:
    """Inspect a session file with odd keys and values, some of them with other bytes."""
    path = SEEDS["npz-trials"](folder)
    keys = rng.choice(list(RunOptions.model_fields), int(rng.integers(1, 5)))
    odd = (*ODD_NUMBERS, *WORDS, *ODD_TEXT, *LISTS, {"a": 1}, True, [[1]], {"rgs": {"n_epochs": "x"}})
    content = {str(key): pick(rng, [v for v in odd if not isinstance(v, int) or abs(v) < 2**62]) for key in keys}
    text = tomli_w.dumps({"file": path.name, **content}).encode("utf-8", "replace")
    (folder / "session.toml").write_bytes(spoil(text, rng) if rng.random() < 0.3 else text)
    return ", ".join(content), try_command(["inspect", folder / "session.toml"], 0, lay_bait(folder))


def try_run(folder: Path, rng: Rng) -> tuple[str, Verdict]:
    """Rebuild the report of a run folder in which a file was changed."""
    run = copy_run(folder / "run")
    file = pick(rng, [path for path in list_files(run) if path.name != "report.html"])
    _spoil_file(file, rng)
    return file.name, try_command(["report", run, "-q"], count_bytes(run), lay_bait(folder))


def try_model(folder: Path, rng: Rng) -> tuple[str, Verdict]:
    """Decode with a model of which a file was changed."""
    model = _copy(_make_model(), folder / "model")
    path = SEEDS["npz"](folder)
    file = pick(rng, list_files(model))
    _spoil_file(file, rng)
    command = ["predict", model, path, "--out", folder / "p.csv", "-q"]
    return file.name, try_command(command, count_bytes(model), lay_bait(folder))


def try_variation(folder: Path, rng: Rng) -> tuple[str, Verdict]:
    """Go on with a variation in whose folder a file was changed."""
    made = _make_variation()
    out = _copy(made, folder / "vary")
    file = pick(rng, list_files(out))
    _spoil_file(file, rng)
    command = [*VARY, made.parent / "session.npz", "--out", out]
    return file.name, try_command(command, count_bytes(out), lay_bait(folder))


def try_compare(folder: Path, rng: Rng) -> tuple[str, Verdict]:
    """Compare a run with itself after a file was changed."""
    sound, run = _make_run(), copy_run(folder / "run")
    file = pick(rng, [path for path in list_files(run) if path.name != "report.html"])
    _spoil_file(file, rng)
    command = ["compare", sound, run, "--out", folder / "page", "-q"]
    return file.name, try_command(command, count_bytes(run), lay_bait(folder))


def try_stream(folder: Path, rng: Rng) -> tuple[str, Verdict]:
    """Stream a mutated session through a model, of which a file may be changed, too."""
    model, seed = _copy(_make_model(), folder / "model"), pick(rng, ("npz", "npz-trials", "h5"))
    path = SEEDS[seed](folder)
    how = mutate(seed, path, rng) if rng.random() < 0.6 else "as it is"
    if how == "as it is":
        _spoil_file(pick(rng, list_files(model)), rng)
    command = ["stream", model, "--replay", path, "--speed", 0, "--out", folder / "estimates.csv"]
    return f"{seed} {how}", try_command(command, count_bytes(folder), lay_bait(folder))


def _spoil_file(file: Path, rng: Rng) -> None:
    change = _spoil_text if file.suffix in (".json", ".toml", ".csv") else spoil
    file.write_bytes(change(file.read_bytes(), rng))


def _spoil_text(content: bytes, rng: Rng) -> bytes:
    """Put another value in the place of one, or change bytes."""
    text = content.decode("utf-8", "replace")
    places = [i for i, character in enumerate(text) if character in ":,=["]
    if not places or rng.random() < 0.3:
        return spoil(content, rng)
    start = pick(rng, places) + 1
    stop = min((text.find(mark, start) for mark in ",\n]}" if text.find(mark, start) >= 0), default=len(text))
    value = pick(rng, (" null", " -1", " 1e999", ' "x"', " []", " {}", " NaN", " true", "", " 99999999999999999999"))
    return (text[:start] + value + text[stop:]).encode()


# Things that are made once


@cache
def _make_run() -> Path:
    return _make("run", ["decode", "--target", "velocity", *QUICK])


@cache
def _make_variation() -> Path:
    return _make("vary", VARY)


@cache
def _make_model() -> Path:
    return _make("model", ["fit", "--target", "velocity", "--decoder", "ridge", "-q"])


def _make(name: str, command: list[str]) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="fuzz-made-"))
    verdict = try_command([*command, SEEDS["npz"](folder), "--out", folder / name])
    assert verdict.kind == "sane", verdict.words
    return folder / name


def copy_run(place: Path) -> Path:
    """Lay a finished run into a folder."""
    return _copy(_make_run(), place)


def _copy(made: Path, place: Path) -> Path:
    return Path(shutil.copytree(made, place))


def lay_bait(folder: Path) -> Path:
    """Put a sound file into a folder that nothing may open."""
    place = folder / "other"
    place.mkdir()
    shutil.move(SEEDS["nwb-plain"](place), place / "bait.nwb")
    return place


def count_bytes(path: Path) -> int:
    """Return the bytes of a file, or of all files of a folder; what is a link or a device has none."""
    inside = [Path(place, name) for place, _, names in os.walk(path) for name in names]
    places = inside if path.is_dir() and not path.is_symlink() else [path]
    return sum(place.stat().st_size for place in places if place.is_file() and not place.is_symlink())


KINDS: dict[str, Callable[[Path, np.random.Generator], tuple[str, Verdict]]] = {
    "files": try_file,
    "options": try_options,
    "toml": try_toml,
    "runs": try_run,
    "models": try_model,
    "variations": try_variation,
    "compare": try_compare,
    "stream": try_stream,
    "decode": try_decode,
}
