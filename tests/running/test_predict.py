"""neurofs fit and neurofs predict, as a user calls them."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from click.testing import CliRunner
from pynwb import NWBHDF5IO

import neurofs
from neurofs.commands.main import main
from neurofs.comparison.other_day import find_truth, score_session
from neurofs.ground.errors import UsageError
from neurofs.recordings.recording import Series
from neurofs.recordings.simulate import simulate_session
from neurofs.running.predicting import predict_sessions, tabulate


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two days and a model of the first."""
    place = tmp_path_factory.mktemp("days")
    for day in (1, 2):
        neurofs.write(simulate_session(12, n_electrodes=2, random_state=day), place / f"day{day}.nwb")
    (place / "run").mkdir()
    (place / "run" / "run.toml").write_text("")
    found = run("fit", place / "day1.nwb", "--target", "hand_velocity", "--decoder", "ridge", "--n-lags", 3, "-j", 1,
                "--out", place / "model", "-q")  # fmt: skip
    assert found.exit_code == 0, found.output
    return place


def test_predictions_are_the_same_in_all_formats(folder, tmp_path):
    found = run("predict", folder / "model", folder / "day2.nwb", "--out", tmp_path, "--format", "csv,netcdf,nwb")
    assert found.exit_code == 0, found.output
    expected = neurofs.read_model(folder / "model").predict(neurofs.load(folder / "day2.nwb"))
    page = (tmp_path / "report.html").read_text()
    assert "day2" in page
    assert page.count('class="panel ') == 2
    assert "hand_velocity:y, decoded and true, 0 to " in page
    table = pd.read_csv(tmp_path / "day2.csv")
    for name, ending in {"predicted": "", "low": " low", "high": " high"}.items():
        columns = table[[f"hand_velocity:x{ending}", f"hand_velocity:y{ending}"]]
        np.testing.assert_allclose(columns, expected[name])
    with xr.open_dataset(tmp_path / "day2.nc", engine="h5netcdf") as stored:
        np.testing.assert_array_equal(stored["predicted"], expected["predicted"])
        assert stored["unit"].values.tolist() == ["cm/s", "cm/s"]
    with NWBHDF5IO(tmp_path / "day2.nwb", "r") as io:
        series = io.read().processing["behavior"]["decoded"]
        assert type(series).__name__ == "TimeSeries"
        np.testing.assert_allclose(series.data[:], expected["predicted"], rtol=1e-6)
        np.testing.assert_allclose(series.timestamps[:], expected["time"] + 0.05)
        assert series.unit == "cm/s"


def test_scores_are_those_of_the_definition(folder):
    model, day = neurofs.read_model(folder / "model"), neurofs.load(folder / "day2.nwb")
    found = model.predict(day)
    score = score_session(model, day, found)
    tensor = neurofs.build_tensor(day, "hand_velocity", bin_width=0.1, n_lags=3)
    truth = tensor["target"].sel(time=found["time"]).values
    r2 = 1 - ((truth - found["predicted"].values) ** 2).sum(axis=0) / ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)
    np.testing.assert_allclose([one.score.mean for one in score.outputs], r2)
    assert all(one.score.low < one.score.mean < one.score.high for one in score.outputs)
    inside = (found["low"].values <= truth) & (truth <= found["high"].values)
    np.testing.assert_allclose([one.coverage for one in score.outputs], inside.mean(axis=0))


def test_sessions_that_train_one_model_are_alike_and_there_once(folder, tmp_path):
    (tmp_path / "other.toml").write_text(f'file = "{(folder / "day2.nwb").as_posix()}"\nbin_width = 0.05\n')
    (tmp_path / "part.toml").write_text(f'file = "{(folder / "day1.nwb").as_posix()}"\nto_time = 20\n')
    (tmp_path / "all.toml").write_text(f'file = "{(folder / "day?.nwb").as_posix()}"\n')
    fit = ["--target", "hand_velocity", "--decoder", "ridge", "--no-cross-validate", "--n-lags", 3]
    found = run("fit", folder / "day1.nwb", tmp_path / "other.toml", *fit, "-o", tmp_path / "a")
    assert found.exit_code == 2
    assert "expected the bin_width of the first session, 'auto'; found '0.05'" in found.stderr
    found = run("fit", folder / "day1.nwb", folder / "day1.nwb", *fit, "-o", tmp_path / "b")
    assert found.exit_code == 2
    assert "day1 and day1: the same data twice" in found.stderr
    found = run("fit", folder / "day1.nwb", tmp_path / "part.toml", *fit, "-o", tmp_path / "c")
    assert "warning: " in found.stdout
    assert "bins are copies of others" in found.stdout
    assert "warning: " in run("predict", tmp_path / "c", folder / "day2.nwb").stdout
    assert "of day1, day2: " in run("fit", tmp_path / "all.toml", *fit, "-o", tmp_path / "d").stdout


