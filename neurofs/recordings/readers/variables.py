"""`Variables`: what a file holds, by name, together with what the user said about it.

Every free-layout format becomes one flat mapping: numbers are arrays, text is `str`, cells and ragged lists
are lists, a struct's fields are names with dots, and an array of structs is a list of dicts. The options that
were consulted are remembered, so that one without effect can be refused, and so are the variables that found
a use, so that the rest can be named.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from neurofs.ground.config import LoadOptions, given_options
from neurofs.ground.errors import InputError, quoted
from neurofs.recordings.remarks import Remark
from neurofs.recordings.words import listed, word, words_of


def flag(key: str) -> str:
    """Return the command-line option of a key.

    >>> flag("counts_bin_width")
    '--counts-bin-width'
    """
    return "--" + key.replace("_", "-")


def require_name(name: str, known: Iterable[str], option: str, kind: str) -> str:
    """Return `name` if it is known, else raise an error with the nearest name and what there is.

    >>> require_name("vel", ["hand_vel", "pos"], "--behavior", "a variable")
    Traceback (most recent call last):
    neurofs.ground.errors.InputError: --behavior vel: expected a variable; found no such name. Did you mean \
'hand_vel'? There are: hand_vel, pos.
    """
    known = list(known)
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"Did you mean {quoted(near[0])}? " if near else ""
    raise InputError(f"{option} {name}", kind, "no such name", f"{hint}There are: {listed(known)}.")


def find_kept(names: Iterable[str], excluded: Iterable[str]) -> list[int]:
    """Return the positions of the channels that are not excluded; every excluded name must exist.

    >>> find_kept(["a", "b", "c"], ["b"])
    [0, 2]
    """
    known = list(names)
    unwanted = {require_name(name, known, "--exclude-channels", "a channel") for name in excluded}
    return [i for i, name in enumerate(known) if name not in unwanted]


def is_numeric(value: Any) -> bool:
    """Tell whether a value is an array of real numbers."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "buif"


def is_number(value: Any) -> bool:
    """Tell whether a value is one number."""
    return is_numeric(value) and value.size == 1


def is_line(value: Any) -> bool:
    """Tell whether a value is a list of several numbers, as a time vector is."""
    return is_numeric(value) and value.size > 1 and value.size == max(value.shape)


def is_table(value: Any) -> bool:
    """Tell whether a value is numbers with two axes, as counts are."""
    return is_numeric(value) and value.ndim == 2 and value.size > 1


def is_text(value: Any) -> bool:
    """Tell whether a value is one text."""
    return isinstance(value, str) or (is_texts(value) and len(value) == 1)


