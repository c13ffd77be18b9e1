"""Published experiments, run again, with the published figures beside ours; and experiments of our own.

An experiment is a module with ``MINUTES`` (about what its default takes on one core) and four functions:
``run(...)`` returns a table with one row per figure, ``tabulate(table)`` the lines to print, ``claims(table)``
each claim beside what we find, and ``plot(table)`` a matplotlib figure. One that nobody published has ``OURS = True``,
and its claims have no published figure.
"""

import inspect
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from neurofs.experiments.reproduce.claims import Claim, render_claims
from neurofs.experiments.reproduce.tables import Progress
from neurofs.ground.errors import UsageError, quoted
from neurofs.ground.files import write_atomically

__all__ = [
    "EXPERIMENTS",
    "check_figure",
    "count_repetitions",
    "describe_experiments",
    "find_experiment",
    "is_ours",
    "list_claims",
    "list_experiments",
    "render",
    "reproduce",
    "save_figure",
    "takes_jobs",
]

EXPERIMENTS = {
    "navot2005-fig2": "neurofs.experiments.reproduce.navot2005",
    "20-of-640": "neurofs.experiments.reproduce.planted",
    "stevenson-prefixes": "neurofs.experiments.reproduce.prefixes",
    "xor": "neurofs.experiments.reproduce.xor",
    "margins": "neurofs.experiments.reproduce.margins",
    "peaking": "neurofs.experiments.reproduce.peaking",
    "validity": "neurofs.experiments.reproduce.validity",
    "ebfs": "neurofs.experiments.reproduce.ebfs",
    "meta-features": "neurofs.experiments.reproduce.meta_features",
    "guided-extraction": "neurofs.experiments.reproduce.guided_extraction",
    "guided-channels": "neurofs.experiments.reproduce.guided_channels",
    "transfer": "neurofs.experiments.reproduce.transfer",
    "ordered-fs": "neurofs.experiments.reproduce.ordered_fs",
    "focus": "neurofs.experiments.reproduce.focus",
    "focus-direction": "neurofs.experiments.reproduce.focus_direction",
    "dependency": "neurofs.experiments.reproduce.dependency",
    "significance": "neurofs.experiments.reproduce.significance",
    "across-days": "neurofs.experiments.reproduce.across_days",
}


def find_experiment(name: str) -> Any:
    """Return the module of an experiment."""
    if name not in EXPERIMENTS:
        raise UsageError(f"no experiment named {name!r}; choose one of {', '.join(EXPERIMENTS)}, or all")
    return import_module(EXPERIMENTS[name])


def describe_experiments() -> list[dict[str, Any]]:
    """Return the experiments by name: minutes on one core, whether it is ours and not published, and what it is."""
    modules = {name: find_experiment(name) for name in EXPERIMENTS}
    return [
        {"name": name, "minutes": module.MINUTES, "ours": is_ours(module), "about": describe_experiment(module)}
        for name, module in modules.items()
    ]


def is_ours(module: Any) -> bool:
    """Return whether an experiment is our own, and not a published one run again."""
    return bool(getattr(module, "OURS", False))


def list_experiments() -> str:
    """Return the experiments as text."""
    lines = [
        f"{e['name']:<20}{e['minutes']:>3} min  {'our own' if e['ours'] else 'published':<11}{e['about']}"
        for e in describe_experiments()
    ]
    return "\n".join([*lines, "", "neurofs reproduce NAME runs one, neurofs reproduce all runs them all."])


def describe_experiment(module: Any) -> str:
    """Return the first line of what an experiment is."""
    return (module.__doc__ or "").splitlines()[0]


def count_repetitions(name: str) -> int:
    """Return the repetitions of an experiment if nothing else is asked for."""
    return int(inspect.signature(find_experiment(name).run).parameters["repetitions"].default)


def takes_jobs(name: str) -> bool:
    """Return whether an experiment can use several processes by itself."""
    return "jobs" in inspect.signature(find_experiment(name).run).parameters


def reproduce(name: str, progress: Progress = None, **options: Any) -> tuple[Any, str]:
    """Run an experiment by name; return its table and the text to print.

    `progress(done, total)` is called now and then. `options` go to the experiment: `repetitions`, `seed`.
    """
    table = find_experiment(name).run(progress=progress, **options)
    return table, render(name, table)


def render(name: str, table: Any) -> str:
    """Return the tables of an experiment and its claims as text."""
    lines = [*find_experiment(name).tabulate(table), "", *render_claims(list_claims(name, table))]
    return "\n".join(lines)


def list_claims(name: str, table: Any) -> list[Claim]:
    """Return the claims of an experiment beside our figures."""
    return list(find_experiment(name).claims(table))


def check_figure(path: Path) -> None:
    """Raise an error unless the end of a file's name is a kind of figure that can be drawn."""
    from matplotlib.backend_bases import FigureCanvasBase

    kinds = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.lower().removeprefix(".") not in kinds:
        raise UsageError(f"no figure can be saved as {quoted(path.name)}; end it in .png, .svg or .pdf")


def save_figure(name: str, table: Any, path: Path) -> Path:
    """Save the figure of an experiment to `path`, whole or not at all."""
    image = BytesIO()
    find_experiment(name).plot(table).savefig(image, format=path.suffix.removeprefix("."), dpi=120)
    return write_atomically(path, image.getvalue())
