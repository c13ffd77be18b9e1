"""Sections 5.3.2 and 5.6 of Navot (2006), figures 5.3, 5.4 and 5.6: Mufasa says which features to generate.

A feature is the AND of 1 to 8 pixels or their negations, OR-ed over the a × a places of a shift. Mufasa (J = 50)
looks for good values of four meta-features, and draws features that have them until a budget is used up:

    inputs      number of pixels, 1 to 8
    positive    percent of pixels that are not negated
    shift       a; a feature costs ½ (1 + a²)
    scatter     mean distance of the pixels from their center of gravity

Rivals with the same budget: 50 sets of features of any kind, of which the best is taken ("random"), and the best
by infogain over cost among features of any kind for 50 budgets ("infogain / cost"); without a budget, support
vectors with polynomial kernels on the pixels. A set is as good as a linear support vector machine on it, in two
folds of the training images.

Published with MNIST, 28 × 28 pixels, 2000 + 2000 images, which is not at hand. Ours are scikit-learn's digits,
8 × 8, 898 + 899 images; lengths of 28 pixels become lengths of 8: shifts of 1 to 3 (published 1 to 8) and a
scatter of 0.5 to 2 (1 to 3.5). Classes are told apart one against one.

    5.3  error on test images against the budget
    5.4  the values that Mufasa chose, against the budget
    5.6  4 or 9, 200 images, no shifts: features in a window at (x, y), by their number of inputs, or any
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import add_legends, make_axes, plot_means
from neurofs.experiments.reproduce.tables import Progress, average, choose, render_means, track
from neurofs.selectors.budget import rank_per_cost, spend
from neurofs.selectors.filters import mutual_information
from neurofs.selectors.mufasa import search_points

MINUTES = 3
SIDE, J = 8, 50
MAX_INPUTS, MAX_SHIFT = 8, 3
N_POOL, N_NEAR = 4000, 400  # sets of pixels drawn beforehand, and how many around a scatter are alike to us
LOW, HIGH = np.array([1.0, 0.0, 1.0, 0.5]), np.array([8.0, 100.0, 3.0, 2.0])
ROUNDED = np.array([0.499, 0.0, 0.499, 0.0])  # whole numbers are rounded from a little beyond their range
STEP = (HIGH - LOW) / 4  # standard deviation of the noise on a point
NAMES = ("inputs", "positive", "shift", "scatter")
BUDGETS = (50, 100, 200, 400, 800, 1600)
DEGREES = (1, 2, 3, 4)
COUNTS = (5, 10, 20, 50, 100, 200)
WINDOW = 2  # of 4 in 28 pixels it would be 1.1: at least two places a side
SCATTER_56 = 1.0
ERRORS = {"5.3": "available budget", "5.6": "features"}


class Feature(NamedTuple):
    """The AND of some pixels (row, column) or their negations, OR-ed over shift × shift places."""

    pixels: np.ndarray
    positive: np.ndarray
    shift: int = 1

    @property
    def cost(self) -> float:
        """What it costs to compute."""
        return 0.5 * (1 + self.shift**2)


def compute(images: np.ndarray, features: list[Feature]) -> np.ndarray:
    """Return the features (images, features) of binary images; outside of an image all is 0.

    >>> image = np.zeros((1, 8, 8), bool)
    >>> image[0, 3, 4] = True
    >>> at, both = np.array([[3, 4]]), np.array([[2, 4], [3, 5]])
    >>> found = [Feature(at, np.array([True])), Feature(at, np.array([False])), Feature(at + 1, np.array([True]))]
    >>> found += [Feature(at + 1, np.array([True]), 3), Feature(both, np.array([False, False]))]
    >>> compute(image, found).tolist()
    [[True, False, False, True, True]]
    """
    padded = np.pad(images, ((0, 0), (MAX_SHIFT, MAX_SHIFT), (MAX_SHIFT, MAX_SHIFT)))
    values = np.zeros((len(features), len(images)), bool)
    planes = np.ascontiguousarray(padded.transpose(1, 2, 0))
    for value, feature in zip(values, features, strict=True):
        offsets = np.arange(feature.shift) - (feature.shift - 1) // 2 + MAX_SHIFT
        for down in offsets:
            for right in offsets:
                value |= _all(planes, feature.pixels + np.array((down, right)), feature.positive)
    return values.T


def _all(planes: np.ndarray, pixels: np.ndarray, positive: np.ndarray) -> np.ndarray:
    return (planes[pixels[:, 0], pixels[:, 1]] == positive[:, None]).all(axis=0)


# ---------------------------------------------------------------------------------------- drawing features


class Pool:
    """Sets of 1 to 8 pixels with their scatter, from which features with given meta-features are drawn."""

    def __init__(self, rng: np.random.Generator) -> None:
        """Draw sets inside random windows of all sizes, so that every scatter comes up."""
        self.rng, self.pixels, self.scatter = rng, {}, {}
        for k in range(1, MAX_INPUTS + 1):
            sets = np.array([self._draw_set(k) for _ in range(N_POOL)])
            order = np.argsort(find_scatter(sets), kind="stable")
            self.pixels[k], self.scatter[k] = sets[order], find_scatter(sets)[order]

    def _draw_set(self, k: int) -> np.ndarray:
        side = self.rng.integers(max(1, int(np.ceil(np.sqrt(k)))), SIDE + 1)
        corner = self.rng.integers(0, SIDE - side + 1, 2)
        cells = self.rng.choice(side * side, k, replace=False)
        return corner + np.column_stack([cells // side, cells % side])

    def draw(self, u: np.ndarray) -> Feature:
        """Draw a feature with the meta-features `u`: one of the sets around its scatter."""
        k, shift = int(np.rint(u[0])), int(np.rint(u[2]))
        first = np.clip(np.searchsorted(self.scatter[k], u[3]) - N_NEAR // 2, 0, N_POOL - N_NEAR)
        return self.dress(self.pixels[k][first + self.rng.integers(N_NEAR)], u[1], shift)

    def dress(self, pixels: np.ndarray, percent: float, shift: int = 1) -> Feature:
        """Make a feature of a set of pixels, `percent` of them (rounded to whole pixels) positive."""
        n_positive = int(np.rint(len(pixels) * percent / 100))
        return Feature(pixels, self.rng.permutation(len(pixels)) < n_positive, shift)

    def draw_any(self) -> Feature:
        """Draw a feature with any meta-features."""
        return self.draw(self.rng.uniform(LOW - ROUNDED, HIGH + ROUNDED))


def find_scatter(sets: np.ndarray) -> np.ndarray:
    """Return the mean distance of pixels from their center of gravity, for sets (sets, pixels, 2).

    >>> find_scatter(np.array([[[0, 0], [0, 2]], [[3, 3], [3, 3]]])).tolist()
    [1.0, 0.0]
    """
    return np.sqrt(((sets - sets.mean(axis=1, keepdims=True)) ** 2).sum(axis=2)).mean(axis=1)


def fill(draw: Callable[[], Feature], budget: float) -> list[Feature]:
    """Draw features until the next one cannot be paid; the first is always taken."""
    drawn = [draw()]
    left = budget - drawn[0].cost
    while (feature := draw()).cost <= left:
        drawn.append(feature)
        left -= feature.cost
    return drawn


# ----------------------------------------------------------------------------------------------- experiment


class Images(NamedTuple):
    """Training and test images with their digits."""

    train: np.ndarray
    y_train: np.ndarray
    test: np.ndarray
    y_test: np.ndarray

    def rehearse(self, features: list[Feature]) -> float:
        """Return the error of a linear support vector machine in two folds of the training images."""
        X = compute(self.train, features).astype(float)
        kernel, folds = X @ X.T, StratifiedKFold(2).split(X, self.y_train)
        return float(np.mean([_error(kernel, self.y_train, a, b) for a, b in folds]))

    def examine(self, features: list[Feature]) -> float:
        """Return the error on the test images."""
        X = compute(np.concatenate([self.train, self.test]), features).astype(float)
        return self.examine_kernel(X @ X.T)

    def examine_kernel(self, kernel: np.ndarray) -> float:
        """Return the error on the test images with any kernel of all images, those for training first."""
        n = len(self.train)
        return _error(kernel, np.concatenate([self.y_train, self.y_test]), np.arange(n), np.arange(n, len(kernel)))


def _error(kernel: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    """Return the error of support vectors in some rows, trained in others."""
    model = SVC(kernel="precomputed").fit(kernel[np.ix_(train, train)], y[train])
    return 1 - float(model.score(kernel[np.ix_(test, train)], y[test]))


def _split(X: np.ndarray, y: np.ndarray, n_train: int, rng: np.random.Generator) -> Images:
    rows = rng.permutation(len(X))
    train, test = rows[:n_train], rows[n_train:]
    return Images(X[train], y[train], X[test], y[test])


Row = tuple[str, str, float, float]


def run(repetitions: int = 4, seed: int = 0, progress: Progress = None, n_rounds: int = J) -> pd.DataFrame:
    """Return one row per figure, method, x (budget or number of features) and repetition."""
    flat, y = load_digits(return_X_y=True)
    X = flat.reshape(-1, SIDE, SIDE) >= 8
    rows: list[tuple[Any, ...]] = []
    for r in track(range(repetitions), progress):
        rng = np.random.default_rng([seed, r])
        pool = Pool(rng)
        pair = np.isin(y, (4, 9))
        parts = _extract(_split(X, y, len(X) // 2, rng), pool, n_rounds)
        rows += [(figure, method, x, r, value) for figure, method, x, value in parts]
        rows += [("5.6", *row[:2], r, row[2]) for row in _trade_off(_split(X[pair], y[pair], 200, rng), pool, n_rounds)]
    return pd.DataFrame(rows, columns=["figure", "method", "x", "repetition", "value"])


def _extract(images: Images, pool: Pool, n_rounds: int) -> Iterator[Row]:
    """Figures 5.3 and 5.4."""
    for budget in BUDGETS:
        found = search_points(
            lambda u, budget=budget: fill(lambda: pool.draw(u), budget),  # type: ignore[misc]
            images.rehearse,
            (LOW + HIGH) / 2,
            lambda u: np.clip(u + STEP * pool.rng.normal(size=4), LOW, HIGH),
            n_rounds,
        )
        yield "5.3", "mufasa", budget, images.examine(found.features)
        for name, value in zip(NAMES, found.point, strict=True):
            yield "5.4", name, budget, float(value)
        sets = [fill(pool.draw_any, budget) for _ in range(n_rounds)]
        yield "5.3", "random", budget, images.examine(min(sets, key=images.rehearse))
        yield "5.3", "infogain / cost", budget, images.examine(_best_by_infogain(images, pool, budget, n_rounds))
    pixels = np.concatenate([images.train, images.test]).reshape(-1, SIDE * SIDE).astype(float)
    for degree in DEGREES:
        error = images.examine_kernel((1 + pixels @ pixels.T / pixels.shape[1] / pixels.var()) ** degree)
        for budget in BUDGETS:
            yield "5.3", f"polynomial, degree {degree}", budget, error


def _best_by_infogain(images: Images, pool: Pool, budget: float, times: int) -> list[Feature]:
    """Return the best features by infogain over cost for a budget, of those drawn with `times` as much."""
    candidates = fill(pool.draw_any, times * budget)
    values, codes = compute(images.train, candidates).T.astype(np.int64), images.y_train
    costs = np.array([feature.cost for feature in candidates])
    order = rank_per_cost([mutual_information(value, codes) for value in values], costs)
    return [candidates[i] for i in spend(order, costs, budget)]


def _trade_off(images: Images, pool: Pool, n_rounds: int) -> Iterator[tuple[str, int, float]]:
    """Figure 5.6: n features at one place, with one number of inputs, or any (the first set that comes)."""
    inside = SIDE - WINDOW
    for n in COUNTS:
        place = search_points(
            lambda u, n=n: [_draw_at(pool, u) for _ in range(n)],  # type: ignore[misc]
            images.rehearse,
            np.full(2, inside / 2),
            lambda u: np.clip(u + pool.rng.normal(size=2) * inside / 4, 0, inside),
            n_rounds,
        )
        yield "(x, y)", n, images.examine(place.features)
        inputs = search_points(
            lambda u, n=n: [_draw_with(pool, u[0]) for _ in range(n)],  # type: ignore[misc]
            images.rehearse,
            np.array([(1 + MAX_INPUTS) / 2]),
            lambda u: np.clip(u + pool.rng.normal(size=1) * STEP[0], 1, MAX_INPUTS),
            n_rounds,
        )
        yield "inputs", n, images.examine(inputs.features)
        yield "random", n, images.examine([_draw_with(pool, pool.rng.uniform(0.501, 8.499)) for _ in range(n)])


def _draw_with(pool: Pool, inputs: float) -> Feature:
    return pool.draw(np.array([inputs, pool.rng.uniform(0, 100), 1.0, SCATTER_56]))


def _draw_at(pool: Pool, corner: np.ndarray) -> Feature:
    """Draw a feature whose center of gravity lies, to half a pixel, in a window; any number of inputs."""
    feature = _draw_with(pool, pool.rng.uniform(0.501, 8.499))
    goal = np.rint(corner) + pool.rng.integers(0, WINDOW, 2)
    moved = feature.pixels + np.rint(goal - feature.pixels.mean(axis=0)).astype(int)
    return feature._replace(pixels=np.clip(moved, -MAX_SHIFT, SIDE + MAX_SHIFT - 1))


# --------------------------------------------------------------------------------------------------- claims


def _means(table: pd.DataFrame, figure: str) -> pd.DataFrame:
    """Return the mean values of a figure, (method, x)."""
    return average(choose(table, figure=figure), "method", "x")


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield each published claim, our figure, and whether it holds."""
    yield from _budget_claims(_means(table, "5.3"))
    yield from _value_claims(choose(table, figure="5.4"))
    yield from _trade_off_claims(_means(table, "5.6"))


