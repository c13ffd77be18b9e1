"""Figures 2 to 6 of Ng (1998): ORDERED-FS against the standard wrapper, as irrelevant features are added.

Logistic regression on independent N(0, 1) features; the class is x1 + 0.2 > 0, or x1 + x2 + x3 > 0, with 30 % of
the training labels turned over. The beam search has width 50. What is shown is the exact error of the hypothesis
on fresh samples without noise: two half-spaces of Gaussian features disagree with a probability that Owen's T
gives. As in the source, each method returns the hypothesis fitted to its training part and may choose the empty
set; "no selection" is fitted to all rows and features.

The source prints no numbers with its figures, and no number of samples for figures 2, 3 and 5; ours is 100. It has
200 trials; ours are 50, which take ten minutes.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, owens_t

from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import add_legends, make_axes
from neurofs.experiments.reproduce.tables import Progress, align, choose, track
from neurofs.selectors import OrderedFS, StandardWrap, loops_beam

MINUTES = 10
NOISE = 0.3
FEATURES, N_SAMPLES = (5, 10, 20, 30), 100  # figures 2, 3 and 5
SAMPLES, N_FEATURES = (50, 100, 200, 400), 20  # figures 4 and 6
CONCEPTS = {1: (np.array([1.0]), 0.2), 3: (np.ones(3) / np.sqrt(3), 0.0)}  # relevant features: u, c of u'x + c > 0
METHODS: dict[str, tuple[Any, float]] = {
    "ordered-fs, γ = 0.3": (OrderedFS, 0.3),
    "standard-wrap, γ = 0.3": (StandardWrap, 0.3),
    "standard-wrap, γ = 0.5": (StandardWrap, 0.5),
    "standard-wrap, γ = 0.7": (StandardWrap, 0.7),
}
ORDERED, WRAP, WRAP_5, WRAP_7 = METHODS
PLAIN = "no selection"
COLUMNS = ["relevant", "m", "features", "method", "repetition", "error", "selected"]

FIGURES = {  # number of the figure: relevant features, what varies, methods
    2: (1, "features", (ORDERED, WRAP, PLAIN)),
    3: (1, "features", (WRAP, WRAP_5, WRAP_7)),
    4: (1, "m", (ORDERED, WRAP, WRAP_5)),
    5: (3, "features", (ORDERED, WRAP, WRAP_5)),
    6: (3, "m", (ORDERED, WRAP, WRAP_5)),
}


def draw(relevant: int, m: int, n: int, seed: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, the relevant ones first, with noisy classes and a random order, for one trial.

    Selectors get the features in this order, since the first wins among sets of equal error.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    u, c = CONCEPTS[relevant]
    return X, (X[:, : u.size] @ u + c > 0) ^ (rng.random(m) < NOISE), rng.permutation(n)


def disagreement(w: np.ndarray, b: float, u: np.ndarray, c: float) -> float:
    """Return the probability that w'x + b and u'x + c differ in sign, x being N(0, I).

    u, of length 1, are the coefficients of the first features; the others have none.

    >>> round(disagreement(np.array([0.0, 2.0]), 0.0, np.array([1.0]), 0.0), 6)  # at right angles
    0.5
    >>> round(disagreement(np.array([3.0, 0.0]), 0.6, np.array([1.0]), 0.2), 6)  # the same half-space
    0.0
    """
    length = float(np.linalg.norm(w))
    if length == 0:
        return float(ndtr(-c if b > 0 else c))
    h, k, rho = -c, -b / length, float(w[: u.size] @ u) / length
    return float(ndtr(h) + ndtr(k) - 2 * _both_below(h, k, rho))


def _both_below(h: float, k: float, rho: float) -> float:
    """Return P(A < h, B < k) of two standard normal numbers with correlation ρ, by Owen's T."""
    h, k = (value or 1e-300 for value in (h, k))
    root = np.sqrt(max(1 - rho**2, 1e-30))
    apart = 0.0 if h * k > 0 or (h * k == 0 and h + k >= 0) else 0.5
    tails = owens_t(h, (k - rho * h) / (h * root)) + owens_t(k, (h - rho * k) / (k * root))
    return float(0.5 * (ndtr(h) + ndtr(k)) - tails - apart)


