"""Which bins and lags suit a recording: what ``neurofs inspect`` suggests, and what is taken unless the user says.

Bins of 0.1 s and windows of 10 bins suit movements of an arm. Stored counts can only be joined to whole multiples of
their own bins, samples of a signal are best joined so, and wide bins get fewer lags, so that a window stays near one
second. In a trial (or an observed stretch) the first samples are lost, whose window would begin before it: where trials
are shorter than two windows, the window takes a third of a trial.
"""

from typing import Literal, NamedTuple, TypeVar

import numpy as np

from neurofs.ground.config import TensorOptions
from neurofs.recordings.recording import Recording

BIN_WIDTH, N_LAGS, FEWEST_LAGS, SECONDS = 0.1, 10, 3, 1.0
"""The usual bin width and number of lags; lags of wide bins, which should together take so many seconds."""

Auto = Literal["auto"]
T = TypeVar("T", bound=TensorOptions)


class Window(NamedTuple):
    """Bins and lags, and the length in seconds of the trials or stretches that they were chosen for."""

    bin_width: float
    n_lags: int
    stretch: float


def choose_window(recording: Recording, bin_width: float | Auto = "auto", n_lags: int | Auto = "auto") -> Window:
    """Return the bins and lags for a recording; those that are given stay as they are.

    >>> import pandas as pd
    >>> trials = pd.DataFrame({"start": [0.0, 1.0], "stop": [0.9, 1.9]})
    >>> choose_window(Recording("short", spikes=[[0.5, 1.8]], trials=trials))
    Window(bin_width=0.1, n_lags=3, stretch=0.9)
    >>> choose_window(Recording("long", counts=np.ones((100, 1)), bin_width=0.25))
    Window(bin_width=0.25, n_lags=4, stretch=25.0)
    """
    width = _choose_width(recording) if isinstance(bin_width, str) else bin_width
    stretch = _usual_length(recording)
    return Window(width, _choose_lags(width, stretch) if isinstance(n_lags, str) else n_lags, round(stretch, 6))


def _choose_width(r: Recording) -> float:
    own = r.bin_width if r.counts is not None else BIN_WIDTH
    width = max(1, round(BIN_WIDTH / own)) * own
    return max(round(width, 6), r.bin_width) if r.is_signal else round(width, 9)


def _choose_lags(width: float, stretch: float) -> int:
    most = min(N_LAGS, max(FEWEST_LAGS, round(SECONDS / width)))
    n_bins = int(stretch / width + 1e-6)
    return most if n_bins >= 2 * most else min(most, max(1, n_bins // 3))


def _usual_length(r: Recording) -> float:
    """Return the median length of trials; without trials, of the stretch in which a moment of observation lies."""
    if len(r.trials):
        return float(np.median((r.trials["stop"] - r.trials["start"]).to_numpy(dtype=np.float64)))
    lengths = np.sort(r.observed[:, 1] - r.observed[:, 0])
    return float(lengths[np.searchsorted(np.cumsum(lengths), lengths.sum() / 2)]) if len(lengths) else 0.0


def explain_window(options: TensorOptions, recording: Recording) -> str:
    """Say for what lags were chosen; empty if the options name them.

    >>> explain_window(TensorOptions(), Recording("toy", spikes=[[0.0, 60.0]]))
    'chosen for one stretch of 60 s'
    """
    if options.n_lags != "auto":
        return ""
    what = "trials" if len(recording.trials) else "one stretch" if len(recording.observed) == 1 else "stretches"
    return f"chosen for {what} of {round(choose_window(recording).stretch, 2):g} s"


def settle_window(options: T, recording: Recording) -> T:
    """Return options with the bins and lags of a recording in the place of "auto".

    >>> from neurofs.recordings.simulate import simulate_session
    >>> settle_window(TensorOptions(bin_width=0.05), simulate_session(5, n_electrodes=1)).n_lags
    10
    """
    bin_width, n_lags, _ = choose_window(recording, options.bin_width, options.n_lags)
    return options.model_copy(update={"bin_width": bin_width, "n_lags": n_lags})
