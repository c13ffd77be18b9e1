"""Section 4.4 of Navot (2006) on another recording: RGS against the rankers, error on the best n features.

Five contiguous folds with gaps; hand velocity x and y from 10 bins of 100 ms; one ranking for both outputs.
The first n features of each ranking go to soft kNN, k = 50 and β = ½ of the mean distance for all, and
the figure is the mean squared error as a fraction of the variance. The published claim, made on other
recordings, is that RGS has the lower error. Needs the file ``stevenson2011_m1.mat`` (``NEUROFS_SHARED_DATA``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurofs.experiments.reproduce.claims import make_claim, render_claims
from neurofs.ground.errors import InputError
from neurofs.metric.neighbors import prefix_curve
from neurofs.report.palette import find_key
from neurofs.selectors.filters import SKS, CorrCoef, InfoGain
from neurofs.selectors.rgs import RGS

__all__ = ["MINUTES", "claims", "plot", "render", "run"]

MINUTES = 2
SIZES, K, BETA = (20, 50, 100, 200, 400), 50, 0.5


def _rankings(samples: Any, Y: np.ndarray, seed: int) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
    """Return order and weights (None: the chosen features count alike) of every method."""
    rgs = RGS(random_state=seed).fit(samples, Y)
    rivals = {"corrcoef": CorrCoef(), "infogain": InfoGain(), "sks": SKS(n_neighbors=K, beta_factor=BETA)}
    orders = {name: (rival.fit(samples, Y).order_, None) for name, rival in rivals.items()}
    return {"rgs": (rgs.order_, rgs.weights_), "rgs, unweighted": (rgs.order_, None), **orders}


def _stevenson() -> Any:
    from neurofs.experiments.bench.recordings import RECORDINGS, shared_data

    folder = shared_data()
    if not (folder / "stevenson2011_m1.mat").exists():
        raise InputError(
            folder, "stevenson2011_m1.mat", "no such file", "Set NEUROFS_SHARED_DATA to its folder."
        )
    return RECORDINGS["stevenson"](folder)


def run(
    repetitions: int = 5,
    seed: int = 0,
    sizes: Iterable[int] = SIZES,
    problem: Any = None,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Decode the first `repetitions` of five folds: one row per method, n, fold and output; all n at the end."""
    problem = _stevenson() if problem is None else problem
    samples, Y = problem.samples, problem.y
    sizes = [n for n in sizes if n < samples.n_features] + [samples.n_features]
    rows = []
    for fold, (train, test) in enumerate(list(problem.folds())[:repetitions]):
        for method, (order, weights) in _rankings(samples[train], Y[train], seed).items():
            predicted = prefix_curve(
                samples[train],
                Y[train],
                samples[test],
                order=order,
                sizes=sizes,
                weights=weights,
                k=K,
                beta=BETA,
            )
            errors = ((predicted - Y[test]) ** 2).mean(axis=1) / Y[test].var(axis=0)
            for n, error in zip(sizes, errors, strict=True):
                rows += [(method, n, fold, o, e) for o, e in zip(problem.outputs, error, strict=True)]
        if progress:
            progress(fold + 1, repetitions)
    return pd.DataFrame(rows, columns=["method", "n", "fold", "output", "mse"])


def render(table: pd.DataFrame) -> str:
    """Return the mean errors as text, one line per method."""
    means = table.groupby(["method", "n"], sort=False)["mse"].mean().unstack("n")
    lines = ["Mean squared error / variance of soft kNN on the first n features"]
    lines.append(" " * 18 + "".join(f"{f'n = {n}':>10}" for n in means.columns))
    lines += [f"{method:<18}" + "".join(f"{e:>10.3f}" for e in row) for method, row in means.iterrows()]
    return "\n".join([*lines, "", *render_claims(claims(table))])


def claims(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the claims of section 4.4 that can be made of one recording."""
    means = table.groupby(["method", "n"], sort=False)["mse"].mean().unstack("n")
    few, everything = list(means.columns[:-1]), means.columns[-1]
    rgs, found = means.loc["rgs, unweighted", few], []
    for rival in ("corrcoef", "infogain", "sks"):
        pairs = ", ".join(f"{n}: {rgs[n]:.3f} / {means.loc[rival, n]:.3f}" for n in few)
        words, where = f"RGS has a lower error than {rival} throughout", "figures 4.3 and 4.4"
        found.append(make_claim(words, where, f"error by n: {pairs}", (rgs < means.loc[rival, few]).all()))
    near, all_error = min(few, key=lambda n: abs(n - 100)), means.loc["corrcoef", everything]
    wins = _wins(table, "rgs, unweighted", near, everything)
    found.append(
        make_claim(
            f"about 100 features of RGS beat all {everything}",
            "better in 92 % of folds",
            f"{near} features: {rgs[near]:.3f} against {all_error:.3f}, better in {wins:.0%}",
            wins >= 0.9,
            why=f"there are {everything} features here, not 640, and more of them are needed: "
            + ", ".join(
                f"{n} are better in {_wins(table, 'rgs, unweighted', n, everything):.0%}"
                for n in few
                if n > near
            ),
        )
    )
    gain = means.loc["rgs, unweighted"] - means.loc["rgs"]
    found.append(
        make_claim(
            "weights help, and the more features are used the more",
            "figure 4.5",
            "error without minus with weights: " + ", ".join(f"{g:.3f} (n = {n})" for n, g in gain.items()),
            gain.iloc[-1] > gain.iloc[0] and (gain > 0).all(),
        )
    )
    return found


def _wins(table: pd.DataFrame, method: str, n: int, other: int) -> float:
    """Return the share of folds and outputs in which a method errs less with n features than with `other`."""
    own = table[table["method"] == method].set_index(["n", "fold", "output"])["mse"]
    return float((own[n] < own[other]).mean())


def plot(table: pd.DataFrame, path: Path) -> None:
    """Save the error against the number of features, one panel per output, the mean over folds."""
    from matplotlib.figure import Figure

    outputs = list(table["output"].unique())
    figure = Figure(figsize=(5 * len(outputs), 4), layout="constrained")
    for ax, output in zip(np.ravel(figure.subplots(1, len(outputs), sharey=True)), outputs, strict=True):
        means = table[table["output"] == output].groupby(["method", "n"], sort=False)["mse"].mean()
        for method in means.index.unique("method"):
            key = find_key(method.partition(",")[0])
            line = "--" if method.endswith("unweighted") else "-"
            label = key.label + method.removeprefix(method.partition(",")[0])
            ax.plot(means[method], line, color=key.color, marker=key.marker, ms=4, label=label)
        ax.set(xscale="log", xlabel="best n features", title=output)
    figure.axes[0].set(ylabel="mean squared error / variance", ylim=(0, None))
    figure.axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=120)
