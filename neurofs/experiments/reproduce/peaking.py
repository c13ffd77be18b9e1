"""Chapter 2 of Navot (2006): how many features are best, for two Gaussian classes.

The classes are N(±μ, I), and the classifier is sign(μ̂_n · x_n) on the first n features, where μ̂ is the mean of
y x over m samples. Given μ̂, its error is Φ(−Σ μ̂_j μ_j / √Σ μ̂_j²); the mean over training sets is close to
Φ(−f(n, m)),

    f(n, m) = Σ_{j≤n} μ_j² / √(n/m + Σ_{j≤n} μ_j²)

and the best n maximizes f. The same is then done with a linear support vector machine (figure 2.3), and with a
polynomial kernel of growing degree for μ = (1, 0), on the relevant feature or on both (figure 2.4; errors on 2000
samples). The source does not say whether its C of 10⁻⁴ is that of figure 2.4, too; ours has it, and C = 1 beside it.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from neurofs.experiments.reproduce.claims import Claim, make_claim
from neurofs.experiments.reproduce.figures import add_legends, make_axes
from neurofs.experiments.reproduce.tables import Progress, align, choose, track

MINUTES = 1
N_FEATURES, M = 1000, 16  # of the simulations
SVM_SIZES, SVM_ROWS, SVM_C = (1, 2, 3, 5, 8, 13, 22, 36, 60, 100, 200, 400, 1000), (16, 100, 225), 1e-4
DEGREES, POLY_ROWS, POLY_C = (1, 2, 3, 4, 5, 6), 20, (SVM_C, 1.0)  # figure 2.4
SHOWN = (1, 2, 10, 100, 1000)  # n of the densities of figure 2.2
ROWS_OF_LAW = tuple(2**p for p in range(6, 15))  # m at which the growth of the best n is fitted


def _random(n: int) -> np.ndarray:
    """Return n uniform numbers, always the same for the same n."""
    return np.random.default_rng(n).random(n)


CHOICES: dict[str, tuple[str, Callable[[int], np.ndarray]]] = {
    "a": ("1/√2^j", lambda n: 2.0 ** (-np.arange(1, n + 1) / 2)),
    "b": ("1/j", lambda n: 1.0 / np.arange(1, n + 1)),
    "c": ("1/√j", lambda n: 1.0 / np.sqrt(np.arange(1, n + 1))),
    "d": ("1", lambda n: np.ones(n)),
    "e": ("random, sorted", lambda n: np.sort(_random(n))[::-1]),
    "f": ("random / j, sorted", lambda n: np.sort(_random(n) / np.arange(1, n + 1))[::-1]),
}
SVM_CHOICES = ("a", "b", "c")


def f(mu: np.ndarray, m: int) -> np.ndarray:
    """Return f(n, m) for n = 1 … len(mu).

    >>> f(np.ones(4), 1).round(3)
    array([0.707, 1.   , 1.225, 1.414])
    """
    s, n = np.cumsum(mu**2), np.arange(1, mu.size + 1)
    return s / np.sqrt(n / m + s)


def best_n(mu: np.ndarray, m: int) -> int:
    """Return the n that maximizes f(n, m)."""
    return int(np.argmax(f(mu, m))) + 1


def true_errors(mu: np.ndarray, m: int, repetitions: int, rng: np.random.Generator) -> np.ndarray:
    """Return the exact errors of estimated classifiers, (repetitions, n = 1 … len(mu))."""
    estimate = mu + rng.normal(size=(repetitions, mu.size)) / np.sqrt(m)
    along = np.cumsum(estimate * mu, axis=1)
    return norm.cdf(-along / np.sqrt(np.cumsum(estimate**2, axis=1)))


def draw(mu: np.ndarray, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return m samples, half of each class as nearly as can be, and their labels ±1."""
    y = np.where(np.arange(m) % 2, 1.0, -1.0)
    return y[:, None] * mu + rng.normal(size=(m, mu.size)), y


