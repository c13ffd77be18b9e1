"""Figures 2 to 7 of Ng (1998): ORDERED-FS against the standard wrapper, as irrelevant features are added.

Logistic regression on independent N(0, 1) features; the class is x1 + 0.2 > 0, or x1 + x2 + x3 > 0, with 30 % of
the training labels turned over. The beam search has width 50. What is shown is the exact error of the hypothesis
on fresh samples without noise: two half-spaces of Gaussian features disagree with a probability that Owen's T
gives. As in the source, rows are held out at random, and each method returns the hypothesis fitted to its training
part and may choose the empty set; "no selection" is fitted to all rows and features.

Section 5.3 has ORDERED-FS2 for patients with Boolean symptoms and a number of their own, by which a decision tree
can tell them all apart. It has no figures; ours are of 200 patients with four symptoms, of which two together are
the disease, 10 % of the training labels being turned over. Figure 7 is a curve, ln 2 − β (1 + ln 1/β).

The source prints no numbers with its figures, and no number of samples for figures 2, 3 and 5; ours is 100. It has
200 trials; ours are 50, which take ten minutes.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import ndtr, owens_t
from sklearn.tree import DecisionTreeClassifier

from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import add_legends, make_axes
from neurofs.experiments.reproduce.tables import Progress, align, choose, track
from neurofs.selectors import OrderedFS, OrderedFS2, StandardWrap, loops_beam

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
PATIENTS: dict[str, Any] = {"ordered-fs": OrderedFS, "ordered-fs2": OrderedFS2, "standard-wrap": StandardWrap}
N_PATIENTS, N_SYMPTOMS, PATIENT_NOISE = 200, 4, 0.1
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
    """Return one row per trial and method: relevant features, m, features, method, error, features selected.

    Those of patients, section 5.3, have 0 relevant features here.
    """
    sizes = sorted({(N_SAMPLES, n) for n in FEATURES} | {(m, N_FEATURES) for m in SAMPLES})
    cases = [(relevant, m, n) for relevant in CONCEPTS for m, n in sizes]
    rows = []
    for r, (relevant, m, n) in track(product(range(repetitions), cases), progress):
        data = draw(relevant, m, n, np.random.SeedSequence([seed, r, relevant, m, n]))
        for method, error, size in _one_trial(relevant, *data, seed=r):
            rows.append((relevant, m, n, method, r, error, size))
    for r in range(repetitions):
        for method, error, size in _diagnose(np.random.default_rng([seed, r, 53]), r):
            rows.append((0, N_PATIENTS, N_SYMPTOMS + 1, method, r, error, size))
    return pd.DataFrame(rows, columns=COLUMNS)


def _one_trial(
    relevant: int, X: np.ndarray, y: np.ndarray, order: np.ndarray, seed: int
) -> Iterator[tuple[str, float, int]]:
    """Yield the error and the number of features of every method that has a figure."""
    everything = np.arange(X.shape[1])
    yield PLAIN, _error(relevant, X, y, everything), everything.size
    for method, (kind, share) in METHODS.items():
        if method == WRAP_7 and relevant != 1:
            continue
        settings = {"split": "random", "allow_empty": True, "random_state": seed}
        selector = kind(estimator="logistic", hold_out=share, **settings).fit(X[:, order], y)
        best, rows = order[selector.get_support(indices=True)], selector.train_rows_
        yield method, _error(relevant, X[rows], y[rows], best), best.size


def draw_patients(m: int, rng: np.random.Generator, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return symptoms with the number of each patient, and who has the disease: those with the first two symptoms.

    >>> X, sick = draw_patients(100, np.random.default_rng(0), 0.0)
    >>> X.shape, bool((sick == X[:, 0] * X[:, 1]).all())
    ((100, 5), True)
    """
    symptoms = rng.integers(0, 2, (m, N_SYMPTOMS))
    X = np.column_stack([symptoms, rng.permutation(m) / m])
    return X, symptoms[:, :2].all(axis=1) ^ (rng.random(m) < noise)


