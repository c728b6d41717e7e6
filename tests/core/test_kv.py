"""KV in blocks: running totals against a sum over every sequence."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.kv import KvLedger, PagedLedger


def test_a_ledger_without_blocks_rounds_nothing() -> None:
    ledger = KvLedger(100, 1)
    ledger.used, ledger.unfilled = 30, 12
    assert ledger.reserved() == 42
    assert ledger.rounded(17) == 17


@pytest.mark.parametrize(("tokens", "rounded"), [(0, 0), (1, 16), (16, 16), (17, 32)])
def test_tokens_take_whole_blocks(tokens: int, rounded: int) -> None:
    assert PagedLedger(160, 1, 16).rounded(tokens) == rounded


def test_two_prompts_of_17_hold_four_blocks_of_16() -> None:
    ledger = PagedLedger(160, 1, 16)
    for _ in range(2):
        ledger.admit(17)
        ledger.unfilled += 17
    assert (ledger.reserved(), ledger.used + ledger.spare) == (64, 0)
    for _ in range(2):
        ledger.fill(0, 17)
        ledger.unfilled -= 17
        ledger.used += 17
        ledger.join(17)
    assert (ledger.reserved(), ledger.spare) == (64, 30)
    assert [ledger.step(2)] == [0]  # the last blocks have room for fifteen tokens more
    ledger.advance(2, 15)
    ledger.clock, ledger.used = 15, 64
    assert ledger.spare == 0
    assert ledger.step(2) == 32  # both cross at once
    assert ledger.unneeded(32, 1) == 16  # one of them has nothing to decode


@dataclass
class Row:
    """One sequence, as plain numbers."""

    prompt: int
    filled: int = 0
    joined: int = -1  # clock; -1 before it decodes

    def held(self, ledger: KvLedger) -> int:
        return self.filled + (0 if self.joined < 0 else (ledger.clock - self.joined) * ledger.block)


def taken(rows: list[Row], ledger: KvLedger, more: int = 0) -> int:
    """Tokens of all blocks, if everybody who decodes had so many tokens more."""
    held = [row.held(ledger) + (more if row.joined >= 0 else 0) for row in rows]
    return sum(math.ceil(tokens / ledger.block_size) * ledger.block_size for tokens in held)


def promised(rows: list[Row], ledger: KvLedger) -> int:
    return sum(math.ceil(max(row.held(ledger), row.prompt) / ledger.block_size) * ledger.block_size for row in rows)


@given(st.integers(1, 9), st.integers(2, 16), st.data())
def test_running_totals_equal_sums_over_all(block: int, block_size: int, data: st.DataObject) -> None:
    ledger = PagedLedger(10**6, block, block_size)
    rows: list[Row] = []
    for _ in range(data.draw(st.integers(1, 25))):
        event = data.draw(st.sampled_from(["admit", "fill", "step", "advance", "leave"]))
        decodes = sum(row.joined >= 0 for row in rows)
        filling = [row for row in rows if row.joined < 0]
        if event == "admit":
            rows.append(Row(data.draw(st.integers(1, 40))))
            ledger.admit(rows[-1].prompt)
            ledger.unfilled += rows[-1].prompt
        elif event == "fill" and filling:
            row = data.draw(st.sampled_from(filling))
            take = data.draw(st.integers(1, row.prompt - row.filled))
            ledger.fill(row.filled, row.filled + take)
            row.filled += take
            ledger.used += take
            ledger.unfilled -= take
            if row.filled == row.prompt:
                row.joined = ledger.clock
                ledger.join(row.filled)
        elif event in ("step", "advance"):
            steps = 1 if event == "step" else data.draw(st.integers(1, 40))
            if steps == 1:
                assert ledger.step(decodes) == taken(rows, ledger, block) - taken(rows, ledger)
            ledger.advance(decodes, steps)
            ledger.clock += steps
            ledger.used += decodes * block * steps
        elif event == "leave" and rows:
            row = rows.pop(data.draw(st.integers(0, len(rows) - 1)))
            held = row.held(ledger)
            missing = 0
            if row.joined < 0:
                ledger.leave(row.prompt, row.filled)
                ledger.unfilled -= row.prompt - row.filled
            else:
                missing = data.draw(st.integers(0, block - 1)) if ledger.clock > row.joined else 0
                before = ledger.rounded(held) - ledger.rounded(held - missing)
                ledger.spare -= before - missing  # as the scheduler books a last block that is not full
                ledger.used -= missing
                ledger.stop(held - missing, missing)
            ledger.used -= held - missing
        assert ledger.used + ledger.spare == taken(rows, ledger)
        assert ledger.reserved() == promised(rows, ledger)
