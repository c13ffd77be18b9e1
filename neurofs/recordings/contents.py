"""What is in a file that cannot be read as a recording: its variables, and the options that may help.

Shapes and types come from headers, and ranges from the first numbers of each variable, so that nothing large is read.
"""

import re
import shlex
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neurofs.ground.config import read_session_file
from neurofs.ground.errors import InputError, NeurofsError, printable
from neurofs.recordings.readers.door import guard_reader
from neurofs.recordings.readers.formats import find_format
from neurofs.recordings.unnamed import find_step
from neurofs.recordings.words import listed

SAMPLE = 10_000
"""Numbers from which a range is taken."""

MOST_VARIABLES = 40
"""Variables that are listed for people."""

LARGEST_CHUNK = 64 * 2**20
"""Bytes that must be unpacked at most to see the first numbers of a variable."""

FEW_COLUMNS = 12
"""Columns that behavior has at most; counts have more, as a rule."""

SIGNAL_WORDS = ("lfp", "ecog", "eeg", "dff", "fluor", "calcium")
"""What names of continuous signals have in them."""

SPIKE_WORDS = ("spike", "times", "train")


@dataclass(frozen=True)
class Variable:
    """A variable of a file; the range is that of its first numbers, None where it has none.

    `whole` tells whether these are whole and not negative, as counts are, and `rising` whether each is at least the
    one before, as times are. `step` is the time between rows, in seconds, where the table tells it (`find_step`).
    """

    name: str
    kind: str
    shape: tuple[int, ...] = ()
    low: float | None = None
    high: float | None = None
    whole: bool = False
    rising: bool = False
    step: float | None = None


def describe_contents(path: str | Path, error: NeurofsError) -> dict[str, Any] | None:
    """Return the variables of a file that gave an error, with advice; None if not even these can be read."""
    path = given = Path(path)
    try:
        path = read_session_file(path)[0] if path.suffix.lower() == ".toml" else path
        with guard_reader():
            variables = list_variables(path)
    except (NeurofsError, OSError):
        return None
    if not variables:
        return None
    return {
        "file": str(path),
        "error": str(error),
        "contents": [asdict(variable) for variable in variables],
        "advice": list(advise(variables, path)),
        "command": suggest_command(variables, given),
    }


def list_variables(path: Path) -> list[Variable]:
    """Return the variables of an NWB, HDF5, MATLAB or NumPy file; none of other kinds of files."""
    known = find_format(path)
    module = known.module if known else ""
    readers: dict[str, Callable[[Path], Iterable[Variable]]] = {
        "nwb": _list_hdf5,
        "hdf5": _list_hdf5,
        "matlab": _list_matlab,
        "npz": _list_npz,
    }
    return list(readers[module](path)) if module in readers else []


def _describe_numbers(name: str, kind: str, shape: tuple[int, ...], sample: Any) -> Variable:
    """Describe a variable by its first numbers."""
    numbers = np.asarray(sample, dtype=np.float64).reshape(-1)[:SAMPLE]
    known = numbers[np.isfinite(numbers)]
    if not known.size:
        return Variable(name, kind, shape)
    whole = bool((known >= 0).all() and (known == np.rint(known)).all())
    rising = bool(len(numbers) > 1 and (np.diff(numbers) >= 0).all())
    return Variable(name, kind, shape, float(known.min()), float(known.max()), whole, rising, _find_step(sample, shape))


