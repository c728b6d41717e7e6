"""Order statistics: one definition of a quantile for the whole project, and a running one."""

from __future__ import annotations

import math
from fractions import Fraction
from heapq import heappop, heappush, heapreplace


def rank(level: Fraction, count: int) -> int:
    """Which of `count` ascending values, counted from 1, is the quantile: the ceil(level * count)-th, at least 1."""
    return max(1, -(-level.numerator * count // level.denominator))


def exact(level: float) -> Fraction:
    """Read a level as the decimal that it is written as, so that 0.07 of 100 is 7 and not, by rounding, 8."""
    return Fraction(str(level))


class RunningQuantile:
    """The ceil(level * n)-th smallest of a changing set of numbers, in O(log n) a change.

    Two heaps of plain numbers meet at the quantile. A removed value is noted and taken off once it is on top.

    Attributes:
        value: the quantile; infinite while the set is empty.
    """

    __slots__ = (
        "_denominator",
        "_gone_high",
        "_gone_low",
        "_high",
        "_low",
        "_numerator",
        "_size_high",
        "_size_low",
        "value",
    )

    def __init__(self, level: float) -> None:
        fraction = exact(level)
        self._numerator: int = fraction.numerator
        self._denominator: int = fraction.denominator
        self._low: list[float] = []  # negated: the largest of the lower part on top
        self._high: list[float] = []
        self._gone_low: dict[float, int] = {}  # removed and still in the heap, never on top: how often
        self._gone_high: dict[float, int] = {}
        self._size_low: int = 0
        self._size_high: int = 0
        self.value: float = math.inf

    def __len__(self) -> int:
        return self._size_low + self._size_high

    def add(self, value: float) -> None:
        """Add a value."""
        low, high = self._low, self._high
        # One part grows by one, and by the rank it is known which: the value goes there, or changes place with the
        # other part's top on its way.
        size = self._size_low
        if -(-self._numerator * (size + self._size_high + 1) // self._denominator) > size:
            self._size_low = size + 1
            if self._size_high and value > high[0]:
                value = heapreplace(high, value)
            heappush(low, -value)
        else:
            self._size_high += 1
            if value < -low[0]:
                value = -heapreplace(low, -value)
            heappush(high, value)
        if self._gone_low or self._gone_high:
            self._clear()
        self.value = -low[0]

    def remove(self, value: float) -> None:
        """Remove a value that is in the set, once."""
        if value <= -self._low[0]:  # equal values are alike: one of them is on top of the lower part
            self._size_low -= 1
            self._gone_low[-value] = self._gone_low.get(-value, 0) + 1
        else:
            self._size_high -= 1
            self._gone_high[value] = self._gone_high.get(value, 0) + 1
        self._clear()
        count = self._size_low + self._size_high
        wanted = -(-self._numerator * count // self._denominator)
        if self._size_low < wanted:
            heappush(self._low, -heappop(self._high))
            self._size_low += 1
            self._size_high -= 1
        elif self._size_low > wanted:
            heappush(self._high, -heappop(self._low))
            self._size_low -= 1
            self._size_high += 1
        self._clear()
        self.value = -self._low[0] if count else math.inf

    def _clear(self) -> None:
        """Take removed values off the tops."""
        for heap, gone in ((self._low, self._gone_low), (self._high, self._gone_high)):
            while heap and heap[0] in gone:
                top = heappop(heap)
                if gone[top] == 1:
                    del gone[top]
                else:
                    gone[top] -= 1
