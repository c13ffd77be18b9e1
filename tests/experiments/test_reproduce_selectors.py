"""The experiments on exclusive or and on peaking, in small; and reach direction where the recording is."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import norm

from neurofs.commands.main import main
from neurofs.experiments.reproduce import direction, list_claims, margins, peaking, render, save_figure, xor

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def xor_table():
    return xor.run(repetitions=2, direction=False)


@pytest.fixture(scope="module")
def peaking_table():
    return peaking.run(repetitions=8)


def test_xor_claims_hold(xor_table):
    claims = list_claims("xor", xor_table)
    assert len(claims) == 6
    assert all(claim["holds"] for claim in claims), claims
    text = render("xor", xor_table)
    assert "skipped, no chewie" in text
    assert text.count("holds") == 6


def test_the_path_begins_alike_and_ends_at_the_truth(xor_table):
    path = xor_table[(xor_table["part"] == "path") & (xor_table["quantity"] == "angle")]
    mean = path.groupby(["x", "method"])["value"].mean().unstack()
    assert mean.loc[0, "simba"] == mean.loc[0, "relief"] == pytest.approx(xor.angle(np.ones(10)))
    assert mean.loc[1000, "simba"] < 0.1
    assert xor.angle(np.array([1.0, 1, 1, 0, 0])) == pytest.approx(0, abs=1e-7)


def test_peaking_claims_hold(peaking_table):
    claims = list_claims("peaking", peaking_table)
    assert len(claims) == 13
    assert all(claim["holds"] for claim in claims[:11]), claims
    assert "(c) 1/√j" in render("peaking", peaking_table)


def test_a_kernel_of_degree_1_is_a_linear_machine():
    errors = np.mean([peaking.poly_errors(20, 1.0, np.random.default_rng(r)) for r in range(20)], axis=0)
    assert errors.shape == (2, len(peaking.DEGREES))
    assert errors[0, 0] == pytest.approx(norm.cdf(-1), abs=0.03)  # one feature: the threshold is near 0
    assert errors[1, -1] > errors[1, 0]


def test_errors_against_drawn_samples():
    """The exact error of a classifier equals its rate of errors on drawn samples."""
    rng = np.random.default_rng(0)
    mu = peaking.CHOICES["b"][1](20)
    X, y = peaking.draw(mu, 40, rng)
    Q, truth = peaking.draw(mu, 40_000, rng)
    from sklearn.svm import LinearSVC

    scale = 1 / X.std(axis=0)
    model = LinearSVC(C=peaking.SVM_C, loss="hinge", fit_intercept=False, random_state=0).fit(X * scale, y)
    wrong = np.mean(model.predict(Q * scale) != truth)
    assert peaking.svm_error(X, y, mu, scale) == pytest.approx(wrong, abs=0.01)
    estimate = (y[:, None] * X).mean(axis=0)
    exact = norm.cdf(-(estimate @ mu) / np.linalg.norm(estimate))
    assert np.mean(np.sign(Q @ estimate) != truth) == pytest.approx(exact, abs=0.01)
    mean = peaking.true_errors(mu, 40, 4000, rng)[:, -1].mean()
    assert mean == pytest.approx(norm.cdf(-peaking.f(mu, 40)[-1]), abs=0.01)


def test_the_best_n_is_the_least_error():
    mu = peaking.CHOICES["c"][1](500)
    assert peaking.best_n(mu, 16) == 1 + np.argmin(norm.cdf(-peaking.f(mu, 16)))


@pytest.mark.parametrize("name", ["xor", "peaking"])
def test_figures(name, request, tmp_path):
    table = request.getfixturevalue(f"{name}_table")
    path = save_figure(name, table, tmp_path / "figure.png")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_command_line(monkeypatch, tmp_path, xor_table):
    monkeypatch.setattr(xor, "run", lambda **options: xor_table)
    figure = tmp_path / "xor.png"
    result = CliRunner().invoke(main, ["reproduce", "xor", "--figure", str(figure)])
    assert result.exit_code == 0, result.output
    assert f"figure: {figure}" in result.output
    assert figure.exists()
    listed = CliRunner().invoke(main, ["reproduce", "--list"]).output
    assert "peaking" in listed
    assert "xor" in listed


def test_selectors_are_listed():
    result = CliRunner().invoke(main, ["list", "selectors"])
    assert result.exit_code == 0
    assert "gflip" in result.output
    assert CliRunner().invoke(main, ["list", "selectors", "--json"]).output.startswith("[")


@pytest.mark.shared_data
def test_reach_direction(shared_data, monkeypatch):
    """One fold with quick methods: far above chance, and rendered."""
    quick = ["simba, linear", "relief", "relieff", "infogain", "random"]
    monkeypatch.setattr(direction, "METHODS", {name: direction.METHODS[name] for name in quick})
    monkeypatch.setattr(direction, "MARGINS", quick[:3])
    found = next(direction.decode_direction(shared_data / "chewie_20131003_m1.npz", seed=0))
    table = pd.DataFrame(
        [("direction", method, 0, n, what, value) for method, n, what, value in found], columns=xor.COLUMNS
    )
    (claim,) = direction.check_direction(table)
    assert claim["holds"], claim
    text = "\n".join(direction.tabulate_direction(table))
    assert "linear SVM, all features" in text
    soft = table[(table["quantity"] == "soft kNN") & (table["x"] == 50)].set_index("method")["value"]
    assert soft["random"] < soft["relief"]


# ------------------------------------------------------------------------------------------------ margins


@pytest.fixture(scope="module")
def margins_table():
    return margins.run(repetitions=1, madelon=False)


def test_margins_in_small(margins_table, tmp_path):
    claims = list_claims("margins", margins_table)
    assert len(claims) == 10
    holds = {claim["claim"]: claim["holds"] for claim in claims}
    assert holds["G-flip ends after less than 20 passes, mostly less than 10"]
    assert "g-flip, zero-one" in render("margins", margins_table)
    assert save_figure("margins", margins_table, tmp_path / "margins.png").stat().st_size > 10_000
    last = margins_table[(margins_table["x"] == 64) & (margins_table["quantity"] == "1-NN")]["value"]
    assert last.nunique() == 1  # all pixels, in whatever order


def test_claims_of_margins_follow_the_table(margins_table):
    worse = margins_table.copy()
    worse.loc[(worse["method"] == "simba, linear") & (worse["quantity"] == "1-NN"), "value"] = 0.1
    holds = {claim["claim"]: claim["holds"] for claim in list_claims("margins", worse)}
    assert not any(value for claim, value in holds.items() if claim.startswith("Simba (linear)"))


def test_madelon_is_drawn_as_its_generator_does():
    trial = margins.draw_madelon(0, 2.0)
    assert trial.X.shape == (2000, 500)
    assert trial.Q.shape == (1800, 500)
    assert abs(np.linalg.matrix_rank(trial.X[:, :20], tol=1e-6 * np.abs(trial.X).max() * 2000)) == 5
    assert 0.45 < trial.y.mean() < 0.55
