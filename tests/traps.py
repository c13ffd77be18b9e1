"""Files that a careless reader would misread: how each is written, what would go wrong, and what is said instead.

A `Trap` has the file, the options, the mistake, and what must be said: by whom (`refused`: an error; `serious` or
`plain`: a remark; `note`: how it was read) and in which words.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from trap_files import (
    BINS,
    CELLS,
    COUNTS,
    HEADING,
    JITTERED,
    POSITION,
    RATES,
    RNG,
    SCORES,
    SORTED,
    SPIKES,
    STARTS,
    TRIALS,
    TWICE,
    VELOCITY,
    WIDTH,
    Make,
    N,
    _wander,
    blackrock,
    clip,
    csv,
    events,
    h5,
    mat,
    mat73,
    npz,
    nwb,
    overlap,
    put,
    saturate,
    scale,
    silence,
    smooth,
    stack_lags,
    times,
    total,
)

How = Literal["refused", "serious", "plain", "note"]


class Trap(NamedTuple):
    name: str
    make: Make
    mistake: str
    how: How
    said: str
    options: dict[str, Any] = {}  # noqa: RUF012  never changed


COUNT_TRAPS = [
    Trap("rates-npz", npz(counts=(COUNTS / WIDTH).astype(int)), "20 times too many spikes", "plain", "rates in Hz"),
    Trap(
        "rates-miller",
        mat(counts=None, velocity=None, bin_width=None, binnedData=RATES),
        "34.8 million spikes at 136 Hz",
        "plain",
        "all are multiples of 20, which is 1 / bin width",
    ),
    Trap(
        "rates-thirds",
        mat73(counts=COUNTS / 0.03, bin_width=0.03),
        "fractions taken for smoothing",
        "plain",
        "each is a whole number of spikes divided by the bin width",
    ),
    Trap("rates-unit", h5("Hz", counts=smooth(COUNTS) / WIDTH), "rates taken for counts", "note", "is in Hz"),
    Trap(
        "rates-smoothed", h5("Hz", counts=smooth(COUNTS) / WIDTH), "lags that look ahead", "serious", "smoothed before"
    ),
    Trap(
        "rates-named",
        mat73(counts=None, firing_rates=np.minimum(COUNTS * 7 + 1, 30)),
        "rates taken for counts",
        "refused",
        "a name that speaks of rates",
    ),
    Trap(
        "rates-wrong-width",
        npz(counts=COUNTS * 20, bin_width=0.1),
        "twice as many spikes",
        "refused",
        "multiples of 20",
    ),
    Trap(
        "rates-rounded",
        npz(counts=np.rint(COUNTS / WIDTH / 0.7).astype(int)),
        "counts of 50 in 50 ms",
        "serious",
        "no neuron does",
    ),
    Trap("counts-doubled", npz(counts=COUNTS * 2), "every spike counted twice", "refused", "multiples of 2"),
    Trap("smoothed-csv", csv(smooth(COUNTS)), "fractions rounded", "refused", "whole numbers of spikes"),
    Trap(
        "smoothed-said",
        npz(counts=smooth(COUNTS)),
        "acausal smoothing unseen",
        "serious",
        "smoothed before",
        {"counts_unit": "count"},
    ),
    Trap("z-scores", npz(counts=SCORES), "negative counts", "refused", "z-scores: each channel has mean 0 and SD 1"),
    Trap("square-roots", mat(counts=np.sqrt(COUNTS)), "fractions", "refused", "square roots of whole numbers"),
    Trap("logarithms", h5(counts=np.log1p(COUNTS)), "fractions", "refused", "logarithms"),
    Trap("normalized", npz(counts=COUNTS / COUNTS.max(axis=0)), "fractions", "refused", "normalized"),
    Trap(
        "minus-one", csv(np.where(COUNTS == 0, -1, COUNTS)), "missing bins as counts", "refused", "cannot be negative"
    ),
    Trap("not-a-number", h5(counts=put(COUNTS, slice(5, 9), np.nan)), "missing bins as 0", "refused", "missing"),
    Trap("running-total", npz(counts=np.cumsum(COUNTS, axis=0)), "totals as counts", "serious", "only rise"),
    Trap("row-number", csv(COUNTS, bin=np.arange(N)), "a channel that is time", "serious", "a row number is no count"),
    Trap(
        "constant",
        npz(counts=np.column_stack([np.ones(N, int), COUNTS])),
        "a channel of ones",
        "serious",
        "design matrix",
    ),
    Trap("sum-of-all", mat(counts=total(COUNTS)), "merged units as one more", "serious", "is the sum of all others"),
    Trap(
        "stacked-lags",
        npz(counts=stack_lags(COUNTS), velocity=VELOCITY[3:]),
        "lags of lags",
        "serious",
        "lags are in the table already",
    ),
    Trap("clipped", h5(counts=clip(0.4)), "two spikes as one", "serious", "counts were clipped"),
    Trap(
        "dt-in-ms",
        npz(counts=clip(0.2), bin_width=1.0),
        "1 ms read as 1 s",
        "serious",
        "milliseconds taken for seconds",
    ),
    Trap(
        "eight-bits",
        npz(counts=saturate(COUNTS), bin_width=1.0),
        "counts cut at 255",
        "serious",
        "the most that 8 bits",
    ),
    Trap(
        "zero-padding", mat(counts=silence(COUNTS)), "silence decoded", "serious", "no channel has a spike for 20.0 s"
    ),
    Trap(
        "square", npz(counts=COUNTS[:6], velocity=VELOCITY[:6]), "time taken for channels", "refused", "--orientation"
    ),
    Trap(
        "copied-target",
        npz(counts=np.column_stack([COUNTS, np.rint(VELOCITY[:, 0] * 10 + 400)]).astype(int)),
        "the target decodes itself",
        "serious",
        "it is a copy of behavior",
    ),
    Trap("shuffled-bins", csv(COUNTS, VELOCITY[RNG.permutation(N)]), "lags of unrelated bins", "serious", "shuffled"),
    Trap(
        "same-channel", npz(counts=COUNTS[:, [0, 1, 2, 0]]), "one neuron counted twice", "plain", "have the same spikes"
    ),
]

TIME_TRAPS = [
    Trap("width-in-ms", npz(bin_width=50.0), "bins of 50 s", "refused", "--counts-bin-width 0.05"),
    Trap("width-and-time", npz(bin_width=0.1, time=BINS), "a session twice as long", "refused", "steps of 0.1 s"),
    Trap("rows-as-time", mat(bin_width=None, time=np.arange(N)), "bins of 1 s", "refused", "numbers of bins"),
    Trap("time-in-ms", h5(bin_width=None, time=1000 * BINS), "bins of 50 s", "refused", "--time-unit"),
    Trap(
        "centers", h5(bin_width=None, bincenters=BINS + WIDTH / 2), "half a bin late", "note", "the middle of each bin"
    ),
    Trap(
        "width-and-velocity",
        npz(bin_width=0.1, position=POSITION),
        "twice as slow",
        "serious",
        "times the derivative of 'position'",
    ),
    Trap(
        "width-and-clock",
        npz(bin_width=0.1, velocity=VELOCITY, behavior_time=BINS),
        "half the session lost",
        "serious",
        "with bins of 0.05 s instead of 0.1 s they would agree",
    ),
    Trap(
        "samples",
        mat73(counts=None, bin_width=None, velocity=None, spikes=[np.rint(30_000 * s) for s in SPIKES]),
        "541 hours",
        "refused",
        "--time-unit samples",
    ),
    Trap("spikes-in-ms", times([1000 * s for s in SPIKES]), "18 hours", "refused", "times in the same unit"),
    Trap(
        "spikes-in-ms-nwb",
        nwb(change=scale("units/spike_times", 1000)),
        "18 hours",
        "serious",
        "are spike times in milliseconds?",
    ),
    Trap(
        "samples-nwb",
        nwb([np.rint(30_000 * s) for s in SPIKES], time=30_000 * BINS),
        "541 hours",
        "serious",
        "whole numbers: samples?",
    ),
    Trap(
        "days-of-spikes", nwb([1.7e4 * s for s in SPIKES], time=1.7e4 * BINS), "13 days", "serious", "hours of spikes"
    ),
    Trap(
        "spikes-in-kiloseconds",
        nwb([s / 1000 for s in SPIKES], time=BINS / 1000),
        "7,000 Hz",
        "serious",
        "no neuron does",
    ),
    Trap("unsorted-times", times([SPIKES[0][::-1], *SPIKES[1:]]), "spikes lost", "refused", "increasing order"),
    Trap(
        "relative-to-trials",
        nwb([np.sort(s % 1.8) for s in SPIKES], trials=TRIALS),
        "all spikes in trial 1",
        "serious",
        "are spike times relative to trials",
    ),
    Trap(
        "seconds-since-1970",
        nwb(time=BINS + 1.6e9),
        "no sample at all",
        "serious",
        "none of it lies in the observed span",
    ),
    Trap("another-zero", nwb(time=BINS + 20), "20 s apart", "serious", "Do their clocks begin at the same moment?"),
    Trap(
        "frames",
        times(velocity=VELOCITY, behavior_time=np.arange(N)),
        "30 Hz called seconds",
        "serious",
        "numbers of frames?",
    ),
    Trap(
        "frames-nwb",
        nwb([s * 2 / 3 for s in SPIKES], time=np.arange(N) * 1.0),
        "30 Hz called seconds",
        "serious",
        "frames at 30 Hz",
    ),
    Trap("behavior-in-ms", nwb(time=1000 * BINS), "65 of 65,000 s", "serious", "times of behavior in milliseconds?"),
    Trap(
        "grid-of-10-ms", times([np.unique(np.round(s, 2)) for s in SPIKES]), "bins of 1 ms", "plain", "a grid of 0.01 s"
    ),
    Trap("stored-twice", nwb([TWICE, *SPIKES[1:]]), "counts doubled", "serious", "are stored twice"),
    Trap("two-electrodes", times([*SPIKES, JITTERED]), "one neuron twice", "plain", "one neuron in two channels"),
    Trap(
        "merged-units",
        nwb([*SPIKES[:2], np.sort(np.concatenate(SPIKES[:2]))]),
        "units and their sum",
        "plain",
        "merged units",
    ),
    Trap(
        "noise-units",
        blackrock([1, 2, 255, 0]),
        "noise as a neuron",
        "plain",
        "1 noise and 1 unsorted channels are left out",
    ),
    Trap(
        "noise-in-nwb",
        nwb(channels=pd.DataFrame({"quality": ["good", "good", "noise", "mua"]})),
        "noise as a neuron",
        "plain",
        "1 noise channel is left out; --unsorted keeps it",
    ),
    Trap(
        "past-the-behavior",
        nwb(velocity=VELOCITY[:900], time=BINS[:900]),
        "30 % lost unseen",
        "plain",
        "behavior covers 69 % of the time with spikes",
    ),
    Trap(
        "amplitudes", events(["time,channel,amplitude", "1.0,3,51.5", "1.5,3,80"]), "2 channels", "note", "amplitudes"
    ),
    Trap("time-in-a-name", events(["time_ms,channel", "1000,3", "70000,4"]), "19 hours", "note", "to make seconds"),
    Trap(
        "index-of-pandas",
        events([",time,channel", "0,1.0,3", "1,1.5,4", "2,70.0,3"]),
        "a channel that counts the lines",
        "note",
        "is an index and left out",
    ),
    Trap(
        "trials-by-channels",
        mat(counts=None, velocity=None, spikes=CELLS),
        "8 channels",
        "refused",
        "whether they are trials or channels",
    ),
    Trap(
        "electrode-and-unit",
        events(["time,electrode,unit", "1.0,3,1", "1.5,3,2", "70.0,4,1"]),
        "a channel 'unit'",
        "note",
        "the 3 different values of 'spike_channels'",
    ),
]

BEHAVIOR_TRAPS = [
    Trap(
        "minus-9999", npz(velocity=put(VELOCITY, slice(100, 140), -9999)), "huge velocities", "serious", "exactly -9999"
    ),
    Trap(
        "lost-tracking",
        csv(COUNTS, put(POSITION + 300, slice(50, 90), 0)),
        "jumps to the corner",
        "serious",
        "exactly 0",
    ),
    Trap(
        "degrees", h5(velocity=None, heading=np.rad2deg(HEADING) % 360), "0 far from 359", "serious", "angle in degrees"
    ),
    Trap(
        "radians",
        nwb(velocity=HEADING % (2 * np.pi), name="heading", unit="rad"),
        "0 far from 6.28",
        "serious",
        "say --circular heading",
    ),
    Trap(
        "circular-degrees",
        npz(velocity=None, heading=np.rad2deg(HEADING) % 360),
        "cosine of degrees",
        "serious",
        "Angles are radians",
        {"circular": ("heading",)},
    ),
    Trap(
        "nearly-constant",
        npz(velocity=None, lick=(np.arange(N) % 50 == 0) * 1.0),
        "98 % right by saying 0",
        "plain",
        "nearly constant",
    ),
    Trap("pixels", h5(velocity=None, position=np.rint(POSITION * 10 + 320)), "pixels as cm", "plain", "pixels?"),
    Trap("a-clock", mat(velocity=None, t_video=BINS**1.01), "time decoded from drift", "plain", "it only rises"),
    Trap(
        "slow",
        nwb(velocity=VELOCITY[::20], time=BINS[::20] + 0.01),
        "lines between samples",
        "plain",
        "what lies between samples is interpolated",
        {},
    ),
    Trap(
        "nearly-all-missing",
        nwb(velocity=put(VELOCITY, slice(40, N), np.nan)),
        "2 s decoded",
        "serious",
        "1260 of 1300 samples are missing",
    ),
]

TRIAL_TRAPS = [
    Trap("sorted-by-condition", nwb(trials=SORTED), "drift as tuning", "serious", "trials are sorted by 'direction'"),
    Trap(
        "sorted-in-matlab",
        mat(trial=np.repeat(np.arange(26), 50), condition=np.repeat(np.arange(26) // 6, 50)),
        "drift as tuning",
        "serious",
        "trials are sorted by 'condition'",
    ),
    Trap(
        "out-of-order",
        nwb(trials=TRIALS.sample(frac=1, random_state=1)),
        "conditions mixed up",
        "plain",
        "not in order of time",
    ),
    Trap("overlapping", nwb(trials=TRIALS, change=overlap), "bins in two trials", "refused", "do not overlap"),
    Trap(
        "trials-in-ms",
        nwb(trials=TRIALS * [1000, 1000, 1]),
        "all outside",
        "serious",
        "are their times in milliseconds?",
    ),
    Trap(
        "trials-in-ms-csv",
        csv(COUNTS, trials=TRIALS * [1000, 1000, 1]),
        "all outside",
        "serious",
        "are their times in milliseconds?",
    ),
    Trap("trials-in-minutes", nwb(trials=TRIALS / [60, 60, 1]), "short trials", "serious", "shorter than 0.1 s"),
    Trap("bins-or-seconds", npz(trial_start=np.arange(1, 61, 10)), "trials 20 times apart", "refused", "--trial-unit"),
    Trap("bins-from-0", mat(startBins=np.arange(0, N, 100)), "one bin late", "refused", "--index-base"),
    Trap(
        "label-again", npz(trial=np.tile(np.repeat([1, 2, 3], 50), 10)[:N]), "trials joined", "refused", "in one piece"
    ),
    Trap(
        "past-the-end",
        nwb(trials=TRIALS.assign(start=STARTS + 2, stop=STARTS + 3.9)),
        "the last trial cut",
        "plain",
        "beyond the observed span",
    ),
]

TRAPS = [*COUNT_TRAPS, *TIME_TRAPS, *BEHAVIOR_TRAPS, *TRIAL_TRAPS]

FORCE = np.where(np.sin(BINS) > 0, 6 + 2 * np.sin(3 * BINS), 0.0)  # at rest exactly 0
MILLISECONDS = (RNG.uniform(size=(65_000, 3)) < 0.01).astype(np.uint8)

ODD_BUT_SOUND: dict[str, Make] = {
    "blocks": nwb(trials=TRIALS.assign(block=np.repeat([0, 1, 2, 3], 8))),
    "two halves": nwb(trials=TRIALS.assign(context=np.repeat(["a", "b"], 16))),
    "a force at rest": npz(velocity=None, force=FORCE),
    "one artifact": npz(counts=put(COUNTS, slice(7, 8), 90).astype(int)),
    "bins of 1 ms": npz(counts=MILLISECONDS, velocity=_wander(65_000, 0.001), bin_width=0.001),
    "a name with rate in it": npz(counts=None, separate_counts=COUNTS),
    "few spikes": npz(counts=np.where(np.arange(N)[:, None] % 200 == 0, 2, 0) * np.ones(3, int)),
    "spikes before and after": nwb(velocity=VELOCITY[200:900], time=BINS[200:900]),
    "binary": npz(counts=(COUNTS > 0).astype(np.uint8), bin_width=0.004),
    "multi-unit": nwb(
        [*SPIKES[:2], np.sort(np.concatenate(SPIKES[:2]))], channels=pd.DataFrame({"quality": ["good", "good", "mua"]})
    ),
}
"""What is unusual, and yet nothing is wrong with it."""

SOUND_FILES: dict[str, Make] = {
    "npz": npz(position=POSITION),
    "mat5": mat(position=POSITION),
    "mat73": mat73(position=POSITION),
    "h5": h5("count", position=POSITION),
    "csv": csv(COUNTS, trials=TRIALS),
    "nwb": nwb(trials=TRIALS),
    "times": times(),
    "nev": blackrock([1, 2]),
}
"""The same session, soundly stored: nothing serious is said of it."""
