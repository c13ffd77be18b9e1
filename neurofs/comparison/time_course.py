"""`TimeCourse`: when around an event trials tell the target, as a value and as a folder.

A folder holds `time_course.nc` (what `comparison.event_time.decode_time` returns), `time_course.csv` (the same for each
window alone), and `time_course.html`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

import neurofs
from neurofs.comparison.event_time import LEVEL, align, decode_time, find_clusters
from neurofs.comparison.wording import SCORE_NAMES, format_number, format_p, format_percent, format_value
from neurofs.ground.config import TensorOptions, VaryOptions, make_options
from neurofs.ground.csv_tables import render_csv
from neurofs.ground.errors import InputError, printable
from neurofs.ground.files import make_folder, read_file, write_atomically
from neurofs.ground.netcdf import read_netcdf, to_netcdf
from neurofs.ground.showing import render_facts
from neurofs.recordings.readers import load
from neurofs.recordings.recording import Recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class TimeCourse:
    """When around an event trials tell the target.

    Attributes
    ----------
    data : Dataset
        On ``time``, the end of each window in seconds from the event, and ``trained``, that of the window that was
        trained on: `comparison.event_time.decode_time`.
    """

    data: xr.Dataset

    @property
    def table(self) -> pd.DataFrame:
        """Each window trained and tested on its own: score, agreement, its bound by chance, p of its cluster."""
        alone = np.arange(self.data.sizes["time"])
        return pd.DataFrame(
            {
                "window_start": np.round(self.data["time"].values - self.data.attrs["width"], 9),
                "window_end": self.data["time"].values,
                "score": self.data["score"].values[alone, alone],
                "agreement": self.data["agreement"].values[alone, alone],
                "bound": self.data["bound"].values,
                "p_cluster": self.data["p_cluster"].values,
            }
        )

    @property
    def sentences(self) -> list[str]:
        """What was found, in words."""
        return list(_tell(self))

    def __eq__(self, other: object) -> bool:
        return self.data.identical(other.data) if isinstance(other, TimeCourse) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        about = self.data.attrs
        head = f"<TimeCourse of {printable(about['target'])!r} around {printable(about['event'])!r}>"
        return "\n".join([head, *self.sentences])

    def _repr_html_(self) -> str:
        return render_facts(repr(self).partition("\n")[0], {"found": " ".join(self.sentences)})

    def plot(self) -> list[Axes]:
        """Draw score and agreement over time, and generalization across time; return the axes."""
        return neurofs.show_axes(neurofs.draw_time_course(self))

    def save(self, folder: str | Path) -> Path:
        """Write the time course as a folder, with its page."""
        folder = make_folder(folder)
        write_atomically(folder / "time_course.nc", to_netcdf(self.data))
        write_atomically(folder / "time_course.csv", render_csv(self.table))
        write_atomically(folder / "time_course.html", neurofs.render_time_course(self))
        return folder


def read_time_course(folder: str | Path) -> TimeCourse:
    """Read the folder of a time course back."""
    try:
        return TimeCourse(read_netcdf(read_file(Path(folder) / "time_course.nc")))
    except (OSError, ValueError) as error:
        raise InputError(folder, "a finished time course", error, "Run it again: neurofs vary --by time.") from None


def decode_around(
    recording: object,
    target: str,
    event: str,
    *,
    around: tuple[float, float] = (-0.5, 1.0),
    window: float = 0.2,
    step: float = 0.1,
    n_splits: int = 5,
    seed: int = 0,
) -> TimeCourse:
    """Decode a condition of the trials, or a series, in windows around an event of the trials.

    Parameters
    ----------
    recording : Recording, path, or what `load` takes
    target, event : str
        A condition or a behavior series; a column of the trials with times.
    around : two floats
        Seconds before (negative) and after the event.
    window, step : float
        Width of a window, and from one to the next, in seconds.

    Examples
    --------
    >>> import neurofs
    >>> session = neurofs.simulate_session(40, n_electrodes=4, random_state=1)
    >>> found = decode_around(session, "direction", "move_onset", around=(-0.4, 0.8), step=0.2)
    >>> found.table["window_end"].tolist()
    [-0.2, 0.0, 0.2, 0.4, 0.6, 0.8]
    """
    recording = recording if isinstance(recording, Recording) else load(recording)
    checked = make_options(
        VaryOptions, {"by": "time", "event": event, "around": around, "window": window}, "decode_around"
    )
    make_options(TensorOptions, {"target": (target,), "step": step}, "decode_around")
    around, window = checked.around, checked.window
    data = decode_time(align(recording, target, event, around, window, step), n_splits, seed)
    about = {"name": recording.name, "target": target, "event": event, "step": step}
    return TimeCourse(data.assign_attrs(about))


def _tell(course: TimeCourse) -> Iterator[str]:
    about, table = course.data.attrs, course.table
    event, target, score = printable(about["event"]), printable(about["target"]), SCORE_NAMES[about["score"]]
    clear = (table["p_cluster"] <= LEVEL).to_numpy()
    if clear.any():
        best = table.loc[table["agreement"].idxmax()]
        p = format_p(float(table.loc[clear, "p_cluster"].max()))
        yield (
            f"{target} is decoded beyond chance in windows that end {_span(course, clear)} s from {event} (p ≤ {p}, "
            f"clusters over time); most in that which ends at {format_value(best['window_end'])} s: predictions go "
            f"with the target by r = {format_number(best['agreement'])}, {score} = {format_number(best['score'])}."
        )
        first, low, high = np.atleast_1d(about["onset"])
        begin, end = (format_value(round(float(t), 9)) for t in (low - about["step"], high))
        yield (
            f"The first of them ends at {format_value(first)} s; over resampled trials (95 %), information begins "
            f"between {begin} and {end} s."
        )
        serves = course.data["p"].sel(trained=best["window_end"]).values <= LEVEL
        if serves.any():
            yield (
                f"A decoder of the best window also serves windows that end {_span(course, serves)} s from {event} "
                f"(corrected for all {serves.size**2} pairs of windows)."
            )
    else:
        yield f"No window around {event} tells {target} beyond chance (clusters over time, 5 %)."
    classes = f", {format_percent(about['chance'])} of them of the most frequent class" if "chance" in about else ""
    yield (
        f"Ridge in windows of {about['width']:g} s, on {about['n_trials']} whole trials{classes}; chance: the targets "
        "of other trials, shifted by whole trials."
    )


def _span(course: TimeCourse, chosen: np.ndarray) -> str:
    """Return when the chosen windows end, run by run."""
    ends = course.data["time"].values
    runs = [(ends[a], ends[b - 1]) for a, b in find_clusters(chosen.astype(float), np.full(len(chosen), 0.5))]
    told = [f"at {format_value(a)}" if a == b else f"between {format_value(a)} and {format_value(b)}" for a, b in runs]
    return ", and ".join(told)
