"""EBFS ("On Induction", chapter 2): trees on Myd60 … Myd65, and beside ReliefD and the wrapper on real data.

Myd60 has 500 samples: a, b, d are uniform on {0, 1, 2}; e is 1 if a = 1 or b = 1, 2 if {a, b} = {0, 2}, and else
0; the class is 1 if {d, e} = {0, 2}, and else 0; c equals the class in 75 % of the cases and is otherwise random,
as f always is. Myd61 … Myd65 are the same samples with e replaced by a random value in 10 … 50 % of the cases.
Errors are measured in 10 outer folds, and EBFS chooses in 10 inner ones.

The trees are those of C4.5, by gain ratio, with one branch per value where a feature has at most three values; they
are pruned, where they are, at C4.5's confidence of 25 %. ReliefD keeps the features of positive weight; the thesis
says that there is a threshold, and not which. The published real data came from a repository; ours are those that
scikit-learn ships, with and without 100 random features of three values (as in the published Vote100 and Credit100).
The published figures are bars without numbers, so claims are compared. ID3 and FRINGE, of which the source of FOCUS
tells, stand beside the trees on the Myd sets.
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.utils import check_random_state

from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import add_legends, make_axes
from neurofs.experiments.reproduce.tables import Progress, average, choose, render_means, track
from neurofs.features.samples import Samples
from neurofs.selectors import EBFS, BackwardElimination, ReliefD
from neurofs.selectors.c45 import DecisionTree
from neurofs.selectors.fringe import Fringe
from neurofs.selectors.trees import split_rows

MINUTES = 9
NOISE = (0, 10, 20, 30, 40, 50)
NAMES = "abcdef"
FOLDS = {"myd": (10, 10), "real": (5, 3)}  # outer, in which errors are measured, and inner
TREES = ("tree", "pruned tree", "EBFS", "EBFS, pruned")
BINARY = ("ID3", "FRINGE")  # of two branches at each test
OTHERS = ("ReliefD", "ReliefD, pruned", "wrapper", "wrapper, pruned")
SETS = ("iris", "wine", "cancer", "digits", "iris100", "wine100", "cancer100")
TOO_WIDE = ("digits", "wine100", "cancer100")  # for the wrapper, which takes many minutes there
NOMINAL = 3  # most values of a feature with one branch per value
CONFIDENCE = 0.25  # by which C4.5 prunes
COLUMNS = ["part", "data", "method", "repetition", "fold", "quantity", "value"]


def draw(noise: int, seed: int, m: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Return the features a … f and the class of a Myd set: Myd60 of the seed, with `noise` percent on e."""
    rng = np.random.default_rng(seed)
    a, b, d, f, other = rng.integers(0, 3, (5, m))
    e = np.where((a == 1) | (b == 1), 1, np.where(a == b, 0, 2))
    y = (((d == 0) & (e == 2)) | ((d == 2) & (e == 0))).astype(int)
    c = np.where(rng.random(m) < 0.75, y, rng.integers(0, 3, m))
    e = np.where(rng.random(m) < noise / 100, other, e)
    return np.column_stack([a, b, c, d, e, f]).astype(float), y


