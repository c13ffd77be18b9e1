"""Settings: TOML files and command-line options become one validated, frozen value.

A *session file* is a small TOML file beside the data that says where things are in it. Every key is also a
command-line option of the same name (`counts_bin_width` is ``--counts-bin-width``; `from_time` and `to_time` are
``--from`` and ``--to``, too). Unknown keys are rejected
with the nearest known name.
"""

import difflib
import glob
import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_origin

import tomli_w
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from neurofs.ground.effort import Effort
from neurofs.ground.errors import InputError, UsageError, printable, quoted
from neurofs.ground.system import find_path


def split_names(text: str) -> tuple[str, ...]:
    r"""Return the names in a text, which commas separate; a comma of a name's own has a backslash before it.

    >>> split_names(r"hand_velocity, yaw\,left")
    ('hand_velocity', 'yaw,left')
    """
    names = (part.strip().replace("\\,", ",") for part in re.split(r"(?<!\\),", text))
    return tuple(name for name in names if name)


def join_names(names: Collection[str]) -> str:
    r"""Return names as one text that `split_names` takes apart again.

    >>> print(join_names(["hand_velocity", "yaw,left"]))
    hand_velocity,yaw\,left
    """
    return ",".join(name.replace(",", "\\,") for name in names)


def _split_text(value: Any) -> Any:
    """Return the names of one text; a list is taken as it is."""
    return split_names(value) if isinstance(value, str) else value


def _split_all(value: Any) -> Any:
    """Return names from one text, a list, or texts with commas between names."""
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        return value
    return tuple(name for text in texts for name in split_names(text))


def _split_numbers(value: Any) -> Any:
    """Return the numbers of one text, of one number, or of a list of either."""
    parts = value if isinstance(value, list | tuple) else (value,) if isinstance(value, int | str) else None
    if parts is None:
        return value
    return tuple(number for part in parts for number in (split_names(part) if isinstance(part, str) else (part,)))


Names = Annotated[tuple[str, ...], BeforeValidator(_split_text)]
"""Names from files. A list is taken as it is, since such names may have commas."""

NameList = Annotated[tuple[str, ...], BeforeValidator(_split_all)]
"""Names that have no commas of their own, which separate them in lists, too."""


def _make_texts(value: Any) -> Any:
    """Return one text, one number, or a list of them as texts; nothing is split."""
    if isinstance(value, bool):
        return value
    parts = value if isinstance(value, list | tuple) else (value,)
    return tuple(str(part) if isinstance(part, int) else part for part in parts)


Texts = Annotated[tuple[str, ...], BeforeValidator(_make_texts)]
"""Texts that are read later, such as expressions, in which commas have a meaning."""

Numbers = Annotated[tuple[int, ...], BeforeValidator(_split_numbers)]

WINDOWS_PATH = "Write paths of Windows in single quotes ('C:\\data\\m1.nwb'), or with / between folders."

NESTED = re.compile(r"(?<![\w\"'-])(?:[\w\"'-]+\s*\.\s*){100}")
"""Keys in keys, for which a parser takes memory that grows with the square of their number."""

MAX_TOML = 2**24
"""Bytes of a file with settings; real ones have some thousand."""

RENAMED = {"decoder": "decoders"}
"""Keys of earlier versions, and what they are called now."""


