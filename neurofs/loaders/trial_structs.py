"""Trial structs."""

from __future__ import annotations
from typing import Any
from neurofs.loaders.variables import Variables


def find_trial_structs(v: Variables) -> str | None:
    return None


def read_trial_structs(v: Variables, name: str) -> dict[str, Any]:
    raise NotImplementedError
