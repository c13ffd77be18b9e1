"""`Remark`: something that a person should know before trusting a recording."""

from typing import NamedTuple


class Remark(NamedTuple):
    """A sentence about a recording; a serious one says that it was probably misread, or that results will mislead.

    >>> Remark("12 channels are silent").serious
    False
    """

    text: str
    serious: bool = False


def number(n: int, one: str, many: str) -> str:
    """Return a number with words that fit it.

    >>> number(1, "trial reaches", "trials reach"), number(1200, "trial reaches", "trials reach")
    ('1 trial reaches', '1,200 trials reach')
    """
    return f"{n:,} {one if n == 1 else many}"
