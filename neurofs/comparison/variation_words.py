"""What a variation found, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from neurofs.comparison.cases import AMOUNTS
from neurofs.comparison.summary import Estimate
from neurofs.comparison.wording import SCORE_NAMES, format_estimate, format_p
from neurofs.ground.errors import printable

if TYPE_CHECKING:
    from neurofs.comparison.variation import Best, Findings, PowerLaw

LEVEL = 0.05
UNITS = {"lead": "s", "bin_width": "s", "smooth": "s", "minutes": "min", "n_lags": "lags", "trials": "trials"}
LEAD = {
    "before": "spikes tell most of the target that comes after them",
    "after": "spikes tell most of the target that came before them",
    "at": "spikes tell most of the target of their own bin",
}


def name_unit(by: str) -> str:
    """Return the unit of a value; empty if it has none."""
    return UNITS.get(by, by if by in AMOUNTS else "")


def tell(found: Findings, table: pd.DataFrame, labels: Mapping[str, str]) -> Iterator[str]:
    """Yield what was found with each method, and what it rests on."""
    for method in found.methods:
        rows = table[table["method"] == method]
        said = list(_tell_method(found, method, rows))
        yield f"{labels[method][0].upper()}{labels[method][1:]}: {' '.join(said)}"
    yield _tell_basis(found, table)


def _tell_method(found: Findings, method: str, rows: pd.DataFrame) -> Iterator[str]:
    law = next((one for one in found.laws if one.method == method), None)
    best = next((one for one in found.best if one.method == method), None)
    if law is not None:
        yield from _tell_law(found, law, rows)
    elif best is not None:
        yield _tell_best(found, best, rows)
    elif "without" in set(rows["group"]):
        yield from _tell_groups(found, rows)
    elif rows["group"].str.startswith("→ ").any():
        yield from _tell_conditions(found, rows)
    else:
        yield from _tell_cases(found, rows)


def _tell_law(found: Findings, law: PowerLaw, rows: pd.DataFrame) -> Iterator[str]:
    unit, score = name_unit(found.by), SCORE_NAMES[found.score]
    last = rows.iloc[rows["value"].argmax()]
    yield f"with {law.most:g} {unit}, {score} = {_show(last)}."
    yield (
        f"Twice as much ({law.asked:g} {unit}) would give {format_estimate(law.predicted)}, a gain of "
        f"{format_estimate(law.gain)}."
    )
    if law.gain.low is not None and law.gain.low <= 0:
        yield "Whether more data would help cannot be told."


def _tell_best(found: Findings, best: Best, rows: pd.DataFrame) -> str:
    unit = name_unit(found.by)
    row = rows[rows["value"] == best.value].iloc[0]
    value, low, high = (f"{number:g}".replace("-", "−") for number in (best.value, best.low, best.high))
    where = f"best at {found.by} {value} {unit}".rstrip()
    alike = "" if best.low == best.high else f"; from {low} to {high} {unit} it cannot be told from that"
    text = f"{where}, {SCORE_NAMES[found.score]} = {_show(row)}{alike.rstrip()}."
    if found.by == "lead":
        side = "before" if best.low > 0 else "after" if best.high < 0 else "at"
        text += f" So {LEAD[side]}." if best.low * best.high > 0 or best.low == best.high == 0 else ""
    return text


def _tell_groups(found: Findings, rows: pd.DataFrame) -> Iterator[str]:
    score = SCORE_NAMES[found.score]
    everything = rows[rows["group"] == "all"].iloc[0]
    yield f"all {everything['n_channels']} channels, {score} = {_show(everything)}{_tell_kept(everything)}."
    for _, alone in rows[rows["group"] == "alone"].iterrows():
        name = printable(alone["label"])
        n = alone["n_channels"]
        text = f"{name} alone ({n} channel{'s' * (n != 1)}), {_show(alone)}{_tell_kept(alone)}"
        without = rows[rows["label"] == f"all but {alone['label']}"]
        if len(without):
            lost = without.iloc[0]
            text += f"; beyond the others it adds {_show_difference(lost, sign=-1)}"
        yield f"{text}."
    rest = everything["n_channels"] - rows.loc[rows["group"] == "alone", "n_channels"].sum()
    if rest > 0:
        yield f"{rest} of all channels are in none of these groups."


def _tell_conditions(found: Findings, rows: pd.DataFrame) -> Iterator[str]:
    """Yield the score per condition, and what training on another one costs."""
    score, tested = SCORE_NAMES[found.score], rows["group"].str.removeprefix("→ ")
    trained = [label.removesuffix(f" → {name}") for label, name in zip(rows["label"], tested, strict=True)]
    rows = rows.assign(tested=tested, trained=trained)
    own = rows[rows["trained"] == rows["tested"]]
    mixed = rows[rows["label"] == "all → " + rows["tested"]].drop(index=own.index, errors="ignore")
    for how, part in (("trained on all trials", mixed), ("Trained on the tested condition alone", own)):
        told = "; ".join(f"{printable(row['tested'])}, {score} = {_show(row)}" for _, row in part.iterrows())
        yield f"{how}: {told}."
    across = rows.drop(index=[*own.index, *mixed.index])
    worse = across[(across["p_holm"] < LEVEL) & (across["difference"] < 0)]
    better = across[(across["p_holm"] < LEVEL) & (across["difference"] > 0)]
    yield (
        f"Trained on another condition: clearly worse in {len(worse)} of {len(across)} pairs, clearly better in "
        f"{len(better)}."
    )
    if len(worse):
        most = worse.loc[worse["difference"].idxmin()]
        yield f"Most is lost by {printable(most['label'])}: {_show_difference(most)}."


def _tell_kept(row: Any) -> str:
    """Say how few channels nearly suffice, if a method found that out."""
    if pd.isna(row["n_kept"]):
        return ""
    folds = f"{row['n_kept_low']:g} to {row['n_kept_high']:g} in single folds"
    return f", for which {row['n_kept']:g} nearly suffice ({folds})"


def _tell_cases(found: Findings, rows: pd.DataFrame) -> Iterator[str]:
    score = SCORE_NAMES[found.score]
    for _, row in rows.iterrows():
        text = f"{printable(row['label'])}, {score} = {_show(row)}"
        if not pd.isna(row["difference"]):
            text += f", {_show_difference(row)} than {printable(row['against'])}"
        yield f"{text}."


def _show(row: Any) -> str:
    return format_estimate(Estimate(mean=row["mean"], low=row["low"], high=row["high"]))


def _show_difference(row: Any, sign: int = 1) -> str:
    """Return a difference with its interval and p-value; −1 turns it round."""
    ends = sorted(sign * row[key] for key in ("difference_low", "difference_high"))
    difference = Estimate(mean=sign * row["difference"], low=ends[0], high=ends[1])
    more = "" if sign < 0 else " more" if row["difference"] >= 0 else " (less)"
    clear = "" if row["p_holm"] < LEVEL else ", not clearly different"
    return f"{format_estimate(difference)}{more} (p = {format_p(row['p_holm'])}{clear})"


def _tell_basis(found: Findings, table: pd.DataFrame) -> str:
    """Say what was compared with what, and what the method can see."""
    tests = int(table["p"].notna().sum() / max(1, len(found.methods)))
    same = "the same test samples" if found.matched else "folds of the same stretches of time, but other samples"
    many = f", corrected for {tests} comparisons (Holm)" if tests > 1 else ""
    linear = " Ridge sees what a linear decoder can use." if found.methods == ["ridge"] else ""
    width = (
        " Wider bins average the target over longer times, which makes it easier." if found.by == "bin_width" else ""
    )
    paired = f"paired on {same}" if found.matched or found.by != "run" else "paired only where folds match"
    over = "folds"
    if found.sessions:
        over, paired = f"{len(found.sessions)} sessions", "paired over sessions"
    return f"Scores are means over {over} with 95 % intervals; differences are {paired}{many}.{linear}{width}"
