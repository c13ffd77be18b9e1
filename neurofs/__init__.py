"""Feature selection for neural recordings: which channels, at which lags, carry the movement.

The path of the data is a handful of names, imported when they are first used:

>>> import neurofs
>>> session = neurofs.simulate_session(20, random_state=1)          # or neurofs.load("session.nwb")
>>> tensor = neurofs.build_tensor(session, "hand_velocity", bin_width=0.1, n_lags=10)
>>> samples, y, trial = neurofs.to_samples(tensor)
>>> samples.shape, y.shape
((271, 640), (271, 2))
"""

import importlib
from typing import Any

__version__ = "0.2.0"

_HOMES = {
    "Recording": "neurofs.recordings.recording",
    "Series": "neurofs.recordings.recording",
    "Samples": "neurofs.features.samples",
    "load": "neurofs.recordings.readers",
    "build_tensor": "neurofs.features.tensor",
    "to_samples": "neurofs.features.tensor",
    "map_features": "neurofs.features.tensor",
    "simulate_session": "neurofs.recordings.simulate",
    "map_truth": "neurofs.recordings.simulate",
    "write": "neurofs.recordings.writers",
    "inspect_file": "neurofs.recordings.quality",
    "RGS": "neurofs.selectors.rgs",
    "KernelRGS": "neurofs.selectors.kernel_rgs",
    "SELECTORS": "neurofs.selectors",
    "DECODERS": "neurofs.decoders",
    "SoftKNN": "neurofs.decoders.nearest",
    "LocalLinear": "neurofs.decoders.nearest",
    "KernelRidgeMetric": "neurofs.decoders.kernel_ridge",
    "KernelRGSDecoder": "neurofs.decoders.kernel_rgs",
    "Selector": "neurofs.selectors.base",
    "Decoder": "neurofs.decoders.base",
    "TunedDecoder": "neurofs.decoders.base",
    "Method": "neurofs.ground.method",
    "Work": "neurofs.ground.works",
    "BlockedKFold": "neurofs.features.splits",
    "compare": "neurofs.pipeline",
    "decode": "neurofs.running.session",
    "Comparison": "neurofs.comparison.comparison",
    "read": "neurofs.comparison.comparison",
    "save": "neurofs.comparison.comparison",
    "render": "neurofs.report.page",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'neurofs' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
