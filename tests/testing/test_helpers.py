"""The shipped helpers, on an example computed by hand.

One second an iteration, four positions in each. Request 0 (6 prompt tokens, 3 of output) arrives at 0, request 1
(3 and 2) at 0.5, request 2 (2 and none) at 10:

| iteration | prompt chunks | decodes | live KV |
|---|---|---|---|
| 0 to 1 | 0: 4 | | 4 |
| 1 to 2 | 0: 2, 1: 2 | | 8 |
| 2 to 3 | 1: 1 | 0 | 10 |
| 3 to 4 | | 0, 1; both end | 12 |
| 10 to 11 | 2: 2, ends | | 2 |
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.request import Request
from headway.core.rules import Order
from headway.core.sequence import CANCELLED, FINISHED, REJECTED, WAITING, Sequence
from headway.policies.order.fcfs import Fcfs
from headway.policies.policy import Policy
from headway.policies.shares import Shares
from headway.simulate.engine import SimulatedEngine
from headway.testing.naive import NaiveEngine
from headway.testing.recording import RecordingScheduler
from headway.testing.stepping import SteppingHost

REQUESTS = [Request(0, 0.0, 6), Request(1, 0.5, 3), Request(2, 10.0, 2)]
OUTPUTS = [3, 2, 0]


def engine(**changes: Any) -> EngineProfile:
    sizes: dict[str, Any] = {"name": "x", "token_budget": 4, "max_sequences": 2, "kv_tokens": 20}
    return EngineProfile(**{**sizes, "cost": Piecewise(1.0, 0.0), "memory": "prompt-fit(safety=1)", **changes})


def recorder(profile: EngineProfile, order: Order | None = None) -> RecordingScheduler:
    rules = Policy.of("fcfs").rules(profile)
    return RecordingScheduler(profile, order or rules[0], *rules[1:])


def plan(decode: tuple[int, int, int], **parts: tuple[object, ...]) -> tuple[tuple[object, ...], ...]:
    names = ("chunks", "admitted", "joined", "held", "resumed", "evicted", "ended")
    return (*((name, *parts.get(name, ())) for name in names), ("decode", *decode))


PLANS = [
    plan((0, 0, 4), chunks=((0, 4),), admitted=(0,)),
    plan((0, 0, 8), chunks=((0, 2), (1, 2)), admitted=(1,), joined=(0,)),
    plan((1, 1, 10), chunks=((1, 1),), joined=(1,)),
    plan((2, 2, 12)),
    plan((0, 0, 2), chunks=((2, 2),), admitted=(2,), joined=(2,)),
]


def test_the_stepping_host_and_the_plans_that_it_was_given() -> None:
    scheduler = recorder(engine())
    host = SteppingHost(scheduler, REQUESTS, OUTPUTS, engine().cost)
    rows = host.run()
    assert rows is host.rows
    assert scheduler.plans == PLANS
    assert [row.seq.start for row in rows] == [0.0, 1.0, 10.0]
    assert [row.first_token for row in rows] == pytest.approx([2.0, 3.0, math.nan], nan_ok=True)
    assert [row.finish for row in rows] == [4.0, 4.0, 11.0]
    assert [row.produced for row in rows] == [3, 2, 0]
    assert {row.seq.state for row in rows} == {FINISHED}
    assert scheduler.kv_token_iterations == 36


@pytest.mark.parametrize("fast_forward", [True, False])
def test_the_recorder_writes_quiet_iterations_out(fast_forward: bool) -> None:
    profile = engine(kv_tokens=1000)
    outputs = [300, 200, 0]
    plans = []
    for _ in range(2):
        scheduler = recorder(profile)
        arrivals = [request.arrival for request in REQUESTS]
        assert SimulatedEngine(
            scheduler, iter(REQUESTS), arrivals, outputs, profile.cost, fast_forward=fast_forward
        ).run()
        plans.append(scheduler.plans)
    live = recorder(profile)
    SteppingHost(live, REQUESTS, outputs, profile.cost).run()
    assert plans == [live.plans] * 2
    assert len(live.plans) == live.iterations > 300


def test_the_naive_engine() -> None:
    naive = NaiveEngine(engine(), *Policy.of("fcfs").rules(engine())[:2], REQUESTS, OUTPUTS, engine().cost)
    rows = naive.run()
    assert [row.start for row in rows] == [0.0, 1.0, 10.0]
    assert [row.first_token for row in rows] == pytest.approx([2.0, 3.0, math.nan], nan_ok=True)
    assert [row.finish for row in rows] == [4.0, 4.0, 11.0]
    assert [row.largest_gap for row in rows] == pytest.approx([1.0, 1.0, math.nan], nan_ok=True)
    assert [row.produced for row in rows] == [3, 2, 0]
    assert (naive.iterations, naive.kv_token_iterations, naive.kv_peak, naive.oom_events) == (5, 36, 12, 0)


def test_who_waits_for_a_decode_slot_is_in_the_plans() -> None:
    """Two positions for prompts, one slot of two: request 1 waits until 0 has ended, and takes one position itself."""
    split = Shares.of(pools=0.5).engine(engine(decode_block=2))
    expected = [
        plan((0, 0, 2), chunks=((0, 2),), admitted=(0,), joined=(0,)),
        plan((1, 2, 6), chunks=((1, 2),), admitted=(1,), held=(1,)),
        plan((1, 1, 7)),
        plan((1, 1, 3), resumed=(1,)),
    ]
    requests, outputs = [Request(0, 0.0, 2), Request(1, 0.0, 2)], [4, 2]
    live, simulated = recorder(split), recorder(split)
    rows = SteppingHost(live, requests, outputs, split.cost).run()
    assert live.plans == expected
    assert [row.finish for row in rows] == [3.0, 4.0]
    assert SimulatedEngine(simulated, iter(requests), [0.0, 0.0], outputs, split.cost).run()
    assert simulated.plans == expected


def test_a_client_that_leaves_is_dropped_at_the_next_boundary() -> None:
    """Request 1 leaves at 2.5: at 3 it is gone; 0 is there no more when somebody cancels it."""
    cancels = [(2.5, 1), (8.0, 0)]
    scheduler = recorder(engine())
    live = SteppingHost(scheduler, REQUESTS, OUTPUTS, engine().cost, cancels).run()
    naive = NaiveEngine(engine(), *Policy.of("fcfs").rules(engine())[:2], REQUESTS, OUTPUTS, engine().cost, cancels)
    for rows in (live, naive.run()):
        assert [row.seq.state for row in rows] == [FINISHED, CANCELLED, FINISHED]
        assert [row.finish for row in rows] == [4.0, 3.0, 11.0]
    assert scheduler.plans == [*PLANS[:3], plan((1, 1, 8)), PLANS[4]]


def test_a_client_may_leave_the_queue_and_a_prompt_may_be_too_large() -> None:
    requests = [Request(0, 0.0, 20), Request(1, 0.0, 3), Request(2, 0.0, 21)]
    cancels = [(1.5, 1)]
    live = SteppingHost(recorder(engine()), requests, [1, 1, 1], engine().cost, cancels).run()
    naive = NaiveEngine(
        engine(), *Policy.of("fcfs").rules(engine())[:2], requests, [1, 1, 1], engine().cost, cancels
    ).run()
    for rows in (live, naive):
        assert [row.seq.state for row in rows] == [FINISHED, CANCELLED, REJECTED]
        assert [row.finish for row in rows] == [5.0, 2.0, 0.0]


def test_evictions_are_in_the_plans() -> None:
    """Two requests that grow beyond 10 tokens: the younger one starts over."""
    requests = [Request(0, 0.0, 4), Request(1, 0.0, 4)]
    profile = engine(kv_tokens=10, token_budget=8)
    scheduler = recorder(profile)
    rows = SteppingHost(scheduler, requests, [4, 4], profile.cost).run()
    naive = NaiveEngine(profile, *Policy.of("fcfs").rules(profile)[:2], requests, [4, 4], profile.cost).run()
    assert scheduler.plans == [
        plan((0, 0, 8), chunks=((0, 4), (1, 4)), admitted=(0, 1), joined=(0, 1)),
        plan((2, 2, 10)),
        plan((1, 1, 6), evicted=(1,)),
        plan((1, 1, 7)),
        plan((0, 0, 6), chunks=((1, 6),), admitted=(1,), joined=(1,)),
        plan((1, 1, 7)),
    ]
    assert [row.finish for row in rows] == [row.finish for row in naive] == [4.0, 6.0]
    assert [row.seq.evictions for row in naive] == [0, 1]
    assert naive[1].largest_gap == 3.0  # from the token at 2 to the one at 5


class Late(Fcfs):
    """Names nobody before 7 s, and says so."""

    def candidate(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        return super().candidate(now, space, refused) if now >= 7.0 else None

    def steady_until(self, now: float) -> float:
        return 7.0 if now < 7.0 else math.inf


class Never(Late):
    """Names nobody."""

    def candidate(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        return None

    def steady_until(self, now: float) -> float:
        return math.inf


def test_a_live_host_sleeps_as_long_as_the_order_says() -> None:
    rows = SteppingHost(recorder(engine(), Late()), REQUESTS, OUTPUTS, engine().cost).run()
    assert [row.seq.start for row in rows] == [7.0, 8.0, 11.0]


def test_a_live_host_stops_where_nothing_can_happen_any_more() -> None:
    scheduler = recorder(engine(), Never())
    rows = SteppingHost(scheduler, REQUESTS, OUTPUTS, engine().cost).run()
    assert [row.seq.state for row in rows] == [WAITING] * 3
    assert scheduler.plans == []
