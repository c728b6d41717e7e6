"""Ties by cache affinity: who is equally urgent and has most of its prompt cached goes first."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.request import Request, Slo
from headway.core.rules import Order
from headway.core.sequence import FILLING, Sequence
from headway.core.spec import parse_spec
from headway.policies.order.combined import Combined
from headway.policies.order.fair_share import FairShare
from headway.policies.order.least_slack import LeastSlack
from headway.policies.policy import Policy
from headway.simulate.engine import SimulatedEngine
from headway.testing.stepping import SteppingHost

ENGINE = EngineProfile("x", 1000, 50, 10_000, Piecewise(1.0, 0.0), memory="prompt-fit(safety=1)", prefix_cache=1000)


def cached(sizes: dict[int, int]) -> Callable[[Sequence], int]:
    """What a cache would say: tokens by the number of the request."""
    return lambda seq: sizes.get(seq.id, 0)


def drained(order: Order, requests: list[Request], sizes: dict[int, int]) -> list[int]:
    """Admit everybody, one a question; return their numbers in that order."""
    order.attach(ENGINE)
    order.attach_cache(cached(sizes))
    for ticket, request in enumerate(requests):
        order.push(Sequence(request, ticket), request.arrival)
    admitted: list[int] = []
    while (seq := order.next(100.0, 1000, None)) is not None:
        seq.state = FILLING
        order.admitted(seq, 100.0)
        admitted.append(seq.id)
    return admitted


def promised(row: int, ttft: float | None, tenant: str = "a", arrival: float = 0.0) -> Request:
    return Request(row, arrival, 100, tenant=tenant, slo=None if ttft is None else Slo(ttft))


def test_the_most_cached_of_the_equally_urgent_goes_first_then_arrival() -> None:
    requests = [promised(row, ttft) for row, ttft in enumerate([1.0, 1.4, 1.2, 1.45, 3.0])]
    assert drained(LeastSlack(alpha=0, band=0.5, ties="cache"), requests, {2: 60, 3: 30, 4: 90}) == [2, 3, 0, 1, 4]
    assert drained(LeastSlack(alpha=0, band=0.5), requests, {2: 60, 3: 30, 4: 90}) == [0, 1, 2, 3, 4]


def test_without_a_band_only_what_is_as_urgent_ties() -> None:
    requests = [promised(row, ttft) for row, ttft in enumerate([1.0, 1.0, 0.9, 1.1])]
    assert drained(LeastSlack(ties="cache"), requests, {1: 10, 3: 90}) == [2, 1, 0, 3]


def test_without_promises_all_are_equally_urgent() -> None:
    requests = [promised(row, None) for row in range(4)]
    assert drained(LeastSlack(ties="cache"), requests, {2: 10, 1: 5}) == [2, 1, 0, 3]


@pytest.mark.parametrize("nesting", ["tenant-first", "slack-first"])
def test_tenants_go_before_the_cache(nesting: str) -> None:
    """A tenant's turn comes by what it received; among its own equally urgent requests, the cache decides."""
    inner = parse_spec("least-slack(alpha=0, band=0.5, ties=cache)")
    tenants = "abab"
    requests = [promised(row, 1 + row / 10, tenant) for row, tenant in enumerate(tenants)]
    order = FairShare(inner=inner, nesting=nesting, charge="admission")
    assert drained(order, requests, {2: 10, 3: 90}) == [2, 3, 0, 1]


def test_what_is_not_within_the_band_of_the_most_urgent_of_all_does_not_tie() -> None:
    requests = [promised(0, 1.0, "a"), promised(1, 1.3, "b"), promised(2, 1.6, "b")]
    order = Combined(alpha=0, band=0.5, ties="cache", charge="admission")
    assert drained(order, requests, {2: 90}) == [0, 2, 1]  # with 0 gone, 2 is within the band of 1


@given(
    st.lists(st.tuples(st.sampled_from([1.0, 1.25, 1.5, 2.0, None]), st.integers(0, 3)), min_size=1, max_size=20),
    st.sampled_from([0.0, 0.25, 0.5, math.inf]),
)
def test_it_equals_a_sort_over_all(rows: list[tuple[float | None, int]], band: float) -> None:
    requests = [promised(row, ttft) for row, (ttft, _) in enumerate(rows)]
    sizes = {row: tokens for row, (_, tokens) in enumerate(rows)}
    left = dict(enumerate(math.inf if ttft is None else ttft for ttft, _ in rows))
    expected: list[int] = []
    while left:
        urgent = [row for row, key in left.items() if key <= min(left.values()) + band]
        expected.append(min(urgent, key=lambda row: (-sizes[row], row)))
        del left[expected[-1]]
    assert drained(LeastSlack(alpha=0, band=band, ties="cache"), requests, sizes) == expected


def conversation(row: int, arrival: float, *blocks: int) -> Request:
    return Request(row, arrival, 10 * len(blocks) + 1, blocks=blocks, block_tokens=10)


