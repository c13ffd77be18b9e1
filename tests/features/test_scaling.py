"""Channels of a continuous signal on one scale, found on the training part alone."""

from dataclasses import replace

import numpy as np
import pytest

import neurofs
from neurofs.comparison.channel_tests import ask_channels
from neurofs.comparison.problem import Problem
from neurofs.decoders.online import OnlineDecoder
from neurofs.features.samples import Samples
from neurofs.features.scaling import NORMAL, find_scaling, scale_samples
from neurofs.features.tensor import build_tensor
from neurofs.ground.config import CompareOptions
from neurofs.ground.errors import UsageError
from neurofs.recordings.calcium import image_calcium
from neurofs.recordings.simulate import simulate_session

RNG = np.random.default_rng(11)
VALUES = (RNG.normal(size=(300, 3)) * [0.01, 1.0, 1000.0] + [5, 0, -7000]).astype(np.float32)


@pytest.fixture(scope="module")
def session():
    return image_calcium(simulate_session(24, n_electrodes=6, random_state=7), 7)


def test_scaling_is_that_of_each_channel_at_the_newest_bins():
    samples = Samples.from_counts(VALUES, n_lags=4)[50:200]
    found = find_scaling(samples)
    own = VALUES[53:203].astype(np.float64)  # row 50 ends with bin 53
    assert np.array_equal(found.center, np.median(own, axis=0))
    assert np.array_equal(found.spread, np.subtract(*np.percentile(own, [95, 5], axis=0)) / NORMAL)
    scaled = np.asarray(scale_samples(samples, found)).reshape(150, 4, 3)
    expected = (np.asarray(samples).reshape(150, 4, 3) - found.center) / found.spread
    assert np.allclose(scaled, expected, rtol=1e-6)
    assert np.allclose(scaled[:, -1].std(axis=0), 1, atol=0.15)


def test_artifacts_do_not_change_the_scale_and_rare_events_have_one():
    spoiled = VALUES.copy()
    spoiled[::40] = 1e6
    clean, found = (find_scaling(Samples.from_counts(v, n_lags=1)).spread for v in (VALUES, spoiled))
    assert np.all(np.abs(found / clean - 1) < 0.2)
    rare = np.zeros((200, 2))
    rare[7, 0] = 3.0
    found = find_scaling(Samples.from_counts(rare, n_lags=1))
    assert np.allclose(found.spread, [rare[:, 0].std(), 1.0])


def test_counts_are_never_scaled():
    tensor = build_tensor(simulate_session(12, n_electrodes=2), "hand_velocity", n_lags=3)
    problem = Problem.from_tensor(tensor, CompareOptions(n_splits=3))
    assert problem.find_scaling() is None
    assert problem.scale(problem.folds[0].train) is problem.samples


def test_the_test_part_has_no_say_in_the_scale(session):
    tensor = build_tensor(session, "hand_velocity", n_lags=3)
    problem = Problem.from_tensor(tensor, CompareOptions(n_splits=3))
    fold = problem.folds[0]
    other = problem.samples.flat.copy().reshape(-1, problem.samples.n_channels)
    newest = problem.samples.starts // problem.samples.n_channels + problem.samples.n_lags - 1
    other[newest[fold.test]] *= 1000
    changed = replace(problem, samples=replace(problem.samples, flat=other.reshape(-1)))
    before, after = problem.find_scaling(fold.train), changed.find_scaling(fold.train)
    assert np.array_equal(before.center, after.center)
    assert np.array_equal(before.spread, after.spread)
    assert not np.array_equal(before.spread, changed.find_scaling().spread)


def test_units_of_channels_do_not_matter(session):
    """Scores are the same if every channel is measured in another unit, with another zero."""
    factor, zero = 2.0 ** RNG.integers(-3, 8, session.n_channels), 2.0 ** RNG.integers(-3, 3, session.n_channels)
    other = replace(session, counts=session.counts.astype(np.float64) * factor + zero)
    options = {"selectors": ["corrcoef"], "decoders": ["knn"], "n_splits": 3, "n_lags": 3, "sizes": [5, 20]}
    one, two = (neurofs.compare(r, "hand_velocity:x", **options).scores for r in (session, other))
    assert np.allclose(one["r2"], two["r2"], atol=2e-3)


def test_the_truth_of_simulated_calcium_is_found():
    """Most channels that follow the movement are tuned; hardly any of those that do not."""
    session = image_calcium(simulate_session(80, n_electrodes=12, random_state=20), 20)
    tensor = build_tensor(session, "hand_velocity")
    problem = Problem.from_tensor(tensor, CompareOptions())
    tests, _ = ask_channels(problem, session.channels["name"].tolist(), tensor["lag"].values)
    found = np.array([one.tuned for one in tests.channels])
    table = session.channels
    follows = table["tuning"].isin(["cosine", "speed"]).to_numpy()
    hears = [table[follows]["electrode"].isin([e]).any() for e in table["electrode"]]
    mixes = (table["kind"] == "threshold").to_numpy() & np.array(hears)
    product = (table["tuning"] == "product").to_numpy()
    nothing = ~follows & ~mixes & ~product
    assert found[follows].mean() >= 0.7
    assert found[nothing].sum() <= 0.1 * found.sum() + 1


def test_models_of_signals_predict_stream_and_refuse_spikes(session, tmp_path):
    model = neurofs.fit(session, "hand_velocity", decoder="ridge", n_lags=3, n_splits=3)
    assert model.head.numbers == "dF/F"
    again = neurofs.read_model(model.save(tmp_path / "model"))
    predicted = model.predict(session)
    assert np.array_equal(again.predict(session)["predicted"], predicted["predicted"])
    truth = build_tensor(session, "hand_velocity", n_lags=3)
    rows = truth["valid"].values
    fit = predicted["predicted"].values[np.isin(predicted["time"].values, truth["time"].values[rows])]
    assert 1 - ((fit - truth["target"].values[rows]) ** 2).mean() / truth["target"].values[rows].var() > 0.3
    decoder, counts = OnlineDecoder(again), truth["counts"].values
    first = int(np.flatnonzero(rows)[0])
    for row in range(first - 2, first + 1):
        estimate, _ = decoder.step(counts[row])
    assert np.allclose(estimate, fit[0], rtol=1e-5)
    with pytest.raises(UsageError, match="expected dF/F, which the model decodes; found spikes"):
        model.predict(simulate_session(3, n_electrodes=6, random_state=7))
