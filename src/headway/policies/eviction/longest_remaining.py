"""Evict who would hold its memory longest."""

from __future__ import annotations

from headway.core.kv import KvLedger
from headway.core.rules import Eviction
from headway.core.sequence import Sequence


class LongestRemaining(Eviction):
    """Who is expected to need the most further tokens? That one gives way: it would hold its memory longest.

    Expects the predicted output length where the trace gives a number, and the longest answer allowed where it does
    not, or where the answer has outgrown it. Whoever is expected to end first is never evicted. Ties: the last
    admitted. Cost: O(residents) an eviction.
    """

    def victim(self, residents: dict[Sequence, None], ledger: KvLedger) -> Sequence:
        """Name the resident that is expected to generate the most from now on."""
        clock, block = ledger.clock, ledger.block
        return max(reversed(residents), key=lambda seq: _remaining(seq, seq.generated_at(clock, block)))


def _remaining(seq: Sequence, generated: int) -> float:
    predicted = seq.request.predicted
    if isinstance(predicted, int | float) and predicted > generated:
        return predicted - generated
    return seq.limit - generated
