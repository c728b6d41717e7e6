"""Who holds how many KV tokens, as running totals."""

from __future__ import annotations


class KvLedger:
    """KV memory of one engine, in tokens. The scheduler books, memory rules read.

    Attributes:
        capacity: tokens that fit.
        used: live tokens, growth of the planned iteration included.
        unfilled: prompt positions that admitted sequences have yet to fill; they are promised, not yet used.
        residents: sequences that hold or were promised KV.
        clock: decode iterations run so far.
        block: tokens that a decoding sequence gains in each.
    """

    __slots__ = ("block", "capacity", "clock", "residents", "unfilled", "used")

    def __init__(self, capacity: int, block: int) -> None:
        self.capacity: int = capacity
        self.block: int = block
        self.used: int = 0
        self.unfilled: int = 0
        self.residents: int = 0
        self.clock: int = 0
