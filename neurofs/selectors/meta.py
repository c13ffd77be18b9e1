"""Meta-features: what a channel × lag feature is like, and what good ones are like.

A feature has properties that can be had without any target: its lag, electrode and kind of channel, its firing
rate, and so on (`describe_features`). `QualityMap` measures the quality of some features and regresses it on
these properties, which then predicts the quality of features that were never measured.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from neurofs.features.samples import Samples
from neurofs.metric import neighbors
from neurofs.selectors.filters import CorrCoef

N_STRETCHES = 20  # of a session, in which a channel is present or not
MAX_CENTERS = 300  # Gaussians of the default regressor


# ------------------------------------------------------------------------------------------- meta-features


def describe_features(
    samples: Samples, channels: pd.DataFrame | None = None, *, lags: Any = None, bin_width: float = 1.0
) -> pd.DataFrame:
    """Return the meta-features of every feature of `samples`, one row per feature, all of them numbers.

    Only the bins that lie in some window of `samples` are looked at: give the training part and nothing else
    has an influence. With c the counts of a channel in these bins:

    ==============  ========================================================================================
    lag             seconds by which the spikes precede the target
    rate            mean c / `bin_width`, in Hz
    fano            variance of c / mean c; 1, as of a Poisson process, for a silent channel
    presence        share of 20 equal stretches of the bins in which the channel has any spike
    snr             what lasts from a bin to the next over what does not: s / (var c − s), s the covariance of
                    c in bins that follow each other, at least 0; independent noise leaves s at 0
    electrode       its number, where the table of channels has one
    kind=NAME       1 for the channels of this kind, else 0, where the table says it (isolated, threshold, …)
    x, y            position on the array, where the table has it
    ==============  ========================================================================================

    Parameters
    ----------
    samples : Samples
        Windows of counts; of an ordinary matrix every column is a channel and every row a bin.
    channels : DataFrame, optional
        The table of channels of a recording: `electrode`, `kind`, `x` and `y` are used where they are there.
    lags : array, optional
        Seconds of each lag, ascending as in the tensor; by default 0, 1, 2, … bins.
    bin_width : float
        Seconds.

    Examples
    --------
    >>> counts = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    >>> table = describe_features(Samples.from_counts(counts, n_lags=2), bin_width=0.1)
    >>> table[["lag", "rate", "fano"]].values.tolist()      # as in `Samples`, the oldest bin comes first
    [[0.1, 5.0, 0.5], [0.1, 0.0, 1.0], [0.0, 5.0, 0.5], [0.0, 0.0, 1.0]]
    """
    lags = np.arange(samples.n_lags) * bin_width if lags is None else np.asarray(lags, dtype=float)
    if lags.shape != (samples.n_lags,):
        raise ValueError(f"lags must have one entry per lag ({samples.n_lags}); found shape {lags.shape}")
    table = pd.DataFrame(_describe_counts(*_covered_bins(samples), bin_width))
    if channels is not None:
        table = table.assign(**_describe_channels(channels, samples.n_channels))
    whole = pd.concat([table] * samples.n_lags, ignore_index=True)
    whole.insert(0, "lag", np.repeat(lags[::-1], samples.n_channels))
    return whole


def _covered_bins(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts (bins, channels) of the bins that lie in some window, in order, and where they lie."""
    n = samples.n_channels
    places = np.unique((samples.starts[:, None] + np.arange(samples.n_lags) * n).ravel())
    return samples.flat[places[:, None] + np.arange(n)].astype(np.float64), places


def _describe_counts(counts: np.ndarray, places: np.ndarray, bin_width: float) -> dict[str, np.ndarray]:
    mean, variance = counts.mean(axis=0), counts.var(axis=0)
    stretches = np.array_split(counts != 0, min(N_STRETCHES, len(counts)))
    follows = np.flatnonzero(np.diff(places) == counts.shape[1])
    from_mean = counts - mean
    lasting = np.maximum((from_mean[follows] * from_mean[follows + 1]).sum(axis=0), 0) / max(len(follows), 1)
    passing = np.maximum(variance - lasting, 1e-3 * variance)
    return {
        "rate": mean / bin_width,
        "fano": np.divide(variance, np.abs(mean), out=np.ones_like(mean), where=mean != 0),
        "presence": np.mean([part.any(axis=0) for part in stretches], axis=0),
        "snr": np.divide(lasting, passing, out=np.zeros_like(mean), where=passing > 0),
    }