def test_a_session_that_fails_does_not_stop_the_others(folder, tmp_path):
    (tmp_path / "broken.nwb").write_text("nothing")
    found = run("predict", folder / "model", tmp_path / "broken.nwb", folder / "day2.nwb", "--json")
    assert found.exit_code == 1
    sessions = json.loads(found.stdout)["sessions"]
    assert [bool(one["error"]) for one in sessions] == [True, False]
    assert sessions[1]["score"]["outputs"][0]["score"]["mean"] is not None
    alone = run("predict", folder / "model", tmp_path / "broken.nwb")
    assert alone.exit_code == 2
    assert len(alone.output.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["fit", "day1.nwb", "--target", "hand_velocity", "--decoder", "magic", "-o", "m"], "no decoder named 'magic'"),
        (["fit", "day1.nwb", "--target", "hand_velocity", "-o", "model"], "a model is there"),
        (["fit", "day1.nwb", "--method", "rgs", "-o", "m"], "--method is for the folder of a finished run"),
        (["fit", "run", "-o", "m"], "no summary.json"),
        (["fit", "run", "--n-lags", "3", "-o", "m"], "--n-lags has no meaning for a finished run"),
        (["predict", "day1.nwb", "day2.nwb"], "expected a model folder"),
        (["predict", "model", "day2.nwb", "--format", "xml"], "--format: expected some of csv, netcdf, nwb"),
        (["predict", "model", "day1.nwb", "day2.nwb", "-o", "a.csv"], "names one file"),
        (["predict", "model", "day2.nwb", "--channels", "1a"], "lacks 7 of the 8 channels"),
        (["predict", "model", "missing.nwb"], "missing.nwb: expected a file"),
    ],
)
def test_wrong_usage_is_one_line(folder, monkeypatch, arguments, line):
    monkeypatch.chdir(folder)
    found = run(*arguments)
    assert found.exit_code == 2, found.output
    assert line in found.output
    assert len(found.output.splitlines()) == 1
    assert not (folder / "m").exists()


def test_a_part_that_the_model_has_not_seen_is_told_from_one_that_it_has(folder, tmp_path):
    fit = ["fit", folder / "day1.nwb", "--target", "hand_velocity", "--decoder", "ridge", "--no-cross-validate", "-q"]
    assert run(*fit, "--to", 20, "--out", tmp_path / "half").exit_code == 0
    apart = run("predict", tmp_path / "half", folder / "day1.nwb", "--from", 20).output
    assert "s, and not to what is decoded" in apart, apart
    assert "tell nothing" in run("predict", tmp_path / "half", folder / "day1.nwb", "--from", 10).output


def test_nothing_that_is_read_or_there_is_replaced(folder, tmp_path):
    day = tmp_path / "day2.nwb"
    content = (folder / "day2.nwb").read_bytes()
    day.write_bytes(content)
    for out in ([day], [tmp_path, "--format", "nwb"], [tmp_path / "." / "day2.nwb", "--overwrite"]):
        found = run("predict", folder / "model", day, "--out", *out)
        assert found.exit_code == 2
        assert "is read, and would be replaced by the result" in found.output
        assert day.read_bytes() == content
    (tmp_path / "day2.csv").write_text("mine")
    assert "a file is there; choose another --out" in run("predict", folder / "model", day, "-o", tmp_path).output
    assert (tmp_path / "day2.csv").read_text() == "mine"
    assert not (tmp_path / "report.html").exists()
    assert run("predict", folder / "model", day, "-o", tmp_path, "--overwrite").exit_code == 0
    assert (tmp_path / "day2.csv").read_text().startswith("time,")


