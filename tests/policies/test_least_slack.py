"""Least slack: keys by hand, the fit filter and its index against a look at everybody."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.cost import Linear
from headway.core.engine import EngineProfile
from headway.core.errors import InvalidSpec
from headway.core.request import Request, Slo
from headway.core.sequence import CANCELLED, FILLING, Sequence
from headway.policies.order.least_slack import LeastSlack
from headway.policies.order.need_index import NeedIndex
from headway.policies.policy import Policy
from headway.testing.stepping import SteppingHost

COST = Linear(c0=0.01, prefill=0.001, decode=0.002)
ENGINE = EngineProfile("x", 100, 10, 10_000, COST, chunk_cap=40)


def order(engine: EngineProfile = ENGINE, **options: object) -> LeastSlack:
    made = LeastSlack(**options)  # type: ignore[arg-type]
    made.attach(engine)
    return made


def waiting(row: int, prompt: int, slo: Slo | None = None, predicted: float | None = None, at: float = 0.0) -> Sequence:
    return Sequence(Request(row, at, prompt, None, predicted, slo=slo), row)


@pytest.mark.parametrize(
    ("alpha", "key"),
    [
        # 100 positions in chunks of 40, 40 and 20: 3 * 0.01 + 100 * 0.001 = 0.13 s
        (-1.0, 5.0 - 0.13),
        (0.0, 5.0),
        (2.0, 5.0 + 0.26),
    ],
)
def test_the_key_is_the_deadline_and_alpha_times_what_is_needed(alpha: float, key: float) -> None:
    assert order(alpha=alpha).key(waiting(0, 100, Slo(ttft=4.0), at=1.0)) == pytest.approx(key)


def test_a_completion_needs_the_predicted_answer_too() -> None:
    # 0.02 for the prompt of 10, 50 iterations of one decode at 0.012
    assert order().key(waiting(0, 10, Slo(completion=9.0), 50.0)) == pytest.approx(9.0 - 0.02 - 0.6)


def test_of_two_promises_the_nearest_counts() -> None:
    both = waiting(0, 10, Slo(ttft=1.0, completion=9.0), 50.0)
    assert order().key(both) == pytest.approx(1.0 - 0.02)


def test_without_a_promise_it_comes_last_by_arrival() -> None:
    made = order()
    seqs = [waiting(0, 5), waiting(1, 5), waiting(2, 5, Slo(completion=1000.0)), waiting(3, 5, Slo(itl=0.01))]
    for seq in seqs:
        made.push(seq, 0.0)
    named = []
    for _ in seqs:
        seq = made.candidate(0.0, 100, None)
        assert seq is not None
        named.append(seq.id)
        seq.state = FILLING
        made.admitted(seq, 0.0)
    assert named == [2, 0, 1, 3]


def test_what_does_not_fit_is_passed_over_and_waits() -> None:
    made = order()
    large, small = waiting(0, 400, Slo(ttft=1.0)), waiting(1, 7, Slo(ttft=5.0))
    for seq in (large, small):
        made.push(seq, 0.0)
    assert made.candidate(0.0, 40, None) is large  # a chunk of 40
    assert made.candidate(0.0, 39, None) is small
    assert made.candidate(0.0, 6, None) is None
    assert made.candidate(0.0, 40, large) is None  # memory refused it: nobody passes


def test_a_chunk_larger_than_what_decodes_leave_is_not_waited_for() -> None:
    """Nine others may decode a block of 8 each: 100 - 72 = 28 positions are sure, and a prompt of 400 needs no more."""
    made = order(EngineProfile("x", 100, 10, 10_000, COST, decode_block=8))
    seq = waiting(0, 400, Slo(ttft=1.0))
    made.push(seq, 0.0)
    assert made.candidate(0.0, 28, None) is seq
    assert made.candidate(0.0, 27, None) is None


def test_within_the_band_the_earliest_goes_first() -> None:
    made = order(band=0.5, alpha=0.0)
    for seq in (waiting(0, 5, Slo(ttft=2.0)), waiting(1, 5, Slo(ttft=1.6)), waiting(2, 5, Slo(ttft=9.0))):
        made.push(seq, 0.0)
    first = made.candidate(0.0, 100, None)
    assert first is not None
    assert first.id == 0
    narrow = order(band=0.3, alpha=0.0)
    for seq in (waiting(0, 5, Slo(ttft=2.0)), waiting(1, 5, Slo(ttft=1.6))):
        narrow.push(seq, 0.0)
    first = narrow.candidate(0.0, 100, None)
    assert first is not None
    assert first.id == 1


def test_the_earliest_deadline_is_met_where_arrival_order_misses_it() -> None:
    """Four slots' worth of relaxed requests came first; the urgent one goes as soon as a slot is free."""
    engine = EngineProfile("x", 100, 1, 10_000, Linear(1.0, 0.0, 0.0))
    requests = [Request(row, 0.0, 10, None, None, slo=Slo(ttft=100.0)) for row in range(5)]
    requests.append(Request(5, 1.5, 10, None, None, slo=Slo(ttft=6.0)))

    def first_token(spec: str) -> float:
        return SteppingHost(Policy.of(spec).build(engine), requests, [4] * 6, engine.cost).run()[5].first_token - 1.5

    assert first_token("fcfs") > 6.0
    assert first_token("least-slack") <= 6.0


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("least-slack(alpha=-2)", "alpha must be in [-1, 1e+06], got -2"),
        ("least-slack(band=-1)", "band must be in [0, inf], got -1"),
        ("least-slack(ties=chache)", "did you mean 'cache'?"),
        ("least-slack(model=roofline())", "expected linear(c0="),
        ("least-slack(model=linear(c0=1))", "needs prefill="),
        ("fair-share(nesting=slack-first)", "needs inner=least-slack(...), got inner=fcfs"),
        ("fair-share(inner=fair-share())", "unknown inner order 'fair-share'"),
        ("combined(chunk=0)", "chunk must be >= 1, got 0"),
    ],
)
def test_options_that_cannot_be(spec: str, words: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        Policy.of(spec)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@given(st.data(), st.integers(1, 40))
def test_the_index_finds_the_least_key_of_those_that_fit(data: st.DataObject, largest: int) -> None:
    """Against a scan, over random entries, changes of key, departures and questions."""
    index = NeedIndex(largest)
    present: dict[Sequence, tuple[int, float]] = {}
    for row in range(data.draw(st.integers(1, 30))):
        action = data.draw(st.sampled_from(["enter", "enter", "enter", "leave", "change", "ask", "band"]))
        if action == "enter" or not present:
            seq = waiting(row, 1)
            present[seq] = (data.draw(st.integers(1, largest)), data.draw(st.sampled_from([0.0, 1.0, 2.5, math.inf])))
            index.push(*present[seq], seq)
        elif action == "leave":
            seq = data.draw(st.sampled_from(list(present)))
            seq.state = CANCELLED
            del present[seq]
        elif action == "change":
            seq = data.draw(st.sampled_from(list(present)))
            seq.mark += 1
            present[seq] = (present[seq][0], data.draw(st.sampled_from([0.5, 3.0])))
            index.push(*present[seq], seq)
        space = data.draw(st.integers(1, largest + 3))
        fitting = sorted((key, seq.ticket) for seq, (need, key) in present.items() if need <= space)
        found = index.first(space)
        assert (None if found is None else found[:2]) == (fitting[0] if fitting else None)
        if action == "band":
            band, most = data.draw(st.sampled_from([0.0, 1.0, math.inf])), data.draw(st.integers(1, 4))
            within = [one for one in fitting if one[0] <= fitting[0][0] + band][:most]
            limit = fitting[0][0] + band if fitting else 0.0
            assert [entry[:2] for entry in index.firsts(space, limit, most)] == within
