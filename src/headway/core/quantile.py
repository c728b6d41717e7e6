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

    __slots__ = ("_below", "_denominator", "_gone", "_high", "_low", "_numerator", "_size_high", "_size_low")

    def __init__(self, level: float) -> None:
        fraction = exact(level)
        self._numerator: int = fraction.numerator
        self._denominator: int = fraction.denominator
        self._low: list[tuple[float, int]] = []  # negated: the largest of the lower part on top
        self._high: list[tuple[float, int]] = []
        self._below: dict[int, bool] = {}  # ticket -> whether it lies in the lower part
        self._gone: set[int] = set()  # removed, and still in a heap; never on top of one
        self._size_low: int = 0
        self._size_high: int = 0

    def __len__(self) -> int:
        return self._size_low + self._size_high

    def value(self) -> float:
        """Return the quantile; infinite while the set is empty."""
        return -self._low[0][0] if self._size_low else math.inf

    def add(self, value: float, ticket: int = -1) -> None:
        """Add a value; with a ticket (>= 0, unique) it can be removed later."""
        low, high = self._low, self._high
        # One part grows by one, and by the rank it is known which: the value goes there, or changes place with the
        # other part's top on its way.
        below = self._rank(self._size_low + self._size_high + 1) > self._size_low
        if below:
            self._size_low += 1
            if self._size_high and value > high[0][0]:
                value, ticket = self._replaced(high, value, ticket, below=False)
            heapq.heappush(low, (-value, ticket))
        else:
            self._size_high += 1
            if self._size_low and value < -low[0][0]:
                negated, ticket = self._replaced(low, -value, ticket, below=True)
                value = -negated
            heapq.heappush(high, (value, ticket))
        if ticket >= 0:
            self._below[ticket] = below
        if self._gone:
            self._clear()

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
        self._clear()
        count = self._size_low + self._size_high
        rank_now = self._rank(count) if count else 0
        if self._size_low < rank_now:
            value, moved = heapq.heappop(self._high)
            heapq.heappush(self._low, (-value, moved))
            self._size_low += 1
            self._size_high -= 1
            self._below[moved] = True
        elif self._size_low > rank_now:
            value, moved = heapq.heappop(self._low)
            heapq.heappush(self._high, (-value, moved))
            self._size_low -= 1
            self._size_high += 1
            self._below[moved] = False
        self._clear()

    def _rank(self, count: int) -> int:
        return -(-self._numerator * count // self._denominator) or 1

    def _replaced(self, heap: list[tuple[float, int]], value: float, ticket: int, *, below: bool) -> tuple[float, int]:
        """Put a value into a heap in place of its top, which is returned."""
        if ticket >= 0:
            self._below[ticket] = below
        return heapq.heapreplace(heap, (value, ticket))

    def _clear(self) -> None:
        """Take removed values off the tops."""
        gone = self._gone
        for heap in (self._low, self._high):
            while heap and heap[0][1] in gone:
                gone.discard(heapq.heappop(heap)[1])
