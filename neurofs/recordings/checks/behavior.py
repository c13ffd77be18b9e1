"""Behavior that is something else: angles that wrap, marks for missing samples, clocks, sorted or shuffled samples."""

import re
from collections.abc import Iterator

import numpy as np

from neurofs.ground.errors import printable, quoted
from neurofs.recordings.checks.neighbors import find_hold
from neurofs.recordings.recording import Recording, Series
from neurofs.recordings.remarks import Remark
from neurofs.recordings.unnamed import is_unnamed, tell_unnamed

NEARLY_ALL = 0.95
"""Share of samples with one value from which on a series is nearly constant."""

MARKED = 3
"""Samples with the same value, far from all others, that are taken for a mark."""

FAR, FAR_OF_FEW = 0.25, 10.0
"""How far a mark is from all others, in units of their range; the second where there are few different values."""

MASKS = re.compile(
    r"(is_?)?(mask(ed)?|valid|good|bad|keep|kept|excluded?|included?|reject(ed)?|artifacts?)(_?(bins?|samples?|mask))?s?"
)
"""Names of series that say which bins count."""

UNLIKE = 100.0
"""How many times more one column varies than another in the same unit, at most."""

TURNS = {2 * np.pi: "radians", 360.0: "degrees"}
PIXELS = ("pixel", "pixels", "px")


def check_behavior(r: Recording) -> Iterator[Remark]:
    """Yield what says that series are not the samples of a movement."""
    for series in r.behavior.values():
        for text, serious in (*_check_samples(series), *_check_values(series)):
            yield Remark(f"series {quoted(series.name)}: {text}", serious)


def _check_samples(series: Series) -> Iterator[tuple[str, bool]]:
    """Yield what is odd about the series as a whole."""
    missing = int(np.isnan(series.values).any(axis=1).sum())
    if missing:
        yield f"{missing} of {len(series.time)} samples are missing", missing > 0.9 * len(series.time)
    if is_unnamed(series):
        yield tell_unnamed(series), False
    times = find_hold(series.values)
    if times:
        text = f"each sample is stored {times:g} times in a row: sampled at {series.rate / times:.3g} Hz, and held"
        yield f"{text}. Its derivative is 0, or a jump", False
    if MASKS.fullmatch(series.name.lower()) and np.isin(series.values, [0, 1]).all():
        yield "a mask by its name, and no bin is left out by it: make behavior NaN where bins do not count", True
    if not is_unnamed(series) and len(series.columns) > 1 and not series.circular:
        yield from _check_spreads(series)
    jumps = int(np.sum(np.diff(series.time) > 1.5 * series.interval)) if len(series.time) > 1 else 0
    if jumps:
        yield f"{jumps} gaps in its samples", False
    if series.unit.lower() in PIXELS:
        yield "in pixels: errors and speeds will be, too", False
    elif _look_like_pixels(series):
        yield f"whole numbers up to {np.nanmax(series.values):g}: pixels? Errors and speeds will be, too", False


def _check_spreads(series: Series) -> Iterator[tuple[str, bool]]:
    """Find columns that vary many times more than others, as in another unit."""
    known = {c: v[np.isfinite(v)] for c, v in zip(series.columns, series.values.T, strict=True)}
    varying = {c: float(v.std()) for c, v in known.items() if len(v) and np.ptp(v) > 0}
    if len(varying) > 1:
        most, least = max(varying, key=varying.__getitem__), min(varying, key=varying.__getitem__)
        times = varying[most] / varying[least]
        if times > UNLIKE:
            yield f"{printable(most)} varies {times:,.0f} times as much as {printable(least)}: in another unit?", False


def _look_like_pixels(series: Series) -> bool:
    known = series.values[np.isfinite(series.values)]
    plain = len(series.columns) == 2 and not series.unit and len(known) > 100
    return bool(plain and known.min() >= 0 and known.max() > 100 and (known == np.rint(known)).all())


def _check_values(series: Series) -> Iterator[tuple[str, bool]]:
    """Yield what is odd about single columns."""
    constant = []
    for i, column in enumerate(series.columns):
        known = series.values[np.isfinite(series.values[:, i]), i]
        if len(known) and known.min() == known.max():
            constant.append(printable(column))
        elif len(known) >= 20:
            where = f"column {quoted(column)}: " if len(series.columns) > 1 else ""
            yield from ((f"{where}{text}", serious) for text, serious in _check_column(known, series))
    if constant:
        yield f"constant in {', '.join(constant)}", False


