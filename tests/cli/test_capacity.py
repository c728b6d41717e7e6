"""headway capacity."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headway.studies import capacity as study
from tests.cli.conftest import Headway

FAST = ["capacity", "qba-paper(n=200)", "--sla", "ttft=1", "--attain", 0.95, "--windows", 2]


def test_it_prints_the_rate_the_limit_and_the_replicas(headway: Headway):
    result = headway(*FAST, "--policy", "fcfs", "--policy", "psf", "--rate", 90)
    assert result.status == 0
    assert result.out.startswith("How much of qba-paper(n=200) does one qba-paper hold, and how many hold it all?\n")
    for text in (
        "One engine keeps ttft=1 for 95 % of the requests up to",
        "What limits",
        "For 90 requests/s",
        "one less",
    ):
        assert text in result.words


def test_json_goes_to_standard_output_and_nothing_else(headway: Headway):
    data = headway(*FAST, "--policy", "fcfs", "--shed", "reject", "--json", "-").json
    (one,) = data["policies"]
    assert one["rate_per_s"] < one["breaks_at_rate_per_s"]
    assert one["attainment"] >= 0.95
    assert one["limit"]["resource"]
    tried = {entry["replicas"]: entry["attainment"] for entry in one["replicas"]["tried"]}
    count = one["replicas"]["count"]
    assert tried[count] >= 0.95
    assert count == 1 or tried[count - 1] < 0.95
    assert data["settings"]["attain"] == 0.95
    assert "headway capacity" in data["settings"]["command"]


def test_a_page(headway: Headway, folder: Path):
    result = headway(*FAST, "--html", "a.html", "--json", "a.json")
    assert result.err.splitlines() == ["wrote a.json", "wrote a.html"]
    page = (folder / "a.html").read_text()
    for text in ("Attainment against the rate", "Attainment against the number of replicas", "Just above the capacity"):
        assert text in page


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["qba-paper"], "--sla is missing; what must be held?"),
        (["qba-paper", "--sla", "ttft=1", "--attain", "1.2"], "--attain must be in (0, 1], got 1.2"),
        (["qba-paper", "--sla", "ttft=1", "--windows", "1"], "--windows must be >= 2, got 1"),
        (["qba-paper", "--sla", "ttft=1", "--rate", "0"], "--rate must be in (0, inf), got 0"),
        (["qba-paper(n=200)", "--sla", "ttft=0.001"], "an idle qba-paper breaks it for"),
        (["qba-paper(n=200)", "--sla", "ttft=1", "--policy", "fcfss"], "did you mean 'fcfs'?"),
        (
            ["d1(n=200)", "--sla", "ttft=100"],
            "all 200 requests arrive at once, and capacity needs arrivals over time; give a rate",
        ),
        ([], "--sla is missing"),
        (["--sla", "ttft=1"], "TRACE|WORKLOAD is missing"),
    ],
)
def test_bad_input_gets_one_line(headway: Headway, arguments: list[str], says: str):
    assert says in headway("capacity", *arguments).refusal()


def test_a_rate_that_no_number_of_replicas_holds_gets_one_line(headway: Headway, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("headway.studies.fewest.MOST_REPLICAS", 2)
    said = headway(*FAST, "--rate", 5000).refusal()
    assert "--rate 5000: more than 2 replicas would be needed; give a lower --rate" in said


def test_interrupted(headway: Headway, folder: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(study, "fewest_replicas", interrupted)
    result = headway(*FAST, "--json", "a.json")
    assert result.status == 130
    assert result.err.splitlines()[-1] == "headway: interrupted: these results are partial"
    assert json.loads((folder / "a.json").read_text())["partial"] is True
    monkeypatch.setattr(study, "run_cells", interrupted)
    result = headway(*FAST, "--json", "b.json")
    assert (result.status, result.out, result.err) == (130, "", "headway: interrupted; nothing was written\n")
