"""Invariant 9 for what a user brings: own orders, shedding rules and cost models."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.cost import Concurrency, CostModel
from headway.core.rules import Eviction, Order, Shedding
from headway.core.sequence import REJECTED, Sequence
from headway.policies.order.short_first import ShortFirst
from headway.policies.policy import Policy
from headway.simulate.engine import SimulatedEngine
from headway.testing.naive import NaiveEngine
from headway.testing.recording import RecordingScheduler
from headway.testing.stepping import SteppingHost
from tests.invariants.test_engines_agree import largest_gap
from tests.policies.own_orders import SmallestPrompt
from tests.policies.own_shedding import TooLate
from tests.strategies import COSTS, Scenario, scenarios


class Forgetful(ShortFirst):
    """Does not say whether an arrival changes its answer."""

    def push(self, seq: Sequence, now: float) -> None:  # type: ignore[override]
        super().push(seq, now)


class Curved(CostModel):
    """Grows faster than the context does."""

    def seconds(self, prefill: int, decode: int, context: int) -> float:
        return 0.01 + 1e-4 * prefill + 1e-5 * context**1.5


def simulated(scenario: Scenario, order: Order, shedding: Shedding, *, fast_forward: bool) -> SimulatedEngine:
    engine = scenario.engine
    memory = Policy.of("fcfs").rules(engine)[1]
    host = SimulatedEngine(
        RecordingScheduler(engine, order, memory, shedding, Eviction()),
        iter(scenario.requests),
        [request.arrival for request in scenario.requests],
        scenario.outputs,
        engine.cost,
        fast_forward=fast_forward,
    )
    assert host.run()
    return host


def plans(host: SimulatedEngine | SteppingHost) -> list[object]:
    scheduler = host.scheduler
    assert isinstance(scheduler, RecordingScheduler)
    return list(scheduler.plans)


@given(scenarios(), st.sampled_from([Forgetful, SmallestPrompt]))
def test_invariant_9_with_an_own_order(scenario: Scenario, order: type[Order]) -> None:
    fast, slow = (simulated(scenario, order(), Shedding(), fast_forward=taken) for taken in (True, False))
    assert plans(fast) == plans(slow)
    assert list(fast.outcomes.finish) == list(slow.outcomes.finish)


@given(scenarios(), st.sampled_from(["fcfs", "qba(k=2, gamma=0.2)"]), st.sampled_from([0.02, 0.3, 2.0]))
def test_invariants_1_7_and_9_with_an_own_shedding_rule(scenario: Scenario, order: str, patience: float) -> None:
    fast, slow = (
        simulated(scenario, Policy.of(order).order(), TooLate(patience), fast_forward=taken) for taken in (True, False)
    )
    memory = Policy.of("fcfs").rules(scenario.engine)[1]
    scheduler = RecordingScheduler(scenario.engine, Policy.of(order).order(), memory, TooLate(patience), Eviction())
    live = SteppingHost(scheduler, scenario.requests, scenario.outputs, scenario.engine.cost)
    live.run()
    assert plans(fast) == plans(slow) == plans(live)
    for host in (fast, slow):
        assert list(host.outcomes.finish) == [row.finish for row in live.rows]
        assert list(host.outcomes.state) == [row.seq.state for row in live.rows]
    for row, request in enumerate(scenario.requests):
        if fast.outcomes.reasons.get(row) == "too_late":
            assert fast.outcomes.state[row] == REJECTED
            assert math.isnan(fast.outcomes.start[row])
            assert fast.outcomes.finish[row] >= request.arrival + patience
        elif not math.isnan(fast.outcomes.start[row]):
            assert fast.outcomes.start[row] < request.arrival + patience


@given(scenarios(), st.sampled_from([Curved(), Concurrency(COSTS[-1], 0.002, 2)]), st.booleans())
def test_invariant_9_with_an_own_cost_model(scenario: Scenario, cost: CostModel, fast_forward: bool) -> None:
    """Gaps included: within a leg of a fast-forward they are taken to lie on a line."""
    scenario = dataclasses.replace(scenario, engine=dataclasses.replace(scenario.engine, cost=cost))
    host = simulated(scenario, ShortFirst(), Shedding(), fast_forward=fast_forward)
    memory = Policy.of("fcfs").rules(scenario.engine)[1]
    rows = NaiveEngine(scenario.engine, ShortFirst(), memory, scenario.requests, scenario.outputs, cost).run()
    assert list(host.outcomes.finish) == [row.finish for row in rows]
    for gap, row in zip(largest_gap(host), rows, strict=True):
        assert gap == pytest.approx(row.largest_gap, rel=1e-9, abs=1e-12, nan_ok=True)
