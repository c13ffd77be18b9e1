"""Windows around an event: equal to a plain reference, at their level by chance, and right about when it begins."""

import numpy as np
import pandas as pd
import pytest

import neurofs
from neurofs.comparison.event_time import (
    Aligned,
    align,
    decode_time,
    find_slow,
    fit_ridge,
    remove_slow,
    shift_agreement,
    weigh_clusters,
)
from neurofs.ground.errors import InputError, UsageError

ENDS = np.round(-0.3 + 0.1 * np.arange(12), 9)


def make_trials(seed, *, onset=None, gain=2.0, kind="classes", n=60, n_channels=8):
    """Poisson counts with slow drift; from `onset` on, within one window's width, they follow the target."""
    rng = np.random.default_rng([seed, 5])
    if kind == "classes":
        Y = np.eye(4)[np.concatenate([rng.permutation(4) for _ in range(n // 4)])]
    else:
        Y = np.cumsum(rng.normal(size=(n, 1)), axis=0)
    Y = np.repeat(Y[:, None], len(ENDS), axis=1)
    rate = 5 * np.exp(np.cumsum(rng.normal(0, 0.1, size=(n, 1, n_channels)), axis=0)) * np.ones((1, len(ENDS), 1))
    if onset is not None:
        grown = np.clip((ENDS - onset) / 0.2, 0, 1)
        rate = rate * np.exp(gain * 0.35 * (Y @ rng.normal(size=(Y.shape[2], n_channels))) * grown[:, None])
    counts = rng.poisson(rate).astype(float)
    return Aligned(counts, Y, ENDS, 0.2, list("abcd") if kind == "classes" else [], ["y"])


def test_counts_and_targets_are_those_of_the_windows():
    session = neurofs.simulate_session(30, n_electrodes=1, random_state=2)
    found = align(session, "hand_velocity", "move_onset", around=(-0.4, 0.4), width=0.2, step=0.1)
    assert found.ends.tolist() == [-0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4]
    trial, window, channel = 7, 3, 0
    stop = session.trials["move_onset"][trial] + found.ends[window]
    times = session.spikes[channel]
    assert found.counts[trial, window, channel] == np.sum((times >= stop - 0.2) & (times < stop))
    hand = session.behavior["hand_velocity"]
    assert found.targets[trial, window, 1] == pytest.approx(np.interp(stop - 0.1, hand.time, hand.values[:, 1]))
    classes = align(session, "direction", "move_onset")
    assert classes.classes == [str(45 * i) for i in range(8)]
    assert classes.targets[trial, 0].argmax() == session.trials["direction"][trial] // 45


def test_counts_of_stored_bins():
    counts = np.arange(80).reshape(40, 2)
    trials = pd.DataFrame({"start": 0.1 * np.arange(0, 40), "stop": 0.1 * np.arange(1, 41)})
    trials["side"] = ["left", "right"] * 20
    session = neurofs.Recording("bins", counts=counts, bin_width=0.1, trials=trials)
    found = align(session, "side", "start", around=(0.0, 0.2), width=0.2, step=0.1)
    np.testing.assert_array_equal(found.counts[3, 0], counts[3:5].sum(axis=0))


def test_ridge_has_the_least_leave_one_out_error():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    Y = Y + X[:, :2]
    coefficients, offset = fit_ridge(X, Y)

    def plain(strength, rows):
        center, mean = X[rows].mean(axis=0), Y[rows].mean(axis=0)
        gram = (X[rows] - center).T @ (X[rows] - center) + strength * np.eye(4)
        solved = np.linalg.solve(gram, (X[rows] - center).T @ (Y[rows] - mean))
        return solved, mean - center @ solved

    scale = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    strengths = np.geomspace(1e-3, 1e3, 13) * np.mean(scale**2)
    fits = [plain(strength, np.arange(30)) for strength in strengths]
    chosen = next(i for i, (c, _) in enumerate(fits) if np.allclose(c, coefficients))
    np.testing.assert_allclose(fits[chosen][1], offset)
    errors = []
    for strength in strengths:
        left = [(i, plain(strength, np.delete(np.arange(30), i))) for i in range(30)]
        errors.append(sum(np.sum((Y[i] - X[i] @ c - o) ** 2) for i, (c, o) in left))
    assert errors[chosen] <= 1.01 * min(errors)


def test_shifted_agreement_is_the_plain_correlation():
    rng = np.random.default_rng(1)
    predicted, targets = rng.normal(size=(2, 2, 12, 3)), rng.normal(size=(2, 12, 3))
    slow = find_slow(np.repeat([0, 1, 2], 4))
    np.testing.assert_allclose(remove_slow(np.repeat([[2.0], [3.0], [4.0]], 4, axis=0), slow), 0, atol=1e-12)
    found = shift_agreement(predicted, targets, slow)
    for shift in range(12):
        for i in range(2):
            for j in range(2):
                guess = remove_slow(predicted[i, j], slow).ravel()
                truth = remove_slow(np.roll(targets[j], shift, axis=0), slow).ravel()
                assert found[shift, i, j] == pytest.approx(guess @ truth / np.sqrt(guess @ guess * (truth @ truth)))


def test_a_cluster_is_as_rare_as_its_sum():
    agreement = np.zeros((20, 4))
    agreement[0] = [0, 3, 3, 0]
    agreement[1:, 0] = np.linspace(0, 1, 19)
    assert weigh_clusters(agreement) == [(1, 3, 1 / 20)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classes", "walk"])
def test_windows_hold_their_level_on_independent_targets(kind):
    found = [decode_time(make_trials(seed, kind=kind)) for seed in range(100)]
    assert np.mean([float(data["p_cluster"].min()) <= 0.05 for data in found]) <= 0.10  # 5 %, and its chance
    assert np.mean([float(data["p"].min()) <= 0.05 for data in found]) <= 0.10


def test_the_onset_is_found():
    held = 0
    for seed in range(10):
        data = decode_time(make_trials(500 + seed, onset=0.2))
        _, low, high = data.attrs["onset"]
        held += low - 0.1 <= 0.2 <= high
        assert (data["p_cluster"].sel(time=slice(0.5, None)) <= 0.05).all()
    assert held >= 9


def test_what_is_said_saved_and_shown(tmp_path):
    session = neurofs.simulate_session(40, n_electrodes=4, random_state=1)
    found = neurofs.decode_around(session, "direction", "move_onset", around=(-0.6, 0.8), step=0.2)
    assert "direction is decoded beyond chance in windows that end" in found.sentences[0]
    assert "over resampled trials (95 %), information begins between" in found.sentences[1]
    assert "A decoder of the best window also serves windows that end" in found.sentences[2]
    assert "12 % of them of the most frequent class" in found.sentences[-1]
    assert neurofs.read_time_course(found.save(tmp_path)) == found
    assert "Generalization across time" in (tmp_path / "time_course.html").read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="the trials have no column 'go'"):
        neurofs.decode_around(session, "direction", "go")
    with pytest.raises(UsageError, match="expected at least 20 trials"):
        neurofs.decode_around(session, "direction", "move_onset", around=(-500, 1), step=1.0)
    with pytest.raises(InputError, match="a finished time course"):
        neurofs.read_time_course(tmp_path / "nowhere")


@pytest.mark.parametrize(("around", "width"), [((0.0, 1e9), 0.2), ((-0.5, 1.0), 1e-9)])
def test_windows_without_end_are_refused(around, width):
    session = neurofs.simulate_session(12, n_electrodes=1, random_state=2)
    with pytest.raises(UsageError, match="step: expected at most 1000 windows"):
        align(session, "hand_velocity", "move_onset", around=around, width=width, step=width / 2)
