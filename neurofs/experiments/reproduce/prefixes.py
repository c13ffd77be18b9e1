"""Section 4.4 of Navot (2006) on another recording: RGS against the rankers, error on the best n features.

Hand velocity x and y is decoded from 10 bins of 100 ms, in five contiguous folds with gaps, with one ranking for
both outputs. Soft kNN (k = 50, β = ½ of the mean distance) gets the first n features of each ranking, and the
figure is its mean squared error as a fraction of the variance. The published claim, made on other recordings, is
that RGS has the lower error; it is judged on RGS with the published settings, beside which stands RGS with ours.
Needs the file ``stevenson2011_m1.mat`` in the folder ``NEUROFS_SHARED_DATA``.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from neurofs.experiments.bench.recordings import RECORDINGS, find_recording
from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import add_legends, make_axes
from neurofs.experiments.reproduce.tables import Progress, average, choose, render_means, track
from neurofs.metric.neighbors import prefix_curve
from neurofs.report.palette import find_key
from neurofs.selectors.filters import SKS, CorrCoef, InfoGain
from neurofs.selectors.rgs import RGS

MINUTES = 4
PUBLISHED, WEIGHTED = "rgs, published", "rgs, published, with weights"
LINES = {"": "-", " published": "-", " published, with weights": "--", " ours": "-.", " ours, with weights": ":"}
SIZES, K, BETA = (20, 50, 100, 200, 400), 50, 0.5


def _rankings(samples: Any, Y: np.ndarray, seed: int) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
    """Return the order of the features by every method, and their weights (None if all count alike)."""
    published, ours = (kind(random_state=seed).fit(samples, Y) for kind in (RGS.published, RGS))
    rivals = {"corrcoef": CorrCoef(), "infogain": InfoGain(), "sks": SKS(n_neighbors=K, beta_factor=BETA)}
    orders = {name: (rival.fit(samples, Y).order_, None) for name, rival in rivals.items()}
    return {
        PUBLISHED: (published.order_, None),
        WEIGHTED: (published.order_, published.weights_),
        "rgs, ours": (ours.order_, None),
        "rgs, ours, with weights": (ours.order_, ours.weights_),
        **orders,
    }


def run(
    repetitions: int = 5, seed: int = 0, sizes: Iterable[int] = SIZES, session: Any = None, progress: Progress = None
) -> pd.DataFrame:
    """Decode the first `repetitions` of five folds: one row per method, n, fold and output; all n at the end."""
    session = session or RECORDINGS["stevenson"](find_recording("stevenson2011_m1.mat").parent)
    samples, Y = session.samples, session.y
    sizes = [n for n in sizes if n < samples.n_features] + [samples.n_features]
    rows = []
    for fold, (train, test) in track(enumerate(list(session.folds())[:repetitions]), progress):
        data = samples[train], Y[train], samples[test]
        for method, (order, weights) in _rankings(*data[:2], seed).items():
            predicted = prefix_curve(*data, order=order, sizes=sizes, weights=weights, k=K, beta=BETA)
            errors = ((predicted - Y[test]) ** 2).mean(axis=1) / Y[test].var(axis=0)
            for n, error in zip(sizes, errors, strict=True):
                rows += [(method, n, fold, o, e) for o, e in zip(session.outputs, error, strict=True)]
    return pd.DataFrame(rows, columns=["method", "n", "fold", "output", "mse"])


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return the mean errors as lines of text, one per method."""
    means = render_means(average(table, "method", "n", "mse"), ".3f", 30, 10, head="n = {}")
    return ["Mean squared error / variance of soft kNN on the first n features", *means]


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield the claims of section 4.4 that can be made of one recording."""
    means = average(table, "method", "n", "mse")
    few, everything = list(means.columns[:-1]), means.columns[-1]
    rgs = means.loc[PUBLISHED, few]
    for rival in ("corrcoef", "infogain", "sks"):
        pairs = ", ".join(f"{n}: {rgs[n]:.3f} / {means.loc[rival, n]:.3f}" for n in few)
        yield make_claim(
            f"RGS has a lower error than {rival} throughout",
            "figures 4.3 and 4.4",
            f"error by n: {pairs}",
            (rgs < means.loc[rival, few]).all(),
        )
    near, all_error = min(few, key=lambda n: abs(n - 100)), means.loc["corrcoef", everything]
    wins = {n: _wins(table, PUBLISHED, n, everything) for n in few}
    yield make_claim(
        f"about 100 features of RGS beat all {everything}",
        "better in 92 % of folds",
        f"{near} features: {rgs[near]:.3f} against {all_error:.3f}; better in "
        + ", ".join(f"{share:.0%} (n = {n})" for n, share in wins.items() if n >= near),
        wins[near] >= 0.9,
    )
    gain = means.loc[PUBLISHED] - means.loc[WEIGHTED]
    yield make_claim(
        "weights help, and the more features are used the more",
        "figure 4.5",
        "error without minus with weights: " + ", ".join(f"{g:.3f} (n = {n})" for n, g in gain.items()),
        gain.iloc[-1] > gain.iloc[0] and (gain > 0).all(),
    )


def _wins(table: pd.DataFrame, method: str, n: int, other: int) -> float:
    """Return the share of folds and outputs in which a method errs less with n features than with `other`."""
    own = choose(table, method=method).set_index(["n", "fold", "output"])["mse"]
    return float((own[n] < own[other]).mean())


def plot(table: pd.DataFrame) -> Any:
    """Draw the error against the number of features, one panel per output, the mean over folds."""
    outputs = list(table["output"].unique())
    figure, axes = make_axes((5 * len(outputs), 4), len(outputs), sharey=True)
    for ax, output in zip(axes, outputs, strict=True):
        means = choose(table, output=output).groupby(["method", "n"], sort=False)["mse"].mean()
        for method in means.index.unique("method"):
            name, comma, form = method.partition(",")
            key = find_key(name)
            style = {"ls": LINES[form], "color": key.color, "marker": key.marker}
            ax.plot(means[method], ms=4, label=key.label + comma + form, **style)
        ax.set(xscale="log", xlabel="best n features", title=output)
    axes[0].set(ylabel="mean squared error / variance", ylim=(0, None))
    add_legends(axes[0])
    return figure
