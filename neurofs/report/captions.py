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

    >>> write_caption("trials", window="0.5").text[:52]
    'The dashed line is the window of one sample, 0.5 s: '
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
    "values": ("Good decoding follows peaks and their height; a decoder that knows little stays near the mean."),
    "classes": "Good decoding stays on the true class within a trial.",
    "band": " The band is one standard deviation; 1.96 of them are made to hold 95 % of samples, on average.",
}
PATHS = {"velocity": "of summed velocity, from the first decoded bin of the trial", "position": "of the two outputs"}
CURVE_WORDS = {
    "r2": {"what": "R²", "better": "Higher is better"},
    "accuracy": {"what": "Accuracy", "better": "Higher is better"},
}
LINES = {
    "r2": "Horizontal lines: all features, the linear decoders, and chance, which is predicting the mean.",
    "accuracy": "Horizontal lines: all features, the linear decoders, and chance, the accuracy at shifted targets.",
}
"""What the horizontal lines of the curves are, and where that of chance comes from."""

SHIFTED = {
    "trials": (
        "Each trial keeps what was decoded and gets the target of another one, {farthest} trials away at most, at the "
        "same share of its duration. What all trials have in common is taken away first: the question is whether "
        "what differs from trial to trial is decoded."
    ),
    "samples": (
        "The middle of the session keeps what was decoded, and the target is shifted by up to {farthest} s to both "
        "sides. The question is whether the target of this moment is decoded, and not what it always is, or how it "
        "slowly drifts."
    ),
}
"""What is shifted, and which question that answers."""

TUNING = {
    "direction": "the direction of {name} in sectors of 45°, from samples in the upper half of speed or distance",
    "angle": "{name} in sectors of 30°",
    "value": "{name}, in eighths of the samples",
    "classes": "each class of {name}",
}
"""What rates are held against, by kind of target."""

COURSES = {
    "values": {
        "what": "RMSE",
        "reference": "SD of the truth",
        "good": "where the error lies well below it, decoding tells trials apart at this moment; where the two meet, "
        "knowing the usual course of a trial is as good",
        "meaning": "Root mean squared error over trials",
        "other": "the standard deviation of the true values over trials at the same moment",
    },
    "classes": {
        "what": "accuracy",
        "reference": "most frequent class",
        "good": "where the accuracy lies well above it, decoding tells classes apart at this moment",
        "meaning": "Share of trials whose class is right",
        "other": "what always naming the most frequent class gives",
    },
    "few": {"text": " The line is dotted where less than half of these trials take part."},
}
"""Words of the course of the error within a trial, for values and for classes."""

MAP = (
    "Channels are in order of contribution; the bottom row is the bin of the target itself, higher rows are spikes "
    "that "
    "came earlier. × marks silent channels."
)

