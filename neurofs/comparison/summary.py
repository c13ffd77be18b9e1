"""`Summary`: what `summary.json` holds, and what tables, sentences and figures are made of.

Numbers that do not exist are null. ``neurofs list schema`` prints the JSON schema of the file. `comparison.digest`
makes a summary from scores, weights and predictions.
"""

from typing import Any, Literal

from pydantic import Field

from neurofs.comparison.channel_summary import ChannelPair, ChannelPart, ChannelTests
from neurofs.comparison.summary_parts import Part, Value, Values
from neurofs.recordings.recording import SPIKES

SCHEMA: Literal[3] = 3
Score = Literal["r2", "accuracy"]


class Estimate(Part):
    """A mean over folds with its 95 % interval (Nadeau and Bengio)."""

    mean: Value = None
    low: Value = None
    high: Value = None


class Band(Part):
    """Estimates along a curve."""

    mean: Values
    low: Values
    high: Values


class Count(Part):
    """A count in every fold: the median and the range of 95 % of the folds."""

    median: int
    low: int
    high: int


class Scores(Part):
    """Every score of a prediction; those of classes do not exist for values, and the other way round."""

    mse: Estimate
    r2: Estimate
    r: Estimate
    accuracy: Estimate
    balanced_accuracy: Estimate

    def of(self, name: str) -> Estimate:
        """Return the estimate of the score of this name."""
        found: Estimate = getattr(self, name)
        return found


class PooledScores(Scores):
    """Scores as means over outputs, and the fraction of variance accounted for over all outputs."""

    fvaf: Estimate


class MethodScores(Part):
    """One method at its own choices."""

    method: str = Field(description="As in scores.csv.")
    label: str = Field(description="Its name for people, in terminal, report and index.")
    selector: str
    decoder: str = Field(description="The decoders that were used, most often used first.")
    weighted: float = Field(description="Share of folds in which distances were weighted.")
    n: Count = Field(description="Number of features.")
    outputs: dict[str, Scores] = Field(description="By the name of the output.")
    pooled: PooledScores
    in_field: Estimate | None = Field(
        None, description="Accuracy per trial of classes, mean error in degrees of angles; null for other targets."
    )


class PairedTest(Part):
    """The main method against another one on the same folds."""

    method: str
    output: str = Field(description='An output, or "pooled".')
    difference: Estimate = Field(description="Main minus other method, in units of the score.")
    p: Value
    effect_size: Value = Field(description="The mean difference in standard deviations of the differences.")
    wins: Value = Field(description="Share of folds that the main method wins.")
    n_folds: int
    p_holm: Value = Field(None, description="Corrected for the number of methods (Holm).")


class Curve(Part):
    """Scores of one selector with soft kNN, against the number of features."""

    selector: str
    weighted: bool = Field(description="Whether distances were weighted by the selector's weights.")
    output: str
    n: list[int]
    mse: Band | None = None
    r2: Band | None = None
    r: Band | None = None
    accuracy: Band | None = None
    balanced_accuracy: Band | None = None

    def of(self, name: str) -> Band | None:
        """Return the curve of the score of this name; values have other scores than classes."""
        found: Band | None = getattr(self, name)
        return found


class Wins(Part):
    """Share of folds in which the reference beats a rival, against the number of features.

    The error of a fold is the mean over outputs, and over repeats that have the same place in time.
    """

    rival: str
    weighted: bool = Field(description="Whether the reference used its weights; rivals never do.")
    n: list[int]
    share: Values
    n_folds: int


class Weighting(Part):
    """Share of folds in which weighted soft kNN beats unweighted soft kNN on the same features."""

    selector: str
    n: list[int]
    share: Values
    n_folds: int


class BestSize(Part):
    """The best number of features on the test curve, and the range that is not clearly worse."""

    selector: str
    weighted: bool
    output: str
    n: int
    low: int
    high: int


class Stability(Part):
    """Nogueira's index of the first n features in different folds, n being the median of what was chosen.

    Folds share most of their training data: independent recordings agree less.
    """

    selector: str
    output: str
    n: int
    index: Value


class KeptChannel(Part):
    """How often one channel was kept."""

    channel: str
    share: float = Field(description="Share of folds that keep it.")


class FewChannels(Part):
    """How many channels kernel RGS keeps, those kept most often first, and whether they suffice."""

    n: Count
    channels: list[KeptChannel]
    difference: Estimate = Field(description="Score with these channels minus that with all, on the same folds.")
    margin: float = Field(description="Loss of the score that still counts as none.")
    suffice: bool = Field(description="Whether the loss is within the margin (95 %), and decoding beyond chance.")


