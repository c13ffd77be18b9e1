"""Files with something wrong, and the check of what is said about them.

A row is an id, a function that writes the file into a folder and returns its path, the options, and the parts
that the message must have, in order.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.io
from writers import write_h5, write_mat73, write_npz, write_text

from neurofs.ground.errors import InputError, UsageError
from neurofs.recordings.readers import load

Row = tuple[str, Callable[[Path], Path], dict[str, Any], tuple[str, ...]]

COUNTS = np.arange(60, dtype=np.uint8).reshape(20, 3) % 4
VELOCITY = np.linspace(-1, 1, 40).reshape(20, 2)
SOUND = {"counts": COUNTS, "velocity": VELOCITY, "bin_width": 0.05}


def npz(**changes: Any) -> Callable[[Path], Path]:
    """A sound archive of counts with some arrays changed (or, with None, left out)."""
    arrays = {name: value for name, value in (SOUND | changes).items() if value is not None}
    return lambda folder: write_npz(folder / "session.npz", **arrays)


def only(**arrays: Any) -> Callable[[Path], Path]:
    return lambda folder: write_npz(folder / "session.npz", **arrays)


def text(name: str, content: str, **others: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        for other, body in others.items():
            write_text(folder / f"{other}.csv", body)
        return write_text(folder / name, content)

    return make


def h5(change: Callable[[h5py.File], Any]) -> Callable[[Path], Path]:
    """A sound HDF5 file to which something is done."""

    def make(folder: Path) -> Path:
        path = write_h5(folder / "session.h5", **SOUND)
        with h5py.File(path, "r+") as file:
            change(file)
        return path

    return make


def cut(make: Callable[[Path], Path], keep: float) -> Callable[[Path], Path]:
    """The same file, cut off."""

    def make_cut(folder: Path) -> Path:
        path = make(folder)
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * keep)])
        return path

    return make_cut


def mat(compress: bool = False, **values: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        scipy.io.savemat(folder / "session.mat", SOUND | values, do_compression=compress)
        return folder / "session.mat"

    return make


def mat73(**values: Any) -> Callable[[Path], Path]:
    return lambda folder: write_mat73(folder / "session.mat", **values)


def trial_data(n_rows: int = 10, **changes: Any) -> dict[str, Any]:
    return {
        "trial_id": 1.0,
        "bin_size": 0.05,
        "M1_spikes": np.ones((n_rows, 4)),
        "vel": np.linspace(0, 1, 2 * n_rows).reshape(n_rows, 2),
        "idx_go": 3.0,
    } | changes


def each_row(rows: list[Row]) -> pytest.MarkDecorator:
    """Give a test `make`, `options` and `parts` of every row."""
    return pytest.mark.parametrize(("make", "options", "parts"), [pytest.param(*row[1:], id=row[0]) for row in rows])


def check_refusal(make: Callable[[Path], Path], options: dict[str, Any], parts: tuple[str, ...], folder: Path) -> None:
    """Check that the file is refused in one line that has the parts, in order."""
    path = make(folder)
    if path.suffix == ".nev":
        pytest.importorskip("neo", reason="the optional package neo is not installed")
    with pytest.raises((InputError, UsageError)) as caught:
        load(path, **options)
    message = str(caught.value)
    assert caught.value.exit_code == 2
    assert message.startswith((f"{path.name}: ", "session.npz: ", "gone.npz: "))
    assert message.isprintable()
    position = 0
    for part in parts:
        assert part in message[position:], message
        position += message[position:].index(part)
