"""550 damaged or hostile model folders: each is refused in one line, or decodes; nothing else happens.

250 are damaged: nobody who has lost a bit makes the checksums right again. In 250 others, somebody has: then a change
may be no harm, such as another number among coefficients, and the model must decode. 50 are made to do harm.
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
from neurofs.ground.errors import InputError
from neurofs.recordings.simulate import simulate_session

NAMES = ("ridge", "wiener-cascade", "kalman", "knn", "local-linear", "kernel-ridge", "svr", "gradient-boosting", "mlp",
         "svm", "naive-bayes", "lvq", "kernel-rgs", "average")  # fmt: skip
DAMAGES, HOSTILES, MALICIOUS = 250, 250, 50
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
    write_sealed(folder, head)


def be_malicious(folder, rng):
    """Do what no accident does: names that lead elsewhere, deep nesting, names given twice, arrays of nothing."""
    head = json.loads((folder / "model.json").read_text())
    names, kind = sorted(head["arrays"]), int(rng.integers(6))
    name = names[rng.integers(len(names))]
    if kind == 0:  # an array that lies elsewhere
        place = ["../model", "../../secret", "/etc/passwd", "a/../../b", "..", "a\\..\\b", "\x00"][rng.integers(7)]
        head["arrays"] = {place if key == name else key: value for key, value in head["arrays"].items()}
    elif kind == 1:  # deeper than any state, or than Python goes
        deep = []
        for _ in range(int(rng.choice([30, 200, 900]))):
            deep = [deep] if rng.random() < 0.5 else {"a": deep}
        head["decoders"][0]["state"] = {"parts_": deep}
    elif kind == 2:  # a size that no memory holds, or none at all
        head["arrays"][name]["shape"] = [[2**52], [2**40, 2**40], [0], [], [-1], [1] * 40][rng.integers(6)]
    elif kind == 3:
        head["decoders"][0]["decoder"] = ["../ridge", "os.system", "random", "", "x" * 9999][rng.integers(5)]
    elif kind == 4:
        head["outputs"] = head["outputs"] * int(rng.integers(2, 2000))
    else:
        text = json.dumps(head)  # the seal is that of the last value, the eye sees the first
        (folder / "model.json").write_text('{"method": "kalman", ' + text[1:])
        return
    write_sealed(folder, head)


def write_sealed(folder, head):
    """Write the head as somebody would who wants it to be believed."""
    head["seal"] = find_seal(head)
    (folder / "model.json").write_text(json.dumps(head))


def try_folder(folder, day, monkeypatch):
    """Return the one line with which neurofs predict refuses a model, or None if it decodes."""
    monkeypatch.setattr("neurofs.recordings.readers.load", lambda path, options: day)
    found = CliRunner().invoke(main, ["predict", str(folder), "day.nwb", "--missing", "zero"])
    if found.exit_code == 0:
        return None
    (line,) = found.stderr.splitlines()
    assert (found.exit_code, found.stdout, type(found.exception)) == (2, "", SystemExit)
    assert line.isprintable()
    assert len(line) < 1500
    return line


def test_550_damaged_or_hostile_models(sound, day, tmp_path, monkeypatch):
    shown = []
    for seed in range(DAMAGES + HOSTILES + MALICIOUS):
        rng = np.random.default_rng(seed)
        folder = tmp_path / "model"
        shutil.copytree(sound[seed % len(sound)], folder)
        (damage if seed < DAMAGES else be_hostile if seed < DAMAGES + HOSTILES else be_malicious)(folder, rng)
        line = try_folder(folder, day, monkeypatch)
        if line is None and seed < DAMAGES:  # a space among others
            heads = [json.loads((place / "model.json").read_text()) for place in (folder, sound[seed % len(sound)])]
            assert heads[0] == heads[1], f"seed {seed}: damage went unseen"
        assert line or seed < DAMAGES + HOSTILES, f"seed {seed}: malice went unseen"
        shown.append(line)
        shutil.rmtree(folder)
        assert not list(tmp_path.iterdir())
    refused = [line for line in shown if line]
    assert len(refused) > 500
    assert all("expected" in line or "cannot decode" in line or "the model" in line for line in refused)


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        '{"schema": 1, "a": ' + '{"b":' * 50_000,
        '{"schema": 1, "a": [' + "{}, " * 4_500_000 + "1]}",  # 18 MB that would take a gigabyte
        "{}",
        "",
        "null",
        "\ufeff{}",
    ],
    ids=range(7),
)
def test_no_json_of_a_model(tmp_path, content):
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(InputError, match=r"model\.json"):
        read_model(tmp_path)


@pytest.mark.parametrize(
    ("place", "written", "found"),
    [
        (("channels", 0, "mean"), "1e999", "the number 1e999"),
        (("decoders", 0, "settings", "ridge"), "-1e999", "the number -1e999"),
        (("decoders", 0, "state", "parts_", 0, "chosen", "ridge"), "9" * 400, "the number 999999999"),
        (("sessions", 0, "n_trials"), "NaN", "the number NaN"),
        (("decoders", 0, "settings", "ridge"), '{"array": []}', "expected an array, a tuple or a dict; found array"),
        (("decoders", 0, "settings", "ridge"), '{"dict": {"a": {"array": {}}}}', "a dict; found array"),
        (("channels", 0, "mean"), "1e300", "channels.0.mean: expected Input should be less than"),
        (("outputs", 0, "half_width"), "1e300", "outputs.0.half_width: expected Input should be less than"),
        (("channels", 0, "spread"), "1e-320", "channels.0.spread: expected Input should be greater than"),
        (("outputs", 0, "name"), '"a\\u0000b"', "outputs.0.name: expected String should match pattern"),
        (("outputs", 0, "unit"), '"\\ud800"', "outputs.0.unit: expected Input should be a valid string"),
        (("decoders", 0, "state", "parts_", 0, "chosen", "ridge"), "-1e30", "expected a number of at most 9,007"),
        (("channels", 0, "sd"), "1e-320", None),  # no harm
        (("binning", "smooth"), "1e-320", None),
    ],
)
def test_values_that_json_can_hold_and_models_cannot(place, written, found, sound, day, tmp_path, monkeypatch):
    folder = tmp_path / "model"
    shutil.copytree(sound[0], folder)
    head = json.loads((folder / "model.json").read_text())
    change(head, place, "HERE")
    text = json.dumps(head).replace('"HERE"', written)
    try:
        head["seal"] = find_seal(json.loads(text))
    except ValueError:
        assert "number" in found  # no seal can be made of it
    (folder / "model.json").write_text(text.replace(json.loads(text)["seal"], head["seal"]))
    line = try_folder(folder, day, monkeypatch)
    assert line is None if found is None else found in line


def test_a_link_to_a_folder_of_arrays_is_refused(sound, tmp_path):
    shutil.copytree(sound[0], tmp_path / "model")
    shutil.move(tmp_path / "model" / "arrays", tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", tmp_path / "model" / "arrays")
    with pytest.raises(InputError, match="expected a plain folder; found a link"):
        read_model(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("local-linear", ("parts_", 0, "chosen", "n_neighbors"), 0.5),
        ("average", ("parts_", 0, "model", "local-linear", "chosen", "beta"), 2**60),
        ("kernel-ridge", ("parts_", 0, "model", "machine", "kernel", "mean"), 1e300),
        ("kalman", ("parts_", 0, "chosen", "n_bins"), -(10.0**30)),
        ("kernel-rgs", ("metrics_",), []),
    ],
)
def test_parameters_that_no_fit_chooses(name, place, value, sound, day, tmp_path, monkeypatch):
    folder = tmp_path / "model"
    shutil.copytree(sound[NAMES.index(name)], folder)
    head = json.loads((folder / "model.json").read_text())
    change(head["decoders"][0]["state"], place, value)
    write_sealed(folder, head)
    assert "model: decoder 0" in try_folder(folder, day, monkeypatch)
