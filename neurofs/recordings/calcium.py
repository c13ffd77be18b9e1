"""A simulated session as calcium imaging would have seen it: dF/F in place of spikes, with the same known truth."""

from dataclasses import replace

import numpy as np
from scipy.signal import lfilter

from neurofs.recordings.readers.signals import DFF
from neurofs.recordings.recording import Recording

FRAME_RATE = 30.0
"""Frames per second."""

DECAY = 0.4
"""Seconds in which the fluorescence of a spike falls to 1/e, as of a fast indicator."""

AMPLITUDE = 0.15
"""Median dF/F of one spike; that of a channel is drawn around it."""


def image_calcium(recording: Recording, random_state: int = 0) -> Recording:
    """Return a session of spike times as dF/F at 30 frames per second, with as much noise as one spike is high.

    The dF/F of frame i is ``c_i = c_{i−1} exp(−1 / (30 · 0.4)) + a n_i``, with the n_i spikes of the frame and an
    amplitude a of each channel, plus white noise of deviation a.

    >>> from neurofs.recordings.simulate import simulate_session
    >>> image_calcium(simulate_session(5, n_electrodes=1)).kind
    'signal in dF/F, 30 samples per second'
    """
    rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(20,)))
    start, stop = recording.span
    n_frames = int((stop - start) * FRAME_RATE)
    edges = start + np.arange(n_frames + 1) / FRAME_RATE
    amplitude = AMPLITUDE * np.exp(rng.normal(0, 0.7, recording.n_channels))
    spikes = np.column_stack([np.histogram(times, edges)[0] for times in recording.spikes or ()])
    calcium = lfilter([1.0], [1.0, -np.exp(-1 / (FRAME_RATE * DECAY))], spikes, axis=0)
    signal = amplitude * (calcium + rng.normal(size=calcium.shape))
    note = f"dF/F at {FRAME_RATE:g} frames per second, made from spikes that decay in {DECAY:g} s"
    return replace(
        recording,
        spikes=None,
        counts=np.round(signal, 5).astype(np.float32),
        unit=DFF,
        start=start,
        bin_width=1 / FRAME_RATE,
        observed=None,
        notes=(*recording.notes, note),
    )
