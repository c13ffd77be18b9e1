"""Sections 5 and 7 of Almuallim and Dietterich (1994): the fewest Boolean features that explain the samples.

Repeated here are the worked example; table I, the sufficiency tests and the time with 9 relevant of 25 features;
figure 4, how many samples are needed to learn every concept of at most 3 of n features; and figures 5 and 6,
learning curves for concepts of at most 5 of 16 features. A sufficient set is found first, and a decision tree
without pruning is grown on its features ("+ID3"; here scikit-learn's tree with the entropy criterion); "id3" is
the same tree on all features, and "fringe" FRINGE of at most 10 rounds.

Ours is smaller than the source: a concept counts as learned when 90 % of 40 samples, not 100,000, give a
hypothesis that is right for 90 % of all inputs; figure 6 has 30 concepts and 10 samples each, not 100 and 100.
The source does not name the concepts of table I; ours are random functions. Irrelevant and relevant features are
mixed at random, so that no tie is broken in favor of the right ones.

For noisy samples the source proposes, at its end, to leave a share of the conflicts uncovered that cross-validation
finds. It has no figures; ours are of 200 samples of random functions of 3 of 10 features, 10 % of the classes turned
over, and the accuracy is that on samples without noise.
"""

from collections.abc import Callable, Iterator
from itertools import permutations
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import add_legends, make_axes
from neurofs.experiments.reproduce.tables import Progress, align, average, choose, render_means, track
from neurofs.selectors import Focus1, Focus2, MutualInformationGreedy, SimpleGreedy, WeightedGreedy
from neurofs.selectors.fringe import Fringe

MINUTES = 3
EXAMPLE = (["010100", "110010", "101111", "011000", "101001", "100101"], "+++---")
EXACT: dict[str, Any] = {"focus-1": Focus1, "focus-2": Focus2, "weighted-greedy": WeightedGreedy}
LEARNERS: dict[str, Any] = {
    "focus": Focus2,
    "weighted-greedy": WeightedGreedy,
    "simple-greedy": SimpleGreedy,
    "mi-greedy": MutualInformationGreedy,
    "id3": None,
    "fringe": None,
}
SELECTED = [method for method, kind in LEARNERS.items() if kind]  # those that select features for a tree
GREEDY = ("weighted-greedy", "simple-greedy", "mi-greedy")
TABLE_1 = {  # published: samples, then (tests, seconds)
    "focus-1": {100: (442189.4, 9.74), 200: (1329330.5, 55.1), 300: (2908068.9, 211.1)}
    | {400: (2665664.0, 191.7), 500: (2695393.0, 186.1)},
    "focus-2": {100: (10593.1, 2.0), 200: (9785.3, 7.1), 300: (11339.5, 20.5)}
    | {400: (8768.9, 31.9), 500: (5582.3, 32.5)},
    "weighted-greedy": {100: (8.5, 0.16), 200: (10.1, 0.86), 300: (10.7, 2.31)} | {400: (10.5, 4.3), 500: (11.0, 7.0)},
}
N_FEATURES = (8, 10, 12)  # figure 4
GROWTH = 1.12  # from one number of samples to the next that is tried
MOST_SAMPLES = 6000
NOISE, NOISY_SAMPLES, NOISY_FEATURES = 0.1, 200, 10
SIZES = (20, 40, 60, 80, 100, 120)  # figures 5 and 6
COLUMNS = ["part", "method", "x", "repetition", "quantity", "value"]
Row = tuple[str, str, float, int, str, float]


# ----------------------------------------------------------------------------------------------- the concepts


