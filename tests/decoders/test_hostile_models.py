"""500 damaged or hostile model folders: each is refused in one line, or decodes; nothing else happens.

Half of them are damaged: nobody who has lost a bit makes the checksums right again. In the other half, somebody has:
then a change may be no harm, such as another number among coefficients, and the model must decode.
"""

import hashlib
import io
import json
import os
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

import neurofs
from neurofs.commands.main import main
from neurofs.decoders.model_folder import find_seal, read_model
from neurofs.ground.errors import InputError, NeurofsError
from neurofs.recordings.simulate import simulate_session

NAMES = ("ridge", "wiener-cascade", "kalman", "knn", "local-linear", "kernel-ridge", "svr", "gradient-boosting", "mlp",
         "svm", "naive-bayes", "lvq", "kernel-rgs", "average")  # fmt: skip
DAMAGES, HOSTILES = 250, 250
VALUES = (None, True, -1, 0, 10**9, 2**70, 1e300, -1e300, "x", "../../etc/passwd", "/dev/zero", "\x1b[2J", [], {}, [[]],
          {"array": "../model"}, {"array": "nothing"}, {"tuple": []}, {"dict": {}}, [1] * 20)  # fmt: skip


@pytest.fixture(scope="module")
def day():
    return simulate_session(8, n_electrodes=1, random_state=1)


@pytest.fixture(scope="module")
def sound(day, tmp_path_factory):
    place = tmp_path_factory.mktemp("sound")
    for name in NAMES:
        target = "direction" if name in ("svm", "naive-bayes", "lvq") else "hand_velocity"
        neurofs.fit(day, target, decoder=name, cross_validate=False, n_lags=2).save(place / name)
    return [place / name for name in NAMES]


def list_places(value, path=()):
    """Every place in a JSON value."""
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from list_places(item, (*path, key))


def change(value, path, new):
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = new


def to_bytes(array, pickled=False):
    content = io.BytesIO()
    np.save(content, array, allow_pickle=pickled)
    return content.getvalue()


def damage(folder, rng):
    """Do what happens to files: lost, cut, other bytes, other files, links."""
    arrays = sorted((folder / "arrays").iterdir())
    path = arrays[rng.integers(len(arrays))] if rng.random() < 0.6 else folder / "model.json"
    content = path.read_bytes()
    kind = int(rng.integers(8))
    if kind == 0:
        path.unlink()
    elif kind == 1:
        path.write_bytes(content[: rng.integers(len(content))])
    elif kind == 2:
        place = int(rng.integers(len(content)))
        path.write_bytes(content[:place] + bytes([content[place] ^ int(rng.integers(1, 256))]) + content[place + 1 :])
    elif kind == 3:
        path.write_bytes(content + b"\x00" * int(rng.integers(1, 99)))
    elif kind == 4:
        path.unlink()
        os.symlink(["/dev/zero", "/etc/passwd", "nowhere", "."][rng.integers(4)], path)
    elif kind == 5:
        path.unlink()
        path.mkdir()
    elif kind == 6:
        path.write_bytes(rng.bytes(200))
    else:
        path.write_bytes(to_bytes(np.array([{"a": print}], dtype=object), pickled=True))


def be_hostile(folder, rng):
    """Change numbers, names, sizes or arrays, and make the checksums right again."""
    head = json.loads((folder / "model.json").read_text())
    names = sorted(head["arrays"])
    if rng.random() < 0.5:
        places = [p for p in list_places(head["decoders"], ("decoders",)) if len(p) > 1]
        if rng.random() < 0.3:
            places = [p for p in list_places(head) if p and p[0] != "decoders"]
        new = VALUES[rng.integers(len(VALUES))]
        if rng.random() < 0.3 and names:
            new = {"array": names[rng.integers(len(names))]}
        change(head, places[rng.integers(len(places))], new)
    else:
        name = names[rng.integers(len(names))]
        path = folder / "arrays" / f"{name}.npy"
        array = np.load(path)
        kind = int(rng.integers(7))
        if kind == 0:
            array = array[: len(array) // 2] if array.ndim else array
        elif kind == 1:
            array = np.full_like(array, np.nan) if array.dtype.kind == "f" else np.full_like(array, -1)
        elif kind == 2:
            array = array * np.asarray(10**17 if array.dtype.kind == "i" else 1e30, array.dtype)
        elif kind == 3:
            array = array[None]
        elif kind == 4:
            array = array.astype(["float32", "float64", "int64", "bool"][rng.integers(4)])
        elif kind == 5:
            array = np.concatenate([array.ravel(), array.ravel()[:1]])
        else:
            array = np.full(array.shape, 2**40).astype(array.dtype)
        content = to_bytes(array)
        if rng.random() < 0.15:  # a header that promises more than there is
            content = content.replace(b"'shape': (", b"'shape': (1000000000000, ", 1)
        path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        head["arrays"][name] = {"dtype": str(array.dtype), "shape": list(array.shape), "sha256": digest}
    head["seal"] = find_seal(head)  # as somebody would who wants it to be believed
    (folder / "model.json").write_text(json.dumps(head))


def try_folder(folder, day):
    """Return the one line with which a model is refused, or None if it decodes."""
    try:
        read_model(folder).predict(day, missing="zero")
    except NeurofsError as error:
        line = str(error)
        assert "\n" not in line
        assert "\x1b" not in line
        assert len(line) < 1500
        return line
    return None


def test_500_damaged_or_hostile_models(sound, day, tmp_path):
    shown = []
    for seed in range(DAMAGES + HOSTILES):
        rng = np.random.default_rng(seed)
        folder = tmp_path / "model"
        shutil.copytree(sound[seed % len(sound)], folder)
        (damage if seed < DAMAGES else be_hostile)(folder, rng)
        line = try_folder(folder, day)
        if line is None and seed < DAMAGES:  # a space among others
            heads = [json.loads((place / "model.json").read_text()) for place in (folder, sound[seed % len(sound)])]
            assert heads[0] == heads[1], f"seed {seed}: damage went unseen"
        shown.append(line)
        if seed % 50 == 0 and line is not None:
            found = CliRunner().invoke(main, ["predict", str(folder), "day.nwb"])
            assert (found.exit_code, len(found.output.splitlines())) == (2, 1)
            assert not isinstance(found.exception, Exception) or isinstance(found.exception, SystemExit)
        shutil.rmtree(folder)
    refused = [line for line in shown if line]
    assert len(refused) > 450
    assert all("expected" in line or "cannot decode" in line or "the model" in line for line in refused)


@pytest.mark.parametrize(
    "content", ["[" * 100_000, '{"schema": 1, "a": ' + '{"b":' * 50_000, "{}", "", "null", "\ufeff{}"]
)
def test_no_json_of_a_model(tmp_path, content):
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(InputError, match=r"model\.json"):
        read_model(tmp_path)


def test_a_link_to_a_folder_of_arrays_is_refused(sound, tmp_path):
    shutil.copytree(sound[0], tmp_path / "model")
    shutil.move(tmp_path / "model" / "arrays", tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", tmp_path / "model" / "arrays")
    with pytest.raises(InputError, match="expected a plain folder; found a link"):
        read_model(tmp_path / "model")
