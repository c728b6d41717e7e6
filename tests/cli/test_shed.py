"""--shed: rules combined with every policy, promises of the trace, figures in tables, JSON and report."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import headway as api
from tests.cli.conftest import Headway

HEAD = "arrival,prompt_tokens,output_tokens,ttft_slo\n"
RULES = ["--shed", "keep", "--shed", "reject", "--shed", "demote(safety=1)", "--shed", "queue-cap(requests=20)"]


def crowd(folder: Path) -> Path:
    """200 at once, for whom the A100 takes 28 s; first tokens were promised within 5 s, and one within 1 ms."""
    path = folder / "crowd.csv"
    path.write_text(HEAD + "0,1000,50,0.001\n" + "0,1000,50,5\n" * 99 + "0,1000,50,\n" * 100)
    return path


def test_every_rule_is_combined_with_every_policy(headway: Headway, folder: Path):
    result = headway("compare", crowd(folder), "--policy", "fcfs", "--policy", "psf", *RULES)
    data = headway("compare", "crowd.csv", "--policy", "fcfs", "--policy", "psf", *RULES, "--json", "-").json
    assert data["settings"]["shed"] == ["keep", "reject", "demote(safety=1)", "queue-cap(requests=20)"]
    assert [entry["name"] for entry in data["policies"][:5]] == [
        "fcfs + keep",
        "fcfs + reject",
        "fcfs + demote(safety=1)",
        "fcfs + queue-cap(requests=20)",
        "psf + keep",
    ]
    keep, reject, demote, cap = data["policies"][:4]
    assert (keep["rejected_by_reason"], keep["refusal_seconds"], keep["demoted"]) == ({}, None, 0)
    assert reject["rejected_by_reason"].keys() == {"deadline", "unreachable"}
    assert reject["rejected_by_reason"]["unreachable"] == 1
    assert sum(reject["rejected_by_reason"].values()) == reject["rejected"] < 99
    assert reject["refusal_seconds"] == {"p50": 0.0, "p99": 0.0, "max": 0.0}
    assert (demote["rejected"], demote["demoted"] > 50) == (0, True)
    assert cap["rejected_by_reason"] == {"queue_full": 180}
    for said in ("Refusals", "Unreachable", "Queue full", "Told after", "Demoted"):
        assert said in result.out


def test_simulate_takes_one(headway: Headway, folder: Path):
    crowd(folder)
    asked = ["simulate", "crowd.csv", "--shed", "reject", "--html", "report.html", "--requests", "rows.csv"]
    data = headway(*asked, "--json", "-").json
    assert data["settings"]["shed"] == ["reject"]
    assert data["policies"][0]["shed"] == "reject"
    report = (folder / "report.html").read_text()
    assert "<h2>Refusals</h2>" in report
    assert "Unreachable" in report
    rows = pl.read_csv("rows.csv")
    assert rows["outcome"].value_counts().sort("outcome").rows() == [
        ("finished", 200 - data["policies"][0]["rejected"]),
        ("rejected", data["policies"][0]["rejected"]),
    ]


def test_nothing_is_said_where_nobody_was_refused(headway: Headway, trace: Path):
    result = headway("compare", trace, "--html", "report.html")
    assert "Refusals" not in result.out
    assert "<h2>Refusals</h2>" not in Path("report.html").read_text()


def test_without_promises_a_rule_that_needs_them_is_said_to_be_idle(headway: Headway, trace: Path, folder: Path):
    said = "No request was promised its first or last token by any time, so {} nobody"
    assert said.format("reject names") in headway("compare", trace, "--shed", "reject", "--sla", "ttft=1").words
    assert (
        said.format("demote and reject name") in headway("compare", trace, "--shed", "reject", "--shed", "demote").words
    )
    assert "was promised" not in headway("compare", trace, "--shed", "queue-cap(requests=5)").words
    assert "was promised" not in headway("compare", crowd(folder), "--shed", "reject").words


def test_in_python(folder: Path):
    trace = api.read_trace(crowd(folder))
    compared = api.compare(trace, ["fcfs"], shed=["keep", "reject"])
    assert [summary.policy for summary in compared.policies] == ["keep", "reject"]
    assert compared.summary("reject").refusals.by_reason["unreachable"] == 1
    assert compared.summary("reject").shedding_rule == "reject"
    frame = api.policy_frame(compared)
    assert frame["rejected_by_reason.unreachable"].to_list() == [None, 1]
