"""`Variation`: the same decode over values of one thing, with paired tests, as a value and as a folder.

The score of a case in a fold is the mean over outputs, repeats and draws. Of conditions of trials, within which an
output may hardly vary, it is the R² of all columns of a series together (`join_columns`). Cases are compared fold by
fold (Nadeau–Bengio, `comparison.places`), p-values are corrected for the number of comparisons of a method (Holm).

For settings that are numbers, the *best* value is the one with the highest mean score, with the range of values that
cannot be told from it: those whose paired difference from the best is not below 0 (one-sided, 5 %). For amounts of
data n, a power law is fitted,

    score(n) = a − b n^(−c),    b ≥ 0, a ≤ 1,

and what it gains from the largest amount to twice as much is added to the score that was found there. The interval is
that of a jackknife over folds, widened as the variance of a mean of folds that share training data is, and by how far
the law is from the means.

A folder holds

    vary.toml        what was varied, and all settings
    folds.csv        the score of every case, draw, method, output, repeat and fold (`FOLD_COLUMNS`)
    variation.csv    the table (`TABLE_COLUMNS`)
    variation.json   what was found, in words and numbers (`Findings`)
    variation.html   the page
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field, ValidationError
from scipy.stats import t

import neurofs
from neurofs.comparison.cases import AMOUNTS, Case
from neurofs.comparison.names import name_method
from neurofs.comparison.places import Places
from neurofs.comparison.problem import Problem, Task
from neurofs.comparison.scores import RANGES, find_variance
from neurofs.comparison.stats import compare_paired, correct_holm, estimate, standard_error
from neurofs.comparison.store import TaskResult
from neurofs.comparison.summary import Estimate
from neurofs.comparison.summary_parts import Part
from neurofs.comparison.variation_words import tell
from neurofs.ground.config import RunOptions, given_options, make_options, read_toml, render_toml
from neurofs.ground.csv_tables import read_csv, render_csv
from neurofs.ground.errors import InputError
from neurofs.ground.files import make_folder, read_file, write_atomically
from neurofs.ground.showing import render_facts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVEL = 0.05
POWERS = np.geomspace(0.1, 3.0, 60)
"""Powers c that are tried."""

MORE = 2.0
"""How many times as much data a prediction is made for."""

FOLD_COLUMNS = {
    "label": "str",
    "value": "float64",  # NaN if the value is no number
    "group": "str",
    "draw": "int64",
    "method": "str",
    "output": "str",
    "repeat": "int64",
    "fold": "int64",
    "score": "float64",
    "n_channels": "int64",
    "n_train": "int64",
    "n_test": "int64",
    "n_kept": "float64",  # channels that nearly suffice, where a method says so
}
TABLE_COLUMNS = {
    "method": "str",
    "label": "str",
    "value": "float64",
    "group": "str",
    "mean": "float64",
    "low": "float64",
    "high": "float64",
    "against": "str",
    "difference": "float64",
    "difference_low": "float64",
    "difference_high": "float64",
    "p": "float64",
    "p_holm": "float64",
    "n_channels": "int64",
    "n_train": "float64",
    "n_kept": "float64",
    "n_kept_low": "float64",
    "n_kept_high": "float64",
}


class Best(Part):
    """The best value of a setting, and the range of values that cannot be told from it."""

    method: str
    value: float
    low: float
    high: float


class PowerLaw(Part):
    """How the score grows with the amount of data, and what more of it would give."""

    method: str
    a: float = Field(description="The score that endless data would give.")
    b: float
    c: float
    most: float = Field(description="The largest amount there is.")
    asked: float = Field(description="The amount that is asked about.")
    predicted: Estimate = Field(description="The score at that amount.")
    gain: Estimate = Field(description="What it would add.")


class Findings(Part):
    """What a variation found, beside its tables."""

    schema_: Literal[1] = Field(1, alias="schema")
    name: str = Field(description="Of the session.")
    by: str
    score: Literal["r2", "accuracy"]
    methods: list[str]
    ratio: float = Field(description="Of the variance of means over folds: (1/J + ratio) S².")
    matched: bool = Field(description="Whether cases that are compared were tested on the same samples.")
    chance: float | None = Field(None, description="Of classes: the share of the most frequent one.")
    joined: bool = Field(False, description="Whether R² is that of all columns of a series together.")
    best: list[Best] = Field(default_factory=list)
    laws: list[PowerLaw] = Field(default_factory=list)
    sentences: list[str] = Field(default_factory=list)
    sessions: list[str] = Field(default_factory=list, description="Those that take the place of folds, if there are.")


@dataclass(frozen=True, eq=False)
class Variation:
    """The same decode over values of one thing.

    Attributes
    ----------
    table : DataFrame
        `TABLE_COLUMNS`: a row per method and case, with its score and its difference from the case it is compared with.
    folds : DataFrame
        `FOLD_COLUMNS`: all scores.
    found : Findings
    config : RunOptions
        The settings that are not varied.
    """

    table: pd.DataFrame
    folds: pd.DataFrame
    found: Findings
    config: RunOptions

    @property
    def sentences(self) -> list[str]:
        """What was found, in words."""
        return self.found.sentences

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variation):
            return NotImplemented
        same = self.table.equals(other.table) and self.folds.equals(other.folds)
        return same and self.found == other.found and self.config == other.config

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "\n".join([f"<Variation of {self.found.name!r} by {self.found.by}>", *self.sentences])

    def _repr_html_(self) -> str:
        head = render_facts(f"{self.found.name} by {self.found.by}", {"found": " ".join(self.sentences)})
        columns = ["method", "label", "mean", "low", "high", "against", "difference", "p_holm"]
        return head + self.table[columns].round(3).to_html(index=False, escape=True)

    def plot(self) -> list[Axes]:
        """Draw the scores of all values as the page shows them; return the axes."""
        return neurofs.show_axes(neurofs.draw_variation(self))

    def save(self, folder: str | Path) -> Path:
        """Write the variation as a folder, with its page."""
        folder = make_folder(folder)
        write_atomically(folder / "vary.toml", render_head(self.found.by, self.config))
        write_atomically(folder / "folds.csv", render_csv(self.folds))
        write_atomically(folder / "variation.csv", render_csv(self.table))
        content = json.dumps(self.found.model_dump(by_alias=True), indent=1, ensure_ascii=False, allow_nan=False)
        write_atomically(folder / "variation.json", content + "\n")
        write_atomically(folder / "variation.html", neurofs.render_variation(self))
        return folder


def render_head(by: str, config: RunOptions) -> str:
    """Return what vary.toml says: what is varied, and the settings that are not."""
    return render_toml({"by": by, "run": given_options(config)})


def read_variation(folder: str | Path) -> Variation:
    """Read the folder of a variation back: ``read_variation(v.save(folder)) == v``."""
    folder = Path(folder)
    try:
        found = Findings.model_validate_json(read_file(folder / "variation.json"))
        table = read_csv(folder / "variation.csv", TABLE_COLUMNS)
        folds = read_csv(folder / "folds.csv", FOLD_COLUMNS)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise InputError(folder, "a finished variation", f"{where}: not as expected", "Run it again.") from None
    except (OSError, ValueError) as error:
        raise InputError(folder, "a finished variation", error, "Finish it: neurofs vary.") from None
    settings = read_toml(folder / "vary.toml", "the settings of a variation")
    texts = {name: value.fillna("") for name, value in table.items() if TABLE_COLUMNS[str(name)] == "str"}
    folds = folds.assign(group=folds["group"].fillna(""))
    return Variation(table.assign(**texts), folds, found, make_options(RunOptions, settings["run"], "vary.toml"))


# Putting together


def combine(
    by: str,
    name: str,
    cases: Sequence[Case],
    problems: Sequence[Problem],
    results: Iterable[dict[Task, TaskResult]],
    methods: Sequence[str],
    config: RunOptions,
) -> Variation:
    """Return the variation that the results of all cases make."""
    score: Literal["r2", "accuracy"] = "accuracy" if problems[0].classes else "r2"
    rows = [
        _describe(case, problem, row, score) | {"n_kept": np.nan if result.kept is None else result.kept.sum()}
        for case, problem, found in zip(cases, problems, results, strict=True)
        for result in found.values()
        for row in result.rows
        if row["chosen"] and row["method"] in methods
    ]
    joined = score == "r2" and any(case.group.startswith("→ ") for case in cases) and len(problems[0].outputs) > 1
    folds = (
        (join_columns(pd.DataFrame(rows)) if joined else pd.DataFrame(rows))
        .reindex(columns=list(FOLD_COLUMNS))
        .astype(FOLD_COLUMNS)
    )
    ratio = Places.of(max(problems, key=lambda p: sum(len(fold.train) for fold in p.folds))).ratio
    against = {case.label: case.against for case in cases}
    tables = [describe_cases(folds[folds["method"] == method], method, against, ratio, score) for method in methods]
    table = pd.concat(tables, ignore_index=True).astype(TABLE_COLUMNS)
    tests = {case.label: problem for case, problem in zip(cases, problems, strict=True)}
    found = Findings(
        name=name,
        by=by,
        score=score,
        methods=list(methods),
        ratio=ratio,
        chance=find_chance(problems[0]) if score == "accuracy" else None,
        joined=joined,
        matched=all(_is_matched(tests[case.label], tests[case.against]) for case in cases if case.against),
        best=[] if by in AMOUNTS else list(find_best(folds, methods, ratio)),
        laws=list(fit_laws(folds, methods, ratio)) if by in AMOUNTS else [],
    )
    labels = {method: name_method(method) for method in methods}
    return Variation(table, folds, found.model_copy(update={"sentences": list(tell(found, table, labels))}), config)


def _is_matched(one: Problem, other: Problem) -> bool:
    """Tell whether two problems test the same moments on the same folds."""
    pairs = zip(one.folds, other.folds, strict=True)
    return np.array_equal(one.time, other.time) and all(np.array_equal(a.test, b.test) for a, b in pairs)


def _describe(case: Case, problem: Problem, row: dict[str, Any], score: str) -> dict[str, Any]:
    known = {key: row[key] for key in ("method", "output", "repeat", "fold", "n_train", "n_test")}
    about = {"label": case.label, "value": np.nan if case.value is None else case.value, "group": case.group}
    scores = {"score": row[score]} | ({} if score == "accuracy" else {"mse": row["mse"], "r2": row["r2"]})
    return {**about, "draw": case.draw, **known, **scores, "n_channels": problem.samples.n_channels}


def join_columns(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row for all columns of a series, with R² = 1 − Σ MSE / Σ variance.

    >>> rows = pd.DataFrame({"output": ["hand:x", "hand:y"], "fold": 0, "mse": [1.0, 1.0], "r2": [0.75, -9.0]})
    >>> join_columns(rows).round(3).to_dict("records")
    [{'output': 'hand', 'fold': 0, 'score': 0.512}]
    """
    parts = rows.assign(output=rows["output"].str.rpartition(":")[0], variance=find_variance(rows).fillna(0))
    parts["output"] = parts["output"].where(parts["output"] != "", rows["output"])
    keys = [key for key in parts if key not in ("mse", "r2", "score", "variance")]
    sums = parts.groupby(keys, sort=False, dropna=False)[["mse", "variance"]].sum().reset_index()
    return sums.assign(score=1 - sums["mse"] / sums["variance"].where(sums["variance"] > 0))[[*keys, "score"]]


