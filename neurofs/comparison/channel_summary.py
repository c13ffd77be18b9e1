"""What a summary says of single channels: `ChannelTests`."""

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
