"""headway reproduce past-future: its parts, its files, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headway.cli import reproduce_past_future
from headway.measure.reproduction import Reproduction
from headway.studies.papers.past_future import study
from headway.workload import workload, write_trace
from tests.cli.conftest import Headway

ASKED = ("reproduce", "past-future", "--quick", "--out", "out")


def test_a_part_that_needs_no_runs(headway: Headway, folder: Path):
    result = headway(*ASKED, "--only", "forecast")
    assert result.status == 0
    assert result.out.startswith("Does it come out? Past-Future Scheduler")
    assert "Of 2 claims" in result.words
    assert (folder / "out/figures/forecast-error.png").stat().st_size > 1000
    told = json.loads((folder / "out/findings.json").read_text())
    assert told["paper"] == "past-future"
    assert told["settings"]["command"] == "headway reproduce past-future --quick --out out --only forecast"
    assert (folder / "out/index.html").read_text().startswith("<!DOCTYPE html>")


def test_the_stability_of_a_trace(headway: Headway, folder: Path):
    write_trace(workload("lognormal(n=3000, rate=7)"), folder / "t.csv")
    found = headway(*ASKED, "--only", "stability", "--trace", "t.csv", "--json", "-").json
    verdicts = {one["name"]: one["verdict"] for one in found["findings"]}
    assert verdicts["windows-alike"] == "holds"
    assert verdicts["drift-is-slow"] == "does not hold here"
    assert (folder / "out/figures/stability-adjacent.svg").stat().st_size > 1000


def test_how_much_is_run_is_what_quick_says(headway: Headway, monkeypatch: pytest.MonkeyPatch):
    asked: list[dict[str, Any]] = []

    def reproduce(parts: tuple[str, ...], **given: Any) -> Reproduction:
        asked.append({"parts": parts, **given})
        return study.reproduce(("forecast",), quick=True)

    monkeypatch.setattr(reproduce_past_future, "reproduce", reproduce)
    assert headway("reproduce", "past-future", "--out", "out").status == 0
    assert headway(*ASKED, "--only", "shift").status == 0
    assert [one["quick"] for one in asked] == [False, True]
    assert asked[0]["parts"] == tuple(study.PARTS)
    assert asked[1]["parts"] == ("shift",)
    assert asked[1]["keep"] == Path("out/cells")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--out is missing; give a new folder"),
        (["--out", "new", "--only", "frontiers"], "--only 'frontiers': no such part; did you mean 'frontier'?"),
        (["--out", "new", "--only", "stability"], "stability alone needs a trace: give one with --trace FILE"),
        (["--out", "new", "--trace", "short.csv"], "has 30 requests; windows of a thousand need 2,000 at least"),
        (["--out", "new", "--trace", "none.csv"], "none.csv"),
        (["--out", "new", "--json", "short.csv", "--trace", "short.csv"], "is an input of this run"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(headway: Headway, folder: Path, arguments: list[str], said: str):
    write_trace(workload("lognormal(n=30, rate=7)"), folder / "short.csv")
    assert said in headway("reproduce", "past-future", *arguments).refusal()
    assert [path.name for path in folder.iterdir()] == ["short.csv"]
