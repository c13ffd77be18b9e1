"""R2W2: weights of features under which the radius–margin bound of a support vector machine is least.

    error ≤ R² W² / m,   K_ij = exp(−d_w(x_i, x_j) / s) + λ [i = j],   d_w(x, x') = Σ_f w_f² (x_f − x'_f)²

R is the radius of the least ball around the m samples in the space of the kernel, and W the norm of the separating
plane, one over its margin. After Weston, Mukherjee, Chapelle, Pontil, Poggio and Vapnik (2000), with the kernel and the
ridge λ, which makes any classes separable, of section 3.5.4 of Navot (2006).
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize
from sklearn.svm import SVC, OneClassSVM

from neurofs.features.holdouts import pick_evenly
from neurofs.features.samples import Samples
from neurofs.ground.works import WORKS
from neurofs.selectors.parameters import check_positive, resolve_auto
from neurofs.selectors.targets import ClassSelector

WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)  # among which the start is chosen
PRECISE = 1e-5  # tolerance of the two machines, fine enough for a smooth bound
HARD = 1e10  # price of an error of a machine that makes none


@dataclass(eq=False, repr=False)
class R2W2(ClassSelector):
    """R2W2: descend on the radius–margin bound of a support vector machine with a Gaussian kernel.

    Published for two classes. Of more, the bounds R² W² / m of all pairs of classes are added up, which is how
    scikit-learn's machines tell many classes apart, too. The search, L-BFGS on the logarithm of the bound with w ≥ 0,
    starts from equal weights. Features are ordered by w times their standard deviation: what hardly varies has no
    slope and keeps the weight that it began with.

    Parameters
    ----------
    width : "auto" or float
        s, in units of the median of d_w at equal weights; s = 2 σ² for the σ of the source. Since the size of w is
        free, it only says where the search begins; "auto" is that of 0.25, 0.5, 1, 2 and 4 where the bound is least.
    ridge : float
        λ.
    n_steps : int
        Most steps of the search; each solves two quadratic programs per pair of classes and evaluation.
    max_rows : int
        Most rows to use; of more, an even selection.

    Attributes
    ----------
    weights_ : array (n_features,)
        w, with a maximum of 1.
    bound_ : float
        The bound that was reached, before w was brought to a maximum of 1.
    n_steps_ : int
        Steps that it took.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 6))
    >>> selector = R2W2(2).fit(X, X[:, 0] * X[:, 3] > 0)
    >>> sorted(selector.order_[:2].tolist())
    [0, 3]
    """

    name, label, citation = "r2w2", "R2W2", WORKS["weston2000"]
    color, marker = "brown", "v"
    is_metric = True
    cost = "m² N to m³ per step; m² memory"

    width: float | Literal["auto"] = "auto"
    ridge: float = 0.1
    n_steps: int = 50
    max_rows: int = 2000

    def _weigh(self, samples: Samples, Y: np.ndarray, groups: Any) -> np.ndarray:
        rows = pick_evenly(len(samples), int(resolve_auto(self.max_rows, 2000, "max_rows", whole=True)))
        X, codes = np.asarray(samples[rows], np.float64), Y[rows, 0].astype(np.int64)
        fixed, ridge = resolve_auto(self.width, 0.0, "width"), check_positive("ridge", self.ridge)
        starts = [Bound(X, codes, width, ridge) for width in ([fixed] if fixed else WIDTHS)]
        steps, ones = int(resolve_auto(self.n_steps, 50, "n_steps", whole=True)), np.ones(X.shape[1])
        bound = starts[0] if fixed else min(starts, key=lambda start: start(ones)[0])
        found = minimize(bound, ones, jac=True, bounds=[(0, None)] * ones.size, options={"maxiter": steps})
        self.bound_, self.n_steps_ = float(np.exp(found.fun)), int(found.nit)
        w = np.where(np.ptp(X, axis=0) > 0, found.x, 0.0)
        return w / (w.max() or 1.0)

    def _importance(self, samples: Samples, scores: np.ndarray) -> np.ndarray:
        """Order by w times the standard deviation."""
        return scores * np.std(np.asarray(samples), axis=0, dtype=np.float64)


class Bound:
    """The logarithm of Σ R² W² / m over all pairs of classes, and its gradient, as functions of w."""

    def __init__(self, X: np.ndarray, codes: np.ndarray, width: float, ridge: float) -> None:
        """Cut the samples into pairs of classes."""
        self.ridge = ridge
        X = X - X.mean(axis=0)
        self.scale = width * (float(np.median(squared_distances(X))) or 1.0)
        pairs = [np.flatnonzero(np.isin(codes, pair)) for pair in combinations(np.unique(codes), 2)]
        self.pairs = [(X[rows], np.where(codes[rows] == codes[rows[0]], 1.0, -1.0)) for rows in pairs]

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return log e and its gradient."""
        found = [self.evaluate_pair(w, X, signs) for X, signs in self.pairs]
        total = sum(value for value, _ in found)
        return float(np.log(total)), np.sum([slope for _, slope in found], axis=0) / total

    def evaluate_pair(self, w: np.ndarray, X: np.ndarray, signs: np.ndarray) -> tuple[float, np.ndarray]:
        """Return R² W² / m of one pair of classes, and its gradient.

        ∂K_ij/∂w_f = −2 w_f (x_if − x_jf)² K_ij / s; that the two solutions depend on w, too, does not matter, for each
        is an extremum.
        """
        K = np.exp(-squared_distances(X * w) / self.scale)
        R2, inside = find_radius(K, self.ridge)
        W2, plane = find_plane(K, signs, self.ridge)
        M = (W2 * np.outer(inside, inside) + R2 * np.outer(plane, plane)) * K
        spread = 2.0 * (M.sum(axis=1) @ X**2 - np.einsum("if,if->f", X, M @ X))  # Σ_ij M_ij (x_i − x_j)²
        return R2 * W2 / len(X), 2.0 * w * spread / self.scale / len(X)