def _check_column(values: np.ndarray, series: Series) -> Iterator[tuple[str, bool]]:
    numbers, counts = np.unique(values, return_counts=True)
    usual = float(counts.max() / len(values))
    mark = find_mark(numbers, counts)
    if mark is None and is_minus_one_a_mark(values):
        n = int((values == -1).sum())
        yield f"{n} samples are exactly -1, and no other is negative: a mark for missing samples? Make them NaN", True
        return
    if mark is not None:
        n = int(counts[numbers == mark][0])
        sure = mark != 0 or len(series.columns) > 1  # a force, say, may well be exactly 0 at rest
        yield f"{n} samples are exactly {mark:g}, far from all others: a mark for missing samples? Make them NaN", sure
        return
    if usual > NEARLY_ALL:
        yield f"nearly constant: {usual:.1%} of samples are {numbers[counts.argmax()]:g}", False
        return
    if series.circular:
        if np.ptp(values) > 4 * np.pi and (turn := find_turn(values)) == "degrees":
            yield f"an angle from {values.min():.4g} to {values.max():.4g}: {turn}? Angles are radians", True
        return
    turn = find_turn(values)
    if turn:
        yield f"jumps by a full turn, as an angle in {turn} does: {_tell_circular(series, turn)}", True
    elif jumps := count_laps(values):
        text = f"jumps {jumps} times from one end of its range to the other: laps, or an angle or encoder that wraps?"
        yield f"{text} Its velocity is wrong there, and means of bins lie in between", False
    elif (np.diff(values) >= 0).all():
        yield "it only rises: a clock, or a running total? Any slow drift of rates predicts it", False
    elif len(numbers) > 20 and series.rate >= 5 and _is_unrelated(values):
        yield (
            "neighboring samples have nothing to do with each other: were samples shuffled? Lags mean nothing then, "
            "and folds leak",
            True,
        )


def find_mark(numbers: np.ndarray, counts: np.ndarray) -> float | None:
    """Return the value, at an end of the range and far from all others, that several samples have.

    >>> find_mark(np.array([-999.0, 0.1, 0.2, 0.5]), np.array([7, 20, 30, 20])), find_mark(np.arange(9.0), np.ones(9))
    (-999.0, None)
    """
    if len(numbers) < 3:
        return None
    far = FAR if len(numbers) > 20 else FAR_OF_FEW
    for end, rest in ((0, numbers[1:]), (-1, numbers[:-1])):
        gap, whole = abs(numbers[end] - rest[end]), numbers[end] == np.rint(numbers[end])
        if whole and counts[end] >= MARKED and gap > far * np.ptp(rest) > 0:
            return float(numbers[end])
    return None


def is_minus_one_a_mark(values: np.ndarray) -> bool:
    """Whether -1, alone below 0, stands for samples that are missing: the others beside them are far away.

    >>> known = 3 + np.sin(np.arange(90.0))
    >>> known[40:50] = -1
    >>> is_minus_one_a_mark(known), is_minus_one_a_mark(np.arange(-1.0, 80.0).repeat(3))
    (True, False)
    """
    marked = values == -1
    rest = values[~marked]
    if marked.sum() < MARKED or not len(rest) or rest.min() < 0 or len(np.unique(rest[:1000])) < 20:
        return False
    beside = rest[:0] if marked.all() else values[1:][marked[:-1] & ~marked[1:]]
    return bool(len(beside) and np.median(beside) + 1 > 0.1 * np.ptp(rest))


def count_laps(values: np.ndarray) -> int:
    """Return how often values jump across their range, always the same way, if they do at all; 0 if not.

    >>> count_laps(np.arange(0.0, 90.0, 0.7) % 20), count_laps(np.tile([0.0, 1.0], 50)), count_laps(np.arange(9.0))
    (4, 0, 0)
    """
    steps, extent = np.diff(values), float(np.ptp(values))
    far = np.abs(steps) > 0.8 * extent
    one_way = max((steps[far] > 0).sum(), (steps[far] < 0).sum(), 1) > 0.9 * far.sum()
    between = ((np.abs(steps) > 0.3 * extent) & ~far).sum()
    seldom = far.mean() < 0.2 and between < 0.2 * far.sum()
    return int(far.sum()) if far.sum() >= MARKED and one_way and seldom else 0


def find_turn(values: np.ndarray) -> str:
    """Return the unit of an angle that wraps: its range is a full turn, and it jumps by nearly as much.

    >>> angle = np.linspace(0, 40, 500)
    >>> find_turn(angle % (2 * np.pi)), find_turn(np.rad2deg(angle) % 360 - 180), find_turn(np.sin(angle))
    ('radians', 'degrees', '')
    """
    extent, steps = float(np.ptp(values)), np.diff(values)
    for turn, unit in TURNS.items():
        if 0.97 * turn < extent <= 1.001 * turn:
            jumps = np.abs(steps) > 0.8 * turn
            middle = (np.abs(steps) > 0.3 * turn) & ~jumps
            if jumps.sum() >= 2 and middle.sum() < 0.2 * jumps.sum() and jumps.mean() < 0.2:
                return unit
    return ""


def _tell_circular(series: Series, turn: str) -> str:
    name = printable(series.name)
    return f"say --circular {name}" if turn == "radians" else f"turn it into radians, and say --circular {name}"


def _is_unrelated(values: np.ndarray) -> bool:
    """Tell whether a sample says nothing about the next ones."""
    centered = values - values.mean()
    spread = float(centered @ centered)
    alike = [float(centered[k:] @ centered[:-k]) / spread for k in (1, 2, 3)]
    return len(values) >= 200 and max(map(abs, alike)) < 5 / np.sqrt(len(values))