def _describe_channels(channels: pd.DataFrame, n_channels: int) -> dict[str, np.ndarray]:
    """Return what the table of channels says, as numbers; what is missing or no number is left out."""
    if len(channels) != n_channels:
        raise ValueError(f"channels must have a row per channel ({n_channels}); found {len(channels)}")
    found = {}
    for name in ("electrode", "x", "y"):
        values = pd.to_numeric(channels[name], errors="coerce") if name in channels else pd.Series(dtype=float)
        if len(values) and np.isfinite(values).all():
            found[name] = values.to_numpy(dtype=float)
    if "kind" in channels:
        kinds = channels["kind"].map(str)
        found |= {f"kind={kind}": (kinds == kind).to_numpy(dtype=float) for kind in sorted(kinds.unique())}
    return found


# --------------------------------------------------------------------------------------------- quality map


class QualityMap(RegressorMixin, BaseEstimator):
    """Predict how good features are from their meta-features (quality_map of Navot 2006, algorithm 5).

    A regressor whose rows are features: `fit(meta, quality)` and `predict(meta)`. `fit_features` measures the
    quality itself. It is no selector, and not among `SELECTORS`: a selector learns from the values of features,
    this one from a table of their properties, for features that may never have been measured.

    Parameters
    ----------
    quality : selector or callable, optional
        What `fit_features` measures: the `weights_` of a selector, or what ``quality(samples, y, groups)``
        returns, a number per feature. By default the absolute correlation with the target.
    regressor : scikit-learn regressor, optional
        By default ridge regression on Gaussians around at most 300 of the rows, with standardized
        meta-features; the ridge is chosen by leave-one-out.
    random_state : int, RandomState or None
        Seed of the default regressor's choice of rows.

    Attributes
    ----------
    regressor_ : the fitted regressor
    quality_ : array
        What was measured, after `fit_features`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> counts = rng.poisson(np.linspace(0.1, 3, 40), (4000, 40))     # channels of growing rate
    >>> y = counts.sum(axis=1) + rng.normal(size=4000)               # in which the lively ones count more
    >>> samples = Samples.from_counts(counts, n_lags=1)
    >>> meta, seen = describe_features(samples), np.arange(0, 40, 2)
    >>> quality_map = QualityMap(random_state=0).fit_features(samples, y, meta, features=seen)
    >>> unseen = np.setdiff1d(np.arange(40), seen)
    >>> predicted = quality_map.predict(meta.iloc[unseen])
    >>> bool(np.corrcoef(predicted, CorrCoef().fit(samples, y).weights_[unseen])[0, 1] > 0.9)
    True
    """

    def __init__(self, quality: Any = None, regressor: Any = None, random_state: Any = None) -> None:
        self.quality = quality
        self.regressor = regressor
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> QualityMap:
        """Learn to predict the quality `y` of features from their meta-features `X` (features, properties)."""
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        self.regressor_ = self._make_regressor(*X.shape).fit(X, y)
        return self

    def fit_features(self, samples: Any, y: Any, meta: Any, groups: Any = None, features: Any = None) -> QualityMap:
        """Measure the quality of `features` (default: all) and learn it from their rows of `meta`."""
        samples = neighbors.as_samples(samples)
        if len(meta) != samples.n_features:
            raise ValueError(f"meta must have a row per feature ({samples.n_features}); found {len(meta)}")
        chosen = np.arange(samples.n_features) if features is None else np.asarray(features)
        self.quality_ = measure_quality(self.quality, samples, y, groups)[chosen]
        rows = meta.iloc[chosen] if isinstance(meta, pd.DataFrame) else np.asarray(meta)[chosen]
        return self.fit(rows, self.quality_)

    def predict(self, X: Any) -> np.ndarray:
        """Return the expected quality of features from their meta-features."""
        check_is_fitted(self)
        return self.regressor_.predict(validate_data(self, X, reset=False, dtype=np.float64))

    def _make_regressor(self, n_rows: int, n_columns: int) -> Any:
        if self.regressor is not None:
            return clone(self.regressor)
        gaussians = Nystroem(
            gamma=0.5 / n_columns, n_components=min(MAX_CENTERS, n_rows), random_state=self.random_state
        )
        return make_pipeline(StandardScaler(), gaussians, RidgeCV(np.logspace(-5, 2, 15)))


def measure_quality(quality: Any, samples: Samples, y: Any, groups: Any = None) -> np.ndarray:
    """Return the quality of every feature by a selector (None: correlation) or a callable."""
    if callable(quality):
        return np.asarray(quality(samples, y, groups), dtype=float)
    selector = CorrCoef() if quality is None else clone(quality)
    return selector.fit(samples, y, groups=groups).weights_
