"""Do channels work together? The gain of sets, what each channel adds to all others, and pairs beyond sums.

Navot et al. (2005, section 4.5) conclude from RGS beating SKS that velocity depends on sets of neurons. Here this is
asked in three ways: does the best selector of sets beat the best one of single features; how much of what a channel
tells do the others tell as well; and which pairs of channels tell what no sum does (`comparison.pair_test`).
"""

import numpy as np
import pandas as pd
from scipy.linalg import inv, solve

from neurofs.comparison.channel_summary import ChannelPair, ChannelPart
from neurofs.comparison.names import split_method
from neurofs.comparison.pair_test import N_SHIFTS, PairTest, Q, find_pairs, sum_few
from neurofs.comparison.places import Places
from neurofs.comparison.problem import BASELINES, Problem
from neurofs.comparison.stats import compare_paired, estimate
from neurofs.comparison.summary import Dependency, Gap
from neurofs.features.splits import Fold
from neurofs.selectors import SELECTORS
from neurofs.selectors.pairs import RIDGE

ALONE = ("corrcoef", "infogain", "sks")
"""Selectors that judge every feature by itself."""

N_LISTED = 20  # pairs in a summary, if fewer are found


def measure_dependency(
    problem: Problem, scores: pd.DataFrame, channels: list[str], lags: np.ndarray
) -> tuple[Dependency, pd.DataFrame]:
    """Return what the summary says about channels that work together, and the table of all pairs.

    `lags` are those of the samples, in seconds, oldest first.
    """
    X, Y = problem.unfold(), problem.values
    folds = [fold for fold in problem.folds if fold.repeat == 0]
    test = find_pairs(X, Y, problem.stretches, problem.trials is not None, problem.options.seed)
    table = _tabulate(test, channels, lags)
    parts = Channels(X[:, :, test.active], Y, folds)
    listed = [_describe_pair(row, parts, test) for row in table[: max(N_LISTED, _n_strong(table))].itertuples()]
    found = Dependency(
        gap=find_gap(scores, "accuracy" if problem.classes else "r2", Places.of(problem)),
        channels=[
            ChannelPart(channel=channels[c], alone=parts.alone(i), unique=parts.unique(i))
            for i, c in enumerate(test.active)
        ],
        pairs=listed,
        n_pairs=len(table),
        n_found=int((table["verdict"] == "found").sum()),
        n_echoes=int((table["verdict"] == "echo").sum()),
        n_shifts=N_SHIFTS,
        false_discovery_rate=Q,
        p_any=test.p_any,
    )
    return found, table.drop(columns=["first", "second"])


# ------------------------------------------------------------------------------------------------------ gap


def find_gap(scores: pd.DataFrame, score: str, places: Places) -> Gap | None:
    """Compare the best selector of sets with the best of single features, both with soft kNN.

    Both were chosen by the scores that are compared, so that p is multiplied by the number of choices.
    """
    chosen = scores[scores["chosen"] & (scores["method"] == scores["selector"])]
    table = chosen.pivot_table(score, places.keys, "method", aggfunc="mean").dropna()
    sets, singles = _sort_out(list(table.columns))
    if not sets or not singles or not len(table):
        return None
    together, alone = table[sets].mean().idxmax(), table[singles].mean().idxmax()
    n_choices = len(sets) * len(singles)
    difference = (table[together] - table[alone]).to_numpy()
    p = compare_paired(difference, places.ratio)["p"]
    return Gap(
        together=together,
        alone=alone,
        difference=estimate(difference, places.ratio),
        p=None if p is None else min(1.0, n_choices * p),
        n_choices=n_choices,
        n_folds=len(table),
    )


def _sort_out(methods: list[str]) -> tuple[list[str], list[str]]:
    """Return the selectors of sets and of single features; what packages add is neither, for we cannot know.

    >>> _sort_out(["all", "corrcoef", "rgs", "sks", "simba"])
    (['rgs', 'simba'], ['corrcoef', 'sks'])
    """
    own = [m for m in methods if split_method(m)[0] in SELECTORS.own and m not in BASELINES]
    return [m for m in own if m not in ALONE], [m for m in own if m in ALONE]


# ------------------------------------------------------------------------------------------------- channels


