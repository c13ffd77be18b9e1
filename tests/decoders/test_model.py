"""Models: what is read is what was saved, byte for byte, in another process; and it predicts as the comparison did."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

import neurofs
from neurofs.comparison.evaluate import fit_method, run_task, take_all
from neurofs.comparison.names import name_alone
from neurofs.comparison.problem import Task, list_tasks
from neurofs.decoders import DECODERS
from neurofs.decoders.model_folder import read_model
from neurofs.features.tensor import build_tensor
from neurofs.ground.config import RunOptions
from neurofs.ground.errors import InputError, UsageError
from neurofs.pipeline import prepare
from neurofs.recordings.choose import choose_part
from neurofs.recordings.simulate import simulate_session
from neurofs.running.fitting import fit_run
from neurofs.running.session import decode

PREDICT = """
import sys
import numpy as np
import neurofs
from neurofs.recordings.simulate import simulate_session
session = simulate_session(14, n_electrodes=2, random_state=2)
for folder in sys.argv[1:]:
    found = neurofs.read_model(folder).predict(session)
    values = [found[name].values.tobytes() for name in ("predicted", "low", "high") if name in found]
    np.save(folder + "/answer.npy", np.frombuffer(b"".join(values), np.uint8))
"""


@pytest.fixture(scope="module")
def days():
    return [simulate_session(14, n_electrodes=2, random_state=seed) for seed in (1, 2)]


@pytest.fixture(scope="module")
def models(days):
    """Every decoder of neurofs, fitted to a small session."""
    found = {}
    for name, kind in DECODERS.own.items():
        target = "direction" if kind.target == "classes" else "hand_velocity"
        found[name] = neurofs.fit(days[0], target, decoder=name, selector=None if name != "auto" else "corrcoef",
                                  cross_validate=False, n_lags=3)  # fmt: skip
    return found


def test_every_decoder_predicts_the_same_bytes_in_another_process(models, days, tmp_path):
    folders = {name: model.save(tmp_path / name) for name, model in models.items()}
    subprocess.run([sys.executable, "-c", PREDICT, *map(str, folders.values())], check=True)
    for name, model in models.items():
        found = model.predict(days[1])
        values = [found[key].values.tobytes() for key in ("predicted", "low", "high") if key in found]
        assert np.load(folders[name] / "answer.npy").tobytes() == b"".join(values), name
        assert np.isfinite(found["predicted"]).all(), name


def test_no_file_of_a_model_is_a_pickle(models, tmp_path):
    folder = models["auto"].save(tmp_path / "auto")
    names = {path.relative_to(folder).parts[0] for path in folder.rglob("*")}
    assert names == {"model.json", "arrays"}
    for path in (folder / "arrays").iterdir():
        np.load(path, allow_pickle=False)
    json.loads((folder / "model.json").read_text())


FOLD_OPTIONS = {"target": "hand_velocity", "n_lags": 3, "n_splits": 3, "selectors": ("rgs", "corrcoef")}


def check_fold(problem):
    """Compare what decode writes for a fold with what methods fitted to the same rows predict; return their names."""
    fold, seen = problem.folds[1], set()
    for task in [t for t in list_tasks(problem) if t.fold == 1 and t.method not in ("random", "all")]:
        for method, wrote in run_task(problem, task).predicted.items():
            decoder = fit_method(problem, method, task, take_all(problem, task)[fold.train])
            found = decoder.predict(problem.samples[fold.test])
            found = found.argmax(axis=1) if problem.classes else found
            if method == task.method and task.output >= 0:  # soft kNN of a curve adds up distances in another order
                np.testing.assert_allclose(found, wrote, rtol=1e-4, atol=1e-4)
            else:
                assert np.array_equal(found.astype(np.float32).reshape(wrote.shape), wrote), method
            seen.add(method)
    return seen


def test_a_method_fitted_to_a_fold_predicts_what_decode_wrote(days):
    options = RunOptions(**FOLD_OPTIONS, decoders=("auto", "ridge", "kernel-rgs"))
    assert check_fold(prepare(options, days[0]).problem) >= {"rgs", "rgs + auto", "kernel-rgs-decoder", "kalman"}


@pytest.mark.slow
@pytest.mark.parametrize(("target", "other"), [("hand_velocity:x", "classes"), ("direction", "continuous")])
def test_every_decoder_predicts_what_decode_wrote_for_a_fold(days, target, other):
    names = [name for name, kind in DECODERS.own.items() if kind.target != other]
    options = RunOptions(target=target, n_lags=2, n_splits=3, selectors=("corrcoef",), decoders=tuple(names))
    seen = check_fold(prepare(options, days[0]).problem)
    for name in names:
        assert seen & {name_alone(name), f"corrcoef + {name}", "corrcoef" if name == "knn" else name}, name


@pytest.mark.parametrize("name", ["ridge", "kalman"])
def test_a_model_of_the_first_trials_predicts_what_compare_wrote_for_the_last_fold(name):
    day = simulate_session(18, n_electrodes=2, random_state=1)
    options = {"n_lags": 3, "n_splits": 3}
    written = neurofs.compare(day, target="hand_velocity", selectors="corrcoef", decoders=name, **options).predictions
    place = [str(method) for method in written["method"].values].index(name)
    written = written.isel(method=place, repeat=0, time=written["trial"].values >= 12)
    first = choose_part(day, RunOptions(to_time=float(day.trials["start"].iloc[12])))
    found = neurofs.fit(first, "hand_velocity", decoder=name, cross_validate=False, n_lags=3).predict(day)
    found = found.isel(time=found["trial"].values >= 12)
    np.testing.assert_array_equal(found["time"], written["time"])
    assert np.array_equal(found["predicted"].values.astype(np.float32).T, written["predicted"].values)


@pytest.mark.slow
def test_a_run_gives_its_best_method_with_its_scores(days, tmp_path):
    neurofs.write(days[0], tmp_path / "day1.nwb")
    options = RunOptions(file=str(tmp_path / "day1.nwb"), **FOLD_OPTIONS)
    comparison = decode(options, tmp_path / "run")
    latency = comparison.summary.provenance.latency
    assert set(latency) == {found.method for found in comparison.summary.methods}
    page = (tmp_path / "run" / "report.html").read_text()
    assert f"ridge {latency['ridge']:.2g} ms" in page
    assert "neurofs fit . --out model" in page
    model = fit_run(tmp_path / "run")
    best = next(m for m in comparison.summary.methods if m.selector != "random")
    assert model.head.method == best.method
    assert [o.score for o in model.head.outputs] == [s.r2.mean for s in best.outputs.values()]
    assert fit_run(tmp_path / "run", "ridge").head.method == "ridge"
    with pytest.raises(UsageError, match="no method 'svr' in this run"):
        fit_run(tmp_path / "run", "svr")
    neurofs.write(days[1], tmp_path / "day1.nwb")
    with pytest.raises(UsageError, match="has changed since the run"):
        fit_run(tmp_path / "run")


def test_several_sessions_train_on_the_channels_they_share(days):
    names = days[1].channels["name"].tolist()
    fewer = choose_part(days[1], RunOptions(channels=names[:2] + names[3:]))
    model = neurofs.fit([days[0], fewer], "hand_velocity", decoder="ridge", n_lags=3)
    alone = [neurofs.fit(d, "hand_velocity", decoder="ridge", n_lags=3, cross_validate=False) for d in (days[0], fewer)]
    assert model.channels == [name for name in days[0].channels["name"] if name != names[2]]
    assert [s.n_samples for s in model.head.sessions] == [m.head.sessions[0].n_samples for m in alone]
    strangers = simulate_session(14, n_electrodes=2, random_state=3)
    renamed = strangers.channels.assign(name=[f"other {i}" for i in range(8)])
    with pytest.raises(UsageError, match="found none that all have"):
        neurofs.fit([days[0], neurofs.Recording("other", spikes=strangers.spikes, behavior=strangers.behavior,
                     channels=renamed)], "hand_velocity", decoder="ridge")  # fmt: skip


def test_channels_are_matched_by_name(models, days):
    model, names = models["ridge"], days[1].channels["name"].tolist()
    whole = model.predict(days[1])
    turned = choose_part(days[1], RunOptions(channels=list(reversed(names))))
    xr.testing.assert_identical(model.predict(turned)["predicted"], whole["predicted"])
    fewer = choose_part(days[1], RunOptions(channels=names[1:]))
    with pytest.raises(UsageError, match=f"lacks 1 of the 8 channels of the model: {names[0]}"):
        model.predict(fewer)
    silent = model.predict(fewer, missing="zero")
    assert silent.attrs["notes"] == [f"missing, counts taken to be 0: 1 channel ({names[0]})"]
    tensor = build_tensor(days[1], None, bin_width=0.1, n_lags=3)
    counts = tensor["counts"].values.copy()
    counts[:, 0] = 0
    rows = np.flatnonzero(tensor["valid"].values)
    by_hand = model.predict_samples(neurofs.Samples.from_counts(counts, 3, rows))[0]
    np.testing.assert_array_equal(silent["predicted"].values, by_hand)


def test_a_session_without_behavior_is_decoded(models, days):
    bare = neurofs.Recording("bare", spikes=days[1].spikes, channels=days[1].channels, trials=days[1].trials,
                             observed=days[1].observed)  # fmt: skip
    np.testing.assert_array_equal(models["knn"].predict(bare)["predicted"], models["knn"].predict(days[1])["predicted"])


def test_intervals_are_those_of_the_folds(days):
    model = neurofs.fit(days[0], "hand_velocity:x", decoder="ridge", n_lags=3)
    (output,), found = model.head.outputs, model.predict(days[1])
    np.testing.assert_allclose(found["high"] - found["predicted"], output.half_width)
    assert 0 < output.sd < output.half_width < 5 * output.sd
    assert output.p_chance is not None
    assert model.head.cross_validation.chosen_among == ["ridge"]


def test_the_best_of_several_is_chosen_on_the_folds(days):
    model = neurofs.fit(days[0], "hand_velocity:x", n_lags=2, n_splits=2)
    assert len(model.head.cross_validation.chosen_among) == 5
    assert model.head.method in model.head.cross_validation.chosen_among


def test_a_place_that_is_taken_is_left_alone(models, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="something is there that is no model"):
        models["ridge"].save(tmp_path / "notes", overwrite=True)
    models["ridge"].save(tmp_path / "model")
    with pytest.raises(UsageError, match="a model is there"):
        models["ridge"].save(tmp_path / "model")
    models["kalman"].save(tmp_path / "model", overwrite=True)
    assert read_model(tmp_path / "model").head.method == "kalman"
    (tmp_path / "model" / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"beside a model, 'mine\.txt' is there"):
        models["ridge"].save(tmp_path / "model", overwrite=True)
    (tmp_path / "model" / "mine.txt").unlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "notes"]


def test_a_model_whose_successor_cannot_be_moved_stays(models, tmp_path, monkeypatch):
    models["ridge"].save(tmp_path / "model")
    move = os.replace

    def fail_once(source, place):
        if str(source).endswith(".part") and str(place) == str(tmp_path / "model"):
            raise PermissionError(13, "Permission denied")
        move(source, place)

    monkeypatch.setattr(os, "replace", fail_once)
    with pytest.raises(InputError, match="Permission denied"):
        models["kalman"].save(tmp_path / "model", overwrite=True)
    assert read_model(tmp_path / "model").head.method == "ridge"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_the_folder_one_is_in_is_no_place_for_a_model(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="expected a folder for the model alone"):
        models["ridge"].save(".")


def test_no_model_is_said_in_one_line(tmp_path):
    with pytest.raises(InputError, match=r"expected a model folder; found no model.json\. Make one with neurofs fit\."):
        read_model(tmp_path)


def test_seeds_of_a_last_fit_differ_from_those_of_folds():
    assert Task("rgs", 0, 0, 5).seed(0) not in {Task("rgs", 0, 0, fold).seed(0) for fold in range(5)}