def find_chance(problem: Problem) -> float:
    """Return the share of the most frequent class among all samples."""
    return float(np.bincount(problem.targets.ravel().astype(int)).max() / problem.targets.size)


def by_place(folds: pd.DataFrame) -> pd.DataFrame:
    """Return the score of each label (columns) in each fold (rows): the mean over outputs, repeats and draws."""
    means = folds.groupby(["label", "fold"], sort=False)["score"].mean()
    return means.unstack("label")[list(dict.fromkeys(folds["label"]))]


def describe_cases(folds: pd.DataFrame, method: str, against: dict[str, str], ratio: float, score: str) -> pd.DataFrame:
    """Return the rows of one method: the score of every case, and its difference from the one it is compared with."""
    places, rows = by_place(folds), []
    for label, part in folds.groupby("label", sort=False):
        first, other = part.iloc[0], against[str(label)]
        found = estimate(places[label], ratio, *RANGES[score])
        row = {"method": method, "label": label, "value": first["value"], "group": first["group"], **dict(found)}
        row |= {"n_channels": first["n_channels"], "n_train": part["n_train"].mean(), "against": other, "p": None}
        if part["n_kept"].notna().any():
            row |= dict(zip(("n_kept_low", "n_kept", "n_kept_high"), _find_range(part["n_kept"]), strict=True))
        if other and other != label:
            difference = places[label] - places[other]
            ends = estimate(difference, ratio)
            row |= {"difference": ends.mean, "difference_low": ends.low, "difference_high": ends.high}
            row["p"] = compare_paired(difference, ratio)["p"]
        rows.append(row)
    corrected = correct_holm([row["p"] for row in rows])
    table = pd.DataFrame(rows).assign(p_holm=corrected)
    return table.reindex(columns=list(TABLE_COLUMNS))


