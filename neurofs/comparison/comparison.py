"""`Comparison`: everything a run found out, as a value and as a folder of plain files.

A run folder holds

    run.toml         every setting that decides the outcome; ``neurofs decode run.toml`` repeats the run
    scores.csv       one row per output, repeat, fold, method and number of features (`SCORE_COLUMNS`)
    weights.nc       weights and ranking (selector, output, repeat, fold, channel, lag)
    predictions.nc   what each method predicted at its own choice, beside the target
    session.nc       what is known of channels and trials, and spikes around movement onset
    channels.csv     which channels are tuned, which add something, and at which lags (`CHANNEL_COLUMNS`)
    pairs.csv        all pairs of channels, if it was asked whether channels work together (`PAIR_COLUMNS`)
    summary.json     intervals, tests, wins, stability, chance, audit, headline, provenance (`comparison.summary`)
    log.txt          what happened when
    report.html      the report
    tasks/           results of single tasks, from which an interrupted run goes on

Files are written to a temporary name and moved into place, so that a file that is there is whole. The summary is
removed first and written last, so that the files of a folder that has one belong together.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import xarray as xr
from pydantic import ValidationError

import neurofs
from neurofs.comparison.channel_summary import TestedChannel
from neurofs.comparison.summary import SCHEMA, Summary
from neurofs.ground.config import RunOptions, given_options, make_options, read_toml, render_toml
from neurofs.ground.csv_tables import read_csv, render_csv
from neurofs.ground.errors import MAX_MESSAGE, InputError, printable
from neurofs.ground.files import make_folder, read_file, write_atomically
from neurofs.ground.netcdf import read_netcdf, to_netcdf
from neurofs.ground.showing import render_facts

if TYPE_CHECKING:
    from neurofs.report.notebook import Plots

SCORE_COLUMNS = {
    "output": "str",  # the target's component; "(all)" never occurs here
    "repeat": "int64",
    "fold": "int64",
    "method": "str",  # the selector, or "SELECTOR + DECODER", or a baseline: ridge, kalman
    "selector": "str",
    "decoder": "str",
    "weighted": "bool",  # whether distances were weighed by the selector's weights
    "chosen": "bool",  # whether n was chosen on an inner split (one row per method); else a point of the curve
    "n": "int64",  # number of features
    "k": "float64",  # neighbors and width of soft kNN, where it was used
    "beta": "float64",
    "mse": "float64",
    "r2": "float64",
    "r": "float64",
    "accuracy": "float64",  # of classes; NaN for continuous targets, as the three before are for classes
    "balanced_accuracy": "float64",
    "n_train": "int64",
    "n_test": "int64",
}


PAIR_COLUMNS = {
    "channel": "str",
    "other": "str",
    "lag": "float64",  # middle of the window of lags in which the product tells most, in seconds
    "strength": "float64",  # Σ z² over outputs
    "p": "float64",
    "p_beyond": "float64",  # beyond the stronger pairs that are found
    "verdict": "str",  # found, echo (repeats a pair that is found) or none
}


CHANNEL_COLUMNS = tuple(TestedChannel.model_fields)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Everything that a run found out; all that a report shows comes from here.

    Attributes
    ----------
    scores : DataFrame
        `SCORE_COLUMNS`, sorted; scores of one's own are further columns.
    weights : Dataset
        ``weights`` and ``ranking`` (selector, output, repeat, fold, channel, lag), rank 1 = best, and
        ``n_chosen`` (selector, output, repeat, fold); ``encoding`` (channel, lag), R² of the counts regressed on the
        target.
    predictions : Dataset
        ``predicted`` (method, repeat, output, time), NaN where nothing was predicted, ``target``
        (time, output), ``trial`` (time), -1 outside; classes as their numbers, their names in the
        attribute ``classes``.
    session : Dataset
        Channel and trial tables and the raster (`comparison.session`).
    summary : Summary
        What tables, sentences and figures are made of (`comparison.summary`).
    config : RunOptions
    pairs : DataFrame or None
        `PAIR_COLUMNS`, found first, if it was asked whether channels work together.
    """

    scores: pd.DataFrame
    weights: xr.Dataset
    predictions: xr.Dataset
    session: xr.Dataset
    summary: Summary
    config: RunOptions
    pairs: pd.DataFrame | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Comparison):
            return NotImplemented
        tables = ("weights", "predictions", "session")
        return (
            self.scores.equals(other.scores)
            and all(getattr(self, name).identical(getattr(other, name)) for name in tables)
            and self.summary == other.summary
            and self.config == other.config
            and (self.pairs is None) == (other.pairs is None)
            and (self.pairs is None or self.pairs.equals(other.pairs))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "\n".join([f"<Comparison of {printable(self.summary.session.name)!r}>", *self._sentences()])

    def _repr_html_(self) -> str:
        session = self.summary.session
        outputs = ", ".join(printable(output.name) for output in session.outputs)
        facts = {
            "decoded": f"{outputs} from {session.n_channels} channels and {session.n_lags} lags",
            "samples": f"{session.n_samples:,} in {session.n_trials} trials",
            "answer": " ".join(self._sentences()),
            "more": ".plot.weights() .curves() .traces() .channels(), .report(), .to_frame(), .to_xarray(), .summary",
        }
        return render_facts(f"Comparison of {session.name}", facts)

    def _sentences(self) -> list[str]:
        return [printable(line, MAX_MESSAGE) for line in self.summary.headline.sentences]

    @property
    def plot(self) -> Plots:
        """Figures of the report as axes of matplotlib: ``plot.weights()``, ``.curves()``, ``.traces()``, …"""
        return neurofs.Plots(self)

    def report(self, path: str | Path | None = None) -> str | Path:
        """Return the report as a page, which a notebook shows; or write it to a file, and return its path."""
        if path is None:
            return neurofs.show_report(self)
        return write_atomically(Path(path), neurofs.render(self))

    def to_frame(self) -> pd.DataFrame:
        """Return the score of every method with its 95 % interval: a row per method and output, and their mean.

        Scores of one's own (`compare(…, scores=…)`) follow.
        """
        from neurofs.comparison.own_scores import describe_own

        score = self.summary.score
        rows = [
            {"method": method.method, "output": output, "score": score, **dict(found.of(score)), "n": method.n.median}
            for method in self.summary.methods
            for output, found in {**method.outputs, "(mean)": method.pooled}.items()
        ]
        return pd.DataFrame([*rows, *describe_own(self)])

    def to_xarray(self) -> xr.Dataset:
        """Return weights, ranks and predictions as one dataset, on named dimensions."""
        return xr.merge([self.weights, self.predictions], combine_attrs="no_conflicts", join="outer")


def start_run(folder: str | Path, options: RunOptions) -> Path:
    """Say in a run folder what is to be done, and that it is not finished; return the folder."""
    folder = make_folder(folder)
    (folder / "summary.json").unlink(missing_ok=True)
    write_atomically(folder / "run.toml", render_toml(given_options(options)))
    return folder


def save(comparison: Comparison, folder: str | Path) -> Path:
    """Write a comparison as a run folder (all but its report) and return the folder."""
    folder = start_run(folder, comparison.config)
    write_atomically(folder / "scores.csv", render_csv(comparison.scores))
    for name in ("weights", "predictions", "session"):
        write_atomically(folder / f"{name}.nc", to_netcdf(getattr(comparison, name)))
    _save_table(folder / "channels.csv", _tabulate_channels(comparison.summary))
    _save_table(folder / "pairs.csv", comparison.pairs)
    write_atomically(folder / "summary.json", _to_json(comparison.summary))
    return folder


def _save_table(path: Path, table: pd.DataFrame | None) -> None:
    """Write a table, or remove that of an earlier run."""
    if table is None:
        path.unlink(missing_ok=True)
    else:
        write_atomically(path, render_csv(table))


def _tabulate_channels(summary: Summary) -> pd.DataFrame | None:
    """Return what the summary says of each channel as a table; it is for people, and never read back."""
    if summary.channels is None:
        return None
    return pd.DataFrame([dict(one) for one in summary.channels.channels], columns=list(CHANNEL_COLUMNS))


def read(folder: str | Path) -> Comparison:
    """Read a run folder back: ``read(save(c, folder)) == c``."""
    folder = Path(folder)
    summary = _read_summary(folder / "summary.json")
    try:
        scores = read_csv(folder / "scores.csv", SCORE_COLUMNS)
        pairs = read_csv(folder / "pairs.csv", PAIR_COLUMNS) if summary.dependency else None
        names = ("weights", "predictions", "session")
        tables = {name: read_netcdf(read_file(folder / f"{name}.nc")) for name in names}
    except (OSError, ValueError, KeyError) as error:
        raise InputError(folder, "the files of a run", error, "Run it again.") from None
    config = make_options(RunOptions, read_toml(folder / "run.toml", "the settings of a run"), "run.toml")
    return Comparison(scores, summary=summary, config=config, pairs=pairs, **tables)


def _read_summary(path: Path) -> Summary:
    again = "neurofs decode FOLDER/run.toml"
    if not path.is_file():
        raise InputError(path.parent, "a finished run", "no summary.json", f"Finish it: {again}.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Summary.model_validate(content)
    except ValidationError as error:
        raise InputError(
            path, f"schema {SCHEMA} of a summary", _name_fault(content, error), f"Run it again: {again}."
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(path, "the summary of a run", error, f"Run it again: {again}.") from None


def _name_fault(content: Any, error: ValidationError) -> str:
    """Say what keeps the content of a file from being a summary: its schema, or the first thing that is wrong."""
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema != SCHEMA:
        return "no schema" if schema is None else f"schema {schema}"
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"


def _to_json(summary: Summary) -> str:
    return json.dumps(summary.to_json(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
