"""What a caller gives: a file or an object, and keys of a run.toml; and the checked options that these become."""

from collections.abc import Mapping
from pathlib import Path

from neurofs.ground.config import RunOptions, given_options, make_options, read_pattern, read_session_file
from neurofs.ground.errors import InputError
from neurofs.ground.files import make_absolute, match_files
from neurofs.ground.system import find_path
from neurofs.recordings.demo import demo_path
from neurofs.recordings.readers import is_session_file, load
from neurofs.recordings.recording import Recording


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
        return choose_options(Path(recording), values), None
    options = make_options(RunOptions, values)
    return options, recording if isinstance(recording, Recording) else load(recording)
