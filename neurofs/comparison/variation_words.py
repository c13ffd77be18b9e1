"""What a variation found, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from neurofs.comparison.summary import Estimate
from neurofs.comparison.wording import SCORE_NAMES, format_estimate, format_number, format_p, format_value
from neurofs.ground.errors import printable

if TYPE_CHECKING:
    from neurofs.comparison.variation import Best, Findings, PowerLaw

LEVEL = 0.05
FEW_GROUPS = 4
"""Groups or conditions up to which each is told of; of more, the best and those that are clear."""

UNITS = {
    "lead": "s",
    "bin_width": "s",
    "smooth": "s",
    "n_lags": "lags",
    "minutes": "min of training data",
    "trials": "training trials",
    "channels": "channels",
}
AT = {
    "lead": "at a lead of {} s",
    "n_lags": "with {} lags",
    "bin_width": "with bins of {} s",
    "smooth": "smoothed over {} s",
}
LEAD = {
    "before": "spikes tell most of the target that comes after them",
    "after": "spikes tell most of the target that came before them",
    "at": "spikes tell most of the target of their own bin",
}


def name_unit(by: str) -> str:
    """Return the unit of a value; empty if it has none."""
    return UNITS.get(by, "")


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
        yield from _tell_best(found, best, rows)
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
        f"Twice as {'much' if found.by == 'minutes' else 'many'} ({law.asked:g}) would give "
        f"{format_estimate(law.predicted)}, a gain of {format_estimate(law.gain)}."
    )
    if law.gain.low is not None and law.gain.low <= 0:
        yield "Whether more would help cannot be told."


def _tell_best(found: Findings, best: Best, rows: pd.DataFrame) -> Iterator[str]:
    unit = name_unit(found.by)
    values = rows["value"]
    row = rows[values == best.value].iloc[0]
    value, low, high = map(format_value, (best.value, best.low, best.high))
    where = "without smoothing" if found.by == "smooth" and best.value == 0 else AT[found.by].format(value)
    alike = "" if best.low == best.high else f"; from {low} to {high} {unit} it cannot be told from that"
    yield f"best {where}, {SCORE_NAMES[found.score]} = {_show(row)}{alike}."
    if found.by == "lead" and (best.low * best.high > 0 or best.low == best.high == 0):
        yield f"So {LEAD['before' if best.low > 0 else 'after' if best.high < 0 else 'at']}."
    if best.value == values.max() or (found.by == "lead" and best.value == values.min()):
        yield "That is the last value that was tried: more of them, with --values, may be better."


def _name_group(found: Findings, label: str) -> str:
    """Return the name of a group or condition; a bare number is told whose it is.

    >>> from neurofs.comparison.variation import Findings
    >>> found = Findings(schema=1, name="x", by="electrode", score="r2", methods=[], ratio=0, matched=True)
    >>> _name_group(found, "3"), _name_group(found, "all but 3"), _name_group(found, "M1")
    ('electrode 3', 'all but 3', 'M1')
    """
    bare = label.replace(".", "", 1).removeprefix("-").isdecimal()
    return printable(f"{found.by} {label}" if bare else label)


def _tell_groups(found: Findings, rows: pd.DataFrame) -> Iterator[str]:
    """Yield what each group tells alone and adds to the others; of many groups, what stands out."""
    everything, score = rows[rows["group"] == "all"].iloc[0], SCORE_NAMES[found.score]
    yield f"all {everything['n_channels']} channels, {score} = {_show(everything)}{_tell_kept(everything)}."
    alone = rows[rows["group"] == "alone"]
    without = rows.set_index("label").reindex("all but " + alone["label"]).set_index(alone.index)
    if len(alone) <= FEW_GROUPS:
        for i, group in alone.iterrows():
            lost = without.loc[i]
            added = "" if pd.isna(lost["difference"]) else f"; beyond the others it adds {_show_added(lost)}"
            yield f"{_tell_alone(found, group)}{added}."
    else:
        yield f"Most is told by {_tell_alone(found, alone.loc[alone['mean'].idxmax()])}."
        clear = without[without["difference"].lt(0) & without["p_holm"].lt(LEVEL)]
        told = [f"{_name_group(found, alone['label'][i])}, {_show_added(lost)}" for i, lost in clear.iterrows()]
        many = f"{len(told) or 'none'} of {len(alone)} clearly {'adds' if len(told) < 2 else 'add'} something"
        yield f"Beyond the others, {many}{': ' if told else ''}{'; '.join(told)}."
    rest = everything["n_channels"] - alone["n_channels"].sum()
    if rest > 0:
        yield f"{rest} of all channels are in none of these groups."


def _tell_alone(found: Findings, row: Any) -> str:
    name, n = _name_group(found, row["label"]), int(row["n_channels"])
    return f"{name} alone ({n} channel{'s' * (n != 1)}), {_show(row)}{_tell_kept(row)}"


def _tell_conditions(found: Findings, rows: pd.DataFrame) -> Iterator[str]:
    """Yield the score per condition, and what training on another one costs."""
    tested = rows["group"].str.removeprefix("→ ")
    trained = [label.removesuffix(f" → {name}") for label, name in zip(rows["label"], tested, strict=True)]
    rows = rows.assign(tested=tested, trained=trained)
    own = rows[rows["trained"] == rows["tested"]]
    mixed = rows[rows["label"] == "all → " + rows["tested"]].drop(index=own.index, errors="ignore")
    for how, part in (("trained on all trials", mixed), ("Trained on the tested condition alone", own)):
        if len(part) > FEW_GROUPS:
            part = part.sort_values("mean").iloc[[0, -1]]
            how += ", from the worst to the best"
        yield f"{how}: {'; '.join(_tell_tested(found, row) for _, row in part.iterrows())}."
    across = rows.drop(index=[*own.index, *mixed.index])
    worse = across[(across["p_holm"] < LEVEL) & (across["difference"] < 0)]
    better = across[(across["p_holm"] < LEVEL) & (across["difference"] > 0)]
    yield (
        f"Trained on another condition: clearly worse in {len(worse)} of {len(across)} pairs, clearly better in "
        f"{len(better)}."
    )
    if len(worse):
        most = worse.loc[worse["difference"].idxmin()]
        yield f"Most is lost by {printable(most['label'])}: {_show_size(most)}, p = {format_p(most['p_holm'])}."


def _tell_tested(found: Findings, row: Any) -> str:
    return f"{_name_group(found, row['tested'])}, {SCORE_NAMES[found.score]} = {_show(row)}"


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
            text += f", {_show_difference(row)}"
        yield f"{text}."


def _show(row: Any) -> str:
    return format_estimate(Estimate(mean=row["mean"], low=row["low"], high=row["high"]))


def _show_size(row: Any, sign: int = 0) -> str:
    """Return a difference with its interval, turned round by −1; with 0, so that it is above 0."""
    sign = sign or (1 if row["difference"] >= 0 else -1)
    low, high = sorted(sign * row[key] for key in ("difference_low", "difference_high"))
    return format_estimate(Estimate(mean=sign * row["difference"], low=low, high=high))


def _show_added(lost: Any) -> str:
    """Say what a group adds to the others, from the row of all channels but those of the group."""
    clear = lost["p_holm"] < LEVEL
    return f"{'' if clear else 'nothing clear, '}{_show_size(lost, -1)}, p = {format_p(lost['p_holm'])}"


def _show_difference(row: Any) -> str:
    """Say how a case differs from the one it is compared with."""
    other, p = printable(row["against"]), "" if pd.isna(row["p_holm"]) else f", p = {format_p(row['p_holm'])}"
    if row["p_holm"] < LEVEL:
        return f"{'more' if row['difference'] > 0 else 'less'} than {other} by {_show_size(row)}{p}"
    return f"not clearly different from {other} (difference {_show_size(row, 1)}{p})"


def _tell_basis(found: Findings, table: pd.DataFrame) -> str:
    """Say what was compared with what, and what the method can see."""
    tests = int(table["p"].notna().sum() / max(1, len(found.methods)))
    same = "the same test samples" if found.matched else "folds of the same stretches of time, but other samples"
    many = f", corrected for {tests} comparisons (Holm)" if tests > 1 else ""
    paired = f"paired on {same}" if found.matched or found.by != "run" else "paired only where folds match"
    over = "folds"
    if found.sessions:
        over, paired = f"{len(found.sessions)} sessions", "paired over sessions"
    told = [f"Scores are means over {over} with 95 % intervals; differences are {paired}{many}."]
    if found.methods == ["ridge"]:
        told.append("Ridge sees what a linear decoder can use.")
    if found.by == "bin_width":
        told.append("Wider bins average the target over longer times, which makes it easier.")
    if found.chance is not None:
        told.append(f"Who always says the most frequent class is right in {format_number(found.chance, 2)}.")
    if found.joined:
        told.append(
            "R² is that of all columns of a series together, 1 − Σ MSE / Σ variance: some hardly vary in a condition."
        )
    return " ".join(told)
