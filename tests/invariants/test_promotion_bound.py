"""Invariant 5: with a finite k no aged predicted-long request is postponed for ever (QBA).

Precisely, for a predicted-long request L that was never started. Let m be the number of predicted-long requests that
wait ahead of it at the last admission at which it was not aged (or on arrival). Until L starts, at most
(k + p - 1) * (m + 1) prefills of predicted-short requests complete, where p is the number of prompts that may be partly
filled at once: k earn a debt, p - 1 may have been under way when it was earned, and each debt admits the oldest of the
m + 1. With one partly filled prompt, as on the engine of the paper, that is k completed shorts per long.

A promotion that memory refuses is retried, and what happens meanwhile is the policy's choice: the bound holds where
memory never refuses, and with `refused=stop` whatever the memory does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence as Items
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.batch import Batch
from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.request import Request
from headway.core.scheduler import Scheduler
from headway.core.sequence import FINISHED, Sequence
from headway.policies.policy import Policy
from headway.testing.stepping import SteppingHost
from tests.policies.models import AgingModel
from tests.strategies import Scenario, scenarios


@dataclasses.dataclass
class Postponed:
    """A predicted-long request that waits: who is ahead, and how many shorts completed since."""

    ahead: int
    shorts: int = 0


class Observer(Scheduler):
    """Follows the plan log, event by event, with a list of waits of its own."""

    def watch(self, per_long: int, options: dict[str, Any]) -> None:
        self.per_long = per_long
        self.waits = AgingModel(**options)
        self.postponed: dict[Sequence, Postponed] = {}
        self.most = 0.0  # shorts that completed, as a share of what the bound allows

    def submit(self, request: Request, now: float) -> Sequence:
        seq = super().submit(request, now)
        if request.prompt_tokens <= self.engine.kv_capacity:
            self.waits.push(seq, now)
            if request.predicted == "long":
                self.postponed[seq] = Postponed(ahead=len(self.postponed))
        return seq

    def plan(self, now: float, ending: Items[tuple[Sequence, int]] = ()) -> Batch:
        batch = super().plan(now, ending)
        for seq in batch.evicted:
            self.waits.back(seq, now)
        for seq in batch.joined:
            if seq not in batch.admitted:
                self.completed(seq)
        for seq in batch.admitted:
            self.decided(seq, now)
            if seq in batch.joined:
                self.completed(seq)
        return batch

    def decided(self, chosen: Sequence, now: float) -> None:
        for place, seq in enumerate(self.postponed):  # in order of arrival
            if not self.waits.is_aged(seq, now):
                self.postponed[seq] = Postponed(ahead=place)
        self.postponed.pop(chosen, None)
        self.waits.admitted(chosen, now)

    def completed(self, seq: Sequence) -> None:
        if seq.request.predicted == "long" or seq.evictions:
            return
        for late in self.postponed.values():
            late.shorts += 1
            self.most = max(self.most, late.shorts / (self.per_long * (late.ahead + 1)))


def watched(scenario: Scenario, policy: str, k: int, options: dict[str, Any]) -> Observer:
    engine = scenario.engine
    observer = Observer(engine, *Policy.of(policy).rules(engine))
    partial = min(engine.partial_prompts or engine.slots, engine.slots)
    observer.watch(k + partial - 1, options)
    host = SteppingHost(observer, scenario.requests, scenario.outputs, engine.cost)
    host.run()
    return observer


OPTIONS = st.fixed_dictionaries(
    {"gamma": st.sampled_from([1.0, 0.8, 0.5, 0.2, 0.01])},
    optional={"window": st.integers(1, 5)},
) | st.fixed_dictionaries({"gamma": st.sampled_from([1.0, 0.5, 0.2]), "reference": st.just("queue")})


def spec(k: int, options: dict[str, Any], refused: str) -> str:
    written = "".join(f", {name}={value}" for name, value in options.items())
    return f"qba(k={k}, refused={refused}{written})"


@given(scenarios(), st.integers(1, 4), OPTIONS, st.sampled_from(["fall-through", "stop", "oldest-that-fits"]))
def test_invariant_5_where_memory_never_refuses(
    scenario: Scenario, k: int, options: dict[str, Any], refused: str
) -> None:
    engine = dataclasses.replace(scenario.engine, kv_tokens=10_000, memory="prompt-fit(safety=1)")
    observer = watched(dataclasses.replace(scenario, engine=engine), spec(k, options, refused), k, options)
    assert observer.most <= 1
    assert not observer.postponed


@given(scenarios(), st.integers(1, 4), OPTIONS)
def test_invariant_5_where_a_refused_promotion_stops_admission(
    scenario: Scenario, k: int, options: dict[str, Any]
) -> None:
    observer = watched(scenario, spec(k, options, "stop"), k, options)
    assert observer.most <= 1
    assert not observer.postponed


def crowd(longs: int, shorts: int) -> Scenario:
    """One slot; a stream of shorts that never lets up, and some longs that were there first."""
    engine = EngineProfile("one slot", 8, 1, 100, Piecewise(1.0, 0.0), partial_prompts=1, memory="prompt-fit(safety=1)")
    kinds = [*["long"] * longs, *["short"] * shorts]
    requests = [Request(row, 0.0, 4, None, kind) for row, kind in enumerate(kinds)]
    return Scenario(engine, requests, [1] * len(kinds), [])


@pytest.mark.parametrize("k", [1, 3, 5])
def test_the_bound_is_reached(k: int) -> None:
    """In a crowd every promotion costs exactly k shorts."""
    observer = watched(crowd(longs=4, shorts=60), f"qba(k={k}, gamma=0.01)", k, {"gamma": 0.01})
    assert observer.most == 1
    order = observer.order
    assert order.promoted == 4  # type: ignore[attr-defined]


def test_predicted_short_first_breaks_the_bound() -> None:
    """The observer is able to object."""
    observer = watched(crowd(longs=4, shorts=60), "psf", 3, {"gamma": 0.01})
    assert observer.most > 1


def test_the_longs_of_a_crowd_start_after_every_k_shorts() -> None:
    scenario = crowd(longs=3, shorts=20)
    engine = scenario.engine
    host = SteppingHost(
        Policy.of("qba(k=4, gamma=0.01)").build(engine), scenario.requests, scenario.outputs, engine.cost
    )
    started = [row.seq.start for row in host.run()]
    assert all(row.seq.state == FINISHED for row in host.rows)
    assert started[:3] == [4.0, 9.0, 14.0]
