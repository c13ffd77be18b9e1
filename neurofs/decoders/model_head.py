"""`Head`: what a model.json says of a model, beside the state of its decoders."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA: Literal[1] = 1
MOST = 1e30  # of the counts of a channel, far beyond all that is decoded
Finite = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Text = Annotated[str, Field(max_length=10_000, pattern=r"^[^\x00]*$")]


class HeadPart(BaseModel):
    """A part of the head."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, strict=True)


class Binning(HeadPart):
    """How counts become windows; the words are those of `build_tensor`."""

    bin_width: float = Field(ge=1e-4, le=1e4)
    n_lags: int = Field(ge=1, le=1000)
    lead: float = Field(0.0, ge=-1e4, le=1e4)
    step: Annotated[float, Field(ge=1e-4, le=1e4)] | None = None
    sqrt: bool = False
    smooth: float = Field(0.0, ge=0, le=100)


class Channel(HeadPart):
    """A channel of the training sessions: its name, and mean and standard deviation of its binned counts.

    Of a continuous signal, also the center and spread by which it is scaled.
    """

    name: Text
    mean: float = Field(ge=-MOST, le=MOST)
    sd: float = Field(ge=0, le=MOST)
    center: float = Field(0.0, ge=-MOST, le=MOST)
    spread: float = Field(1.0, ge=1 / MOST, le=MOST)


class Output(HeadPart):
    """One column of what is decoded, and how far estimates were off where they were cross-validated."""

    name: Text
    unit: Text = ""
    sd: float | None = Field(None, ge=0, le=MOST, description="Root mean square of the errors.")
    half_width: float | None = Field(None, ge=0, le=MOST, description="95 % of errors are smaller.")
    score: Finite | None = Field(None, description="R², or for classes the share of right ones.")
    low: Finite | None = None
    high: Finite | None = None
    p_chance: Share | None = Field(None, description="Whether it is chance, corrected for the number of outputs.")


class TrainingSession(HeadPart):
    """A session that the model was fitted to."""

    name: Text
    source: Text = ""
    sha256: Text = ""
    n_samples: int = Field(ge=0)
    n_trials: int = Field(ge=0)
    start: Finite | None = Field(None, description="Time of the first and of the last sample, in seconds.")
    stop: Finite | None = None


class CrossValidation(HeadPart):
    """How the scores of the outputs were found."""

    folds: Text = Field(description="trials, blocks, permuted or shuffled.")
    n_splits: int = Field(ge=2)
    n_repeats: int = Field(ge=1)
    score: Literal["r2", "accuracy"]
    mean: Finite | None = Field(description="Mean over outputs and folds, with its 95 % interval.")
    low: Finite | None = None
    high: Finite | None = None
    chosen_among: list[Text] = Field(description="Methods that these folds were used to choose among.")


class StoredArray(HeadPart):
    """An array in a file of its own, arrays/NAME.npy."""

    dtype: Literal["float32", "float64", "int64", "bool"]
    shape: list[Annotated[int, Field(ge=0, lt=2**53)]] = Field(max_length=4)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class StoredDecoder(HeadPart):
    """A decoder of some outputs; its state is read by `decoders.forms`."""

    outputs: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)
    decoder: Text
    settings: dict[str, Any]
    state: dict[str, Any]


class Head(HeadPart):
    """All of a model but its arrays."""

    schema_: Literal[1] = Field(SCHEMA, alias="schema", description="Changes when fields change their meaning.")
    version: Text = Field(description="Of neurofs.")
    created: Text
    method: Text = Field(description="As in the results of a comparison: rgs + auto, ridge, kernel-rgs-decoder.")
    label: Text = Field(description="Its name for people.")
    target: list[Text] = Field(min_length=1, description="As --target takes it.")
    binning: Binning
    numbers: Text = Field("spikes", description="What bins hold: spikes, or the unit of a continuous signal.")
    channels: list[Channel] = Field(min_length=1, description="In the order of the features.")
    outputs: list[Output] = Field(min_length=1)
    classes: list[Text] = Field(default_factory=list, description="Where the target is a class of the trials.")
    sessions: list[TrainingSession]
    cross_validation: CrossValidation | None = None
    packages: dict[str, Text | None]
    notes: list[Text] = Field(default_factory=list)
    memory: dict[str, Any] = Field(default_factory=dict, description="Correlations of channels in training.")
    decoders: list[StoredDecoder] = Field(default_factory=list)
    arrays: dict[Annotated[str, Field(pattern="^[a-z0-9][a-z0-9-]{0,63}$")], StoredArray] = Field(default_factory=dict)
    seal: str = Field("", description="SHA-256 of all of the above: whether the file is as it was written.")
