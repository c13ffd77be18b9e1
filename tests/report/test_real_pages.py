"""From a file to its page with nothing typed but what neurofs suggests; the page of each real recording is sound."""

from __future__ import annotations

import shlex

import pytest
from click.testing import CliRunner
from pages import SCHEMES, SCREENS, check_layout, open_all

from neurofs.commands.main import main

pytestmark = [pytest.mark.shared_data, pytest.mark.browser]

SHORT = ["--selectors", "corrcoef", "--decoders", "knn", "--n-splits", "2", "--jobs", "1"]
"""What makes a decode short, so that the test need not wait."""

FILES = {
    "a2929_head_direction.nwb": ("--to", "750"),
    "chewie_20131003_m1.npz": ("--to", "40"),
    "contdata95.mat": ("--to", "40"),
    "stevenson2011_m1.mat": ("--to", "52"),
}
"""The recordings, and the part of each that is decoded."""


def run(command: str, *more):
    return CliRunner().invoke(main, [*shlex.split(command)[1:], *more])


def follow(command: str) -> str:
    """Return the command to decode that `inspect` suggests, at once or when asked in the words that it suggests."""
    asked = run(command, "--quiet")
    if asked.exit_code == 0:
        return asked.stdout.strip()
    return follow(run(command).stdout.strip().splitlines()[-1])


@pytest.mark.parametrize("name", FILES)
def test_what_is_suggested_leads_to_a_sound_page(shared_data, tmp_path, open_page, name):
    decode = follow(shlex.join(["neurofs", "inspect", str(shared_data / name)]))
    found = run(decode, *SHORT, *FILES[name], "--out", str(tmp_path / "run"))
    assert found.exit_code == 0, found.stderr
    for width in SCREENS:
        for scheme in SCHEMES:
            page = open_page(tmp_path / "run" / "report.html", width, scheme)
            assert page.locator(".number .value").count() == 4
            check_layout(page)
            open_all(page)
            check_layout(page)
            page.close()
