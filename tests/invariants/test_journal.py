"""A journal says of every request what a walk over every iteration says, fast or slow."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from headway.core.sequence import OUTCOMES
from headway.measure.journal import Rules, RunJournal
from headway.measure.why import CAUSES, Why, why
from headway.policies.policy import Policy
from headway.simulate.engine import SimulatedEngine
from tests.invariants.walked import WalkedEngine
from tests.strategies import MEMORY, ORDERS, SHARING, Scenario, scenarios

RULES = Rules("order", "memory", "keep", "eviction", "random", 1, 1, 1, 1, 1)


def journal(scenario: Scenario, order: str, *, fast_forward: bool) -> RunJournal:
    engine = scenario.engine
    host = SimulatedEngine(
        Policy.of(order, eviction=scenario.eviction).build(engine),
        iter(scenario.requests),
        [request.arrival for request in scenario.requests],
        scenario.outputs,
        engine.cost,
        fast_forward=fast_forward,
        journal=True,
    )
    assert host.run()
    seen, requests = host.outcomes, scenario.requests
    outcomes = pl.DataFrame(
        {
            "id": [request.id for request in requests],
            "tenant": [request.tenant for request in requests],
            "arrival": [request.arrival for request in requests],
            "start": pl.Series(np.array(seen.start), nan_to_null=True),
            "finish": list(seen.finish),
            "prompt_tokens": [request.prompt_tokens for request in requests],
            "outcome": [OUTCOMES[state] for state in seen.state],
            "reason": [seen.reasons.get(row) for row in range(len(requests))],
        }
    )
    assert host.journal is not None
    return RunJournal.of(order, 0, RULES, outcomes, host.journal)


def walked(scenario: Scenario, order: str) -> WalkedEngine:
    rules = Policy.of(order, eviction=scenario.eviction).rules(scenario.engine)
    engine = WalkedEngine(
        scenario.engine, *rules[:2], scenario.requests, scenario.outputs, scenario.engine.cost, (), rules[3]
    )
    engine.run()
    return engine


def parts(told: Why) -> dict[tuple[str, str | None], float]:
    assert math.isclose(sum(part.seconds for part in told.parts), told.waited, rel_tol=1e-12, abs_tol=1e-12)
    assert all(part.seconds > 0 and part.cause in CAUSES for part in told.parts)
    return {(part.cause, part.tenant): part.seconds for part in told.parts}


def about(seconds: dict[tuple[str, str | None], float]) -> object:
    """The same causes, and the same seconds but for what adding them up in another order does."""
    kept = {key: value for key, value in seconds.items() if value > 1e-9}
    return pytest.approx(kept, rel=1e-6, abs=1e-9)


@given(scenarios(memory=MEMORY), ORDERS | SHARING)
def test_a_journal_says_what_a_walk_over_every_iteration_says(scenario: Scenario, order: str) -> None:
    told = journal(scenario, order, fast_forward=True)
    engine = walked(scenario, order)
    for row in range(len(scenario.requests)):
        said = {key: value for key, value in parts(why(told, str(row))).items() if value > 1e-9}
        assert said == about(engine.walk(row)), row


@given(scenarios(memory=MEMORY), ORDERS | SHARING)
def test_a_journal_says_the_same_with_and_without_fast_forward(scenario: Scenario, order: str) -> None:
    fast = journal(scenario, order, fast_forward=True)
    slow = journal(scenario, order, fast_forward=False)
    for row in range(len(scenario.requests)):
        one, other = why(fast, str(row)), why(slow, str(row))
        assert {key: value for key, value in parts(one).items() if value > 1e-9} == about(parts(other))
        assert (one.ahead, one.stalls) == (other.ahead, other.stalls)
        assert [(told.id, told.free_tokens) for told in one.refused] == [
            (told.id, told.free_tokens) for told in other.refused
        ]
