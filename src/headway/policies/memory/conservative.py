"""Reserve the most that everybody may generate."""

from __future__ import annotations

from headway.core.kv import KvLedger
from headway.core.rules import MemoryRule
from headway.core.sequence import Sequence
from headway.core.spec import number


class Conservative(MemoryRule):
    """Is there room for everybody's prompt and the longest answer each may give?

    Never evicts at an overcommit of 1 when the limits hold, and leaves a third of the memory idle, since answers are
    rarely that long. Cost: O(1). Source: Past-Future (ASPLOS 2025), the conservative baseline.

    Args:
        overcommit: how many times the capacity is promised, in [1, 10].
    """

    def __init__(self, overcommit: float = 1.0) -> None:
        self.overcommit = number("overcommit", overcommit, 1, 10)
        self._promised: int = 0

    def fits(self, seq: Sequence, ledger: KvLedger) -> bool:
        """Compare the sum of all promises with the capacity."""
        return self._promised + _promise(seq, ledger) <= ledger.capacity * self.overcommit

    def admitted(self, seq: Sequence, ledger: KvLedger) -> None:
        """Promise it its longest answer."""
        self._promised += _promise(seq, ledger)

    def left(self, seq: Sequence, ledger: KvLedger) -> None:
        """Take the promise back."""
        self._promised -= _promise(seq, ledger)


def _promise(seq: Sequence, ledger: KvLedger) -> int:
    return ledger.rounded(seq.request.prompt_tokens + seq.limit)
