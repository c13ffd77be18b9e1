"""Transfer across sessions: rank the features of a new session before any of its targets is seen.

Electrodes move from day to day, so that channel 17 of today is not that of yesterday. What lasts are the
properties of good features. The quality of every channel × lag feature is measured on earlier sessions and
regressed on its meta-features (`QualityMap`); the spikes of the new session then give the meta-features, and
thereby the expected quality, of its own features. Where its targets are known after all, `transfer` says how
that ranking compares with three others:

    average       the mean quality, on the earlier sessions, of the feature with the same channel number and lag
    firing rate   of the channel in the new session
    rgs           RGS with the targets of the new session, which the others should approach

by the rank correlation with the quality that is measured with the targets, and by the R² of soft kNN on the
first n features, in folds of whole trials or blocks with gaps. Inside a fold meta-features, firing rate and RGS
see the training part only. (The rank correlation of RGS is no ceiling: it ranks features by what they are worth
together, the quality is that of each alone.)

Whether the ranking is ahead of the first two is tested over folds, paired. A fold counts once, whatever its number
of outputs, which are decoded from the same spikes; folds share training data, for which the test allows (Nadeau and
Bengio, `comparison.stats`); and p-values are corrected for two rivals. All of it speaks of this one session: that
the ranking helps on other days takes other days.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.ensemble import RandomForestRegressor

from neurofs.comparison.scores import r_squared
from neurofs.comparison.stats import compare_paired, correct_holm, estimate
from neurofs.comparison.summary import Estimate
from neurofs.comparison.wording import format_estimate, format_p
from neurofs.features.samples import Samples
from neurofs.features.splits import BlockedKFold
from neurofs.features.tensor import build_tensor, to_samples
from neurofs.ground.config import TensorOptions
from neurofs.ground.errors import UsageError, printable, quoted
from neurofs.metric.neighbors import prefix_curve
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.window import choose_window, settle_window
from neurofs.selectors import RGS, SELECTORS
from neurofs.selectors.meta import QualityMap, describe_features, measure_quality

METHODS = ("meta-features", "average", "firing rate", "rgs")
SIZES = (10, 20, 50, 100, 200)
N_NEIGHBORS, BETA, N_FOLDS = 30, 0.25, 5
N_CONCLUDED = 20  # features with which the rankings are compared in words
RIVALS = {"average": "channel number", "firing rate": "firing rate"}  # rankings that see no target either
LEVEL = 0.05
EMPTY = "no target"
SCORES = ["method", "n", "fold", "output", "r2", "n_train", "n_test"]


@dataclass(frozen=True, eq=False)
class View:
    """A session as features: samples, and the targets and trials of their rows if any."""

    name: str
    samples: Samples
    lags: np.ndarray
    bin_width: float
    channels: pd.DataFrame
    y: np.ndarray
    trial: np.ndarray | None

    def describe(self, rows: Any = slice(None)) -> pd.DataFrame:
        """Return the meta-features of all features, by some rows only."""
        return describe_features(self.samples[rows], self.channels, lags=self.lags, bin_width=self.bin_width)


def view_session(recording: Recording, options: TensorOptions, *, blind: bool = False) -> View:
    """Return the samples of a recording; `blind` puts an empty target in the place of all behavior."""
    width, n_lags, _ = choose_window(recording, options.bin_width, options.n_lags)
    if blind:
        recording = dataclasses.replace(recording, behavior={EMPTY: _empty_target(recording, width)})
        options = options.model_copy(update={"target": (EMPTY,)})
    if recording.is_signal:
        raise UsageError(f"{printable(recording.name)}: transfer learns from spikes; found {recording.kind}")
    tensor = build_tensor(recording, **options.model_dump())
    samples, y, trial = to_samples(tensor)
    if not len(samples):
        raise UsageError(
            f"session {quoted(recording.name)} has no samples: no window of {n_lags} bins of {width:g} s "
            f"fits into a trial; choose fewer or smaller bins"
        )
    lags, width = tensor["lag"].values, tensor.attrs["bin_width"]
    trials = trial if len(recording.trials) else None
    return View(recording.name, samples, lags, width, recording.channels, y, trials)


def _empty_target(recording: Recording, bin_width: float) -> Series:
    start, stop = recording.span
    time = np.arange(start, stop, bin_width) + bin_width / 2
    return Series(EMPTY, time, np.zeros((len(time), 1)), (EMPTY,))


# What was learned


class Knowledge:
    """What earlier sessions taught: a map from meta-features to quality, and the mean quality by number."""

    def __init__(self, sessions: Sequence[View], new: pd.DataFrame, quality: Any, regressor: Any, seed: int) -> None:
        """Measure the quality on all sessions; `new` tells which meta-features the new session has."""
        measured = [measure_quality(quality, view.samples, view.y, view.trial) for view in sessions]
        tables = [view.describe() for view in sessions]
        self.columns = common_columns([*tables, new])
        rows = pd.concat([table.reindex(columns=self.columns, fill_value=0.0) for table in tables])
        if regressor is None:
            regressor = RandomForestRegressor(100, min_samples_leaf=5, max_features=0.5, random_state=seed)
        self.map = QualityMap(quality, regressor).fit(rows, np.concatenate(measured))
        self.by_number = [q.reshape(view.samples.n_lags, -1) for q, view in zip(measured, sessions, strict=True)]

    def predict(self, meta: pd.DataFrame) -> np.ndarray:
        """Return the expected quality of features."""
        return self.map.predict(meta.reindex(columns=self.columns, fill_value=0.0))

    def average(self, n_channels: int) -> np.ndarray:
        """Return the mean quality by lag and channel number; unknown numbers get the mean of their lag."""
        total, n = np.zeros((len(self.by_number[0]), n_channels)), np.zeros(n_channels)
        for grid in self.by_number:
            known = min(n_channels, grid.shape[1])
            total[:, :known] += grid[:, :known]
            n[:known] += 1
        mean_of_lag = np.mean([grid.mean(axis=1) for grid in self.by_number], axis=0)[:, None]
        return np.where(n > 0, total / np.maximum(n, 1), mean_of_lag).ravel()


def learn_quality(
    sessions: Sequence[View], new: pd.DataFrame, *, quality: Any = None, regressor: Any = None, random_state: int = 0
) -> Knowledge:
    """Learn from earlier sessions what good features are like.

    Parameters
    ----------
    sessions : several View
    new : DataFrame
        Meta-features of the new session; properties that a session lacks are left out for all.
    quality : selector or callable, optional
        What is measured; the absolute correlation with the targets by default.
    regressor : scikit-learn regressor, optional
        A random forest by default: it passes over properties that do not help, such as the number of an
        electrode that has moved.
    random_state : int
        Seed of the forest.
    """
    if not sessions:
        raise UsageError("transfer: expected at least one earlier session")
    return Knowledge(sessions, new, quality, regressor, random_state)


def common_columns(tables: Sequence[pd.DataFrame]) -> list[str]:
    """Return the meta-features that all tables have; a kind of channel counts if all tell kinds at all.

    >>> a, b = pd.DataFrame({"lag": [], "x": [], "kind=a": []}), pd.DataFrame({"lag": [], "kind=b": []})
    >>> common_columns([a, b]), common_columns([a, b, b[["lag"]]])
    (['lag', 'kind=a', 'kind=b'], ['lag'])
    """
    names = list(dict.fromkeys(name for table in tables for name in table))
    tell_kinds = all(any(name.startswith("kind=") for name in table) for table in tables)
    return [
        name for name in names if (tell_kinds if name.startswith("kind=") else all(name in table for table in tables))
    ]


# The new session


@dataclass(frozen=True, eq=False)
class Transfer:
    """A ranking of the features of a new session, and how it compares; see the module."""

    new: str
    earlier: list[str]
    quality: str
    predicted: np.ndarray  #: expected quality of each feature, in the order of `Samples`
    ranking: pd.DataFrame  #: rank, channel, lag and predicted quality, best first
    agreement: dict[str, float]  #: rank correlation of each method with the measured quality, if known
    scores: pd.DataFrame  #: R²: method, n, fold, output, r2, n_train, n_test; empty if the targets are unknown

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, R² as means."""
        r2 = self.scores.groupby(["method", "n"], sort=False)["r2"].mean() if len(self.scores) else {}
        return {
            "new": self.new,
            "earlier": self.earlier,
            "quality": self.quality,
            "ranking": self.ranking.to_dict("records"),
            "rank_correlation": self.agreement,
            "leads": [lead.to_dict() for lead in find_leads(self.scores)] if len(self.scores) else [],
            "r2": [{"method": m, "n": int(n), "r2": float(v)} for (m, n), v in dict(r2).items()],
        }


