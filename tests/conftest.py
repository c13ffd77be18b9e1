from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:  # workers side by side: one thread each, set before NumPy is loaded
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")

import hypothesis
import pytest
from pages import CHROMIUM, start_browser, watch

PORTABLE = Path(__file__).parent / "portable"
collect_ignore = ["portable"]  # importing it makes this process like one of Windows
collect_ignore += ["fuzz"] if sys.platform == "win32" else []  # which cannot fork
LIKE_WINDOWS = "NEUROFS_TEST_PORTABLE" in os.environ
if LIKE_WINDOWS:  # here, and in all processes that tests start
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PORTABLE), os.environ.get("PYTHONPATH")]))
    sys.path.insert(0, str(PORTABLE))
    __import__("hidden").hide()

hypothesis.settings.register_profile(
    "neurofs", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("neurofs")  # the same examples everywhere, however slow the machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever starts a browser or a cluster is left out of the quick lane."""
    for item in items:
        if any(item.get_closest_marker(name) for name in ("browser", "dask", "slurm")):
            item.add_marker(pytest.mark.slow)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests of Dask need the extra `cluster`, which CI must have; those of forks and limits of memory need POSIX."""
    if item.get_closest_marker("posix") and (LIKE_WINDOWS or sys.platform == "win32"):
        pytest.skip("needs fork, or limits of memory")
    if item.get_closest_marker("dask") and find_spec("distributed") is None:
        message = "Dask is not installed (pip install neurofs[cluster])"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with real recordings, which are not part of the project; CI must have it."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("NEUROFS_SHARED_DATA", default))
    if not folder.is_dir():
        message = f"no real recordings at {folder} (set NEUROFS_SHARED_DATA)"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    return folder


@pytest.fixture(scope="session")
def chromium() -> Path:
    """The browser's program; CI must have it."""
    if find_spec("playwright") is None or not CHROMIUM.exists():
        message = f"needs playwright and {CHROMIUM} (apt-get install chromium)"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    return CHROMIUM


@pytest.fixture(scope="module")
def browser(chromium):
    """Chromium, closed after each file: its event loop would stand in the way of others."""
    with start_browser() as running:
        yield running


@pytest.fixture
def open_page(browser):
    """Open a file in a page of its own; whatever the browser complains about fails the test."""
    contexts, complaints = [], []

    def open_(path: Path, width: int = 1280, scheme: str = "light", **options):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, **options
        )
        context.set_default_timeout(300_000)  # a busy machine is no error of the page
        contexts.append(context)
        page = context.new_page()
        complaints.append(watch(page))
        page.goto(path.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert [text for found in complaints for text in found] == []


@pytest.fixture(scope="session")
def demo_run(chromium, tmp_path_factory) -> Path:
    """A run of the demo session with its report, small but whole."""
    from neurofs.ground.config import RunOptions
    from neurofs.recordings.demo import demo_path
    from neurofs.running.session import decode

    folder = tmp_path_factory.mktemp("demo")
    options = RunOptions(
        file=str(demo_path()),
        target="hand_velocity",
        selectors=("rgs", "corrcoef"),
        decoders=("knn",),
        n_splits=2,
        n_lags=5,
        sizes=(1, 5, 20, 100, 320),
        settings={"rgs": {"n_epochs": 1}},
    )
    decode(options, folder)
    return folder
