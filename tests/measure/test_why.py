"""Why a request waited, on small runs in which every second can be told by hand."""

from __future__ import annotations

import dataclasses
import json
import math

import polars as pl
import pytest

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.errors import InvalidInput
from headway.measure.journal import RunJournal
from headway.measure.why import Why, why
from headway.policies.policy import Policy
from headway.policies.shares import Shares
from headway.simulate.run import simulate
from headway.workload.trace import Trace

ENGINE = EngineProfile(
    "small", token_budget=8, max_sequences=4, kv_tokens=100, cost=Piecewise(1.0, 0.0, 0), memory="prompt-fit(safety=1)"
)
"""An iteration takes a second."""


def journal(rows: list[tuple[float, int, int, str]], policy: str | Policy = "fcfs", **changes: object) -> RunJournal:
    """Run requests of (arrival, prompt, output, tenant); those of tenant `long` are predicted long."""
    arrival, prompt, output, tenant = zip(*rows, strict=True)
    frame = pl.DataFrame(
        {"arrival": arrival, "prompt_tokens": prompt, "output_tokens": output, "tenant": tenant},
        schema_overrides={"arrival": pl.Float64},
    ).with_columns(predicted=pl.when(pl.col("tenant") == "long").then(pl.lit("long")).otherwise(pl.lit("short")))
    record = simulate(Trace.from_frame("by hand", frame), policy, dataclasses.replace(ENGINE, **changes), journal=True)
    assert record.journal is not None
    return record.journal


def parts(told: Why, wait: int = 0) -> list[tuple[object, ...]]:
    """The parts of a wait, as (cause, rule, tenant, seconds)."""
    return [dataclasses.astuple(part) for part in told.waits[wait].parts]


def of(told: Why, wait: int = 0) -> dict[tuple[str, str | None], float]:
    return {(part.cause, part.tenant): part.seconds for part in told.waits[wait].parts}


def test_a_request_that_starts_at_once_did_not_wait():
    told = why(journal([(0.0, 3, 2, "a")]), "0")
    assert (told.start, told.waits[0].seconds, told.waits[0].parts, told.outcome) == (0.0, 0.0, (), "finished")
    assert len(told.waits) == 1


def test_it_waits_for_the_iteration_that_runs():
    told = why(journal([(0.0, 3, 9, "a"), (1.25, 3, 2, "b")]), "1")
    assert of(told) == {("boundary", None): 0.75}


def test_the_budget_is_divided_by_whose_prompts_take_it():
    told = why(journal([(0.0, 12, 2, "a"), (0.0, 4, 2, "b"), (0.0, 4, 2, "c")]), "2")
    # A second behind the first prompt alone, a second behind the rest of it and the second one.
    assert of(told) == {("budget", "a"): 1.5, ("budget", "b"): 0.5}
    assert {part.rule for part in told.waits[0].parts} == {"token_budget = 8"}
    (ahead,) = [one for one in told.waits[0].ahead if one.tenant == "b"]
    assert (ahead.requests, ahead.came_later, ahead.prompt_tokens) == (1, 0, 4)


def test_slots_are_divided_by_who_holds_them():
    told = why(journal([(0.0, 1, 5, "a"), (0.0, 1, 5, "b"), (0.0, 1, 5, "b"), (0.0, 1, 1, "c")], max_sequences=3), "3")
    assert of(told) == pytest.approx({("slots", "b"): 10 / 3, ("slots", "a"): 5 / 3})
    assert math.fsum(of(told).values()) == told.waits[0].seconds == 5.0


def test_memory_refused_it_or_one_before_it():
    ran = journal([(0.0, 7, 5, "a"), (0.5, 13, 2, "b"), (0.5, 1, 2, "c")], kv_tokens=20, eviction=False)
    own, behind = why(ran, "1"), why(ran, "2")
    assert of(own) == {("boundary", None): 0.5, ("refused", None): 4.0}
    assert of(behind)["memory", "b"] == 4.0
    (refused,) = behind.waits[0].refused
    assert (refused.id, refused.tenant, refused.prompt_tokens, refused.seconds) == ("1", "b", 13, 4.0)
    assert refused.free_tokens == 12
    assert {part.rule for part in behind.waits[0].parts if part.cause == "memory"} == {"prompt-fit(safety=1)"}


