"""A moving average as the predicted length."""

from __future__ import annotations

import numpy as np

from headway.core.kv import KvLedger
from headway.core.sequence import Sequence
from headway.core.spec import number
from headway.policies.memory.forecast import PeakRule

_MARGIN = 1.1  # a request that outgrows the average is expected to get a tenth longer than it is
_START, _FIRST_WEIGHT, _DECAY, _LAST_WEIGHT, _FLOOR = 2048.0, 0.5, 0.8, 0.04, 64.0


class MovingAverage(PeakRule):
    """Will the batch ever need too much, if every answer is as long as the average?

    Predicts `min(limit, max(1.1 * generated, average))`, the average being exponential over finished lengths: from
    2048, with a weight that falls from 0.5 by a fifth a finish down to 0.04, never under 64. Close to Past-Future
    without drawing anything. Cost: as Past-Future's with one list. Source: LightLLM's release of 2026.

    Args:
        reserve: share of the capacity that is kept free, in [0, 1).
    """

    def __init__(self, reserve: float = 0.05) -> None:
        super().__init__(number("reserve", reserve, 0, 1, open_high=True))
        self.average: float = _START
        self._weight: float = _FIRST_WEIGHT

    def finished(self, seq: Sequence, ledger: KvLedger) -> None:
        """Move the average."""
        self.average = max(_FLOOR, self.average + self._weight * (seq.generated - self.average))
        self._weight = max(_LAST_WEIGHT, self._weight * _DECAY)

    def predict_residents(self, generated: np.ndarray, limit: np.ndarray) -> np.ndarray:
        """Expect the average, or a little more than there is."""
        expected = np.minimum(limit, np.maximum(_MARGIN * generated, self.average)).astype(np.int64)
        return np.maximum(expected, generated + 1)[np.newaxis]

    def predict_candidate(self, seq: Sequence, lists: int) -> np.ndarray:
        """Expect the average, or a little more than there is."""
        return self.predict_residents(np.array([seq.generated]), np.array([seq.limit]))[0]
