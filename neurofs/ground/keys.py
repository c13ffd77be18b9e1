"""The settings of a run as keyword arguments, so that editors complete them and type checkers know them.

The keys are those of `ground.config`, which checks their values; a test compares the two.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

import numpy as np

from neurofs.ground.effort import Effort

Texts = str | Sequence[str]
RandomState = int | np.random.RandomState | None
"""Where random numbers come from, as scikit-learn takes it."""

Seed = int | np.random.SeedSequence | np.random.Generator | None
"""The same, as NumPy takes it."""


class LoadKeys(TypedDict, total=False):
    """Where things are in a data file, and which part of it is used: `ground.config.LoadOptions`."""

    name: str
    spikes: str
    spike_channels: str
    amplitudes: str
    amplitude_bands: int
    counts: str
    signal: str
    signal_unit: str
    bands: Texts
    orientation: Literal["time-by-channel", "channel-by-time"]
    counts_unit: Literal["count", "Hz"]
    counts_bin_width: float
    time: str
    time_unit: Literal["s", "ms", "us", "samples"]
    sampling_rate: float
    behavior: Texts
    behavior_file: str
    behavior_time: str
    behavior_rate: float
    circular: Texts
    trials: bool | str | Sequence[str | int]
    trial: str
    trial_start: str
    trial_stop: str
    trial_unit: Literal["time", "bin"]
    index_base: Literal[0, 1]
    conditions: Texts
    channel_names: str
    channels: Texts
    unsorted: bool
    exclude_channels: Texts
    from_time: float
    to_time: float
    where: str
    sort_spikes: bool


class TensorKeys(TypedDict, total=False):
    """How a recording becomes a channel × lag tensor: `ground.config.TensorOptions` but for the target."""

    bin_width: float | Literal["auto"]
    n_lags: int | Literal["auto"]
    lead: float
    step: float
    sqrt: bool
    smooth: float
    period: tuple[str, str]


class CompareKeys(TypedDict, total=False):
    """How methods are compared: `ground.config.CompareOptions`."""

    selectors: str | Sequence[object]  # names; in Python also estimators with their parameters, and functions
    decoders: str | Sequence[object]
    settings: Mapping[str, Mapping[str, object]]
    folds: Literal["auto", "trials", "blocks", "permuted", "shuffled", "given"]
    n_splits: int
    n_repeats: int
    sizes: int | str | Sequence[int]
    n_neighbors: int | Literal["auto"]
    beta: float | Literal["auto"]
    dependency: bool
    effort: Effort
    allow_leakage: bool
    seed: int


class RunKeys(LoadKeys, TensorKeys, CompareKeys, total=False):
    """The keys of a run.toml but for the file and the target, which are arguments of their own."""