class Coverage(Part):
    """How often the 95 % intervals of a method hold the truth, over all outputs and repeats."""

    method: str
    mean: float = Field(description="Share of samples, on average.")
    by_size: Values = Field(
        description="The same by fifths of the samples, from those nearest to the mean of their output to the farthest."
    )
    half_width: float = Field(description="Mean half of an interval, in standard deviations of the output.")


class Chance(Part):
    """Whether a method decodes an output beyond chance: how well its predictions agree with the target at other times.

    Agreement is the correlation of values, and the share of right classes (`comparison.chance`).
    """

    method: str
    output: str
    shifted: Literal["trials", "samples"] = Field(description="What the target is shifted by.")
    n_shifts: int
    farthest: float = Field(description="The longest shift, in trials or seconds.")
    real: Value = Field(description="Agreement at no shift, in the middle of the session.")
    mean: Value = Field(description="Mean agreement over shifts.")
    high: Value = Field(description="95th percentile of the agreement over shifts.")
    p: float = Field(description="m / (N + 1): m of 2N + 1 shifts, none among them, agree at least as well as none.")
    p_corrected: float = Field(description="Corrected for the number of outputs (Westfall and Young).")
    beyond: bool = Field(description="Whether p_corrected is at most 0.05 and R² is above 0.")
    values: Values = Field(description="Agreement at some of the shifts, in order; of the main method alone.")


class Gap(Part):
    """The best selector that judges sets of features against the best that judges one at a time; soft kNN."""

    together: str
    alone: str
    difference: Estimate = Field(description="Of the score: together minus alone.")
    p: Value = Field(description="Paired and corrected for overlapping folds, times the number of choices.")
    n_choices: int = Field(description="Selectors of sets times selectors of single features.")
    n_folds: int


class Dependency(Part):
    """Whether channels work together."""

    gap: Gap | None = Field(description="Null unless the run has selectors of both kinds.")
    channels: list[ChannelPart] = Field(description="Those with enough spikes to be paired.")
    pairs: list[ChannelPair] = Field(description="Found, then echoes, then the strongest others; all are in pairs.csv.")
    n_pairs: int
    n_found: int
    n_echoes: int
    n_shifts: int
    false_discovery_rate: float = Field(description="Expected share of false pairs among those found, at most.")
    p_any: float = Field(description="Share of shifts whose strongest pair is at least as strong as the real one.")


class Confusion(Part):
    """How often each class (rows) was taken for each other (columns)."""

    method: str
    classes: list[str]
    counts: list[list[int]]


class Number(Estimate):
    """A number of the headline: a score, the mean over outputs."""

    label: str
    method: str
    n: int | None = Field(None, description="Number of features.")


class Numbers(Part):
    """The numbers of the headline; null where a run has no such method."""

    main: Number = Field(description="The method of the headline.")
    reference: Number = Field(description="The first selector with soft kNN.")
    all: Number | None = Field(description="All features alike, with the decoder of the headline if it can be.")
    rival: Number | None = Field(description="The best method that uses neither the first selector nor kernel RGS.")


class Headline(Part):
    """The result in a few numbers and sentences."""

    numbers: Numbers
    how_well: list[str] = Field(description="How well the target is decoded, and beside what.")
    which: list[str] = Field(description="Which channels, at which lags; how few suffice.")
    believe: list[str] = Field(description="Whether it may be chance.")

    @property
    def sentences(self) -> list[str]:
        """All sentences, in order."""
        return [*self.how_well, *self.which, *self.believe]


class Output(Part):
    """A component of the target."""

    name: str
    unit: str


class Dropped(Part):
    """How many bins are no samples, by the reason.

    They lie outside of all trials or were not observed, their window of lags leaves the observed trial, the target is
    missing, or they lie outside the period or between the steps that were asked for.
    """

    outside: int = 0
    window: int
    target: int
    period: int
    step: int


