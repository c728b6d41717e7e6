"""The five scenarios: what the page says of each, and every figure in its tables."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import headway as api
from headway.core.engine import EngineProfile, engine_from_toml, preset
from headway.policies.policy import Policy
from headway.workload.tenants_toml import tenants_from_toml
from tests.cli.conftest import Headway
from tests.docs.blocks import ROOT

PAGE = (ROOT / "docs" / "scenarios.md").read_text()
EXAMPLES = ROOT / "examples"
A100 = preset("a100-llama3-8b")
Row = dict[str, float | str]


def shown(heading: str) -> list[Row]:
    """The rows of a section's table by its heads: numbers where there are numbers, text without its ticks elsewhere."""
    part = PAGE.partition(f"\n## {heading}")[2].partition("\n## ")[0]
    assert part, heading
    lines = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
    heads, _, *rows = [[cell.strip().replace("`", "") for cell in line] for line in lines]
    return [dict(zip(heads, map(value, row), strict=True)) for row in rows]


def value(cell: str) -> float | str:
    number = cell.replace(",", "").removesuffix("%").strip()
    return float(number) if re.fullmatch(r"\d+(\.\d+)?", number) else cell


def engine(name: str) -> EngineProfile:
    return engine_from_toml((EXAMPLES / f"{name}.toml").read_text(), name)


def run(trace: api.Trace, policy: Policy | str, on: EngineProfile) -> pl.DataFrame:
    frame = api.simulate(trace, policy, on, timeline=False).outcomes
    return frame.with_columns((pl.col("first_token") - pl.col("arrival")).alias("ttft"))


def of(frame: pl.DataFrame, tenant: str) -> pl.DataFrame:
    return frame.filter(pl.col("tenant") == tenant)


