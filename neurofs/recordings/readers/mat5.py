"""The structure of a MATLAB version 5 file, checked before scipy reads it.

scipy trusts the tags of such a file: an unknown data type makes it read past its memory and end the process.
So the elements are inflated and walked here first: every size must lie within its parent, every type must
be known, and every shape must match the number of values.
"""

import math
import struct
import zlib

from scipy.io.matlab import MatReadError

from neurofs.recordings.readers.sizes import Budget

MAX_DEPTH = 50
HEADER = 128
SIZES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
TEXT = {1, 2, 3, 4, 5, 6, 16, 17, 18}
INT8, INT32, UINT32, MATRIX, COMPRESSED = 1, 5, 6, 14, 15
CELL, STRUCT, OBJECT, CHAR, SPARSE, FUNCTION, OPAQUE = 1, 2, 3, 4, 5, 16, 17
NUMERIC_CLASSES = range(6, 16)


def check_and_inflate(content: bytes, budget: Budget) -> bytes:
    """Return the content with no element compressed, or raise if anything in it does not fit."""
    order = "<" if content[126:128] == b"IM" else ">"
    if len(content) < HEADER or content[125 if order == "<" else 124] != 1:
        raise MatReadError("bytes that are not MATLAB's")
    parts = [content[:HEADER]]
    position = HEADER
    while position < len(content):
        kind, n_bytes = _read_tag(content, position, order)
        stop = position + 8 + n_bytes
        if stop > len(content):
            raise MatReadError(f"the file is cut off: {stop - len(content):,} bytes are missing at its end")
        part = content[position:stop]
        if kind == COMPRESSED:
            part = _inflate(part, position, order, budget)
        else:
            budget.take(f"variable at byte {position}", n_bytes, n_bytes)
        _Walker(part, order).check_matrix(0, 0)
        parts.append(part)
        position = stop
    return b"".join(parts)


def _read_tag(content: bytes, position: int, order: str) -> tuple[int, int]:
    if position + 8 > len(content):
        raise MatReadError("the file is cut off inside a variable")
    kind, n_bytes = struct.unpack_from(f"{order}II", content, position)
    return int(kind), int(n_bytes)


def _inflate(part: bytes, position: int, order: str, budget: Budget) -> bytes:
    """Return a compressed element as it was, never more of it than it declares."""
    inflater = zlib.decompressobj()
    head = inflater.decompress(part[8:], 8)
    if len(head) < 8:
        raise MatReadError("a compressed variable without content")
    declared = _read_tag(head, 0, order)[1]
    budget.take(f"variable at byte {position}", 8 + declared, len(part))
    body = inflater.decompress(inflater.unconsumed_tail, declared + 1) if declared else b""
    if len(body) != declared:
        raise MatReadError(f"a variable declares {declared:,} bytes and does not hold as many")
    return head + body