@dataclass(frozen=True)
class Lead:
    """By how much the ranking decodes better than a rival, in R² with n features, over folds of the new session."""

    rival: str
    n: int
    difference: Estimate
    p: float | None  #: corrected for overlapping training sets and for the number of rivals

    @property
    def is_clear(self) -> bool:
        """Whether the ranking is ahead, beyond what folds may differ by."""
        return bool((self.difference.mean or 0.0) > 0 and self.p is not None and self.p <= LEVEL)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {"rival": self.rival, "n": self.n, "difference": self.difference.model_dump(), "p": self.p}


def find_leads(scores: pd.DataFrame) -> list[Lead]:
    """Compare the ranking with both rivals at 20 features, or the first number after it.

    >>> r2 = {"meta-features": [0.5, 0.6, 0.55], "average": [0.4, 0.5, 0.46], "firing rate": [0.5, 0.5, 0.7]}
    >>> rows = [(m, 20, fold, 0, value, 80, 20) for m, values in r2.items() for fold, value in enumerate(values)]
    >>> leads = find_leads(pd.DataFrame(rows, columns=SCORES))
    >>> [(lead.rival, round(lead.difference.mean, 3), round(lead.p, 3), lead.is_clear) for lead in leads]
    [('average', 0.097, 0.004, True), ('firing rate', -0.017, 0.878, False)]
    """
    n = next((n for n in scores["n"].unique() if n >= N_CONCLUDED), scores["n"].max())
    part = scores[scores["n"] == n]
    ratio = float((part["n_test"] / part["n_train"]).mean())
    by_fold = part.groupby(["fold", "method"])["r2"].mean().unstack("method")
    differences = {rival: by_fold["meta-features"] - by_fold[rival] for rival in RIVALS}
    p_values = correct_holm([compare_paired(d, ratio)["p"] for d in differences.values()])
    return [
        Lead(rival, int(n), estimate(d, ratio), p) for (rival, d), p in zip(differences.items(), p_values, strict=True)
    ]


