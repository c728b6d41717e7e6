"""Requests that are judged before their prompt is counted: reserve, judge, then enter."""

from __future__ import annotations

import pytest

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.request import Request, Slo
from headway.core.scheduler import Scheduler
from headway.core.sequence import CANCELLED, DEMOTED, FINISHED, REJECTED, RESERVED, WAITING, Sequence
from headway.policies.policy import Policy

ENGINE = EngineProfile("x", 20, 8, 100, Piecewise(1.0, 0.0))


def built(shedding: str = "keep") -> Scheduler:
    return Policy.of("fcfs", shedding=shedding).build(ENGINE)


def enter(made: Scheduler, seq: Sequence, request: Request, now: float) -> None:
    made.judge(seq, request, now)
    made.enter(seq, now)


def test_who_has_reserved_is_not_in_the_order_until_it_enters() -> None:
    made = built()
    seq = made.reserve(Request(0, 0.0, 5), 0.0)
    assert (seq.state, made.waiting) == (RESERVED, 0)
    assert made.plan(0.0).positions == 0
    enter(made, seq, Request(0, 0.0, 7, max_new_tokens=3), 0.0)
    assert (seq.state, seq.prompt, seq.limit, made.waiting) == (WAITING, 7, 3, 1)
    assert made.plan(0.0).chunks == [(seq, 7)]


def test_an_estimate_above_the_memory_is_no_reason_to_reject_and_a_count_is() -> None:
    made = built()
    seq = made.reserve(Request(0, 0.0, 5000), 0.0)
    assert seq.state == RESERVED
    enter(made, seq, Request(0, 0.0, 101), 0.0)
    assert (seq.state, seq.reason, made.waiting) == (REJECTED, "kv_capacity", 0)


def test_reservations_fill_a_queue_and_entering_takes_no_second_place() -> None:
    made = built("queue-cap(requests=2)")
    seqs = [made.reserve(Request(row, 0.0, 5), 0.0) for row in range(3)]
    assert [seq.state for seq in seqs] == [RESERVED, RESERVED, REJECTED]
    assert seqs[2].reason == "queue_full"
    for seq in seqs:
        enter(made, seq, seq.request, 0.0)
    assert [seq.state for seq in seqs] == [WAITING, WAITING, REJECTED]


@pytest.mark.parametrize("shedding", ["queue-cap(requests=1)", "reject", "demote"])
def test_a_cancelled_reservation_leaves_no_trace(shedding: str) -> None:
    made = built(shedding)
    promised = Request(0, 0.0, 5, slo=Slo(ttft=50.0))
    first = made.reserve(promised, 0.0)
    made.cancel(first, 0.0)
    assert first.state == CANCELLED
    enter(made, first, promised, 0.0)
    assert (first.state, made.waiting) == (CANCELLED, 0)
    second = made.submit(promised._replace(id=1), 0.0)
    batch = made.plan(0.0)
    assert batch.admitted == [second]
    made.complete(batch, 1.0, [second])
    assert (second.state, made.plan(100.0).positions) == (FINISHED, 0)


def test_a_reservation_whose_deadline_passes_is_rejected_where_others_are() -> None:
    made = built("reject")
    seq = made.reserve(Request(0, 0.0, 5, slo=Slo(ttft=4.0)), 0.0)
    batch = made.plan(10.0)
    assert batch.ended == [seq]
    assert (seq.state, seq.reason) == (REJECTED, "deadline")
    enter(made, seq, seq.request, 10.0)
    assert (seq.state, made.waiting) == (REJECTED, 0)


def test_a_reservation_whose_deadline_passes_is_demoted_once_it_enters() -> None:
    made = built("demote")
    seq = made.reserve(Request(0, 0.0, 5, slo=Slo(ttft=4.0)), 0.0)
    made.plan(10.0)
    assert seq.state == RESERVED
    enter(made, seq, seq.request, 10.0)
    other = made.submit(Request(1, 10.0, 20), 10.0)
    batch = made.plan(10.0)
    assert (seq.state, made.demotions) == (DEMOTED, 1)
    assert batch.admitted == [other]
    made.complete(batch, 11.0, [other])
    assert made.plan(11.0).admitted == [seq]