class SessionFacts(Part):
    """What was decoded."""

    name: str
    source: str | None
    source_hash: str | None
    duration: float = Field(description="Observed seconds.")
    span: tuple[float, float] = Field(description="First and last second.")
    n_channels: int
    n_lags: int
    bin_width: float = Field(description="Seconds.")
    first_lag: int = Field(description="In bins; positive if spikes or signal precede the target.")
    numbers: str = Field("spikes", description="What is decoded: spikes, or the unit of a continuous signal.")
    n_samples: int
    n_trials: int = Field(description="Those with samples.")
    n_trials_recorded: int = Field(0, description="All trials of the recording.")
    n_gaps: int
    kind: Literal["trials", "blocks", "permuted", "shuffled", "given"] = Field(description="What a fold is made of.")
    outputs: list[Output]
    classes: list[str] = Field(description="Empty if the target has values.")
    dropped: Dropped
    notes: list[str] = Field(description="What was done to the recording and the target.")
    doubts: list[str] = Field([], description="Why intervals of R² may hold less often than 95 %.")
    serious: list[str] = Field(
        default_factory=list, description="Those of the warnings which say that the file was probably misread."
    )
    warnings: list[str]

    @property
    def is_signal(self) -> bool:
        """Whether a continuous signal is decoded in place of spikes."""
        return self.numbers != SPIKES

    @property
    def reach(self) -> tuple[float, float]:
        """The shortest and the longest lag, in seconds."""
        return self.first_lag * self.bin_width, (self.first_lag + self.n_lags - 1) * self.bin_width


class AuditedFold(Part):
    """One fold, and how many pairs of a training and a test sample share raw data: spikes, or target."""

    repeat: int
    fold: int
    n_train: int
    n_test: int
    n_overlaps: int


class Audit(Part):
    """Whether training and test parts share raw data."""

    passed: bool
    n_overlaps: int
    target_span: int = Field(1, description="Bins from which on two targets were made of different raw samples.")
    folds: list[AuditedFold]


class Input(Part):
    """A file that the run has read."""

    path: str | None
    sha256: str | None


class Provenance(Part):
    """Where the result comes from."""

    version: str
    versions: dict[str, str | None]
    python: str
    platform: str
    command: str
    seed: int
    finished: str
    seconds: Value
    peak_memory: int = Field(description="Bytes, of the largest process.")
    git: str | None = Field(description="Revision of the source, if it is a checkout.")
    inputs: list[Input]
    threads: int = Field(description="Of each task.")
    latency: dict[str, float] = Field(
        default_factory=dict, description="Of each method: milliseconds per estimate, bin by bin, all outputs."
    )


class Findings(Part):
    """All that a summary holds, but for its words."""

    schema_version: Literal[3] = Field(SCHEMA, alias="schema")
    score: Score = Field(description="The score of this target: r2 of values, accuracy of classes.")
    reference: str = Field(description="The first selector, with whose ranking all others are compared.")
    main: str = Field(
        description="The method of the headline, with which all others are compared: kernel RGS if it ran, else the "
        "first selector with the decoder that training data prefer, else with soft kNN."
    )
    session: SessionFacts
    audit: Audit
    methods: list[MethodScores] = Field(description="Best first.")
    tests: list[PairedTest]
    curves: list[Curve]
    wins: list[Wins]
    weighting: list[Weighting]
    best_n: list[BestSize]
    stability: list[Stability]
    few_channels: FewChannels | None = Field(description="Null if it was not asked how many channels suffice.")
    coverage: list[Coverage] = Field([], description="Of the methods that predict intervals.")
    chance: list[Chance] = Field(description="Of every method and output; empty if folds are not contiguous in time.")
    guess_in_field: float | None = Field(
        None,
        description="What in_field would be for an answer that never changes: the most frequent class, the mean angle.",
    )
    confusion: Confusion | None = Field(description="Null if the target has no classes.")
    channels: ChannelTests | None = Field(None, description="Null in runs of older versions.")
    dependency: Dependency | None = Field(
        None, description="Left out unless it was asked whether channels work together."
    )
    provenance: Provenance

    @property
    def by_method(self) -> dict[str, MethodScores]:
        """The methods by name, best first."""
        return {method.method: method for method in self.methods}

    @property
    def tests_by_method(self) -> dict[str, PairedTest]:
        """The tests over all outputs, by the method that the main one is compared with."""
        outputs = self.session.outputs
        whole = "pooled" if len(outputs) > 1 else outputs[0].name
        return {test.method: test for test in self.tests if test.output == whole}

    def chance_of(self, method: str) -> list[Chance]:
        """Return the tests of a method, one per output."""
        return [one for one in self.chance if one.method == method]


class Summary(Findings):
    """The summary of a comparison."""

    headline: Headline

    def to_json(self) -> dict[str, Any]:
        """Return the content of ``summary.json``."""
        left_out = {"dependency"} if self.dependency is None else None
        return self.model_dump(mode="json", by_alias=True, exclude=left_out)
