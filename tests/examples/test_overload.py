"""A minute at twice the capacity: what admitting anyway, demoting, rejecting and a full queue come to."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import headway as api
from headway.core.engine import preset
from headway.policies.policy import Policy
from tests.cli.conftest import Headway

FILE = Path(__file__).parents[2] / "examples" / "overload.toml"
PROMISED = 4.0
RULES = ("keep", "demote", "reject", "queue-cap(requests=60)")
TRACE = api.read_tenants(FILE).draw()


def outcomes(rule: str, order: str = "fcfs", trace: api.Trace = TRACE) -> pl.DataFrame:
    """A row a request: in time, told after."""
    frame = api.simulate(trace, Policy.of(order, shedding=rule), "h100-llama3-8b", timeline=False).outcomes
    return frame.with_columns(
        ((pl.col("first_token") - pl.col("arrival")) <= PROMISED).fill_null(value=False).alias("in_time"),
        (pl.col("finish") - pl.col("arrival")).alias("told"),
    )


@pytest.fixture(scope="module")
def runs() -> dict[str, pl.DataFrame]:
    return {rule: outcomes(rule) for rule in RULES}


def test_the_surge_is_twice_the_capacity():
    """Prompts and decodes of the surge alone take the engine twice as long as it lasts."""
    surge = TRACE.frame.filter(pl.col("arrival").is_between(60, 120))
    assert (surge["ttft_slo"] == PROMISED).all()
    span = surge["arrival"][-1] - surge["arrival"][0]
    alone = api.simulate(api.Trace.from_frame("surge", surge), "fcfs", "h100-llama3-8b", timeline=False)
    busy = alone.outcomes["first_token"].max() - surge["arrival"][0]
    assert span == pytest.approx(60, abs=2)
    assert busy / span == pytest.approx(2.0, abs=0.15)
    assert preset("h100-llama3-8b").token_budget == 2048


def test_attainment(runs: dict[str, pl.DataFrame]):
    met = {rule: frame["in_time"].mean() for rule, frame in runs.items()}
    served = {rule: frame.filter(pl.col("outcome") == "finished")["in_time"].mean() for rule, frame in runs.items()}
    assert met["keep"] < 0.3
    assert met["reject"] > 0.74
    assert met["demote"] == pytest.approx(met["reject"], abs=0.02)
    assert met["keep"] < met["queue-cap(requests=60)"] < met["reject"]
    assert served["reject"] > 0.99
    assert served["queue-cap(requests=60)"] > 0.99


def test_after_the_surge_the_promise_holds_at_once_or_never(runs: dict[str, pl.DataFrame]):
    after = {rule: frame.filter(pl.col("arrival") > 122)["in_time"].mean() for rule, frame in runs.items()}
    assert after["keep"] < 0.1
    assert min(after["reject"], after["demote"], after["queue-cap(requests=60)"]) > 0.95


def test_how_soon_the_refused_are_told(runs: dict[str, pl.DataFrame]):
    for rule in ("reject", "queue-cap(requests=60)"):
        refused = runs[rule].filter(pl.col("outcome") == "rejected")
        assert len(refused) > 500
        assert refused["start"].null_count() == len(refused)
        assert set(refused["reason"]) == {"deadline" if rule == "reject" else "queue_full"}
        assert (refused["told"] == 0.0).mean() > 0.95
        assert refused["told"].max() <= PROMISED + 0.1  # an iteration late at the most


def test_demoted_requests_are_all_answered(runs: dict[str, pl.DataFrame]):
    assert (runs["demote"]["outcome"] == "finished").all()


def test_under_the_capacity_nobody_is_turned_away():
    regular = api.Trace.from_frame("regular", TRACE.frame.filter(pl.col("tenant") == "regular"))
    assert (outcomes("reject", trace=regular)["outcome"] == "finished").all()


def test_the_command_of_the_comment_runs(headway: Headway, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(FILE.parents[1])
    lines = FILE.read_text().replace("\\\n#", "").splitlines()
    (command,) = (line.removeprefix("#").replace('"', "").split() for line in lines if "  headway " in line)
    data = headway(*command[1:], "--json", "-").json
    keep, demote, reject, cap = data["policies"]
    assert [one["shed"] for one in data["policies"]] == ["keep", *RULES[1:]]
    assert data["settings"]["shed"] == list(RULES)
    assert keep["rejected_by_reason"] == demote["rejected_by_reason"] == {}
    assert keep["refusal_seconds"] is None
    assert reject["rejected_by_reason"] == {"deadline": reject["rejected"]}
    assert cap["rejected_by_reason"] == {"queue_full": cap["rejected"]}
    assert reject["refusal_seconds"]["p99"] == 0.0
    assert PROMISED * 0.9 < reject["refusal_seconds"]["max"] < PROMISED * 1.1
    assert (keep["demoted"], demote["demoted"]) == (0, reject["rejected"])
    assert keep["sla"]["attainment"] < 0.3 < 0.74 < reject["sla"]["attainment"]