def test_a_target_in_other_units_is_not_scored(folder):
    model, day = neurofs.read_model(folder / "model"), neurofs.load(folder / "day2.nwb")
    hand = day.behavior["hand_velocity"]
    other = replace(day, behavior={"hand_velocity": replace(hand, values=hand.values / 100, unit="m/s")})
    (found,) = predict_sessions(model, [("day2", lambda: other)], [[]])
    assert found.score is None
    assert found.notes == ["not scored: the target has the units m/s, m/s, and the model cm/s, cm/s"]


def test_the_page_of_predictions_fits_a_phone_and_names_what_failed(folder, tmp_path, open_page):
    (tmp_path / "broken.nwb").write_text("nothing")
    found = run("predict", folder / "model", folder / "day2.nwb", tmp_path / "broken.nwb", "-o", tmp_path / "out")
    assert found.exit_code == 1
    page = open_page(tmp_path / "out" / "report.html", width=400, scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    assert page.locator("#scores-table tbody tr").count() == 2
    assert page.locator("#day0 .panel svg").count() == 2
    assert "broken.nwb: expected" in page.locator("#day1").text_content()
    colors = page.evaluate("[document.body, document.querySelector('.panel text')].map(e => getComputedStyle(e))"
                           ".map(s => [s.backgroundColor, s.fill])")  # fmt: skip
    assert colors[0][0] == "rgb(21, 24, 27)"
    assert colors[1][1] == "rgb(230, 233, 236)"


def test_angles_are_written_in_degrees(folder, tmp_path):
    day = neurofs.load(folder / "day1.nwb")
    hand = day.behavior["hand_velocity"]
    head = Series("head", hand.time, np.arctan2(hand.values[:, 1], hand.values[:, 0]), (), "rad", circular=True)
    model = neurofs.fit(replace(day, behavior={"head": head}), "head", decoder="ridge", n_lags=3, cross_validate=False)
    table = tabulate(model.predict(day))
    x, y = (np.cos(np.deg2rad(table["head (deg)"])), np.sin(np.deg2rad(table["head (deg)"])))
    length = np.hypot(table["cos(head)"], table["sin(head)"])
    found = model.predict(day)
    truth = find_truth(model, replace(day, behavior={"head": head}), found)[0]
    true = tabulate(found.assign(target=(("time", "output"), truth)))["head target (deg)"]
    np.testing.assert_allclose(np.exp(1j * np.deg2rad(true)), (truth @ [1, 1j]) / np.abs(truth @ [1, 1j]), atol=1e-9)
    np.testing.assert_allclose([table["cos(head)"], table["sin(head)"]], [x * length, y * length], atol=1e-9)
    assert len(str(table["time"][7])) <= 4


def test_classes_are_written_by_name(folder, tmp_path):
    model = neurofs.fit(neurofs.load(folder / "day1.nwb"), "direction", decoder="naive-bayes", n_lags=3, n_splits=3)
    model.save(tmp_path / "model")
    found = run("predict", tmp_path / "model", folder / "day1.nwb", "-o", tmp_path / "day1.csv")
    assert found.exit_code == 0, found.output
    table = pd.read_csv(tmp_path / "day1.csv", dtype=str)
    assert set(table["direction"]) <= set(model.head.classes)
    assert "accuracy" in found.output
    assert "the model was fitted to this file, 0.2 to " in found.output
    assert "s: scores of what it has seen tell nothing" in found.output


def test_what_is_no_recording_and_no_way_to_replace_channels_is_said(folder):
    model = neurofs.read_model(folder / "model")
    with pytest.raises(UsageError, match=r"predict: expected a Recording; found str\. Read one with neurofs\.load"):
        model.predict("day2.nwb")
    with pytest.raises(UsageError, match="missing: expected one of refuse, zero, mean; found 'none'"):
        model.predict(neurofs.load(folder / "day2.nwb"), missing="none")
