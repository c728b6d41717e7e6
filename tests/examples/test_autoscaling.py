"""The example of autoscaling signals prints what its page shows, and that is what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks


@pytest.fixture(scope="module")
def printed() -> str:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "autoscaling.py"], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def rows(printed: str) -> dict[tuple[str, str], tuple[int, int, float]]:
    """By burst and signal: the peak, the replicas that it asks for, and the share of promises kept with them."""
    found = [line.split() for line in printed.splitlines()[1:]]
    return {
        (burst, signal): (int(peak.replace(",", "")), int(replicas), float(kept.rstrip("%")) / 100)
        for burst, signal, peak, _, replicas, kept in found
    }


def test_the_page_shows_what_is_printed(printed: str):
    (shown,) = blocks(Path(ROOT / "docs" / "autoscaling.md"), "text")
    assert shown.text == printed


def test_a_count_of_requests_asks_for_as_many_replicas_whatever_they_are(printed: str):
    found = rows(printed)
    short, long = found["short", "requests"], found["long", "requests"]
    assert short[:2] == long[:2]
    assert short[2] > 0.99
    assert long[2] < 0.1


@pytest.mark.parametrize("signal", ["positions", "seconds"])
def test_outstanding_work_asks_for_enough(printed: str, signal: str):
    found = rows(printed)
    short, long = found["short", signal], found["long", signal]
    assert short[1] == found["short", "requests"][1]
    assert 8 < long[0] / short[0] < 12
    assert 6 < long[1] / short[1] < 12
    assert short[2] > 0.99
    assert long[2] > 0.99