def _budget_claims(errors: pd.DataFrame) -> Iterator[Claim]:
    ours = errors.loc["mufasa"]
    for rival in ("random", "infogain / cost"):
        yield make_claim(
            f"with the same budget Mufasa errs less than {rival}",
            "figure 5.3, for all budgets",
            f"error in % by budget, Mufasa / {rival}: {_pairs(100 * ours, 100 * errors.loc[rival], '.1f')}",
            (ours < errors.loc[rival]).all(),
        )
    kernels = errors[errors.index.str.startswith("polynomial")].iloc[:, 0]
    better = [x for x in errors.columns if ours[x] < kernels.min()]
    yield make_claim(
        "with a large budget it errs less than support vectors with a polynomial kernel on all pixels",
        "figure 5.3, budgets above 3000 (about 600 features) of MNIST; degree 2 is the best of 1 to 4",
        f"kernels {', '.join(f'{100 * e:.1f}' for e in kernels)} % (degrees 1 to 4), Mufasa "
        f"{100 * ours.iloc[-1]:.1f} % with {ours.index[-1]}; better with budgets {better or 'none'}",
        bool(better) and ours.index[-1] in better,
    )


def _pairs(ours: pd.Series, rival: pd.Series, form: str) -> str:
    return ", ".join(f"{x:g}: {ours[x]:{form}} / {rival[x]:{form}}" for x in ours.index)


