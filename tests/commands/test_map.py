"""The map in neurofs/README.md: its tree is the real one, its path is the one that a spike takes, its code runs."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import neurofs
from neurofs.ground.config import RunOptions
from neurofs.recordings.simulate import simulate_session
from neurofs.recordings.writers import write
from neurofs.running.session import decode

HOME = Path(neurofs.__file__).parent
MAP = (HOME / "README.md").read_text(encoding="utf-8")


def drawn_files():
    """Names in the tree: folders by their indentation, and as many files on a line as stand there."""
    folders: dict[int, str] = {}
    for line in re.search(r"```\n(.*?)```", MAP, flags=re.S)[1].splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        place = "".join(folders[d] for d in range(depth))
        for word in line.split():
            if word.endswith("/"):
                folders[depth] = word
            elif not word.endswith(".py"):
                break
            else:
                yield place + word


def test_the_tree_is_the_real_one():
    real = {path.relative_to(HOME).as_posix() for path in HOME.rglob("*.py")}
    drawn = list(drawn_files())
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == {path for path in real if not path.endswith(("__init__.py", "__main__.py"))}


def test_the_house_has_at_most_16_entries_and_no_giant():
    entries = {path.name for path in HOME.iterdir()} - {"__pycache__"}
    assert len(entries) <= 16, sorted(entries)
    sizes = {path.name: path.read_text(encoding="utf-8").count("\n") for path in HOME.rglob("*.py")}
    assert max(sizes.values()) <= 450, max(sizes, key=sizes.get)


def test_rooms_stand_in_the_order_of_the_import_contract():
    text = (HOME.parent / "pyproject.toml").read_text(encoding="utf-8")
    layers = re.findall(r'"neurofs\.(\w+)"', text.partition("layers = [")[2].partition("]")[0])
    drawn = re.findall(r"^(\w+)(?:/|\.py)", re.search(r"```\n(.*?)```", MAP, flags=re.S)[1], flags=re.M)
    assert drawn == [layer for layer in reversed(layers) if layer != "__main__"]


@pytest.mark.slow
def test_a_spike_takes_the_path_that_is_written_down(tmp_path, monkeypatch):
    steps = re.findall(r"`([\w/]+\.py)`", MAP.partition("## The path of a spike")[2].partition("## Recipes")[0])
    assert steps[0] == "commands/decode.py"
    write(simulate_session(12, n_electrodes=1, random_state=1), tmp_path / "session.nwb")
    seen: list[str] = []

    def note(frame, event, _):
        file = frame.f_code.co_filename
        if file.startswith(str(HOME)):
            name = Path(file).relative_to(HOME).as_posix()
            if frame.f_code.co_name != "<module>" and name not in seen:
                seen.append(name)

    options = RunOptions(
        file=str(tmp_path / "session.nwb"),
        target="hand_velocity",
        n_lags=2,
        selectors=("rgs",),
        n_splits=2,
        sizes=(2, 8),
    )
    decode(options, tmp_path / "run")  # compiles the loops, which would take long while calls are noted
    sys.settrace(note)
    try:
        decode(options, tmp_path / "run", fresh=True)
    finally:
        sys.settrace(None)
    compiled = {"commands/decode.py", "selectors/loops_rgs.py"}  # the command itself; what numba calls is not seen
    assert [step for step in dict.fromkeys(steps) if step not in compiled and step not in seen] == []
    rooms = ["recordings", "features", "selectors", "comparison/tables.py", "report"]
    first = [next(i for i, name in enumerate(seen) if name.startswith(room)) for room in rooms]
    assert first == sorted(first)


def test_the_recipes_run(tmp_path):
    seen: dict = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", MAP, flags=re.S)), seen)
    X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 3, 2]
    assert seen["Variance"](n_features_to_select=1).fit(X, X[:, 0]).get_support().tolist() == [False, True, False]
    assert seen["LeastSquares"]().fit(X, X[:, 0]).score(X, X[:, 0]) > 0.9
    np.savetxt(tmp_path / "day.rows", X.round() ** 2)
    assert seen["read"](tmp_path / "day.rows", None).n_channels == 2


def test_editors_know_every_public_name():
    typed = re.findall(r"(\w+) as \1", (HOME / "__init__.py").read_text(encoding="utf-8"))
    assert sorted(typed) == sorted(set(neurofs.__all__) - {"__version__"})


@pytest.mark.parametrize("registry", [neurofs.SELECTORS, neurofs.DECODERS])
def test_every_estimator_is_listed(registry):
    listed = re.findall(r"`(\w+)`\s\(([\w-]+)\)", MAP.partition("## Estimators")[2])
    assert {(kind.__name__, name) for name, kind in registry.own.items()} <= set(listed)


FIRST = """
import importlib, os, sys
import h5py, numpy, pandas, scipy.signal, xarray
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        importlib.import_module(name)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"{name} cannot be the first to be imported")
"""


@pytest.mark.posix
@pytest.mark.slow
@pytest.mark.parametrize("room", ["recordings", "features"])
def test_each_module_can_be_the_first_to_be_imported(room):
    names = [f"neurofs.{room}.{path.stem}" for path in sorted((HOME / room).glob("*.py"))]
    done = subprocess.run([sys.executable, "-c", FIRST, *names], capture_output=True, text=True)
    assert not done.returncode, done.stderr