def _find_step(sample: Any, shape: tuple[int, ...]) -> float | None:
    """Return the time between rows of a table, whose longer axis is time, if it tells."""
    if len(shape) != 2 or not 2 <= min(shape) <= FEW_COLUMNS:
        return None
    table = np.asarray(sample, dtype=np.float64)
    if shape[0] >= shape[1]:
        rows = table.reshape(-1)[: table.size // shape[1] * shape[1]].reshape(-1, shape[1])
    elif table.shape == shape:
        rows = table.T
    else:
        return None
    return find_step(rows[: SAMPLE // shape[1]] if len(rows) > SAMPLE else rows)


# Formats


def _list_hdf5(path: Path) -> list[Variable]:
    """Return the data sets of an HDF5 file, those of MATLAB with MATLAB's shapes."""
    import h5py

    from neurofs.recordings.readers.h5files import as_text, open_h5
    from neurofs.recordings.readers.hdf5 import find_objects

    found = []
    is_nwb = path.suffix.lower() == ".nwb"
    with open_h5(path, free_layout=True) as file:
        for name, item in find_objects(file).items():
            if isinstance(item, h5py.Dataset) and not name.startswith(("#", "specifications")):
                matlab = as_text(item.attrs.get("MATLAB_class", ""))
                found.append(_describe_dataset(name if is_nwb else name.replace("/", "."), item, matlab))
    return found


def _describe_dataset(name: str, item: Any, matlab: str) -> Variable:
    shape = tuple(int(n) for n in item.shape or ())
    shape, kind = (shape[::-1] if matlab else shape), matlab or _name_kind(item.dtype)
    chunk = int(np.prod(item.chunks or (1,))) * item.dtype.itemsize
    if item.dtype.kind not in "biuf" or matlab == "char" or 0 in shape or chunk > LARGEST_CHUNK:
        return Variable(name, kind, shape)
    n_rows = max(1, SAMPLE // max(1, int(np.prod(item.shape[1:])))) if item.shape else 1
    return _describe_numbers(name, kind, shape, item[:n_rows] if item.shape else item[()])


def _list_matlab(path: Path) -> list[Variable]:
    """Return the variables of a MATLAB file; those of version 5 are read whole, as scipy does."""
    from neurofs.recordings.readers.matlab import is_version_73, read_variables

    if is_version_73(path):
        return _list_hdf5(path)
    return [_describe_value(name, value) for name, value in read_variables(path)[0].items()]


def _describe_value(name: str, value: Any) -> Variable:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return _describe_numbers(name, _name_kind(value.dtype), value.shape, value[: max(1, SAMPLE)])
    if isinstance(value, list) and value and not isinstance(value[0], str):
        kind = "structs" if isinstance(value[0], dict) else "cells"
        return Variable(name, f"{kind}{_tell_fields(value[0])}", (len(value),))
    return Variable(name, "text" if isinstance(value, str | list) else type(value).__name__)


def _tell_fields(first: Any) -> str:
    return f" with {listed(first, 8)}" if isinstance(first, dict) else ""


def _list_npz(path: Path) -> list[Variable]:
    """Return the arrays of a NumPy archive, by their headers and first bytes."""
    from neurofs.recordings.readers.npy import read_header

    found = []
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                with archive.open(info) as stream:
                    try:
                        found.append(_describe_stream(name, stream, *read_header(stream, name)))
                    except InputError as error:
                        found.append(Variable(name, error.found))
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError, NotImplementedError):
        return found
    return found


def _describe_stream(name: str, stream: Any, shape: tuple[int, ...], fortran: bool, dtype: np.dtype) -> Variable:
    if dtype.kind not in "biuf" or 0 in shape:
        return Variable(name, _name_kind(dtype), shape)
    n_values = min(SAMPLE, int(np.prod(shape)))
    data = stream.read(n_values * dtype.itemsize)
    sample = np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype=dtype)
    return _describe_numbers(name, _name_kind(dtype), shape, sample)


def _name_kind(dtype: np.dtype) -> str:
    if dtype.kind in "biuf":
        return str(dtype)
    return "text" if dtype.kind in "SUO" else "table" if dtype.names else str(dtype)


# Advice


def advise(variables: list[Variable], path: Path) -> Iterator[str]:
    """Yield the options that may help, with the names of this file in them."""
    if path.suffix.lower() == ".nwb":
        yield from _advise_nwb(variables, path)
        return
    counts, spikes = _find_counts(variables), _find_spikes(variables)
    signal = "" if counts or spikes else _find_signal(variables)
    if signal:
        yield f"--signal {_word(signal)} --sampling-rate HZ   if it holds a continuous signal, such as dF/F or LFP"
    if counts:
        yield f"--counts {_word(counts)} --counts-bin-width {_width(variables, counts)}   if it holds counts per bin"
    if spikes:
        yield f"--spikes {_word(spikes)} --time-unit s   if it holds spike times (or ms, us, samples)"
    behavior = _find_behavior(variables, {counts, spikes, signal})
    if behavior:
        yield f"--behavior {_word(behavior)}{_rate(variables, counts, behavior)}   if it holds what is to be decoded"
    if behavior and not counts and not spikes and not signal:
        yield f"--behavior-file {_word(path.name)}   with the file that holds the spikes"
    if (counts or spikes) and not behavior:
        yield "--behavior-file FILE   if behavior is in another file, on the same clock"


def suggest_command(variables: list[Variable], path: Path) -> str:
    """Return the command to look again with; words in capitals are for the user to fill in. Empty if none is known."""
    counts, spikes = _find_counts(variables), _find_spikes(variables)
    if path.suffix.lower() == ".nwb" or not (counts or spikes):
        return ""
    options = [f"--counts {_word(counts)} --counts-bin-width {_width(variables, counts)}"] if counts else []
    options = options or [f"--spikes {_word(spikes)} --time-unit s"]
    behavior = _find_behavior(variables, {counts, spikes})
    options += [f"--behavior {_word(behavior)}{_rate(variables, counts, behavior)}"] if behavior else []
    return " ".join(["neurofs inspect", shlex.quote(str(path)), *options])


def _width(variables: list[Variable], counts: str) -> str:
    """Return the bin width that a table of as many rows tells, or the word for one that the user must know."""
    shapes = {v.name: v.shape for v in variables}
    steps = [v.step for v in variables if v.step and max(v.shape) in shapes[counts]]
    return f"{steps[0]:g}" if steps else "SECONDS"


def _tell_step(about: dict[str, Any]) -> list[str]:
    """Say where a bin width comes from."""
    return [
        f"  {printable(v['name'])}: half of its columns are the velocity of the others, in steps of {v['step']:g} s "
        "if units agree"
        for v in about["contents"]
        if v["step"]
    ]


def _advise_nwb(variables: list[Variable], path: Path) -> Iterator[str]:
    has_units = any(variable.name.startswith("units/spike_times") for variable in variables)
    if not has_units:
        yield f"--behavior-file {_word(path.name)}   with the file that holds the spikes: this one has no units"
    else:
        yield "--no-trials, --exclude-channels NAME or --sort-spikes   if the message above names them"


def _rate(variables: list[Variable], counts: str, behavior: str) -> str:
    """Return the option with the rate of behavior, unless it has a sample per bin of the counts."""
    shapes = {v.name: v.shape for v in variables}
    return "" if counts and max(shapes[behavior]) in shapes[counts] else " --behavior-rate HZ"


def _word(name: str) -> str:
    """Return a name as one word of a command; one that a terminal could misread is shown in quotes."""
    return shlex.quote(printable(name))


def _is_wide(variable: Variable) -> bool:
    return len(variable.shape) == 2 and min(variable.shape) > 1


def _find_counts(variables: list[Variable]) -> str:
    """Return the largest table of whole numbers."""
    tables = [v for v in variables if _is_wide(v) and v.whole]
    return max(tables, key=lambda v: int(np.prod(v.shape))).name if tables else ""


def _find_signal(variables: list[Variable]) -> str:
    """Return what is called a signal, or the largest table of real numbers with more columns than behavior has."""
    named = [v.name for v in variables if v.kind.startswith("float") and max(v.shape, default=0) > 1 and _is_signal(v)]
    if named:
        return named[0]
    tables = [v for v in variables if _is_wide(v) and v.low is not None and min(v.shape) > FEW_COLUMNS]
    return max(tables, key=lambda v: int(np.prod(v.shape))).name if tables else ""


def _is_signal(variable: Variable) -> bool:
    last = re.split(r"[./]", variable.name)[-1].lower()
    return any(word in last for word in SIGNAL_WORDS)


def _find_spikes(variables: list[Variable]) -> str:
    """Return cells, or else the longest list of rising numbers, of a name that speaks of spike times."""
    cells = [v for v in variables if v.kind.startswith(("cell", "struct"))]
    lists = [v for v in variables if v.rising and max(v.shape, default=0) > 1]
    lists.sort(key=lambda v: -max(v.shape))
    return next((v.name for v in (*cells, *lists) if _speaks_of_spikes(v.name)), "")


def _speaks_of_spikes(name: str) -> bool:
    last = re.split(r"[./]", name)[-1].lower()
    return any(word in last for word in SPIKE_WORDS)


def _find_behavior(variables: list[Variable], taken: set[str]) -> str:
    """Return the longest series of numbers that are neither counts nor times."""
    series = [
        v
        for v in variables
        if v.name not in taken and v.low is not None and not v.rising and not v.whole and _few_columns(v)
    ]
    return max(series, key=lambda v: max(v.shape)).name if series else ""


def _few_columns(variable: Variable) -> bool:
    shape = variable.shape
    return 1 <= len(shape) <= 2 and max(shape) > FEW_COLUMNS and (len(shape) == 1 or min(shape) <= FEW_COLUMNS)


# For people


def render_contents(about: dict[str, Any]) -> str:
    """Return variables and advice as lines of text; names from the file are made printable."""
    shown = about["contents"][:MOST_VARIABLES]
    names = [printable(variable["name"], 40) for variable in shown]
    width = max(len(name) for name in names)
    lines = [f"{printable(Path(about['file']).name)} cannot be read as a recording yet. It holds"]
    lines += [f"  {name:<{width}}  {_tell(variable)}" for name, variable in zip(names, shown, strict=True)]
    more = len(about["contents"]) - len(shown)
    lines += [f"  … and {more:,} more"] * bool(more)
    if about["advice"]:
        lines += ["", "Options that may help", *(f"  {line}" for line in about["advice"]), *_tell_step(about)]
    if about["command"]:
        lines += ["", "Look again with", f"  {about['command']}"]
    return "\n".join(lines)


def _tell(variable: dict[str, Any]) -> str:
    shape = " × ".join(f"{n:,}" for n in variable["shape"]) or "one value"
    has_range = variable["low"] is not None
    part = " at first" if np.prod(variable["shape"], dtype=float) > SAMPLE else ""
    numbers = f", {variable['low']:.4g} … {variable['high']:.4g}{part}" if has_range else ""
    return f"{printable(variable['kind'])}, {shape}{numbers}"
