"""Channels that the file itself calls noise: left out unless they are asked for."""

from dataclasses import replace

from neurofs.ground.config import LoadOptions
from neurofs.recordings.recording import Recording

NOISE = "noise"


def leave_out_noise(recording: Recording, options: LoadOptions) -> Recording:
    """Return a recording without the channels whose `quality` is noise, and say so.

    They stay if `channels` of the options speaks of quality or names one of them.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"name": ["1", "2"], "quality": ["good", "noise"]})
    >>> session = Recording("toy", spikes=[[0.5, 1.5], [1.2]], channels=table)
    >>> leave_out_noise(session, LoadOptions()).notes
    ('channels: 1 of 2 labeled noise left out; --channels "quality == \\'noise\\'" takes them',)
    >>> leave_out_noise(session, LoadOptions(channels="quality != ''")).n_channels
    2
    """
    if "quality" not in recording.channels:
        return recording
    is_noise = (recording.channels["quality"].map(str).str.lower() == NOISE).to_numpy()
    named = set(recording.channels["name"][is_noise]) & {n for text in options.channels for n in text.split(",")}
    if not is_noise.any() or is_noise.all() or named or any("quality" in text for text in options.channels):
        return recording
    takes = "--channels \"quality == 'noise'\" takes them"
    note = f"channels: {is_noise.sum()} of {len(is_noise)} labeled noise left out; {takes}"
    kept, notes = recording.channels[~is_noise], (*recording.notes, note)
    if recording.counts is not None:
        return replace(recording, counts=recording.counts[:, ~is_noise], channels=kept, notes=notes)
    spikes = [times for times, noise in zip(recording.spikes or (), is_noise, strict=True) if not noise]
    return replace(recording, spikes=spikes, observed=recording.observed, channels=kept, notes=notes)