def _find_range(counts: pd.Series) -> tuple[float, float, float]:
    return float(counts.min()), float(counts.median()), float(counts.max())


def find_best(folds: pd.DataFrame, methods: Sequence[str], ratio: float) -> Iterable[Best]:
    """Yield the best value of each method, where values are at least three numbers."""
    values = folds.drop_duplicates("label").set_index("label")["value"]
    if values.isna().any() or len(values) < 3:
        return
    for method in methods:
        places = by_place(folds[folds["method"] == method])
        best = places.mean().idxmax()
        kept = [values[label] for label in places if not _is_worse(places[label] - places[best], ratio)]
        yield Best(method=method, value=values[best], low=min(kept), high=max(kept))


def _is_worse(difference: pd.Series, ratio: float) -> bool:
    """Tell whether differences from the best are below 0 (one-sided)."""
    d = difference.dropna().to_numpy()
    if d.size < 2 or not d.any():
        return False
    return bool(d.mean() + t.ppf(1 - LEVEL, d.size - 1) * standard_error(d, ratio) < 0)


# Power laws


def fit_power_law(amounts: Any, scores: Any) -> tuple[float, float, float]:
    """Return a, b and c of ``a − b n^(−c)`` with the least squared error; b ≥ 0 and a ≤ 1.

    >>> n = np.array([1, 2, 4, 8, 16.0])
    >>> [round(value, 1) for value in fit_power_law(n, 0.8 - 0.5 * n**-0.7)]
    [0.8, 0.5, 0.7]
    """
    n, y = np.asarray(amounts, float), np.asarray(scores, float)
    best, least = (float(y.mean()), 0.0, 1.0), float(np.sum((y - y.mean()) ** 2))
    for c in POWERS:
        x = n**-c
        slope = float(np.cov(x, y, bias=True)[0, 1] / np.var(x))
        a = float(y.mean() - slope * x.mean())
        if a > 1:  # the best line through (0, 1)
            a, slope = 1.0, float(np.sum(x * (y - 1)) / np.sum(x * x))
        error = float(np.sum((a + slope * x - y) ** 2))
        if slope <= 0 and error < least:
            best, least = (a, -slope, float(c)), error
    return best


