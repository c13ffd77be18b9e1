"""What is decoded and what is lost, in words."""

import pytest

from neurofs.comparison.amount import describe_amount, tell_edges, warn_of_losses
from neurofs.comparison.summary import Dropped, Output, SessionFacts


def facts(n_samples=1322, n_trials=159, n_recorded=159, n_lags=3, **dropped):
    """Return facts of a session of short trials."""
    return SessionFacts(
        name="s",
        source=None,
        source_hash=None,
        duration=164.0,
        span=(0.0, 164.0),
        n_channels=2,
        n_lags=n_lags,
        bin_width=0.1,
        first_lag=0,
        n_samples=n_samples,
        n_trials=n_trials,
        n_trials_recorded=n_recorded,
        n_gaps=0,
        kind="trials" if n_trials else "blocks",
        outputs=[Output(name="v", unit="")],
        classes=[],
        dropped=Dropped(**{"window": 0, "target": 0, "period": 0, "step": 0, **dropped}),
        notes=[],
        warnings=[],
    )


def test_one_line_says_what_is_decoded_and_what_is_not():
    assert describe_amount(facts(window=318), "chosen for trials of 1 s") == (
        "100 ms bins × 3 lags (chosen for trials of 1 s); decodes 1,322 samples of 159 trials, 2.2 min; "
        "dropped 318 bins: 318 at the edge of trials, where no window of 0.3 s fits"
    )
    assert describe_amount(facts(600, 0, 0, 1)) == "100 ms bins × 1 lag; decodes 600 samples, 1.0 min"
    line = describe_amount(facts(600, 90, 100, outside=5, target=7, step=9))
    assert "600 samples of 90 of 100 trials" in line
    assert line.endswith("dropped 21 bins: 5 outside of trials, 7 without a target, 9 between steps")


@pytest.mark.parametrize(
    ("changed", "n_warnings"),
    [
        ({"target": 146}, 0),
        ({"target": 147}, 1),
        ({"window": 1322}, 0),
        ({"window": 1323}, 1),
        ({"window": 1200, "target": 130}, 1),
        ({"outside": 9999, "period": 9999, "step": 9999}, 0),
        ({"n_trials": 144}, 0),
        ({"n_trials": 143}, 1),
        ({"n_trials": 143, "period": 1}, 0),
        ({"n_trials": 143, "window": 1500}, 2),
        ({"n_trials": 0, "n_recorded": 100}, 0),
    ],
)
def test_much_that_is_lost_is_worth_a_warning(changed, n_warnings):
    assert len(list(warn_of_losses(facts(**changed)))) == n_warnings


def test_the_warning_says_why_and_what_to_do():
    (warning,) = warn_of_losses(facts(window=1431, n_samples=209, n_lags=10))
    assert warning == (
        "1,431 of 1,640 bins (87 %) are not decoded: 1,431 lie at the edge of trials, where no window of 1 s fits. "
        "Fewer lags keep more: --n-lags 5"
    )
    (warning,) = warn_of_losses(facts(target=1322))
    assert warning == "1,322 of 2,644 bins (50 %) are not decoded: 1,322 lack the target"
    (warning,) = warn_of_losses(facts(target=1000, window=20))
    assert warning.endswith("1,000 lack the target, 20 lie at the edge of trials, where no window of 0.3 s fits")


def test_what_every_window_costs_is_told():
    assert tell_edges(facts(window=318)) == "19 % of bins, at the edge of trials, are not decoded"
    assert tell_edges(facts(window=100)) == ""
