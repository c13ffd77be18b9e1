"""Chapter 5 of Navot (2006), figures 5.1, 5.2, 5.5 and 5.7: the quality of pixels from where they are.

Published with MNIST: 784 pixels, 2000 images. Ours are scikit-learn's digits: 64 pixels of 8 × 8, 1797 images,
also made binary by a threshold. Quality is infogain; meta-features are the position (x, y) of a pixel or its
distance r from the center; the regression is linear over Gaussians on a 7 × 7 grid, whose width of 3 of 28
pixels becomes 0.86 of 8. Since ours has fewer pixels than Gaussians, a ridge is chosen by leave-one-out.

    5.1  correlation of predicted and measured quality of unseen pixels, against the number of pixels seen
    5.2  error of 1-NN on the best unseen pixels by predicted (an eighth of all was seen) or measured quality
    5.5  tasks are pairs of digits: quality for new digits from its average on other tasks, or from properties
    5.7  quality measured on few images, as it is or smoothed by the regression, against that on all images
"""

from collections.abc import Iterator
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import add_legends, make_axes, plot_means
from neurofs.experiments.reproduce.tables import Progress, average, choose, render_means, track
from neurofs.selectors.filters import mutual_information
from neurofs.selectors.meta import QualityMap

MINUTES = 1
SIDE, N_FEATURES, N_IMAGES = 8, 64, 1000  # of training images; the others are for tests
WIDTH = 3 * SIDE / 28
SEEN = (2, 4, 8, 12, 16, 24, 32)
TOP = (1, 2, 4, 8, 12, 16, 24, 32)
TASKS = (1, 2, 4, 6, 8, 10)
IMAGES = (10, 20, 50, 100, 200, 500, 1000)
PLACE = np.column_stack([np.arange(N_FEATURES) % SIDE, np.arange(N_FEATURES) // SIDE]).astype(float)
FIGURES = {
    "5.1": "Correlation of predicted with measured quality of unseen pixels, by pixels seen",
    "5.2": f"Error of 1-NN on the best n of the unseen pixels ({N_FEATURES // 8} pixels seen)",
    "5.5": "Correlation of predicted with true quality for new digits, by number of training tasks",
    "5.7": "Correlation of quality from n images with that from all",
}
AXES = ("pixels seen", "unseen pixels used", "training tasks", "images")
RADIUS = np.hypot(*(PLACE - (SIDE - 1) / 2).T)[:, None]


def gaussians(M: np.ndarray) -> np.ndarray:
    """Return the responses of Gaussians on a grid to positions (7 × 7 of them) or radii (7)."""
    line = np.linspace(0, SIDE - 1, 7)
    if M.shape[1] == 1:
        centers = np.linspace(0, RADIUS.max(), 7)[:, None]
    else:
        centers = np.array([(x, y) for y in line for x in line])
    return np.exp(-((M[:, None] - centers) ** 2).sum(axis=2) / (2 * WIDTH**2))


def make_map() -> QualityMap:
    """Return the quality map of the source, with a ridge."""
    return QualityMap(regressor=make_pipeline(FunctionTransformer(gaussians), RidgeCV(np.logspace(-6, 2, 17))))


def infogain(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the mutual information of every binary pixel and the digit, in bits."""
    codes = np.unique(y, return_inverse=True)[1]
    return np.array([mutual_information(x, codes) for x in X.T])


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return the correlation, 0 where one side is constant."""
    return 0.0 if np.ptp(a) < 1e-12 or np.ptp(b) < 1e-12 else float(np.corrcoef(a, b)[0, 1])


def run(repetitions: int = 20, seed: int = 0, progress: Progress = None) -> pd.DataFrame:
    """Return one row per figure, method, x and repetition."""
    X, y = load_digits(return_X_y=True)
    X = (X >= 8).astype(np.int64)
    pairs = list(combinations(range(10), 2))
    tasks = {pair: infogain(X[np.isin(y, pair)], y[np.isin(y, pair)]) for pair in pairs}
    rows: list[tuple[Any, ...]] = []
    for r in track(range(repetitions), progress):
        rng = np.random.default_rng([seed, r])
        figures = chain(_predict_unseen(X, y, rng), _few_images(X, y, rng), _transfer_tasks(tasks, rng))
        rows += [(figure, method, x, r, value) for figure, method, x, value in figures]
    return pd.DataFrame(rows, columns=["figure", "method", "x", "repetition", "value"])


Row = tuple[str, str, int, float]


def _predict_unseen(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Iterator[Row]:
    """Figures 5.1 and 5.2: half of the pixels are for tests; some of the others are seen."""
    images = rng.permutation(len(X))
    train, test = images[:N_IMAGES], images[N_IMAGES:]
    quality, pixels = infogain(X[train], y[train]), rng.permutation(N_FEATURES)
    unseen, others = pixels[: N_FEATURES // 2], pixels[N_FEATURES // 2 :]
    for n in SEEN:
        predicted = make_map().fit(PLACE[others[:n]], quality[others[:n]]).predict(PLACE[unseen])
        yield "5.1", "predicted", n, correlation(predicted, quality[unseen])
        if n == N_FEATURES // 8:
            orders = {
                "predicted": np.argsort(-predicted, kind="stable"),
                "infogain": np.argsort(-quality[unseen], kind="stable"),
                "random": rng.permutation(unseen.size),
            }
            for method, order in orders.items():
                for top in TOP:
                    yield "5.2", method, top, _error(X, y, train, test, unseen[order[:top]])


def _error(X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, pixels: np.ndarray) -> float:
    """Return the error of 1-NN on some pixels."""
    model = KNeighborsClassifier(1).fit(X[train][:, pixels], y[train])
    return 1 - float(model.score(X[test][:, pixels], y[test]))


def _transfer_tasks(tasks: dict[tuple[int, int], np.ndarray], rng: np.random.Generator) -> Iterator[Row]:
    """Figure 5.5: training tasks are pairs of five digits, test tasks those of the other five."""
    digits = rng.permutation(10)
    old, new = ([tuple(sorted(p)) for p in combinations(half, 2)] for half in (digits[:5], digits[5:]))
    for n in TASKS:
        chosen = [old[i] for i in rng.permutation(len(old))[:n]]
        average = np.mean([tasks[pair] for pair in chosen], axis=0)
        predicted = {
            "average": average,
            "(x, y)": make_map().fit(PLACE, average).predict(PLACE),
            "r": make_map().fit(RADIUS, average).predict(RADIUS),
        }
        for method, values in predicted.items():
            yield "5.5", method, n, float(np.mean([correlation(values, tasks[pair]) for pair in new]))


def _few_images(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Iterator[Row]:
    """Figure 5.7: how near the quality on few images comes to that on all."""
    truth = infogain(X, y)
    for n in IMAGES:
        rows = rng.permutation(len(X))[:n]
        direct = infogain(X[rows], y[rows])
        yield "5.7", "infogain", n, correlation(direct, truth)
        yield "5.7", "predicted", n, correlation(make_map().fit(PLACE, direct).predict(PLACE), truth)


def _means(table: pd.DataFrame, figure: str) -> pd.DataFrame:
    """Return the mean values of a figure, (method, x)."""
    return average(choose(table, figure=figure), "method", "x")


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield each published claim, our figure, and whether it holds."""
    yield _accuracy_claim(_means(table, "5.1").loc["predicted"])
    yield _error_claim(_means(table, "5.2"))
    yield from _task_claims(_means(table, "5.5"))
    yield from _few_claims(_means(table, "5.7"))


def _accuracy_claim(seen: pd.Series) -> Claim:
    half = N_FEATURES // 2
    return make_claim(
        "with enough pixels seen, the quality of new ones is predicted with high accuracy",
        "figure 5.1, up to 392 of 784 pixels seen",
        f"correlation {seen[SEEN[0]]:.2f} with {SEEN[0]} seen, {seen[half]:.2f} with {half} of {N_FEATURES}",
        seen[half] > 0.8,
    )


def _error_claim(top: pd.DataFrame) -> Claim:
    middle = [n for n in TOP if 4 <= n <= 24]
    predicted, measured, random = (top.loc[name, middle] for name in ("predicted", "infogain", "random"))
    cells = ", ".join(f"{n}: {predicted[n]:.2f} / {measured[n]:.2f} / {random[n]:.2f}" for n in middle)
    return make_claim(
        "1-NN on the best pixels by prediction errs about as much as by measured infogain",
        "figure 5.2, 100 of 784 pixels seen",
        f"error by predicted / measured / random, with n pixels: {cells}",
        (predicted - measured).abs().mean() < (random - measured).mean() / 3,
    )


def _task_claims(tasks: pd.DataFrame) -> Iterator[Claim]:
    for method, rival in (("(x, y)", "average"), ("r", "(x, y)")):
        pairs = ", ".join(f"{n}: {tasks.loc[method, n]:.2f} / {tasks.loc[rival, n]:.2f}" for n in TASKS)
        yield make_claim(
            f"new tasks: quality predicted by {method} is nearer the truth than by {rival}",
            "figure 5.5, for any number of training tasks",
            f"correlations, by tasks: {pairs}",
            (tasks.loc[method] > tasks.loc[rival]).all(),
        )


def _few_claims(few: pd.DataFrame) -> Iterator[Claim]:
    gain = few.loc["predicted"] - few.loc["infogain"]
    cells = ", ".join(f"{n}: {few.loc['predicted', n]:.2f} / {few.loc['infogain', n]:.2f}" for n in IMAGES)
    yield make_claim(
        "from few images, smoothed infogain is nearer the truth than infogain as measured; from many it is not",
        "figure 5.7",
        f"correlation by prediction / infogain, with n images: {cells}",
        gain.iloc[0] > 0 > gain.iloc[-1],
    )
    better = [n for n in IMAGES if gain[n] > 0]
    yield make_claim(
        "it is so below 100 images",
        "figure 5.7, section 5.7",
        f"smoothing helps with {', '.join(str(n) for n in better) or 'no number of'} images",
        better == [n for n in IMAGES if n < 100],
    )


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return the figures as lines of text."""
    source = "Meta-features of pixels (Navot 2006, chapter 5) on scikit-learn's digits"
    lines = [f"{source}, mean of {table['repetition'].nunique()} repetitions"]
    for figure, title in FIGURES.items():
        lines += ["", f"{figure} {title}", *render_means(_means(table, figure), ".3f", 12, 8)]
    return lines


def plot(table: pd.DataFrame) -> Any:
    """Draw the four figures, with standard deviations over the repetitions."""
    figure, axes = make_axes((12, 8), 2, n_rows=2)
    for ax, name, x in zip(axes, FIGURES, AXES, strict=True):
        plot_means(ax, choose(table, figure=name))
        ax.set(xlabel=x, ylabel="error of 1-NN" if name == "5.2" else "correlation", title=f"figure {name}")
    axes[-1].set_xscale("log")
    add_legends(*axes)
    return figure
