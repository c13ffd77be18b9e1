"""The benchmark of the selectors runs, in small, and compares like with like. No test asserts a time."""

import numpy as np
import pytest

from neurofs.experiments.bench import BENCHES, selectors
from neurofs.selectors import ReliefF


def test_rows_in_small():
    rows = [
        selectors.sks_row(120, channels=2),
        selectors.forward_row(120, channels=2, n_steps=2),
        selectors.gflip_row(80, n_features=6),
    ]
    assert all(row.met is True for row in rows)
    assert "N = 20" in rows[0].what
    assert "selectors" in BENCHES


def test_few_samples_are_fitted_alike_with_normal_and_full_effort():
    _, _, gap = selectors.rgs_rows(200, channels=2)
    assert float(gap.figure) == 0
    assert "m = 60 to 90" in selectors.growth_row(60, 90, channels=2).what


def test_relieff_equals_skrebates():
    pytest.importorskip("skrebate", reason="skrebate is not installed")
    ratio, same, gap = selectors.relieff_rows(120, 40)
    assert "times faster" in ratio.figure
    assert same.met is True
    assert float(gap.figure) < 1e-6


def test_skrebate_is_skipped_by_name(monkeypatch):
    monkeypatch.setattr(selectors, "find_spec", lambda name: None)
    (row,) = selectors.relieff_rows(60, 30)
    assert row.figure == "skipped: skrebate is not installed"
    assert row.met is None


def test_the_task_of_relieff_has_features_to_find():
    X, y = selectors.relieff_task(300, 60)
    assert np.mean(ReliefF().fit(X, y).order_[:15] < 25) > 0.9
