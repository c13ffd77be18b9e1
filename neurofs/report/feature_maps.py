"""Weights and ranks of a comparison, put together for drawing: per feature, per channel, per lag.

Tasks that are missing have rank 0 and weight NaN in `weights.nc`; they are left out of every mean.
"""

from typing import Any

import numpy as np

from neurofs.comparison.channel_summary import TestedChannel
from neurofs.comparison.comparison import Comparison
from neurofs.comparison.summary import Estimate
from neurofs.recordings.quality import RARE

FEW_SPIKES = 100
"""Spikes in the whole session below which their number is worth a remark."""


def list_selectors(comparison: Comparison) -> list[str]:
    """Return the selectors that rank features and have a result, the reference first."""
    known = [str(s) for s in comparison.weights["selector"].values]
    done = (comparison.weights["ranking"] > 0).any(("output", "repeat", "fold", "channel", "lag")).values
    return [s for s, d in zip(known, done, strict=True) if d and s != "all"]


def find_n(comparison: Comparison) -> int:
    """Return the number of features to show first: the median of what the first selector chose.

    If that is more than a fifth of all, a fifth is shown: maps of nearly all features tell nothing apart.
    """
    selectors, weights = list_selectors(comparison), comparison.weights
    chosen = [m.n.median for m in comparison.summary.methods if m.method in selectors[:1]]
    most = max(1, weights.sizes["channel"] * weights.sizes["lag"] // 5)
    return min(most, max(1, chosen[0])) if chosen else 1


def order_channels(comparison: Comparison) -> np.ndarray:
    """Return the channels that are tuned or add something, then all others, each by weight of the first selector."""
    selectors = list_selectors(comparison)
    n = comparison.weights.sizes["channel"]
    weight = weigh_channels(comparison, selectors[0]) if selectors else np.zeros(n)
    return np.lexsort((np.arange(n), -np.nan_to_num(weight), ~find_reported(comparison)))


def get_ranks(comparison: Comparison, selector: str) -> np.ndarray:
    """Return the ranks (output, repeat, fold, channel, lag) of a selector."""
    ranking = comparison.weights["ranking"].sel(selector=selector)
    return ranking.transpose("output", "repeat", "fold", "channel", "lag").values


def mean_weights(comparison: Comparison, selector: str) -> np.ndarray:
    """Return the mean weight over folds (output, channel, lag)."""
    weights = comparison.weights["weights"].sel(selector=selector)
    values = weights.transpose("output", "repeat", "fold", "channel", "lag").values.astype(np.float64)
    known = np.isfinite(values)
    total, n = np.where(known, values, 0.0).sum(axis=(1, 2)), known.sum(axis=(1, 2))
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def selected_share(comparison: Comparison, selector: str, n: int) -> np.ndarray:
    """Return the share of folds and outputs in which each feature is among the best n (channel, lag)."""
    ranks = get_ranks(comparison, selector)
    known = (ranks > 0).sum(axis=(0, 1, 2))
    return ((ranks > 0) & (ranks <= n)).sum(axis=(0, 1, 2)) / np.maximum(known, 1)


def weigh_lags(comparison: Comparison, selector: str) -> np.ndarray:
    """Return each lag's share of all weight, the mean over outputs (lag,)."""
    by_lag = np.nansum(mean_weights(comparison, selector), axis=1)
    return np.mean(by_lag / np.maximum(by_lag.sum(axis=1, keepdims=True), 1e-300), axis=0)


def weigh_channels(comparison: Comparison, selector: str) -> np.ndarray:
    """Return the weight of each channel summed over lags, the mean over outputs (channel,)."""
    return np.nansum(mean_weights(comparison, selector), axis=2).mean(axis=0)


def channel_stability(comparison: Comparison, selector: str, n: int) -> np.ndarray:
    """Return the share of folds and outputs in which a lag of the channel is among the best n (channel,)."""
    ranks = get_ranks(comparison, selector)
    known = (ranks > 0).any(axis=(3, 4))
    hit = ((ranks > 0) & (ranks <= n)).any(axis=4)
    return hit.sum(axis=(0, 1, 2)) / max(int(known.sum()), 1)


def count_channels(comparison: Comparison, n: int) -> list[tuple[str, float, float]]:
    """Return per selector how many channels the best n features come from, and how many lags of each.

    Both are means over folds and outputs.
    """
    rows = []
    for selector in list_selectors(comparison):
        ranks = get_ranks(comparison, selector).reshape(-1, *comparison.weights["ranking"].shape[-2:])
        hits = (ranks > 0) & (ranks <= n)
        hits = hits[(ranks > 0).any(axis=(1, 2))]
        used = hits.any(axis=2).sum(axis=1)
        rows.append((selector, float(used.mean()), float((hits.sum(axis=(1, 2)) / np.maximum(used, 1)).mean())))
    return rows


FADED = 0.25
"""Opacity in maps of channels that are not reported, beside those that are."""


def find_tested(comparison: Comparison) -> tuple[np.ndarray, np.ndarray]:
    """Return which channels are tuned, and which add something; none in runs that did not ask."""
    names = [str(name) for name in comparison.weights["channel"].values]
    found = {} if comparison.summary.channels is None else comparison.summary.channels.by_channel
    tuned = [name in found and found[name].tuned for name in names]
    adds = [name in found and bool(found[name].adds) for name in names]
    return np.array(tuned, dtype=bool), np.array(adds, dtype=bool)


def find_reported(comparison: Comparison) -> np.ndarray:
    """Return which channels are tuned or add something; all in runs that did not ask."""
    if comparison.summary.channels is None:
        return np.ones(comparison.weights.sizes["channel"], dtype=bool)
    return np.logical_or(*find_tested(comparison))


def share_by_kind(comparison: Comparison, n: int) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the kinds of channels and, per selector, each kind's share of the best n features.

    The first row is what a random choice among all channels would give.
    """
    kinds = np.array([str(k) or "unknown" for k in comparison.session["kind"].values], dtype=object)
    names = list(dict.fromkeys(kinds.tolist()))
    if len(names) < 2:
        return [], []
    rows: list[tuple[Any, ...]] = [("all channels", *(float(np.mean(kinds == k)) for k in names))]
    for selector in list_selectors(comparison):
        by_channel = selected_share(comparison, selector, n).sum(axis=1)
        total = max(float(by_channel.sum()), 1e-300)
        rows.append((selector, *(float(by_channel[kinds == k].sum() / total) for k in names)))
    return names, rows


def describe_channels(comparison: Comparison) -> list[dict[str, Any]]:
    """Return one record per channel for the table of channels, in the order of the comparison."""
    selectors, session = list_selectors(comparison), comparison.session
    n = find_n(comparison)
    weight = stable = np.full(comparison.weights.sizes["channel"], np.nan)
    if selectors:
        weights = np.nan_to_num(mean_weights(comparison, selectors[0]))
        weight, stable = weights.sum(axis=2).mean(axis=0), channel_stability(comparison, selectors[0], n)
    tests = comparison.summary.channels
    tested = {} if tests is None else tests.by_channel
    known = ("mean", "sd") if comparison.summary.session.is_signal else ("rate", "fano")
    records = []
    for i in range(len(weight)):
        one = session.isel(channel=i)
        records.append(
            {
                "channel": str(one["channel"].values),
                "electrode": str(one["electrode"].values),
                "kind": str(one["kind"].values),
                "weight": float(weight[i]),
                **_show_tests(tested.get(str(one["channel"].values))),
                **{key: float(one[key]) if key in known else None for key in ("rate", "fano", "mean", "sd")},
                "stability": float(stable[i]),
                "remarks": _remark(one, session.attrs.get("duration", np.nan)),
            }
        )
    return records


def _show_tests(one: TestedChannel | None) -> dict[str, Any]:
    """Return what the tests say of a channel, for a table; the peak in milliseconds, of tuned channels only."""
    if one is None:
        return {"tuned": "", "adds": "", "peak": None}
    peak, low, high = (1000 * lag for lag in (one.peak, one.peak_low, one.peak_high))
    return {
        "tuned": "yes" if one.tuned else "no",
        "adds": "" if one.adds is None else "yes" if one.adds else "no",
        "peak": _show_peak(peak, low, high) if one.tuned else None,
    }


def _show_peak(*lags: float) -> Estimate:
    """Return a peak with its interval, or alone where the interval is no wider than the peak's own bin."""
    peak, low, high = (round(lag, 6) for lag in lags)
    return Estimate(mean=peak) if low == high else Estimate(mean=peak, low=low, high=high)


def _remark(channel: Any, duration: float) -> str:
    """Return what should be known of a channel before its weight is believed, as inspect knows it."""
    is_signal = "sd" in channel and bool(np.isfinite(float(channel["sd"])))
    if bool(channel["silent"]):
        return "constant" if is_signal else "silent"
    twin, rate, presence = str(channel["duplicate_of"].values), float(channel["rate"]), float(channel["presence"])
    n_spikes = rate * duration
    few = f"{n_spikes:.0f} spikes" if f"{n_spikes:.0f}" != "1" else "1 spike"
    parts = [few] * bool(n_spikes < FEW_SPIKES)  # an unknown rate is NaN, and none
    parts += [f"rare ({rate:.2g} Hz)"] * (0 < rate < RARE)
    parts += [f"active in {presence:.0%} of the session".replace("%", " %")] * bool(channel["partly_active"])
    what = "signal" if is_signal else "spikes"
    return ", ".join(parts + [f"same {what} as {twin}"] * bool(twin))
