"""Predicted short first."""

from __future__ import annotations

from collections import deque

from headway.core.errors import InvalidSpec
from headway.core.rules import Order
from headway.core.sequence import WAITING, Sequence
from headway.core.spec import number
from headway.policies.order.fcfs import first_waiting

LONG = 1  # mark of a predicted-long request; others have none


class ShortFirst(Order):
    """Who is predicted to be short? The oldest of them; a predicted-long request only when no short one waits.

    Lowest mean wait, unbounded tail for long requests. A request without a prediction counts as short. Cost: O(1).
    Source: Quota-Based Aging, III-A.

    Args:
        threshold: output tokens; where predictions are numbers, those above it count as long.
    """

    def __init__(self, threshold: float | None = None) -> None:
        super().__init__()
        self.threshold = None if threshold is None else number("threshold", threshold, 0, float("inf"))
        self.restless: bool = False  # any arrival may change the next candidate
        self.short: deque[Sequence] = deque()
        self.long_: deque[Sequence] = deque()  # the bare word is a type in C

    def push(self, seq: Sequence, now: float) -> bool:
        """Join the tail of the predicted class."""
        queue = self.short
        if seq.request.predicted != "short" and self.is_long(seq):
            seq.mark = LONG
            queue = self.long_
        queue.append(seq)
        head = queue[0]
        if self.restless or head is seq:
            return True
        return not (head.state == WAITING and head.evictions == 0) and first_waiting(queue) is seq

    def candidate(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        """Return the short head, or the long head when no short one waits, unless memory refused it."""
        head = first_waiting(self.short) or first_waiting(self.long_)
        return None if head is refused else head

    def is_long(self, seq: Sequence) -> bool:
        """Whether the request is predicted long.

        Raises:
            InvalidSpec: the prediction is a number and the order has no threshold.
        """
        predicted = seq.request.predicted
        if predicted is None or isinstance(predicted, str):
            return predicted == "long"
        if self.threshold is None:
            raise InvalidSpec(
                f"request {seq.id} has a predicted length of {predicted:g} tokens, this order needs 'short' or "
                "'long'; give threshold=TOKENS, as in psf(threshold=400)"
            )
        return predicted > self.threshold