class Options(BaseModel):
    """Settings that are checked once and cannot be changed."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True, allow_inf_nan=False)


class LoadOptions(Options):
    """Where things are in a data file, and which part of it is used.

    Everything may be left out where the file itself tells, and the whole session is meant.
    """

    name: str | None = Field(None, description="Name of the session; the file name by default.")
    spikes: str | None = Field(None, description="Variable with spike times: units, or a list or cell per channel.")
    spike_channels: str | None = Field(
        None, description="Variable with the channel of each spike, where --spikes is one long list."
    )
    amplitudes: str | None = Field(None, description="Variable with the amplitude of each spike.")
    amplitude_bands: int | None = Field(
        None, ge=2, le=20, description="Divide the spikes of each channel by amplitude into this many channels."
    )
    counts: str | None = Field(None, description="Variable with spike counts per bin.")
    signal: str | None = Field(
        None, description="Variable with a continuous signal per channel in place of spikes: dF/F, band power."
    )
    signal_unit: str | None = Field(
        None, min_length=1, description="Unit of the signal (dF/F, uV); what is found in the file is then a signal."
    )
    bands: Names = Field(
        (), description="Bands of a voltage in Hz, whose power is the signal: 13-30,70-150 of LFP or ECoG."
    )
    orientation: Literal["time-by-channel", "channel-by-time"] | None = Field(
        None, description="Which way the counts and the behavior are stored."
    )
    counts_unit: Literal["count", "Hz"] | None = Field(
        None, description="Counts per bin, or rates in spikes per second; found out from the numbers by default."
    )
    counts_bin_width: float | None = Field(None, gt=0, description="Bin width of stored counts, in seconds.")
    time: str | None = Field(
        None, description="Variable with the time of each bin or behavior sample; none numbers the bins."
    )
    time_unit: Literal["s", "ms", "us", "samples"] | None = Field(
        None, description="Unit of spike, bin and trial times; samples needs --sampling-rate."
    )
    sampling_rate: float | None = Field(
        None, gt=0, description="Samples per second of times given in samples, or of a signal without times."
    )
    behavior: Names = Field((), description="Variables with behavior series, such as hand velocity.")
    behavior_file: str | None = Field(
        None, description="Another file with the behavior (and trials), on the clock of the spikes, in seconds."
    )
    behavior_time: str | None = Field(None, description="Variable with the times of the behavior samples.")
    behavior_rate: float | None = Field(None, gt=0, description="Samples per second of the behavior series.")
    circular: Names = Field((), description="Behavior series that are angles in radians.")
    trials: Annotated[bool | tuple[str, ...], BeforeValidator(_make_texts)] = Field(
        True, description="Only these trials: numbers from 0 and ranges (0-9,20,30-), or an expression; all by default."
    )
    trial: str | None = Field(None, description="Variable with the trial number of each bin.")
    trial_start: str | None = Field(None, description="Variable with the start of each trial, as time or bin.")
    trial_stop: str | None = Field(None, description="Variable with the end of each trial; the next start if absent.")
    trial_unit: Literal["time", "bin"] | None = Field(None, description="Whether trial starts are times or bins.")
    index_base: Literal[0, 1] | None = Field(None, description="Number of the first bin: 1 in MATLAB, else 0.")
    conditions: Names = Field((), description="Variables with a condition per trial, such as direction.")
    channel_names: str | None = Field(None, description="Variable with the names of the channels.")
    channels: Texts = Field(
        (), description="Only these channels: names, or an expression such as 'rate > 0.5'; all by default."
    )
    unsorted: bool = Field(
        False, description="Keep noise, and unsorted channels beside sorted ones, which are left out by default."
    )
    exclude_channels: Names = Field((), description="Channels to leave out, by name.")
    from_time: float | None = Field(
        None, description="Only what was recorded from this time on, in seconds; from the beginning by default."
    )
    to_time: float | None = Field(
        None, description="Only what was recorded up to this time, in seconds; to the end by default."
    )
    where: str | None = Field(
        None, description="Only trials that fulfill this expression, such as 'direction == 3'; all by default."
    )
    sort_spikes: bool = Field(False, description="Sort spike times that are not in order.")


class TensorOptions(Options):
    """How a recording becomes a channel × lag tensor."""

    target: Names = Field((), description="What to decode: a series (NAME, NAME:COLUMN, NAME.velocity) or a condition.")
    bin_width: Annotated[float, Field(ge=1e-6, le=3600)] | Literal["auto"] = Field(
        "auto", description="Width of a bin, in seconds; auto is 0.1, or near it a multiple of stored bins."
    )
    n_lags: Annotated[int, Field(ge=1, le=1000)] | Literal["auto"] = Field(
        "auto", description="Number of bins before (and with) the target's own; auto is 10, and less in short trials."
    )
    lead: float = Field(0.0, ge=-3600, le=3600, description="Predict this many seconds ahead (negative: behind).")
    step: float | None = Field(None, ge=1e-6, le=3600, description="Seconds between samples; one bin by default.")
    sqrt: bool = Field(False, description="Take the square root of counts.")
    smooth: float = Field(0.0, ge=0, le=60, description="SD of causal Gaussian smoothing of counts, in seconds.")
    period: tuple[str, str] | None = Field(
        None, description="Two trial columns between which targets are taken, e.g. move_onset stop."
    )


class SessionOptions(LoadOptions, TensorOptions):
    """The keys of a session file."""

    file: str | None = Field(None, description="The data file, relative to the session file.")


class CompareOptions(Options):
    """How selectors and decoders are compared."""

    selectors: NameList = Field(
        (),
        description="Selectors to compare, the first against all others; rgs,sks,infogain,corrcoef by default, for "
        "classes rgs,simba,relieff,infogain.",
    )
    decoders: NameList = Field(
        ("auto",),
        description="Decoders on the selected features, beside knn: auto (the best for each selector, "
        "on an inner split), knn, local-linear, kernel-ridge, average, ridge, wiener-cascade, kalman, svr, "
        "gradient-boosting, mlp; for classes alone svm, naive-bayes, one-nn, lvq; and kernel-rgs, which learns its own "
        "metric on all features, and kernel-rgs-sparse, which also says how many channels suffice.",
    )
    settings: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="Settings of selectors, as SELECTOR.NAME=VALUE."
    )
    folds: Literal["auto", "trials", "blocks", "permuted", "shuffled", "given"] = Field(
        "auto",
        description="Runs of whole trials, or contiguous blocks; permuted ones measure interpolation in time; shuffled "
        "bins need --allow-leakage; given ones come from a splitter in Python.",
    )
    n_splits: int = Field(5, ge=2, le=100, description="Folds of the cross-validation.")
    n_repeats: int = Field(1, ge=1, le=1000, description="Repeats with shifted borders (permuted: another order).")
    sizes: Numbers = Field((), description="Numbers of features to try; 30 from 1 to all by default.")
    n_neighbors: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto", description="Neighbors of soft kNN; auto chooses on an inner split."
    )
    beta: Annotated[float, Field(gt=0)] | Literal["auto"] = Field(
        "auto", description="Width of soft kNN, in units of the mean distance of the neighbors."
    )
    dependency: bool = Field(
        False, description="Ask whether channels work together: pairs whose product tells what no sum of channels does."
    )
    effort: Effort = Field(
        "normal",
        description="Work put into sessions of many samples: full compares every sample with every other, normal and "
        "quick draw or thin samples above bounds that the methods text names.",
    )
    allow_leakage: bool = Field(False, description="Allow folds of shuffled bins, which leak.")
    seed: int = Field(0, ge=0, description="Seed of everything random.")


class RunOptions(SessionOptions, CompareOptions):
    """The keys of a run.toml: everything that decides the outcome of a run."""


def _read_values(value: Any) -> Any:
    """Return the values of one text, one value, or a list."""
    return split_names(value) if isinstance(value, str) else value if isinstance(value, list | tuple) else (value,)


class VaryOptions(Options):
    """What a variation varies."""

    by: str = Field(
        description="What is varied: lead, n_lags, bin_width, smooth, target; minutes, trials, channels; a column of "
        "the channels, such as area, or of the trials; or time, in windows around --event."
    )
    values: Annotated[tuple[float | str, ...], BeforeValidator(_read_values)] = Field(
        (), description="Values to try; a sensible choice by default."
    )
    methods: NameList = Field(("ridge",), description="What decodes: ridge, rgs + auto, kalman, …")
    draws: int = Field(3, ge=1, le=1000, description="Random draws, of amounts of data.")
    event: str | None = Field(None, description="For --by time: a column of the trials with times.")
    around: Annotated[tuple[float, float], BeforeValidator(_read_values)] = Field(
        (-0.5, 1.0), description="For --by time: seconds before and after the event."
    )
    window: float = Field(0.2, gt=0, le=3600, description="For --by time: width of a window, in seconds.")


T = TypeVar("T", bound=Options)


def make_options(kind: type[T], values: Mapping[str, Any], where: str = "options") -> T:
    """Return `values` as a validated `kind`, or raise a `UsageError` that says what to change.

    >>> make_options(TensorOptions, {"target": "hand_velocity", "n_lags": 5}).target
    ('hand_velocity',)
    >>> make_options(TensorOptions, {"nlags": 5})
    Traceback (most recent call last):
    neurofs.ground.errors.UsageError: options: unknown key 'nlags'; did you mean n_lags?
    """
    for key in values:
        if key not in kind.model_fields:
            raise UsageError(f"{where}: unknown key {quoted(key)}{_nearest(key, kind)}")
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in _place_of(kind, first["loc"]))
        raise UsageError(f"{where}: {key}: {first['msg']}; found {quoted(first['input'])}") from None


def _place_of(kind: type[Options], place: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return where a value stands, without the alternatives that were tried for it."""
    return place[:1] if get_origin(kind.model_fields[place[0]].annotation) in (Union, UnionType) else place


