"""The theoretical optimum: true lengths."""

from __future__ import annotations

from collections.abc import Sequence as Items

import numpy as np

from headway.core.errors import InvalidSpec
from headway.core.sequence import Sequence
from headway.policies.memory.forecast import PeakRule


class Oracle(PeakRule):
    """Will the batch ever need too much, given how long every answer really is?

    The limit of what any rule can reach without evictions; only a simulated host can tell it the lengths. It never
    evicts: what rounding and the filling of prompts may add is counted. Cost: as Past-Future's with one list.
    Source: Past-Future (ASPLOS 2025), the "theoretical optimum".
    """

    def __init__(self) -> None:
        super().__init__(0.0)
        self._lengths = np.zeros(0, dtype=np.int64)  # by request id

    def reveal(self, lengths: Items[int]) -> None:
        """Take the true lengths in tokens, by request id."""
        self._lengths = np.array(lengths, dtype=np.int64)

    def predict_residents(self, generated: np.ndarray, limit: np.ndarray) -> np.ndarray:
        """Return the true lengths."""
        return self._known(self.table.ids())[np.newaxis]

    def predict_candidate(self, seq: Sequence, lists: int) -> np.ndarray:
        """Return the true length."""
        return self._known(np.array([seq.id]))

    def _known(self, ids: np.ndarray) -> np.ndarray:
        if not self._lengths.size:
            raise InvalidSpec("the oracle needs true output lengths; only a simulation knows them")
        return self._lengths[ids]