class Channels:
    """Ridge regressions on all channels, on all but one, and on one, in held-out folds.

    X is (rows, lags, channels); neighboring lags are summed if there are few rows. λ = m / 10 + N for m rows of N
    features of variance 1. All but channel c, with P the inverse of the regularized covariance of all and b its
    coefficients, has the coefficients b − P_c P_cc⁻¹ b_c.
    """

    def __init__(self, X: np.ndarray, Y: np.ndarray, folds: list[Fold]) -> None:
        sums = sum_few(np.asarray(X, np.float64))
        self.counts, self.folds = X, folds
        self.n_channels, n_sums = sums.shape[2], sums.shape[1]
        self.groups = [np.arange(n_sums) * self.n_channels + c for c in range(self.n_channels)]
        self.fits = [_Fit(sums.reshape(len(X), -1), Y, fold) for fold in folds]
        self.variance = sum(fit.truth.var(axis=0) * len(fit.truth) for fit in self.fits)
        self.error = self._sum([fit.truth - fit.test @ fit.coefficients for fit in self.fits])

    def _sum(self, left: list[np.ndarray]) -> np.ndarray:
        return np.asarray(sum((rest**2).sum(axis=0) for rest in left))

    def _share(self, errors: np.ndarray) -> float:
        """Return the mean over outputs of errors as a share of the variance."""
        return float(np.mean(errors / self.variance))

    def alone(self, channel: int) -> float:
        """Return R² of one channel."""
        left = [fit.truth - fit.predict_from(self.groups[channel]) for fit in self.fits]
        return 1.0 - self._share(self._sum(left))

    def unique(self, channel: int) -> float:
        """Return by how much R² of all channels is larger than that of all but one."""
        left = [fit.truth - fit.predict_without(self.groups[channel]) for fit in self.fits]
        return self._share(self._sum(left) - self.error)

    def synergy(self, first: int, second: int) -> float:
        """Return by how much R² of all channels grows with the products of two at all lags."""
        left = []
        for fit, fold in zip(self.fits, self.folds, strict=True):
            train, test = _standardize(self.counts[fold.train], self.counts[fold.test])
            products, new = (part[:, :, first] * part[:, :, second] for part in (train, test))
            rest = fit.residuals
            centered = products - products.mean(axis=0)
            ridge = RIDGE * len(centered) * np.eye(centered.shape[1])
            slope = solve(centered.T @ centered + ridge, centered.T @ rest, assume_a="pos")
            left.append(fit.truth - fit.test @ fit.coefficients - (new - products.mean(axis=0)) @ slope)
        return self._share(self.error - self._sum(left))


class _Fit:
    """The ridge regression of one fold on all channels."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, fold: Fold) -> None:
        self.train, self.test = _standardize(X[fold.train], X[fold.test])
        mean = Y[fold.train].mean(axis=0)
        self.targets, self.truth = Y[fold.train] - mean, Y[fold.test] - mean
        m, n = self.train.shape
        self.ridge = RIDGE * m + n
        self.covariance = self.train.T @ self.train + self.ridge * np.eye(n)
        self.inverse = inv(self.covariance)
        self.coefficients = self.inverse @ (self.train.T @ self.targets)

    @property
    def residuals(self) -> np.ndarray:
        """What is left of the training targets."""
        return np.asarray(self.targets - self.train @ self.coefficients)

    def predict_from(self, features: np.ndarray) -> np.ndarray:
        """Return what some features alone predict."""
        part = self.covariance[np.ix_(features, features)]
        return np.asarray(
            self.test[:, features] @ solve(part, self.train[:, features].T @ self.targets, assume_a="pos")
        )

    def predict_without(self, features: np.ndarray) -> np.ndarray:
        """Return what all other features predict."""
        corner = self.inverse[np.ix_(features, features)]
        shift = self.inverse[:, features] @ solve(corner, self.coefficients[features], assume_a="pos")
        return np.asarray(self.test @ (self.coefficients - shift))


def _standardize(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both parts in units of the training part's mean and deviation; what is constant there becomes 0."""
    mean, deviation = train.mean(axis=0, dtype=np.float64), train.std(axis=0, dtype=np.float64)
    scale = np.where(deviation > 0, 1 / np.where(deviation > 0, deviation, 1.0), 0.0)
    return (train - mean) * scale, (test - mean) * scale


# ---------------------------------------------------------------------------------------------------- pairs


def _tabulate(test: PairTest, channels: list[str], lags: np.ndarray) -> pd.DataFrame:
    """Return one row per pair: those found, then echoes, then the others, each strongest first."""
    verdict = np.full(len(test.p), "none", dtype=object)
    verdict[test.echoes], verdict[test.found] = "echo", "found"
    middle = np.array([float(np.mean(lags[first : first + width])) for first, width in test.windows])
    table = pd.DataFrame(
        {
            "channel": [channels[c] for c in test.first],
            "other": [channels[c] for c in test.second],
            "lag": np.round(middle, 9)[test.window],
            "strength": np.round(test.strength, 4),
            "p": test.p,
            "p_beyond": test.p_beyond,
            "verdict": verdict,
            "first": test.first,
            "second": test.second,
        }
    )
    place = table["verdict"].map({"found": 0, "echo": 1, "none": 2})
    ordered = table.assign(place=place).sort_values(["place", "strength"], ascending=[True, False], kind="stable")
    return ordered.drop(columns="place").reset_index(drop=True)


def _n_strong(table: pd.DataFrame) -> int:
    return int((table["verdict"] != "none").sum())


def _describe_pair(row: object, parts: Channels, test: PairTest) -> ChannelPair:
    first, second = np.searchsorted(test.active, [row.first, row.second])  # type: ignore[attr-defined]
    facts = {name: getattr(row, name) for name in ("lag", "strength", "p", "p_beyond", "verdict")}
    names = (row.channel, row.other)  # type: ignore[attr-defined]
    return ChannelPair(channels=names, synergy=parts.synergy(int(first), int(second)), **facts)