class Concept:
    """A Boolean function of some of n features, given by its table of values."""

    def __init__(self, table: np.ndarray, n: int) -> None:
        self.table, self.n = table, n
        self.n_relevant = int(np.log2(table.size))

    def draw(self, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return m uniform samples, their classes, and which features are relevant."""
        places = rng.permutation(self.n)[: self.n_relevant]
        X = rng.integers(0, 2, (m, self.n))
        return X, self.label(X, places), places

    def label(self, X: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the classes of samples."""
        return self.table[X[:, places] @ (1 << np.arange(self.n_relevant))]


def list_concepts() -> list[np.ndarray]:
    """Return the functions of three features that differ by more than order and negation, but not the constant.

    Order and negation do not change what learners do, so that the 256 functions are 13 and the constant.

    >>> len(list_concepts())
    13
    """
    inputs = np.arange(8)[:, None] >> np.arange(3) & 1
    kept: dict[bytes, np.ndarray] = {}
    for number in range(1, 128):
        table = number >> np.arange(8) & 1
        turned = [
            table[(inputs[:, order] ^ mask) @ (1 << np.arange(3))]
            for order in permutations(range(3))
            for mask in inputs
        ]
        key = min(min(t.astype(np.uint8).tobytes(), (1 - t).astype(np.uint8).tobytes()) for t in turned)
        kept.setdefault(key, table)
    return list(kept.values())


def figure_5_concept() -> np.ndarray:
    """Return the table of the source's function of five features, x1 first."""
    x1, x2, x3, x4, x5 = (np.arange(32) >> bit & 1 == 1 for bit in range(5))
    terms = [
        x1 & x2 & x3 & ~x4,
        x1 & x2 & x3 & x4 & ~x5,
        x1 & x2 & ~x3 & x4 & x5,
        x1 & ~x2 & x3,
        x1 & ~x2 & ~x3 & ~x4,
        ~x1 & x2 & x3 & x4 & x5,
        ~x1 & ~x2 & x3 & x4 & x5,
        ~x1 & ~x2 & x3 & ~x4,
        ~x1 & ~x3 & x4 & x5,
        ~x1 & ~x3 & ~x4 & ~x5,
    ]
    return np.logical_or.reduce(terms).astype(int)


def learn(
    method: str, X: np.ndarray, y: np.ndarray, seed: int, tolerance: str = "auto"
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the hypothesis of a learner as a function from samples to classes."""
    if np.ptp(y) == 0:
        return lambda Q: np.full(len(Q), y[0])
    if method == "fringe":
        return Fringe(random_state=seed).fit(X, y).predict
    kind = LEARNERS[method]
    kept = np.arange(X.shape[1]) if kind is None else kind(tolerance=tolerance).fit(X, y).get_support(indices=True)
    tree = DecisionTreeClassifier(criterion="entropy", random_state=seed).fit(X[:, kept], y)
    return lambda Q: tree.predict(Q[:, kept])


def measure_accuracy(method: str, concept: Concept, m: int, Q: np.ndarray, seed: list[int]) -> float:
    """Return the share of the inputs Q that a learner gets right after m samples of a concept."""
    X, y, places = concept.draw(m, np.random.default_rng(seed))
    return float(np.mean(learn(method, X, y, seed[-1])(Q) == concept.label(Q, places)))


# --------------------------------------------------------------------------------------------------- the parts


def run(repetitions: int = 10, seed: int = 0, progress: Progress = None) -> pd.DataFrame:
    """Return one row per figure; `repetitions` are the runs of table I, and all other numbers follow it."""
    parts: list[Iterator[Row]] = [
        _run_example(),
        _run_table_1(repetitions, seed),
        *(_run_complexity(4 * repetitions, seed, n, method) for n in N_FEATURES for method in LEARNERS),
        _run_curve("figure 5", [figure_5_concept()], 3 * repetitions, seed),
        *(_run_curve("figure 6", concepts, repetitions, seed) for concepts in _random_concepts(repetitions, seed)),
        *(_run_noise([seed, 9, r]) for r in range(2 * repetitions)),
    ]
    rows = [row for part in track(parts, progress) for row in part]
    return pd.DataFrame(rows, columns=COLUMNS)


def _run_example() -> Iterator[Row]:
    X = [[int(bit) for bit in row] for row in EXAMPLE[0]]
    for method, kind in EXACT.items():
        selector = kind().fit(X, list(EXAMPLE[1]))
        yield "example", method, 6, 0, "tests", selector.n_tests_
        yield "example", method, 6, 0, "features", selector.n_selected_
        right = selector.get_support(indices=True).tolist() == [0, 2, 3]
        yield "example", method, 6, 0, "x1, x3, x4", float(right)


def _run_table_1(repetitions: int, seed: int) -> Iterator[Row]:
    for m in TABLE_1["focus-1"]:
        for r in range(repetitions):
            rng = np.random.default_rng([seed, 1, m, r])
            X, y, _ = Concept(rng.integers(0, 2, 512), 25).draw(m, rng)
            for method, kind in EXACT.items():
                began = process_time()
                selector = kind(tolerance=0.0).fit(X, y)
                yield "table I", method, m, r, "seconds", process_time() - began
                yield "table I", method, m, r, "tests", selector.n_tests_
                yield "table I", method, m, r, "features", selector.n_selected_


def _run_complexity(repetitions: int, seed: int, n: int, method: str) -> Iterator[Row]:
    """Find the least number of samples, on a geometric grid, with which a learner learns every concept."""
    inputs = np.arange(2**n)[:, None] >> np.arange(n) & 1
    m = 8
    for at, table in enumerate(list_concepts()):
        while m < MOST_SAMPLES and not _is_learned(method, Concept(table, n), m, inputs, repetitions, [seed, at]):
            m = int(np.ceil(GROWTH * m))
        yield "figure 4", method, n, at, "samples so far", m
    yield "figure 4", method, n, 0, "samples", m


def _is_learned(method: str, concept: Concept, m: int, Q: np.ndarray, repetitions: int, seed: list[int]) -> bool:
    """Return whether 90 % of the samples give a hypothesis that is right for 90 % of the inputs."""
    missed, most = 0, int(0.1 * repetitions)
    for r in range(repetitions):
        missed += measure_accuracy(method, concept, m, Q, [*seed, concept.n, m, r]) < 0.9
        if missed > most:
            return False
    return True


def _random_concepts(repetitions: int, seed: int) -> list[list[np.ndarray]]:
    """Return random functions of five features, in portions."""
    rng = np.random.default_rng([seed, 6])
    return [[rng.integers(0, 2, 32) for _ in range(3)] for _ in range(repetitions)]


def _run_curve(part: str, tables: list[np.ndarray], repetitions: int, seed: int) -> Iterator[Row]:
    """Measure the accuracy of every learner after 20 … 120 samples of concepts of 16 features."""
    for table in tables:
        concept, key = Concept(table, 16), int("".join(map(str, table)), 2)
        Q = np.random.default_rng([seed, key]).integers(0, 2, (2000, 16))
        for m in SIZES:
            for r in range(repetitions):
                for method in LEARNERS:
                    accuracy = measure_accuracy(method, concept, m, Q, [seed, key, m, r])
                    yield part, method, m, r, f"accuracy {key}", accuracy


def _run_noise(seed: list[int]) -> Iterator[Row]:
    """Measure the accuracy of learners after noisy samples, with no conflict to spare and with a tolerance."""
    rng = np.random.default_rng(seed)
    concept = Concept(rng.permutation([0, 0, 0, 0, 1, 1, 1, 1]), NOISY_FEATURES)
    X, y, places = concept.draw(NOISY_SAMPLES, rng)
    y = y ^ (rng.random(NOISY_SAMPLES) < NOISE)
    Q = np.arange(2**NOISY_FEATURES)[:, None] >> np.arange(NOISY_FEATURES) & 1
    truth = concept.label(Q, places)
    for method in LEARNERS:
        for tolerance in ("auto", "cv") if method in SELECTED else ("auto",):
            predict = learn(method, X, y, seed[-1], tolerance=tolerance)
            yield "noise", method, float(tolerance == "cv"), seed[-1], "accuracy", float(np.mean(predict(Q) == truth))


def _mean(table: pd.DataFrame, part: str, quantity: str) -> pd.Series:
    """Return the mean by method and x of a quantity; accuracies are named by their concept as well."""
    kept = choose(table, part=part)
    kept = kept[kept["quantity"].str.startswith(quantity)]
    return kept.groupby(["method", "x"])["value"].mean()


def _needed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the samples needed of figure 4, (learner, number of features)."""
    return average(choose(table, part="figure 4", quantity="samples"), "method", "x").loc[list(LEARNERS)]


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield each published claim, our figure, and whether it holds."""
    yield from _check_example(table)
    yield from _check_table_1(table)
    yield from _check_learning(table)
    yield _check_noise(table)


def _check_example(table: pd.DataFrame) -> Iterator[Claim]:
    tests, right = _mean(table, "example", "tests"), _mean(table, "example", "x1")
    yield make_claim(
        "FOCUS-2 finds the set of the worked example with fewer tests than FOCUS-1",
        "section 5.3: {x1, x3, x4} with 7 tests, against at least 23",
        f"FOCUS-2 {tests['focus-2', 6]:.0f}, FOCUS-1 {tests['focus-1', 6]:.0f} tests",
        tests["focus-2", 6] == 7 and tests["focus-1", 6] >= 23 and right["focus-2", 6] == 1,
    )


def _check_table_1(table: pd.DataFrame) -> Iterator[Claim]:
    tests, seconds = _mean(table, "table I", "tests"), _mean(table, "table I", "seconds")
    ratio, faster = (mean["focus-1"] / mean["focus-2"] for mean in (tests, seconds))
    yield make_claim(
        "FOCUS-2 makes far fewer tests than FOCUS-1",
        "table I: 42 to 483 times fewer",
        f"{ratio.min():.0f} to {ratio.max():.0f} times fewer",
        ratio.min() > 10,
    )
    second = tests["focus-2"]
    yield make_claim(
        "FOCUS-2's tests get fewer with more samples",
        "table I: 10,593 with 100, 5,582 with 500 samples",
        f"{second.iloc[0]:,.0f} with 100, {second.iloc[-1]:,.0f} with 500 samples",
        second.iloc[-1] < second.iloc[0],
    )
    yield make_claim(
        "FOCUS-2 is several times faster than FOCUS-1",
        "table I: 5 to 10 times",
        f"takes {1 / faster.max():.2f} to {1 / faster.min():.2f} times as long",
        faster.min() > 2,
    )
    greedy = seconds["focus-2"] / seconds["weighted-greedy"]
    yield make_claim(
        "Weighted-Greedy is many times faster than FOCUS-2",
        "table I: 5 to 12 times",
        f"{greedy.min():.1f} to {greedy.max():.1f} times",
        greedy.min() > 2,
    )
    yield make_claim(
        "Weighted-Greedy makes as many tests as it chooses features, and one",
        "table I: 8.5 to 11",
        f"{tests['weighted-greedy'].min():.1f} to {tests['weighted-greedy'].max():.1f}",
        tests["weighted-greedy"].max() < 16,
    )


def _check_learning(table: pd.DataFrame) -> Iterator[Claim]:
    accuracy = _accuracy(table)
    samples = _needed(table).stack()
    few, many = N_FEATURES[0], N_FEATURES[-1]
    yield make_claim(
        "with more irrelevant features FOCUS needs hardly more samples, ID3 far more",
        "figure 4; 2236 for ID3 and 12 features",
        f"from {few} to {many} features: FOCUS {samples['focus', few]:.0f} to {samples['focus', many]:.0f}, "
        f"ID3 {samples['id3', few]:.0f} to {samples['id3', many]:.0f}",
        samples["focus", many] / samples["focus", few] < 1.5 < samples["id3", many] / samples["id3", few],
    )
    worst = {method: samples[method, many] for method in GREEDY}
    yield make_claim(
        "of the heuristics, Weighted-Greedy is closest to FOCUS in the worst case",
        "figure 4: quite close",
        ", ".join(f"{method} {value:.0f}" for method, value in worst.items()) + f" samples, {many} features",
        worst["weighted-greedy"] < min(worst["simple-greedy"], worst["mi-greedy"]),
    )
    fringe = samples["fringe", many]
    yield make_claim(
        "in the worst case FRINGE is nearly as good as Weighted-Greedy, and better than the other heuristics",
        "figure 4: almost as good, substantially better",
        f"FRINGE {fringe:.0f}, " + ", ".join(f"{method} {value:.0f}" for method, value in worst.items()) + " samples",
        fringe <= 1.25 * worst["weighted-greedy"] and fringe < min(worst["simple-greedy"], worst["mi-greedy"]),
    )
    behind = {method: accuracy[method].mean() - accuracy["fringe"].mean() for method in GREEDY}
    yield make_claim(
        "on average FRINGE is behind the heuristics",
        "figure 6: poor",
        "ahead of FRINGE: " + ", ".join(f"{method} {value:+.3f}" for method, value in behind.items()),
        min(behind.values()) > 0,
    )
    gain = {method: accuracy[method].mean() - accuracy["id3"].mean() for method in (*GREEDY, "focus")}
    yield make_claim(
        "each heuristic improves on ID3 on average",
        "figure 6",
        ", ".join(f"{method} {gain[method]:+.3f}" for method in GREEDY),
        min(gain[method] for method in GREEDY) > 0,
    )
    loss = {method: gain["focus"] - gain[method] for method in GREEDY}
    yield make_claim(
        "Weighted-Greedy comes close to FOCUS on average, closer than the others",
        "figure 6: quite close",
        ", ".join(f"{method} {-loss[method]:+.3f}" for method in GREEDY) + " of FOCUS's accuracy",
        loss["weighted-greedy"] < min(loss["simple-greedy"], loss["mi-greedy"]),
    )
    apart = abs(gain["simple-greedy"] - gain["mi-greedy"])
    yield make_claim(
        "Simple-Greedy and Mutual-Information-Greedy are very much alike",
        "figures 4 and 6: very much alike",
        f"their accuracies differ by {apart:.3f} on average",
        apart < 0.02,
    )


def _check_noise(table: pd.DataFrame) -> Claim:
    noisy = _mean(table, "noise", "accuracy").unstack("x")
    kept = noisy.loc[SELECTED]
    return make_claim(
        "from noisy samples, each of them learns better with a tolerance found by cross-validation than with none, and "
        "better than ID3",
        None,
        "accuracy with none -> with it: "
        + ", ".join(f"{method} {row[0]:.3f} -> {row[1]:.3f}" for method, row in kept.iterrows())
        + f"; id3 {noisy.loc['id3', 0]:.3f}",
        (kept[1] > np.maximum(kept[0], noisy.loc["id3", 0])).all(),
    )


def _accuracy(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean accuracy of figure 6 by number of samples, one column per learner."""
    return _mean(table, "figure 6", "accuracy").unstack("method")


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return table I and figures 4 to 6 as lines of text."""
    tests, seconds = _mean(table, "table I", "tests"), _mean(table, "table I", "seconds")
    heads = list(TABLE_1["focus-1"])
    rows: list[tuple[Any, ...]] = [("samples", *heads)]
    for method in EXACT:
        published = TABLE_1[method]
        rows.append((method, *(f"{tests[method, m]:,.1f} / {published[m][0]:,.1f}" for m in heads)))
        rows.append(("", *(f"{seconds[method, m]:.3f} s / {published[m][1]:g} s" for m in heads)))
    lines = ["Table I: sufficiency tests, ours / published; 9 relevant of 25 features, averages", ""]
    lines += [*align(rows, 18, 26), ""]
    lines += ["Figure 4: samples needed for all concepts of at most 3 of n features", ""]
    lines += render_means(_needed(table), ".0f", 18, 10, corner="+ ID3", head="n = {}")
    for part, what in (("figure 5", "the concept of figure 5"), ("figure 6", "random concepts of 5 features")):
        accuracy = _mean(table, part, "accuracy").unstack("x").loc[list(LEARNERS)]
        lines += ["", f"Accuracy after m samples, 16 features, {what} (fig. {part[-1]})", ""]
        lines += render_means(accuracy, ".3f", 18, 10, corner="+ ID3", head="m = {}")
    noisy = _mean(table, "noise", "accuracy").unstack("x").loc[list(LEARNERS)]
    noisy.columns = ["no tolerance", "by cross-validation"]
    what = f"{NOISY_SAMPLES} samples of functions of 3 of {NOISY_FEATURES} features, {NOISE:.0%} of classes turned over"
    return [*lines, "", f"Accuracy after {what}", "", *render_means(noisy, ".3f", 18, 22, corner="+ ID3")]


def plot(table: pd.DataFrame) -> Any:
    """Draw the tests of table I, and figures 4, 5 and 6."""
    figure, axes = make_axes((15, 3.8), 4)
    tests = _mean(table, "table I", "tests")
    for method in EXACT:
        axes[0].plot(tests[method], "o-", label=method)
        axes[0].plot(*zip(*((m, t) for m, (t, _) in TABLE_1[method].items()), strict=True), "k:", lw=0.8)
    needed, curve, mean = _needed(table), _mean(table, "figure 5", "accuracy"), _accuracy(table)
    for method in LEARNERS:
        axes[1].plot(needed.loc[method], "o-", label=method)
        axes[2].plot(curve[method], "o-", label=method)
        axes[3].plot(mean["focus"] - mean[method], "o-", label=method)
    title = "table I (dotted: published)"
    axes[0].set(yscale="log", xlabel="samples", ylabel="sufficiency tests", title=title)
    axes[1].set(yscale="log", xlabel="features", ylabel="samples needed", title="figure 4")
    axes[2].set(xlabel="samples", ylabel="accuracy", title="figure 5")
    axes[3].set(xlabel="samples", ylabel="accuracy of FOCUS − accuracy", title="figure 6")
    add_legends(*axes)
    return figure
