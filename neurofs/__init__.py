"""Feature selection for neural recordings: which channels, at which lags, carry the movement.

The path of the data is a handful of names, imported when they are first used:

>>> import neurofs
>>> session = neurofs.simulate_session(20, random_state=1)          # or neurofs.load("session.nwb")
>>> tensor = neurofs.build_tensor(session, "hand_velocity", bin_width=0.1, n_lags=10)
>>> neurofs.to_samples(tensor).shape
(271, 640)
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Recording": "neurofs.recording",
    "Series": "neurofs.recording",
    "Samples": "neurofs.samples",
    "load": "neurofs.loaders",
    "build_tensor": "neurofs.tensor",
    "to_samples": "neurofs.tensor",
    "map_features": "neurofs.tensor",
    "simulate_session": "neurofs.simulate",
    "map_truth": "neurofs.simulate",
    "write": "neurofs.writers",
    "inspect_file": "neurofs.inspection",
    "RGS": "neurofs.selectors.rgs",
    "KernelRGS": "neurofs.selectors.kernel_rgs",
    "SELECTORS": "neurofs.selectors",
    "DECODERS": "neurofs.decoders",
    "SoftKNN": "neurofs.metric_decoders",
    "LocalLinear": "neurofs.metric_decoders",
    "KernelRidgeMetric": "neurofs.metric_decoders",
    "KernelRGSDecoder": "neurofs.kernel_decoder",
    "BlockedKFold": "neurofs.splits",
    "compare": "neurofs.pipeline",
    "decode": "neurofs.pipeline",
    "Comparison": "neurofs.results",
    "read": "neurofs.results",
    "save": "neurofs.results",
    "render": "neurofs.report",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'neurofs' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
