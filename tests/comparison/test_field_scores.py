"""Scores in the measure of the field, and what an answer that never changes would get."""

from types import SimpleNamespace

import numpy as np
import pytest

from neurofs.comparison.field_scores import guess_in_field


def make_problem(targets, outputs, classes=(), trials=None):
    return SimpleNamespace(targets=targets, outputs=outputs, classes=list(classes), trials=trials)


def test_the_guess_of_classes_counts_trials_not_samples():
    trials = np.repeat([0, 1, 2, 3], [2, 2, 2, 30])
    targets = np.repeat([0.0, 0.0, 0.0, 1.0], [2, 2, 2, 30])[:, None]
    assert guess_in_field(make_problem(targets, ["side"], ["left", "right"], trials)) == 0.75


def test_the_guess_of_an_angle_is_its_mean():
    angles = np.random.default_rng(0).vonmises(2.0, 1.5, 500)
    mean = np.angle(np.exp(1j * angles).mean())
    errors = [abs(np.angle(np.exp(1j * (angle - mean)))) for angle in angles]
    targets = np.column_stack([np.cos(angles), np.sin(angles)])
    assert guess_in_field(make_problem(targets, ["cos(ry)", "sin(ry)"])) == pytest.approx(np.degrees(np.mean(errors)))


def test_other_targets_have_no_measure_of_their_own():
    assert guess_in_field(make_problem(np.zeros((4, 2)), ["x", "y"])) is None
    assert guess_in_field(make_problem(np.zeros((4, 1)), ["side"], ["left", "right"])) is None, "without trials"
