"""The figure of an experiment: its axes, its legends, and curves with their spread."""

from typing import Any

import numpy as np
import pandas as pd


def make_axes(size: tuple[float, float], n_columns: int, n_rows: int = 1, **options: Any) -> tuple[Any, np.ndarray]:
    """Return a figure of a size in inches, and its axes as one array, row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, np.ravel(figure.subplots(n_rows, n_columns, **options))


def add_legends(*axes: Any, n_columns: int = 1) -> None:
    """Give axes a legend each."""
    for ax in axes:
        ax.legend(frameon=False, fontsize=8, ncols=n_columns)


def plot_means(ax: Any, table: pd.DataFrame) -> None:
    """Draw the mean of `value` against `x` for every method, with its standard deviation."""
    for method, part in table.groupby("method", sort=False):
        values = part.groupby("x")["value"]
        mean = values.mean()
        ax.errorbar(mean.index, mean, values.std(ddof=0), marker="o", capsize=2, label=method)