@pytest.mark.parametrize("nesting", ["tenant-first", "slack-first"])
@pytest.mark.parametrize(("space", "expected"), [(1000, 2), (99, 2), (40, 2), (39, 1), (29, None)])
def test_what_is_cached_needs_no_room_in_the_iteration(nesting: str, space: int, expected: int | None) -> None:
    """Prompts of a hundred: with 70 tokens cached one needs 30 positions, with 60 another needs 40."""
    inner = parse_spec("least-slack(alpha=0, band=0.5, ties=cache)")
    for order in (LeastSlack(alpha=0, band=0.5, ties="cache"), FairShare(inner=inner, nesting=nesting)):
        order.attach(ENGINE)
        order.attach_cache(cached({1: 70, 2: 60}))
        for row, ttft in enumerate([1.0, 3.0, 1.4]):
            order.push(Sequence(promised(row, ttft), row), 0.0)
        found = order.candidate(0.0, space, None)
        assert (None if found is None else found.id) == expected


CACHE_SPECS = ["least-slack(ties=cache)", "combined(ties=cache)", "fair-share(inner=least-slack(ties=cache))"]


@pytest.mark.parametrize("spec", CACHE_SPECS)
def test_the_scheduler_shows_orders_its_cache(spec: str) -> None:
    """One at a time: while the first runs, three wait; who shares its prefix goes first, although it came last."""
    engine = EngineProfile("x", 100, 1, 1000, Piecewise(1.0, 0.0), memory="prompt-fit(safety=1)", prefix_cache=1000)
    requests = [conversation(row, row / 10, *blocks) for row, blocks in enumerate([(1, 2), (8, 9), (1, 7), (1, 2, 3)])]
    host = SteppingHost(Policy.of(spec).build(engine), requests, [3, 1, 1, 1], engine.cost)
    started: list[Any] = [row.seq.start for row in host.run()]
    assert sorted(range(4), key=started.__getitem__) == [0, 3, 2, 1]
    assert host.scheduler.cache is not None
    assert host.scheduler.cache.hit_tokens == 20 + 10


@pytest.mark.parametrize("spec", CACHE_SPECS)
@pytest.mark.parametrize("late", [False, True])
def test_a_refusal_stands_until_the_cache_or_the_queue_changes(spec: str, late: bool) -> None:
    """Memory refuses the oldest; who is preferred to it once its prefix is cached, or once it is there, starts."""
    engine = EngineProfile(
        "x", 100, 9, 100, Piecewise(1.0, 0.0), memory="prompt-fit(safety=1)", prefix_cache=1000, chunk_cap=50
    )
    first, small = conversation(0, 0.0, 1, 2, 3), conversation(2, 5.5 if late else 0.0, 1, 2)
    requests = [first, Request(1, 0.0, 90), small]
    outputs = [30, 1, 1]
    live = SteppingHost(Policy.of(spec).build(engine), requests, outputs, engine.cost)
    assert [row.seq.start for row in live.run()] == [0.0, 30.0, 6.0 if late else 1.0]
    host = SimulatedEngine(
        Policy.of(spec).build(engine), iter(requests), [request.arrival for request in requests], outputs, engine.cost
    )
    assert host.run()
    assert list(host.outcomes.start) == [row.seq.start for row in live.rows]


@pytest.mark.parametrize("charge", ["iteration", "predicted"])
def test_what_is_cached_is_not_charged(charge: str) -> None:
    requests = [conversation(0, 0.0, 1, 2, 3), conversation(1, 10.0, 1, 2, 3), conversation(2, 20.0, 1, 2, 4)]
    requests = [request._replace(tenant=tenant) for request, tenant in zip(requests, "aab", strict=True)]
    scheduler = Policy.of(f"fair-share(charge={charge})").build(ENGINE)
    SteppingHost(scheduler, requests, [2, 2, 2], ENGINE.cost).run()
    order = scheduler.order
    assert isinstance(order, FairShare)
    charged = {name: account.prefilled for name, account in order.accounts.items()}
    assert charged == {"a": 31 + 1, "b": 11}
    assert sum(charged.values()) == scheduler.prefill_positions


def test_a_prompt_that_was_lost_is_not_charged_whatever_the_cache_still_has() -> None:
    """Filling 48 positions again: 40 from the cache, 7 of the rest that an eviction took, and a token never read."""
    engine = EngineProfile("x", 100, 8, 100, Piecewise(1.0, 0.0), memory="prompt-fit(safety=1)", prefix_cache=1000)
    requests = [
        Request(0, 0.0, 50, tenant="a"),
        conversation(1, 0.0, 1, 2, 3, 4)._replace(prompt_tokens=44, tenant="b"),
    ]
    scheduler = Policy.of("fair-share").build(engine)
    rows = SteppingHost(scheduler, requests, [5, 20], engine.cost).run()
    assert rows[1].seq.evictions == 1
    assert scheduler.prefill_positions == 50 + 44 + 8
    order = scheduler.order
    assert isinstance(order, FairShare)
    assert order.accounts["b"].prefilled == 44 + 1
