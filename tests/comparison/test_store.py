"""Results of tasks, kept in files."""

import dataclasses

import numpy as np
import pytest

from neurofs.comparison.store import TaskResult, TaskStore

SELECTED = TaskResult(
    [{"method": "rgs + auto", "n": 3, "r2": float("nan")}],
    weights=np.arange(4, dtype=np.float32),
    order=np.arange(4, dtype=np.int32),
    predicted={"rgs": np.ones(3, np.float32), "rgs + auto": np.zeros(3, np.float32)},
    seconds=0.5,
)
JOINT = TaskResult(
    [{"n": 4}],
    kept=np.array([True, False]),
    predicted={"kernel-rgs": np.ones((3, 2), np.float32)},
    deviation={"kernel-rgs": np.full((3, 2), 2.0, np.float32)},
)


@pytest.mark.parametrize("result", [SELECTED, JOINT, TaskResult([{"shift": 3}])])
def test_a_result_is_read_as_it_was_written(result, tmp_path):
    store = TaskStore(tmp_path)
    store.write("task", "key", result)
    found = store.read("task", "key")
    np.testing.assert_equal(dataclasses.asdict(found), dataclasses.asdict(result))
    assert list(found.predicted) == list(result.predicted)


def test_what_is_damaged_or_of_another_form_is_not_used(tmp_path):
    store = TaskStore(tmp_path)
    store.write("task", "key", SELECTED)
    whole = (tmp_path / "task.npz").read_bytes()
    (tmp_path / "task.npz").write_bytes(whole[: len(whole) // 2])
    assert store.read("task", "key") is None
    np.savez(tmp_path / "task.npz", head=np.frombuffer(b'{"key": "key", "rows": []}', np.uint8))
    assert store.read("task", "key") is None
    np.savez(tmp_path / "task.npz", head=np.frombuffer(b"[]", np.uint8))
    assert store.read("task", "key") is None


def test_no_byte_can_be_changed_unseen(tmp_path):
    store = TaskStore(tmp_path)
    store.write("task", "key", SELECTED)
    whole = (tmp_path / "task.npz").read_bytes()
    for place in range(0, len(whole), 7):
        (tmp_path / "task.npz").write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert store.read("task", "key") is None, place
    (tmp_path / "task.npz").write_bytes(whole)
    assert list(np.load(tmp_path / "task.npz")) == ["head", "weights", "order", "predicted_0", "predicted_1"]
