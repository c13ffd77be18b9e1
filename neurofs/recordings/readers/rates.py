"""Whether stored numbers are counts of spikes, rates in spikes per second, or neither.

Counts are whole numbers without a common divisor. Rates that were counts once are multiples of 1 / bin width: at 50 ms,
of 20. Where the numbers prove it, rates are turned back into counts, and it is said; where two readings are possible,
the file is refused, with the option that decides.
"""

import re

import numpy as np

from neurofs.ground.errors import InputError, quoted
from neurofs.recordings.readers.variables import Variables
from neurofs.recordings.remarks import Remark

ENOUGH = 30
"""Numbers above zero from which on a common divisor is no accident."""

SAMPLE = 100_000
RATE_NAME = re.compile(
    r"(spike|firing)_?rate|(^|[^a-z])(rates?|fr|frs|hz)($|[^a-z])|[a-z](Rates?|FR|Hz)($|[^a-z])|firing|ratedata",
    re.ASCII,
)
RATE_UNITS = ("hz", "1/s", "s^-1", "sp/s", "spk/s", "spikes/s", "spikes/sec", "spikes per second", "imp/s")
SIGNAL = "--signal-unit with their unit (dF/F, uV)"
COUNT_UNITS = ("count", "counts", "spikes", "spikes/bin", "1", "spike count")


def as_counts(v: Variables, name: str, numbers: np.ndarray, width: float) -> np.ndarray:
    """Return numbers of spikes in bins of `width` seconds from a stored table."""
    unit = v.ask("counts_unit") or _know_unit(find_stated(v, name))
    if unit == "Hz":
        v.note(f"counts: {quoted(name)} is in Hz, multiplied by the bin width of {width:g} s")
        return _compact(_multiply(numbers, width))
    if unit is None and numbers.size:
        numbers = _settle(v, name, numbers, width)
    return _compact(numbers)


def find_stated(v: Variables, name: str) -> str:
    """Return the unit that the file states for a table; empty if it states none."""
    for key in (f"{name}.unit", f"{name}.units", f"{name}_unit", f"{name}_units"):
        text = (v.text(key) or "").strip()
        if text:
            v.use(key)
            return text
    return ""


def _know_unit(stated: str) -> str | None:
    """Return which of two readings a stated unit means."""
    text = stated.lower()
    return "Hz" if text in RATE_UNITS else "count" if text in COUNT_UNITS else None


def _settle(v: Variables, name: str, numbers: np.ndarray, width: float) -> np.ndarray:
    """Return counts, made from rates where the numbers prove that they are rates; refuse what could be either."""
    if numbers.dtype.kind == "b":
        return numbers
    known = numbers[np.isfinite(numbers)] if numbers.dtype.kind == "f" else numbers
    if numbers.dtype.kind == "f" and (known != np.rint(known)).any():
        if known.min() >= 0 and _is_whole(known, width):
            return _convert(v, name, numbers, width, "each is a whole number of spikes divided by the bin width")
        raise _refuse_fractions(name, numbers, width)
    divisor = find_divisor(known)
    if divisor > 1 and abs(divisor * width - 1) < 1e-6:
        return _convert(v, name, numbers, width, f"all are multiples of {divisor}, which is 1 / bin width")
    if divisor > 1:
        raise _ask(name, width, f"only multiples of {divisor}", 1 / divisor)
    if speaks_of_rates(name) and len(known):
        raise _ask(name, width, f"a name that speaks of rates, and whole numbers up to {known.max():g}", width)
    return numbers


def speaks_of_rates(name: str) -> bool:
    """Tell whether the name of a variable says that it holds rates.

    >>> [speaks_of_rates(name) for name in ("firing_rates", "spikeRate", "x.fr", "separate_counts", "generated")]
    [True, True, True, False, False]
    """
    return RATE_NAME.search(name) is not None or RATE_NAME.search(name.lower()) is not None


