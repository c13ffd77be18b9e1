"""The formats: what is read of each, on which real file it was tried, and what is not read.

`neurofs list formats` prints this table, and data/README.md has it, too (a test compares them). A format that is a
folder is known by a file in it.
"""

from pathlib import Path
from typing import NamedTuple


class Format(NamedTuple):
    """A kind of file or folder: the endings of its files, or the file by which a folder is known."""

    files: tuple[str, ...]
    about: str
    module: str
    reads: str
    tested: str = "files made here"
    limits: str = ""
    package: str = "neurofs"
    is_folder: bool = False
    is_address: bool = False

    @property
    def place(self) -> str:
        """How its files are known, in a few words.

        >>> TABLE[5].place
        '.h5, .hdf5'
        """
        return ("folder with " if self.is_folder else "") + ", ".join(self.files)

    def record(self) -> dict[str, str]:
        """Return the row of the table, by column."""
        columns = {"files": self.place, "format": self.about, "read": self.reads, "tested on": self.tested}
        return columns | {"limits": self.limits, "package": self.package}

    def render(self) -> str:
        """Return the row as lines of text."""
        rest = {key: value for key, value in self.record().items() if value and key not in ("files", "format")}
        lines = [f"  {key}: {value.replace('`', '')}" for key, value in rest.items() if value != "neurofs"]
        return "\n".join([f"{self.place}   {self.about}", *lines])


TABLE = (
    Format(
        (".nwb",),
        "NWB 2",
        "nwb",
        "spike times of the units table, a series of counts, dF/F or fluorescence of ROIs, or the power of bands; "
        "behavior series, trials, electrodes; `eval_mask`",
        "a2929_head_direction.nwb, ecephys_tutorial_v2.5.0.nwb",
    ),
    Format(
        (".zgroup",),
        "NWB 2 of Zarr",
        "nwb_zarr",
        "the same, from folders of hdmf-zarr",
        "files made here by hdmf-zarr",
        "Zarr 2 on this machine; links and columns of references are left out",
        "neurofs[zarr]",
        is_folder=True,
    ),
    Format(
        ("https://…", "s3://…", "dandi:…"),
        "NWB 2 elsewhere",
        "remote",
        "the same, of which only what is needed is fetched",
        "files made here, from a server on this machine",
        "HDF5 alone, from servers that send parts of files; public buckets and dandisets",
        is_address=True,
    ),
    Format(
        (".mat",),
        "MATLAB, all versions",
        "matlab",
        "matrices, cells, structs, one struct per trial; `*.spikes.cellinfo.mat` of CellExplorer and buzcode; "
        "tables and timetables with `pip install 'neurofs[matlab]'`",
        "stevenson2011_m1.mat, both layouts of CellExplorer",
        "no other objects or function handles",
    ),
    Format(
        (".npz",), "NumPy archive", "npz", "counts, spike times or a signal; behavior, trials", "chewie_20131003_m1.npz"
    ),
    Format((".h5", ".hdf5"), "HDF5", "hdf5", "the same, in data sets of any layout; files of torch_brain"),
    Format(
        (".npy",), "NumPy arrays", "npy_pairs", "`X_counts.npy`, and `X_NAME.npy` beside it", limits="numbers alone"
    ),
    Format(
        (".nc",),
        "netCDF 4",
        "netcdf",
        "`counts` or `signal` on time and channel, or `spike_times` and `spike_channel`; behavior; `trial_start` and "
        "`trial_stop`",
        limits="not netCDF 3",
    ),
    Format(
        (".csv", ".tsv"),
        "CSV, TSV",
        "csv_pairs",
        "pairs of tables: spikes (counts, signal) and behavior; trials and what is known of channels in two more",
    ),
    Format((".parquet",), "Parquet", "csv_pairs", "the same tables", package="neurofs[parquet]"),
    Format(
        ("spike_times.npy",),
        "Kilosort or phy folder",
        "phy",
        "clusters with spikes, and what cluster_*.tsv know of them; the sampling rate of params.py, which is not run",
        "phy (379,321 spikes)",
        "behavior is in a file of its own",
        is_folder=True,
    ),
    Format(
        (".nse", ".nst", ".ntt"),
        "Neuralynx spikes",
        "neuralynx",
        "spike times of each unit, on the clock of the recording; a tetrode is one electrode",
        "STet3a.nse, TT1.ntt",
        "behavior is in a file of its own; waveforms of 32 samples",
    ),
    Format(
        ("*.nse", "*.nst", "*.ntt"),
        "Neuralynx folder",
        "neuralynx",
        "the spikes of all its files",
        "STet3a.nse and TT1.ntt in one folder",
        is_folder=True,
    ),
    Format(
        ("structure.oebin",),
        "Open Ephys, binary format",
        "open_ephys",
        "spikes as they were detected, of each cluster that was sorted on line",
        limits="no voltage; behavior is in a file of its own",
        is_folder=True,
    ),
    *(
        Format(files, about, "neo_files", "spike trains, slow signals, events, epochs", tested, limits, "neurofs[neo]")
        for files, about, tested, limits in (
            ((".nev",), "Blackrock events", "file_spec_3_0.nev, l101210-001.nev", ""),
            ((".plx",), "Plexon", "File_plexon_1.plx", ""),
            ((".nex",), "NeuroExplorer", "File_neuroexplorer_1.nex", ""),
            ((".smr",), "Spike2", "File_spike2_1.smr", "spikes kept as events: `--spikes event.NAME`"),
            ((".smrx",), "Spike2, 64 bits", "no file", ""),
            ((".rhd", ".rhs"), "Intan", "no file", "voltage alone, no spikes: a file of behavior"),
            ((".nix",), "NIX", "no file", ""),
        )
    ),
    *(
        Format(files, about, "unread", "nothing: the message says what to do instead", "no file")
        for files, about in (
            ((".pl2",), "Plexon 2"),
            ((".nex5",), "NeuroExplorer 5"),
            ((".spikes",), "Open Ephys, old format"),
        )
    ),
)

