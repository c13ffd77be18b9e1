"""Measurements: speed and memory beside those of the peers, as ratios that are taken in one run."""

from collections.abc import Iterator
from importlib import import_module

from neurofs.experiments.bench.row import Row
from neurofs.ground.errors import UsageError

__all__ = ["BENCHES", "BY_DEFAULT", "measure"]

BENCHES = {
    "data": "neurofs.experiments.bench.data:measure_data",
    "loops": "neurofs.experiments.bench.loops:measure_loops",
    "selectors": "neurofs.experiments.bench.selectors:measure_selectors",
    "decode": "neurofs.experiments.bench.decode:measure_decode",
    "batch": "neurofs.experiments.bench.batch:measure_batch",
    "stream": "neurofs.experiments.bench.stream:measure_stream",
    "scale": "neurofs.experiments.bench.scale:measure_scale",
}
BY_DEFAULT = tuple(name for name in BENCHES if name != "scale")
"""What is measured unless something is asked for by name."""


def measure(name: str, **options: bool) -> Iterator[Row]:
    """Yield the rows of one benchmark as they are measured; `options` are those of scale."""
    if name not in BENCHES:
        raise UsageError(f"no benchmark named {name!r}; choose one of {', '.join(BENCHES)}")
    module, function = BENCHES[name].split(":")
    yield from getattr(import_module(module), function)(**options)
