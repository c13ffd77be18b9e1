"""Published experiments, run again, with the published figures beside ours.

Each module has ``run(...) -> DataFrame`` (one tidy row per figure) and ``render(table) -> str``; some also
``plot(table, path)``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from neurofs.errors import UsageError

__all__ = ["EXPERIMENTS", "list_experiments", "reproduce", "save_figure"]

EXPERIMENTS = {
    "navot2005-fig2": "neurofs.reproduce.navot2005",
    "20-of-640": "neurofs.reproduce.planted",
    "stevenson-prefixes": "neurofs.reproduce.prefixes",
    "xor": "neurofs.reproduce.xor",
    "peaking": "neurofs.reproduce.peaking",
    "ordered-fs": "neurofs.reproduce.ordered_fs",
    "focus": "neurofs.reproduce.focus",
    "focus-direction": "neurofs.reproduce.focus_direction",
}


def list_experiments() -> str:
    """Return the experiments by name, with the first line of what each one is."""
    from importlib import import_module

    lines = {
        name: (import_module(module).__doc__ or "").splitlines()[0] for name, module in EXPERIMENTS.items()
    }
    return "\n".join(f"{name:<20}{line}" for name, line in lines.items())


def reproduce(
    name: str, progress: Callable[[int, int], None] | None = None, **options: Any
) -> tuple[Any, str]:
    """Run an experiment by name; return its table and the text to print.

    `progress(done, total)` is called now and then. `options` go to the experiment: `repetitions`, `seed`.
    """
    from importlib import import_module

    if name not in EXPERIMENTS:
        raise UsageError(f"no experiment named {name!r}; choose one of {', '.join(EXPERIMENTS)}")
    module = import_module(EXPERIMENTS[name])
    table = module.run(progress=progress, **options)
    return table, module.render(table)


def save_figure(name: str, table: Any, path: Path | None = None) -> Path | None:
    """Save the figure of an experiment, by default as NAME.png here; None if it has none."""
    from importlib import import_module

    module = import_module(EXPERIMENTS[name])
    if not hasattr(module, "plot"):
        return None
    path = path or Path(f"{name}.png")
    module.plot(table, path)
    return path
