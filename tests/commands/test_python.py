"""Python as a home: what values show of themselves, what functions take, and what type checkers know of them."""

import inspect
import os
import re
import subprocess
import sys
import typing
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from comparisons import HOSTILE, make_comparison

import neurofs
from neurofs.ground.config import CompareOptions, LoadOptions, RunOptions, TensorOptions
from neurofs.ground.errors import InputError, UsageError
from neurofs.ground.keys import CompareKeys, LoadKeys, RunKeys, TensorKeys
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write

SMALL = {"n_lags": 2, "selectors": ["corrcoef"], "decoders": [], "n_splits": 2}


@pytest.fixture(scope="module")
def session():
    return simulate_session(12, n_electrodes=2, random_state=1)


@pytest.fixture(scope="module")
def found(session):
    return neurofs.compare(session, "hand_velocity", **SMALL)


@pytest.fixture(scope="module")
def axes_only():
    matplotlib.use("agg")


def test_values_show_themselves_in_few_words(session, found):
    samples = neurofs.to_samples(neurofs.build_tensor(session, "hand_velocity"))[0]
    model = neurofs.fit(session, "hand_velocity", decoder="ridge", n_lags=2, n_splits=2)
    for value in (session, samples, found, model):
        assert len(repr(value)) < 2000
        assert value._repr_html_().startswith("<div><b>")
    assert "corrcoef" not in repr(samples)
    assert "80 features (8 channels × 10 lags)" in repr(samples)
    assert "ridge" in repr(model)
    assert found.summary.headline.sentences[0] in repr(found)


def test_names_from_files_are_no_markup():
    shown = make_comparison(names=HOSTILE)._repr_html_()
    assert "<script" not in shown
    assert "<img" not in shown
    bad = neurofs.Recording("<b>x", spikes=[[0.1]], channels=pd.DataFrame({"name": ["a"], "<img src=x>": [1]}))
    assert "<b>x" not in bad._repr_html_()
    assert "<img" not in bad._repr_html_()


@pytest.mark.usefixtures("axes_only")
def test_figures_are_axes(found):
    from matplotlib import pyplot

    for draw in (found.plot.weights, found.plot.curves, found.plot.traces, found.plot.channels):
        axes = draw()
        assert all(isinstance(one, matplotlib.axes.Axes) for one in axes)
        assert axes[0].figure.axes
        pyplot.close(axes[0].figure)
    with pytest.raises(UsageError, match="no figure 'wieghts'; it has"):
        found.plot.figure("wieghts")


def test_report_is_shown_or_written(found, tmp_path):
    page = found.report()
    assert page.startswith("<!DOCTYPE html>")
    frame = page._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    assert frame.count("<") == 2  # the page itself is text of an attribute
    path = found.report(tmp_path / "day1.html")
    assert path.read_text(encoding="utf-8") == page


def test_tables_hold_the_numbers_of_the_summary(found):
    frame = found.to_frame()
    means = frame[frame["output"] == "(mean)"].set_index("method")["mean"]
    for method in found.summary.methods:
        assert means[method.method] == method.pooled.r2.mean
    data = found.to_xarray()
    assert isinstance(data, xr.Dataset)
    np.testing.assert_array_equal(data["predicted"], found.predictions["predicted"])
    np.testing.assert_array_equal(data["weights"], found.weights["weights"])


def test_compare_takes_files_and_objects(session, found, tmp_path):
    write(session, tmp_path / "day1.nwb")
    from_file = neurofs.compare(tmp_path / "day1.nwb", "hand_velocity", **SMALL)
    pd.testing.assert_frame_equal(from_file.scores, found.scores, rtol=1e-4)
    (tmp_path / "day1.toml").write_text('file = "day1.nwb"\nn_lags = 2\nselectors = ["corrcoef"]\ndecoders = []\n')
    assert neurofs.compare(str(tmp_path / "day1.toml"), "hand_velocity", n_splits=2).scores.equals(from_file.scores)
    with pytest.raises(InputError, match=r"nowhere\.nwb"):
        neurofs.compare("nowhere.nwb", "hand_velocity")


