"""Admit when the prompt fits under a safe level."""

from __future__ import annotations

from math import floor

from headway.core.kv import KvLedger
from headway.core.quantile import exact
from headway.core.rules import MemoryRule
from headway.core.sequence import Sequence
from headway.core.spec import number


class PromptFit(MemoryRule):
    """Does its prompt fit under the safe level, beside what is held and promised?

    Live tokens, prompts still to be filled and the candidate's own prompt must not exceed `floor(safety * capacity)`.
    What answers will still need is not reserved; the rest of the memory is the cushion for it. Cost: O(1).
    Source: Quota-Based Aging, II-A3.

    Args:
        safety: share of the KV capacity that admission may fill, in (0, 1].
    """

    def __init__(self, safety: float = 0.9) -> None:
        self.safety = exact(number("safety", safety, 0, 1, open_low=True))  # 0.7 of 90 is 63, in floats 62
        self._capacity: int = -1
        self._level: int = -1

    def fits(self, seq: Sequence, ledger: KvLedger) -> bool:
        """Compare what is held, promised and asked for with the safe level."""
        if ledger.capacity != self._capacity:
            self._capacity = ledger.capacity
            self._level = floor(self.safety * ledger.capacity)
        return ledger.reserved(seq.prompt) <= self._level
