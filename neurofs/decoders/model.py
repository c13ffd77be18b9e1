"""`Model`: a fitted decoder that gets out. It knows its binning, channels, target and score, and predicts sessions.

A model folder holds `model.json` (`decoders.model_head`) and `arrays/NAME.npy`. Nothing in it is ever unpickled, and
reading checks every type, size and number, so that a model from elsewhere can at worst decode badly.

    model = neurofs.fit(neurofs.load("day1.nwb"), "hand_velocity")
    model.save("models/day1")
    neurofs.read_model("models/day1").predict(neurofs.load("day2.nwb"))
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import xarray as xr

from neurofs.decoders.adaptation import ChannelMemory, find_adaptation
from neurofs.decoders.base import Decoder
from neurofs.decoders.model_head import MOST, Head
from neurofs.features.samples import Samples
from neurofs.features.scaling import Scaling
from neurofs.features.tensor import build_tensor
from neurofs.ground.errors import UsageError, printable, quoted
from neurofs.ground.showing import render_facts
from neurofs.ground.threads import one_thread
from neurofs.recordings.recording import SPIKES, Recording, require_recording

NORMAL_95 = 1.959964
MOST_NAMED = 8
LARGEST = 1e15
"""Number in a bin of which squares and sums are still numbers."""

Missing = Literal["refuse", "zero", "mean"]


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted decoder with all that is needed to use it.

    Attributes
    ----------
    head : Head
        What model.json says: method, binning, channels, target, scores, where it is from.
    decoders : tuple of Decoder
        One for all outputs, or one for each.
    outputs : tuple of tuples of int
        The outputs of each decoder.
    memory : ChannelMemory
        How channels went together in training, by which a later day is adapted.

    Examples
    --------
    >>> import neurofs
    >>> day1, day2 = (neurofs.simulate_session(12, n_electrodes=2, random_state=seed) for seed in (1, 2))
    >>> model = neurofs.fit(day1, "hand_velocity", decoder="ridge", n_lags=4)
    >>> found = model.predict(day2)
    >>> dict(found.sizes), [str(name) for name in found.data_vars]
    ({'time': 231, 'output': 2}, ['predicted', 'low', 'high', 'sd', 'trial'])
    """

    head: Head
    decoders: tuple[Decoder, ...]
    outputs: tuple[tuple[int, ...], ...]
    memory: ChannelMemory

    def __repr__(self) -> str:
        outputs = ", ".join(printable(output.name) for output in self.head.outputs)
        return f"<Model {self.head.label!r}: {outputs} from {len(self.channels)} channels; {self._score()}>"

    def _repr_html_(self) -> str:
        head, binning = self.head, self.head.binning
        facts = {
            "decodes": ", ".join(output.name for output in head.outputs),
            "from": f"{len(self.channels)} channels, {binning.n_lags} lags of {binning.bin_width:g} s",
            "cross-validated": self._score(),
            "sessions": ", ".join(session.name for session in head.sessions),
            "more": ".predict(recording), .save(folder)",
        }
        return render_facts(f"Model {head.label}", facts)

    def _score(self) -> str:
        found = self.head.cross_validation
        if found is None or found.mean is None:
            return "no score"
        interval = "" if found.low is None or found.high is None else f" ({found.low:.2f} to {found.high:.2f})"
        return f"{'R²' if found.score == 'r2' else 'accuracy'} {found.mean:.3f}{interval}"

    @property
    def channels(self) -> list[str]:
        """Names of the channels, in the order of the features."""
        return [channel.name for channel in self.head.channels]

    def predict(self, recording: Recording, missing: Missing = "refuse", adapt: bool = False) -> xr.Dataset:
        """Decode every bin of a session whose window fits into a trial or an observed stretch.

        `missing` says what becomes of channels that the session does not have: it is refused, or their counts are
        taken to be 0, or what they were on average in training. Further channels of the session are not used. With
        `adapt`, counts are corrected for what changed since training (`decoders.adaptation`), without any target, and
        missing channels are lost ones.

        Returns ``predicted`` (time, output) with the ends of 95 % intervals, ``low`` and ``high``, and ``trial``;
        time is the start of the bin. Classes are their numbers, their names in the attribute ``classes``.
        """
        self.check_numbers(require_recording(recording, "predict"))
        tensor = build_tensor(recording, None, **self.head.binning.model_dump())
        missing = "mean" if adapt and missing == "refuse" else missing
        order = match_channels(self.channels, [str(name) for name in tensor["channel"].values], recording.name, missing)
        counts = self.take_channels(tensor["counts"].values, order, missing)
        notes: list[str] = []
        if adapt:
            counts, notes = self._adapt(counts, tensor["valid"].values)
        rows = np.flatnonzero(tensor["valid"].values)
        counts = self.scaling(counts) if self.is_signal else counts
        samples = Samples.from_counts(counts, self.head.binning.n_lags, rows - tensor.attrs["first_lag"])
        predicted, sd = self._predict_checked(samples)
        notes = [*describe_match(self.channels, order, tensor, missing), *notes]
        return self._label(tensor, rows, predicted, sd, notes)

    @property
    def is_signal(self) -> bool:
        """Whether it decodes a continuous signal, whose channels are scaled."""
        return self.head.numbers != SPIKES

    def can_be_bin(self, counts: np.ndarray) -> bool:
        """Whether these are numbers that a bin can hold: finite, and not negative where they are counts."""
        least = -LARGEST if self.is_signal else 0.0
        return bool(counts.min() >= least and counts.max() <= LARGEST)  # NaN is neither

    @property
    def scaling(self) -> Scaling:
        """Center and spread by which the channels of a signal are scaled."""
        center, spread = (np.array([getattr(one, key) for one in self.head.channels]) for key in ("center", "spread"))
        return Scaling(center, spread)

    def check_numbers(self, recording: Recording) -> None:
        """Refuse a session that holds something else than the model was fitted to."""
        if recording.unit != self.head.numbers:
            raise UsageError(
                f"{printable(recording.name)}: expected {printable(self.head.numbers)}, which the model decodes; found "
                f"{printable(recording.unit)}. If it is the same, say so: --signal-unit, or --counts"
            )

    def _adapt(self, counts: np.ndarray, valid: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """Return counts corrected for what changed since training, and what that was."""
        mean, sd = (np.array([getattr(one, key) for one in self.head.channels]) for key in ("mean", "sd"))
        if not valid.any():
            return counts, []
        n_lags = self.head.binning.n_lags
        with np.errstate(all="ignore"):  # a model from elsewhere may remember anything
            found = find_adaptation(mean, sd, self.memory, counts, valid, n_lags, rates=not self.is_signal)
        lost = [name for name, t, s in zip(self.channels, found.trust, sd, strict=True) if t == 0 and s > 0]
        less = [name for name, t in zip(self.channels, found.trust, strict=True) if 0 < t < 0.5]
        return found(counts), [
            f"adapted: {100 * found.drift:.0f} % of the changes of rates taken for drift: behavior is assumed alike",
            *([f"adapted: not used, since lost or changed: {count_channels(lost)}"] if lost else []),
            *([f"adapted: weighted less than half: {count_channels(less)}"] if less else []),
        ]

    def take_channels(self, counts: np.ndarray, order: np.ndarray, missing: Missing) -> np.ndarray:
        """Return the columns of the model's channels; those that are missing are 0 or their mean in training."""
        taken = np.where(order < 0, np.float32(0), counts[:, np.maximum(order, 0)]).astype(np.float32)
        if missing == "mean":
            mean = np.array([channel.mean for channel in self.head.channels], np.float32)
            taken[:, order < 0] = mean[order < 0]
        return np.ascontiguousarray(taken)

    def _predict_checked(self, samples: Samples) -> tuple[np.ndarray, np.ndarray]:
        """Return estimates and deviations, or refuse a model that finds none; one from elsewhere may be anything."""
        try:
            with one_thread(), np.errstate(all="ignore"):
                predicted, sd = self.predict_samples(samples)
        except (np.linalg.LinAlgError, ArithmeticError) as error:
            raise UsageError(f"the model cannot decode: {printable(error)}; fit it again") from None
        if not (np.abs(predicted) <= MOST).all():
            raise UsageError("the model cannot decode: its estimates are not finite; fit it again")
        return predicted, sd

    def predict_samples(self, samples: Samples) -> tuple[np.ndarray, np.ndarray]:
        """Return estimates (rows, outputs) and their standard deviations, NaN where these are not known.

        Where the target is a class, there is one column, the number of the class.
        """
        names = self.head.outputs
        predicted = np.empty((len(samples), len(names)))
        sd = np.tile([np.nan if output.sd is None else output.sd for output in names], (len(samples), 1))
        for decoder, outputs in zip(self.decoders, self.outputs, strict=True):
            found: Any
            if len(samples) == 0:
                continue
            if decoder.gives_deviation and not self.head.classes:
                found, deviation = decoder.predict(samples, return_std=True)
                sd[:, outputs] = deviation.reshape(len(samples), -1)
            else:
                found = decoder.predict(samples)
            if self.head.classes:
                found = found.argmax(axis=1)
            predicted[:, outputs] = found.reshape(len(samples), -1)
        return predicted, sd

    def half_widths(self, sd: np.ndarray) -> np.ndarray:
        """Return half the width of 95 % intervals: of the decoder's own deviation, or of its errors in training."""
        half = NORMAL_95 * sd
        for decoder, outputs in zip(self.decoders, self.outputs, strict=True):
            if not decoder.gives_deviation:
                known = [self.head.outputs[o].half_width for o in outputs]
                half[:, outputs] = [np.nan if width is None else width for width in known]
        return half

    def _label(
        self, tensor: xr.Dataset, rows: np.ndarray, predicted: np.ndarray, sd: np.ndarray, notes: list[str]
    ) -> xr.Dataset:
        """Put estimates on the time of their bins."""
        dims, head = ("time", "output"), self.head
        variables: dict[str, Any] = {"predicted": (dims, predicted)}
        if not head.classes:
            half = self.half_widths(sd)
            variables |= {"low": (dims, predicted - half), "high": (dims, predicted + half), "sd": (dims, sd)}
        return xr.Dataset(
            {**variables, "trial": ("time", tensor["trial"].values[rows])},
            coords={
                "time": ("time", tensor["time"].values[rows], {"units": "s", "long_name": "start of the bin"}),
                "output": np.array([output.name for output in head.outputs], dtype=object),
                "unit": ("output", np.array([output.unit for output in head.outputs], dtype=object)),
            },
            attrs={
                "name": tensor.attrs["name"],
                "method": head.method,
                "bin_width": head.binning.bin_width,
                "notes": notes,
                **({"classes": head.classes} if head.classes else {}),
            },
        )

    def save(self, folder: str | Path, overwrite: bool = False) -> Path:
        """Write a model folder, whole or not at all, and return it; another model is replaced only if `overwrite`."""
        from neurofs.decoders.model_folder import write_model

        return write_model(self, Path(folder), overwrite)


def match_channels(wanted: list[str], found: list[str], session: str, missing: Missing = "refuse") -> np.ndarray:
    """Return the place of each wanted channel among those found, −1 for a missing one, which may be refused.

    >>> match_channels(["a", "b", "c"], ["c", "x", "a"], "day2", "zero").tolist()
    [2, -1, 0]
    """
    if missing not in get_args(Missing):
        raise UsageError(f"missing: expected one of {', '.join(get_args(Missing))}; found {quoted(missing)}")
    places = {name: place for place, name in enumerate(found)}
    order = np.array([places.get(name, -1) for name in wanted])
    lost = [name for name in wanted if name not in places]
    if len(lost) == len(wanted):
        raise UsageError(
            f"{printable(session)}: has none of the {len(wanted)} channels of the model, the first of which is "
            f"{quoted(wanted[0])}; its own first is {quoted(found[0])}"
        )
    if lost and missing == "refuse":
        raise UsageError(
            f"{printable(session)}: lacks {len(lost)} of the {len(wanted)} channels of the model: {name_some(lost)}. "
            "Say --missing zero or --missing mean to decode without them"
        )
    return order


def describe_match(wanted: list[str], order: np.ndarray, tensor: xr.Dataset, missing: Missing) -> list[str]:
    """Say which channels are missing, and which are not used."""
    lost = [name for name, place in zip(wanted, order, strict=True) if place < 0]
    extra = sorted({str(name) for name in tensor["channel"].values} - set(wanted))
    how = {"zero": "counts taken to be 0", "mean": "counts taken to be their mean in training"}
    return [
        *([f"missing, {how[missing]}: {count_channels(lost)}"] if lost else []),
        *([f"not in the model, and not used: {count_channels(extra)}"] if extra else []),
    ]


def count_channels(names: list[str]) -> str:
    """Return how many channels there are, and the names of the first.

    >>> count_channels(["1a"]), count_channels(["1a", "2b"])
    ('1 channel (1a)', '2 channels (1a, 2b)')
    """
    return f"{len(names):,} channel{'s' if len(names) != 1 else ''} ({name_some(names)})"


def name_some(names: list[str]) -> str:
    """Return the first few names, and how many more there are.

    >>> name_some(list("abcdefghijk"))
    'a, b, c, d, e, f, g, h and 3 more'
    """
    shown = ", ".join(printable(name) for name in names[:MOST_NAMED])
    return shown + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