def run(repetitions: int = 50, seed: int = 0, progress: Progress = None) -> pd.DataFrame:
    """Return one row per trial and method: relevant features, m, features, method, error, features selected."""
    sizes = sorted({(N_SAMPLES, n) for n in FEATURES} | {(m, N_FEATURES) for m in SAMPLES})
    cases = [(relevant, m, n) for relevant in CONCEPTS for m, n in sizes]
    rows = []
    for r, (relevant, m, n) in track(product(range(repetitions), cases), progress):
        data = draw(relevant, m, n, np.random.SeedSequence([seed, r, relevant, m, n]))
        for method, error, size in _one_trial(relevant, *data):
            rows.append((relevant, m, n, method, r, error, size))
    return pd.DataFrame(rows, columns=COLUMNS)


def _one_trial(relevant: int, X: np.ndarray, y: np.ndarray, order: np.ndarray) -> Iterator[tuple[str, float, int]]:
    """Yield the error and the number of features of every method that has a figure."""
    everything = np.arange(X.shape[1])
    yield PLAIN, _error(relevant, X, y, everything), everything.size
    for method, (kind, share) in METHODS.items():
        if method == WRAP_7 and relevant != 1:
            continue
        selector = kind(estimator="logistic", hold_out=share).fit(X[:, order], y)
        best = order[selector.paths_[int(np.argmin(np.round(selector.hold_out_curve_, 9)))].astype(int)]
        rows = selector.train_rows_
        yield method, _error(relevant, X[rows], y[rows], best), best.size


def _error(relevant: int, X: np.ndarray, y: np.ndarray, features: np.ndarray) -> float:
    """Return the exact error of logistic regression on some features."""
    w = np.zeros(features.size + 1)
    Z = np.vstack([np.ones(len(X)), X[:, features].T])
    loops_beam.fit_logistic(Z, y.astype(float), 1e-3, 1e-6, w)
    u, c = CONCEPTS[relevant]
    full = np.zeros(X.shape[1])
    full[features] = w[1:]
    return disagreement(full, float(w[0]), u, c)


def _errors(table: pd.DataFrame, figure: int) -> pd.DataFrame:
    """Return the errors of a figure: one row per value of what varies and repetition, one column per method."""
    relevant, varies, methods = FIGURES[figure]
    fixed = {"m": N_SAMPLES} if varies == "features" else {"features": N_FEATURES}
    part = choose(table, relevant=relevant, **fixed)
    wide = part.pivot_table(index=[varies, "repetition"], columns="method", values="error")
    return wide[[*methods, *(ORDERED,) * (ORDERED not in methods)]]


def _lead(errors: pd.DataFrame, loser: str, winner: str, at: int) -> tuple[float, float]:
    """Return the mean of the paired difference of errors at one point, and its standard error."""
    difference = errors.loc[at][loser] - errors.loc[at][winner]
    return float(difference.mean()), float(difference.sem())


def _mean_lead(errors: pd.DataFrame, losers: tuple[str, ...], points: Any) -> tuple[float, float]:
    """Return the mean lead of ORDERED-FS over several rivals at several points, and its standard error."""
    leads = errors[list(losers)].sub(errors[ORDERED], axis=0).mean(axis=1).unstack(level=0)[list(points)]
    by_trial = leads.mean(axis=1)
    return float(by_trial.mean()), float(by_trial.sem())


def _is_clear(lead: tuple[float, float]) -> bool:
    return lead[0] > 2 * lead[1]


def _leads_throughout(mean: tuple[float, float], each: Any) -> bool:
    """Return whether a lead is clear on average, and nowhere clearly a defeat."""
    return _is_clear(mean) and not any(_is_clear((-lead, error)) for lead, error in each)


