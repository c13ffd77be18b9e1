"""EBFS, meta-features and transfer in small; all experiments in one go, and the page of their claims."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner

from neurofs.commands.main import main
from neurofs.experiments.reproduce import (
    EXPERIMENTS,
    count_repetitions,
    ebfs,
    find_experiment,
    index as index_of_all,
    list_claims,
    meta_features,
    render,
    save_figure,
    transfer as transfer_days,
)
from neurofs.experiments.reproduce.claims import make_claim, render_claims
from neurofs.experiments.reproduce.index import Outcome, render_page, run_all
from neurofs.ground.errors import UsageError
from neurofs.running.executors import Serial
from neurofs.selectors.filters import InfoGain

pytestmark = pytest.mark.slow

OURS = {"guided-channels", "dependency", "20-of-640", "validity", "focus-direction", "significance", "across-days"}

# ---------------------------------------------------------------------------------------- the experiments


def check_parts(name, table, n_claims, tmp_path):
    """Every experiment has text, claims in one form, and a figure."""
    claims = list_claims(name, table)
    assert len(claims) == n_claims
    for claim in claims:
        assert set(claim) == {"claim", "published", "ours", "holds"}
        assert isinstance(claim["holds"], bool)
        assert "nan" not in claim["ours"]
    assert render(name, table).count("published: ") == sum(claim["published"] is not None for claim in claims)
    assert render(name, table).count("ours: ") == n_claims
    assert save_figure(name, table, tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    return claims


def test_myd_sets_are_as_defined():
    X, y = ebfs.draw(0, seed=3, m=4000)
    for a, b, _, d, e, _, label in np.column_stack([X, y])[:500]:
        assert e == (1 if 1 in (a, b) else 0 if a == b else 2)
        assert label == ({d, e} == {0, 2})
    assert np.mean(X[:, 2] == y) == pytest.approx(0.75 + 0.25 / 3, abs=0.02)
    noisy, same = ebfs.draw(50, seed=3, m=4000)
    assert (noisy == X)[:, [0, 1, 2, 3, 5]].all(), "derived from Myd60: only e changes"
    assert same.tolist() == y.tolist()
    clean = np.where((noisy[:, 0] == 1) | (noisy[:, 1] == 1), 1, np.where(noisy[:, 0] == noisy[:, 1], 0, 2))
    assert np.mean(noisy[:, 4] != clean) == pytest.approx(0.5 * 2 / 3, abs=0.02)
    assert ((noisy[:, 3] + clean == 2) & (noisy[:, 3] != 1)).astype(int).tolist() == same.tolist()


def test_ebfs_in_small(monkeypatch, tmp_path):
    monkeypatch.setattr(ebfs, "FOLDS", {"myd": (2, 3), "real": (2, 2)})
    table = ebfs.run(repetitions=1, sets=("iris",))
    claims = check_parts("ebfs", table, 12, tmp_path)
    assert "myd62" in claims[0]["ours"]
    error = table[(table["quantity"] == "error") & (table["part"] == "myd")]
    assert error["value"].mean() < 0.15
    X, _ = ebfs.load_set("iris100", 0)
    assert X.shape == (150, 104)
    assert set(np.unique(X[:, 4:])) == {0, 1, 2}
    chosen, n_trees = ebfs.select("wrapper", *ebfs.load_set("iris", 0), cv=3, seed=0)
    assert n_trees >= 3 * (1 + 4)
    assert len(chosen) <= 4
    chosen, n_trees = ebfs.select("ReliefD", *ebfs.load_set("iris100", 0), cv=3, seed=0)
    assert n_trees == 0
    assert len(chosen) < 80, "the threshold removes random features"
    assert {0, 1, 2, 3} & set(chosen)
    assert ebfs.make_tree("EBFS, pruned", 0).confidence == 0.25
    assert {"ID3", "FRINGE"} <= set(table["method"])


def test_meta_features_in_small(tmp_path):
    table = meta_features.run(repetitions=3)
    check_parts("meta-features", table, 6, tmp_path)
    few = table[(table["figure"] == "5.7") & (table["method"] == "infogain")].groupby("x")["value"].mean()
    assert few[1000] > 0.98 > few[10]
    top = table[table["figure"] == "5.2"].groupby(["method", "x"])["value"].mean()
    assert top["predicted", 32] == pytest.approx(top["random", 32], abs=0.01)  # all pixels, in any order
    assert top["infogain", 8] < top["random", 8]


def test_infogain_of_pixels_that_are_mostly_on():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 2)) < [0.4, 0.7]).astype(int)
    y = X[:, 1] ^ (rng.random(300) < 0.1)
    found = meta_features.infogain(X, y)
    assert found[1] > 0.3 > 0.05 > found[0]
    sparse = meta_features.infogain(X[:, :1], y)  # a median of 0: the same as the selector's
    np.testing.assert_allclose(sparse, InfoGain().fit(X[:, :1], y).weights_)


def test_transfer_in_small(tmp_path):
    table = transfer_days.run(repetitions=2, n_trials=15)
    claims = check_parts("transfer", table, 5, tmp_path)
    assert claims[0]["holds"], claims[0]
    assert set(table[table["part"] == "agreement"]["x"]) == {1, 2, 4, 7}


# ------------------------------------------------------------------------------------------ all in one go


def test_every_experiment_tells_its_time_and_repetitions():
    listed = CliRunner().invoke(main, ["reproduce", "--list"]).output
    for name in EXPERIMENTS:
        module = find_experiment(name)
        assert 0 < module.MINUTES < 45
        assert callable(module.claims)
        assert callable(module.plot)
        assert count_repetitions(name) >= 1
        whose = "our own" if name in OURS else "published"
        assert re.search(rf"^{re.escape(name)} +{module.MINUTES} min  {whose} +\w", listed, flags=re.M)
    as_json = json.loads(CliRunner().invoke(main, ["list", "experiments", "--json"]).output)
    assert {e["name"] for e in as_json if e["ours"]} == OURS
    assert sum(find_experiment(name).MINUTES for name in EXPERIMENTS) < 90  # under 45 minutes on two cores
    with pytest.raises(UsageError, match="or all"):
        find_experiment("nothing")


def test_claims_of_our_own_are_told_apart():
    claims = [
        make_claim("a", None, "1", True),
        make_claim("b", "figure 1", "2", False),
        make_claim("c", None, "3", False),
    ]
    lines = render_claims(claims)
    assert [line.strip() for line in lines] == [
        *("Published claims", "does not hold  b", "published: figure 1", "ours: 2"),
        *("Our own claims", "holds          a", "ours: 1", "does not hold  c", "ours: 3"),
    ]
    assert render_claims(claims[:1])[0] == "Our own claims"
    ours = Outcome("validity", "t", 3, 1.0, claims=claims, ours=True)
    text = render_page([ours, Outcome("xor", "t", 3, 1.0)], seed=0)
    assert "0 of 1 published claims hold. 1 of 2 our own claims hold." in text
    assert text.count("<td>our own</td>") == 2
    assert text.count("<td>published</td>") == 1
    assert text.count("Our own experiment, not published.") == 1


class Page(HTMLParser):
    """What a browser would fetch or run, and the text."""

    def __init__(self, page):
        super().__init__()
        self.links, self.tags, self.words = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for key, value in attrs if key in ("src", "href")]

    def handle_data(self, data):
        self.words.append(data)


def test_the_page_is_whole_and_escaped(tmp_path):
    figure = tmp_path / "a.png"
    figure.write_bytes(b"\x89PNG")
    evil = "<script>alert(1)</script>"
    claim = {"claim": evil, "published": "50 < 60 & more", "ours": evil, "holds": False}
    outcomes = [
        Outcome("xor", evil, 3, 1.0, tables=evil, claims=[claim, {**claim, "holds": True}], figure=figure),
        Outcome("peaking", "t", 200, 2.0, error=evil),
        Outcome("ebfs", "t", 1, 2.0, tables="no claims here"),
    ]
    text = render_page(outcomes, seed=7)
    page = Page(text)
    assert page.tags.count("script") == 1, "the page's own"
    assert "1 of 2 published claims hold" in text
    assert "Failed: peaking." in "".join(page.words)
    assert "prefers-color-scheme: dark" in text
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in page.links)
    assert "".join(page.words).count(evil) == 7  # title, text and error once, four cells
    assert page.tags.count("img") == 1


def test_a_failing_experiment_stops_no_other(tmp_path, monkeypatch):
    monkeypatch.setenv("NEUROFS_SHARED_DATA", str(tmp_path / "nothing"))
    said = []
    outcomes = run_all(
        tmp_path / "out", jobs=2, repetitions=4, names=("stevenson-prefixes", "peaking"), report=said.append
    )
    assert [bool(outcome.error) for outcome in outcomes] == [True, False]
    assert "stevenson2011_m1.mat" in outcomes[0].error
    assert len(outcomes[1].claims) == 13
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "index.html",
        "peaking.csv",
        "peaking.png",
        "peaking.txt",
    ]
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "Failed: " in page
    assert "Repetitions: 4 instead of 200." in page
    assert page.count("all are best though") == 1, "in the table of claims, not again in the text"
    assert len(said) == 2
    with pytest.raises(UsageError, match="jobs"):
        run_all(tmp_path, jobs=0)


def test_an_interrupt_ends_the_experiments_that_run(tmp_path, monkeypatch):
    """One that would run for hours is running, or starting, when the other is done and Ctrl-C comes."""
    monkeypatch.setenv("NEUROFS_SHARED_DATA", str(tmp_path / "nothing"))

    def interrupt(line):
        raise KeyboardInterrupt

    names = ("navot2005-fig2", "stevenson-prefixes")
    with pytest.raises(KeyboardInterrupt):
        run_all(tmp_path / "out", jobs=2, repetitions=10**7, names=names, report=interrupt)
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("fails", [True, False])
def test_the_command_for_all(fails, tmp_path, monkeypatch):
    def outcome(settings, name):
        if fails and name == "xor":
            raise ValueError("broken")
        return Outcome(name, "t", 1, 0.1, tables=f"table of {name}")

    monkeypatch.setattr(index_of_all, "_run_one", outcome)
    monkeypatch.setattr(index_of_all, "Processes", lambda jobs: Serial())
    result = CliRunner().invoke(main, ["reproduce", "all", "--out", str(tmp_path / "r"), "--jobs", "2"])
    assert result.exit_code == (1 if fails else 0)
    assert result.stdout.count("table of") == len(EXPERIMENTS) - fails
    assert ("failed: ValueError: broken" in result.stdout) == fails
    assert f"report: {tmp_path / 'r' / 'index.html'}" in result.stdout
    assert "ebfs: done" in result.stderr
    as_json = CliRunner().invoke(main, ["reproduce", "all", "--out", str(tmp_path / "r"), "--json"])
    assert len(json.loads(as_json.stdout)["experiments"]) == len(EXPERIMENTS)
    wrong = CliRunner().invoke(main, ["reproduce", "all", "--figure", "x.png"])
    assert wrong.exit_code == 2
    (tmp_path / "file").touch()
    wrong = CliRunner().invoke(main, ["reproduce", "all", "--out", str(tmp_path / "file")])
    assert wrong.exit_code == 2
    assert "a folder that can be written" in wrong.stderr


def test_one_experiment_as_json(tmp_path):
    arguments = ["reproduce", "peaking", "--repetitions", "4", "--json", "--figure", str(tmp_path / "p.png")]
    record = json.loads(CliRunner().invoke(main, arguments).stdout)
    assert record["name"] == "peaking"
    assert len(record["claims"]) == 13
    assert record["figure"] == str(tmp_path / "p.png")