def _nearest(key: str, kind: type[Options]) -> str:
    if key in RENAMED:
        return f"; it is called {RENAMED[key]} now"
    near = difflib.get_close_matches(str(key), kind.model_fields, n=1)
    return f"; did you mean {near[0]}?" if near else f". Known: {', '.join(kind.model_fields)}"


def refuse_options(options: LoadOptions, known: Collection[str], kind: str) -> None:
    """Raise a `UsageError` if an option was given that has no meaning for this kind of file."""
    for key in LoadOptions.model_fields:
        if key not in known and getattr(options, key) != LoadOptions.model_fields[key].default:
            raise UsageError(f"{key} has no meaning for {kind}; leave it out. Known there: {', '.join(sorted(known))}")


def select_options(kind: type[T], options: Options) -> T:
    """Return the part of `options` that belongs to `kind`."""
    return kind.model_validate({key: getattr(options, key) for key in kind.model_fields if hasattr(options, key)})


def given_options(options: Options) -> dict[str, Any]:
    """Return the options that differ from their defaults.

    >>> given_options(TensorOptions(target=("hand",), n_lags="auto"))
    {'target': ('hand',)}
    """
    plain = type(options)()
    return {key: value for key, value in options if value != getattr(plain, key)}


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Return the content of a TOML file."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(path.name, f"{what} in TOML", "a pipe or a device", "Name a file.")
        if path.is_file() and path.stat().st_size > MAX_TOML:
            raise InputError(path.name, f"{what} in TOML", f"more than {MAX_TOML:,} bytes", "Check which file it is.")
        text = path.read_text(encoding="utf-8")
        if NESTED.search(text):
            raise InputError(path.name, f"{what} in TOML", "keys in keys without end", "Correct the file.")
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        remedy = WINDOWS_PATH if "\\" in str(error) or "hex value" in str(error) else "Correct the file."
        raise InputError(path.name, f"{what} in TOML", error, remedy) from None
    except OSError as error:
        raise InputError(path, f"{what} in TOML", error.strerror, "Check the path.") from None