def find_divisor(numbers: np.ndarray) -> int:
    """Return the common divisor of whole numbers above zero; 1 if they are too few to tell.

    >>> find_divisor(np.tile([0, 20, 60, 40], 20)), find_divisor(np.tile([0, 2, 3, 1], 20)), find_divisor(np.array([4]))
    (20, 1, 1)
    """
    flat = numbers.reshape(-1)
    positive = flat[flat > 0]
    if len(positive) < ENOUGH:
        return 1
    divisor = int(np.gcd.reduce(positive[:SAMPLE].astype(np.int64)))
    return divisor if divisor == 1 else int(np.gcd.reduce(positive.astype(np.int64)))


def _is_whole(rates: np.ndarray, width: float) -> bool:
    """Tell whether rates times the bin width are whole numbers of spikes, and none is lost by rounding."""
    counts = rates * width
    whole = np.rint(counts)
    return bool((np.abs(counts - whole) < 1e-4 * np.maximum(whole, 1)).all() and ((whole > 0) == (rates > 0)).all())


def _convert(v: Variables, name: str, rates: np.ndarray, width: float, why: str) -> np.ndarray:
    text = f"{quoted(name)} holds rates in Hz, not counts ({why}): multiplied by the bin width of {width:g} s"
    v.remarks.append(Remark(f"{text}. If they are counts, say --counts-unit count"))
    return _multiply(rates, width)


def _multiply(rates: np.ndarray, width: float) -> np.ndarray:
    counts = rates * width
    rounded = np.rint(counts)
    return rounded if np.allclose(counts, rounded, atol=1e-3, equal_nan=True) else counts


def _ask(name: str, width: float, found: str, right: float) -> InputError:
    return InputError(
        quoted(name),
        f"counts of spikes in bins of {width:g} s, or rates",
        f"{found}: either",
        f"Say --counts-unit count, or Hz if they are rates in bins of {right:g} s (else --counts-bin-width).",
    )


def _refuse_fractions(name: str, numbers: np.ndarray, width: float) -> InputError:
    what = _name_kind(numbers)
    if what:
        remedy = f"Store the counts before they were scaled; if they never were spikes, say {SIGNAL}."
        return InputError(quoted(name), "whole numbers of spikes", what, remedy)
    row, channel = np.argwhere(np.isfinite(numbers) & (numbers != np.rint(numbers)))[0]
    return InputError(
        quoted(name),
        "whole numbers of spikes",
        f"{numbers[row, channel]:g} (bin {row}, channel {channel})",
        "If these are rates in spikes per second, pass --counts-unit Hz; if they are smoothed counts, count; if they "
        f"never were spikes, say {SIGNAL}.",
    )


def _name_kind(numbers: np.ndarray) -> str:
    """Return which known transformation numbers went through, or nothing."""
    known = numbers[np.isfinite(numbers)]
    if known.min() < 0:
        mean, spread = np.nanmean(numbers, axis=0), np.nanstd(numbers, axis=0)
        scaled = np.abs(mean).max() < 0.05 and np.abs(spread[spread > 0] - 1).max(initial=0) < 0.05
        return "z-scores: each channel has mean 0 and SD 1" if scaled else f"negative numbers, down to {known.min():g}"
    if _is_whole(known**2, 1.0):
        return "square roots of whole numbers"
    if _is_whole(np.expm1(known), 1.0):
        return "logarithms: log(1 + n) of whole numbers"
    largest = np.nanmax(numbers, axis=0)
    scaled = numbers.shape[1] > 1 and (largest[largest > 0] == 1).all()
    return "normalized numbers: the largest of each channel is 1" if scaled else ""


def _compact(counts: np.ndarray) -> np.ndarray:
    """Return whole, finite, non-negative numbers as the smallest unsigned type; others as they are."""
    if counts.dtype.kind == "f" and (~np.isfinite(counts) | (counts != np.rint(counts))).any():
        return np.ascontiguousarray(counts)
    if not counts.size or counts.min() < 0 or counts.max() >= 2**32:
        return np.ascontiguousarray(counts)
    return np.ascontiguousarray(counts, dtype=np.min_scalar_type(int(counts.max())))