def load_set(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return one of the data sets that scikit-learn ships, with 100 random features more if the name ends so."""
    loaders = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits}
    X, y = loaders[name.removesuffix("100")](return_X_y=True)
    if name.endswith("100"):
        X = np.hstack([X, np.random.default_rng([seed, 100]).integers(0, 3, (len(X), 100))])
    return X, y


# --------------------------------------------------------------------------------------------- one fold


def make_tree(method: str, seed: int) -> Any:
    """Return the tree that a method ends with."""
    if method == "FRINGE":
        return Fringe(random_state=seed)
    if method == "ID3":
        return DecisionTree("gain", min_rows=1, random_state=seed)
    confidence = CONFIDENCE if "pruned" in method else None
    return DecisionTree(confidence=confidence, nominal=NOMINAL, random_state=seed)


def select(method: str, X: np.ndarray, y: np.ndarray, cv: int, seed: int) -> tuple[np.ndarray, int]:
    """Return the features that a method chooses, and how many trees it grew for it."""
    name, tree = method.partition(", ")[0], make_tree(method, seed)
    if name == "EBFS":
        ebfs = EBFS(confidence=tree.confidence, nominal=NOMINAL, cv=cv, random_state=seed).fit(X, y)
        return ebfs.get_support(indices=True), cv * len(ebfs.rounds_)
    if name == "ReliefD":
        return ReliefD(nominal=NOMINAL).fit(X, y).get_support(indices=True), 0
    if name == "wrapper":
        wrapper = BackwardElimination(estimator=tree, cv=cv).fit(X, y)
        n_trees = cv * (1 + sum(step.n_features for step in wrapper.steps_ if step.n_features > 1))
        return wrapper.get_support(indices=True), n_trees
    return np.arange(X.shape[1]), 0


def measure(
    method: str, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, cv: int, seed: int
) -> Iterator[tuple[str, float]]:
    """Yield what a method is like in one outer fold: quantity and value."""
    start = time.perf_counter()
    chosen, n_trees = select(method, X[train], y[train], cv, seed)
    yield "seconds", time.perf_counter() - start
    model = make_tree(method, seed).fit(X[train][:, chosen], y[train])
    tree = getattr(model, "tree_", model)
    yield "error", float(np.mean(model.predict(X[test][:, chosen]) != y[test]))
    yield "nodes", float(tree.node_count_)
    yield "features", float(chosen.size)
    yield "trees", float(n_trees)
    root = make_tree("tree", seed).fit(X[train], y[train]).feature_[0]
    yield "removes root", float(root not in chosen)
    if X.shape[1] == len(NAMES) and method in TREES:
        tested = chosen[np.unique(tree.feature_[tree.feature_ >= 0])]
        for f, name in enumerate(NAMES):
            yield f"removes {name}", float(f not in chosen)
            yield f"tests {name}", float(f in tested)


def run(repetitions: int = 3, seed: int = 0, sets: tuple[str, ...] = SETS, progress: Progress = None) -> pd.DataFrame:
    """Return one row per figure; `repetitions` Myd sets are drawn per level of noise, real sets are used once."""
    rows: list[tuple[Any, ...]] = []
    jobs = [("myd", f"myd6{n // 10}", r) for n in NOISE for r in range(repetitions)]
    jobs += [("real", name, 0) for name in sets]
    for part, data, r in track(jobs, progress):
        X, y = draw(10 * int(data[-1]), seed + r) if part == "myd" else load_set(data, seed)
        rows += [(part, data, method, r, *rest) for method, *rest in _one_set(part, data, X, y, seed + r)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _one_set(part: str, data: str, X: np.ndarray, y: np.ndarray, seed: int) -> Iterator[tuple[str, int, str, float]]:
    """Yield method, fold, quantity and value of one data set."""
    outer, inner = FOLDS[part]
    methods = TREES + (BINARY if part == "myd" else OTHERS)
    folds = split_rows(Samples.from_array(X), y, None, outer, check_random_state(seed))
    for method in methods:
        if data in TOO_WIDE and method.startswith("wrapper"):
            continue
        for fold, (train, test) in enumerate(folds):
            for quantity, value in measure(method, X, y, train, test, inner, seed):
                yield method, fold, quantity, value


def _means(table: pd.DataFrame, part: str, quantity: str) -> pd.DataFrame:
    """Return the mean of a quantity, (data, method)."""
    return average(choose(table, part=part, quantity=quantity), "data", "method")


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield each published claim, our figure, and whether it holds."""
    yield from _myd_claims(table)
    yield from _real_claims(table)


def _myd_claims(table: pd.DataFrame) -> Iterator[Claim]:
    error, noisy = _means(table, "myd", "error"), ["myd62", "myd63", "myd64", "myd65"]
    gain = (error["tree"] - error["EBFS"])[noisy]
    yield make_claim(
        "EBFS lowers the error of unpruned trees on Myd62 … Myd65, a little",
        "figure 2.4: very small improvements",
        "change of the error: " + ", ".join(f"{data} {-100 * g:+.1f}" for data, g in gain.items()) + " points",
        (gain > 0).all(),
    )
    nodes = _means(table, "myd", "nodes").loc[noisy]
    smaller = nodes["EBFS"] < nodes["tree"]
    yield make_claim(
        "so it does with the number of nodes",
        "figure 2.5: the same trend",
        ", ".join(f"{data} {row['tree']:.0f} -> {row['EBFS']:.0f}" for data, row in nodes.iterrows()),
        smaller.all(),
    )
    tests = {f: _means(table, "myd", f"tests {f}")["tree"].mean() for f in "cef"}
    told = ", ".join(f"{f} in {share:.0%}" for f, share in tests.items())
    yield make_claim(
        "plain trees seldom choose c, e or f",
        "section 2.4.2",
        f"unpruned trees test {told} of folds",
        max(tests.values()) < 0.5,
    )
    removed = _means(table, "myd", "removes c")["EBFS"]
    yield make_claim(
        "EBFS fails to remove the correlated feature c",
        "figure 2.6, section 2.4.2: trees did not pick it in most cases",
        f"removed in {removed.min():.0%} to {removed.max():.0%} of folds, by level of noise; plain trees test it in "
        f"{tests['c']:.0%}",
        removed.mean() < 0.5,
    )


def _real_claims(table: pd.DataFrame) -> Iterator[Claim]:
    error, root = _means(table, "real", "error"), _means(table, "real", "removes root")
    for plain, with_ebfs, published in (
        ("tree", "EBFS", "not worse on 18 of 24 sets"),
        ("pruned tree", "EBFS, pruned", "not worse on 19 of 24 sets"),
    ):
        fine = error[with_ebfs] <= error[plain] + 1e-12
        pairs = ", ".join(f"{d} {error[plain][d]:.3f} -> {error[with_ebfs][d]:.3f}" for d in error.index)
        yield make_claim(
            f"EBFS improves the error of the {plain} in most cases",
            f"figure 2.2: {published}",
            f"not worse on {fine.sum()} of {len(fine)}: {pairs}; it removed what the root of the plain tree tests in "
            f"{root[with_ebfs].mean():.0%} of folds",
            fine.mean() > 0.5,
        )
    yield _size_claim(_means(table, "real", "nodes"))
    yield from _wrapper_claims(table, error.dropna())
    yield from _relief_claims(table, error)


def _size_claim(nodes: pd.DataFrame) -> Claim:
    smaller = (nodes["EBFS"] <= nodes["tree"]) & (nodes["EBFS, pruned"] <= nodes["pruned tree"])
    return make_claim(
        "trees after EBFS are smaller, pruned or not",
        "figure 2.3",
        f"true of {smaller.sum()} of {len(smaller)} sets",
        smaller.mean() > 0.5,
    )


def _wrapper_claims(table: pd.DataFrame, error: pd.DataFrame) -> Iterator[Claim]:
    """Yield what is claimed of EBFS and the wrapper; `error` has the sets on which both were run."""
    nodes = _means(table, "real", "nodes").loc[error.index]
    yield make_claim(
        "EBFS is almost as good as the wrapper",
        "figure 2.7: except on Credit100",
        f"mean error {error['EBFS'].mean():.3f} against {error['wrapper'].mean():.3f} on {len(error)} sets",
        (error["EBFS"] - error["wrapper"]).mean() < 0.02,
    )
    alike = nodes["EBFS, pruned"] <= 1.1 * nodes["wrapper, pruned"]
    pairs = ", ".join(f"{d} {r['EBFS, pruned']:.0f} / {r['wrapper, pruned']:.0f}" for d, r in nodes.iterrows())
    yield make_claim(
        "with pruning, trees after EBFS are as small as after the wrapper, or smaller",
        "figure 2.8",
        f"nodes after EBFS / wrapper: {pairs}; at most 10 % larger on {alike.sum()} of {len(alike)}",
        alike.mean() > 0.5,
    )
    trees, seconds = _means(table, "real", "trees"), _means(table, "real", "seconds")
    widest = ([data for data in error.index if data.endswith("100")] or list(error.index))[-1]
    ratio, n = (trees["wrapper"] / trees["EBFS"])[widest], load_set(widest, 0)[0].shape[1]
    yield make_claim(
        "EBFS grows far fewer trees than the wrapper where there are many features",
        "section 2.5.3: more than 50 times fewer for 116 features, in the worst case of both",
        f"{widest}, {n} features: {ratio:.0f} times fewer, {(n + 1) / 2:.0f} in the worst case of both; "
        f"{seconds['wrapper'][widest]:.1f} against {seconds['EBFS'][widest]:.2f} s",
        ratio > 50,
    )


def _relief_claims(table: pd.DataFrame, error: pd.DataFrame) -> Iterator[Claim]:
    gap = error["ReliefD"] - error["EBFS"]
    pairs = ", ".join(f"{d} {r['ReliefD']:.3f} / {r['EBFS']:.3f}" for d, r in error.iterrows())
    yield make_claim(
        "ReliefD and EBFS perform similarly",
        "figure 2.9: with occasional bursts of ReliefD",
        f"error after ReliefD / EBFS: {pairs}",
        gap.abs().median() < 0.02,
    )
    kept = _means(table, "real", "features")
    milder = (kept["EBFS"] >= kept["ReliefD"]) & ~(kept["EBFS"] < kept["wrapper"])
    sizes = ", ".join(
        f"{d} {r['EBFS']:.0f} / {r['ReliefD']:.0f} / {'–' if np.isnan(r['wrapper']) else format(r['wrapper'], '.0f')}"
        for d, r in kept.iterrows()
    )
    yield make_claim(
        "EBFS removes fewer features than ReliefD and the wrapper",
        "figures 2.11 and 2.12: generally, but not on Vote100",
        f"features kept by EBFS / ReliefD / wrapper: {sizes}; true of {milder.sum()} of {len(milder)}",
        milder.mean() > 0.5,
    )


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return the tables as lines of text."""
    n = choose(table, part="myd")["repetition"].nunique()
    title = f"EBFS on Myd60 … Myd65: error and nodes of 10 outer folds, mean of {n} sets of 500 samples"
    removed = {f"removes {f}": _means(table, "myd", f"removes {f}")["EBFS"] for f in NAMES}
    lines = [title, "", *render_means(_means(table, "myd", "error"), ".3f", 11, 16)]
    lines += ["", "Nodes", *render_means(_means(table, "myd", "nodes"), ".1f", 11, 16)]
    lines += ["", "EBFS, share of folds", *render_means(pd.DataFrame(removed), ".2f", 11, 16)]
    title = "Data of scikit-learn, error in 5 outer folds (3 inner); 100: with 100 random features more"
    for head, quantity, form in (
        (title, "error", ".3f"),
        ("Nodes", "nodes", ".1f"),
        ("Features kept", "features", ".1f"),
        ("Seconds to choose them", "seconds", ".2f"),
    ):
        lines += ["", head, *render_means(_means(table, "real", quantity), form, 11, 16)]
    return lines


def plot(table: pd.DataFrame) -> Any:
    """Draw figures 2.4 to 2.6 (Myd sets) and the errors on real data (2.7, 2.9)."""
    figure, axes = make_axes((13, 8), 2, n_rows=2)
    for ax, quantity in zip(axes, ("error", "nodes"), strict=False):
        means = _means(table, "myd", quantity)
        for method, style in zip(TREES + BINARY, ("o-", "o--", "s-", "s--", "^-", "v-"), strict=True):
            color = "tab:blue" if "EBFS" in method else "tab:orange" if method in BINARY else "0.5"
            ax.plot(NOISE, means[method], style, label=method, color=color)
        ax.set(xlabel="noise on e (%)", ylabel=quantity, ylim=(0, None))
    for f, style in zip("cef", ("-", "--", ":"), strict=True):
        axes[2].plot(NOISE, _means(table, "myd", f"removes {f}")["EBFS"], style, marker="o", label=f)
    axes[2].set(xlabel="noise on e (%)", ylabel="share of folds in which EBFS removes it", ylim=(0, 1))
    real = _means(table, "real", "error")
    width = 0.8 / len(real.columns)
    for i, method in enumerate(real.columns):
        axes[3].bar(np.arange(len(real)) + i * width, real[method], width, label=method)
    axes[3].set_xticks(np.arange(len(real)) + 0.4, real.index)
    axes[3].set(ylabel="error", ylim=(0, 1.4 * float(np.nanmax(real))))
    add_legends(*axes, n_columns=2)
    return figure
