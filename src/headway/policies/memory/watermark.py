"""Admit on the prompt alone, up to a watermark."""

from __future__ import annotations

from headway.core.kv import KvLedger
from headway.core.rules import MemoryRule
from headway.core.sequence import Sequence
from headway.core.spec import choice, number


class Watermark(MemoryRule):
    """Does its prompt fit under the watermark, beside what is held and promised now?

    The aggressive rule of most engines: the memory is always full, and answers that outgrow it throw others out.
    Cost: O(1). Source: Past-Future (ASPLOS 2025), the aggressive baseline.

    Args:
        level: share of the capacity that may be filled by admissions, in (0, 1].
        charge: what a request that returns from eviction is charged: what it really brings back ("held"), or its
            prompt alone ("prompt"), as in the authors' public simulation.
    """

    def __init__(self, level: float = 0.95, charge: str = "held") -> None:
        self.level = number("level", level, 0, 1, open_low=True)
        self.prompt_only = choice("charge", charge, ("held", "prompt")) == "prompt"

    def fits(self, seq: Sequence, ledger: KvLedger) -> bool:
        """Compare what is held, promised and asked for with the watermark."""
        asked = seq.request.prompt_tokens if self.prompt_only else seq.prompt
        return ledger.reserved(asked) <= ledger.capacity * self.level
