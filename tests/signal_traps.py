"""Continuous signals that a careless reader would misread, as `traps.py` has them of spikes."""

import numpy as np
from trap_files import BINS, VELOCITY, N, npz
from traps import Trap

WAVES = np.random.default_rng(20).normal(size=(N, 6)) * [0.1, 1, 10, 100, 1, 1]
SIGNAL_TRAPS = [
    Trap("signal-unsaid", npz(counts=WAVES), "dF/F counted as spikes", "refused", "say --signal-unit"),
    Trap("signal-of-counts", npz(), "counts scaled as a signal", "serious", "are they counts", {"signal_unit": "uV"}),
    Trap(
        "signal-with-time",
        npz(counts=None, dff=np.column_stack([WAVES, BINS])),
        "the clock decodes the target",
        "serious",
        "the signal only rises",
    ),
    Trap(
        "signal-cut-off",
        npz(counts=None, dff=np.minimum(WAVES, 0.5)),
        "a saturated camera unseen",
        "plain",
        "the same largest value",
    ),
    Trap(
        "signal-with-lags",
        npz(counts=None, dff=np.column_stack([WAVES[1:], WAVES[:-1]]), velocity=VELOCITY[1:]),
        "lags of lags",
        "serious",
        "lags are in the table already",
    ),
    Trap(
        "signal-copy",
        npz(counts=None, dff=np.column_stack([WAVES, VELOCITY[:, 0]])),
        "the target decodes itself",
        "serious",
        "it is a copy of behavior",
    ),
    Trap(
        "signal-both",
        npz(dff=WAVES),
        "spikes and signal mixed up",
        "refused",
        "one of the two",
        {"counts": "counts", "signal": "dff"},
    ),
    Trap(
        "signal-named", npz(counts=None, dff=WAVES), "a guess that nobody is told of", "note", "is continuous, in dF/F"
    ),
]
