"""Names in messages, and names compared with names that are known."""

import re
from collections.abc import Iterable

from neurofs.ground.errors import printable


def listed(names: Iterable[object], most: int = 12) -> str:
    """Return names as one readable list, cut after a dozen.

    >>> listed("abc", most=2)
    'a, b and 1 more'
    """
    shown = [printable(name) for name in names]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return (", ".join(shown[:most]) or "none") + more


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a text, such as the names by which a variable is known, the surest first."""
    return tuple(text.split())


def word(name: str) -> str:
    """Return the last part of a name in plain small letters, for comparing it with known names.

    >>> word("session.Hand_Vel")
    'handvel'
    """
    return re.sub(r"[^a-z0-9]", "", name.rsplit(".", 1)[-1].lower())


def words_of(name: str) -> set[str]:
    """Return the words by which a name may be known: its last part, and its last two together.

    >>> sorted(words_of("trials.start"))
    ['start', 'trialsstart']
    """
    return {word(name), word("".join(name.split(".")[-2:]))}
