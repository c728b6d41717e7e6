"""The theoretical optimum: true lengths."""

from __future__ import annotations

from collections.abc import Sequence as Items

import numpy as np

from headway.core.errors import InvalidSpec
from headway.core.sequence import Sequence
from headway.policies.memory.forecast import PeakRule


class Oracle(PeakRule):
    """Will the batch ever need too much, given how long every answer really is?

    The limit of what any rule can reach; only a simulated host can tell it the lengths. In a prefill-first engine
    with a decode block of 1 it never evicts. Cost: as Past-Future's with one list.
    Source: Past-Future (ASPLOS 2025), the "theoretical optimum".
    """

    def __init__(self) -> None:
        super().__init__(0.0)
        self.lengths: Items[int] = ()  # by request id

    def reveal(self, lengths: Items[int]) -> None:
        """Take the true lengths in tokens, by request id."""
        self.lengths = lengths

    def predict_residents(self, generated: np.ndarray, limit: np.ndarray) -> np.ndarray:
        """Return the true lengths."""
        return np.array([[self._length(seq) for seq in self.table.sequences]], dtype=np.int64).reshape(1, -1)

    def predict_candidate(self, seq: Sequence, lists: int) -> np.ndarray:
        """Return the true length."""
        return np.array([self._length(seq)], dtype=np.int64)

    def _length(self, seq: Sequence) -> int:
        if not len(self.lengths):
            raise InvalidSpec("the oracle needs true output lengths; only a simulation knows them")
        return self.lengths[seq.id]
