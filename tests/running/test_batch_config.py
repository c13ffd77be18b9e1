"""The file of a batch: what it means, what is rejected and with which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from neurofs.ground.errors import UsageError
from neurofs.running.batch.config import plan_sessions, read_batch_file

PIPELINES = Path(__file__).parents[2] / "pipelines"
SESSION = '[[session]]\nfile = "a.nwb"\n'


def read(tmp_path, text):
    path = tmp_path / "batch.toml"
    path.write_text(text, encoding="utf-8")
    return read_batch_file(path)


@pytest.mark.parametrize("path", sorted(PIPELINES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_pipeline_is_sound(path):
    config = read_batch_file(path)
    assert config.title
    assert config.batch.out == f"reports/{path.stem}"


def test_there_is_a_pipeline_for_each_public_data_set():
    assert {path.stem for path in PIPELINES.glob("*.toml")} == {
        "demo", "navot2005", "mc_maze", "mc_rtt", "area2_bump", "sabes_reaching", "stevenson"
    }  # fmt: skip


def test_the_published_protocol():
    config = read_batch_file(PIPELINES / "navot2005.toml")
    options = plan_sessions(config, Path("out"))[0].options
    assert len(plan_sessions(config, Path("out"))) == 8
    assert config.claims.navot2005
    assert (options.n_splits, options.n_repeats, options.n_lags, options.bin_width) == (5, 5, 10, 0.1)
    assert options.selectors == ("rgs", "sks", "infogain", "corrcoef")
    assert options.n_neighbors == options.settings["rgs"]["n_neighbors"] == 50


def test_patterns_lists_and_overrides(tmp_path):
    for name in ("m1-b.nwb", "m1-a.nwb", "odd.mat"):
        (tmp_path / name).touch()
    config = read(
        tmp_path,
        '[defaults]\ntarget = "v"\nn_lags = 3\nsettings.rgs.n_epochs = 2\n[[session]]\nfile = "m1-*.nwb"\n'
        '[[session]]\nfile = "odd.mat"\nname = "odd one"\nn_lags = 5\nsettings.sks.n_neighbors = 4\n',
    )
    found = plan_sessions(config, Path("out"))
    assert [(s.name, s.folder.name, s.options.n_lags) for s in found] == [
        ("m1-a", "m1-a", 3), ("m1-b", "m1-b", 3), ("odd one", "odd-one", 5)
    ]  # fmt: skip
    assert found[0].options.file == str(tmp_path / "m1-a.nwb")
    assert found[2].options.settings == {"rgs": {"n_epochs": 2}, "sks": {"n_neighbors": 4}}


def test_a_session_file_has_its_own_settings(tmp_path):
    (tmp_path / "day.toml").write_text('file = "raw/day.mat"\ncounts = "spikes"\nn_lags = 4\n')
    config = read(tmp_path, '[defaults]\ntarget = "v"\nn_lags = 3\n[[session]]\nfile = "day.toml"\nlead = 0.1\n')
    options = plan_sessions(config, Path("out"))[0].options
    assert (options.counts, options.n_lags, options.lead, options.target) == ("spikes", 4, 0.1, ("v",))
    assert options.file == str(tmp_path / "raw" / "day.mat")


def test_a_broken_session_file_costs_its_session_only(tmp_path):
    (tmp_path / "day.toml").write_text("n_lgas = 4\n")
    planned = plan_sessions(read(tmp_path, '[[session]]\nfile = "day.toml"\n' + SESSION), tmp_path)
    assert planned[0].reason == "day.toml: unknown key 'n_lgas'; did you mean n_lags?"
    assert planned[1].reason is None


def test_simulated_sessions_have_seeds_and_files_of_their_own(tmp_path):
    config = read(tmp_path, '[[simulate]]\nname = "day"\nn_sessions = 2\nseed = 5\n')
    placed = plan_sessions(config, tmp_path / "out")
    assert [(s.name, s.simulate.seed) for s in placed] == [("day1", 5), ("day2", 6)]
    files = [Path(s.options.file) for s in placed]
    assert all(file.parent == tmp_path / "out" / "simulated" for file in files)
    changed = read(tmp_path, '[[simulate]]\nname = "day"\nn_sessions = 2\nseed = 5\ndrift = 0.3\n')
    assert Path(plan_sessions(changed, tmp_path / "out")[0].options.file) != files[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[defualts]\nn_lags = 3\n" + SESSION, "unknown section 'defualts'; did you mean defaults?"),
        ("[defaults]\nn_lgas = 3\n" + SESSION, "batch.toml: defaults: unknown key 'n_lgas'; did you mean n_lags?"),
        (SESSION + "n_splits = 1\n", "session 1: n_splits: Input should be greater than or equal to 2"),
        ('[defaults]\nfile = "x"\n' + SESSION, "defaults: file belongs to a session; move it to [[session]]"),
        ("[batch]\nnme = 'x'\n" + SESSION, "batch.toml: batch: unknown key 'nme'; did you mean name?"),
        ("[[session]]\nname = 'x'\n", 'session 1: no file; add file = "…"'),
        ("[batch]\nname = 'x'\n", "batch.toml: no sessions; add [[session]] with file, or [[simulate]]"),
        ("[session]\nfile = 'x'\n", "expected sections [[session]] in double brackets"),
        ("[[simulate]]\nn_trails = 4\n", "batch.toml: simulate: unknown key 'n_trails'; did you mean n_trials?"),
        (SESSION + "[cluster]\nkind = 'slrum'\n", "cluster: kind: Input should be 'slurm', 'pbs'"),
        (SESSION + "[cluster]\nkind = 'slurm'\nwaltime = '1'\n", "unknown key 'waltime'; did you mean walltime?"),
        ("[[defaults]]\n" + SESSION, "batch.toml: expected one section [defaults]"),
    ],
)
def test_mistakes_are_named(tmp_path, text, message):
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[session]]\nfile = "*.nwb"\n', "no file matches '*.nwb' in "),
        (SESSION + SESSION, "two sessions would share the folder 'a'"),
        ('[[session]]\nfile = "*.toml"\nname = "x"\n', "name is for a single file; leave it out"),
    ],
)
def test_mistakes_that_show_in_the_plan(tmp_path, text, message):
    with pytest.raises(UsageError) as caught:
        plan_sessions(read(tmp_path, text), tmp_path)
    assert message in str(caught.value)


def write(folder, text):
    path = folder / "varied.toml"
    path.write_text(text, encoding="utf-8")
    return path


VARIED = '[defaults]\ntarget = "hand_velocity"\n[[simulate]]\nn_trials = 12\n'


def test_what_is_varied_is_one_section_or_several(tmp_path):
    one = read_batch_file(write(tmp_path, VARIED + '[vary]\nby = "lead"\nvalues = [-0.1, 0, 0.1]\n'))
    assert [(v.by, v.values, v.methods) for v in one.vary] == [("lead", (-0.1, 0, 0.1), ("ridge",))]
    text = VARIED + '[[vary]]\nby = "kind"\nmethods = "ridge, rgs"\n[[vary]]\nby = "trials"\ndraws = 1\n'
    assert [v.by for v in read_batch_file(write(tmp_path, text)).vary] == ["kind", "trials"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[vary]\nvalues = [1]\n", 'vary: expected what is varied, as by = "lead"'),
        ('[vary]\nby = "lead"\nvalue = [1]\n', "vary: unknown key 'value'; did you mean values"),
        ('[[vary]]\nby = "lead"\n[[vary]]\nby = "lead"\n', "vary: 'lead' is there twice"),
        ("vary = 3\n", r"sections \[\[vary\]\]"),
    ],
)
def test_a_variation_that_cannot_be_is_one_line(tmp_path, text, message):
    with pytest.raises(UsageError, match=message):
        read_batch_file(write(tmp_path, text if text.startswith("vary =") else VARIED + text))