def squared_distances(X: np.ndarray) -> np.ndarray:
    """Return the squared distances of all rows.

    >>> squared_distances(np.array([[0.0], [3.0]]))
    array([[0., 9.],
           [9., 0.]])
    """
    size = np.sum(X**2, axis=1)
    table = np.maximum(size[:, None] + size - 2.0 * (X @ X.T), 0.0)
    np.fill_diagonal(table, 0.0)
    return table


def find_radius(K: np.ndarray, ridge: float) -> tuple[float, np.ndarray]:
    """Return R² and its dual β: the maximum of Σ β_i K_ii − βᵀ K β with β ≥ 0 and Σ β = 1, λ added to the diagonal.

    A kernel of equal diagonal needs only the least βᵀ K β, which a one-class machine finds.

    >>> R2, beta = find_radius(np.eye(2), 0.0)
    >>> round(R2, 6), beta.round(3)
    (0.5, array([0.5, 0.5]))
    """
    K = add_ridge(K, ridge)
    machine = OneClassSVM(kernel="precomputed", nu=1.0 / len(K), tol=PRECISE).fit(K)
    beta = np.zeros(len(K))
    beta[machine.support_] = machine.dual_coef_[0]
    return float(beta @ np.diag(K) - beta @ K @ beta), beta


def find_plane(K: np.ndarray, signs: np.ndarray, ridge: float) -> tuple[float, np.ndarray]:
    """Return W² and the coefficients α_i y_i: the maximum of 2 Σ α − Σ α_i α_j y_i y_j K_ij, λ added to the diagonal.

    >>> W2, plane = find_plane(np.eye(2), np.array([1.0, -1.0]), 0.0)
    >>> round(W2, 6), plane.round(3)
    (2.0, array([ 1., -1.]))
    """
    K = add_ridge(K, ridge)
    machine = SVC(C=HARD, kernel="precomputed", tol=PRECISE).fit(K, signs)
    plane = np.zeros(len(K))
    plane[machine.support_] = machine.dual_coef_[0]
    return float(2.0 * np.abs(plane).sum() - plane @ K @ plane), plane


def add_ridge(K: np.ndarray, ridge: float) -> np.ndarray:
    """Return K + λ I."""
    return K + ridge * np.eye(len(K))
