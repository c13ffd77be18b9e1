"""What a summary says of single channels, and of pairs of them."""

from typing import Literal

from pydantic import Field

from neurofs.comparison.summary_parts import Part, Value


class TestedChannel(Part):
    """One channel: is it tuned, does it add something to all others, and at which lag does it tell most?"""

    channel: str
    tuned: bool = Field(description="Whether its counts go with the target, given slow time.")
    p_tuned: float
    q_tuned: float = Field(description="The smallest false discovery rate at which it is reported as tuned.")
    adds: bool | None = Field(description="The same given all other channels too; null if there are too few samples.")
    p_adds: Value
    q_adds: Value
    peak: float = Field(description="Lag at which the target explains most of its counts, in seconds.")
    peak_low: float = Field(description="Ends of the interval of this lag, by blocks drawn anew.")
    peak_high: float
    r2: float = Field(description="R² of its counts at this lag, regressed on the target, without slow time.")


class ChannelTests(Part):
    """Which channels are tuned, and which add something, with the rate of false ones under control."""

    channels: list[TestedChannel]
    n_tuned: int
    n_adds: int | None = Field(description="Null if there are too few samples for so many channels.")
    false_discovery_rate: float = Field(description="Expected share of false channels among those reported, at most.")
    lag_range: tuple[float, float] | None = Field(
        description="First and third quartile of the peaks of tuned channels, in seconds; null without any."
    )
    interval: float = Field(description="Level of the intervals of peaks.")
    cutoff: float = Field(description="Shortest period of the slow time that is taken away, in seconds of samples.")
    shifted: Literal["rows", "trials", "trials in order"] = Field(
        description="What was shifted: the session, its trials in random orders, or in their order."
    )
    n_shifts: int = Field(description="For tuned channels.")
    n_shifts_adds: int
    n_windows: int = Field(description="Sums of neighboring lags of a channel that were compared.")
    n_windows_adds: int

    @property
    def by_channel(self) -> dict[str, TestedChannel]:
        """The channels by name."""
        return {one.channel: one for one in self.channels}

    @property
    def most_tuned(self) -> list[TestedChannel]:
        """The tuned channels, those first whose counts the target explains best."""
        return sorted((one for one in self.channels if one.tuned), key=lambda one: -one.r2)


class ChannelPart(Part):
    """What one channel tells, by ridge regression, as a share of the target's variance in held-out folds."""

    channel: str
    alone: Value = Field(description="All lags of this channel and nothing else.")
    unique: Value = Field(description="What is lost if it is left out of all channels.")


class ChannelPair(Part):
    """Two channels whose product tells of the target what no sum of channels does, or does not."""

    channels: tuple[str, str]
    lag: float = Field(description="Middle of the window of lags in which the product tells most, in seconds.")
    strength: float = Field(description="Σ z² over outputs in this window.")
    p: float = Field(description="Share of pairs at shifted targets that are at least as strong.")
    p_beyond: float = Field(description="The same, for what it tells beyond the stronger pairs that are reported.")
    verdict: Literal["found", "echo", "none"] = Field(
        description="An echo is strong alone, and tells nothing beyond the pairs that are found."
    )
    synergy: Value = Field(description="Share of variance in held-out folds that its products add to all channels.")
