"""An own order, as a user would name it by its import path."""

from __future__ import annotations

from headway import Order, Sequence


class Backwards(Order):
    """Who came last goes first."""

    def key(self, seq: Sequence) -> float:
        return -seq.request.arrival


class Broken(Order):
    """Raises."""

    def key(self, seq: Sequence) -> float:
        return seq.request.arrival / 0
