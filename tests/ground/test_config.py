import tomllib

import pytest

from neurofs.ground.config import (
    LoadOptions,
    RunOptions,
    SessionOptions,
    TensorOptions,
    given_options,
    make_options,
    read_session_file,
    render_toml,
    select_options,
)
from neurofs.ground.errors import InputError, UsageError


def test_a_session_file(tmp_path):
    path = tmp_path / "m1.toml"
    path.write_text(
        'file = "m1.mat"\ncounts = "spikes"\ncounts_bin_width = 0.05\ntarget = ["v:x", "v:y"]\nn_lags = 5\n'
    )
    data, options = read_session_file(path)
    assert data == tmp_path / "m1.mat"
    assert select_options(LoadOptions, options).counts_bin_width == 0.05
    assert select_options(TensorOptions, options).target == ("v:x", "v:y")
    assert select_options(TensorOptions, options).n_lags == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('file = "a"\ncounts_binwidth = 1', "unknown key 'counts_binwidth'; did you mean counts_bin_width?"),
        ('file = "a"\nn_lags = 0', "n_lags: Input should be greater than or equal to 1; found '0'"),
        ('file = "a"\norientation = "up"', "orientation"),
        ("counts = 3 4", "expected a session file in TOML"),
        ("n_lags = 3", "expected the key file"),
    ],
)
def test_bad_session_files(tmp_path, text, message):
    path = tmp_path / "m1.toml"
    path.write_text(text)
    with pytest.raises((UsageError, InputError)) as error:
        read_session_file(path)
    assert str(error.value).startswith("m1.toml: ")
    assert message in str(error.value)


def test_one_name_is_as_good_as_a_list():
    assert make_options(SessionOptions, {"target": "v", "circular": "yaw"}).target == ("v",)


def test_options_are_frozen():
    with pytest.raises(ValueError):
        TensorOptions().n_lags = 3


def test_every_key_is_explained():
    for key, field in SessionOptions.model_fields.items():
        assert field.description, key


def test_selectors_may_be_separated_by_commas():
    options = make_options(RunOptions, {"selectors": ("rgs, sks", "relieff"), "decoder": "knn,ridge"})
    assert options.selectors == ("rgs", "sks", "relieff")
    assert options.decoder == ("knn", "ridge")
    with pytest.raises(UsageError, match="selectors"):
        make_options(RunOptions, {"selectors": [3]})


HOSTILE = 'a"b\\c\n\t\x1b[31m\x7f\x9b\u202e\U0001f9e0 ü = [x] # '


def test_written_settings_are_read_back():
    options = RunOptions(
        file=HOSTILE,
        target=("v:x", HOSTILE),
        sizes=range(1, 40),
        sqrt=True,
        lead=-1e-7,
        beta=1e16,
        period=("move_onset", "stop"),
        settings={"rgs": {"alpha": 0.1, "n_epochs": 3, "utility": HOSTILE}, HOSTILE: {"a.b": [1, 2.5]}},
    )
    text = render_toml(given_options(options))
    assert make_options(RunOptions, tomllib.loads(text)) == options
    assert all(line.isprintable() for line in text.split("\n"))