def test_who_came_later_and_was_let_go_first():
    ran = journal([(0.0, 8, 9, "a"), (0.25, 8, 9, "long"), (0.5, 4, 2, "c")], "psf", max_sequences=2)
    told = why(ran, "1")
    assert [(one.tenant, one.requests, one.came_later) for one in told.waits[0].ahead] == [("c", 1, 1)]


def test_demoted_it_stands_behind_all_others():
    trace = pl.DataFrame(
        {
            "arrival": [0.0, 0.5, 1.5],
            "prompt_tokens": [4, 4, 4],
            "output_tokens": [9, 2, 4],
            "ttft_slo": [None, 3.0, None],
        }
    )
    policy = Policy.of("fcfs", shedding="demote")
    record = simulate(Trace.from_frame("t", trace), policy, dataclasses.replace(ENGINE, max_sequences=1), journal=True)
    assert record.journal is not None
    told = why(record.journal, "1")
    assert told.demoted_after is not None
    assert of(told)["demoted", None] == told.waits[0].seconds - told.demoted_after
    assert ("demoted", "demote", None, of(told)["demoted", None]) in parts(told)


def test_rejected_at_once_it_did_not_wait():
    trace = [(0.0, 4, 9, "a"), (0.5, 4, 2, "a"), (0.5, 4, 2, "b")]
    told = why(journal(trace, Policy.of("fcfs", shedding="queue-cap(requests=1)"), max_sequences=1), "2")
    assert (told.outcome, told.start, told.waits[0].seconds) == ("rejected", None, 0.0)
    assert told.reason is not None


def test_each_eviction_is_a_wait_of_its_own():
    memory = "watermark(level=1, charge=prompt)"
    ran = journal([(0.0, 4, 9, "a"), (0.0, 4, 9, "b")], Policy.of("fcfs", memory), kv_tokens=16)
    tolds = [why(ran, id_) for id_ in ("0", "1")]
    (evicted,) = [told for told in tolds if len(told.waits) > 1]
    assert {wait.kind for wait in evicted.waits[1:]} == {"evicted"}
    for wait in evicted.waits[1:]:
        assert wait.seconds == sum(part.seconds for part in wait.parts) > 0
        assert {part.cause for part in wait.parts} <= {"eviction", "refused", "boundary", "slots", "budget"}
    assert [wait.since for wait in evicted.waits] == sorted(wait.since for wait in evicted.waits)


def test_with_pools_the_wait_for_a_decode_slot_is_told():
    policy = Policy.of("fcfs", shares=Shares.of(pools=0.875))  # one decode slot, seven positions for prompts
    told = why(journal([(0.0, 3, 5, "a"), (0.0, 3, 5, "b")], policy), "1")
    assert told.waits[0].seconds == 0.0
    (held,) = told.waits[1:]
    assert (held.kind, held.since, held.seconds) == ("held", 1.0, 4.0)
    assert parts(told, 1) == [("decode_slots", "decode slots: 1 (pools)", "a", 4.0)]


def test_an_unknown_id():
    with pytest.raises(InvalidInput, match="no request has the id '7'; there are 1, the first are 0"):
        why(journal([(0.0, 3, 2, "a")]), "7")


def test_to_dict_is_plain():
    told = why(journal([(0.0, 12, 2, "a"), (0.0, 4, 2, "b")]), "1")
    assert json.loads(json.dumps(told.to_dict()))["waits"][0]["parts"][0]["cause"] == "budget"


def test_no_journal_unless_asked_for():
    frame = pl.DataFrame({"arrival": [0.0], "prompt_tokens": [1], "output_tokens": [1]})
    assert simulate(Trace.from_frame("t", frame), "fcfs", ENGINE).journal is None