def fit_laws(folds: pd.DataFrame, methods: Sequence[str], ratio: float) -> Iterable[PowerLaw]:
    """Yield the power law of each method, where there are at least three amounts."""
    values = folds.drop_duplicates("label").set_index("label")["value"]
    if len(values) < 3:
        return
    for method in methods:
        places = by_place(folds[folds["method"] == method])
        n = values[list(places.columns)].to_numpy()
        most, last = float(n.max()), places.columns[int(n.argmax())]
        fits = [fit_power_law(n, places.drop(index=fold).mean()) for fold in places.index]
        a, b, c = fit_power_law(n, places.mean())
        gains = np.array([_predict(fit, MORE * most) - _predict(fit, most) for fit in fits])
        grown = _predict((a, b, c), MORE * most) - _predict((a, b, c), most)
        scores = np.array([places[last].drop(index=fold).mean() for fold in places.index])
        misfit = float(np.sqrt(np.mean((places.mean().to_numpy() - _predict((a, b, c), n)) ** 2)))
        gain = _jackknife(grown, gains, ratio, misfit)
        found = _jackknife(float(places[last].mean()) + grown, scores + gains, ratio, misfit)
        ends = {end: None if value is None else min(value, 1.0) for end, value in found}
        predicted = Estimate(**ends)
        yield PowerLaw(method=method, a=a, b=b, c=c, most=most, asked=MORE * most, predicted=predicted, gain=gain)


def _predict(law: tuple[float, float, float], n: Any) -> Any:
    a, b, c = law
    return a - b * n**-c


def _jackknife(whole: float, parts: np.ndarray, ratio: float, misfit: float) -> Estimate:
    """Return an estimate whose interval comes from leaving out one fold at a time, and from how far the law misses.

    The pseudovalues J θ − (J − 1) θ₋ⱼ stand for the scores of single folds. `misfit` is the root of the mean squared
    distance of the law from the means that it was fitted to.
    """
    n = len(parts)
    pseudo = n * whole - (n - 1) * parts
    half = float(t.ppf(1 - LEVEL / 2, n - 1) * np.hypot(standard_error(pseudo, ratio), misfit))
    return Estimate(mean=whole, low=whole - half, high=whole + half)
