"""Evict who is cheapest to compute again."""

from __future__ import annotations

from headway.core.kv import KvLedger
from headway.core.rules import Eviction
from headway.core.sequence import Sequence


class LeastComputed(Eviction):
    """Who holds the fewest KV tokens? That one gives way, since these are all that has to be computed again.

    It frees the least memory too, so that it may take several victims where another rule takes one. Whoever holds the
    most is never evicted. Ties: the last admitted. Cost: O(residents) an eviction.
    """

    def victim(self, residents: dict[Sequence, None], ledger: KvLedger) -> Sequence:
        """Name the resident with the fewest tokens."""
        clock, block = ledger.clock, ledger.block
        return min(reversed(residents), key=lambda seq: seq.held_at(clock, block))
