"""Ageing: which predicted-long requests have waited long enough?"""

from __future__ import annotations

import math
from collections import deque

from headway.core.errors import InvalidSpec
from headway.core.quantile import RunningQuantile
from headway.core.sequence import Sequence
from headway.core.spec import choice, number, whole
from headway.policies.order.fcfs import first_waiting
from headway.policies.order.short_first import LONG, ShortFirst

_ROUNDING = 1e-9  # relative; the exact test is made at the next boundary


class AgingOrder(ShortFirst):
    """Predicted short first, with a threshold above which a waiting predicted-long request is aged.

    The threshold is the empirical gamma-quantile of a reference sample of waits; infinite while that is empty.
    Source: Quota-Based Aging, III-A4. Cost: O(log n) an arrival or admission.

    Args:
        gamma: level of the quantile, in (0, 1].
        reference: "history", the waits of requests started so far, of both classes; or "queue", the current waits.
        window: with "history", only the last so many starts count; None for all.
        threshold: see `ShortFirst`.
    """

    def __init__(
        self,
        gamma: float = 0.8,
        reference: str = "history",
        window: int | None = None,
        threshold: float | None = None,
    ) -> None:
        super().__init__(threshold)
        self.gamma = number("gamma", gamma, 0, 1, open_low=True)
        self.by_queue = choice("reference", reference, ("history", "queue")) == "queue"
        self.window = None if window is None else whole("window", window, 1)
        if self.by_queue and window is not None:
            raise InvalidSpec("window goes with reference=history; the queue is its own window")
        self.sample = RunningQuantile(self.gamma)
        self.recent: deque[float] = deque()
        self._limit: float = math.inf  # the history's quantile, in seconds
        self.promoted: int = 0
        self.restless = self.by_queue  # an arrival moves the threshold

    def push(self, seq: Sequence, now: float) -> bool:
        """Join the tail; a waiting request is part of the queue's sample."""
        if self.by_queue:
            # Waits grow at the same pace, so the order statistic of -arrival serves at every later time.
            self.sample.add(-seq.arrival)
        return ShortFirst.push(self, seq, now)  # a third of the time of super()

    def admitted(self, seq: Sequence, now: float) -> None:
        """Its wait is over: it leaves the queue's sample, or joins the history's."""
        if seq.evictions:
            return  # it started long ago
        if self.by_queue:
            self.sample.remove(-seq.arrival)
        else:
            wait = now - seq.arrival
            self.sample.add(wait)
            if self.window is not None:
                self.recent.append(wait)
                if len(self.recent) > self.window:
                    self.sample.remove(self.recent.popleft())
            self._limit = self.sample.value

    def remove(self, seq: Sequence) -> None:
        """A request that left the queue without starting leaves the queue's sample."""
        if self.by_queue and seq.evictions == 0:
            self.sample.remove(-seq.arrival)

    def promotions(self) -> int:
        """Return how many aged requests went first."""
        return self.promoted

    def limit(self, now: float) -> float:
        """Return the wait, in seconds, above which a predicted-long request is aged now."""
        return now + self.sample.value if self.by_queue else self._limit

    def is_aged(self, seq: Sequence, now: float) -> bool:
        """Whether a waiting request has waited longer than the threshold."""
        return now - seq.arrival > (self.limit(now) if self.by_queue else self._limit)

    def steady_until(self, now: float) -> float:
        """The oldest predicted-long request may age."""
        return self.ages_at(first_waiting(self.long_), now)

    def ages_at(self, seq: Sequence | None, now: float) -> float:
        """When, in seconds, does this request age? Infinite if it is aged or will not age without an event.

        In the queue's sample waits grow together, so that time alone ages nobody.
        """
        if seq is None or self.by_queue or self._limit == math.inf or self.is_aged(seq, now):
            return math.inf
        ages = seq.arrival + self._limit
        return ages - _ROUNDING * abs(ages)


class AggressiveAging(AgingOrder):
    """Who is aged, then who is short? Every aged predicted-long request goes before the short ones, oldest first.

    Repairs starvation, and over-corrects under congestion: aged requests take the path that made short ones fast. An
    aged request that memory refuses lets the short head try. Source: Quota-Based Aging, III-A5.
    """

    def candidate(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        """Return the oldest aged request, or the short head, or the long head."""
        oldest = first_waiting(self.long_)
        if oldest is not None and self.is_aged(oldest, now):
            if refused is None:
                return oldest
            if refused is oldest:
                return first_waiting(self.short)
        head = first_waiting(self.short) or oldest
        return None if head is refused else head

    def admitted(self, seq: Sequence, now: float) -> None:
        """Whoever is aged when it starts was promoted; judged before its own wait moves the threshold."""
        if seq.mark == LONG and seq.evictions == 0 and self.is_aged(seq, now):
            self.promoted += 1
        AgingOrder.admitted(self, seq, now)
