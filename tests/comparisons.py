"""A valid `Comparison` of any size, made of random numbers, for tests of what is done with one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from comparison_summaries import make_summary

from neurofs.comparison.comparison import SCORE_COLUMNS, Comparison
from neurofs.ground.config import RunOptions

HOSTILE = (
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked=1">',
    "{{ 7 * 7 }}{% raw %}",
    "</script><!--",
    "$\\frac{x}$ & 'quote' \x1b[31m\u202e",
    "]]></style><svg onload=window.hacked=1>",
    "javascript:window.hacked=1",
    "`${window.hacked=1}`",
)


def make_comparison(
    n_channels: int = 8,
    n_lags: int = 4,
    outputs: tuple[str, ...] = ("hand_velocity:x", "hand_velocity:y"),
    selectors: tuple[str, ...] = ("rgs", "corrcoef", "infogain", "random", "all"),
    baselines: tuple[str, ...] = ("ridge", "kalman"),
    *,
    n_repeats: int = 1,
    n_splits: int = 5,
    n_rows: int = 400,
    trials: bool = True,
    classes: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    nan_scores: bool = False,
    leaks: int = 0,
    sd: bool = False,
    seed: int = 0,
) -> Comparison:
    """Make a comparison; `names` replace those of channels, session, outputs and so on."""
    rng = np.random.default_rng(seed)
    hostile = list(names)
    outputs = tuple(hostile[: len(outputs)]) if hostile else outputs
    channels = [f"{hostile[i % len(hostile)]}{i}" if hostile else f"c{i}" for i in range(n_channels)]
    sizes = _sizes(n_channels * n_lags)
    methods = [*selectors[:1], f"{selectors[0]} + auto", *selectors[1:], *baselines] if selectors else [*baselines]
    predictions = _predictions(rng, methods, outputs, n_rows, n_repeats, trials, classes, sd)
    scores = _scores(rng, predictions, selectors, sizes, n_splits, bool(classes), nan_scores)
    weights = _weights(rng, scores, selectors, outputs, channels, n_lags, n_repeats, n_splits)
    config = RunOptions(
        file=hostile[0] if hostile else "session.nwb",
        name=hostile[1] if hostile else "toy",
        target=("hand_velocity",),
        selectors=selectors,
        n_lags=n_lags,
        n_splits=n_splits,
        n_repeats=n_repeats,
    )
    session = _session(rng, channels, predictions, trials, classes)
    summary = make_summary(rng, scores, predictions, session, config, channels, classes, leaks, hostile)
    return Comparison(scores, weights, predictions, session, summary, config)


def _sizes(n_features: int) -> list[int]:
    return sorted({int(n) for n in np.geomspace(1, n_features, 8).round()})


def _predictions(rng, methods, outputs, n_rows, n_repeats, trials, classes, sd) -> xr.Dataset:
    trial = np.arange(n_rows) // 20 if trials else np.full(n_rows, -1)
    time = np.round(np.arange(n_rows) * 0.1 + np.where(trials, trial * 1.0, 0.0), 6)
    if classes:
        target = (trial % len(classes) if trials else rng.integers(0, len(classes), n_rows)).astype(float)[:, None]
        right = rng.random((len(methods), n_repeats, 1, n_rows)) < 0.8
        other = rng.integers(0, len(classes), right.shape)
        predicted = np.where(right, target.T, other)
    else:
        phase = 2 * np.pi * np.arange(n_rows) / 40
        target = np.column_stack([8 * np.sin(phase + i) for i in range(len(outputs))])
        noise = rng.normal(0, 2.5, (len(methods), n_repeats, len(outputs), n_rows))
        predicted = target.T + noise * np.linspace(0.6, 1.6, len(methods))[:, None, None, None]
    variables = {
        "predicted": (("method", "repeat", "output", "time"), predicted.astype(np.float32)),
        "target": (("time", "output"), target),
        "trial": ("time", trial.astype(np.int32)),
    }
    if sd:
        spread = np.full(predicted.shape, 2.0, np.float32)
        variables["predicted_sd"] = (("method", "repeat", "output", "time"), spread)
    coords = {
        "method": np.array(methods, dtype=object),
        "output": np.array(outputs, dtype=object),
        "unit": ("output", np.array(["" if classes else "cm/s"] * len(outputs), dtype=object)),
        "time": time,
    }
    return xr.Dataset(variables, coords, {"classes": list(classes)} if classes else {})


def _scores(rng, predictions, selectors, sizes, n_splits, discrete, nan_scores) -> pd.DataFrame:
    rows = []
    fold_of = np.arange(predictions.sizes["time"]) * n_splits // predictions.sizes["time"]
    for output in predictions["output"].values:
        truth = predictions["target"].sel(output=output).values
        for repeat in range(predictions.sizes["repeat"]):
            for fold in range(n_splits):
                test = fold_of == fold
                about = {"output": output, "repeat": repeat, "fold": fold}
                about |= {"n_train": int((~test).sum()), "n_test": int(test.sum())}
                for at, method in enumerate(predictions["method"].values):
                    guess = predictions["predicted"].sel(output=output).values[at, repeat]
                    selector, _, decoder = method.partition(" + ")
                    known = selector in selectors
                    row = about | _score(truth[test], guess[test], discrete)
                    row |= {"method": method, "selector": selector if known else "all", "chosen": True}
                    row |= {"decoder": decoder or ("knn" if known else method), "weighted": method == "rgs"}
                    row["n"] = int(rng.choice(sizes)) if known and selector != "all" else sizes[-1]
                    rows.append(row)
                rows += _curve_rows(rng, about, truth[test], selectors, sizes, discrete)
    table = pd.DataFrame(rows).reindex(columns=list(SCORE_COLUMNS)).astype(SCORE_COLUMNS)
    if nan_scores:
        table.loc[table["selector"] == "corrcoef", ["mse", "r2", "r", "accuracy"]] = np.nan
    return table


def _score(truth, guess, discrete) -> dict[str, float]:
    if discrete:
        right = truth == guess
        balanced = np.mean([right[truth == c].mean() for c in np.unique(truth)])
        return {"accuracy": float(right.mean()), "balanced_accuracy": float(balanced)}
    mse = float(np.mean((truth - guess) ** 2))
    r = float(np.corrcoef(truth, guess)[0, 1])
    return {"mse": mse, "r2": 1 - mse / float(truth.var()), "r": r}


def _curve_rows(rng, about, truth, selectors, sizes, discrete) -> list[dict[str, Any]]:
    rows = []
    for place, selector in enumerate(selectors):
        for weighted in (False, True) if selector == "rgs" else (False,):
            for n in sizes if selector != "all" else sizes[-1:]:
                level = 0.25 + 0.1 * place + 0.6 / np.sqrt(n) + rng.normal(0, 0.02) - 0.03 * weighted
                row = {"mse": level * truth.var(), "r2": 1 - level, "r": max(0.0, 1 - level)}
                row = {"accuracy": 1 - level / 2, "balanced_accuracy": 1 - level / 2} if discrete else row
                what = {"method": selector, "selector": selector, "decoder": "knn", "n": n, "k": 20.0, "beta": 0.25}
                rows.append(about | row | what | {"weighted": weighted, "chosen": False})
    return rows


def _weights(rng, scores, selectors, outputs, channels, n_lags, n_repeats, n_splits) -> xr.Dataset:
    shape = (len(selectors), len(outputs), n_repeats, n_splits, len(channels), n_lags)
    base = rng.exponential(1.0, (len(selectors), 1, 1, 1, len(channels), n_lags))
    weights = base * rng.uniform(0.6, 1.4, shape)
    order = np.argsort(-weights.reshape(*shape[:4], -1), axis=-1)
    ranking = np.argsort(order, axis=-1).reshape(shape) + 1
    chosen = scores[scores["chosen"] & (scores["method"] == scores["selector"])]
    n_chosen = np.ones(shape[:4], np.int32)
    for row in chosen[chosen["selector"].isin(selectors)].itertuples():
        n_chosen[selectors.index(row.selector), outputs.index(row.output), row.repeat, row.fold] = row.n
    dims = ("selector", "output", "repeat", "fold")
    return xr.Dataset(
        {
            "weights": ((*dims, "channel", "lag"), weights.astype(np.float32)),
            "ranking": ((*dims, "channel", "lag"), ranking.astype(np.int32)),
            "n_chosen": (dims, n_chosen),
            "encoding": (("channel", "lag"), rng.uniform(0, 0.3, (len(channels), n_lags))),
        },
        {
            "selector": np.array(selectors, dtype=object),
            "output": np.array(outputs, dtype=object),
            "channel": np.array(channels, dtype=object),
            "lag": np.round(np.arange(n_lags) * 0.1, 9),
        },
    )


def _session(rng, channels, predictions, trials, classes) -> xr.Dataset:
    n, shown, n_events = len(channels), channels[:4], 12 if trials else 5
    silent = np.arange(n) % 5 == 4
    rate = np.where(silent, 0.0, rng.exponential(8, n) + 0.5)
    starts = predictions["time"].values[::20] if trials else np.empty(0)
    return xr.Dataset(
        {
            "rate": ("channel", rate),
            "presence": ("channel", np.where(silent, 0.0, np.where(np.arange(n) == 1, 0.4, 1.0))),
            "fano": ("channel", np.where(silent, np.nan, 1.2)),
            "silent": ("channel", silent),
            "partly_active": ("channel", np.arange(n) == 1),
            "duplicate_of": ("channel", np.array(["", "", "", channels[0]] + [""] * n)[:n].astype(object)),
            "electrode": ("channel", np.array([str(i // 4) for i in range(n)], dtype=object)),
            "kind": ("channel", np.array(["isolated", "threshold"] * n, dtype=object)[:n]),
            "x": ("channel", (np.arange(n) // 4 % 4) * 400.0),
            "y": ("channel", (np.arange(n) // 16) * 400.0),
            "trial_start": ("trial", starts),
            "trial_stop": ("trial", starts + 2.0 + rng.uniform(0, 0.5, len(starts))),
            "gap_start": ("gap", np.array([3.0])),
            "gap_stop": ("gap", np.array([4.5])),
            "raster": (
                ("raster_channel", "event", "raster_time"),
                rng.poisson(0.1, (len(shown), n_events, 150)).astype(np.float32),
            ),
            "onset": ("event", np.arange(n_events) * 2.0),
            "event_trial": ("event", np.arange(n_events)),
            "event_condition": ("event", np.array([str(45 * (i % 4)) for i in range(n_events)], dtype=object)),
            **_tuning(shown, classes),
        },
        {
            "channel": np.array(channels, dtype=object),
            "raster_channel": np.array(shown, dtype=object),
            "raster_time": np.round(np.arange(-50, 100) / 100, 9),
        },
        {
            "name": "toy",
            "duration": 60.0,
            "alignment": "movement onset, from the trial column move_onset",
            "condition": "direction",
            "raster_bin": 0.01,
            "tuning_kind": "classes" if classes else "direction",
            "tuning_name": "direction" if classes else "hand_velocity",
            "tuning_unit": "" if classes else "°",
        },
    )


def _tuning(shown, classes) -> dict[str, Any]:
    """Return rates that follow a cosine of the target; channels prefer one bin after the other."""
    labels = list(classes) if classes else [f"{45 * i}°" for i in range(8)]
    n = len(labels)
    away = 2 * np.pi * (np.arange(n) - np.arange(len(shown))[:, None]) / n
    return {
        "tuning_rate": (("raster_channel", "tuning_bin"), 10 + 6 * np.cos(away)),
        "tuning_error": (("raster_channel", "tuning_bin"), np.full(away.shape, 0.8)),
        "tuning_lag": ("raster_channel", 0.1 * np.arange(len(shown))),
        "tuning_value": ("tuning_bin", np.arange(n) * (1.0 if classes else 45.0)),
        "tuning_label": ("tuning_bin", np.array(labels, dtype=object)),
        "tuning_n": ("tuning_bin", np.full(n, 25)),
    }
