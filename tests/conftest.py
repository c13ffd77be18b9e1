from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests of Dask need the extra `cluster`; CI must have it."""
    if item.get_closest_marker("dask") and find_spec("distributed") is None:
        message = "Dask is not installed (pip install neurofs[cluster])"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with real recordings, which are not part of the project; CI must have it."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("NEUROFS_SHARED_DATA", default))
    if not folder.is_dir():
        message = f"no real recordings at {folder} (set NEUROFS_SHARED_DATA)"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    return folder