@pytest.mark.parametrize("call", [neurofs.compare, neurofs.fit])
def test_a_typo_is_one_line(call, session):
    with pytest.raises(UsageError, match=r"unknown key 'n_lag'; did you mean n_lags\?"):
        call(session, "hand_velocity", n_lag=3)
    with pytest.raises(UsageError, match="n_splits"):
        call(session, "hand_velocity", n_splits="many")


def test_selectors_may_be_estimators(session, found):
    keys = {**SMALL, "selectors": [neurofs.selectors.CorrCoef()]}
    assert neurofs.compare(session, "hand_velocity", **keys).scores.equals(found.scores)


@pytest.mark.parametrize(
    "call",
    [
        lambda s: neurofs.compare(None, "hand_velocity"),
        lambda s: neurofs.compare(s, 5),
        lambda s: neurofs.compare(s, "hand_velocity", cv=5),
        lambda s: neurofs.vary(s, "hand_velocity", by=5),
        lambda s: neurofs.vary(s, "hand_velocity", by="lead", values=[np.nan, 0]),
        lambda s: neurofs.vary(s, "hand_velocity", by="lead", methods=3),
        lambda s: neurofs.vary(s, "hand_velocity", by="trials", n_draws=0),
        lambda s: neurofs.decode_around(s, 5, "move_onset"),
        lambda s: neurofs.decode_around(s, "direction", "move_onset", around=(0.5,)),
        lambda s: neurofs.decode_around(s, "direction", "move_onset", window=np.nan),
        lambda s: neurofs.build_tensor("day1.nwb", "hand_velocity"),
        lambda s: neurofs.fit(None, "hand_velocity"),
        lambda s: neurofs.plan_experiment("many"),
        lambda s: neurofs.encode(s, "hand_velocty"),
    ],
)
def test_wrong_types_are_one_line(call, session):
    with pytest.raises((UsageError, InputError)) as caught:
        call(session)
    assert "\n" not in str(caught.value)


def test_decoders_refuse_what_is_not_finite():
    X = np.arange(12.0).reshape(6, 2) % 5
    decoder = neurofs.decoders.Ridge().fit(X, X[:, 0])
    X[2, 1] = np.nan
    with pytest.raises(ValueError, match="X must be finite; found NaN or infinity"):
        decoder.predict(X)


def test_keyword_types_are_the_settings():
    for keys, options in ((LoadKeys, LoadOptions), (CompareKeys, CompareOptions)):
        assert list(keys.__annotations__) == list(options.model_fields)
    assert [*TensorKeys.__annotations__] == [key for key in TensorOptions.model_fields if key != "target"]
    assert set(RunKeys.__annotations__) == set(RunOptions.model_fields) - {"file", "target"}


def test_estimators_are_imported_by_their_names():
    import neurofs.decoders
    import neurofs.selectors

    for room, registry in ((neurofs.selectors, neurofs.SELECTORS), (neurofs.decoders, neurofs.DECODERS)):
        for kind in registry.own.values():
            assert getattr(room, kind.__name__) is kind
            assert kind.__name__ in room.__all__


def public_functions():
    return [name for name in neurofs.__all__ if inspect.isfunction(getattr(neurofs, name))]


@pytest.mark.parametrize("name", public_functions())
def test_no_signature_says_any(name):
    hints = typing.get_type_hints(getattr(neurofs, name))
    assert hints
    assert "typing.Any" not in str(hints)


def public_methods():
    """What the classes of `neurofs`, and all selectors and decoders, have for their users, with what they inherit."""
    kinds = [getattr(neurofs, name) for name in neurofs.__all__ if inspect.isclass(getattr(neurofs, name))]
    kinds += [kind for registry in (neurofs.SELECTORS, neurofs.DECODERS) for kind in registry.own.values()]
    found = {}
    for kind in kinds:
        for name, value in inspect.getmembers(kind, lambda value: inspect.isfunction(value) or inspect.ismethod(value)):
            if (not name.startswith("_") or name == "__init__") and value.__module__.startswith("neurofs."):
                found[value.__qualname__] = value
    return [found[name] for name in sorted(found)]


