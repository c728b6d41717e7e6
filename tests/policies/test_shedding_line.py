"""The line by latest start, and the pace at which a queue drains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.cost import Linear
from headway.core.engine import EngineProfile
from headway.core.kv import KvLedger
from headway.core.request import Request
from headway.core.sequence import CANCELLED, FILLING, Sequence
from headway.policies.fit import OnlineFit
from headway.policies.order.fcfs import Fcfs
from headway.policies.shedding.drain import Drain
from headway.policies.shedding.line import Line

STARTS = st.sampled_from([0.0, 0.5, 1.0, 1.5, 7.25]) | st.floats(0.0, 10.0)


def sequence(row: int, prompt: int = 10) -> Sequence:
    return Sequence(Request(row, 0.0, prompt), row)


@given(st.lists(st.tuples(STARTS, st.integers(1, 50), st.booleans()), max_size=700), st.randoms(use_true_random=False))
def test_a_line_is_a_sorted_list(rows: list[tuple[float, int, bool]], random: object) -> None:
    """Several buckets, equal starts, requests that leave from anywhere."""
    line = Line()
    kept: list[tuple[float, int, Sequence]] = []
    for row, (start, prompt, leaves) in enumerate(rows):
        seq = sequence(row, prompt)
        line.add(seq, start)
        kept.append((start, row, seq))
        if leaves:
            at = row * 7919 % len(kept)
            line.remove(kept.pop(at)[2])
    kept.sort(key=lambda entry: entry[:2])
    for asked in (-1.0, 0.0, 0.5, 1.0, 3.3, 7.25, 11.0):
        assert line.ahead(asked) == sum(seq.prompt for start, _, seq in kept if start <= asked)
    assert line.first == (kept[0] if kept else None)
    assert set(line.places) == {seq for _, _, seq in kept}
    while kept:
        assert line.first == kept[0]
        line.remove(kept.pop(0)[2])
    assert line.first is None


def test_a_line_is_sorted_anew() -> None:
    line = Line()
    seqs = [sequence(row, row + 1) for row in range(1000)]
    for seq in seqs:
        line.add(seq, float(seq.id))
    line.sort(lambda seq: -float(seq.id % 500))
    assert line.first == (-499.0, 499, seqs[499])
    assert line.ahead(-499.0) == 500 + 1000
    assert line.ahead(-1.0) == sum(range(1, 1001)) - 1 - 501
    line.remove(seqs[499])
    assert line.first == (-499.0, 999, seqs[999])


ENGINE = EngineProfile("x", 100, 20, 1000, Linear(0.1, 0.01, 0.02, 0.0), chunk_cap=30, partial_prompts=3)


def drain(engine: EngineProfile = ENGINE) -> Drain:
    return Drain(engine, OnlineFit(engine), KvLedger(engine.kv_capacity, engine.decode_block), Fcfs())


def admit(of: Drain, now: float, *seqs: Sequence) -> None:
    for seq in seqs:
        seq.state = FILLING
        of.left(seq, now)


def test_an_unseen_pace_is_that_of_full_iterations() -> None:
    of = drain()
    assert of.space(of.decodes) == 90  # three prompts of 30
    assert of.pace() == pytest.approx((0.1 + 0.01 * 90) / 90)
    of.ledger.residents = 40
    assert of.space(of.decodes) == 60
    assert of.pace() == pytest.approx((0.1 + 0.01 * 60 + 0.02 * 40) / 60)
    of.ledger.residents = 100
    assert of.space(of.decodes) == 1
    prefill_first = drain(EngineProfile("x", 100, 20, 1000, ENGINE.cost, mode="prefill-first"))
    prefill_first.ledger.residents = 40
    assert prefill_first.pace() == pytest.approx((0.1 + 0.01 * 100) / 100)


def test_what_waits() -> None:
    of = drain()
    seqs = [sequence(row, 10 + row) for row in range(4)]
    for seq in seqs:
        of.arrived(seq)
    assert (of.waiting, of.positions) == (4, 46)
    admit(of, 1.0, seqs[0], seqs[3])
    seqs[1].state = CANCELLED
    of.left(seqs[1], 1.0)
    assert (of.waiting, of.positions) == (1, 12)


def test_the_pace_is_that_of_rounds_after_which_somebody_waited() -> None:
    """500 positions every 50 s, by whatever they are held up: a tenth of a second each, and not 0.011."""
    of = drain()
    first, *others = [sequence(row, 500) for row in range(41)]
    of.arrived(first)
    admit(of, 0.0, first)  # nobody waits after it
    for seq in others:
        of.arrived(seq)
    for round_, seq in enumerate(others):
        admit(of, 1000.0 + 50.0 * round_, seq)
    modelled = (0.1 + 0.01 * 90) / 90
    weight = sum((63 / 64) ** age for age in range(39))
    seen = (100 * modelled + 50.0 * weight) / (100 + 500 * weight)
    assert of.pace() == pytest.approx(seen)
    assert abs(of.pace() - 0.1) < 0.001


def test_a_round_may_admit_several() -> None:
    of = drain()
    seqs = [sequence(row, 100) for row in range(6)]
    for seq in seqs:
        of.arrived(seq)
    admit(of, 0.0, seqs[0])
    admit(of, 6.0, *seqs[1:5])
    modelled = (0.1 + 0.01 * 90) / 90
    assert of.pace() == pytest.approx((100 * modelled + 6.0) / (100 + 400))


def test_time_in_which_nobody_waited_does_not_count() -> None:
    """Whoever waited last gave up, and the next request came long after."""
    of = drain()
    first, gone, late = (sequence(row, 100) for row in range(3))
    of.arrived(first)
    of.arrived(gone)
    admit(of, 0.0, first)
    gone.state = CANCELLED
    of.left(gone, 1.0)
    of.arrived(late)
    admit(of, 1000.0, late)
    assert of.pace() == pytest.approx((0.1 + 0.01 * 90) / 90)
