"""Quota-Based Aging: bounded promotion of aged requests."""

from __future__ import annotations

import math
from collections.abc import Iterator

from headway.core.sequence import WAITING, Sequence
from headway.core.spec import choice, whole
from headway.policies.order.aging import AgingOrder
from headway.policies.order.fcfs import first_waiting
from headway.policies.order.short_first import LONG


class QuotaAging(AgingOrder):
    """Is a promotion due, and who is aged? Otherwise, who is short?

    Every k-th predicted-short request whose prefill completes earns one promotion debt. While the debt stands, the
    oldest predicted-long request goes first as soon as it is aged; its admission clears debt and count. Debts do not
    pile up, which is what keeps promotions from crowding out short requests. With a finite k no aged request waits for
    ever. Source: Quota-Based Aging, III-A6.

    Choosing k: short and long requests arrive in some ratio r. With k below r, promotions can serve longs as fast as
    they arrive and the order behaves like aggressive ageing; above it, it drifts towards predicted short first.

    Args:
        k: short prefills that earn a promotion.
        gamma: see `AgingOrder`.
        reference: see `AgingOrder`.
        window: see `AgingOrder`.
        refused: what happens when memory refuses a promotion. "fall-through": the short head tries, the debt stays;
            "stop": nobody is admitted in this iteration; "oldest-that-fits": the next aged request tries, then the
            short head.
        threshold: see `ShortFirst`.
    """

    def __init__(
        self,
        k: int = 5,
        gamma: float = 0.8,
        reference: str = "history",
        window: int | None = None,
        refused: str = "fall-through",
        threshold: float | None = None,
    ) -> None:
        super().__init__(gamma, reference, window, threshold)
        self.k = whole("k", k, 1)
        self.when_refused = choice("refused", refused, ("fall-through", "stop", "oldest-that-fits"))
        # Where all aged requests were refused, any other may be the next one to age.
        self.restless = self.restless or self.when_refused == "oldest-that-fits"
        self.count: int = 0
        self.debt: bool = False
        self._promoting: Sequence | None = None
        self._behind: Iterator[Sequence] | None = None  # where "oldest-that-fits" looks next
        self._unaged: Sequence | None = None  # the first request in line that it found not aged

    def candidate(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        """Return the promotion that is due, or the short head, or the long head."""
        if refused is None:
            self._promoting = self._behind = self._unaged = None
            if self.debt:
                oldest = first_waiting(self.long_)
                if oldest is not None and self.is_aged(oldest, now):
                    self._promoting = oldest
                    return oldest
        elif refused is self._promoting:
            if self.when_refused == "stop":
                return None
            if self.when_refused == "oldest-that-fits":
                self._promoting = self._next_aged(refused, now)
                if self._promoting is not None:
                    return self._promoting
            return first_waiting(self.short)  # the oldest long request was tried already
        short = self.short
        head = short[0] if short else None
        if head is None or head.state != WAITING or head.evictions:
            head = first_waiting(short) or first_waiting(self.long_)
        return None if head is refused else head

    def admitted(self, seq: Sequence, now: float) -> None:
        """A promotion clears debt and count; an ordinary admission leaves them alone."""
        AgingOrder.admitted(self, seq, now)
        if self.debt and seq is self._promoting:
            self.count = 0
            self.debt = False
            self.promoted += 1
        self._promoting = None

    def prefilled(self, seq: Sequence, now: float) -> None:
        """A predicted-short prefill that completes counts, once; the k-th earns the debt."""
        if not self.debt and seq.mark != LONG and seq.evictions == 0:
            self.count += 1
            self.debt = self.count >= self.k

    def steady_until(self, now: float) -> float:
        """Ageing matters only while a debt stands, and then to the first request that is not aged yet."""
        if not self.debt:
            return math.inf
        return self.ages_at(self._unaged, now) if self._unaged is not None else super().steady_until(now)

    def _next_aged(self, refused: Sequence, now: float) -> Sequence | None:
        """Return the oldest aged request behind the one that was refused."""
        if self._behind is None:
            self._behind = iter(self.long_)
        for seq in self._behind:
            if seq.ticket > refused.ticket and seq.state == WAITING and seq.evictions == 0:
                if self.is_aged(seq, now):
                    return seq
                self._unaged = seq
                return None
        return None