class _Walker:
    """Walks one inflated variable."""

    def __init__(self, data: bytes, order: str) -> None:
        self.data, self.order = data, order

    def element(self, position: int, stop: int) -> tuple[int, int, int, int]:
        """Return type, start and size of the element at `position`, and where the next one begins."""
        if position + 8 > stop:
            raise MatReadError("a variable ends before its content")
        first, size = struct.unpack_from(f"{self.order}II", self.data, position)
        if first >> 16:
            kind, size, start, following = first & 0xFFFF, first >> 16, position + 4, position + 8
            if size > 4:
                raise MatReadError(f"a short element of {size} bytes")
        else:
            kind, start = first, position + 8
            following = start + size + -size % 8
        if start + size > stop:
            raise MatReadError("an element is larger than the variable that holds it")
        return kind, start, size, min(following, stop)

    def expect(self, position: int, stop: int, kinds: set[int], what: str) -> tuple[int, int, int]:
        """Return start, size and successor of an element that must be of one of these types."""
        kind, start, size, following = self.element(position, stop)
        if kind not in kinds:
            raise MatReadError(f"{what} of the unknown type {kind}")
        return start, size, following

    def integers(self, start: int, size: int) -> tuple[int, ...]:
        """Return 32-bit integers."""
        return struct.unpack_from(f"{self.order}{size // 4}i", self.data, start)

    def check_matrix(self, position: int, depth: int, stop: int | None = None) -> int:
        """Check the matrix at `position` and all it holds; return where the next element begins."""
        if depth > MAX_DEPTH:
            raise MatReadError(f"more than {MAX_DEPTH} levels of cells")
        stop = len(self.data) if stop is None else stop
        start, size, following = self.expect(position, stop, {MATRIX}, "a variable")
        if size:
            self._check_content(start, start + size, depth)
        return following

    def _check_content(self, position: int, stop: int, depth: int) -> None:
        start, size, position = self.expect(position, stop, {UINT32}, "flags")
        if size != 8:
            raise MatReadError(f"flags of {size} bytes")
        flags = self.integers(start, 4)[0]
        kind, is_complex = flags & 0xFF, bool(flags & 0x800)
        if kind == OPAQUE:
            for _ in range(3):
                position = self.expect(position, stop, {INT8}, "a name")[2]
            self.check_matrix(position, depth + 1, stop)
            return
        start, size, position = self.expect(position, stop, {INT32}, "a shape")
        shape = self.integers(start, size)
        if not 2 <= len(shape) <= 32 or min(shape) < 0 or size % 4:
            raise MatReadError(f"the shape {shape[:4]}")
        position = self.expect(position, stop, {INT8}, "a name")[2]
        self._check_values(kind, is_complex, math.prod(shape), position, stop, depth)

    def _check_values(self, kind: int, is_complex: bool, n_values: int, position: int, stop: int, depth: int) -> None:
        if kind in NUMERIC_CLASSES:
            for _ in range(1 + is_complex):
                position = self._check_numbers(position, stop, n_values)
        elif kind == CHAR:
            size = self.expect(position, stop, TEXT, "text")[1]
            if n_values > size:
                raise MatReadError(f"{n_values:,} characters in {size:,} bytes")
        elif kind == SPARSE:
            for _ in range(3 + is_complex):
                position = self._check_numbers(position, stop, None)
        elif kind in (STRUCT, OBJECT):
            self._check_struct(kind, n_values, position, stop, depth)
        elif kind in (CELL, FUNCTION):
            self._check_matrices(n_values if kind == CELL else 1, position, stop, depth)
        else:
            raise MatReadError(f"a variable of the unknown class {kind}")

    def _check_numbers(self, position: int, stop: int, n_values: int | None) -> int:
        kind, _, size, following = self.element(position, stop)
        if kind not in SIZES or size % SIZES[kind]:
            raise MatReadError(f"numbers of the unknown type {kind}")
        if n_values is not None and size != n_values * SIZES[kind]:
            raise MatReadError(f"{size // SIZES[kind]:,} numbers where the shape needs {n_values:,}")
        return following

    def _check_struct(self, kind: int, n_values: int, position: int, stop: int, depth: int) -> None:
        if kind == OBJECT:
            position = self.expect(position, stop, {INT8}, "a class name")[2]
        start, size, position = self.expect(position, stop, {INT32}, "the length of names")
        length = self.integers(start, size)[0] if size == 4 else 0
        _, size, position = self.expect(position, stop, {INT8}, "names of fields")
        if length < 1 or size % length:
            raise MatReadError(f"names of fields of {length} letters in {size} bytes")
        self._check_matrices(n_values * (size // length), position, stop, depth)

    def _check_matrices(self, n_matrices: int, position: int, stop: int, depth: int) -> None:
        if n_matrices > (stop - position) // 8:
            raise MatReadError(f"{n_matrices:,} cells where there is room for {(stop - position) // 8:,}")
        for _ in range(n_matrices):
            position = self.check_matrix(position, depth + 1, stop)
