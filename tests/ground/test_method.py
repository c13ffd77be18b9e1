"""Registries with plug-ins of packages that lie on the path, as pip would have put them there."""

import sys

import pytest

from neurofs.ground.errors import UsageError
from neurofs.ground.method import Method, Registry

MODULE = """
from neurofs.ground.method import Method
from neurofs.ground.works import Work

class Peak(Method):
    name, label = "peak", "largest count"

class Trough(Method):
    name = "trough"

class Hollow(Method):
    name, citation = "hollow", "Doe, 2026"

class Blank(Method):
    name, label = "blank", None

class Needy(Method):
    name = "needy"
    def __init__(self, depth):
        self.depth = depth

class Odd(Method):
    name, marker = "odd", "sun"

class Wavy(Method):
    name, line = "wavy", "~"

class Loud(Method):
    name = "LOUD"

class Rgs(Method):
    name = "rgs"

class Ridge(Method):
    name = "ridge"

class Twin(Method):
    name = "twin-decoder"

apart = object()
"""


class RGS(Method):
    name = "rgs"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Lay a package with a version and entry points on the path."""
    monkeypatch.syspath_prepend(tmp_path)

    def lay(package, module, entries, version="1.0"):
        (tmp_path / f"{package}.py").write_text(module)
        info = tmp_path / f"{package}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        lines = [f"{name} = {package}:{value}" for name, value in entries.items()]
        (info / "entry_points.txt").write_text("\n".join(["[neurofs.selectors]", *lines]))

    yield lay
    for name in ("mylab", "crashing", "absent", "other"):
        sys.modules.pop(name, None)


def test_plug_ins_come_after_our_own_by_name(install):
    install("mylab", MODULE, {"trough": "Trough", "peak": "Peak"}, "2.1")
    registry = Registry("selector", [RGS])
    assert list(registry) == ["rgs", "peak", "trough"]
    assert len(registry) == 3
    assert registry.find("peak").label == "largest count"
    assert [registry.package(name) for name in ("rgs", "peak", "unheard-of")] == ["", "mylab 2.1", ""]


def test_a_plug_in_is_loaded_when_it_is_asked_for(install):
    install("mylab", MODULE, {"peak": "Peak"})
    registry = Registry("selector", [RGS])
    assert registry["rgs"] is RGS
    assert "unheard-of" not in registry
    assert registry.package("peak") == "mylab 1.0"
    assert "mylab" not in sys.modules
    assert "peak" in registry
    assert "mylab" in sys.modules


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("gone", "Gone", "has no attribute 'Gone'"),
        ("apart", "apart", "expected a class that inherits from neurofs.Method"),
        ("peek", "Peak", "its name is 'peak' and its entry point is 'peek'"),
        ("LOUD", "Loud", "small letters, digits and dashes"),
        ("ridge", "Ridge", "choose another"),
        ("twin-decoder", "Twin", "choose another"),
        ("hollow", "Hollow", "expected a neurofs.Work as its citation"),
        ("blank", "Blank", "expected a text as its label"),
        ("odd", "Odd", "as its marker"),
        ("wavy", "Wavy", "as its line"),
        ("needy", "Needy", "missing 1 required positional argument: 'depth'"),
    ],
)
def test_what_is_wrong_with_a_plug_in_is_said_when_it_is_asked_for(install, name, value, reason):
    install("mylab", MODULE, {name: value, "peak": "Peak"})
    registry = Registry("selector", [RGS])
    assert list(registry) == ["rgs", "peak"]
    with pytest.raises(UsageError, match=r"cannot be used: mylab 1\.0: ") as caught:
        registry.find(name)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "module", ["import absent", "1 / 0", "{}['a']", "raise RuntimeError('two\\nlines')", "def", "assert False"]
)
def test_a_package_that_cannot_be_imported_costs_itself_alone(install, module):
    install("crashing", module, {"crash": "Crash"})
    install("mylab", MODULE, {"peak": "Peak"})
    registry = Registry("selector", [RGS])
    assert list(registry) == ["rgs", "peak"]
    with pytest.raises(UsageError, match=r"'crash' cannot be used: crashing 1\.0: ") as caught:
        registry.find("crash")
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="no selector named 'unheard-of'; choose from rgs, peak"):
        registry.find("unheard-of")


def test_a_name_of_ours_stays_ours(install):
    install("mylab", MODULE, {"rgs": "Rgs"})
    registry = Registry("selector", [RGS])
    assert registry.find("rgs") is RGS
    assert list(registry) == ["rgs"]
    assert registry.package("rgs") == ""


def test_a_class_of_another_kind_is_refused(install):
    class Selector(Method):
        pass

    install("mylab", MODULE, {"peak": "Peak"})
    with pytest.raises(UsageError, match=r"inherits from neurofs\.Selector"):
        Registry("selector", [], Selector).find("peak")


def test_the_same_name_of_two_packages_is_always_taken_from_the_same_one(install):
    install("other", MODULE, {"peak": "Peak"})
    install("mylab", MODULE, {"peak": "Peak"})
    assert Registry("selector", [RGS]).package("peak") == "other 1.0"
