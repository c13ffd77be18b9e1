"""The errors a user can meet, each one line that says what to do.

Names that come from files are hostile text: :func:`printable` makes them safe for a terminal and short
enough for one line.
"""

from __future__ import annotations

MAX_NAME = 80
MAX_MESSAGE = 600
"""Characters of a name in a message, and of a message that a library or a selector wrote."""


def printable(text: object, most: int = MAX_NAME) -> str:
    """Return `text` on one line, with control characters shown as escapes and the middle of long text cut.

    >>> printable("unit\\x1b[31m 1")
    'unit\\\\x1b[31m 1'
    """
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))
    if len(safe) > most:
        half = (most - 1) // 2
        safe = safe[:half] + "…" + safe[-half:]
    return safe


def quoted(text: object) -> str:
    """Return `text` printable and in quotes, for a message.

    >>> print(quoted("unit 1"))
    'unit 1'
    """
    return f"'{printable(text)}'"


class NeurofsError(Exception):
    """Base of every error that is the user's to mend; the command line prints it without a traceback."""

    exit_code = 2


class UsageError(NeurofsError):
    """An option or a key that does not fit: unknown, out of range, or at odds with another."""


class TaskFailed(NeurofsError):
    """A task of a comparison that has no result: it raised an error or exceeded a limit.

    `detail` is what helps to find the cause, such as a traceback, for the log.
    """

    exit_code = 1

    def __init__(self, reason: str, detail: str = "") -> None:
        self.detail = detail
        super().__init__(reason)


class InputError(NeurofsError):
    """A file, or a thing in it, that cannot be used.

    The message names the thing, what was expected, what was found, and the remedy:

    >>> print(InputError("m1.nwb: unit 17", "sorted spike times", "0.412 after 0.655", "Sort them."))
    m1.nwb: unit 17: expected sorted spike times; found 0.412 after 0.655. Sort them.
    """

    def __init__(self, where: object, expected: str, found: object, remedy: str) -> None:
        self.where, self.expected, self.found, self.remedy = str(where), expected, str(found), remedy
        super().__init__(where, expected, found, remedy)

    def __str__(self) -> str:
        where = ": ".join(printable(part) for part in self.where.split(": "))
        return f"{where}: expected {self.expected}; found {printable(self.found)}. {self.remedy}"

    def within(self, where: object) -> InputError:
        """Return the same error with `where` (usually the file) put before the thing it names."""
        return InputError(f"{where}: {self.where}", self.expected, self.found, self.remedy)