def _value_claims(values: pd.DataFrame) -> Iterator[Claim]:
    for name in NAMES:
        part = choose(values, method=name)
        mean, rho = part.groupby("x")["value"].mean(), float(spearmanr(part["x"], part["value"]).statistic)
        grows = name != "scatter"
        chosen = ", ".join(f"{x:g}: {value:.2f}" for x, value in mean.items())
        yield make_claim(
            f"the chosen value of {name} {'grows with' if grows else 'does not depend on'} the budget",
            "figure 5.4",
            f"rank correlation {rho:.2f} over {len(part)} searches; means by budget: {chosen}",
            rho > 0.3 if grows else abs(rho) < 0.3,
        )


def _trade_off_claims(errors: pd.DataFrame) -> Iterator[Claim]:
    place, inputs, few, many = errors.loc["(x, y)"], errors.loc["inputs"], COUNTS[:2], COUNTS[-2:]
    cells = ", ".join(
        f"{n}: {100 * place[n]:.1f} / {100 * inputs[n]:.1f} / {100 * errors.loc['random', n]:.1f}" for n in COUNTS
    )
    for which, best, rival, sizes in (("few", place, inputs, few), ("many", inputs, place, many)):
        better = "(x, y)" if which == "few" else "the number of inputs"
        yield make_claim(
            f"with {which} features {better} is the better meta-feature",
            "figure 5.6, 4 or 9 of MNIST, 200 images",
            f"error in % by features, (x, y) / inputs / random: {cells}",
            (best[list(sizes)] < rival[list(sizes)]).all(),
        )