def read_session_file(path: str | Path) -> tuple[Path, RunOptions]:
    """Return the data file that a session file (or a run.toml, which has more keys) names, and its options."""
    path = Path(path)
    options = make_options(RunOptions, read_toml(path, "a session file"), printable(path.name))
    if options.file is None:
        raise InputError(path.name, "the key file, naming the data", "no such key", 'Add file = "…".')
    data = find_path(path.parent, options.file)
    if options.behavior_file is not None:
        options = options.model_copy(update={"behavior_file": str(find_path(path.parent, options.behavior_file))})
    return data, options


def read_pattern(path: str | Path) -> RunOptions | None:
    """Return the options of a session file whose data are a pattern, for many files; None of any other path."""
    path = Path(path)
    if path.suffix.lower() != ".toml" or not path.is_file():
        return None
    content = read_toml(path, "a session file")
    pattern = content.get("file")
    if not isinstance(pattern, str) or not glob.has_magic(pattern) or find_path(path.parent, pattern).exists():
        return None
    options = make_options(RunOptions, content, printable(path.name))
    if options.name is not None:
        raise UsageError(f"{printable(path.name)}: {quoted(pattern)}: name is for a single file; leave it out")
    return options.model_copy(update={"file": pattern.replace("\\", "/")})


def render_toml(values: Mapping[str, Any]) -> str:
    """Return settings (no None) as TOML; tables come last, and control characters are escaped.

    >>> print(render_toml({"target": "hand", "settings": {"rgs": {"n_epochs": 3}}, "seed": 0}), end="")
    target = "hand"
    seed = 0
    <BLANKLINE>
    [settings.rgs]
    n_epochs = 3
    """
    text = tomli_w.dumps(_make_plain(values))
    return "".join(c if c.isprintable() or c == "\n" else f"\\U{ord(c):08x}" for c in text)


def _make_plain(value: Any) -> Any:
    """Return values as TOML has them; whatever it has no word for becomes text."""
    if isinstance(value, Mapping):
        return {str(key): _make_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_make_plain(item) for item in value]
    return value if isinstance(value, int | float) else str(value)
