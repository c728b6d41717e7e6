"""Order statistics: one definition of a quantile for the whole project, and a running one."""

from __future__ import annotations

import heapq
import math
from fractions import Fraction


def rank(level: Fraction, count: int) -> int:
    """Which of `count` ascending values, counted from 1, is the quantile: the ceil(level * count)-th, at least 1."""
    return max(1, -(-level.numerator * count // level.denominator))


def exact(level: float) -> Fraction:
    """Read a level as the decimal that it is written as, so that 0.07 of 100 is 7 and not, by rounding, 8."""
    return Fraction(str(level))


class RunningQuantile:
    """The ceil(level * n)-th smallest of a changing set of numbers, in O(log n) a change.

    Two heaps meet at the quantile. Values that may be removed are added with a ticket; removal is lazy.
    """

    __slots__ = ("_below", "_gone", "_high", "_low", "_size_high", "_size_low", "level")

    def __init__(self, level: float) -> None:
        self.level: Fraction = exact(level)
        self._low: list[tuple[float, int]] = []  # negated: the largest of the lower part on top
        self._high: list[tuple[float, int]] = []
        self._below: dict[int, bool] = {}  # ticket -> whether it lies in the lower part
        self._gone: set[int] = set()
        self._size_low: int = 0
        self._size_high: int = 0

    def __len__(self) -> int:
        return self._size_low + self._size_high

    def add(self, value: float, ticket: int = -1) -> None:
        """Add a value; with a ticket (>= 0, unique) it can be removed later."""
        below = self._size_low > 0 and value <= -self._low[0][0]
        if below:
            heapq.heappush(self._low, (-value, ticket))
            self._size_low += 1
        else:
            heapq.heappush(self._high, (value, ticket))
            self._size_high += 1
        if ticket >= 0:
            self._below[ticket] = below
        self._balance()

    def remove(self, ticket: int) -> None:
        """Remove the value that was added with this ticket; unknown tickets are ignored."""
        below = self._below.pop(ticket, None)
        if below is None:
            return
        self._gone.add(ticket)
        if below:
            self._size_low -= 1
        else:
            self._size_high -= 1
        self._balance()

    def value(self) -> float:
        """Return the quantile; infinite while the set is empty."""
        return -self._low[0][0] if self._size_low else math.inf

    def _balance(self) -> None:
        """Move values across until the lower part holds exactly the rank, then clear the tops of removed values."""
        count = self._size_low + self._size_high
        target = rank(self.level, count) if count else 0
        while self._size_low < target:
            self._clear(self._high)
            value, ticket = heapq.heappop(self._high)
            heapq.heappush(self._low, (-value, ticket))
            self._moved(ticket, below=True)
        while self._size_low > target:
            self._clear(self._low)
            value, ticket = heapq.heappop(self._low)
            heapq.heappush(self._high, (-value, ticket))
            self._moved(ticket, below=False)
        if self._gone:
            self._clear(self._low)
            self._clear(self._high)

    def _moved(self, ticket: int, *, below: bool) -> None:
        step = 1 if below else -1
        self._size_low += step
        self._size_high -= step
        if ticket >= 0:
            self._below[ticket] = below

    def _clear(self, heap: list[tuple[float, int]]) -> None:
        gone = self._gone
        while heap and heap[0][1] in gone:
            gone.discard(heapq.heappop(heap)[1])
