"""Scores, estimates and shares as they are written in sentences, tables and reports."""

from neurofs.comparison.summary import Estimate

SCORE_NAMES = {"r2": "R²", "accuracy": "accuracy"}
UNKNOWN = "n/a"


def format_number(value: float | None, digits: int = 3) -> str:
    """Return a number for people, with so many decimals; very small ones keep two digits.

    >>> format_number(0.83456), format_number(0.00042), format_number(1234, 0), format_number(-15.25, 1)
    ('0.835', '0.00042', '1,234', '−15.2')
    """
    if value is None:
        return UNKNOWN
    small = value and abs(value) < 10**-digits
    return (f"{value:.2g}" if small else f"{value:,.{digits}f}").replace("-", "−")


def format_value(value: float) -> str:
    """Return a number that somebody chose, such as a time, with as many digits as it has.

    >>> format_value(-0.25), format_value(12.0)
    ('−0.25', '12')
    """
    return f"{value:g}".replace("-", "−")


def format_estimate(estimate: Estimate, digits: int = 3, digits_of_ends: int = 2) -> str:
    """Return an estimate with its interval, if it has one.

    >>> format_estimate(Estimate(mean=0.8346, low=0.791, high=0.878)), format_estimate(Estimate(mean=0.5))
    ('0.835 (0.79 to 0.88)', '0.500')
    >>> format_estimate(Estimate(mean=0.012, low=0.00064, high=0.024))
    '0.012 (0.001 to 0.02)'
    >>> format_estimate(Estimate(mean=0.968, low=0.9661, high=0.9703))
    '0.968 (0.966 to 0.970)'
    >>> format_estimate(Estimate(mean=-0.00042, low=-0.011, high=0.011))
    '0.000 (−0.01 to 0.01)'
    """
    if estimate.low is None:
        return format_number(estimate.mean, digits)
    wide = max(abs(end) for end in (estimate.low, estimate.high) if end is not None) >= 10**-digits
    mean = format_end(estimate.mean, digits, digits) if wide else format_number(estimate.mean, digits)
    return f"{mean} ({format_ends(estimate.low, estimate.high, digits, digits_of_ends)})"


def format_ends(low: float | None, high: float | None, digits: int = 3, digits_of_ends: int = 2) -> str:
    """Return both ends of an interval; of a narrow one with all digits, or both might be the same number.

    >>> format_ends(0.79, 0.883), format_ends(0.9661, 0.9703)
    ('0.79 to 0.88', '0.966 to 0.970')
    """
    if low is not None and high is not None and high - low < 2 * 10**-digits_of_ends:
        digits_of_ends = digits
    return " to ".join(format_end(end, digits_of_ends, digits) for end in (low, high))


def format_end(end: float | None, digits: int = 2, most: int = 3) -> str:
    """Return an end of an interval: one that would be 0 gets the digits of the mean, and no more.

    >>> format_end(0.1234), format_end(0.00891), format_end(-0.00002)
    ('0.12', '0.009', '0.000')
    """
    if end is None or abs(end) >= 10**-digits:
        return format_number(end, digits)
    digits = max(digits, most)
    return f"{round(end, digits) + 0.0:.{digits}f}".replace("-", "−")


def format_percent(share: float | None) -> str:
    """Return a share in whole percents.

    >>> format_percent(0.916)
    '92 %'
    """
    return UNKNOWN if share is None else f"{100 * share:.0f} %".replace("-", "−")


def format_duration(seconds: float) -> str:
    """Return a length of time in the unit that people would use.

    >>> format_duration(48.2), format_duration(268.0), format_duration(8000)
    ('48 s', '4.5 min', '2.2 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def format_p(p: float | None) -> str:
    """Return a p-value with the two digits that count.

    >>> format_p(0.04762)
    '0.048'
    """
    return UNKNOWN if p is None else f"{p:.2g}"