def _diagnose(rng: np.random.Generator, seed: int) -> Iterator[tuple[str, float, int]]:
    """Yield the error of decision trees on new patients, and how many features each method chose."""
    (X, y), (Q, truth) = draw_patients(N_PATIENTS, rng, PATIENT_NOISE), draw_patients(5000, rng, 0.0)
    tree = DecisionTreeClassifier(criterion="entropy", random_state=0)
    for method, kind in PATIENTS.items():
        selector = kind(estimator=tree, split="random", allow_empty=True, random_state=seed).fit(X, y)
        chosen, rows = selector.get_support(), selector.train_rows_
        if chosen.any():
            predicted = tree.fit(X[rows][:, chosen], y[rows]).predict(Q[:, chosen])
        else:
            predicted = np.full(len(Q), y[rows].mean() > 0.5)
        yield method, float(np.mean(predicted != truth)), int(chosen.sum())


def multiplier(beta: Any) -> Any:
    """Return ln 2 − β (1 + ln 1/β), the curve of figure 7.

    Where it is positive, 2^(c f) sets of f features differ pairwise in at least β f of them.

    >>> round(float(multiplier(1.0)), 3)
    -0.307
    """
    return np.log(2) - beta * (1 - np.log(beta))


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
    zero = float(brentq(multiplier, 1e-9, 1))
    yield make_claim(
        "the number of significantly different sets is exponential in that of the features for β up to about 0.32",
        "figure 7: positive for all about β ≤ 0.32",
        f"ln 2 − β (1 + ln 1/β) is 0 at β = {zero:.4f}",
        0.32 <= zero < 0.33,
    )
    yield from _patient_claims(table)


def _patient_claims(table: pd.DataFrame) -> Iterator[Claim]:
    errors = choose(table, relevant=0).pivot_table(index="repetition", columns="method", values="error")
    mean = errors.mean()
    lead = errors["ordered-fs"] - errors["ordered-fs2"]
    yield make_claim(
        "with the number of the patient among the features, ORDERED-FS2 errs less than ORDERED-FS, clearly",
        "section 5.3: ORDERED-FS gives bad generalization error; without figures",
        f"error {mean['ordered-fs']:.3f} against {mean['ordered-fs2']:.3f}, less by "
        f"{_text((float(lead.mean()), float(lead.sem())))}",
        _is_clear((float(lead.mean()), float(lead.sem()))),
    )
    behind = float(mean["ordered-fs2"] - mean["standard-wrap"])
    yield make_claim(
        "and ORDERED-FS2, which holds out two parts, errs no more than STANDARD-WRAP there (by up to 0.02)",
        None,
        f"error {mean['ordered-fs2']:.3f} against {mean['standard-wrap']:.3f}",
        behind < 0.02,
    )


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
    patients = choose(table, relevant=0).groupby("method", sort=False)[["error", "selected"]]
    mean, error = patients.mean(), patients.sem()
    what = f"{N_PATIENTS} patients, {N_SYMPTOMS} symptoms and a number of the patient"
    lines += ["", f"Section 5.3: {what}, decision trees", *align([("", "error", "features")], 26, 17)]
    rows = [
        (method, f"{mean['error'][method]:.3f} ± {error['error'][method]:.3f}", f"{mean['selected'][method]:.1f}")
        for method in mean.index
    ]
    return [*lines, *align(rows, 26, 17)]


def plot(table: pd.DataFrame) -> Any:
    """Draw figures 2 to 7."""
    palette = ["tab:blue", "tab:red", "tab:orange", "tab:olive", "0.5"]
    colors = dict(zip([*METHODS, PLAIN], palette, strict=True))
    figure, axes = make_axes((18, 3.6), len(FIGURES) + 1)
    for ax, (number, (relevant, varies, methods)) in zip(axes[:-1], FIGURES.items(), strict=True):
        errors = _errors(table, number).groupby(level=0)
        for method in methods:
            mean, error = errors[method].mean(), errors[method].sem()
            ax.errorbar(mean.index, mean, error, color=colors[method], marker="o", ms=3, label=method)
        what = "features" if varies == "features" else "samples"
        ax.set(title=f"figure {number}: {relevant} relevant", xlabel=what, ylabel="error", ylim=(0, None))
    add_legends(*axes[:-1])
    beta = np.linspace(0.001, 1, 500)
    axes[-1].plot(beta, multiplier(beta), color="tab:blue")
    axes[-1].axhline(0, color="0.5", lw=0.8)
    axes[-1].set(title="figure 7", xlabel="β", ylabel="ln 2 − β (1 + ln 1/β)")
    return figure