FORMATS = {name: known for known in TABLE for name in known.files if not known.is_folder and not known.is_address}
"""By suffix."""

FOLDERS = {name: known for known in TABLE for name in known.files if known.is_folder}
"""By a file of the folder."""


def find_folder(path: Path) -> Path:
    """Return the folder of a file that means a folder, such as the params.py of phy; else the path itself."""
    for mark, known in FOLDERS.items():
        inside = path.name in (mark, *BELONGING.get(known.module, ()))
        if inside and path.is_file() and _holds(path.parent, mark):
            return path.parent
    return path


BELONGING = {
    "phy": (
        *("params.py", "spike_clusters.npy", "spike_templates.npy", "amplitudes.npy"),
        *("cluster_group.tsv", "cluster_info.tsv", "cluster_KSLabel.tsv"),
    )
}
"""Files of a folder that people name when they mean the folder."""


def _holds(folder: Path, mark: str) -> bool:
    return next(folder.glob(mark), None) is not None


def find_format(path: Path) -> Format | None:
    """Return the format of neurofs's own that a file or folder has, None if it has none."""
    if path.is_dir():
        return next((known for mark, known in FOLDERS.items() if _holds(path, mark)), None)
    return FORMATS.get(path.suffix.lower())


def render_markdown() -> str:
    """Return the table as data/README.md has it."""
    columns = ("format", "files", "what is read", "tested on the real file", "limits")
    rows = [(f.about, f"`{f.place}`", f.reads + _extra(f), f.tested, f.limits) for f in TABLE]
    lines = [columns, ("---",) * len(columns), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def _extra(known: Format) -> str:
    return "" if known.package == "neurofs" else f"; `pip install '{known.package}'`"
