"""headway tune."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from headway.studies import search
from tests.cli.conftest import Headway

FAST = ["tune", "qba-paper(n=150)", "--windows", 8, "--budget", 100]


def test_it_says_what_to_run_and_how_sure_that_is(headway: Headway):
    result = headway(*FAST, "--objective", "mean")
    assert result.status == 0
    assert result.out.startswith("What should qba-paper run on qba-paper(n=150)?\n")
    for text in ("4 held-out seeds", "95 % interval of the gain", "Settings on the held-out stretches", "[policy]"):
        assert text in result.words
    assert "headway compare 'qba-paper(n=150)' --policy fcfs" in result.out


def test_what_it_writes_is_served_and_compared(headway: Headway, folder: Path):
    """The promises of the agreement come along where the setting goes by them."""
    asked = ["tune", "lognormal(n=200, rate=30)", "--windows", 8, "--budget", 100, "--sla", "ttft=1,mtpot=0.2"]
    result = headway(*asked, "--config", "run.toml", "--json", "a.json")
    assert result.status == 0
    data = json.loads((folder / "a.json").read_text())
    assert (folder / "run.toml").read_text() == data["paste"]["serve"]
    assert data["paste"]["promises"] == (folder / "run-promises.toml").read_text() == "[default]\nttft_slo = 1\n"
    assert result.err.splitlines()[-3:] == ["wrote a.json", "wrote run-promises.toml", "wrote run.toml"]
    checked = headway("serve", "--check", "--config", "run.toml", "--json", "-")
    assert checked.status == 0
    assert checked.json["policy"]["order"] == data["candidates"][0]["order"]
    command = data["paste"]["compare"]
    assert "--tenants run-promises.toml" in command
    assert data["notes"][0].startswith("Chosen for ")
    assert "another engine needs another tune" in result.words
    alone = data["paste"]["baseline"]
    assert ("--policy holds for both" in result.words) is (alone is not None)
    assert (alone or "") in result.out
    compared = headway(*shlex.split(command)[1:], "--limit", 200, "--json", "-")
    assert compared.status == 0
    assert data["candidates"][0]["order"] in [one["name"] for one in compared.json["policies"]]


def test_json_goes_to_standard_output_and_nothing_else(headway: Headway):
    data = headway(*FAST, "--sla", "ttft=2", "--seed", 3, "--json", "-").json
    assert data["settings"]["objective"] == "goodput"
    assert data["settings"]["seed"] == 3
    assert data["judgement"] in ("better", "worse", "no significant difference", "too small to matter")
    assert data["candidates"][0]["gain"]["stretches"] == data["settings"]["held_out"] == 4
    assert data["partial"] is False
    assert "headway tune" in data["settings"]["command"]


def test_a_page(headway: Headway, folder: Path):
    result = headway(*FAST, "--objective", "p99", "--html", "a.html")
    assert result.err.splitlines()[-1] == "wrote a.html"
    page = (folder / "a.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    for text in ("What should qba-paper run", "Gain over the baseline", "What it changes", "[policy]"):
        assert text in page


def test_options_of_the_source_are_in_the_advice(headway: Headway, trace: Path):
    rows = "".join(f"{i * 0.3},{100 + i % 7},{10 + i % 5}\n" for i in range(850))
    trace.write_text("arrival,prompt_tokens,output_tokens\n" + rows)
    asked = ["tune", trace, "--objective", "mean", "--windows", 8, "--budget", 100, "--baseline", "psf"]
    data = headway(*asked, "--rate", 2, "--scale-lengths", 1.5, "--limit", 820, "--json", "-").json
    words = f"headway compare {trace} --rate 2.0 --scale-lengths 1.5 --limit 820 --policy psf"
    assert data["paste"]["compare"].startswith(words)
    assert data["baseline"]["order"] == "psf"
    assert data["settings"]["traffic"] == "windows"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["qba-paper"], "--sla is missing; goodput needs one"),
        (["qba-paper", "--sla", "ttft"], "not of the form ttft=10"),
        (["qba-paper", "--objective", "p98"], "did you mean 'p99'?"),
        (["qba-paper", "--objective", "mean", "--windows", "7"], "--windows must be >= 8, got 7"),
        (["qba-paper", "--objective", "mean", "--budget", "9"], "--budget must be >= 100, got 9"),
        (["qba-paper", "--objective", "mean", "--config", "a.yaml"], "expected a file that ends in .toml"),
        (["qba-paper", "--objective", "mean", "--config", "a.toml", "--html", "a.toml"], "is written there too"),
        (["qba-paper", "--objective", "mean", "--baseline", "fcfss"], "did you mean 'fcfs'?"),
        (["no.csv", "--objective", "mean"], "neither a file nor a workload"),
        ([], "TRACE|WORKLOAD is missing"),
    ],
)
def test_bad_input_gets_one_line(headway: Headway, arguments: list[str], says: str):
    assert says in headway("tune", *arguments).refusal()


def test_a_short_trace_gets_one_line(headway: Headway, trace: Path):
    assert "60 requests are too few for 8 windows" in headway("tune", trace, "--objective", "mean").refusal()


def test_interrupted_in_the_search(headway: Headway, folder: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "run_cells", interrupted)
    result = headway(*FAST, "--objective", "mean", "--json", "a.json", "--config", "a.toml")
    assert (result.status, result.out, result.err) == (130, "", "headway: interrupted; nothing was written\n")
    assert list(folder.iterdir()) == []


def test_interrupted_while_judging(headway: Headway, folder: Path, monkeypatch: pytest.MonkeyPatch):
    """What was run of the held-out seeds counts, and is said to be partial."""
    real = search.Trials.run
    calls: list[int] = []

    def run(self: search.Trials, settings: list[search.Setting], stretches: list[int]) -> list[search.Setting]:
        fresh = not self.rows
        calls.append(1)
        if fresh and len(calls) > 1:  # the second one that runs anything is the judge
            real(self, settings, stretches[:2])
            raise KeyboardInterrupt
        return real(self, settings, stretches)

    monkeypatch.setattr(search.Trials, "run", run)
    result = headway(*FAST, "--objective", "mean", "--json", "a.json")
    assert result.status == 130
    assert result.err.splitlines()[-1] == "headway: interrupted: these results are partial"
    data = json.loads((folder / "a.json").read_text())
    assert (data["partial"], data["settings"]["held_out"]) == (True, 2)