_CAPTIONS = {
    "traces": Caption(
        "Decoded against true",
        "At samples that were not used for training (first repeat), decoded by the method that is chosen above the "
        "figure. {good}{band}",
    ),
    "plane": Caption(
        "The path in the plane",
        "Paths {what}; gray is true, the circle is the start. Decoded paths that end near the true ones "
        "mean that direction and size are right; paths of the right shape that are too short mean "
        "shrinkage to the mean.",
    ),
    "curves": Caption(
        "{what} against the number of features",
        "Each line is one way to rank the features; soft kNN decodes with the best n of them. {better}; bands are 95 "
        "% intervals over folds. The ring is the n that was chosen on training data. {lines}",
    ),
    "wins": Caption(
        "Winning percentages",
        "In how many per cent of {n_folds} folds {reference} decodes better than each rival with the same number of "
        "features, all outputs together. The gray band holds 95 % of what a fair coin gives in as many throws; folds "
        "share training data, so that even a line outside it is no test. The tests are in the table of methods.",
    ),
    "weighting": Caption(
        "Weighted against unweighted",
        "The same features in the same order, weighed by the selector, and all alike. The gray band is what a fair "
        "coin gives.",
    ),
    "weights": Caption(
        "Weights of {selector}",
        "Weight of each channel × lag by {selector}, mean over folds; the fullest shade is the largest. {map}{marks}",
    ),
    "top": Caption(
        "Selected features of every selector",
        "The best {n} features of every selector; full shade: selected in every fold and for every output.{marks}",
    ),
    "lags": Caption(
        "Lag profile",
        "Weight summed over channels, as a share of all weight, mean over folds and outputs. A peak says "
        "by how much the spikes precede what they tell most of; at negative lags they follow it. The dashed "
        "line is what equal weights give; a profile that follows it has found no preferred lag. A rise "
        "toward the longest lag is a reason to try more lags.",
    ),
    "best": Caption(
        "At which lags",
        "The {n} with the largest weight: the fuller the shade, the more of its counts the target explains at this "
        "lag; "
        "dot and line: the peak and its {level} % interval.",
    ),
    "best weights": Caption("At which lags", "Weights by {selector} of {n} channels; no channel is shown to be tuned."),
    "encoding": Caption(
        "Encoding profiles of tuned channels",
        "R² of the counts of each channel at each lag, regressed on {target}, without slow time; full shade is the "
        "largest of the row. The dot is the peak, the line its {level} % interval. A line across all lags says that "
        "the target is too slow, or the channel too weak, to tell.{rest}",
    ),
    "positions": Caption(
        "Positions on the array",
        "Area of a disk: weight by {selector}, summed over the channels and lags of one place; rings are places "
        "without weight.",
    ),
    "pairs": Caption(
        "Pairs of channels",
        "{n} channels against each other: the fuller the shade, the more the product of the two tells of the target "
        "that "
        "no sum of channels tells. Rings: pairs that are found, {found}; dots: echoes, which repeat a "
        "pair that is found, since a channel hears spikes of one of the two. Read as: the two rings of a pair say that "
        "what one of these channels means for the target depends on the other. Of the pairs found, at most {rate} % "
        "are expected to be false; shades without a ring are chance.",
    ),
    "unique": Caption(
        "What one channel adds",
        "One dot per channel: the share of the target's variance that it tells alone, and the share that is lost if it "
        "is left out of all channels (ridge regression, held-out folds). Read as: on the dashed line nobody else tells "
        "what the channel tells; near the bottom the others tell it all, and it can be spared. Above the line, "
        "a channel tells more beside others than alone.",
    ),
    "stability": Caption(
        "Stability of the selection",
        "How well the sets that were selected in different folds agree (Nogueira's index): 1 when every "
        "fold selects the same features, 0 when they agree no more than random sets of that size. Folds share {shared} "
        "% of their training data, so that another recording would agree less, and noise may look stable. A selector "
        "can decode well and still be unstable where many features say the same: then trust the prediction, not the "
        "list.",
    ),
    "chance": Caption(
        "Chance",
        "What {method} decoded is held against the target at other times. {shifted} Each dot is one shift ({n} of them "
        "are tested, some are drawn); the line is no shift, and should lie to the right of nearly all dots. p = m / "
        "(N + 1) for shifts from −N to N, of which m, no shift among them, agree at least as well; it is valid for "
        "slow series, too. Beyond chance also takes an R² above 0.",
    ),
    "confusion": Caption(
        "Confusion matrix",
        "Decoded by {method}. Each row is a true class and adds up to 100 %; a perfect decoder has 100 on the "
        "diagonal. Mistakes beside the diagonal are confusions of classes that follow each other, such as "
        "neighboring directions; mistakes all over the matrix are chance.",
    ),
    "rates": Caption(
        "Rates",
        "Left: channels in order of their rate; {n_silent} silent ones are not drawn. Diamonds are active "
        "only in part of the session: the unit was lost, or its template fits only sometimes. Right: "
        "variance over mean of the counts in a bin; 1 is a Poisson process, far above 1 a channel that "
        "bursts, drifts or follows the movement strongly, far below 1 a regular one or an artifact.",
    ),
    "trials": Caption(
        "Trials",
        "The dashed line is the window of one sample, {window} s: trials shorter than that give no "
        "sample. A few trials much longer than the rest are worth a look; the animal may have paused.",
    ),
    "tuning": Caption(
        "Tuning of the channels with the largest weight",
        "Mean rate of {n} against {against}, each at the lag (by which the spikes precede the target) where its counts "
        "go best with the target. Bars are standard errors over {of}; the dashed line is the mean of all samples "
        "drawn. Read as: a channel whose rate stays within its bars of the dashed line tells little in this way, "
        "and may owe its weight to something else. This is no test.",
    ),
    "time-course": Caption(
        "Decoding by time in the trial",
        "{meaning} of {method}, at test samples of the first repeat, against the time since the trial began ({n}); "
        "the gray line is {other}. Read as: {good}. The first bins of a trial are missing where no window of "
        "lags fits before them.{few}",
    ),
    "raster": Caption(
        "Spikes around {event}",
        "Spikes of the {n} channels with the largest weight; one row per {row}, {rows}. Time 0: {alignment}. A "
        "tuned channel changes its rate before or after 0{conditions}; a channel that looks the same everywhere owes "
        "its weight to something else, such as pairing with another channel.{blank}",
    ),
    "all-wins": Caption(
        "Winning percentages over all sessions",
        "Share of all folds of all sessions in which {reference} decodes better than each rival with the "
        "same number of features. 50 % is a draw. Sessions that tried other numbers of features are "
        "interpolated.",
    ),
    "all-scores": Caption(
        "How well each session is decoded",
        "{most}, the best first; means over folds and outputs. Right is better: 1 is perfect, and an R² of 0 is as "
        "good as knowing the mean. R² below −0.5 is drawn there. Sessions differ in how hard they are; what counts is "
        "the order of the marks within each row, and whether it is the same in all.",
    ),
    "all-lags": Caption(
        "Lags that matter everywhere",
        "Share of the weight at each lag, of the first selector of each session (thin lines); the thick "
        "line is their mean where the sessions have the same lags. A peak at the same lag in all sessions "
        "is a finding; a peak that moves from session to session is not.",
    ),
}