def transfer(
    earlier: Sequence[Recording],
    new: Recording,
    options: TensorOptions,
    *,
    quality: str = "corrcoef",
    regressor: Any = None,
    random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Transfer:
    """Rank the features of a new session by what earlier sessions taught, and compare, where it has targets.

    Parameters
    ----------
    earlier, new : recordings
        `new` may have no behavior at all; then there is a ranking, and nothing to compare it with.
    options : TensorOptions
        Target, bins and lags, the same for all sessions; "auto" is what suits the new one.
    quality : str
        The name of a selector whose weights are the quality.
    regressor, random_state :
        As in `learn_quality`; the seed is also that of RGS.
    progress : callable, optional
        Called with the number of folds done and of all.

    Examples
    --------
    >>> from neurofs.recordings.simulate import simulate_session
    >>> days = [simulate_session(12, n_electrodes=2, random_state=day) for day in range(3)]
    >>> found = transfer(days[:2], days[2], TensorOptions(target="hand_velocity", n_lags=2))
    >>> len(found.ranking), list(found.agreement)
    (16, ['meta-features', 'average', 'firing rate', 'rgs'])
    """
    _check_apart(earlier, new)
    options = settle_window(options, new)
    measure = _find_measure(quality)
    blind = view_session(new, options, blind=True)
    meta = blind.describe()
    views = [view_session(recording, options) for recording in earlier]
    known = learn_quality(views, meta, quality=measure, regressor=regressor, random_state=random_state)
    predicted = known.predict(meta)
    agreement: dict[str, float] = {}
    scores = pd.DataFrame(columns=SCORES)
    if new.behavior:
        view = view_session(new, options)
        truth = measure_quality(measure, view.samples, view.y, view.trial)
        agreement = compare_rankings(view, known, predicted, truth, random_state)
        scores = decode_rankings(view, known, random_state, progress)
    names = [recording.name for recording in earlier]
    ranking = _list_ranking(blind, predicted)
    return Transfer(new.name, names, quality, predicted, ranking, agreement, scores)


def _check_apart(earlier: Sequence[Recording], new: Recording) -> None:
    for recording in earlier:
        if recording is new or (new.source_hash and recording.source_hash == new.source_hash):
            raise UsageError(
                f"transfer: the new session {quoted(new.name)} is also among the earlier ones; leave it out there"
            )


def _find_measure(quality: str) -> Any:
    if quality not in SELECTORS or SELECTORS[quality].target == "classes":
        names = [name for name, kind in SELECTORS.items() if kind.target != "classes"]
        raise UsageError(f"quality: expected one of {', '.join(names)}; found {quoted(quality)}")
    return SELECTORS[quality]()


def _list_ranking(view: View, predicted: np.ndarray) -> pd.DataFrame:
    order = np.argsort(-predicted, kind="stable")
    n = view.samples.n_channels
    table = {
        "rank": np.arange(1, order.size + 1),
        "channel": view.channels["name"].to_numpy()[order % n],
        "lag": view.lags[::-1][order // n],
        "predicted": predicted[order],
    }
    return pd.DataFrame(table)


def grade_features(view: View, known: Knowledge, rows: Any, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield for every method a grade of each feature, high is good, from some rows of the new session."""
    meta = view.describe(rows)
    yield "meta-features", known.predict(meta)
    yield "average", known.average(view.samples.n_channels)
    yield "firing rate", meta["rate"].to_numpy()
    trial = None if view.trial is None else view.trial[rows]
    rgs = RGS(random_state=seed).fit(view.samples[rows], view.y[rows], groups=trial)
    yield "rgs", -rgs.ranking_.astype(float)


def compare_rankings(
    view: View, known: Knowledge, predicted: np.ndarray, truth: np.ndarray, seed: int
) -> dict[str, float]:
    """Return the rank correlation of every method with the quality that was measured; 0 if one is constant."""
    grades = dict(grade_features(view, known, slice(None), seed)) | {"meta-features": predicted}
    return {method: rank_correlation(values, truth) for method, values in grades.items()}


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return Spearman's correlation, 0 if one side is constant.

    >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 4.0, 9.0]))
    1.0
    """
    return 0.0 if np.ptp(a) == 0 or np.ptp(b) == 0 else round(float(spearmanr(a, b).statistic), 12)


def decode_rankings(
    view: View, known: Knowledge, seed: int, progress: Callable[[int, int], None] | None = None
) -> pd.DataFrame:
    """Return R² of soft kNN on the first n features of every method, by fold and output."""
    samples, y = view.samples, view.y
    sizes = [n for n in SIZES if n < samples.n_features] + [samples.n_features]
    rows: list[tuple[Any, ...]] = []
    for fold, (train, test) in enumerate(_split(view)):
        for method, grades in grade_features(view, known, train, seed):
            order = np.argsort(-grades, kind="stable")
            predicted = prefix_curve(
                samples[train], y[train], samples[test], order=order, sizes=sizes, k=N_NEIGHBORS, beta=BETA
            )
            r2 = r_squared(y[test], predicted, axis=-2)
            cells = [(s, o) for s in range(len(sizes)) for o in range(y.shape[1])]
            rows += [(method, sizes[s], fold, o, r2[s, o], len(train), len(test)) for s, o in cells]
        if progress:
            progress(fold + 1, N_FOLDS)
    return pd.DataFrame(rows, columns=SCORES)


def _split(view: View) -> list[tuple[np.ndarray, np.ndarray]]:
    n_blocks = len(view.samples) if view.trial is None else len(np.unique(view.trial))
    if n_blocks < N_FOLDS:
        what = "samples" if view.trial is None else "trials"
        raise UsageError(
            f"session {quoted(view.name)}: expected at least {N_FOLDS} {what}, one per fold; found {n_blocks}"
        )
    return list(BlockedKFold(N_FOLDS).split(view.samples, groups=view.trial))


# As text


def render_transfer(found: Transfer, top: int = 20) -> str:
    """Return the ranking and the comparison as text."""
    earlier = ", ".join(printable(name) for name in found.earlier)
    lines = [
        f"{printable(found.new)}: {len(found.ranking)} features ranked without its targets, from {earlier}",
        "",
        f"{'rank':>4}  {'channel':<16}{'lag (ms)':>9}{'expected quality':>18}   ({found.quality})",
    ]
    for row in found.ranking.head(top).itertuples():
        lines.append(f"{row.rank:>4}  {printable(row.channel):<16}{1000 * row.lag:>9.0f}{row.predicted:>18.3f}")
    if not found.agreement:
        return "\n".join([*lines, "", "The session has no behavior to compare the ranking with."])
    return "\n".join([*lines, "", *_render_comparison(found)])


def _render_comparison(found: Transfer) -> list[str]:
    mean = found.scores.groupby(["method", "n"], sort=False)["r2"].mean().unstack("n")
    head = "".join(f"{f'n = {n}':>9}" for n in mean.columns)
    lines = ["With its targets, afterwards: rank correlation with the measured quality; R² of soft kNN on the best n"]
    lines += ["", f"{'ranking by':<26}{'rank corr.':>10}{head}"]
    labels = {"average": "average by number", "rgs": "RGS, which had the targets"}
    for method in METHODS:
        cells = "".join(f"{value:>9.3f}" for value in mean.loc[method])
        lines.append(f"{labels.get(method, method):<26}{found.agreement[method]:>10.3f}{cells}")
    return [*lines, "", _conclude(mean, find_leads(found.scores))]


def _conclude(mean: pd.DataFrame, leads: Sequence[Lead]) -> str:
    """Return in words whether the properties helped, by the rival that came closest."""
    closest = min(leads, key=lambda lead: np.inf if lead.difference.mean is None else lead.difference.mean)
    at_n = mean[closest.n]
    place, advice = _place(closest, leads)
    difference = format_estimate(closest.difference)
    return (
        f"Chosen by properties, before any target was seen, {closest.n} features decode with R² = "
        f"{at_n['meta-features']:.3f}, {place} those chosen by {RIVALS[closest.rival]} ({at_n[closest.rival]:.3f}; "
        f"difference {difference}, p = {format_p(closest.p)}){advice}. RGS, with the targets, reaches "
        f"{at_n['rgs']:.3f}. Intervals and p are over folds of this session and allow for what they share."
    )


def _place(closest: Lead, leads: Sequence[Lead]) -> tuple[str, str]:
    """Return where the ranking stands, and what to do."""
    if all(lead.is_clear for lead in leads):
        return "ahead of", ""
    if (closest.difference.mean or 0.0) > 0:
        return "not clearly ahead of", ": folds alone may differ that much"
    return "no better than", ": do not rely on this ranking"