# --------------------------------------------------------------------------------------- tables and figure


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return the figures as lines of text."""
    return [
        f"Guided extraction (Navot 2006, 5.3.2 and 5.6) on digits, mean of {table['repetition'].nunique()} repetitions",
        "",
        "5.3 Error on test images in %, by budget",
        *render_means(100 * _means(table, "5.3"), ".1f", 24, 8),
        "",
        "5.4 Chosen meta-features, by budget",
        *render_means(_means(table, "5.4"), ".2f", 24, 8),
        "",
        "5.6 Error in % for 4 or 9, by number of features",
        *render_means(100 * _means(table, "5.6"), ".1f", 24, 8),
    ]


def plot(table: pd.DataFrame) -> Any:
    """Draw errors against budget and number of features, and the four chosen values with their spread."""
    figure, axes = make_axes((13, 8), 3, n_rows=2)
    for ax, (name, label) in zip(axes, ERRORS.items(), strict=False):
        plot_means(ax, choose(table, figure=name))
        ax.set(xlabel=label, ylabel="error on test images", title=f"figure {name}", xscale="log")
    for ax, name in zip(axes[2:], NAMES, strict=True):
        plot_means(ax, choose(table, figure="5.4", method=name))
        ax.set(xlabel="available budget", ylabel=name, title="figure 5.4", xscale="log")
    add_legends(*axes[:2])
    return figure
