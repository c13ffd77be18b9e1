"""Expressions that choose rows of a table, such as ``rate > 0.5 and electrode in (1, 2)``.

    choice  = both {"or" both}
    both    = one {"and" one}
    one     = "not" one | "(" choice ")" | test
    test    = value {("==" | "!=" | "<" | "<=" | ">" | ">=") value}
            | value ["not"] "in" "(" value {"," value} ")"
    value   = number | text in quotes | true | false | name of a column, in backquotes if it is no plain word

They come from command lines and files, so nothing is ever run as code: `choose_rows` reads them word by word and knows
no calls, attributes or arithmetic. A missing value fulfills no test.
"""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from neurofs.ground.errors import UsageError, printable, quoted

MAX_LENGTH, MAX_DEPTH = 2000, 40
"""Characters of an expression, and how deeply parentheses and `not` may be nested."""

TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
WORDS = ("and", "or", "not", "in")
TRUTH = {"true": 1.0, "false": 0.0}

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    |(?P<text>"[^"]*"|'[^']*')
    |`(?P<column>[^`]+)`
    |(?P<word>[^\W\d][\w.]*)
    |(?P<sign>==|!=|<=|>=|<|>|\(|\)|\[|\]|,))""",
    re.VERBOSE,
)


def is_expression(text: str) -> bool:
    """Whether a text compares something, rather than being a list of names.

    >>> is_expression("rate > 0.5"), is_expression("name in ('1a', '2b')"), is_expression("1a,2b")
    (True, True, False)
    """
    return re.search(r"[<>=!`]|\b(in|not)\b\s*[\w(\[]", text) is not None


def choose_rows(text: str, table: pd.DataFrame, where: str) -> np.ndarray:
    """Return which rows of a table fulfill an expression; `where` begins the message of an error.

    >>> table = pd.DataFrame({"rate": [0.2, 3.0, 8.0], "kind": ["mua", "unit", "unit"]})
    >>> choose_rows("rate > 0.5 and not kind == 'mua'", table, "channels")
    array([False,  True,  True])
    >>> choose_rows("rat > 0.5", table, "channels")
    Traceback (most recent call last):
    neurofs.ground.errors.UsageError: channels: no column 'rat'; did you mean rate? Known: rate, kind
    """
    if len(text) > MAX_LENGTH:
        raise UsageError(f"{where}: expected an expression of at most {MAX_LENGTH} characters; found {len(text)}")
    return _Reader(text, table, where).read()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str

    def is_sign(self, *signs: str) -> bool:
        return self.kind in ("sign", "word") and self.text in signs


END = _Token("end", "")


@dataclass(frozen=True, eq=False)
class _Values:
    """One value per row, as numbers (NaN: missing) or as texts (None: missing)."""

    name: str
    values: np.ndarray
    is_number: bool
    is_truth: bool = False

    @property
    def known(self) -> np.ndarray:
        return ~pd.isna(self.values)

    def as_texts(self) -> np.ndarray:
        return np.array([f"{v:g}" if isinstance(v, float) else v for v in self.values.tolist()], dtype=object)


class _Reader:
    """Reads an expression from left to right and returns the rows that fulfill it."""

    def __init__(self, text: str, table: pd.DataFrame, where: str) -> None:
        self.text, self.table, self.where = text, table, where
        self.tokens = self._split()
        self.position = self.depth = 0

    def read(self) -> np.ndarray:
        """Return the rows that fulfill the whole text."""
        rows = self._read_choice()
        if self._next is not END:
            raise self._expected("and, or, or the end")
        return rows

    # Words

    def _split(self) -> list[_Token]:
        tokens, place = [], 0
        text = self.text.rstrip()
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                raise self._error(f"cannot read {quoted(text[place:].strip()[:20])}")
            kind = str(found.lastgroup)
            tokens.append(_Token(kind, found[kind]))
            place = found.end()
        return [*tokens, END]

    @property
    def _next(self) -> _Token:
        return self.tokens[self.position]

    def _take(self) -> _Token:
        token = self._next
        self.position += token is not END
        return token

    def _take_sign(self, *signs: str) -> bool:
        """Take the next word if it is one of these."""
        found = self._next.is_sign(*signs)
        self.position += found
        return found

    def _error(self, problem: str) -> UsageError:
        return UsageError(f"{self.where}: {problem} in {quoted(self.text)}")

    def _expected(self, what: str) -> UsageError:
        found = "the end" if self._next is END else quoted(self._next.text)
        return self._error(f"expected {what}, found {found}")

    # Choices

    def _read_choice(self) -> np.ndarray:
        rows = self._read_both()
        while self._take_sign("or"):
            rows = rows | self._read_both()
        return rows

    def _read_both(self) -> np.ndarray:
        rows = self._read_one()
        while self._take_sign("and"):
            rows = rows & self._read_one()
        return rows

    def _read_one(self) -> np.ndarray:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._error(f"more than {MAX_DEPTH} parentheses and nots within each other")
        rows = self._read_inner()
        self.depth -= 1
        return rows

    def _read_inner(self) -> np.ndarray:
        if self._take_sign("not"):
            return ~self._read_one()
        if not self._take_sign("("):
            return self._read_test()
        rows = self._read_choice()
        if not self._take_sign(")"):
            raise self._expected("')'")
        return rows

    # Tests

    def _read_test(self) -> np.ndarray:
        left = self._read_value()
        negated = self._take_sign("not")
        if self._take_sign("in"):
            found = self._read_members(left)
            return left.known & ~found if negated else found
        if negated or not self._next.is_sign(*TESTS):
            if negated or not left.is_truth:
                raise self._expected("in" if negated else "a comparison such as > or ==")
            return left.known & (left.values == 1)
        rows = np.ones(len(self.table), dtype=bool)
        while self._next.is_sign(*TESTS):
            sign, right = self._take().text, self._read_value()
            rows, left = rows & self._compare(left, sign, right), right
        return rows

    def _read_members(self, left: _Values) -> np.ndarray:
        """Return the rows whose value is in the list that follows."""
        if not self._take_sign("(", "["):
            raise self._expected("a list such as (1, 2)")
        rows = np.zeros(len(self.table), dtype=bool)
        while True:
            rows |= self._compare(left, "==", self._read_value())
            if self._take_sign(")", "]"):
                return rows
            if not self._take_sign(","):
                raise self._expected("',' or ')'")

    def _compare(self, left: _Values, sign: str, right: _Values) -> np.ndarray:
        """Return the rows of which a test holds; numbers and texts are compared as texts, for equality alone."""
        known = left.known & right.known
        if left.is_number and right.is_number:
            with np.errstate(invalid="ignore"):
                return known & TESTS[sign](left.values, right.values)
        if sign not in ("==", "!="):
            text = right if left.is_number else left
            raise self._error(f"{quoted(text.name)} is text, which is compared with ==, != or in; found {sign}")
        return known & TESTS[sign](left.as_texts(), right.as_texts()).astype(bool)

    def _read_value(self) -> _Values:
        token = self._take()
        if token.kind == "number":
            return self._constant(token.text, float(token.text))
        if token.kind == "text":
            return self._constant(token.text[1:-1], token.text[1:-1])
        if token.kind == "word" and token.text in TRUTH:
            return self._constant(token.text, TRUTH[token.text])
        if token.kind == "column" or (token.kind == "word" and token.text not in WORDS):
            return self._read_column(token.text)
        self.position -= token is not END
        raise self._expected("a column or a value")

    def _constant(self, name: str, value: Any) -> _Values:
        is_number = isinstance(value, float)
        values = np.full(len(self.table), value, dtype=np.float64 if is_number else object)
        return _Values(name, values, is_number)

    def _read_column(self, name: str) -> _Values:
        columns = {str(column): column for column in self.table.columns}
        if name not in columns:
            near = difflib.get_close_matches(name, columns, n=1)
            hint = f"; did you mean {printable(near[0])}? " if near else ". "
            known = ", ".join(printable(column, 30) for column in list(columns)[:20])
            raise UsageError(f"{self.where}: no column {quoted(name)}{hint}Known: {known}")
        return make_values(name, self.table[columns[name]])


def make_values(name: str, column: pd.Series) -> _Values:
    """Return a column as numbers if all that is known of it are numbers, else as texts."""
    is_truth = pd.api.types.is_bool_dtype(column.dropna().infer_objects())
    known = [value for value in column.tolist() if not _is_missing(value)]
    if is_truth or all(isinstance(value, int | float | np.number) for value in known):
        numbers = [np.nan if _is_missing(value) else float(value) for value in column.tolist()]
        return _Values(name, np.array(numbers, dtype=np.float64), True, is_truth)
    texts = np.array([None if _is_missing(value) else str(value) for value in column.tolist()], dtype=object)
    return _Values(name, texts, False)


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))
