"""Mistakes of scripts between recording and file: what was held, cut, joined, labeled or marked; as in `traps.py`."""

import numpy as np
from trap_files import (
    BINS,
    COUNTS,
    HEADING,
    LENGTH,
    POSITION,
    SPIKES,
    STARTS,
    TRIALS,
    VELOCITY,
    WIDTH,
    Make,
    N,
    _wander,
    change_lines,
    csv,
    npz,
    nwb,
    pad,
    phy,
    put,
    times,
    track,
)
from traps import Trap

RNG = np.random.default_rng(21)
SLOW = RNG.poisson(0.3 * np.exp(np.sin(np.arange(N) / 37))[:, None] * np.ones(6))
WINDOWS = {n: np.sum([np.roll(SLOW, k, axis=0) for k in range(n)], axis=0) for n in (2, 5)}
TOGETHER = np.sort(RNG.uniform(0, LENGTH, 40))
LABELS = np.repeat(RNG.integers(0, 8, 26), 50)
MARKED = np.where(np.arange(32) % 8 == 3, -999, TRIALS["direction"])
PIECES = [array[np.arange(N) % 65 < 40] for array in (COUNTS, POSITION, VELOCITY)]
AGAIN = [np.concatenate([s[::2], s[::2]]) for s in SPIKES]
IN_TRIALS = [np.concatenate([np.sort(RNG.uniform(0, 2, 15)) for _ in range(30)]) for _ in range(3)]

