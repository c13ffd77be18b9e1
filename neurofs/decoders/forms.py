"""`FORMS`: what the fitted state of each decoder is made of, for `decoders.state`.

    N features    o outputs    m training rows    k features of a weight other than 0
    s numbers of a Kalman state    c observed channels    d coordinates of a metric

A decoder without a form of its own, from another package, has every attribute of its fit stored if these are numbers,
texts, arrays, and lists, tuples and dicts of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from neurofs.decoders import DECODERS
from neurofs.decoders.adaptation import ChannelMemory
from neurofs.decoders.base import Decoder, Part
from neurofs.decoders.classifiers import Always, ClassDecoder, Normals, Votes
from neurofs.decoders.kalman import StateSpace
from neurofs.decoders.kernel_rgs import KernelModel, KernelRGSDecoder
from neurofs.decoders.kernel_ridge import KernelOfDistance, KernelRidgeMachine
from neurofs.decoders.libraries import Forest, Layers, SupportVectors
from neurofs.decoders.linear import Bend, Linear
from neurofs.decoders.lvq import Prototypes
from neurofs.decoders.nearest import table_that_fits
from neurofs.decoders.spread import Spread
from neurofs.decoders.state import (
    Anything,
    Array,
    Choice,
    Flag,
    Form,
    Many,
    Maybe,
    Number,
    Numbers,
    OneOf,
    Record,
    Row,
    Scope,
    Shelf,
    Whole,
    unfit,
    unpack_fields,
)
from neurofs.features.samples import Samples
from neurofs.ground.errors import UsageError
from neurofs.metric.learning import LearnedMetric

TINY = float(np.finfo(float).tiny)
FAILURES = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError, np.linalg.LinAlgError)
"""What a decoder raises whose state is none that a fit leaves behind."""

FITTED = re.compile("(_[a-z][a-z0-9_]*|[a-z][a-z0-9_]*_)")
"""Names of attributes that a fit may leave behind."""


class PartForm(Form):
    """A fitted part: its feature weights, its model in the form that the decoder has, its chosen parameters."""

    def __init__(self, model: Form, finish: Callable[[Part], Part] | None = None) -> None:
        self.model, self.finish = model, finish

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Return weights, model and parameters."""
        return {
            "weights": Maybe(WEIGHTS).pack(value.weights, shelf, f"{where}.weights"),
            "model": self.model.pack(value.model, shelf, f"{where}.model"),
            "chosen": Numbers().pack(value.chosen, shelf, f"{where}.chosen"),
        }

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Return the part; its weights tell how many features are used."""
        fields = {"weights": Maybe(WEIGHTS), "model": _Raw(), "chosen": Numbers()}
        found = unpack_fields(fields, plain, shelf, scope, where)
        weights = found["weights"]
        if weights is not None and ((weights < 0).any() or not weights.any()):
            raise unfit(f"{where}.weights", "weights of at least 0, not all 0", f"least {weights.min():g}")
        used = scope["N"] if weights is None else int(np.count_nonzero(weights))
        sizes = {"N": scope["N"], "k": used, **({"o": scope["o"]} if "o" in scope else {})}
        part = Part(weights, self.model.unpack(found["model"], shelf, sizes, f"{where}.model"), found["chosen"])
        return part if self.finish is None else self.finish(part)


class _Raw(Form):
    """What is unpacked later."""

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        return plain


class Members(Form):
    """The decoders of an average by name, each with a fitted part."""

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Return the part of each."""
        parts = {name: part for name, (_, part) in value.items()}
        return {name: PARTS[name].pack(part, shelf, f"{where}.{name}") for name, part in parts.items()}

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Return decoders and parts."""
        known = ("knn", "local-linear", "kernel-ridge")
        if not isinstance(plain, dict) or not plain or not set(plain) <= set(known):
            raise unfit(where, f"some of {', '.join(known)}", plain)
        return {
            name: (DECODERS[name](), PARTS[name].unpack(part, shelf, scope, f"{where}.{name}"))
            for name, part in plain.items()
        }


class SamplesForm(Form):
    """Training rows, whose number is m."""

    FIELDS: ClassVar[dict[str, Form]] = {
        "flat": Array("f4", "flat"),
        "starts": Array("i8", "m"),
        "n_features": Whole(1, is_size="N"),
        "span": Whole(1),
        "n_channels": Whole(1),
    }

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Return buffer, starts and sizes."""
        return {name: form.pack(getattr(value, name), shelf, f"{where}.{name}") for name, form in self.FIELDS.items()}

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Return the samples, which check that all windows lie in the buffer."""
        values = unpack_fields(self.FIELDS, plain, shelf, scope, where)
        try:
            return Samples(**values)
        except ValueError as error:
            raise unfit(where, "windows of a buffer", error) from None


class Made(Form):
    """What is large and made anew: only whether there is one is stored."""

    def pack(self, value: Any, shelf: Shelf, where: str) -> Any:
        """Return whether there is one."""
        return value is not None

    def unpack(self, plain: Any, shelf: Shelf, scope: Scope, where: str) -> Any:
        """Return whether there is one."""
        return Flag().unpack(plain, shelf, scope, where)


def _make_table(part: Part) -> Part:
    """Put the table of distances into the place that is kept for it."""
    train, targets, has_table = part.model
    return replace(part, model=(train, targets, table_that_fits(train, part.weights) if has_table else None))


def _check_forest(forest: Any) -> None:
    """Refuse trees that do not end."""
    node = np.arange(len(forest.left))
    inner = forest.left >= 0
    behind = (forest.left > node) & (forest.right > node) & (forest.right < len(node)) & (forest.left < len(node))
    if not (behind | ~inner).all() or not len(node):
        raise ValueError("a node whose children do not stand behind it")


def _check_metric(metric: Any) -> None:
    n_lags = len(metric.weights) // metric.n_channels if metric.mixing is None else len(metric.mixing)
    if n_lags * metric.n_channels != len(metric.weights):
        raise ValueError(f"{len(metric.weights)} weights for {metric.n_channels} channels of {n_lags} bins")


def _check_kernel(model: Any) -> None:
    metric = model.metric
    n = len(metric.weights) + (0 if metric.directions is None else metric.directions.shape[1])
    if model.rows.shape[1] != n:
        raise ValueError(f"rows of {model.rows.shape[1]} coordinates in a metric of {n}")
    model.measure()


WEIGHTS = Array("f8", "N")
SAMPLES = SamplesForm()
TARGETS = Array("f8", "m o")
ALWAYS = Record(Always, targets=Array("f8", "o"))
LINEAR = Record(
    Linear,
    center=Array("f8", "k"),
    offset=Array("f8", "o"),
    coefficients=Array("f8", "k o"),
    bends=Many(Record(Bend, coefficients=Array("f8", "q"), low=Number(), high=Number()), own="q"),
)
KERNEL = Record(
    KernelOfDistance,
    shape=Choice(("rational", "gaussian")),
    width=Number(TINY),
    linear=Number(),
    row_mean=Array("f8", "m"),
    mean=Number(),
)
FOREST = Record(
    Forest,
    _check_forest,
    base=Number(),
    left=Array("i8", "nodes"),
    right=Array("i8", "nodes"),
    feature=Array("i8", "nodes", below="k"),
    threshold=Array("f8", "nodes"),
    value=Array("f8", "nodes"),
    roots=Array("i8", "trees", below="nodes"),
)
METRIC = Record(
    LearnedMetric,
    _check_metric,
    weights=Array("f8", "N"),
    mean=Array("f8", "N"),
    linear=Number(),
    ridge=Number(TINY),
    n_channels=Whole(1),
    varies=Array("b1", "N"),
    mixing=Maybe(Array("f8", "l l")),
    directions=Maybe(Array("f8", "N v")),
)
MODELS: dict[str, Form] = {
    "knn": Row(train=SAMPLES, targets=TARGETS),
    "local-linear": Row(train=SAMPLES, targets=TARGETS, table=Made()),
    "kernel-ridge": Row(train=SAMPLES, machine=Record(KernelRidgeMachine, kernel=KERNEL, dual=TARGETS)),
    "average": Members(),
    "auto": Members(),
    "ridge": LINEAR,
    "wiener-cascade": LINEAR,
    "kalman": Record(
        StateSpace,
        mean=Array("f8", "s"),
        transition=Array("f8", "s s"),
        drift=Array("f8", "s s"),
        center=Array("f8", "c"),
        gain=Array("f8", "s c"),
        information=Array("f8", "s s"),
        prior=Array("f8", "s s"),
    ),
    "svr": Row(
        train=SAMPLES, machine=Record(SupportVectors, width=Number(TINY), dual=TARGETS, intercept=Array("f8", "o"))
    ),
    "gradient-boosting": Many(FOREST, own="nodes trees"),
    "mlp": Record(
        Layers, matrices=Many(Array("f8", "a b"), own="a b", most=50), offsets=Many(Array("f8", "a"), own="a", most=50)
    ),
    "svm": Row(
        train=SAMPLES,
        machine=OneOf(
            votes=Record(
                Votes,
                width=Number(TINY),
                dual=Array("f8", "m p"),
                intercept=Array("f8", "p"),
                winner=Array("f8", "p o"),
                loser=Array("f8", "p o"),
            ),
            always=ALWAYS,
        ),
    ),
    "naive-bayes": OneOf(
        normals=Record(
            Normals,
            mean=Array("f8", "a k"),
            variance=Array("f8", "a k"),
            prior=Array("f8", "a"),
            targets=Array("f8", "a o"),
        ),
        always=ALWAYS,
    ),
    "one-nn": Row(train=SAMPLES, targets=TARGETS),
    "lvq": Record(Prototypes, places=Array("f8", "p k"), targets=Array("f8", "p o")),
}
"""The form of the model of a part, by the name of the decoder."""

MEMORY = Record(
    ChannelMemory,
    correlations=Array("f8", "C C"),
    agreement=Array("f8", "C"),
    mean_error=Array("f8", "C"),
    spread_error=Array("f8", "C"),
)
"""What a model remembers of C channels."""

PARTS = {name: PartForm(model, _make_table if name == "local-linear" else None) for name, model in MODELS.items()}
KERNEL_MODEL = Record(
    KernelModel,
    _check_kernel,
    metric=METRIC,
    ridge=Number(TINY),
    factor_ridge=Number(TINY),
    rows=Array("f4", "r d"),
    alpha=Array("f8", "r O"),
)
KERNEL_RGS: dict[str, Form] = {
    "n_features_in_": Whole(1, is_size="N"),
    "mean_": Array("f8", "O"),
    "sd_": Array("f8", "O"),
    "_one_output": Flag(),
    "feature_weights_": Array("f8", "N"),
    "metrics_": Many(METRIC, own="l v"),
    "_first": KERNEL_MODEL,
    "_others": Many(KERNEL_MODEL, own="l v r d"),
    "spread_": Record(
        Spread,
        rows=Array("f4", "e g"),
        ratios=Array("f8", "e O"),
        coefficients=Array("f8", "O four"),
        least=Array("f8", "O"),
    ),
}


def find_fields(decoder: Decoder) -> dict[str, Form]:
    """Return the form of each attribute that the fit of a decoder leaves behind."""
    if isinstance(decoder, KernelRGSDecoder):
        return KERNEL_RGS
    if decoder.name not in PARTS or not isinstance(decoder, DECODERS.own.get(decoder.name, ())):
        return {name: Anything() for name in vars(decoder) if name not in decoder.get_params()}
    fields: dict[str, Form] = {
        "n_features_in_": Whole(1, is_size="N"),
        "mean_": Array("f8", "O"),
        "scale_": Array("f8", "O"),
        "one_output_": Flag(),
        "parts_": Many(PARTS[decoder.name], own="o"),
    }
    if decoder.name == "kalman":
        fields |= {"step_": Whole(), "n_lags_": Whole(1)}
    if isinstance(decoder, ClassDecoder):
        fields["classes_"] = Maybe(Array("i8", "labels"))
    return fields


def pack_decoder(decoder: Decoder, shelf: Shelf) -> dict[str, Any]:
    """Return the name, the settings and the fitted state of a decoder, its arrays on the shelf."""
    try:
        settings = {name: Anything().pack(value, shelf, name) for name, value in decoder.get_params().items()}
        fields = find_fields(decoder)
        state = {name: form.pack(getattr(decoder, name), shelf, name) for name, form in fields.items()}
    except TypeError as error:
        raise UsageError(f"decoder {decoder.name} cannot be stored: {error}") from None
    return {"decoder": decoder.name, "settings": settings, "state": state}


def unpack_decoder(plain: dict[str, Any], shelf: Shelf, window: tuple[int, int], n_outputs: int, where: str) -> Decoder:
    """Return the decoder that was packed, for a window of lags × channels; say what does not fit."""
    kind = DECODERS.find(plain["decoder"])
    decoder: Decoder = kind()
    settings, scope = plain["settings"], {"N": window[0] * window[1], "O": n_outputs, "four": 4}
    unknown = sorted(set(settings) - set(decoder.get_params()))
    if unknown:
        raise unfit(where, f"settings of the decoder {decoder.name}", unknown[0])
    decoder.set_params(**{k: Anything().unpack(v, shelf, scope, f"{where}.settings.{k}") for k, v in settings.items()})
    fields = find_fields(decoder)
    if not fields:
        fields = {name: Anything() for name in plain["state"] if FITTED.fullmatch(name)}
    with np.errstate(all="ignore"):
        state = unpack_fields(fields, plain["state"], shelf, scope, f"{where}.state")
    for name, value in state.items():
        setattr(decoder, name, value)
    _try_once(decoder, window, n_outputs, where)
    return decoder


def _try_once(decoder: Any, window: tuple[int, int], n_outputs: int, where: str) -> None:
    """Refuse a decoder that cannot decode a silent window."""
    silence = Samples.from_counts(np.zeros(window, np.float32), n_lags=window[0])
    try:
        with np.errstate(all="ignore"):
            predicted = np.asarray(decoder.predict(silence))
            columns = sum(decoder._predict_part(p, silence).shape[1] for p in getattr(decoder, "parts_", ()))
            decoder.start_online()(silence, False)
    except FAILURES as error:
        raise unfit(where, "a decoder that decodes a silent window", error) from None
    if predicted.size != n_outputs or columns not in (0, n_outputs):
        raise unfit(where, f"{n_outputs} outputs", f"{predicted.size}")
    if not np.isfinite(predicted).all():
        raise unfit(where, "finite estimates of a silent window", predicted.tolist())
