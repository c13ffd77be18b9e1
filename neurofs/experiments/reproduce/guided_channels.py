"""Guided extraction (Navot 2006, 5.3) on recordings: which windows of which channels, when channels cost.

The source generates features of images for a budget; here they are generated from spikes. A feature is the count
of one channel in a window of lags, or the product of two such counts. Mufasa (50 rounds) looks for good values of

    rate, snr       of the channels, standardized over the channels (`describe_features`)
    reach, width    oldest bin of the lags that are used, and bins of a window
    products        percent of features that are products with another channel of the set
    per channel     features of each channel

and draws such channels until the budget is used up. A channel costs ½ + ½ rate / mean rate, as on a wireless
link with a fixed and a variable part; its features cost nothing more. Rivals with the same budget:

    random            50 sets with any values, of which the best is taken
    correlation       channels by the largest correlation of a bin, all their bins as they are
    correlation/cost  the same by correlation over cost
    greedy            channels by gain per cost, all their bins as they are (`choose_within_budget`), among the 40
                      best by correlation over cost

Sets are measured by ridge regression in two blocks of the training part, and scored by R² on test blocks. The
sessions are a simulated day and, where they are at hand, two recordings of the league, in ten bins of 50 ms
(chewie: five of 100 ms).
Nothing of this is published; the question is whether the finding of figure 5.3, on digits, carries over.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from neurofs.comparison.scores import r_squared
from neurofs.experiments.bench.recordings import CHEWIE, shared_data
from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import add_legends, make_axes, plot_means
from neurofs.experiments.reproduce.tables import Progress, average, choose, render_means, track
from neurofs.features.samples import Samples
from neurofs.features.splits import BlockedKFold
from neurofs.features.tensor import build_tensor, to_samples
from neurofs.recordings.readers import load
from neurofs.recordings.simulate import simulate_session
from neurofs.selectors.budget import choose_within_budget, rank_per_cost, spend
from neurofs.selectors.filters import CorrCoef
from neurofs.selectors.meta import describe_features
from neurofs.selectors.mufasa import draw_near, search_points
from neurofs.selectors.targets import standardize

MINUTES, OURS = 1, True
J, ALPHA = 50, 100.0
NEAR = 0.5  # standard deviation around a point in which channels are drawn, in those of the channels
BUDGETS = (2, 4, 8, 16)
N_FOLDS, N_CANDIDATES = 5, 40
FILES = {"stevenson": "stevenson2011_m1.mat", "chewie": CHEWIE}
NAMES = ("rate", "snr", "reach", "width", "products", "per channel")
RIVALS = ("random", "correlation", "correlation/cost", "greedy")


# ------------------------------------------------------------------------------------------------- sessions


class Session(NamedTuple):
    """A recording to decode."""

    name: str
    samples: Samples
    y: np.ndarray
    trials: np.ndarray | None


def read_sessions(n_trials: int = 150, seed: int = 0) -> Iterator[Session]:
    """Yield a simulated day, and those recordings whose files are there."""
    yield _cut(simulate_session(n_trials, random_state=2000 + seed), "simulated", "hand_velocity", 0.1)
    if (path := shared_data() / FILES["stevenson"]).exists():
        yield _cut(load(path, trials=False), "stevenson", ["handVel:x", "handVel:y"], 0.25)
    if (path := shared_data() / FILES["chewie"]).exists():  # stored in bins of 100 ms, in short trials
        yield _cut(load(path), "chewie", "hand_velocity", 0.1, bin_width=0.1, n_lags=5)


def _cut(recording: Any, name: str, target: Any, step: float, bin_width: float = 0.05, n_lags: int = 10) -> Session:
    """Return the samples of a recording, `step` seconds apart."""
    tensor = build_tensor(recording, target, bin_width=bin_width, n_lags=n_lags, step=step)
    samples, y, trial = to_samples(tensor)
    return Session(name, samples, y, trial if len(recording.trials) else None)


# ------------------------------------------------------------------------------------------------- features


class Feature(NamedTuple):
    """The count of a channel in the bins `newest` … `newest` + `width` − 1 back, times that of another, if any."""

    channel: int
    newest: int
    width: int
    other: int = -1

    @property
    def channels(self) -> set[int]:
        """The channels that must be recorded for it."""
        return {self.channel} | ({self.other} if self.other >= 0 else set())


def compute(sums: np.ndarray, features: list[Feature]) -> np.ndarray:
    """Return the features (rows, features) from cumulated counts (lags + 1, channels, rows).

    >>> sums = cumulate(np.arange(6.0).reshape(1, 3, 2))
    >>> compute(sums, [Feature(0, 0, 1), Feature(0, 1, 2), Feature(0, 1, 2, other=1)]).tolist()
    [[0.0, 6.0, 48.0]]
    """
    channel, newest, width, other = np.array(features, dtype=int).T
    values = sums[newest + width, channel] - sums[newest, channel]
    paired = np.flatnonzero(other >= 0)
    partner = sums[(newest + width)[paired], other[paired]] - sums[newest[paired], other[paired]]
    values[paired] *= partner
    return values.T


def cumulate(counts: np.ndarray) -> np.ndarray:
    """Return counts (rows, lags, channels), the newest bin first, cumulated over lags from 0 on, the rows last."""
    sums = np.concatenate([np.zeros_like(counts[:, :1]), np.cumsum(counts, axis=1)], axis=1)
    return np.ascontiguousarray(np.moveaxis(sums, 0, -1))


def unfold(samples: Samples) -> np.ndarray:
    """Return counts (rows, lags, channels), the newest bin first."""
    counts = np.asarray(samples, dtype=np.float64).reshape(len(samples), samples.n_lags, samples.n_channels)
    return counts[:, ::-1]


class Plan:
    """What is known of a training part: its channels' places, what they cost, and what can be drawn from them."""

    def __init__(self, samples: Samples, rng: np.random.Generator) -> None:
        """Describe the channels by the training part alone."""
        self.n_lags, self.rng = samples.n_lags, rng
        meta = describe_features(samples).iloc[: samples.n_channels]
        self.places = standardize(np.column_stack([np.log1p(meta["rate"]), np.log1p(meta["snr"])]))
        self.costs = 0.5 + 0.5 * meta["rate"].to_numpy() / meta["rate"].mean()
        self.low = np.array([-2.0, -2.0, 1.0, 1.0, 0.0, 1.0])
        self.high = np.array([2.0, 2.0, self.n_lags, max(2, self.n_lags // 2), 100.0, 8.0])

    def draw(self, budget: float, u: np.ndarray) -> list[Feature]:
        """Draw channels around `u` until the budget is used up, and features of them that are as `u` says."""
        near = draw_near(u[:2], self.places, NEAR, self.rng)
        channels = spend(near, self.costs, max(budget, float(self.costs.min())))
        return [feature for channel in channels for feature in self._draw_windows(int(channel), channels, u)]

    def _draw_windows(self, channel: int, channels: np.ndarray, u: np.ndarray) -> list[Feature]:
        """Draw different windows of a channel; some are multiplied by another channel of the set."""
        reach = int(np.rint(u[2]))
        width = min(int(np.rint(u[3])), reach)
        starts = self.rng.permutation(reach - width + 1)[: int(np.rint(u[5]))]
        others = channels[channels != channel]
        is_product = (self.rng.random(starts.size) < u[4] / 100) & (others.size > 0)
        partners = self.rng.choice(others, starts.size) if others.size else np.full(starts.size, -1)
        pairs = zip(starts, np.where(is_product, partners, -1), strict=True)
        return [Feature(channel, int(start), width, int(other)) for start, other in pairs]

    def move(self, u: np.ndarray) -> np.ndarray:
        """Return a point near `u`."""
        return np.clip(u + self.rng.normal(size=u.size) * (self.high - self.low) / 4, self.low, self.high)

    def draw_point(self) -> np.ndarray:
        """Return any point."""
        return self.rng.uniform(self.low, self.high)


# ------------------------------------------------------------------------------------------------ measuring


class RidgeLoss:
    """Error of ridge regression on sets of columns in two blocks, in units of the variance, from sums alone.

    Begin, change and after as in `selectors.losses`; the target's columns have variance 1.
    """

    def __init__(self, X: np.ndarray, Y: np.ndarray, folds: list[tuple[np.ndarray, np.ndarray]]) -> None:
        """Keep the sums of products of the columns of X, which have mean 0 and variance 1."""
        self.sums = [(X[a].T @ X[a], X[a].T @ Y[a], X[b].T @ X[b], X[b].T @ Y[b], (Y[b] ** 2).sum()) for a, b in folds]
        self.chosen = np.array([], dtype=np.int64)

    def measure(self, columns: np.ndarray) -> float:
        """Return the error on some columns."""
        return float(np.mean([self._one_block(columns, *sums) for sums in self.sums]))

    def _one_block(
        self, at: np.ndarray, XX: np.ndarray, XY: np.ndarray, QQ: np.ndarray, QY: np.ndarray, total: float
    ) -> float:
        if not at.size:
            return 1.0
        W = np.linalg.solve(XX[np.ix_(at, at)] + ALPHA * np.eye(at.size), XY[at])
        return float((total - 2 * (W * QY[at]).sum() + (W * (QQ[np.ix_(at, at)] @ W)).sum()) / total)

    def begin(self, features: np.ndarray) -> float:
        """Start from a set."""
        self.chosen = features
        return self.measure(features)

    def after(self, members: np.ndarray, sign: int) -> float:
        """Return the loss after columns entered."""
        return self.measure(np.concatenate([self.chosen, members]))

    def change(self, members: np.ndarray, sign: int) -> None:
        """Let columns enter."""
        self.chosen = np.concatenate([self.chosen, members])


class Fold:
    """One fold of a session: everything is chosen in its training part."""

    def __init__(self, session: Session, train: np.ndarray, test: np.ndarray, rng: np.random.Generator) -> None:
        """Cumulate the counts of both parts, and cut the training part into two blocks."""
        samples = session.samples
        self.samples = samples[train]
        self.sums, self.test = (cumulate(unfold(samples[rows])) for rows in (train, test))
        self.y, self.y_test = session.y[train], session.y[test]
        trials = None if session.trials is None else session.trials[train]
        self.blocks = list(BlockedKFold(2).split(self.samples, groups=trials))
        self.plan, self.Y = Plan(self.samples, rng), standardize(self.y)

    def rehearse(self, features: list[Feature]) -> float:
        """Return the error of a set in two blocks of the training part."""
        X = standardize(compute(self.sums, features))
        return RidgeLoss(X, self.Y, self.blocks).measure(np.arange(X.shape[1]))

    def examine(self, features: list[Feature]) -> float:
        """Return R² on the test part."""
        model = make_pipeline(StandardScaler(), Ridge(ALPHA)).fit(compute(self.sums, features), self.y)
        return float(np.mean(r_squared(self.y_test, model.predict(compute(self.test, features)), axis=0)))

    def all_bins(self, channels: Any) -> list[Feature]:
        """Return all bins of some channels, as they are."""
        return [Feature(int(channel), lag, 1) for channel in channels for lag in range(self.plan.n_lags)]


def _one_budget(fold: Fold, buyer: Any, budget: float, n_rounds: int) -> Iterator[tuple[str, float]]:
    """Yield R² of every method, and the values that Mufasa chose."""
    plan, costs = fold.plan, fold.plan.costs
    start = (plan.low + plan.high) / 2
    found = search_points(partial(plan.draw, budget), fold.rehearse, start, plan.move, n_rounds)
    yield "mufasa", fold.examine(found.features)
    yield from zip(NAMES, found.point.tolist(), strict=True)
    sets = [plan.draw(budget, plan.draw_point()) for _ in range(n_rounds)]
    yield "random", fold.examine(min(sets, key=fold.rehearse))
    for name, order in (("correlation", np.argsort(-buyer.quality)), ("correlation/cost", buyer.order)):
        yield name, fold.examine(fold.all_bins(spend(order, costs, budget)))
    yield "greedy", fold.examine(fold.all_bins(buyer.buy(budget)))


class Buyer:
    """Channels by correlation, and the greedy search among the 40 best of them by correlation over cost."""

    def __init__(self, fold: Fold) -> None:
        """Measure the channels in the training part of a fold."""
        n_lags, self.costs = fold.plan.n_lags, fold.plan.costs
        self.quality = CorrCoef().fit(fold.samples, fold.y).weights_.reshape(n_lags, -1).max(axis=0)
        self.order = rank_per_cost(self.quality, self.costs)
        self.candidates = self.order[:N_CANDIDATES]
        X = standardize(compute(fold.sums, fold.all_bins(self.candidates)))
        self.loss = RidgeLoss(X, fold.Y, fold.blocks)
        self.members = list(np.arange(X.shape[1]).reshape(-1, n_lags))

    def buy(self, budget: float) -> np.ndarray:
        """Return the channels that the greedy search buys."""
        costs = self.costs[self.candidates]
        return self.candidates[choose_within_budget(lambda: self.loss, self.members, costs, budget)[0]]


def run(
    repetitions: int = 3, seed: int = 0, progress: Progress = None, sessions: Any = None, n_rounds: int = J
) -> pd.DataFrame:
    """Return one row per session, method or meta-feature, budget x and fold; the first `repetitions` of five folds."""
    sessions = list(read_sessions(seed=seed) if sessions is None else sessions)
    work = [(s, f, *parts) for s in sessions for f, parts in enumerate(_folds(s)[:repetitions])]
    rows: list[tuple[Any, ...]] = []
    for session, f, train, test in track(work, progress):
        fold = Fold(session, train, test, np.random.default_rng([seed, f]))
        buyer = Buyer(fold)
        for budget in BUDGETS:
            found = _one_budget(fold, buyer, budget, n_rounds)
            rows += [(session.name, name, budget, f, value) for name, value in found]
    return pd.DataFrame(rows, columns=["session", "method", "x", "fold", "value"])


def _folds(session: Session) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(BlockedKFold(N_FOLDS).split(session.samples, groups=session.trials))


# --------------------------------------------------------------------------------------------------- claims


def _means(table: pd.DataFrame, session: str, names: tuple[str, ...] = ("mufasa", *RIVALS)) -> pd.DataFrame:
    """Return mean values of a session, (method, budget)."""
    return average(choose(table, session=session), "method", "x").loc[list(names)]


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield for every session and rival whether guided extraction decodes better for the same budget."""
    for session in table["session"].unique():
        means = _means(table, session)
        ours = means.loc["mufasa"]
        for rival in RIVALS:
            pairs = ", ".join(f"{x}: {ours[x]:.3f} / {means.loc[rival, x]:.3f}" for x in means.columns)
            yield make_claim(
                f"{session}: for the same budget guided extraction decodes better than {rival}",
                None,
                f"R² by budget, Mufasa / {rival}: {pairs}; {_saving(ours, means.loc[rival])}",
                (ours > means.loc[rival]).all(),
            )


def _saving(ours: pd.Series, rival: pd.Series) -> str:
    """Say which budget reaches the rival's best R², between budgets by interpolation.

    >>> _saving(pd.Series({2: 0.2, 4: 0.6}), pd.Series({2: 0.1, 4: 0.4}))
    "the rival's best with a budget of 3.0 instead of 4"
    """
    goal, at = rival.max(), rival.idxmax()
    best = np.maximum.accumulate(ours.to_numpy())
    if best[-1] < goal:
        return "the rival's best is not reached"
    needed = np.interp(goal, best, ours.index.to_numpy(dtype=float))
    return f"the rival's best with a budget of {needed:.1f} instead of {at}"


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return R² and the chosen meta-features as lines of text, and which recordings were not at hand."""
    lines = [f"Guided extraction on recordings, mean of {table['fold'].nunique()} folds; a channel costs 1 on average"]
    for session in table["session"].unique():
        lines += [
            "",
            f"{session}: R² of ridge regression, by budget",
            *render_means(_means(table, session), ".3f", 20, 8),
        ]
        lines += ["chosen by Mufasa", *render_means(_means(table, session, NAMES), ".2f", 20, 8)]
    missing = [file for name, file in FILES.items() if name not in set(table["session"])]
    return lines + ([f"skipped, not at hand (set NEUROFS_SHARED_DATA): {', '.join(missing)}"] if missing else [])


def plot(table: pd.DataFrame) -> Any:
    """Draw R² against the budget for every session, with the spread over folds."""
    sessions = table["session"].unique()
    figure, axes = make_axes((5 * len(sessions), 4), len(sessions))
    for ax, session in zip(axes, sessions, strict=True):
        part = choose(table, session=session)
        plot_means(ax, part[part["method"].isin(("mufasa", *RIVALS))])
        ax.set(xlabel="budget (a channel costs 1 on average)", ylabel="R²", title=session, xscale="log")
    add_legends(*axes)
    return figure