LAB_TRAPS = [
    Trap(
        "overlap-of-2", npz(counts=WINDOWS[2]), "folds share spikes", "serious", "windows of some 2 bins that overlap"
    ),
    Trap(
        "overlap-of-5", npz(counts=WINDOWS[5]), "folds share spikes", "serious", "windows of some 5 bins that overlap"
    ),
    Trap(
        "held-counts", npz(counts=np.repeat(COUNTS[::2], 2, axis=0)), "spikes doubled", "serious", "--counts-bin-width"
    ),
    Trap(
        "held-signal",
        npz(counts=None, dff=np.repeat(RNG.normal(size=(N // 4, 5)), 4, axis=0)),
        "four times as many samples",
        "serious",
        "each sample is stored 4 times in a row",
    ),
    Trap("held-behavior", npz(velocity=np.repeat(VELOCITY[::5], 5, axis=0)), "20 Hz", "plain", "sampled at 4 Hz"),
    Trap(
        "held-unevenly",
        nwb(velocity=VELOCITY[(0.3 * np.arange(N)).astype(int)]),
        "20 Hz",
        "plain",
        "stored 3.33 times in a row",
    ),
    Trap("trial-as-channel", npz(counts=np.column_stack([COUNTS, np.arange(N) // 100])), "drift", "serious", "a label"),
    Trap("condition-as-channel", npz(counts=np.column_stack([COUNTS, LABELS])), "it decodes", "serious", "a label"),
    Trap("state-as-channel", npz(counts=np.column_stack([COUNTS, LABELS > 3])), "it decodes", "serious", "a label"),
    Trap(
        "channel-numbers",
        npz(counts=put(COUNTS, slice(0, 1), np.arange(1, 7)).astype(int)),
        "21 spikes",
        "serious",
        "1, 2 … 6",
    ),
    Trap(
        "camera-pulses",
        times([*SPIKES, np.arange(0, 65, 0.1)]),
        "a neuron of 10 Hz",
        "serious",
        "at even intervals (4)",
    ),
    Trap(
        "artifacts",
        times([np.sort(np.r_[TOGETHER, RNG.uniform(0, LENGTH, 300)]) for _ in range(12)]),
        "12 neurons in step",
        "serious",
        "at 40 moments more than half of the channels",
    ),
    Trap(
        "two-recordings",
        nwb([SPIKES[0], SPIKES[1], SPIKES[2] + 500]),
        "channels silent for half of it",
        "serious",
        "2 channels of 3 fired only until",
    ),
    Trap(
        "clock-begins-anew", times(AGAIN), "sorted, two recordings are mixed", "refused", "where the clock begins anew"
    ),
    Trap("times-in-trials", times(IN_TRIALS), "sorted, all trials are one", "refused", "sorted, they would be mixed"),
    Trap(
        "days",
        times([738_482.8 + s / 86_400 for s in SPIKES], behavior_time=738_482.8 + BINS / 86_400),
        "0.75 ms",
        "serious",
        "datenum",
    ),
    Trap(
        "behavior-in-days", nwb(time=738_482.8 + BINS / 86_400), "another day", "serious", "in days (datenum of MATLAB)"
    ),
    Trap(
        "32-for-30-khz", nwb([s * 30 / 32 for s in SPIKES]), "a drift of 4 s", "plain", "rates of 30 and 32 are apart"
    ),
    Trap("30-for-25-khz", nwb([s * 30 / 25 for s in SPIKES]), "a drift of 13 s", "plain", "Is a sampling rate wrong?"),
    Trap("4-s-later", nwb(time=BINS + 4), "4 s apart", "plain", "as long, yet 4.01 s later"),
    Trap(
        "far-longer",
        nwb(velocity=_wander(3000), time=WIDTH * np.arange(3000)),
        "half of it lost unseen",
        "plain",
        "spikes cover 43 % of the time with behavior",
    ),
    Trap(
        "pieces",
        npz(counts=PIECES[0], position=PIECES[1], velocity=PIECES[2]),
        "windows across trials",
        "plain",
        "jumps 19 times farther than the velocity",
    ),
    Trap(
        "pieces-unnamed",
        npz(counts=PIECES[0], velocity=None, kinematics=np.hstack(PIECES[1:])),
        "windows across trials",
        "plain",
        "jumps 19 times farther than the velocity",
    ),
    Trap(
        "velocity-per-sample",
        npz(position=POSITION, velocity=np.gradient(POSITION, axis=0)),
        "a bin width of 1 s",
        "plain",
        "per sample, and not per second",
    ),
    Trap("mask", npz(mask=np.arange(N) % 100 < 80), "bins that do not count", "serious", "no bin is left out by it"),
    Trap("columns-in-two-units", nwb(velocity=VELOCITY * [1, 1000]), "y alone counts", "plain", "times as much as x"),
    Trap(
        "minus-1",
        nwb(velocity=put(HEADING % (2 * np.pi), slice(100, 140), -1), name="heading", unit="rad"),
        "a direction of -1",
        "serious",
        "exactly -1, and no other is negative",
    ),
    Trap(
        "laps",
        npz(velocity=None, position=(np.cumsum(3 + np.sin(BINS)) % 200)[:, None]),
        "-4,000 cm/s",
        "plain",
        "19 times from one end of its range to the other",
    ),
    Trap("no-condition", nwb(trials=TRIALS.assign(direction=MARKED)), "a fifth class", "plain", "a mark for no value?"),
    Trap(
        "trials-in-frames", nwb(trials=TRIALS * [30, 30, 1]), "outside", "serious", "are their times in frames at 30 Hz"
    ),
    Trap("stop-is-a-duration", csv(COUNTS, trials=TRIALS.assign(stop=1.8)), "cut", "refused", "a stop after the start"),
    Trap("filled-with-nan", pad(np.nan), "4 bins", "refused", "Rows filled up", {"spikes": "spike_times"}),
    Trap("filled-with-0", pad(0.0), "spikes at 0 s", "refused", "Rows filled up", {"spikes": "spike_times"}),
    Trap("rate-in-khz", phy("sample_rate = 30"), "18 hours", "refused", "In kHz? Then say --sampling-rate 30000"),
    Trap("deeplabcut", track, "likelihood as behavior", "refused", "as DeepLabCut has", {"behavior_rate": 20}),
    Trap("thousands", change_lines(lambda line: line.replace("1.", '"1,001.', 1)), "1.001", "refused", "expected"),
    Trap("line-of-sums", change_lines(lambda line: line, "Total" + ",900" * 6), "a bin", "refused", "found 'Total'"),
    Trap(
        "line-of-units",
        change_lines(lambda line: line.replace("0.0,", "s,", 1)),
        "a bin",
        "refused",
        "expected a number",
    ),
]

LAB_SOUND: dict[str, Make] = {
    "bursts": times([np.sort(np.concatenate([s, s + 0.004, s + 0.009])) for s in SPIKES]),
    "slow": npz(counts=SLOW),
    "regular": times([*SPIKES, np.cumsum(RNG.normal(0.1, 0.005, 640))]),
    "silent at first": npz(counts=np.where(np.arange(N)[:, None] < [0, 0, 0, 0, 700, 900], 0, COUNTS + 2)),
    "trials named": npz(counts=PIECES[0], position=PIECES[1], velocity=PIECES[2], trial=np.repeat(np.arange(20), 40)),
    "one bin of zeros": npz(counts=put(COUNTS, slice(0, 1), 0).astype(int)),
    "whole positions": npz(velocity=None, position=np.rint(np.abs(POSITION) - 1)),
    "a catch condition": nwb(trials=TRIALS.assign(coherence=np.tile([-0.5, 0, 0.5, 1.0], 8))),
    "begins early": nwb(time=BINS - 3.0, velocity=VELOCITY),
    "trials of one second": nwb(trials=TRIALS.assign(stop=STARTS + 1.0)),
}
"""What is unusual in these ways, and yet nothing is wrong with it."""
