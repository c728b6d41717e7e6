"""A journal says of every wait what a walk over every plan of a stepping host says, and it adds up exactly."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.sequence import OUTCOMES
from headway.measure.journal import Rules, RunJournal
from headway.measure.why import CAUSES, Wait, Why, why
from headway.policies.policy import Policy
from headway.simulate.engine import SimulatedEngine
from headway.testing.recording import RecordingScheduler
from headway.testing.stepping import SteppingHost
from tests.invariants.test_shedding import EVERY, promised, with_threshold
from tests.invariants.test_shedding import RULES as SHEDDING
from tests.invariants.walked import Seconds, WalkedScheduler, walk
from tests.strategies import BY_CACHE, BY_SLACK, CLIENTS, MEMORY, NOBODY, ORDERS, PATIENCE, Scenario, pooled, scenarios

RULES = Rules("order", "memory", "keep", "eviction", "random", 1, 1, 1, 1, 1, 1, 1)
TINY = 1e-7  # seconds: below that, adding up in another order may make a part of nothing


def policy(scenario: Scenario, order: str, shedding: str = "keep") -> Policy:
    return Policy.of(order, eviction=scenario.eviction, shares=scenario.shares, shedding=shedding)


def journal(scenario: Scenario, chosen: Policy, *, fast_forward: bool = True) -> RunJournal:
    host = SimulatedEngine(
        chosen.build(scenario.engine),
        iter(scenario.requests),
        [request.arrival for request in scenario.requests],
        scenario.outputs,
        scenario.engine.cost,
        fast_forward=fast_forward,
        clients=scenario.clients,
        patience=scenario.patience,
        journal=True,
    )
    assert host.run()
    seen, requests = host.outcomes, scenario.requests
    outcomes = pl.DataFrame(
        {
            "id": [request.id for request in requests],
            "tenant": [request.tenant for request in requests],
            "arrival": host.arrivals[:-1],
            "start": pl.Series(np.array(seen.start), nan_to_null=True),
            "finish": list(seen.finish),
            "prompt_tokens": [request.prompt_tokens for request in requests],
            "outcome": [OUTCOMES[state] for state in seen.state],
            "reason": [seen.reasons.get(row) for row in range(len(requests))],
        }
    )
    assert host.journal is not None
    return RunJournal.of(chosen.name, 0, RULES, outcomes, host.journal)


def walked(scenario: Scenario, chosen: Policy) -> SteppingHost:
    host = SteppingHost(
        chosen.build(scenario.engine, make=WalkedScheduler),
        scenario.requests,
        scenario.outputs,
        scenario.engine.cost,
        clients=scenario.clients,
        patience=scenario.patience,
    )
    host.run()
    return host


def parts(wait: Wait) -> Seconds:
    assert sum(part.seconds for part in wait.parts) == wait.seconds  # exactly, in whatever order
    assert sum(part.seconds for part in reversed(wait.parts)) == wait.seconds
    assert all(part.seconds > 0 and part.cause in CAUSES for part in wait.parts)
    return {(part.cause, part.tenant): part.seconds for part in wait.parts}


def about(seconds: Seconds) -> object:
    """The same causes, and the same seconds but for what adding them up in another order does."""
    return pytest.approx(large(seconds), rel=1e-6, abs=TINY)


def large(seconds: Seconds) -> Seconds:
    return {key: value for key, value in seconds.items() if value > TINY}


def assert_told_as_walked(scenario: Scenario, chosen: Policy) -> None:
    told, host = journal(scenario, chosen), walked(scenario, chosen)
    for row in host.rows:
        said = why(told, str(row.seq.id))
        seen = walk(host.scheduler.looks, row.seq, row.finish)
        waits = [(wait.kind, large(parts(wait))) for wait in said.waits]
        expected = [(kind, about(seconds)) for (kind, _), seconds in seen.items() if large(seconds)]
        assert [wait for wait in waits if wait[1]] == expected, row.seq.id


def told_of(told: Why) -> list[tuple[object, ...]]:
    return [
        (wait.kind, wait.since, wait.seconds, wait.ahead, [(one.id, one.free_tokens) for one in wait.refused])
        for wait in told.waits
    ]


OF_CLIENTS = scenarios(memory=MEMORY, clients=NOBODY | CLIENTS, patience=NOBODY | PATIENCE)
POOLED = pooled(OF_CLIENTS)


@given(scenarios(memory=MEMORY), ORDERS | BY_SLACK)
def test_a_journal_says_what_a_walk_says(scenario: Scenario, order: str) -> None:
    assert_told_as_walked(scenario, policy(scenario, order))


@given(OF_CLIENTS, ORDERS | BY_SLACK)
def test_with_clients(scenario: Scenario, order: str) -> None:
    assert_told_as_walked(scenario, policy(scenario, order))


@given(POOLED, ORDERS | BY_SLACK)
def test_with_pools(scenario: Scenario, order: str) -> None:
    assert_told_as_walked(scenario, policy(scenario, order))


@given(scenarios(memory=MEMORY, cached=True), BY_CACHE)
def test_with_a_prefix_cache(scenario: Scenario, order: str) -> None:
    assert_told_as_walked(scenario, policy(scenario, order))


@given(promised(), EVERY, st.sampled_from(SHEDDING))
def test_with_shedding(scenario: Scenario, order: str, shedding: str) -> None:
    assert_told_as_walked(scenario, policy(scenario, with_threshold(order), shedding))


@given(OF_CLIENTS | POOLED | promised(), EVERY, st.sampled_from(["keep", *SHEDDING]))
def test_a_journal_says_the_same_with_and_without_fast_forward(scenario: Scenario, order: str, shedding: str) -> None:
    chosen = policy(scenario, with_threshold(order), shedding)
    fast, slow = (journal(scenario, chosen, fast_forward=quick) for quick in (True, False))
    for row in range(len(scenario.requests)):
        one, other = why(fast, str(row)), why(slow, str(row))
        assert told_of(one) == told_of(other)
        assert dataclasses.replace(one, waits=()) == dataclasses.replace(other, waits=())
        for wait, same in zip(one.waits, other.waits, strict=True):
            assert large(parts(wait)) == about(parts(same))


@given(OF_CLIENTS | POOLED, ORDERS | BY_SLACK)
def test_a_journal_changes_nothing(scenario: Scenario, order: str) -> None:
    chosen = policy(scenario, order)
    hosts = [
        SimulatedEngine(
            chosen.build(scenario.engine, make=RecordingScheduler),
            iter(scenario.requests),
            [request.arrival for request in scenario.requests],
            scenario.outputs,
            scenario.engine.cost,
            clients=scenario.clients,
            patience=scenario.patience,
            journal=keeps,
        )
        for keeps in (False, True)
    ]
    assert all(host.run() for host in hosts)
    plans = [host.scheduler.plans for host in hosts if isinstance(host.scheduler, RecordingScheduler)]
    assert plans[0] == plans[1]
    assert hosts[0].now == hosts[1].now
