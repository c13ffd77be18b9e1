"""What the simulator knows to be true is found."""

import numpy as np
import pytest

from neurofs.selectors import RGS, SKS, CorrCoef, InfoGain
from neurofs.simulate import map_truth, simulate_session
from neurofs.tensor import build_tensor, map_features, to_samples


@pytest.fixture(scope="module")
def day():
    session = simulate_session(420, random_state=21)
    tensor = build_tensor(session, "hand_velocity")
    rows = np.flatnonzero(tensor["valid"].values)
    truth = map_truth(session, tensor["lag"].values.tolist(), 0.1).transpose("channel", "lag").values
    return tensor, to_samples(tensor), tensor["target"].values[rows], tensor["trial"].values[rows], truth


def tuned_channels_found(selector, day):
    """The share of truly tuned channels among those of the 100 best features."""
    tensor, samples, Y, trials, truth = day
    ranking = map_features(selector.fit(samples, Y, groups=trials).ranking_, tensor).values
    tuned, hit = truth.any(axis=1), (ranking <= 100).any(axis=1)
    return (tuned & hit).sum() / tuned.sum()


def test_rgs_finds_more_of_the_tuned_channels_than_every_ranker(day):
    rgs = RGS(n_epochs=3, survey=False, multi_output="separate", random_state=0)
    found = tuned_channels_found(rgs, day)
    rivals = {kind.__name__: tuned_channels_found(kind(), day) for kind in (SKS, InfoGain, CorrCoef)}
    assert found >= 0.65
    assert found >= max(rivals.values()) + 0.1, rivals
