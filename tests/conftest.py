from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with real recordings, which are not part of the project; CI must have it."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("NEUROFS_SHARED_DATA", default))
    if not folder.is_dir():
        message = f"no real recordings at {folder} (set NEUROFS_SHARED_DATA)"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    return folder
