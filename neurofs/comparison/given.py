"""What a caller gives: a file or an object, and keys of a run.toml; and the checked options that these become."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from neurofs.ground.config import RunOptions, given_options, make_options, read_pattern, read_session_file
from neurofs.ground.errors import InputError, UsageError
from neurofs.ground.files import make_absolute, match_files
from neurofs.ground.system import find_path
from neurofs.recordings.demo import demo_path
from neurofs.recordings.readers import is_session_file, load
from neurofs.recordings.recording import Recording
from neurofs.selectors import SELECTORS, Selector


def choose_options(path: Path | None, values: Mapping[str, object]) -> RunOptions:
    """Return the options of a recording, a session file or a run.toml, overruled by `values`; None is the demo."""
    if "behavior_file" in values:
        values = {**values, "behavior_file": make_absolute(str(values["behavior_file"]))}
    if path is None:
        return make_options(RunOptions, {"target": "hand_velocity", **values, "file": str(demo_path())})
    if not is_session_file(path):
        return make_options(RunOptions, {**values, "file": make_absolute(path)})
    if not path.is_file():
        raise InputError(path, "a session file", "no such file", "Check the path.")
    data, options = read_session_file(path)
    if options.behavior_file is not None:
        values = {"behavior_file": make_absolute(options.behavior_file), **values}
    return make_options(RunOptions, {**given_options(options), **values, "file": make_absolute(data)})


def choose_all(path: Path | None, values: Mapping[str, object]) -> list[RunOptions]:
    """Return the options of each session that a path stands for: a session file may name many by a pattern."""
    shared = None if path is None else read_pattern(path)
    if path is None or shared is None:
        return [choose_options(path, values)]
    found = match_files(path.resolve().parent, str(shared.file))
    if not found:
        raise InputError(path.name, "files", f"none that match {shared.file}", "Check the pattern.")
    own = given_options(shared)
    if shared.behavior_file is not None:
        own["behavior_file"] = str(find_path(path.resolve().parent, shared.behavior_file))
    return [choose_options(file, {**own, **({"name": name} if name else {}), **values}) for file, name in found]


def choose_recording(recording: object, values: Mapping[str, object]) -> tuple[RunOptions, Recording | None]:
    """Return the options, and the recording if it is not a file that the options name: whatever `load` takes."""
    if isinstance(recording, str | Path):
        return choose_options(Path(recording), name_selectors(values)), None
    options = make_options(RunOptions, name_selectors(values))
    return options, recording if isinstance(recording, Recording) else load(recording)


def name_selectors(values: Mapping[str, object]) -> dict[str, object]:
    """Return settings in which selectors that were given as estimators are names, with their parameters.

    >>> from neurofs.selectors import RGS
    >>> name_selectors({"selectors": [RGS(n_epochs=2), "corrcoef"]})
    {'selectors': ['rgs', 'corrcoef'], 'settings': {'rgs': {'n_epochs': 2}}}
    """
    given = values.get("selectors", ())
    if isinstance(given, str) or not isinstance(given, Sequence) or all(isinstance(one, str) for one in given):
        return dict(values)
    settings = dict(values["settings"]) if isinstance(values.get("settings"), Mapping) else {}  # type: ignore[call-overload]
    names = []
    for one in given:
        names.append(one if isinstance(one, str) else _name_selector(one))
        if not isinstance(one, str):
            settings[names[-1]] = _find_changed(one)
    return {**values, "selectors": names, "settings": settings}


def _name_selector(estimator: object) -> str:
    name = getattr(estimator, "name", "")
    if not isinstance(estimator, Selector) or type(estimator) is not SELECTORS.get(name):
        raise UsageError(
            f"selectors: expected names or selectors of neurofs; found {type(estimator).__name__}. One of your own "
            "inherits from neurofs.Selector and is known by an entry point (neurofs/README.md)"
        )
    return name


def _find_changed(estimator: Selector) -> dict[str, object]:
    """Return the parameters of a selector that are not its defaults: plain ones, which a run.toml can hold."""
    plain = type(estimator)().get_params()
    found = {key: value for key, value in estimator.get_params().items() if value is not plain[key]}
    for key, value in found.items():
        if not isinstance(value, str | int | float):
            raise UsageError(f"selectors: {estimator.name}: {key} must be a number, a text or a truth value here")
    return {key: value for key, value in found.items() if value != plain[key]}
