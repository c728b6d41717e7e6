"""First come, first served."""

from __future__ import annotations

from collections import deque

from headway.core.rules import Order
from headway.core.sequence import WAITING, Sequence


class Fcfs(Order):
    """Who came first? Arrival order; a refused head blocks everybody behind it.

    The baseline: lowest worst-case wait, needs no prediction, and lets a burst of long requests delay every short one
    behind it. Cost: O(1).
    """

    by_arrival = True

    def __init__(self) -> None:
        super().__init__()
        self.queue: deque[Sequence] = deque()

    def push(self, seq: Sequence, now: float) -> bool:
        """Join the tail."""
        self.queue.append(seq)
        return first_waiting(self.queue) is seq

    def candidate(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        """Return the head, unless memory refused it."""
        queue = self.queue
        while queue:
            head = queue[0]
            if head.state == WAITING and head.evictions == 0:
                return None if head is refused else head
            queue.popleft()
        return None


def first_waiting(queue: deque[Sequence]) -> Sequence | None:
    """Return the head of a queue after dropping what was admitted, cancelled or evicted since."""
    while queue:
        head = queue[0]
        if head.state == WAITING and head.evictions == 0:
            return head
        queue.popleft()
    return None
