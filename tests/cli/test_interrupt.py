"""Ctrl-C: what there is, is shown and said to be partial; exit status 130."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Headway

# An order that presses Ctrl-C when it is asked for the key of the n-th request, counted over all runs.
MODULE = """
from headway import Order

class Interrupted(Order):
    asked = 0
    def __init__(self, at=0):
        super().__init__()
        self.at = at
    def key(self, seq):
        Interrupted.asked += 1
        if Interrupted.asked == self.at:
            raise KeyboardInterrupt
        return seq.arrival
"""


@pytest.fixture(autouse=True)
def module(folder: Path) -> None:
    (folder / "stop.py").write_text(MODULE)


WRITING = ["--json", "out.json", "--html", "out.html", "--requests", "out.csv"]


def test_in_the_middle_of_a_run(headway: Headway, trace: Path, folder: Path):
    result = headway("compare", trace, "--policy", "fcfs", "--policy", "stop:Interrupted(at=45)", *WRITING)
    assert result.status == 130
    assert result.err.splitlines()[-1] == "headway: interrupted: these results are partial"
    data = json.loads((folder / "out.json").read_text())
    assert data["partial"] is True
    fcfs, own = data["policies"]
    assert (fcfs["requests"], fcfs["partial"]) == (60, False)
    assert own["partial"] is True
    assert 0 < own["requests"] < 45
    assert pl.read_csv("out.csv").height == 60 + own["requests"]
    assert "partial" in (folder / "out.html").read_text().lower()


def test_between_seeds_only_whole_seeds_are_compared(headway: Headway, folder: Path):
    asked = ["compare", "qba-paper", "--limit", 100, "--seeds", 5, "--policy", "stop:Interrupted(at=250)"]
    result = headway(*asked, "--policy", "fcfs", *WRITING)
    assert result.status == 130
    data = json.loads((folder / "out.json").read_text())
    assert data["partial"] is True
    assert all(entry["seeds"][:2] == [0, 1] for entry in data["policies"])


def test_before_anything_has_ended(headway: Headway, trace: Path, folder: Path):
    result = headway("compare", trace, "--policy", "stop:Interrupted(at=1)", "--json", "out.json")
    assert result.status == 130
    assert "Traceback" not in result.err
    assert "headway: interrupted" in result.err


def test_before_the_first_run(headway: Headway, trace: Path, folder: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("headway.cli.compare.run_comparison", interrupted)
    result = headway("compare", trace, *WRITING)
    assert (result.status, result.out) == (130, "")
    assert result.err == "headway: interrupted; nothing was written\n"
    assert sorted(path.name for path in folder.iterdir()) == ["stop.py", "trace.csv"]


def test_while_it_writes(headway: Headway, trace: Path, folder: Path, monkeypatch: pytest.MonkeyPatch):
    """A Ctrl-C that comes in the middle of the second file, after its first half is on the disk."""

    def halfway(path: Path, content: bytes) -> int:
        if ".out.html" not in path.name:
            return write(path, content)
        write(path, content[: len(content) // 2])
        raise KeyboardInterrupt

    write = Path.write_bytes
    monkeypatch.setattr(Path, "write_bytes", halfway)
    result = headway("compare", trace, "--policy", "fcfs", *WRITING)
    assert (result.status, result.out) == (130, "")
    assert result.err.splitlines() == [
        "wrote out.json",
        "headway: interrupted while writing: what is not named above may be missing, no file is half written",
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["out.json", "stop.py", "trace.csv"]
    assert json.loads((folder / "out.json").read_text())["partial"] is False


def test_while_it_reads(headway: Headway, trace: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("headway.studies.inputs.open_trace", interrupted)
    result = headway("compare", trace)
    assert (result.status, result.out, result.err) == (130, "", "headway: interrupted\n")
