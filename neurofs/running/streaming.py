"""Decoding a stream: bins in, estimates out, and at the end how long each took."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import IO, Any

import numpy as np

from neurofs.decoders.online import Latencies, OnlineDecoder
from neurofs.ground.errors import InputError, NeurofsError, UsageError
from neurofs.ground.threads import one_thread
from neurofs.running.streams import Bin, SilentStream

Emit = Callable[[int, np.ndarray, np.ndarray], None]


@dataclass(frozen=True)
class StreamSummary:
    """What a stream was, and how fast it was decoded."""

    ended: str
    counted: dict[str, int]
    latency: dict[str, float | None]
    bin_width_ms: float
    error: NeurofsError | None = None

    @property
    def share(self) -> float | None:
        """The 99th percentile of latency as a share of the bin width."""
        p99 = self.latency["p99_ms"]
        return None if p99 is None else p99 / self.bin_width_ms

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {**asdict(self), "error": self.error and str(self.error), "share_of_bin": self.share}

    def render(self) -> str:
        """Return it for people."""
        n = self.counted
        parts = [f"{n['bins']:,} bins", f"{n['estimates']:,} estimates"]
        parts += [f"{n[key]:,} {key}" for key in ("missing", "repeated", "late") if n[key]]
        parts += [f"{n['resets']:,} windows begun anew"] if n["resets"] else []
        parts += [f"numbers of bins began anew {n['restarts']:,} times"] if n["restarts"] else []
        lines = [f"{self.ended}: {', '.join(parts)}"]
        if self.share is not None:
            times = [f"{value:.3g}" for value in self.latency.values()]
            lines.append(
                f"latency: median {times[0]} ms, 99th percentile {times[1]} ms, largest {times[2]} ms; "
                f"99 % of estimates take at most {100 * self.share:.2g} % of a bin of {self.bin_width_ms:g} ms"
            )
        return "\n".join(lines)


def decode_stream(decoder: OnlineDecoder, bins: Iterable[Bin], emit: Emit) -> StreamSummary:
    """Decode bins until they end, the reader of estimates goes away, or somebody interrupts."""
    decoder.warm_up()
    times, ended = Latencies(), "the stream ended"
    failure: NeurofsError | None = None
    with one_thread():
        try:
            for number, counts, trial in bins:
                started = time.perf_counter_ns()
                estimate, deviation = decoder.feed(decoder.bin + 1 if number is None else number, counts, trial)
                if estimate is None or deviation is None:
                    continue
                times.add(time.perf_counter_ns() - started)
                if not np.isfinite(estimate).all():
                    raise UsageError("the model cannot decode: its estimates are not finite; fit it again")
                emit(decoder.target_bin, estimate, deviation)
        except BrokenPipeError:
            ended = "the reader of estimates went away"
        except OSError as error:
            ended = "estimates cannot be written further"
            failure = InputError("estimates", "a place that takes them", error.strerror, "Check space and rights.")
        except KeyboardInterrupt:
            ended = "interrupted"
        except SilentStream as silent:
            ended = str(silent)
        except NeurofsError as error:
            ended, failure = "the stream cannot be read further", error
    width = 1000 * decoder.model.head.binning.bin_width
    return StreamSummary(ended, vars(decoder.counted), times.summarize(), width, failure)


def emit_lines(stream: IO[bytes], names: list[str], classes: list[str], width: float, origin: float = 0.0) -> Emit:
    """Return what writes estimates as JSON lines, each at once; bin 0 begins at `origin`."""

    def emit(number: int, estimate: np.ndarray, deviation: np.ndarray) -> None:
        record: dict[str, Any] = {"bin": number, "time": round(origin + number * width, 9)}
        if classes:
            record["class"] = classes[int(estimate[0])]
        else:
            record["estimate"] = dict(zip(names, estimate.tolist(), strict=True))
            if np.isfinite(deviation).all():
                record["sd"] = dict(zip(names, deviation.tolist(), strict=True))
        stream.write((json.dumps(record) + "\n").encode())
        stream.flush()

    return emit


def emit_records(stream: IO[bytes]) -> Emit:
    """Return what writes estimates as binary records, each at once."""

    def emit(number: int, estimate: np.ndarray, deviation: np.ndarray) -> None:
        stream.write(struct.pack("<q", number) + estimate.astype("<f8").tobytes() + deviation.astype("<f8").tobytes())
        stream.flush()

    return emit
