"""The experiments on ORDERED-FS and FOCUS, in small; and events of reach direction where the recording is."""

from math import comb, log

import numpy as np
import pandas as pd
import pytest

from neurofs.experiments.reproduce import (
    focus,
    focus_direction,
    list_claims,
    list_experiments,
    ordered_fs,
    render,
    reproduce,
    save_figure,
)
from neurofs.ground.errors import InputError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ordered_table():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordered_fs, "FEATURES", (5, 10))
        patch.setattr(ordered_fs, "SAMPLES", (50, 100))
        patch.setattr(ordered_fs, "N_FEATURES", 5)
        yield ordered_fs.run(repetitions=2)


@pytest.fixture(scope="module")
def focus_table():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(focus, "N_FEATURES", (4, 5))
        patch.setattr(focus, "SIZES", (20, 60))
        patch.setattr(focus, "NOISY_SAMPLES", 40)
        patch.setattr(focus, "NOISY_FEATURES", 5)
        patch.setattr(focus, "_random_concepts", lambda r, seed: [[np.arange(32) % 7 % 2]])
        yield focus.run(repetitions=1)


def test_experiments_are_listed():
    lines = list_experiments()
    for name, words in {"ordered-fs": "Ng (1998)", "focus": "Almuallim", "focus-direction": "real spikes"}.items():
        assert any(line.startswith(name + " ") and words in line for line in lines.splitlines())
    assert all(module.MINUTES > 0 for module in (ordered_fs, focus, focus_direction))


# ------------------------------------------------------------------------------------------------ ORDERED-FS


@pytest.mark.parametrize("relevant", [1, 3])
def test_the_error_of_a_half_space(relevant):
    """The exact error equals the share of wrong ones among drawn samples."""
    rng = np.random.default_rng(relevant)
    u, c = ordered_fs.CONCEPTS[relevant]
    X = rng.normal(size=(100_000, 5))
    truth = X[:, : u.size] @ u + c > 0
    for w, b in ((rng.normal(size=5), 0.3), (rng.normal(size=5), -1.0), (np.eye(5)[4], 0.0), (-np.eye(5)[0], 0.5)):
        assert ordered_fs.disagreement(w, b, u, c) == pytest.approx(np.mean((X @ w + b > 0) != truth), abs=0.006)
    assert ordered_fs.disagreement(np.zeros(5), 1.0, u, c) == pytest.approx(np.mean(~truth), abs=0.006)


def test_labels_are_noisy():
    X, y, order = ordered_fs.draw(1, 5000, 4, 0)
    assert np.mean(y != (X[:, 0] + 0.2 > 0)) == pytest.approx(0.3, abs=0.02)
    assert sorted(order) == [0, 1, 2, 3]


def test_ordered_fs_in_small(ordered_table, monkeypatch, tmp_path):
    monkeypatch.setattr(ordered_fs, "FEATURES", (5, 10))
    monkeypatch.setattr(ordered_fs, "SAMPLES", (50, 100))
    monkeypatch.setattr(ordered_fs, "N_FEATURES", 5)
    assert ordered_table["error"].between(0, 1).all()
    assert set(ordered_table[ordered_table["relevant"] == 3]["method"]).isdisjoint({ordered_fs.WRAP_7})
    claims = list_claims("ordered-fs", ordered_table)
    assert [claim["published"] is None for claim in claims] == 10 * [False] + [True]
    text = render("ordered-fs", ordered_table)
    assert text.count("Figure") == 5
    assert text.count("ours: ") == 11
    assert "is 0 at β = 0.3276" in text
    assert save_figure("ordered-fs", ordered_table, tmp_path / "o.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("beta", [0.1, 0.2, 0.3])
def test_figure_7_is_below_the_bound_that_it_is_made_of(beta):
    """The bound of Gilbert and Varshamov, equation 5.3, in whole numbers."""
    f = 200
    d = round(beta * f)
    bound = log(2 ** (f - 1)) - log(sum(comb(f - 1, i) for i in range(d - 1)))
    assert bound >= f * ordered_fs.multiplier(beta) - log(2) > 0


def test_a_clear_lead_is_told_from_noise():
    errors = pd.DataFrame(
        {ordered_fs.WRAP: [0.3, 0.32, 0.31], ordered_fs.ORDERED: [0.2, 0.2, 0.2]},
        index=pd.MultiIndex.from_product([[20], range(3)]),
    )
    lead = ordered_fs._lead(errors, ordered_fs.WRAP, ordered_fs.ORDERED, 20)
    assert lead[0] == pytest.approx(0.11)
    assert ordered_fs._is_clear(lead)
    assert not ordered_fs._is_clear((0.01, 0.02))


# ----------------------------------------------------------------------------------------------------- FOCUS


def test_concepts_that_differ():
    """Every function of three features is one of the 13, or constant, up to order and negation."""
    concepts = focus.list_concepts()
    sizes = sorted(int(min(t.sum(), 8 - t.sum())) for t in concepts)
    assert len(concepts) == 13
    assert sizes == [1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4, 4, 4]


def test_the_concept_of_figure_5_needs_five_features():
    table = focus.figure_5_concept()
    for bit in range(5):
        assert (table != table[np.arange(32) ^ (1 << bit)]).any()


def test_learners_get_simple_concepts_right():
    rng = np.random.default_rng(0)
    concept = focus.Concept(np.array([0, 0, 0, 1]), 8)
    X, y, places = concept.draw(200, rng)
    Q = rng.integers(0, 2, (500, 8))
    for method in focus.LEARNERS:
        np.testing.assert_array_equal(focus.learn(method, X, y, 0)(Q), Q[:, places].all(axis=1))
    assert focus.learn("focus", X, np.ones(200), 0)(Q).all()


def test_focus_in_small(focus_table, monkeypatch, tmp_path):
    monkeypatch.setattr(focus, "N_FEATURES", (4, 5))
    monkeypatch.setattr(focus, "SIZES", (20, 60))
    claims = list_claims("focus", focus_table)
    assert claims[0]["holds"], claims[0]
    assert [claim["published"] is None for claim in claims] == 13 * [False] + [True]
    text = render("focus", focus_table)
    assert "by cross-validation" in text
    assert "/ 10,593.1" in text
    assert "n = 5" in text
    tests = focus_table[(focus_table["part"] == "table I") & (focus_table["quantity"] == "tests")]
    mean = tests.groupby("method")["value"].mean()
    assert mean["weighted-greedy"] < mean["focus-2"] < mean["focus-1"]
    assert save_figure("focus", focus_table, tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


# ----------------------------------------------------------------------------------------- reach direction


def test_without_the_recording(monkeypatch, tmp_path):
    monkeypatch.setenv("NEUROFS_SHARED_DATA", str(tmp_path))
    with pytest.raises(InputError, match="chewie"):
        reproduce("focus-direction")


@pytest.mark.shared_data
def test_events_of_reach_direction(shared_data, monkeypatch, tmp_path):
    monkeypatch.setenv("NEUROFS_SHARED_DATA", str(shared_data))
    table, text = reproduce("focus-direction", repetitions=1)
    events = table[table["target"] == "direction"].set_index(["method", "tolerance"])["events"]
    for tolerance in focus_direction.EXACT_TOLERANCES:
        assert events["focus-2 of 30", tolerance] <= events["mi-greedy", tolerance]
    assert "dealt anew" in text
    claims = list_claims("focus-direction", table)
    assert [claim["published"] for claim in claims] == [None] * 6
    figure = save_figure("focus-direction", table, tmp_path / "d.png")
    assert figure.read_bytes().startswith(b"\x89PNG")
