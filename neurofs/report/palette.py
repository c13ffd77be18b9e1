"""One color, marker and line per selector, the same in every figure, told apart by every kind of color vision.

Each color has a partner for dark pages; `THEME` maps the color that a figure is drawn in to the CSS variable
that stands for both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "BLUE",
    "CHANCE",
    "INK",
    "MUTED",
    "PAPER",
    "RULE",
    "THEME",
    "TRUE",
    "VERMILION",
    "Key",
    "find_key",
    "name_method",
    "render_variables",
]

INK, MUTED, RULE, PAPER, TRUE, LEAK = "#1f2328", "#59626b", "#d5dade", "#ffffff", "#8a8f94", "#b3261e"
BLUE, VERMILION = "#0072b2", "#c2500a"
"""Accents of figures that show no method."""

_COLORS = {  # light, dark
    INK: "#e6e9ec",
    MUTED: "#a3acb5",
    RULE: "#3a424a",
    PAPER: "#15181b",
    TRUE: "#8b939b",
    LEAK: "#ff8a80",
    BLUE: "#5db4ec",
    "#5e3c99": "#b9a3e3",  # violet
    VERMILION: "#ff9350",
    "#007a5a": "#3ccfa4",  # green
    "#b23a80": "#f08cc0",  # magenta
    "#7a6400": "#e0c341",  # olive
    "#8a4b20": "#d6a077",  # brown
    "#2f7f8f": "#6fd0e0",  # teal
    "#6b7178": "#9aa2aa",  # gray
}

THEME = {light: f"--c{i}" for i, light in enumerate(_COLORS)}
"""CSS variable of each color that figures are drawn in."""


@dataclass(frozen=True)
class Key:
    """How one selector or decoder is drawn; `line` is a style of matplotlib."""

    label: str
    color: str
    marker: str = "o"
    line: Any = "-"


CHANCE = Key("chance", MUTED, "", (0, (4, 2, 1, 2)))

_KEYS: dict[str, tuple[str, str, Any]] = {
    "rgs": ("#0072b2", "o", "-"),
    "kernel-rgs": ("#5e3c99", "D", "-"),
    "corrcoef": ("#c2500a", "s", "-"),
    "infogain": ("#007a5a", "^", "-"),
    "sks": ("#b23a80", "v", "-"),
    "rrelieff": ("#7a6400", "P", "-"),
    "pairs": ("#2f7f8f", "p", "-"),
    "random": ("#6b7178", "x", ":"),
    "all": (INK, "", "--"),
    "ridge": ("#8a4b20", "", "-."),
    "kalman": ("#2f7f8f", "", (0, (1, 1))),
    "kernel-rgs-decoder": ("#5e3c99", "D", "--"),
    "kernel-rgs-sparse-decoder": ("#5e3c99", "D", ":"),
    "forward": ("#7a6400", "d", "-"),
    "backward": ("#7a6400", "d", "--"),
    "ordered-fs": ("#c2500a", "p", "-"),
    "standard-wrap": ("#c2500a", "p", "--"),
    "relief": ("#8a4b20", "h", "--"),
    "relieff": ("#8a4b20", "h", "-"),
    "simba": ("#2f7f8f", "*", "-"),
    "gflip": ("#b23a80", "<", "-"),
    "ebfs": ("#7a6400", ">", "-"),
    "focus1": ("#5e3c99", "^", "--"),
    "focus2": ("#5e3c99", "^", "-"),
    "simple-greedy": ("#0072b2", "s", "--"),
    "mi-greedy": ("#b23a80", "d", "--"),
    "weighted-greedy": ("#7a6400", "v", "--"),
    "mufasa": ("#007a5a", "*", "--"),
}
_OTHERS = (
    ("#8a4b20", "s"),
    ("#2f7f8f", "<"),
    ("#b23a80", "p"),
    ("#7a6400", "*"),
    ("#007a5a", "h"),
    ("#5e3c99", ">"),
)

LABELS = {
    "rgs": "RGS",
    "kernel-rgs": "kernel RGS",
    "corrcoef": "correlation",
    "infogain": "information gain",
    "sks": "SKS",
    "pairs": "products of pairs",
    "rrelieff": "RReliefF",
    "forward": "forward selection",
    "backward": "backward elimination",
    "relief": "Relief",
    "relieff": "ReliefF",
    "simba": "Simba",
    "gflip": "G-flip",
    "ebfs": "EBFS",
    "ordered-fs": "ORDERED-FS",
    "standard-wrap": "STANDARD-WRAP",
    "focus1": "FOCUS-1",
    "focus2": "FOCUS-2",
    "simple-greedy": "Simple-Greedy",
    "mi-greedy": "MI-Greedy",
    "weighted-greedy": "Weighted-Greedy",
    "mufasa": "Mufasa",
    "random": "random ranking",
    "all": "all features",
    "ridge": "ridge",
    "kalman": "Kalman filter",
    "kernel-rgs-decoder": "kernel RGS decoder",
    "kernel-rgs-sparse-decoder": "kernel RGS decoder, fewest channels",
}


def name_method(method: str) -> str:
    """Return a method's name for people.

    >>> name_method("rgs + kernel-ridge"), name_method("corrcoef")
    ('RGS + kernel ridge', 'correlation')
    """
    selector, plus, decoder = method.partition(" + ")
    label = LABELS.get(selector, selector)
    known = {"auto": "preferred decoder", "knn": "soft kNN", "svr": "SVR", "mlp": "MLP"}
    return f"{label} + {known.get(decoder, decoder.replace('-', ' '))}" if plus else label


def find_key(method: str) -> Key:
    """Return how to draw a selector, or a method by its selector; unknown ones are dealt a style by name.

    >>> find_key("rgs + kernel-ridge").color == find_key("rgs").color
    True
    """
    selector = method.partition(" + ")[0]
    if selector in _KEYS:
        color, marker, line = _KEYS[selector]
    else:
        color, marker = _OTHERS[sum(selector.encode()) % len(_OTHERS)]
        line = "-"
    return Key(name_method(method), color, marker, line)


def render_variables() -> str:
    """Return the CSS variables of all colors, for light and for dark pages."""
    light = ";".join(f"{THEME[color]}:{color}" for color in _COLORS)
    dark = ";".join(f"{THEME[color]}:{partner}" for color, partner in _COLORS.items())
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
