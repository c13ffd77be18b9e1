"""`Remark`: something that a person should know before trusting a recording."""

from typing import NamedTuple


class Remark(NamedTuple):
    """A sentence about a recording; a serious one says that it was probably misread, or that results will mislead.

    >>> Remark("12 channels are silent").serious
    False
    """

    text: str
    serious: bool = False
