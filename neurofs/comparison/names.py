"""The names of methods: what "rgs + kernel-ridge" and "kernel-rgs-decoder" stand for, and what people call them.

A method is a selector ("rgs", decoded by soft kNN), a selector and a decoder ("rgs + kernel-ridge"), a decoder of
all features ("ridge"), or one that learns its own metric ("kernel-rgs-decoder").
"""

from neurofs.decoders import DECODERS
from neurofs.decoders.base import Decoder
from neurofs.ground.method import Method
from neurofs.selectors import SELECTORS

ALONE = "-decoder"  # what tells a decoder with a metric of its own from a selector of the same name


def name_alone(decoder: str) -> str:
    """Return the method that a decoder is when it takes no selector.

    >>> name_alone("ridge"), name_alone("kernel-rgs")
    ('ridge', 'kernel-rgs-decoder')
    """
    return decoder + ALONE if DECODERS[decoder].own_metric else decoder


def split_method(method: str) -> tuple[str, str]:
    """Return the names of selector and decoder, either of which may be empty.

    >>> split_method("rgs + kernel-ridge"), split_method("rgs"), split_method("kernel-rgs-decoder")
    (('rgs', 'kernel-ridge'), ('rgs', ''), ('', 'kernel-rgs'))
    """
    selector, _, decoder = method.partition(" + ")
    if decoder or selector in SELECTORS:
        return selector, decoder
    alone = selector.removesuffix(ALONE)
    return ("", alone) if alone in DECODERS and name_alone(alone) == method else (selector, "")


def find_decoder(method: str) -> type[Decoder] | None:
    """Return the decoder that decodes all features in this method, None if a selector does its part."""
    selector, decoder = split_method(method)
    return None if selector else DECODERS[decoder]


def find_method(method: str) -> type[Method] | None:
    """Return the class that a method is known by, its selector or a decoder alone; None if it is not installed."""
    selector, decoder = split_method(method)
    return SELECTORS.get(selector) if selector else DECODERS[decoder]


def name_method(method: str) -> str:
    """Return a method's name for people.

    >>> name_method("rgs + kernel-ridge"), name_method("corrcoef"), name_method("ridge")
    ('RGS + kernel ridge', 'correlation', 'ridge')
    """
    selector, decoder = split_method(method)
    kind = find_method(method)
    label = (kind and kind.label) or selector or decoder
    if not (selector and decoder):
        return label
    second = DECODERS.get(decoder)
    return f"{label} + {(second and second.label) or decoder.replace('-', ' ')}"
