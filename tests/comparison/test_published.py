"""The published claims, on comparisons small enough to count by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from neurofs.comparison.comparison import Comparison
from neurofs.comparison.published import check_claims
from neurofs.ground.config import RunOptions

SIZES = (1, 2, 4, 6, 12)

# Errors at n = 1, 2, 4, 6, 12 in each of ten folds; all features without weights have the error 5.
ERRORS = {
    ("rgs", False): (8.0, 6.0, 4.0, 4.5, 5.0),
    ("rgs", True): (9.0, 6.0, 3.0, 3.0, 3.0),
    ("sks", False): (8.0, 7.0, 6.0, 6.0, 5.0),
    ("corrcoef", False): (7.0, 5.0, 5.0, 5.0, 5.0),
}


def make_comparison(change=None, kinds=("isolated", "isolated", "threshold", "unused"), ranks=None):
    """Four channels × three lags; RGS takes one lag of each channel, the others all lags of the first two."""
    rows = [
        {"output": "x", "repeat": r, "fold": f, "selector": name, "weighted": weighted, "chosen": False, "n": n}
        | {"mse": (change or (lambda *_: 0))(name, weighted, n, 5 * r + f) + error}
        for (name, weighted), errors in ERRORS.items()
        for n, error in zip(SIZES, errors, strict=True)
        for r in range(2)
        for f in range(5)
    ]
    every = [row | {"selector": "all", "mse": 5.0} for row in rows if row["n"] == 12 and row["selector"] == "sks"]
    rows += every
    names = ["rgs", "sks", "corrcoef", "random"]
    scattered = np.array([[1, 5, 6], [2, 7, 8], [3, 9, 10], [4, 11, 12]])
    stacked = np.arange(1, 13).reshape(4, 3)
    ranking = np.stack([scattered, stacked, stacked, scattered])[:, None, None, None]
    dims = ("selector", "output", "repeat", "fold", "channel", "lag")
    weights = xr.Dataset({"ranking": (dims, ranking)}, coords={"selector": names})
    session = xr.Dataset({"kind": ("channel", np.array(kinds))})
    return Comparison(pd.DataFrame(rows), weights, xr.Dataset(), session, {}, RunOptions())


def check(*comparisons, top=4):
    return check_claims(comparisons or [make_comparison()], top=top)


def test_wins_are_counted_once_there_are_enough_features():
    """At n = 2 corrcoef is better; 12 is more than half of all."""
    claim = check()[0]
    assert claim["found"] == (
        "from n = 4 to 6: corrcoef 100 %, sks 100 %; where its error is least, n = 4: corrcoef 100 %, sks 100 %"
    )
    assert claim["holds"] is True


@pytest.mark.parametrize(("size", "start"), [(4, "from n = 6 to 6: corrcoef 100 %, sks 100 %; "), (6, "")])
def test_two_lost_folds_of_ten_are_too_many(size, start):
    bad = make_comparison(lambda name, weighted, n, fold: -3.0 * (name == "sks" and n == size and fold in (2, 7)))
    claim = check(bad)[0]
    assert claim["found"].startswith(f"{start}where its error is least, n = 4: corrcoef 100 %, sks ")
    assert claim["holds"] is False, "6 is more than the 4 of interest"
    assert check(bad, top=6)[0]["holds"] is (size == 4)


def test_weights_that_win_do_not_save_a_ranking_that_loses():
    worse = make_comparison(
        lambda name, weighted, n, fold: 3.0 * (name == "rgs" and not weighted and n >= 4 and fold < 3)
    )
    claim = check(worse)[0]
    assert claim["found"].endswith("corrcoef 70 %, sks 70 %")
    assert claim["holds"] is False


def test_sessions_count_together():
    bad = make_comparison(lambda name, weighted, n, fold: -3.0 * (name == "sks" and n == 4 and fold == 2))
    assert "sks 95 %" in check(bad, make_comparison())[0]["found"]


def test_few_features_against_all():
    assert check()[1] == {
        "claim": "About 4 features of RGS beat all features",
        "published": "92 % of folds",
        "found": "100 % of folds at n = 4",
        "holds": True,
    }
    assert check(make_comparison(lambda name, *_: 2.0 * (name == "rgs")))[1]["holds"] is False


def test_weights_help_more_with_more_features():
    """A tie is no win: 0 of ten at n = 1 and 2, all ten from 4 on."""
    claim = check()[2]
    assert claim["found"].startswith("0 % at n = 1, 100 % at n = 4, 100 % at n = 12; they save −12 % of the error up")
    assert claim["found"].endswith("up to n = 1 and 40 % from n = 12")
    assert claim["holds"] is True
    worse = make_comparison(lambda name, weighted, n, fold: 9.0 * (weighted and n == 12))
    assert check(worse)[2]["holds"] is False


def test_weights_that_always_win_help_more_if_they_save_more():
    """All folds are won at every n: what grows is the share of the error that is saved."""
    always = make_comparison(lambda name, weighted, n, fold: 2.0 * (name == "rgs" and not weighted))
    assert check(always)[2]["found"].startswith("100 % at n = 1, 100 % at n = 4, 100 % at n = 12")
    assert check(always)[2]["holds"] is True
    shrinking = make_comparison(lambda name, weighted, n, fold: 40.0 / n * (name == "rgs" and not weighted))
    assert check(shrinking)[2]["found"].startswith("100 % at n = 1")
    assert check(shrinking)[2]["holds"] is False


def test_spread_over_channels():
    claim = check()[3]
    assert claim["found"] == "rgs 4 channels × 1.0 lags, sks 2 channels × 2.0 lags, corrcoef 2 channels × 2.0 lags"
    assert claim["holds"] is True


def test_isolated_units():
    """RGS: channels 0 and 1 of four; the others: 3 of channel 0 and 1 of channel 1."""
    claim = check()[4]
    assert claim["found"] == "rgs 50 %, sks 100 %, corrcoef 100 %"
    assert claim["holds"] is False
    swapped = make_comparison(kinds=("threshold", "isolated", "isolated", "isolated"))
    assert "rgs 75 %, sks 25 %" in check(swapped)[4]["found"]


def test_what_cannot_be_told_is_not_said():
    unknown = make_comparison(kinds=("", "", "", ""))
    assert check(unknown)[4]["holds"] is None
    claims = check(make_comparison(), top=100)
    assert [claim["holds"] for claim in claims[1:2] + claims[3:]] == [None, None, None]


@pytest.mark.parametrize("missing", ["rgs", "sks"])
def test_claims_need_rgs_and_a_rival(missing):
    whole = make_comparison()
    kept = {"rgs": ["sks", "corrcoef"], "sks": ["rgs", "all"]}[missing]
    scores = whole.scores[whole.scores["selector"].isin(kept)]
    part = Comparison(scores, whole.weights, whole.predictions, whole.session, {}, whole.config)
    assert check(part)[0]["holds"] is None
