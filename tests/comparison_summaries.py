"""The summary of a comparison made up by hand, by plain means; its intervals are one standard deviation, no claim."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from neurofs.comparison.names import name_method
from neurofs.comparison.scores import SCORES
from neurofs.comparison.summary import Estimate, Summary


def _estimate(values: pd.Series) -> dict[str, float | None]:
    mean, deviation = values.mean(), values.std(ddof=0)
    return dict(Estimate(mean=mean, low=mean - deviation, high=mean + deviation))


def make_summary(rng, scores, predictions, session, config, channels, classes, leaks, hostile) -> Summary:
    score = "accuracy" if classes else "r2"
    chosen = scores[scores["chosen"]]
    methods = [_method(table, name) for name, table in chosen.groupby("method", sort=False)]
    methods.sort(key=lambda m: -(m["pooled"][score]["mean"] if m["pooled"][score]["mean"] is not None else -9))
    reference = config.selectors[0] if config.selectors else methods[0]["method"]
    main = methods[0]["method"]
    curve = scores[~scores["chosen"]]
    names = [str(o) for o in predictions["output"].values]
    folds = [{"repeat": r, "fold": f} for r in range(config.n_repeats) for f in range(config.n_splits)]
    content = {
        "score": score,
        "reference": reference,
        "main": main,
        "headline": _headline(methods, score, reference, main),
        "session": {
            "name": hostile[1] if hostile else "toy",
            "source": hostile[0] if hostile else "session.nwb",
            "source_hash": "ab" * 32,
            "duration": 60.0,
            "span": [0.0, 61.5],
            "n_channels": len(channels),
            "n_lags": config.n_lags,
            "bin_width": 0.1,
            "first_lag": 0,
            "n_samples": predictions.sizes["time"],
            "n_trials": session.sizes["trial"],
            "n_gaps": 1,
            "kind": "shuffled" if leaks else ("trials" if session.sizes["trial"] else "blocks"),
            "outputs": [{"name": n, "unit": "" if classes else "cm/s"} for n in names],
            "classes": list(classes),
            "dropped": {"window": 180, "target": 3, "period": 0, "step": 0},
            "notes": [hostile[2] if hostile else "velocity: mean within the bin"],
            "warnings": [hostile[3] if hostile else "only 60.0 s observed: expect wide intervals"],
        },
        "audit": {
            "passed": not leaks,
            "n_overlaps": leaks,
            "folds": [f | {"n_train": 300, "n_test": 80, "n_overlaps": leaks // len(folds)} for f in folds],
        },
        "methods": methods,
        "tests": [_test(m, names, config) for m in methods if m["method"] != main],
        "curves": _curves(curve, score),
        "wins": _wins(curve, reference),
        "weighting": [
            {"selector": s, "n": _ns(t), "share": [0.6] * len(_ns(t)), "n_folds": 10}
            for s, t in curve[curve["weighted"]].groupby("selector", sort=False)
        ],
        "best_n": [
            {"selector": s, "weighted": bool(w), "output": o, "n": int(t["n"].median()), "low": 2, "high": 20}
            for (s, w, o), t in curve.groupby(["selector", "weighted", "output"], sort=False)
        ],
        "stability": [
            {"selector": s, "output": o, "n": 6, "index": 0.7 - 0.1 * i}
            for i, s in enumerate(config.selectors)
            for o in names
            if s != "all"
        ],
        "few_channels": None,
        "chance": [_chance(rng, m["method"], o, m["method"] == main) for m in methods for o in names],
        "confusion": _confusion(predictions, reference, classes),
        "channels": _tests(channels, config.n_lags, bool(session.sizes["trial"])),
        "provenance": {
            "version": "0.1.0",
            "versions": {"numpy": "2.0.0", "scikit-learn": "1.6.0"},
            "python": "3.11.4",
            "platform": "Linux-x86_64",
            "command": f"neurofs decode {hostile[0] if hostile else 'session.nwb'}",
            "seed": 0,
            "finished": "2026-01-02T03:04:05+00:00",
            "seconds": 12.5,
            "peak_memory": 250_000_000,
            "git": None,
            "inputs": [{"path": hostile[0] if hostile else "session.nwb", "sha256": "ab" * 32}],
            "threads": 1,
        },
    }
    return Summary.model_validate(content)


def _tests(channels: list[str], n_lags: int, trials: bool) -> dict[str, Any]:
    """Return tests in which every other channel is tuned, and every fourth adds something."""
    rows = [
        {
            "channel": name,
            "tuned": i % 2 == 0,
            "p_tuned": 0.001 if i % 2 == 0 else 0.4,
            "q_tuned": 0.002 if i % 2 == 0 else 0.4,
            "adds": i % 4 == 0,
            "p_adds": 0.002 if i % 4 == 0 else 0.6,
            "q_adds": 0.008 if i % 4 == 0 else 0.6,
            "peak": round(0.1 * (i % n_lags), 9),
            "peak_low": 0.0,
            "peak_high": round(0.1 * (n_lags - 1), 9),
            "r2": 0.3 / (i + 1),
        }
        for i, name in enumerate(channels)
    ]
    return {
        "channels": rows,
        "n_tuned": sum(row["tuned"] for row in rows),
        "n_adds": sum(row["adds"] for row in rows),
        "false_discovery_rate": 0.1,
        "lag_range": (0.0, 0.1),
        "interval": 0.9,
        "cutoff": 12.0,
        "shifted": "trials" if trials else "rows",
        "n_shifts": 300,
        "n_shifts_adds": 60,
        "n_windows": min(n_lags, 10),
        "n_windows_adds": min(n_lags, 4),
    }


def _ns(table: pd.DataFrame) -> list[int]:
    return sorted({int(n) for n in table["n"]})


def _method(table: pd.DataFrame, name: str) -> dict[str, Any]:
    first = table.iloc[0]
    pooled = {name: _estimate(table[name]) for name in SCORES}
    return {
        "method": name,
        "label": name_method(name),
        "selector": first["selector"],
        "decoder": first["decoder"],
        "weighted": float(table["weighted"].mean()),
        "n": {"median": int(table["n"].median()), "low": int(table["n"].min()), "high": int(table["n"].max())},
        "outputs": {o: {m: _estimate(t[m]) for m in SCORES} for o, t in table.groupby("output", sort=False)},
        "pooled": pooled | {"fvaf": pooled["r2"]},
    }


def _chance(rng, method, output, is_main) -> dict[str, Any]:
    shifted = rng.normal(0.0, 0.05, 20).tolist()
    return {
        "method": method,
        "output": output,
        "shifted": "samples",
        "n_shifts": 200,
        "farthest": 12.0,
        "real": 0.8,
        "mean": 0.0,
        "high": 0.1,
        "p": 1 / 101,
        "p_corrected": 1 / 101,
        "beyond": True,
        "values": shifted if is_main else [],
    }


def _headline(methods, score, reference, main) -> dict[str, Any]:
    by_name = {m["method"]: m for m in methods}

    def number(label: str, name: str | None) -> dict[str, Any] | None:
        m = by_name.get(name) if name else None
        if m is None:
            return None
        return {"label": label, "method": name, "n": m["n"]["median"]} | m["pooled"][score]

    rivals = [m["method"] for m in methods if m["selector"] != reference and m["selector"] != "all"]
    numbers = {
        "main": number("main method", main),
        "reference": number(reference, reference),
        "all": number("all features", "all" if "all" in by_name else None),
        "rival": number("best rival", rivals[0] if rivals else None),
    }
    said = {"how_well": ["The movement can be decoded."], "which": ["All channels matter."], "believe": ["It is true."]}
    return said | {"numbers": numbers}


def _test(method, outputs, config) -> dict[str, Any]:
    whole = "pooled" if len(outputs) > 1 else outputs[0]
    difference = {"mean": 0.05, "low": 0.01, "high": 0.09}
    about = {"method": method["method"], "output": whole, "difference": difference, "effect_size": 0.8}
    return about | {"p": 0.01, "p_holm": 0.04, "wins": 0.9, "n_folds": config.n_splits * config.n_repeats}


def _curves(curve: pd.DataFrame, score: str) -> list[dict[str, Any]]:
    found = []
    for (selector, weighted, output), table in curve.groupby(["selector", "weighted", "output"], sort=False):
        one = {"selector": selector, "weighted": bool(weighted), "output": output, "n": _ns(table)}
        for name in ("mse", "r2") if score == "r2" else ("accuracy",):
            points = [_estimate(table[table["n"] == n][name]) for n in one["n"]]
            one[name] = {key: [p[key] for p in points] for key in ("mean", "low", "high")}
        found.append(one)
    return found


def _wins(curve: pd.DataFrame, reference: str) -> list[dict[str, Any]]:
    return [
        {"rival": s, "weighted": bool(w), "n": _ns(t), "share": [0.9] * len(_ns(t)), "n_folds": 10}
        for (s, w), t in curve[curve["selector"] != reference].groupby(["selector", "weighted"], sort=False)
    ]


def _confusion(predictions, reference, classes) -> dict[str, Any] | None:
    if not classes:
        return None
    method = reference if reference in predictions["method"].values else predictions["method"].values[0]
    truth = predictions["target"].values[:, 0].astype(int)
    guess = predictions["predicted"].sel({"method": method}).values[0, 0].astype(int)
    counts = np.zeros((len(classes), len(classes)), int)
    np.add.at(counts, (truth, guess), 1)
    return {"method": method, "classes": list(classes), "counts": counts.tolist()}