def _text(lead: tuple[float, float]) -> str:
    return f"{lead[0]:+.3f} ± {lead[1]:.3f}"


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield each published claim, our figure, and whether it holds.

    "Clearly" means by 2 standard errors. "Throughout" means clearly better on average over the points and rivals
    of a figure, and clearly worse at none of them.
    """
    few, many = FEATURES[0], FEATURES[-1]
    errors = _errors(table, 2)
    first, last = (_lead(errors, WRAP, ORDERED, n) for n in (few, many))
    yield make_claim(
        "ORDERED-FS is clearly better than STANDARD-WRAP with many irrelevant features",
        "figure 2: performs significantly better",
        f"error less by {_text(last)} with {many} features",
        _is_clear(last),
    )
    yield make_claim(
        "its lead grows with the number of irrelevant features",
        "figure 2, and the bounds: √f against √log f",
        f"lead {_text(first)} with {few}, {_text(last)} with {many} features",
        _is_clear((last[0] - first[0], float(np.hypot(first[1], last[1])))),
    )
    plain = [_lead(errors, PLAIN, method, many) for method in (ORDERED, WRAP)]
    yield make_claim(
        "no selection is not competitive",
        "figure 2: not really competitive",
        f"with {many} features, error more than ORDERED-FS's by {_text(plain[0])}, than STANDARD-WRAP's by "
        f"{_text(plain[1])}",
        all(map(_is_clear, plain)),
    )
    errors = _errors(table, 3)
    half = _lead(errors, WRAP, WRAP_5, many)
    yield make_claim(
        "STANDARD-WRAP does better with γ = 0.5 than with 0.3 for many features",
        "figure 3: appears to give better performance for large f",
        f"error less by {_text(half)} with {many} features",
        _is_clear(half),
    )
    leads = [_lead(errors, method, ORDERED, many) for method in (WRAP_5, WRAP_7)]
    yield make_claim(
        "and is still inferior to ORDERED-FS with any γ",
        "figure 3: still inferior",
        f"ORDERED-FS leads γ = 0.5 by {_text(leads[0])}, γ = 0.7 by {_text(leads[1])} with {many} features",
        _leads_throughout(_mean_lead(errors, (WRAP_5, WRAP_7), [many]), leads),
    )
    for figure, what in ((4, "one relevant feature"), (5, "three relevant features"), (6, "three relevant")):
        yield _beats_everywhere(table, figure, what)


def _beats_everywhere(table: pd.DataFrame, figure: int, what: str) -> Claim:
    """Return the claim that ORDERED-FS beats STANDARD-WRAP, γ = 0.3 and 0.5, at every point of a figure."""
    errors, varies = _errors(table, figure), FIGURES[figure][1]
    points = sorted(set(errors.index.get_level_values(0)))
    leads = {(at, rival): _lead(errors, rival, ORDERED, at) for at in points for rival in (WRAP, WRAP_5)}
    least = min(leads, key=lambda key: leads[key][0])
    mean = _mean_lead(errors, (WRAP, WRAP_5), points)
    return make_claim(
        f"ORDERED-FS beats STANDARD-WRAP throughout, {what}, over the number of "
        f"{'samples' if varies == 'm' else 'features'}",
        f"figure {figure}: {'consistently beating' if figure == 4 else 'significantly better'}",
        f"lead on average {_text(mean)}; least {_text(leads[least])} at {varies} = {least[0]}, "
        f"{least[1].split(', ')[1]}",
        _leads_throughout(mean, leads.values()),
    )


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return the figures as tables in lines of text: error ± standard error."""
    n = table["repetition"].nunique()
    lines = [f"ORDERED-FS and STANDARD-WRAP, errors of {n} trials ± standard error (Ng 1998, chapter 4)"]
    for figure, (relevant, varies, methods) in FIGURES.items():
        errors = _errors(table, figure).groupby(level=0)
        mean, error = errors.mean(), errors.sem()
        fixed = f"{N_SAMPLES} samples" if varies == "features" else f"{N_FEATURES} features"
        rows = [("", *(f"{varies} = {at}" for at in mean.index))]
        for method in methods:
            pairs = zip(mean[method], error[method], strict=True)
            rows.append((method, *(f"{m:.3f} ± {e:.3f}" for m, e in pairs)))
        lines += ["", f"Figure {figure}: {relevant} relevant, {fixed}", *align(rows, 26, 17)]
    return lines


def plot(table: pd.DataFrame) -> Any:
    """Draw figures 2 to 6."""
    palette = ["tab:blue", "tab:red", "tab:orange", "tab:olive", "0.5"]
    colors = dict(zip([*METHODS, PLAIN], palette, strict=True))
    figure, axes = make_axes((15, 3.6), len(FIGURES))
    for ax, (number, (relevant, varies, methods)) in zip(axes, FIGURES.items(), strict=True):
        errors = _errors(table, number).groupby(level=0)
        for method in methods:
            mean, error = errors[method].mean(), errors[method].sem()
            ax.errorbar(mean.index, mean, error, color=colors[method], marker="o", ms=3, label=method)
        what = "features" if varies == "features" else "samples"
        ax.set(title=f"figure {number}: {relevant} relevant", xlabel=what, ylabel="error", ylim=(0, None))
    add_legends(*axes)
    return figure
