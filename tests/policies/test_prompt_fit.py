"""prompt-fit: held, promised and asked for, against the safe level."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.kv import KvLedger
from headway.core.request import Request
from headway.core.sequence import Sequence
from headway.policies.memory.prompt_fit import PromptFit


def fits(safety: float, capacity: int, used: int, unfilled: int, prompt: int) -> bool:
    ledger = KvLedger(capacity, 1)
    ledger.used = used
    ledger.unfilled = unfilled
    return PromptFit(safety).fits(Sequence(Request(0, 0.0, prompt), 0), ledger)


@given(
    st.sampled_from(["1", "0.9", "0.7", "0.57", "0.001"]),
    st.integers(1, 20_000),
    st.integers(0, 20_000),
    st.integers(0, 5000),
)
def test_the_safe_level_is_the_floor_of_the_share_as_it_is_written(
    safety: str, capacity: int, used: int, unfilled: int
) -> None:
    room = int(Fraction(safety) * capacity) - used - unfilled
    for prompt in (room, room + 1, 1):
        if prompt >= 1:
            assert fits(float(safety), capacity, used, unfilled, prompt) == (prompt <= room)


@pytest.mark.parametrize(("prompt", "expected"), [(5734 - 100, True), (5735 - 100, False)])
def test_the_level_of_the_paper_is_5734_tokens(prompt: int, expected: bool) -> None:
    assert fits(0.7, 8192, 60, 40, prompt) == expected


def test_an_evicted_request_asks_for_what_it_must_fill_again() -> None:
    seq = Sequence(Request(0, 0.0, 10), 0)
    seq.prompt = 25
    ledger = KvLedger(24, 1)
    assert not PromptFit(1).fits(seq, ledger)
