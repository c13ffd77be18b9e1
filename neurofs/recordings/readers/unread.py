"""Formats that are known and not read: one sentence that says what to do instead."""

from pathlib import Path

from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import InputError
from neurofs.recordings.recording import Recording

SORTED = "Sort the spikes, and name the folder of Kilosort or phy; or convert it to NWB."
SENTENCES = {
    ".pl2": (
        "a file that can be read without Plexon's own library",
        "one of Plexon 2, which Neo reads with a library for Windows that it fetches from the network",
        "Export it as .plx or .nex (Offline Sorter, NeuroExplorer), or convert it to NWB.",
    ),
    ".nex5": ("a .nex file", "a .nex5 file, which Neo does not read", "Save it as .nex in NeuroExplorer."),
    ".spikes": ("sorted spikes", "spikes of Open Ephys as they were detected, in its old format", SORTED),
}


def read(path: Path, options: LoadOptions) -> Recording:
    """Say why a file is not read."""
    expected, found, remedy = SENTENCES[path.suffix.lower()]
    raise InputError("format", expected, found, remedy)
