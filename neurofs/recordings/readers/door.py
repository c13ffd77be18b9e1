"""The door through which every file comes in: whatever it does to its reader, the user gets one line.

All that is read of a file comes out of one budget (`readers.sizes`). Readers refuse what they know can be wrong with a
file, and say what to do about it. A file that nobody vouches for may still make a library fail in a way that nobody
thought of. Such an error is named here, with the file; its traceback is kept for ``--verbose``.
"""

import csv
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from neurofs.ground.errors import InputError, NeurofsError
from neurofs.recordings.readers.sizes import read_within_budget

DAMAGE = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, MemoryError, OSError, RuntimeError),
    *(SyntaxError, TypeError, ValueError, csv.Error, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
"""What the content of a file may make a library raise."""

REMEDY = "Get a sound copy; if it is sound, --verbose shows what to report."


@contextmanager
def guard_reader() -> Iterator[None]:
    """Turn whatever the content of a file makes its reader raise into an `InputError`.

    >>> with guard_reader():
    ...     float("?")
    Traceback (most recent call last):
    neurofs.ground.errors.InputError: content: expected what its reader can take; found ValueError: could not convert \
string to float: '?'. Get a sound copy; if it is sound, --verbose shows what to report.
    """
    try:
        with read_within_budget(), np.errstate(all="ignore"), warnings.catch_warnings():
            for kind in (UserWarning, RuntimeWarning):  # what is wrong is found by checks, and needs no second line
                warnings.simplefilter("ignore", kind)
            yield
    except NeurofsError:
        raise
    except DAMAGE as error:
        found = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise InputError("content", "what its reader can take", found, REMEDY) from error
