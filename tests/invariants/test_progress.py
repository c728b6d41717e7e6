"""Invariant 10, no livelock: memory that is too small costs time, and never stops anybody for good."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence as Items

from hypothesis import given

from headway.core.batch import Batch
from headway.core.rules import Eviction, MemoryRule, Order, Shedding
from headway.core.scheduler import Scheduler
from headway.core.sequence import FINISHED, REJECTED, Sequence
from headway.policies.policy import Policy
from headway.testing.stepping import SteppingHost
from tests.strategies import BY_SLACK, MEMORY, ORDERS, Scenario, pooled, scenarios


class Watched(Scheduler):
    """Checks that the engine moves in every plan, and that each victim has made somebody move since its last time."""

    def __init__(self, engine: object, order: Order, memory: MemoryRule, shedding: Shedding, rule: Eviction) -> None:
        super().__init__(engine, order, memory, shedding, rule)  # type: ignore[arg-type]
        self.tokens = 0  # positions decoded so far: what is generated is never lost
        self.at_last_eviction: dict[Sequence, int] = {}

    def plan(self, now: float, ending: Items[tuple[Sequence, int]] = ()) -> Batch:
        batch = super().plan(now, ending)
        assert batch.positions or batch.ended or not (self.residents or self.waiting)
        for seq in batch.evicted:
            # Whoever is evicted again was admitted again, which took an iteration that ran.
            assert self.at_last_eviction.get(seq, -1) < self.iterations
            self.at_last_eviction[seq] = self.iterations
        self.tokens += batch.decode_positions
        return batch


def run(scenario: Scenario, order: str, **sizes: int) -> Watched:
    engine = scenario.shares.engine(dataclasses.replace(scenario.engine, **sizes))
    scheduler = Watched(engine, *Policy.of(order, eviction=scenario.eviction).rules(engine))
    host = SteppingHost(scheduler, scenario.requests, scenario.outputs, engine.cost)
    host.run()
    for row, output in zip(host.rows, scenario.outputs, strict=True):
        assert row.seq.state in (FINISHED, REJECTED)
        if row.seq.state == FINISHED:
            assert row.produced == output
        else:  # it alone is more than the memory holds
            assert row.seq.request.prompt_tokens + output > engine.kv_capacity - engine.decode_block
    return scheduler


EVICTING = scenarios(eviction=True, memory=MEMORY)


@given(EVICTING | pooled(EVICTING), ORDERS | BY_SLACK)
def test_every_admitted_request_makes_progress(scenario: Scenario, order: str) -> None:
    """All that fit alone finish, whatever the memory rule, the eviction rule and the block size."""
    run(scenario, order)


@given(scenarios(eviction=True, memory=["watermark(level=1)", "watermark(level=1, charge=prompt)"]))
def test_evictions_are_bounded_by_the_tokens_generated(scenario: Scenario) -> None:
    """Under the greediest rule, in memory for two or three: an eviction is the price of a token, at most one each.

    Every iteration that evicts also runs, and each of its victims made room for a block that somebody gained.
    """
    scheduler = run(scenario, "fcfs", kv_tokens=max(scenario.engine.block_size, 60), partial_prompts=1)
    assert scheduler.evictions <= scheduler.tokens + scheduler.prefill_positions


@given(scenarios(eviction=True, memory=MEMORY))
def test_the_oldest_resident_is_safe(scenario: Scenario) -> None:
    """Under last-admitted, whoever has been there longest runs to its end; so everybody's turn comes."""

    class Safe(Watched):
        def plan(self, now: float, ending: Items[tuple[Sequence, int]] = ()) -> Batch:
            oldest = next(iter(self.residents), None)
            batch = super().plan(now, ending)
            assert oldest not in batch.evicted
            return batch

    engine = scenario.engine
    scheduler = Safe(engine, *Policy.of("fcfs").rules(engine))
    SteppingHost(scheduler, scenario.requests, scenario.outputs, engine.cost).run()
