"""What prompts are owed, against fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.cost import Piecewise
from headway.core.engine import EngineProfile
from headway.core.prefill_share import SHARE_WINDOW, PrefillShare
from headway.core.request import Request
from headway.core.rules import Eviction, Shedding
from headway.core.scheduler import Scheduler
from headway.policies.memory.prompt_fit import PromptFit
from headway.policies.order.fcfs import Fcfs


def test_a_quarter_is_one_iteration_in_four() -> None:
    share = PrefillShare(Fraction(1, 4), 100)
    due = []
    for _ in range(12):
        due.append(share.is_due)
        share.owe(1, 100 if share.is_due else 0)
    assert [iteration for iteration, now in enumerate(due) if now] == [4, 8]


def test_who_gets_its_share_anyway_is_owed_nothing() -> None:
    share = PrefillShare(Fraction(1, 4), 100)
    share.owe(1000, 25)
    assert not share.is_due
    assert share.due_in(25) > 10**9
    assert share.due_in(0) == 4


@given(
    st.fractions(Fraction(1, SHARE_WINDOW), Fraction(99, 100), max_denominator=1000),
    st.integers(1, 500),
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 500)), max_size=20),
)
def test_many_at_once_equal_one_by_one_and_fractions(
    share: Fraction, budget: int, spans: list[tuple[int, int]]
) -> None:
    at_once, one_by_one, owed = PrefillShare(share, budget), PrefillShare(share, budget), Fraction(0)
    for steps, wanted in spans:
        positions = min(wanted, budget)
        due_in = at_once.due_in(positions)
        for step in range(steps):
            assert one_by_one.is_due == (owed >= 1)
            if step <= due_in:
                assert one_by_one.is_due == (step == due_in)
            one_by_one.owe(1, positions)
            owed = min(max(owed + share - Fraction(positions, budget), Fraction(0)), share * SHARE_WINDOW)
        at_once.owe(steps, positions)
        assert at_once.is_due == one_by_one.is_due == (owed >= 1)
        assert at_once.due_in(0) == one_by_one.due_in(0)


def test_a_prompt_beside_decodes_gets_its_share() -> None:
    """Ten decodes of 8 positions leave 20 of 100 positions; a share of a half makes it 50 on average."""
    engine = EngineProfile("x", 100, 11, 10**6, Piecewise(1.0, 0.0), decode_block=8)
    scheduler = Scheduler(engine, Fcfs(), PromptFit(1), Shedding(), Eviction(), Fraction(1, 2))
    for row in range(10):
        scheduler.submit(Request(row, 0.0, 1), 0.0)
    scheduler.complete(scheduler.plan(0.0), 1.0)
    scheduler.submit(Request(10, 1.0, 10_000), 1.0)
    prompts, paused = 0, 0
    for now in range(1, 101):
        batch = scheduler.plan(float(now))
        assert batch.decodes in (0, 10)
        prompts += batch.prefill_positions
        paused += batch.decodes == 0
        scheduler.complete(batch, now + 1.0)
    assert 4850 <= prompts <= 5050  # it is owed the first iteration only after four
    assert 35 <= paused <= 40  # 100 p + 20 (1 - p) = 50 at p = 3/8


@pytest.mark.parametrize(("decodes", "pauses"), [(1, range(1)), (8, range(1)), (10, range(10, 51))])
def test_a_capped_prompt_makes_decodes_pause_only_where_that_helps_it(decodes: int, pauses: range) -> None:
    """It may take 20 of 100 positions: beside up to eight decodes of 9 it gets them without any pause, beside ten half.

    And where decodes pause, they do so for an iteration at a time, though the prompt never gets its share of a half.
    """
    engine = EngineProfile("x", 100, 20, 10**6, Piecewise(1.0, 0.0), decode_block=9, chunk_cap=20)
    scheduler = Scheduler(engine, Fcfs(), PromptFit(1), Shedding(), Eviction(), Fraction(1, 2))
    for row in range(decodes):
        scheduler.submit(Request(row, 0.0, 1), 0.0)
    scheduler.complete(scheduler.plan(0.0), 1.0)
    scheduler.submit(Request(decodes, 1.0, 10_000), 1.0)
    decoded: list[bool] = []
    for now in range(1, 101):
        batch = scheduler.plan(float(now))
        decoded.append(batch.decodes > 0)
        scheduler.complete(batch, now + 1.0)
    assert decoded.count(False) in pauses
    assert all(one or other for one, other in pairwise(decoded))