def svm_error(X: np.ndarray, y: np.ndarray, mu: np.ndarray, scale: np.ndarray) -> float:
    """Return the exact error of a linear support vector machine trained on X · scale.

    It has no intercept, since the classes mirror each other. With an intercept and a C as small as the published
    one, a single additional sample of a class would give that class to everything.
    """
    from sklearn.svm import LinearSVC

    model = LinearSVC(C=SVM_C, loss="hinge", fit_intercept=False, random_state=0).fit(X * scale, y)
    w = model.coef_[0] * scale
    return float(norm.cdf(-(w @ mu) / np.linalg.norm(w)))


def poly_errors(m: int, C: float, rng: np.random.Generator) -> np.ndarray:
    """Return the errors of a polynomial support vector machine, (one feature or both, degree), for μ = (1, 0)."""
    from sklearn.svm import SVC

    mu = np.array([1.0, 0.0])
    (X, y), (Q, truth) = draw(mu, m, rng), draw(mu, 2000, rng)
    errors = np.empty((2, len(DEGREES)))
    for at, degree in enumerate(DEGREES):
        for n in (1, 2):
            model = SVC(C=C, kernel="poly", degree=degree, gamma=1.0, coef0=1.0).fit(X[:, :n], y)
            errors[n - 1, at] = np.mean(model.predict(Q[:, :n]) != truth)
    return errors


def density(x: Any, mu: np.ndarray, n: int) -> Any:
    """Return the density of both classes together along the first n coordinates of μ, 0 being the separator.

    >>> density(0.0, np.ones(4), 4).round(3), density(2.0, np.ones(4), 4).round(3)
    (np.float64(0.054), np.float64(0.2))
    """
    s = np.linalg.norm(mu[:n])
    return (norm.pdf(x, s) + norm.pdf(x, -s)) / 2


# ---------------------------------------------------------------------------------------------- the figures


