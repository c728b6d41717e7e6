"""Invariants 4, 7 and 9: every engine gives the same result for the same events, fast or slow, live or simulated."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.sequence import CANCELLED, OUTCOMES
from headway.measure.gaps import largest_gaps
from headway.policies.policy import Policy
from headway.simulate.engine import SimulatedEngine
from headway.simulate.run import residence_of, segments_of, stray_of
from headway.testing.naive import NaiveEngine
from headway.testing.recording import RecordingScheduler
from headway.testing.stepping import SteppingHost
from tests.strategies import (
    BY_CACHE,
    BY_SLACK,
    CLIENTS,
    COUNTING,
    MEMORY,
    NOBODY,
    ORDERS,
    PATIENCE,
    Scenario,
    crowds,
    pooled,
    scenarios,
)


def policy(scenario: Scenario, order: str) -> Policy:
    return Policy.of(order, eviction=scenario.eviction, shares=scenario.shares)


def recording(scenario: Scenario, order: str) -> RecordingScheduler:
    chosen = policy(scenario, order)
    engine = chosen.shares.engine(scenario.engine)
    return RecordingScheduler(engine, *chosen.rules(engine), chosen.shares.prefill)


def simulated(scenario: Scenario, order: str, *, fast_forward: bool) -> SimulatedEngine:
    engine = scenario.engine
    host = SimulatedEngine(
        recording(scenario, order),
        iter(scenario.requests),
        [request.arrival for request in scenario.requests],
        scenario.outputs,
        engine.cost,
        fast_forward=fast_forward,
        clients=scenario.clients,
        patience=scenario.patience,
    )
    assert host.run()
    return host


def stepping(scenario: Scenario, order: str) -> SteppingHost:
    scheduler = recording(scenario, order)
    host = SteppingHost(
        scheduler,
        scenario.requests,
        scenario.outputs,
        scenario.engine.cost,
        scenario.cancels,
        scenario.clients,
        scenario.patience,
    )
    host.run()
    return host


def naive(scenario: Scenario, order: str) -> NaiveEngine:
    chosen = policy(scenario, order)
    split = chosen.shares.engine(scenario.engine)
    rules = chosen.rules(split)
    engine = NaiveEngine(
        split,
        *rules[:2],
        scenario.requests,
        scenario.outputs,
        scenario.engine.cost,
        scenario.cancels,
        rules[3],
        chosen.shares.prefill,
        scenario.clients,
        scenario.patience,
    )
    engine.run()
    return engine


def largest_gap(host: SimulatedEngine) -> list[float]:
    return largest_gaps(len(host.outputs), segments_of(host), residence_of(host), stray_of(host)).tolist()


def wasted(host: SimulatedEngine) -> int:
    return 0 if host.patience is None else host.patience.waste.tokens


def hit_tokens(host: SimulatedEngine | SteppingHost) -> int:
    """Tokens that came from the prefix cache."""
    cache = host.scheduler.cache
    return 0 if cache is None else cache.hit_tokens


def same(left: list[float], right: list[float]) -> bool:
    """Equal bit by bit; NaN, "never", equals itself."""
    return len(left) == len(right) and all(
        a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(left, right, strict=True)
    )


OF_CLIENTS = scenarios(memory=MEMORY, clients=NOBODY | CLIENTS, patience=NOBODY | PATIENCE)
POOLED = pooled(OF_CLIENTS)


@given(scenarios(memory=MEMORY), ORDERS | BY_SLACK)
def test_invariant_9_fast_forward_equals_steps(scenario: Scenario, order: str) -> None:
    assert_fast_forward_equals_steps(scenario, order)


@given(OF_CLIENTS, ORDERS | BY_SLACK)
def test_invariant_9_with_clients(scenario: Scenario, order: str) -> None:
    assert_fast_forward_equals_steps(scenario, order)


@given(POOLED, ORDERS | BY_SLACK)
def test_invariant_9_with_pools(scenario: Scenario, order: str) -> None:
    assert_fast_forward_equals_steps(scenario, order)


def assert_fast_forward_equals_steps(scenario: Scenario, order: str) -> None:
    fast = simulated(scenario, order, fast_forward=True)
    slow = simulated(scenario, order, fast_forward=False)
    assert same(largest_gap(fast), largest_gap(slow))
    for column in ("start", "first_token", "finish"):
        assert same(list(getattr(fast.outcomes, column)), list(getattr(slow.outcomes, column))), column
    assert fast.outcomes.state == slow.outcomes.state
    assert fast.outcomes.evictions == slow.outcomes.evictions
    assert fast.arrivals == slow.arrivals
    assert wasted(fast) == wasted(slow)
    assert fast.scheduler.plans == slow.scheduler.plans
    for total in (
        "iterations",
        "decode_positions",
        "prefill_positions",
        "kv_token_iterations",
        "kv_peak",
        "oom_events",
    ):
        assert getattr(fast.scheduler, total) == getattr(slow.scheduler, total), total
    assert hit_tokens(fast) == hit_tokens(slow)


@given(crowds() | pooled(crowds()), COUNTING)
def test_invariant_9_where_decoding_changes_whose_turn_it_is(scenario: Scenario, order: str) -> None:
    fast = simulated(scenario, order, fast_forward=True)
    slow = simulated(scenario, order, fast_forward=False)
    assert fast.scheduler.plans == slow.scheduler.plans
    assert same(list(fast.outcomes.finish), list(slow.outcomes.finish))


@given(scenarios(memory=MEMORY), ORDERS | BY_SLACK, st.booleans())
def test_simulated_engine_equals_the_naive_one(scenario: Scenario, order: str, fast_forward: bool) -> None:
    assert_simulated_equals_naive(scenario, order, fast_forward=fast_forward)


@given(OF_CLIENTS, ORDERS | BY_SLACK, st.booleans())
def test_simulated_engine_equals_the_naive_one_with_clients(scenario: Scenario, order: str, fast_forward: bool) -> None:
    assert_simulated_equals_naive(scenario, order, fast_forward=fast_forward)


@given(POOLED, ORDERS | BY_SLACK, st.booleans())
def test_simulated_engine_equals_the_naive_one_with_pools(scenario: Scenario, order: str, fast_forward: bool) -> None:
    assert_simulated_equals_naive(scenario, order, fast_forward=fast_forward)


def assert_simulated_equals_naive(scenario: Scenario, order: str, *, fast_forward: bool) -> None:
    host = simulated(scenario, order, fast_forward=fast_forward)
    other = naive(scenario, order)
    seen = host.outcomes
    assert same(list(seen.start), [row.start for row in other.rows])
    assert same(list(seen.first_token), [row.first_token for row in other.rows])
    assert same(list(seen.finish), [row.finish for row in other.rows])
    assert list(seen.state) == [row.seq.state for row in other.rows]
    assert list(seen.evictions) == [row.seq.evictions for row in other.rows]
    assert host.arrivals[:-1] == [row.seq.arrival for row in other.rows]
    assert seen.reasons == {row.seq.id: row.seq.reason for row in other.rows if row.seq.reason is not None}
    left = [row for row in other.rows if row.seq.state == CANCELLED]
    assert wasted(host) == sum(row.computed + row.produced for row in left)
    for seconds, row in zip(largest_gap(host), other.rows, strict=True):
        assert (
            seconds == row.largest_gap
            or (math.isnan(seconds) and math.isnan(row.largest_gap))
            or math.isclose(seconds, row.largest_gap, rel_tol=1e-9, abs_tol=1e-12)
        )
    for total in ("iterations", "kv_token_iterations", "kv_peak", "oom_events"):
        assert getattr(host.scheduler, total) == getattr(other, total), total
    assert hit_tokens(host) == other.cached_positions


@given(scenarios(memory=MEMORY), ORDERS | BY_SLACK)
def test_invariant_7_live_plans_equal_simulated_ones(scenario: Scenario, order: str) -> None:
    assert_live_equals_simulated(scenario, order)


@given(OF_CLIENTS, ORDERS | BY_SLACK)
def test_invariant_7_with_clients(scenario: Scenario, order: str) -> None:
    assert_live_equals_simulated(scenario, order)


@given(POOLED, ORDERS | BY_SLACK)
def test_invariant_7_with_pools(scenario: Scenario, order: str) -> None:
    assert_live_equals_simulated(scenario, order)


def assert_live_equals_simulated(scenario: Scenario, order: str) -> None:
    live = stepping(scenario, order)
    fast = simulated(scenario, order, fast_forward=True)
    assert live.scheduler.plans == fast.scheduler.plans
    assert same([row.finish for row in live.rows], list(fast.outcomes.finish))
    assert same([row.first_token for row in live.rows], list(fast.outcomes.first_token))


CANCELLED_SOME = scenarios(cancels=True, memory=MEMORY, clients=NOBODY | CLIENTS, patience=NOBODY | PATIENCE)


@given(CANCELLED_SOME | pooled(CANCELLED_SOME), ORDERS | BY_SLACK)
def test_live_host_with_cancels_equals_the_naive_engine(scenario: Scenario, order: str) -> None:
    live = stepping(scenario, order)
    other = naive(scenario, order)
    assert same([row.finish for row in live.rows], [row.finish for row in other.rows])
    assert [row.seq.state for row in live.rows] == [row.seq.state for row in other.rows]
    assert live.scheduler.kv_token_iterations == other.kv_token_iterations
    assert hit_tokens(live) == other.cached_positions
    assert live.scheduler.ledger.used == 0
    assert live.scheduler.ledger.unfilled == 0


@given(scenarios(cancels=True, memory=MEMORY, cached=True), BY_CACHE)
def test_engines_agree_on_what_is_cached(scenario: Scenario, order: str) -> None:
    """Prompts that begin alike, a cache for a few of their blocks, and orders that prefer what is cached."""
    live, other = stepping(scenario, order), naive(scenario, order)
    assert same([row.finish for row in live.rows], [row.finish for row in other.rows])
    assert hit_tokens(live) == other.cached_positions
    scenario = replace(scenario, cancels=[])
    live, fast = stepping(scenario, order), simulated(scenario, order, fast_forward=True)
    assert live.scheduler.plans == fast.scheduler.plans
    assert same([row.finish for row in live.rows], list(fast.outcomes.finish))
    assert hit_tokens(live) == hit_tokens(fast)


@given(scenarios(memory=MEMORY), ORDERS | BY_SLACK)
@settings(max_examples=25)
def test_invariant_4_same_input_same_result(scenario: Scenario, order: str) -> None:
    first, second = (simulated(scenario, order, fast_forward=True) for _ in range(2))
    assert first.scheduler.plans == second.scheduler.plans
    assert same(list(first.outcomes.finish), list(second.outcomes.finish))
    assert all(state in OUTCOMES for state in first.outcomes.state)
