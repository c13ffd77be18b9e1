"""The published experiments, on a few repetitions."""

import numba
import numpy as np
import pandas as pd
import pytest

from neurofs.experiments.bench.recordings import RECORDINGS, Session
from neurofs.experiments.reproduce import (
    list_claims,
    navot2005,
    planted,
    prefixes,
    render,
    reproduce,
    save_figure,
    validity,
)
from neurofs.features.samples import Samples
from neurofs.ground.errors import InputError, UsageError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(numba.config.DISABLE_JIT), reason="slow uncompiled; tests/metric checks the loops that way"
    ),
]


def draws(name, table, tmp_path):
    """Whether the experiment saves a figure of its table."""
    return save_figure(name, table, tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_figure_2_in_small(tmp_path):
    seen = []
    table, text = reproduce(
        "navot2005-fig2",
        progress=lambda done, total: seen.append((done, total)),
        repetitions=6,
        functions="ad",
        sizes=(60, 100),
    )
    assert len(table) == 2 + 2 * 7 * 2
    assert seen[-1] == (28, 28)
    assert table["ours"][:2].tolist() == pytest.approx([0.03, 0.005], rel=0.5)
    rate = table.set_index(["function", "method", "m"])["ours"]
    assert rate["a", "rgs", 100] == rate["a", "corrcoef", 100] == rate["a", "sks", 100] == 100
    assert rate["a", "kernel rgs", 100] == 100
    assert rate["d", "kernel rgs", 100] >= 80
    assert np.isnan(table.set_index("method").loc["kernel rgs", "published"]).all()
    assert "100.0 / –" in text
    assert np.isfinite(table.set_index("method").loc["rgs, published", "published"]).all()
    assert rate["d", "rgs", 100] >= 80 > 20 >= rate["d", "corrcoef", 100]
    assert "100.0 / 85.6" in text or "83.3 / 85.6" in text
    assert "(d) sin(2πx1) sin(2πx2)" in text
    assert [line.split()[-2] for line in text.splitlines() if line.endswith(" fails")] == [
        "corrcoef",
        "infogain",
        "sks",
        "forward",
    ]
    assert draws("navot2005-fig2", table, tmp_path)


def test_equal_scores_come_in_random_order():
    hits = [navot2005.succeeds(np.zeros(4), 1, seed) for seed in range(200)]
    assert 30 < sum(hits) < 70
    assert navot2005.succeeds(np.array([2.0, 3.0, 1.0]), 2)


def test_planted_features(tmp_path):
    table = planted.run(repetitions=1, methods=("rgs", "corrcoef"), tasks=("mixed",))
    found = table.set_index("method")["found"]
    assert found["rgs"] >= 14 > 12 >= found["corrcoef"]
    text = render("20-of-640", table)
    assert "corrcoef" in text
    assert "mixed" in text
    assert "Our own claims" in text
    assert "Published claims" not in text
    assert draws("20-of-640", table, tmp_path)


def test_validity_counts_false_alarms_coverage_and_equal_methods(tmp_path):
    table = validity.run(1, scenarios=["white", "one output", "few trials of a class"])
    assert len(table) == 2 * 2 * (3 + 3 + 2), "kinds, numbers of repeats, methods of each scenario"
    assert draws("validity", table, tmp_path)
    one = table[table["informed"] & (table["scenario"] == "white")]
    assert (one["score_low"] <= one["score"]).all()
    assert one["beyond"].all()
    assert not table[~table["informed"]]["beyond"].any()
    classes = table[table["informed"] & (table["scenario"] == "few trials of a class")]
    for name in ("score", "balanced", "field"):
        assert (classes[f"{name}_low"] < classes[f"{name}_high"]).all(), "no accuracy is certain"
    assert classes["r"].isna().all()
    text = "\n".join(validity.tabulate(table))
    assert all(word in text for word in validity.INTERVALS.values())


def test_the_claims_of_validity_can_fail():
    names = ("score", *validity.INTERVALS)

    def intervals(mean, low, high):
        return {f"{n}{end}": v for n in names for end, v in (("", mean), ("_low", low), ("_high", high))}

    rows = [
        {"scenario": "white", "informed": informed, "seed": seed, "repeats": repeats, "method": "ridge"}
        | {"p": 0.01, "beyond": True, "doubted": False}
        | intervals(float(seed), 5.0, 6.0)
        for informed in (False, True)
        for seed in range(100)
        for repeats in (1, 5)
    ]
    claims = list_claims("validity", pd.DataFrame(rows))
    assert [claim["published"] for claim in claims] == [None] * 6
    assert not any(claim["holds"] for claim in claims)
    good = [row | {"p": 0.5, "beyond": False} | intervals(row["score"], -1.0, 100.0) for row in rows]
    assert all(claim["holds"] for claim in list_claims("validity", pd.DataFrame(good)))
    doubted = pd.DataFrame(rows).assign(doubted=lambda table: table["seed"] % 2 == 0)
    text = "\n".join(validity.tabulate(doubted))
    assert text.count("0.500 ± 0.050") == 2, "half of 100 sessions are doubted, with 1 repeat and with 5"


def test_a_pair_is_invisible_alone():
    X, y = planted.draw("mixed", 0)
    r = np.abs([np.corrcoef(x, y)[0, 1] for x in X[:, :20].T])
    assert r[:10].min() > 0.08
    assert r[10:20].max() < 0.15
    assert planted.draw("additive", 0)[1].shape == (2000,)


def test_unknown_experiment():
    with pytest.raises(UsageError, match="20-of-640"):
        reproduce("navot2004")


def test_prefixes_of_a_small_session(tmp_path):
    rng = np.random.default_rng(0)
    samples = Samples.from_counts(rng.poisson(1.0, (400, 5)), 2)
    y = np.asarray(samples)[:, [1, 8]] + 0.1 * rng.normal(size=(399, 2))
    table = prefixes.run(repetitions=1, sizes=[2], session=Session("small", samples, y, ("x", "y"), 5))
    means = table.groupby(["method", "n"])["mse"].mean()
    assert means[prefixes.PUBLISHED, 2] < 0.3
    assert means[prefixes.WEIGHTED, 10] < means["corrcoef", 10] == means[prefixes.PUBLISHED, 10]
    assert "n = 10" in render("stevenson-prefixes", table)
    assert draws("stevenson-prefixes", table, tmp_path)
    table["mse"] = np.where((table["method"] == prefixes.PUBLISHED) & (table["n"] == 10), -1.0, table["mse"])
    beaten = list_claims("stevenson-prefixes", table)[3]
    assert not beaten["holds"]
    assert "better in 0%" in beaten["ours"]


def test_prefixes_without_the_recording(monkeypatch, tmp_path):
    monkeypatch.setenv("NEUROFS_SHARED_DATA", str(tmp_path))
    with pytest.raises(InputError, match="stevenson2011_m1"):
        prefixes.run()


@pytest.mark.shared_data
def test_prefixes_of_a_recording(shared_data):
    whole = RECORDINGS["stevenson"](shared_data)
    part = Session("part", whole.samples[:2000], whole.y[:2000], whole.outputs, whole.n_channels)
    table = prefixes.run(repetitions=2, sizes=[20, 50, 100, 200], session=part)
    means = table.groupby(["method", "n"])["mse"].mean().unstack("method")
    for rival in ("corrcoef", "infogain", "sks"):
        assert (means["rgs, ours, with weights"] < means[rival]).all()
