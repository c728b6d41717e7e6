"""Who waits, by the latest time at which they may start, and how much work is ahead of any such time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable

from headway.core.sequence import Sequence

_BUCKET = 128  # requests: half of what a bucket holds at the most

Place = tuple[float, int]  # latest start in seconds, ticket


class Line:
    """Waiting requests in order of their latest start, ties by arrival.

    Sorted buckets: a request that comes or goes, and the work ahead of any time, cost a few microseconds with 100,000
    in line.

    Attributes:
        places: where each request stands.
    """

    def __init__(self) -> None:
        self.places: dict[Sequence, Place] = {}
        self._buckets: list[list[tuple[float, int, Sequence]]] = []
        self._lasts: list[Place] = []  # of each bucket
        self._positions: list[int] = []  # prompt positions of each bucket

    def add(self, seq: Sequence, start: float) -> None:
        """Take in a request that may start at `start` at the latest."""
        place = self.places[seq] = (start, seq.ticket)
        entry = (start, seq.ticket, seq)
        if not self._buckets:
            self._buckets, self._lasts, self._positions = [[entry]], [place], [seq.prompt]
            return
        index = min(bisect_left(self._lasts, place), len(self._lasts) - 1)
        bucket = self._buckets[index]
        bucket.insert(bisect_left(bucket, place), entry)
        self._positions[index] += seq.prompt
        if self._lasts[index] < place:
            self._lasts[index] = place
        if len(bucket) > 2 * _BUCKET:
            self._split(index)

    def remove(self, seq: Sequence) -> None:
        """Drop a request that is in line."""
        place = self.places.pop(seq)
        index = bisect_left(self._lasts, place)
        bucket = self._buckets[index]
        del bucket[bisect_left(bucket, place)]
        if not bucket:
            del self._buckets[index], self._lasts[index], self._positions[index]
            return
        self._positions[index] -= seq.prompt
        self._lasts[index] = bucket[-1][:2]

    def ahead(self, start: float) -> int:
        """Return the prompt positions of all whose latest start is not after `start`."""
        place = (start, 1 << 62)
        index = bisect_left(self._lasts, place)
        positions = sum(self._positions[:index])
        if index < len(self._buckets):
            bucket = self._buckets[index]
            positions += sum(entry[2].prompt for entry in bucket[: bisect_right(bucket, place)])
        return positions

    @property
    def first(self) -> tuple[float, int, Sequence] | None:
        """Whose latest start comes first, with that time; None where nobody is in line."""
        return self._buckets[0][0] if self._buckets else None

    def sort(self, start: Callable[[Sequence], float]) -> None:
        """Put everybody where they belong, after latest starts have changed."""
        entries = sorted((start(seq), seq.ticket, seq) for seq in self.places)
        self.places = {seq: (time, ticket) for time, ticket, seq in entries}
        self._buckets = [entries[at : at + _BUCKET] for at in range(0, len(entries), _BUCKET)]
        self._lasts = [bucket[-1][:2] for bucket in self._buckets]
        self._positions = [sum(entry[2].prompt for entry in bucket) for bucket in self._buckets]

    def _split(self, index: int) -> None:
        bucket = self._buckets[index]
        left, right = bucket[:_BUCKET], bucket[_BUCKET:]
        self._buckets[index : index + 1] = [left, right]
        self._lasts[index : index + 1] = [left[-1][:2], right[-1][:2]]
        moved = sum(entry[2].prompt for entry in right)
        self._positions[index : index + 1] = [self._positions[index] - moved, moved]