def is_texts(value: Any) -> bool:
    """Tell whether a value is a list of texts."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def has_size(value: Any, size: int) -> bool:
    """Tell whether a value is this many numbers or texts."""
    return (is_numeric(value) and value.size == size) or (is_texts(value) and len(value) == size)


def flatten(value: Any, name: str, into: dict[str, Any]) -> None:
    """Put `value` into a flat mapping; the fields of a struct become names with dots."""
    if isinstance(value, dict):
        for key, item in value.items():
            flatten(item, f"{name}.{key}" if name else str(key), into)
    else:
        into[name] = value


def join_rows(rows: list[str]) -> str | list[str]:
    """Return the rows of a char array of MATLAB as text, or as one text per row."""
    return "".join(rows) if len(rows) < 2 else [row.rstrip() for row in rows]


class LeftOut:
    """Something in a file that is neither numbers nor text, cell nor struct."""


def drop_left_out(flat: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """Return the variables without those that cannot be read, and note these."""
    left_out = [name for name, value in flat.items() if isinstance(value, LeftOut)]
    notes += [f"left out {quoted(name)}: neither numbers nor text" for name in left_out]
    return {name: value for name, value in flat.items() if name not in left_out}


class Variables:
    """The variables of one file, the options, and notes on what was made of both."""

    def __init__(
        self, values: Mapping[str, Any], options: LoadOptions, notes: Iterable[str] = (), *, index_base: int = 0
    ) -> None:
        self.values = dict(values)
        self.options = options
        self.notes = list(notes)
        self.remarks: list[Remark] = []
        self.index_base = index_base
        self.used: set[str] = set()
        self._asked = {"behavior_file"}  # which has its effect when this file is read

    def note(self, text: str) -> None:
        """Remember a guess or a decision, once."""
        if text not in self.notes:
            self.notes.append(text)

    def ask(self, key: str) -> Any:
        """Return an option; it now counts as having had its effect."""
        self._asked.add(key)
        return getattr(self.options, key)

    def ask_index_base(self) -> int:
        """Return the number of the first bin or channel: as the user says, else as is usual in such files."""
        asked = self.ask("index_base")
        return self.index_base if asked is None else int(asked)

    def named(self, key: str) -> str | None:
        """Return the variable that the user named with option `key`, which must exist."""
        wanted = self.ask(key)
        return None if wanted is None else self.use(self.require(wanted, key))

    def require(self, name: str, key: str) -> str:
        """Return `name` if there is such a variable, else say which there are."""
        return require_name(name, self.values, flag(key), "a variable of the file")

    def use(self, name: str) -> str:
        """Mark a variable as used and return its name."""
        self.used.add(name)
        return name

    def find(self, words: Iterable[str], fits: Callable[[Any], bool] = is_numeric) -> list[str]:
        """Return the unused variables known by one of these words whose value fits, in order of the words."""
        known = list(words)
        ranks = {
            name: min(known.index(w) for w in words_of(name) if w in known)
            for name, value in self.values.items()
            if name not in self.used and not words_of(name).isdisjoint(known) and fits(value)
        }
        return sorted(ranks, key=lambda name: ranks[name])

    def find_one(self, key: str, words: Iterable[str], fits: Callable[[Any], bool] = is_numeric) -> str | None:
        """Return the variable named by option `key`, or the only one known by these words.

        Two with the same word, such as `a.vel` and `b.vel`, are two readings, so the user must choose.
        """
        name = self.named(key)
        if name is not None:
            return name
        found = self.find(words, fits)
        if len(found) > 1 and word(found[0]) == word(found[1]):
            raise InputError(
                f"{quoted(found[0])} and {quoted(found[1])}",
                "one variable of this kind",
                "two",
                f"Choose with {flag(key)}.",
            )
        return self.use(found[0]) if found else None

    def numbers(self, name: str) -> np.ndarray:
        """Return a variable as an array of real numbers."""
        value = self.values[name]
        if not is_numeric(value):
            raise InputError(quoted(name), "numbers", describe(value), "Name another variable.")
        return value

    def vector(self, name: str) -> np.ndarray:
        """Return a variable as a list of numbers; a row or column of MATLAB is one."""
        array = self.numbers(name)
        if sum(n != 1 for n in array.shape) > 1:
            raise InputError(quoted(name), "one list of numbers", f"shape {array.shape}", "Name another variable.")
        return array.reshape(-1)

    def scalar(self, name: str) -> float:
        """Return a variable as one finite number."""
        array = self.numbers(name)
        if array.size != 1 or not np.isfinite(array).all():
            raise InputError(quoted(name), "one finite number", describe(array), "Name another variable.")
        return float(array.reshape(-1)[0])

    def text(self, name: str) -> str | None:
        """Return a variable as text if it is one."""
        value = self.values.get(name)
        if isinstance(value, str):
            return value
        return value[0] if is_text(value) and value else None

    def refuse_unused_options(self) -> None:
        """Raise if an option was given that had no effect on this file."""
        for key, value in given_options(self.options).items():
            if key not in self._asked:
                raise InputError(
                    flag(key) if isinstance(value, bool) else f"{flag(key)} {value}",
                    "an option that applies to this file",
                    "nothing that it could change",
                    "Leave it out, or check the other options.",
                )

    def note_unused_variables(self) -> None:
        """Say which variables found no use."""
        rest = [name for name in self.values if name not in self.used]
        if rest:
            self.note(f"not used: {listed(rest)}")


def describe(value: Any) -> str:
    """Return in a few words what a value is."""
    if isinstance(value, np.ndarray):
        if value.size == 1 and value.dtype.kind in "buif":
            return str(value.reshape(-1)[0])
        return f"{value.dtype} of shape {value.shape}"
    if is_text(value) or is_texts(value):
        return "text"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return f"{len(value)} structs"
    return f"a list of {len(value)}" if isinstance(value, list) else type(value).__name__
