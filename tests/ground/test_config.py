import tomllib

import pytest

from neurofs.ground.config import (
    LoadOptions,
    RunOptions,
    SessionOptions,
    TensorOptions,
    given_options,
    join_names,
    make_options,
    read_session_file,
    render_toml,
    select_options,
    split_names,
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
    options = make_options(RunOptions, {"selectors": ("rgs, sks", "relieff"), "decoders": "knn,ridge"})
    assert options.selectors == ("rgs", "sks", "relieff")
    assert options.decoders == ("knn", "ridge")
    with pytest.raises(UsageError, match="selectors"):
        make_options(RunOptions, {"selectors": [3]})


def test_every_list_takes_commas_and_lists():
    for key in ("target", "behavior", "circular", "conditions", "exclude_channels", "selectors", "decoders"):
        for value in ("a,b", ["a", "b"], ("a", "b")):
            assert getattr(make_options(RunOptions, {key: value}), key) == ("a", "b")
    for value in ("1, 5", [1, 5], ("1", "5"), ["1,5"]):
        assert make_options(RunOptions, {"sizes": value}).sizes == (1, 5)
    assert make_options(RunOptions, {"sizes": 5}).sizes == (5,)
    with pytest.raises(UsageError, match="sizes"):
        make_options(RunOptions, {"sizes": "5,many"})


def test_names_from_files_keep_their_commas():
    names = ("x,y", "\\", "z")
    options = make_options(RunOptions, {"target": names})
    assert make_options(RunOptions, given_options(options)).target == names
    assert split_names(join_names(("x,y", "z"))) == ("x,y", "z")


def test_a_key_that_was_renamed_is_answered_with_its_new_name():
    with pytest.raises(UsageError, match="unknown key 'decoder'; it is called decoders now"):
        make_options(RunOptions, {"decoder": "knn"}, "run.toml")


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
