"""Shortest remaining work, with ageing."""

from __future__ import annotations

from headway.core.rules import Order
from headway.core.sequence import Sequence
from headway.core.spec import number


class ShortestWork(Order):
    """Who needs the fewest positions? Prompt tokens, plus the predicted output where the prediction is a number.

    Lowest mean wait where work is known; the ageing term lets a request that has waited catch up with smaller ones.
    All requests age at one pace, so the rank `work - aging * wait` never changes its order while they wait, and a heap
    keyed once at arrival is exact. Cost: O(log n) an arrival or admission.
    Source: Deadline-Aware Batching and Tenant Fairness, on starvation.

    Args:
        aging: positions that a second of waiting is worth; 0 lets large requests starve.
    """

    def __init__(self, aging: float = 50.0) -> None:
        super().__init__()
        self.aging = number("aging", aging, 0, float("inf"), open_high=True)

    def key(self, seq: Sequence) -> float:
        """Work in positions, plus what later arrivals have to catch up."""
        predicted = seq.request.predicted
        output = 0.0 if predicted is None or isinstance(predicted, str) else predicted
        return seq.prompt + output + self.aging * seq.arrival
