"""Kernel ridge regression, its leave-block-out error, and the gradient of that error.

For rows z (centered, and scaled by the metric that is being learned) and targets Y (standardized):

    G_ij = z_i · z_j                 d_ij = G_ii + G_jj − 2 G_ij
    K = 1 / (1 + d) + c G + 1        H = K + λ I,   P = H⁻¹,   α = P Y

The rows are cut into blocks. The residuals of the model trained without block B are, in closed form,
e_B = (P_BB)⁻¹ α_B; windows overlap, so only rows of B that share no raw data with rows outside B are scored.

    loss = log mean e² over the scored rows
    s_B = ∂loss/∂e_B,   u_B = P_:B (P_BB)⁻¹ s_B,   v_B = α − P_:B e_B
    M = ∂loss/∂K = −½ Σ_B (u_B v_Bᵀ + v_B u_Bᵀ)

From M everything else follows by the chain rule. With B = −2 A + c M, A = M ∘ (−1/(1+d)²) and r its row sums,

    ∂loss/∂z_i = 4 r_i z_i + 2 (B Z)_i       ∂loss/∂c = Σ M ∘ G       ∂loss/∂λ = tr M
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from neurofs.metric.loops_products import products_with_row

PART = 1_000  # rows handled at a time


@dataclass(frozen=True)
class BlockLoss:
    """The leave-block-out loss at one point, and its gradient."""

    loss: float
    d_rows: np.ndarray
    d_linear: float
    d_ridge: float


def cut_blocks(starts: np.ndarray, length: int, offset: int, groups: np.ndarray | None = None) -> np.ndarray:
    """Return the first row of each block of rows sorted by `starts`, with the number of rows at the end.

    Without groups a block is what lies in `length` numbers of the buffer, beginning at `offset`; with groups
    (trials) it is one group.

    >>> cut_blocks(np.array([0, 5, 10, 15, 20]), length=10, offset=5)
    array([0, 1, 3, 5])
    """
    label = (starts - starts[0] + length - offset) // length if groups is None else groups
    edges = np.flatnonzero(label[1:] != label[:-1]) + 1
    return np.concatenate([[0], edges, [len(starts)]])


def scored_rows(starts: np.ndarray, span: int, edges: np.ndarray) -> np.ndarray:
    """Return which of the sorted rows share no raw data with a row of another block."""
    first, last = np.repeat(edges[:-1], np.diff(edges)), np.repeat(edges[1:], np.diff(edges))
    before = np.where(first > 0, starts[np.maximum(first - 1, 0)], -np.inf)
    after = np.where(last < len(starts), starts[np.minimum(last, len(starts) - 1)], np.inf)
    return (starts - before >= span) & (after - starts >= span)


def inner_products(queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return G (queries, rows) of float32 rows with sums in double precision: alike for one query and for many.

    >>> inner_products(np.ones((1, 2), np.float32), np.array([[1, 2], [3, 4]], np.float32))
    array([[3., 7.]])
    """
    G, exact = np.empty((len(queries), len(rows))), queries.astype(np.float64)
    if len(queries) == 1:  # reads the rows as they are: half of the memory
        products_with_row(rows, exact[0], G[0])
        return G
    for first in range(0, len(rows), PART):
        G[:, first : first + PART] = exact @ rows[first : first + PART].T
    return G


def square_norms(rows: np.ndarray) -> np.ndarray:
    """Return the squared length of each row in double precision."""
    norms: np.ndarray = np.einsum("if,if->i", rows, rows, dtype=np.float64)
    return norms


def kernel(G: np.ndarray, norms: np.ndarray, other: np.ndarray, linear: float) -> np.ndarray:
    """Return K = 1 / (1 + d) + c G + 1 from inner products and the squared norms of both sides."""
    d = np.maximum(norms[:, None] + other[None, :] - 2.0 * G, 0.0)
    return 1.0 / (1.0 + d) + linear * G + 1.0


def block_residuals(P: np.ndarray, alpha: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the residuals of every row in the model trained without its block: e_B = (P_BB)⁻¹ α_B."""
    residuals = np.empty_like(alpha)
    for a, b in pairwise(edges):
        residuals[a:b] = np.linalg.solve(P[a:b, a:b], alpha[a:b])
    return residuals


def inverse(H: np.ndarray) -> np.ndarray:
    """Return the inverse of a symmetric positive definite matrix, which is overwritten."""
    lower, info = dpotri(_factorize(H), lower=1, overwrite_c=1)
    if info != 0:
        raise np.linalg.LinAlgError("the kernel matrix is not positive definite")
    full = lower + lower.T
    full.flat[:: len(full) + 1] *= 0.5
    return full


def _factorize(H: np.ndarray) -> np.ndarray:
    """Return the lower Cholesky factor of a symmetric matrix, zeros above it; H is overwritten."""
    factor, info = dpotrf(H.T, lower=1, overwrite_a=1)
    if info != 0:
        raise np.linalg.LinAlgError("the kernel matrix is not positive definite")
    return factor


def _solve(factor: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Solve with a factor of `_factorize`; hundreds of small blocks do not need the checks of SciPy."""
    return dpotrs(factor, rhs, lower=1)[0]


def leave_block_out(
    Z: np.ndarray, Y: np.ndarray, linear: float, ridge: float, edges: np.ndarray, scored: np.ndarray
) -> BlockLoss:
    """Return the loss and its gradient; all but the inverse and what it multiplies is in the precision of `Z`."""
    G = Z @ Z.T
    near = _nearness(G)
    H = (near + Z.dtype.type(linear) * G).astype(np.float64)
    H += 1.0
    H.flat[:: len(H) + 1] += ridge
    P = inverse(H)
    loss, M = _loss_and_slope(P, P @ Y, edges, scored)
    d_ridge, M = float(np.trace(M)), M.astype(Z.dtype, copy=False)
    near *= near
    near *= M  # −A
    B = Z.dtype.type(2.0 * linear) * M
    B += 4 * near
    B.flat[:: len(B) + 1] -= 4 * near.sum(axis=1)
    return BlockLoss(loss, B @ Z, float(np.vdot(M, G)), d_ridge)


def _nearness(G: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + d) from the inner products of the rows with each other."""
    norms, d = G.diagonal(), -2 * G
    d += norms[:, None]
    d += norms[None, :]
    np.maximum(d, 0, out=d)
    d += 1
    return np.reciprocal(d, out=d)


def _loss_and_slope(
    P: np.ndarray, alpha: np.ndarray, edges: np.ndarray, scored: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the loss and M = ∂loss/∂K."""
    n, n_outputs = alpha.shape
    parts = [(a, b, _factorize(P[a:b, a:b].copy())) for a, b in pairwise(edges)]
    residuals = np.concatenate([_solve(factor, alpha[a:b]) for a, b, factor in parts])
    residuals_scored = np.where(scored[:, None], residuals, 0.0)
    total = float(np.sum(residuals_scored**2))
    n_scored = int(scored.sum()) * n_outputs
    if not n_scored or not total > 0.0:
        return -np.inf if n_scored else 0.0, np.zeros_like(P)
    slope = 2.0 * residuals_scored / total
    u = np.zeros((n, len(parts), n_outputs))
    v = np.empty((n, len(parts), n_outputs))
    for i, (a, b, factor) in enumerate(parts):
        columns = P[:, a:b]
        u[:, i] = columns @ _solve(factor, slope[a:b])
        v[:, i] = alpha - columns @ residuals[a:b]
    half = u.reshape(n, -1) @ v.reshape(n, -1).T
    return float(np.log(total / n_scored)), -0.5 * (half + half.T)
