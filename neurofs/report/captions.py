"""The captions of all figures, as data: a title, and how to read the figure.

Words in braces are filled in for each run by `write_caption`; `count_of` puts a noun behind its number.
"""

from dataclasses import dataclass

from neurofs.comparison.summary import Output
from neurofs.ground.errors import printable


@dataclass(frozen=True)
class Caption:
    """The title of a figure, and how to read it."""

    title: str
    text: str


def write_caption(name: str, **words: object) -> Caption:
    """Return the caption of a figure with its words filled in.

    >>> write_caption("trials", window="0.5").text
    'Dashed: the window of one sample, 0.5 s; shorter trials give none.'
    """
    caption = _CAPTIONS[name]
    return Caption(caption.title.format_map(words), caption.text.format_map(words))


def count_of(n: int, noun: str, plural: str = "") -> str:
    """Return a number and its noun.

    >>> count_of(1, "trial"), count_of(1200, "trial"), count_of(2, "class", "classes")
    ('1 trial', '1,200 trials', '2 classes')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def name_output(output: Output) -> str:
    """Return the name of an output with its unit, fit to be shown."""
    return printable(output.name) + (f" ({printable(output.unit)})" if output.unit else "")


TRACES = {
    "values": "A decoder that knows little stays near the mean.",
    "classes": "Good decoding stays on the true class within a trial.",
    "band": " Band: one standard deviation; 1.96 of them are made to hold 95 % of samples, on average.",
}
PATHS = {"velocity": "of summed velocity, from the first decoded bin of the trial", "position": "of the two outputs"}
CURVE_WORDS = {
    "r2": {"what": "R²", "chance": "predicting the mean"},
    "accuracy": {"what": "Accuracy", "chance": "the accuracy at shifted targets"},
}
"""The score of the curves, and what chance is."""

COIN = {
    "some": "Gray: where 95 % of fair coins fall. Folds share training data: this is no test.",
    "all": "With so few folds, a fair coin may give any share.",
}
"""What to compare shares of folds with: few folds tell nothing."""

SHIFTED = {
    "trials": "targets of other trials, up to {farthest} away, without the course that trials share",
    "samples": "the target, shifted by up to {farthest} s, in the middle of the session",
}
"""What predictions are compared with."""

TUNING = {
    "direction": "the direction of {name} (upper half of its size)",
    "angle": "{name}",
    "value": "{name}, in eighths of the samples",
    "classes": "each class of {name}",
}
"""What rates are held against, by kind of target."""

COURSES = {
    "values": {
        "what": "RMSE",
        "reference": "SD of the truth",
        "good": "where they meet, the usual course of a trial tells as much",
    },
    "classes": {
        "what": "accuracy",
        "reference": "most frequent class",
        "good": "where they meet, classes are not told apart",
    },
    "few": {"text": " Dotted: less than half."},
}
"""Words of the course of the error within a trial, for values and for classes."""

_CAPTIONS = {
    "traces": Caption("Traces", "Test samples, by the method chosen above. {good}{band}"),
    "plane": Caption(
        "The path in the plane",
        "Paths {what}; gray is true, the circle is the start. Paths of the right shape that are too short mean "
        "shrinkage to the mean.",
    ),
    "curves": Caption(
        "{what} by number of features",
        "Soft kNN on the best n of each ranking; n chosen on training data: {chosen} (medians; ring: {first}); band: "
        "95 % interval; chance: {chance}.{below}",
    ),
    "wins": Caption(
        "Wins", "Share of {n_folds} folds in which {reference} beats each rival with as many features. {coin}"
    ),
    "weighting": Caption("Weights", "The same features, with weights and without."),
    "weights": Caption("Weights of {selector}", "Means over folds, channels by contribution{silent}.{marks}"),
    "top": Caption(
        "Selected features of every selector", "Full shade: among the best {n} in every fold and for every output."
    ),
    "lags": Caption(
        "Lag profile", "Share of all weight; dashed: equal weights. If it rises toward the longest lag, try more lags."
    ),
    "best": Caption("At which lags", "{n}; dot and line: peak and {level} % interval."),
    "best weights": Caption("At which lags", "Weights by {selector} of {n} channels; no channel is shown to be tuned."),
    "encoding": Caption("Profiles", "R² of the {numbers} on {target}, without slow time.{rest}"),
    "positions": Caption("Array", "Area: weight by {selector} at one place; rings: none."),
    "pairs": Caption(
        "Pairs of channels",
        "{n} channels against each other: the fuller the shade, the more their product tells of the target that no sum "
        "of channels tells. Rings: pairs that are found, {found}: what one means for the target depends on the "
        "other. Dots: echoes, in channels that hear spikes of one of the two. At most {rate} % of the pairs found are "
        "expected to be false; shades without a ring are chance.",
    ),
    "unique": Caption(
        "What one channel adds",
        "One dot per channel: the share of the target's variance that it tells alone, and the share that is lost "
        "without it (ridge regression, held-out folds). Near the bottom, others tell it all; on the dashed line, "
        "nobody else does; above it, a channel tells more beside others than alone.",
    ),
    "stability": Caption(
        "Stability", "Agreement of the sets selected in folds, which share {shared} % of their training data."
    ),
    "chance": Caption(
        "Chance", "{method} against {shifted} ({n} dots); the line, no shift, should lie right of nearly all."
    ),
    "confusion": Caption(
        "Confusion matrix",
        "Decoded by {method}; each row is a true class. Mistakes beside the diagonal confuse classes that follow each "
        "other; all over the matrix they are chance.",
    ),
    "rates": Caption(
        "Rates", "{without}{part}Fano factor: variance / mean of counts; 1: Poisson, far below: an artifact."
    ),
    "trials": Caption("Trials", "Dashed: the window of one sample, {window} s; shorter trials give none."),
    "tuning": Caption(
        "Tuning",
        "Mean {what}s against {against}, at their own lags; bars: standard errors over {of}; dashed: mean. No test.",
    ),
    "time-course": Caption("Time in the trial", "Over {n}; {good}.{few}"),
    "spreads": Caption(
        "Spread of the signal",
        "Standard deviations of the channels, each of which is divided by its own robust spread.{without}",
    ),
    "raster": Caption("{what} around {event}", "One row per {row}, {rows}; {alignment}.{blank}"),
    "all-wins": Caption(
        "Winning percentages over all sessions",
        "Share of all folds of all sessions in which {reference} decodes better than each rival with as many features. "
        "Sessions that tried other numbers are interpolated.",
    ),
    "all-scores": Caption(
        "How well each session is decoded",
        "{most}, the best first; means over folds and outputs. R² below −0.5 is drawn there. Sessions differ in how "
        "hard they are: what counts is the order of the marks within each row, and whether it is the same in all.",
    ),
    "all-lags": Caption(
        "Weight by lag",
        "Share of the weight at each lag, by the first selector of each session. Believe a peak if all sessions have "
        "it at the same lag.",
    ),
}
