"""Large sessions are measured as they are decoded: tried on a small one. No test asserts a time."""

import numpy as np
import pytest

from neurofs.experiments.bench import scale
from neurofs.features.tensor import build_tensor
from neurofs.recordings.readers import load

SMALL = scale.Large(6, 400, 0.1, 3, minutes=5, gigabytes=8)


def test_the_session_has_its_size_and_can_be_decoded(tmp_path):
    recording = load(scale.write_session(SMALL, tmp_path / "day.npz"))
    tensor = build_tensor(recording, "velocity", bin_width=SMALL.bin_width, n_lags=SMALL.n_lags)
    assert tensor["features"].shape == (400, 6, 3)
    assert int(tensor["valid"].sum()) == 398
    assert np.shares_memory(tensor["features"].values, tensor["counts"].values)


@pytest.mark.slow
def test_each_stage_and_method_has_its_row(monkeypatch):
    monkeypatch.setattr(scale, "LARGE", SMALL)
    rows = {row.what.strip(): row for row in scale.measure_scale()}
    assert [name for name in rows if name[:5] in ("read,", "selec", "test ", "write")] == list(rows)[:4]
    assert {"tasks of rgs, together", "tasks of ridge, together", "report.html"} < set(rows)
    total = rows[f"decode {SMALL}"]
    assert total.met, total


def test_memory_of_children_is_counted(tmp_path):
    from contextlib import closing

    import jobs

    from neurofs.running.worker import Shared, Worker

    with scale.Stages() as stages, stages.measure("before"):
        pass
    with closing(Worker()) as worker, scale.Stages() as later, later.measure("a child"):
        worker.call(jobs.fill, Shared.pack("", None), 2**28)
    assert later.done[0].memory > stages.done[0].memory
