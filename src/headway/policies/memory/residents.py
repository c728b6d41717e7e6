"""Residents as parallel arrays, so that a round over all of them is a few vector operations."""

from __future__ import annotations

import numpy as np

from headway.core.sequence import Sequence

_FIRST_ROOM = 64
_COLUMNS = ("_base", "_generated", "_ids", "_limit", "_rate", "_since")


class ResidentTable:
    """What every resident holds and has generated, at any clock, without touching it in between.

    A slot a resident, in no order; the last one moves into a slot that becomes free. Arrays are int64 [residents].
    """

    __slots__ = (*_COLUMNS, "_slots", "count", "sequences")

    def __init__(self) -> None:
        self.count: int = 0
        self.sequences: list[Sequence] = []
        self._slots: dict[Sequence, int] = {}
        self._ids = np.zeros(_FIRST_ROOM, dtype=np.int64)
        self._base = np.zeros(_FIRST_ROOM, dtype=np.int64)  # KV tokens at `since`, promised ones included
        self._generated = np.zeros(_FIRST_ROOM, dtype=np.int64)
        self._since = np.zeros(_FIRST_ROOM, dtype=np.int64)
        self._rate = np.zeros(_FIRST_ROOM, dtype=np.int64)  # tokens an iteration: 0 until it decodes
        self._limit = np.zeros(_FIRST_ROOM, dtype=np.int64)

    def add(self, seq: Sequence) -> None:
        """A sequence was admitted and will fill its prompt."""
        slot = self.count
        if slot == self._base.size:
            for name in _COLUMNS:
                setattr(self, name, np.concatenate((getattr(self, name), np.zeros(slot, dtype=np.int64))))
        self._slots[seq] = slot
        self.sequences.append(seq)
        self._ids[slot] = seq.id
        self._base[slot] = seq.prompt
        self._generated[slot] = seq.generated
        self._rate[slot] = 0
        self._limit[slot] = seq.limit
        self.count = slot + 1

    def decode(self, seq: Sequence, clock: int, block: int) -> None:
        """It decodes from `clock` on, `block` tokens an iteration."""
        slot = self._slots[seq]
        self._generated[slot] = seq.generated
        self._since[slot] = clock
        self._rate[slot] = block

    def remove(self, seq: Sequence) -> None:
        """It holds nothing any more."""
        slot = self._slots.pop(seq)
        last = self.count = self.count - 1
        moved = self.sequences.pop()
        if slot != last:
            self.sequences[slot] = moved
            self._slots[moved] = slot
            for name in _COLUMNS:
                column = getattr(self, name)
                column[slot] = column[last]

    def ids(self) -> np.ndarray:
        """Return their requests' ids."""
        return self._ids[: self.count]

    def grown(self, clock: int) -> np.ndarray:
        """Return the tokens that each has decoded since it joined."""
        return self._rate[: self.count] * (clock - self._since[: self.count])

    def base(self) -> np.ndarray:
        """Return the KV tokens that each held when it joined, or will hold."""
        return self._base[: self.count]

    def generated(self) -> np.ndarray:
        """Return the tokens that each had generated when it joined."""
        return self._generated[: self.count]

    def filling(self) -> np.ndarray:
        """Return which of them do not decode yet."""
        return self._rate[: self.count] == 0

    def limit(self) -> np.ndarray:
        """Return the most tokens that each may generate."""
        return self._limit[: self.count]
