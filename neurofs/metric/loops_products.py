"""The compiled loop of inner products: rows in single precision, sums in double."""

# mypy: disallow-untyped-defs=False

from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}


@njit(cache=True, fastmath=FAST)
def products_with_row(rows, x, out):
    """out[j] = Σ_f x_f row_jf; x and out are of double precision."""
    for j in range(rows.shape[0]):
        row, total = rows[j], 0.0
        for f in range(x.shape[0]):
            total += x[f] * row[f]
        out[j] = total