@cache
def compared(name: str, *policies: str, on: str = "a100-llama3-8b", shed: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    source = api.read_tenants(EXAMPLES / f"{name}.toml")
    return api.compare(source, policies, on, shed=shed).to_dict()["policies"]


# 1. A long prompt beside a stream


@cache
def beside_the_book() -> list[tuple[float, float, Row]]:
    """The largest gap of any stream, the book's first token, and the row that the page has of it."""
    trace = api.read_tenants(EXAMPLES / "long-prompt-beside-a-stream.toml").draw()
    found = []
    for row in shown("A long prompt beside a stream"):
        on = A100 if row["engine"] == A100.name else engine(str(row["engine"]))
        share = float(row["prefill share"] or 0)
        frame = run(trace, Policy.of(str(row["policy"]), shares=api.Shares.of(share)), on)
        found.append((of(frame, "stream")["largest_gap"].max(), of(frame, "book")["ttft"].item(), row))
    return found


def test_the_stream_beside_a_long_prompt():
    for gap, first, row in beside_the_book():
        assert round(gap * 1000) == row["largest gap of the stream, ms"], row
        assert round(first, 1) == row["first token of the prompt, s"], row
    gaps, firsts, _ = zip(*beside_the_book(), strict=True)
    plain, cap_512, cap_128, capped_share, small, quarter, half = range(7)
    assert gaps[plain] > gaps[cap_512] > gaps[cap_128]
    assert firsts[plain] < firsts[cap_512] < firsts[cap_128] < firsts[small]
    assert (gaps[capped_share], firsts[capped_share]) == (gaps[cap_128], firsts[cap_128])
    assert gaps[small] < gaps[quarter] < 2 * gaps[small]
    assert gaps[half] < 2 * gaps[small]
    assert firsts[small] > firsts[quarter] > firsts[half]


def test_the_prompt_is_65536_tokens_and_the_streams_run_at_full_speed_without_it():
    trace = api.read_tenants(EXAMPLES / "long-prompt-beside-a-stream.toml").draw()
    assert of(trace.frame, "book")["prompt_tokens"].to_list() == [65_536]
    alone = api.Trace.from_frame("alone", of(trace.frame, "stream"))
    assert run(alone, "fcfs", A100)["largest_gap"].max() == pytest.approx(0.0716, abs=0.0001)


# 2. An urgent request, and every slot taken


def urgent(long: int, order: str, shed: str = "keep") -> pl.DataFrame:
    text = (EXAMPLES / "urgent-behind-long.toml").read_text().replace("requests = 4", f"requests = {long}")
    frame = run(tenants_from_toml(text, "x").draw(), Policy.of(order, shedding=shed), engine("four-slots"))
    return of(frame, "urgent")


def test_no_order_takes_a_slot_away():
    rows = shown("An urgent request, and every slot taken")
    for row in rows:
        for column, long in (("four long ones, s", 4), ("eight long ones, s", 8)):
            found = urgent(long, str(row["order"]), str(row["shedding"]))
            said = row[column]
            if isinstance(said, str):
                assert found["outcome"].item() == "rejected"
                assert found["reason"].item() == "deadline"
                assert said == f"refused after {found['finish'].item() - 5:.2f}"
            else:
                assert round(found["ttft"].item(), 1) == said
    kept = {row["order"]: row for row in rows if row["shedding"] == "keep"}
    assert len({row["four long ones, s"] for row in kept.values()}) == 1
    by_arrival = float(kept.pop("fcfs")["eight long ones, s"])
    assert all(float(row["eight long ones, s"]) < by_arrival / 2 for row in kept.values())


def test_an_order_decides_for_whoever_waits_when_a_slot_becomes_free():
    waiting = urgent(4, "least-slack")["ttft"].item()
    assert urgent(8, "least-slack")["ttft"].item() == pytest.approx(waiting, abs=0.5)


# 3. A noisy neighbour


def test_the_quiet_tenant_beside_a_noisy_one():
    rows = shown("A noisy neighbour")
    names = [str(row["policy"]) for row in rows]
    found = compared("noisy-neighbour", *names)
    for row, policy in zip(rows, found, strict=True):
        quiet, noisy = policy["tenants"]["quiet"], policy["tenants"]["noisy"]
        assert row["quiet: TTFT P99, s"] == round(quiet["ttft"]["p99"], 2)
        assert row["quiet: promises kept"] == round(100 * quiet["attainment"])
        assert row["noisy: TTFT P99, s"] == round(noisy["ttft"]["p99"], 2)
        jain = policy["fairness"]["jain"]
        assert row["Jain"] == ("none" if jain is None else round(jain, 2))
        assert row["largest gap, units"] == policy["fairness"]["max_gap"]
    fcfs, fair = found
    assert fair["tenants"]["quiet"]["ttft"]["p99"] < 0.02 * fcfs["tenants"]["quiet"]["ttft"]["p99"]
    assert fair["tenants"]["quiet"]["attainment"] == 1.0
    noisy = [policy["tenants"]["noisy"]["ttft"]["mean"] for policy in found]
    assert noisy[1] < 1.02 * noisy[0]


# 4. Twice the capacity


def test_a_minute_at_twice_the_capacity():
    rows = shown("Twice the capacity for a minute")
    sheds = tuple(str(row["shedding"]) for row in rows if row["order"] == "fcfs")
    found = {
        (order, policy["shed"]): policy
        for order in ("fcfs", "least-slack")
        for policy in compared("overload", order, on="h100-llama3-8b", shed=sheds)
    }
    for row in rows:
        policy = found[str(row["order"]), str(row["shedding"])]
        met, finished = policy["promises"]["attainment"], policy["finished"]
        assert row["in time, of all"] == round(100 * met, 1)
        assert row["in time, of the served"] == round(100 * met * policy["requests"] / finished, 1)
        assert row["refused"] == policy["rejected"]
        told = policy["refusal_seconds"] or {"p99": "none", "max": "none"}
        for column, key in (("told after, P99 s", "p99"), ("at the latest, s", "max")):
            assert row[column] == (told[key] if isinstance(told[key], str) else round(told[key], 1))
    tokens = [found[order, "reject"]["promises"]["goodput_tokens_per_s"] for order in ("fcfs", "least-slack")]
    assert tokens[1] == pytest.approx(tokens[0], rel=0.02)


# 5. A tenant that returns


@cache
def returned(order: str) -> pl.DataFrame:
    """Who came, and who started, in the two minutes after the return."""
    trace = api.read_tenants(EXAMPLES / "returning-idle-tenant.toml").draw()
    return run(trace, order, A100)


def test_a_tenant_that_returns_after_an_hour():
    idle = of(returned("fcfs"), "returning")["arrival"]
    assert idle.filter(idle > 130).min() - idle.filter(idle < 130).max() >= 3600
    rows = shown("A tenant that was idle for an hour")
    found = compared("returning-idle-tenant", *(str(row["policy"]) for row in rows))
    for row, policy in zip(rows, found, strict=True):
        started = returned(str(row["policy"])).filter(pl.col("start").is_between(3720, 3840))
        assert row["started: steady"] == len(of(started, "steady"))
        assert row["started: returning"] == len(of(started, "returning"))
        assert row["largest gap, units"] == policy["fairness"]["max_gap"]
        assert row["longest without service, s"] == round(policy["fairness"]["longest_without_service"], 1)
    by_name = {str(row["policy"]): row for row in rows}
    right, wrong = by_name["fair-share"], by_name["fair-share(lift=waiting)"]
    assert right["started: steady"] == pytest.approx(right["started: returning"], rel=0.1)  # type: ignore[arg-type]
    assert wrong["started: steady"] == 0


# The files


@pytest.mark.parametrize(
    "name", ["long-prompt-beside-a-stream", "urgent-behind-long", "noisy-neighbour", "returning-idle-tenant"]
)
def test_the_command_of_the_comment_runs(headway: Headway, name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    text = (EXAMPLES / f"{name}.toml").read_text().replace("\\\n#", "")
    (command,) = (line.removeprefix("#") for line in text.splitlines() if "  headway " in line)
    data = headway(*shlex.split(command)[1:], "--json", "-").json
    assert {policy["requests"] for policy in data["policies"]} == {data["settings"]["requests"]}


def test_every_file_that_the_page_names_is_there():
    named = re.findall(r"\(\.\./examples/([\w.-]+)\)", PAGE)
    assert all((Path(EXAMPLES) / name).exists() for name in named)
    assert {"small-steps.toml", "four-slots.toml"} <= set(named)


def test_the_table_on_top_names_every_scenario():
    heads = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    top = PAGE.partition("\n## ")[0]
    assert re.findall(r"\]\(#([\w-]+)\)", top) == [
        re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads
    ]
