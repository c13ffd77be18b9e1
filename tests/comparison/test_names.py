"""Every method that can be asked for has one label of its own."""

from neurofs.comparison.names import name_alone, name_method, split_method
from neurofs.decoders import DECODERS
from neurofs.selectors import SELECTORS


def list_methods():
    """All methods by name: selectors, with every decoder of selected features, and decoders alone."""
    beside = [name for name, kind in DECODERS.own.items() if not kind.own_metric]
    yield from SELECTORS.own
    yield from (f"{selector} + {decoder}" for selector in SELECTORS.own for decoder in beside)
    yield from (name_alone(decoder) for decoder in DECODERS.own)


def test_no_two_methods_have_the_same_label():
    labels = {}
    for method in list_methods():
        labels.setdefault(name_method(method), []).append(method)
    assert [methods for methods in labels.values() if len(methods) > 1] == []


def test_a_label_is_made_of_those_of_its_classes():
    for method in list_methods():
        selector, decoder = split_method(method)
        parts = [SELECTORS[selector].label if selector else "", DECODERS[decoder].label if decoder else ""]
        assert name_method(method) == " + ".join(filter(None, parts))
