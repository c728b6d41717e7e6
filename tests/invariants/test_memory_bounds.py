"""What memory rules promise, in every mode in which they promise it: invariants 2 and 6, and their neighbours."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence as Items

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway.core.batch import Batch
from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.kv import KvLedger
from headway.core.request import Request
from headway.core.rules import MemoryRule
from headway.core.scheduler import Scheduler
from headway.core.sequence import FINISHED, Sequence
from headway.policies.eviction.last_admitted import LastAdmitted
from headway.policies.memory.conservative import Conservative
from headway.policies.memory.ema import MovingAverage
from headway.policies.memory.oracle import Oracle
from headway.policies.memory.past_future import PastFuture
from headway.policies.order.fcfs import Fcfs
from headway.policies.policy import Policy
from headway.policies.shedding.keep import Keep
from headway.simulate.engine import SimulatedEngine
from tests.strategies import MEMORY, ORDERS, Scenario, scenarios


class Within(Scheduler):
    """Checks after every plan that what is taken fits."""

    def plan(self, now: float, ending: Items[tuple[Sequence, int]] = ()) -> Batch:
        batch = super().plan(now, ending)
        assert self.ledger.used + self.ledger.spare <= self.engine.kv_capacity
        return batch


def run(scheduler: Scheduler, requests: list[Request], outputs: list[int]) -> SimulatedEngine:
    arrivals = [request.arrival for request in requests]
    host = SimulatedEngine(scheduler, iter(requests), arrivals, outputs, scheduler.engine.cost)
    assert host.run()
    return host


@given(scenarios(eviction=True, memory=MEMORY), ORDERS)
def test_invariant_2_memory_holds_after_every_plan_under_every_rule(scenario: Scenario, order: str) -> None:
    rules = Policy.of(order, eviction=scenario.eviction).rules(scenario.engine)
    scheduler = Within(scenario.engine, *rules)
    run(scheduler, scenario.requests, scenario.outputs)
    assert scheduler.kv_peak <= scenario.engine.kv_tokens


@given(scenarios(eviction=True, memory=["oracle"]), ORDERS)
def test_invariant_6_the_oracle_never_evicts_in_any_mode(scenario: Scenario, order: str) -> None:
    """Mixed batches with chunked prompts, decode blocks and KV blocks included: what is left is rounded up."""
    scheduler = Policy.of(order, "oracle", eviction=scenario.eviction).build(scenario.engine)
    assert isinstance(scheduler.memory, Oracle)
    scheduler.memory.reveal(scenario.outputs)
    run(scheduler, scenario.requests, scenario.outputs)
    assert scheduler.evictions == 0


class Hasty(Oracle):
    """Believes that whoever is admitted decodes at once, as the formula of the paper does."""

    def _delay(self, ledger: KvLedger, seq: Sequence | None = None) -> int:
        return 0


def evicting_runs(rule: type[Oracle], mode: str) -> int:
    """In how many of 100 random runs does the rule evict? Prompts take some iterations each."""
    found = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        engine = EngineProfile("chunked", 32, 64, 400, Piecewise(1.0, 0.0), mode=mode)
        requests = [Request(row, 0.0, int(rng.integers(10, 120))) for row in range(40)]
        outputs = [int(tokens) for tokens in rng.integers(1, 100, 40)]
        memory = rule()
        memory.attach(engine, rng)
        memory.reveal(outputs)
        scheduler = Scheduler(engine, Fcfs(), memory, Keep(), LastAdmitted())
        run(scheduler, requests, outputs)
        found += scheduler.evictions > 0
    return found


def test_invariant_6_in_mixed_batches_the_peak_is_safe_because_it_counts_the_delay() -> None:
    """The plain peak is not: a candidate starts to decode later than it says, and is still there at a later peak."""
    assert evicting_runs(Hasty, "mixed") > 20
    assert evicting_runs(Oracle, "mixed") == 0
    assert evicting_runs(Hasty, "prefill-first") == 0


@given(scenarios(eviction=True, memory=["conservative"]), ORDERS)
def test_conservative_with_a_true_bound_never_evicts(scenario: Scenario, order: str) -> None:
    """At an overcommit of 1, in every mode; the bound is each request's limit or the engine's."""
    engine = dataclasses.replace(scenario.engine, max_new_tokens=60)
    limits = [request.max_new_tokens or engine.longest_answer for request in scenario.requests]
    outputs = [min(pair) for pair in zip(scenario.outputs, limits, strict=True)]
    scheduler = Policy.of(order, "conservative", eviction=scenario.eviction).build(engine)
    run(scheduler, scenario.requests, outputs)
    assert scheduler.evictions == 0


def test_conservative_evicts_where_its_bound_is_not_true_or_promised_twice() -> None:
    """The test above can fail."""
    engine = EngineProfile("x", 32, 64, 100, Piecewise(1.0, 0.0), max_new_tokens=20, cut_off=False)
    for overcommit, outputs in ((1.0, [60, 60]), (2.0, [20] * 5)):
        requests = [Request(row, 0.0, 15) for row in range(len(outputs))]
        scheduler = Scheduler(engine, Fcfs(), Conservative(overcommit), Keep(), LastAdmitted())
        host = run(scheduler, requests, outputs)
        assert scheduler.evictions > 0
        assert set(host.outcomes.state) == {FINISHED}


@given(
    st.sampled_from([PastFuture, MovingAverage, Oracle]),
    scenarios(eviction=True, memory=["oracle"]),
    st.sampled_from([0.0, 0.1, 0.5]),
)
def test_the_peak_is_at_least_what_is_held_now(
    rule: type[PastFuture | MovingAverage | Oracle], scenario: Scenario, reserve: float
) -> None:
    """So whoever is admitted fits now, prompts that are still to be filled included."""

    class Checked(rule):  # type: ignore[misc, valid-type]
        def fits(self, seq: Sequence, ledger: KvLedger) -> bool:
            allowed = super().fits(seq, ledger)
            assert not allowed or ledger.used + ledger.unfilled + seq.prompt < self.level
            return allowed

    memory: MemoryRule = Checked() if rule is Oracle else Checked(reserve)
    memory.attach(scenario.engine, np.random.default_rng(0))
    if isinstance(memory, Oracle):
        memory.reveal(scenario.outputs)
    run(Scheduler(scenario.engine, Fcfs(), memory, Keep(), LastAdmitted()), scenario.requests, scenario.outputs)