def run(repetitions: int = 200, seed: int = 0, progress: Progress = None) -> pd.DataFrame:
    """Return one row per curve and n: part, mu, m, n, value.

    Parts: "theory" and "simulation", the error at m = 16 for the six choices; "best n", which maximizes f, for
    growing m; "svm" and "svm, scaled", the error of the support vector machine (a quarter of the repetitions);
    "poly, one" and "poly, both", that of the polynomial one in each repetition, n being the degree and mu its C.
    """
    rng, rows = np.random.default_rng([seed, 2]), []
    for mu_name, (_, make) in CHOICES.items():
        mu = make(N_FEATURES)
        theory, simulated = norm.cdf(-f(mu, M)), true_errors(mu, M, repetitions, rng).mean(axis=0)
        for part, values in (("theory", theory), ("simulation", simulated)):
            rows += [(part, mu_name, M, n, value) for n, value in enumerate(values, 1)]
    for mu_name in SVM_CHOICES:
        rows += [("best n", mu_name, m, n, n) for m, n in _best_sizes(mu_name)]
    panels = [(mu_name, m) for mu_name in SVM_CHOICES for m in SVM_ROWS]
    for mu_name, m in track(panels, progress):
        mu = CHOICES[mu_name][1](N_FEATURES)
        for part, values in _svm_curves(mu, m, max(1, repetitions // 4), rng).items():
            rows += [(part, mu_name, m, n, value) for n, value in zip(SVM_SIZES, values, strict=True)]
    rng = np.random.default_rng([seed, 4])
    for C, _ in product(POLY_C, range(repetitions)):
        for part, values in zip(("poly, one", "poly, both"), poly_errors(POLY_ROWS, C, rng), strict=True):
            rows += [(part, f"{C:g}", POLY_ROWS, degree, value) for degree, value in zip(DEGREES, values, strict=True)]
    return pd.DataFrame(rows, columns=["part", "mu", "m", "n", "value"])


def _best_sizes(mu_name: str) -> Iterator[tuple[int, int]]:
    """Yield m and the n that maximizes f, for growing m."""
    mu = CHOICES[mu_name][1](8 * ROWS_OF_LAW[-1])
    for m in ROWS_OF_LAW:
        yield m, best_n(mu, m)


def _svm_curves(mu: np.ndarray, m: int, repetitions: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the mean error at every size: with features as they are, and divided by their standard deviation."""
    errors = np.empty((2, repetitions, len(SVM_SIZES)))
    for r in range(repetitions):
        X, y = draw(mu, m, rng)
        for s, scale in enumerate((np.ones(mu.size), 1 / X.std(axis=0))):
            errors[s, r] = [svm_error(X[:, :n], y, mu[:n], scale[:n]) for n in SVM_SIZES]
    return dict(zip(("svm", "svm, scaled"), errors.mean(axis=1), strict=True))


def claims(table: pd.DataFrame) -> Iterator[Claim]:
    """Yield each published claim, our figure, and whether it holds."""
    yield from _theory_claims(table)
    yield from _law_claims(table)
    yield from _svm_claims(table)
    yield _density_claim()
    yield from _poly_claims(table)


def _curve(table: pd.DataFrame, part: str, mu_name: str, m: int) -> pd.Series:
    return choose(table, part=part, mu=mu_name, m=m).set_index("n")["value"]


def _theory_claims(table: pd.DataFrame) -> Iterator[Claim]:
    gaps = {
        name: (_curve(table, "theory", name, M) - _curve(table, "simulation", name, M)).abs().max() for name in CHOICES
    }
    yield make_claim(
        "theory is close to the true error even at m = 16",
        "figure 2.1",
        "largest gap: " + ", ".join(f"{name} {gap:.3f}" for name, gap in gaps.items()),
        max(gaps.values()) < 0.05,
    )
    shares = {name: (_curve(table, "simulation", name, M) * 2) for name in ("a", "b", "f")}
    ends = ", ".join(f"{name} {curve.min() / 2:.3f} -> {curve.iloc[-1] / 2:.3f}" for name, curve in shares.items())
    rises = all(curve.iloc[-1] > 1.3 * curve.min() for curve in shares.values())
    far = norm.cdf(-f(CHOICES["b"][1](10**6), M)[-1])
    yield make_claim(
        "bounded Σ μ²: the error falls, then rises towards 1/2",
        "section 2.2.1",
        f"least -> at n = {N_FEATURES}: {ends}; {far:.3f} at n = 10⁶ (b)",
        rises and far > 0.49,
    )
    flat = np.diff(_curve(table, "theory", "d", M).to_numpy()).max()
    yield make_claim(
        "equal features: all of them are best",
        "section 2.2.1",
        f"largest rise of the error {max(flat, 0):.1g}",
        flat <= 0,
    )
    n = np.arange(1, 10**5 + 1)
    steps = np.diff(f(np.sqrt(np.diff(n**0.75, prepend=0.0)), M))
    yield make_claim(
        "Σ μ² = n^α, ½ < α < 1 (here ¾): all are best though μ_j -> 0",
        "section 2.3, example 2.4",
        f"f rises at {np.mean(steps > 0):.0%} of n up to 10⁵",
        (steps > 0).all(),
    )
    low = [norm.cdf(-f(CHOICES["c"][1](m), m)[-1]) for m in (20, 300)]
    yield make_claim(
        "μ_j = 1/√j, n = m: the error is small already for few samples",
        "section 2.3, example 2.3: under 5 % at m = 20, under 1 % at m = 300",
        f"{low[0]:.3%}, {low[1]:.3%}",
        low[0] < 0.05 and low[1] < 0.01,
    )


def _law_claims(table: pd.DataFrame) -> Iterator[Claim]:
    best = {name: choose(table, part="best n", mu=name) for name in SVM_CHOICES}
    slope = np.polyfit(np.log2(best["a"]["m"]), best["a"]["n"], 1)[0]
    yield make_claim(
        "μ_j = 1/√2^j: the best n grows as log2 m",
        "section 2.3, example 2.1: 1 feature per doubling of m",
        f"{slope:.2f} features per doubling of m",
        abs(slope - 1) < 0.1,
    )
    for name, power in (("b", 0.5), ("c", 1.0)):
        exponent = np.polyfit(np.log(best[name]["m"]), np.log(best[name]["n"]), 1)[0]
        what = f"μ_j = {CHOICES[name][0]}: the best n grows as m^{power:g}"
        found = f"exponent {exponent:.2f}"
        source = f"section 2.3, example 2.{'abc'.index(name) + 1}: exponent {power:g}"
        yield make_claim(what, source, found, abs(exponent - power) < 0.1)


def _svm_claims(table: pd.DataFrame) -> Iterator[Claim]:
    rises, worse, panels = [], [], []
    for name in SVM_CHOICES:
        for m in SVM_ROWS:
            plain, scaled = _curve(table, "svm", name, m), _curve(table, "svm, scaled", name, m)
            rises.append(plain.iloc[-1] / plain.min())
            worse.append(scaled.iloc[-1] - plain.iloc[-1])
            panels.append(f"{name}, {m}: {plain.min():.3f} -> {plain.iloc[-1]:.3f}")
    yield make_claim(
        "a linear SVM suffers from too many features as well",
        "figure 2.3",
        f"least -> at n = {N_FEATURES}: " + "; ".join(panels),
        min(rises) > 1.1,
    )
    yield make_claim(
        "dividing features by their standard deviation makes it worse",
        "section 2.4",
        f"error at n = {N_FEATURES} changes by {min(worse):+.3f} to {max(worse):+.3f}",
        min(worse) > -0.005 and max(worse) > 0.005,
    )


def _density_claim() -> Claim:
    """Return the claim on the density at the separator, as a share of the largest density."""
    x = np.linspace(-6, 6, 2001)
    shares = {}
    for name in SVM_CHOICES:
        mu = CHOICES[name][1](N_FEATURES)
        shares[name] = float(density(0.0, mu, N_FEATURES) / density(x, mu, N_FEATURES).max())
    return make_claim(
        "the density is low at the separator for μ_j = 1/j and 1/√j, but not for 1/√2^j",
        "figure 2.2, section 2.4",
        f"share of the largest density at n = {N_FEATURES}: "
        + ", ".join(f"{name} {share:.2f}" for name, share in shares.items()),
        shares["a"] > 0.99 and max(shares["b"], shares["c"]) < 0.95,
    )


def _poly(table: pd.DataFrame, part: str, C: float) -> np.ndarray:
    """Return the errors of the polynomial machine, (repetition, degree)."""
    return choose(table, part=part, mu=f"{C:g}")["value"].to_numpy().reshape(-1, len(DEGREES))


def _poly_claims(table: pd.DataFrame) -> Iterator[Claim]:
    rises, changes = {}, {}
    for C in POLY_C:
        one, both = (_poly(table, part, C) for part in ("poly, one", "poly, both"))
        rises[C] = both.mean(axis=0)
        change = (both - one)[:, -1] - (both - one)[:, 0]
        changes[C] = float(change.mean()), float(change.std(ddof=1) / np.sqrt(len(change)))
    yield make_claim(
        "a polynomial kernel errs more the higher its degree",
        "figure 2.4, section 2.4: the accuracy declines",
        "error on both features by degree: "
        + "; ".join(f"C = {C:g}: " + " ".join(f"{e:.3f}" for e in errors) for C, errors in rises.items()),
        all(np.polyfit(DEGREES, errors, 1)[0] > 0 and errors[-1] > errors[0] for errors in rises.values()),
    )
    yield make_claim(
        "the degree has no significant effect on what the irrelevant feature costs",
        "figure 2.4: not significant",
        f"change of the cost from degree {DEGREES[0]} to {DEGREES[-1]}: "
        + ", ".join(f"{mean:+.3f} ± {error:.3f} (C = {C:g})" for C, (mean, error) in changes.items()),
        all(abs(mean) < 2 * error for mean, error in changes.values()),
    )


def tabulate(table: pd.DataFrame) -> list[str]:
    """Return the errors at some n, and the best n, as lines of text."""
    sizes = [1, 3, 10, 30, 100, 300, 1000]
    errors = [("μ_j", *(f"n = {n}" for n in sizes))]
    for name, (formula, _) in CHOICES.items():
        theory, simulated = (_curve(table, part, name, M) for part in ("theory", "simulation"))
        errors.append((f"({name}) {formula}", *(f"{theory[n]:.3f} / {simulated[n]:.3f}" for n in sizes)))
    best = [("μ_j", *(f"m = {m}" for m in ROWS_OF_LAW))]
    for name in SVM_CHOICES:
        best.append((f"({name}) {CHOICES[name][0]}", *choose(table, part="best n", mu=name)["n"]))
    return [
        f"Mean error of two Gaussian classes at m = {M}: theory / simulation (Navot 2006, figure 2.1)",
        "",
        *align(errors, 22, 15),
        "",
        "Best n by theory",
        *align(best, 22, 11),
        "",
        f"Polynomial support vector machine, μ = (1, 0), m = {POLY_ROWS}: error with one / both features (figure 2.4)",
        *align(_list_poly(table), 22, 15),
    ]


def _list_poly(table: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    """Yield the rows of figure 2.4 as a table."""
    yield ("", *(f"degree {degree}" for degree in DEGREES))
    for C in POLY_C:
        one, both = (_poly(table, part, C).mean(axis=0) for part in ("poly, one", "poly, both"))
        yield (f"C = {C:g}", *(f"{a:.3f} / {b:.3f}" for a, b in zip(one, both, strict=True)))


def plot(table: pd.DataFrame) -> Any:
    """Draw figures 2.1 (theory and simulation), 2.3 (support vector machine), 2.2 (densities) and 2.4 (kernels)."""
    figure, axes = make_axes((12, 21), 3, n_rows=7)
    for ax, (name, (formula, _)) in zip(axes[:6], CHOICES.items(), strict=True):
        ax.plot(_curve(table, "simulation", name, M), color="tab:blue", label="simulation")
        ax.plot(_curve(table, "theory", name, M), "--", color="tab:orange", label="theory, Φ(−f)")
        ax.set_title(f"({name}) μ = {formula}, m = {M}")
    panels = [(name, m) for name in SVM_CHOICES for m in SVM_ROWS]
    for ax, (name, m) in zip(axes[6:15], panels, strict=True):
        for part, style, label in (
            ("svm", {"ls": "-", "color": "tab:blue"}, "linear SVM"),
            ("svm, scaled", {"ls": ":", "color": "tab:red"}, "features scaled"),
        ):
            ax.plot(_curve(table, part, name, m), marker="o", ms=3, label=label, **style)
        ax.set_title(f"({name}) μ = {CHOICES[name][0]}, m = {m}")
    for ax in axes[:15]:
        ax.set(xscale="log", ylim=(0, 0.52), xlabel="number of features n", ylabel="error")
        ax.axhline(0.5, color="0.7", lw=0.8)
    _plot_densities(axes[15:18])
    _plot_poly(table, axes[18:20])
    axes[20].set_axis_off()
    add_legends(*axes[:20])
    return figure


def _plot_densities(axes: Any) -> None:
    """Draw figure 2.2: the density of both classes along the first n coordinates of μ."""
    x = np.linspace(-5, 5, 400)
    for ax, name in zip(axes, SVM_CHOICES, strict=True):
        mu = CHOICES[name][1](N_FEATURES)
        for shade, n in enumerate(SHOWN):
            ax.plot(x, density(x, mu, n), color=str(0.8 - 0.2 * shade), label=f"n = {n}")
        ax.set(title=f"2.2 ({name}) μ = {CHOICES[name][0]}", xlabel="along μ (0: separator)", ylabel="density")


def _plot_poly(table: pd.DataFrame, axes: Any) -> None:
    """Draw figure 2.4: the error against the degree of the kernel, one panel per C."""
    for ax, C in zip(axes, POLY_C, strict=True):
        for part, style in (("poly, one", "o-"), ("poly, both", "s--")):
            ax.plot(DEGREES, _poly(table, part, C).mean(axis=0), style, label=part.removeprefix("poly, "))
        ax.set(title=f"2.4: C = {C:g}", xlabel="degree of the kernel", ylabel="error", ylim=(0, 0.52))
