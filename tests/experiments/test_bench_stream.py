"""neurofs bench stream, and the experiment across days, in small."""

import numpy as np
import pytest

from neurofs.experiments.bench import stream
from neurofs.experiments.reproduce import across_days, list_claims, render, save_figure


def test_stream_rows_in_small(monkeypatch):
    cases = (stream.Case("ridge", 200, 4, 50.0, {"ridge": 0.1}), stream.Case("knn", 200, 4, None, stream.KNN))
    for name, value in {"CASES": cases, "N_BINS": 50, "N_PREDICTED": 5, "HOUR": 1200}.items():
        monkeypatch.setattr(stream, name, value)
    rows = list(stream.measure_stream())
    assert [row.met for row in rows[:3]] == [True, None, None]
    assert rows[0].goal == "at most 50 ms"
    assert rows[-1].what.startswith("peak memory after 1,200 bins")


@pytest.mark.slow
def test_across_days_in_small(tmp_path, monkeypatch):
    for name, value in {"N_TRIALS": 60, "N_LATER": 1, "N_PARTS": 3, "DECODERS": ("ridge", "kalman")}.items():
        monkeypatch.setattr(across_days, name, value)
    table = across_days.run(repetitions=1)
    assert set(table["kind"]) == {"drifting", "still", "running"}
    assert np.isfinite(table["r2"]).all()
    assert len(list_claims("across-days", table)) == 5
    assert "goes on learning" in render("across-days", table)
    assert save_figure("across-days", table, tmp_path / "days.png").stat().st_size > 1000
    changes = across_days.compare_days(table, "still")
    own = table[(table["kind"] == "still") & (table["decoder"] == "ridge")].set_index("done")["r2"]
    assert changes["ridge"].iloc[0] == pytest.approx(own["adapted"] - own["as it is"])