ANY_VALUE = {
    "Recording.__init__",  # an attribute has one type: that of what it becomes, which is narrower than what is taken
    "RGS.published",  # any parameter
    "set_params", "get_params",
}  # fmt: skip


@pytest.mark.parametrize("method", public_methods(), ids=lambda method: method.__qualname__)
def test_no_signature_of_a_method_says_any(method):
    if method.__qualname__ not in ANY_VALUE:
        said = str(inspect.get_annotations(method)).replace("numpy.dtype[typing.Any]", "")  # a part of ArrayLike
        assert not re.search(r"\bAny\b", said), said


USER_CODE = """
import neurofs

session = neurofs.load("day1.nwb")
found = neurofs.compare(session, "hand_velocity", n_lags=3, selectors=["rgs"])
found = neurofs.compare("day1.nwb", "hand_velocity", n_lag=3)          # wrong: unknown name
found = neurofs.compare(session, "hand_velocity", n_lags="three")      # wrong: type
found = neurofs.compare(session, "hand_velocity", effort="some")       # wrong: no such effort
found = neurofs.compare(session, "hand_velocity", cv=5)                # wrong: no splitter
found = neurofs.compare(session, "hand_velocity", cv=neurofs.BlockedKFold(5), scores=lambda truth, predicted: 0.0)
found.scors                                                            # wrong: unknown attribute
found.plot.wieghts()                                                   # wrong: unknown method
found.to_frame().mean()
model = neurofs.fit(session, "hand_velocity", decoder=3)               # wrong: type
model.predict("day2.nwb")                                              # wrong: no recording
neurofs.build_tensor(session, "hand_velocity", bin_width="wide")       # wrong: type
neurofs.lod("day1.nwb")                                                # wrong: unknown name
samples, y, trial = neurofs.to_samples(neurofs.build_tensor(session, "hand_velocity"))
selector = neurofs.RGS(n_epochs=3, random_state=0).fit(samples, y, trial)
selector.survey
neurofs.RGS(n_neighbors="many")                                        # wrong: type
neurofs.BlockedKFold(n_split=5)                                        # wrong: unknown name
velocity, sd = neurofs.KernelRGSDecoder().fit(samples, y).predict(samples, return_std=True)
"""


@pytest.mark.slow
def test_type_checkers_find_what_is_wrong_in_user_code(tmp_path):
    pytest.importorskip("mypy")
    script = tmp_path / "analysis.py"
    script.write_text(USER_CODE)
    lines = USER_CODE.splitlines()
    planted = {i for i, line in enumerate(lines, 1) if "# wrong" in line}
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "--follow-imports=silent"]
    home = Path(neurofs.__file__).parents[1]
    config = ["--config-file", str(home / "pyproject.toml"), str(script)]
    ended = subprocess.run([*command, *config], capture_output=True, text=True, cwd=home, check=False)
    seen = {int(line.split(":")[1]) for line in ended.stdout.splitlines() if ": error:" in line}
    assert seen == planted, ended.stdout


@pytest.mark.slow
def test_one_command_makes_the_pages_of_all_functions(tmp_path):
    pytest.importorskip("pdoc")
    home = Path(neurofs.__file__).parents[1]
    command = [sys.executable, str(home / "tests" / "api_pages.py"), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(home)}
    ended = subprocess.run(command, capture_output=True, text=True, cwd=home, env=environment, check=False)
    assert ended.returncode == 0, ended.stderr
    page = (tmp_path / "neurofs.html").read_text(encoding="utf-8")
    assert [name for name in neurofs.__all__ if f'id="{name}"' not in page] == []
    assert "does not resolve" not in ended.stderr
    assert "The keys of a run.toml" in page  # what a function says of its arguments
    assert (tmp_path / "neurofs" / "selectors.html").exists()
