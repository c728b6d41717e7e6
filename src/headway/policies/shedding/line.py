"""Who waits, by the latest time at which they may start, and how much work is ahead of any such time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from headway.core.sequence import Sequence

_BUCKET = 128  # requests: a bucket with twice as many is cut in half

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
        # For each bucket: who is in it, their prompt positions, the sum of these, and its last place.
        self._buckets: list[list[tuple[float, int, Sequence]]] = []
        self._prompts: list[list[int]] = []
        self._sums: list[int] = []
        self._lasts: list[Place] = []

    def add(self, seq: Sequence, start: float) -> None:
        """Take in a request that may start at `start` at the latest."""
        place = self.places[seq] = (start, seq.ticket)
        entry = (start, seq.ticket, seq)
        if not self._buckets:
            self._buckets, self._prompts, self._sums, self._lasts = [[entry]], [[seq.prompt]], [seq.prompt], [place]
            return
        index = min(bisect_left(self._lasts, place), len(self._lasts) - 1)
        bucket = self._buckets[index]
        at = bisect_left(bucket, place)
        bucket.insert(at, entry)
        self._prompts[index].insert(at, seq.prompt)
        self._sums[index] += seq.prompt
        if self._lasts[index] < place:
            self._lasts[index] = place
        if len(bucket) >= 2 * _BUCKET:
            self._cut(index, index + 1, bucket)

    def remove(self, seq: Sequence) -> None:
        """Drop a request that is in line."""
        place = self.places.pop(seq)
        index = bisect_left(self._lasts, place)
        bucket = self._buckets[index]
        at = bisect_left(bucket, place)
        del bucket[at], self._prompts[index][at]
        if not bucket:
            del self._buckets[index], self._prompts[index], self._sums[index], self._lasts[index]
            return
        self._sums[index] -= seq.prompt
        self._lasts[index] = bucket[-1][:2]

    def ahead(self, start: float) -> int:
        """Return the prompt positions of all whose latest start is not after `start`."""
        place = (start, 1 << 62)
        index = bisect_left(self._lasts, place)
        positions = sum(self._sums[:index])
        if index < len(self._buckets):
            positions += sum(self._prompts[index][: bisect_left(self._buckets[index], place)])
        return positions

    @property
    def first(self) -> tuple[float, int, Sequence] | None:
        """Whose latest start comes first, with that time; None where nobody is in line."""
        return self._buckets[0][0] if self._buckets else None

    def sort(self, start: Callable[[Sequence], float]) -> None:
        """Put everybody where they belong, after latest starts have changed."""
        entries = sorted((start(seq), seq.ticket, seq) for seq in self.places)
        self.places = {seq: (time, ticket) for time, ticket, seq in entries}
        self._cut(0, len(self._buckets), entries)

    def _cut(self, low: int, high: int, entries: list[tuple[float, int, Sequence]]) -> None:
        """Put entries, in order, into new buckets in the place of those from `low` to `high`."""
        buckets = [entries[at : at + _BUCKET] for at in range(0, len(entries), _BUCKET)]
        prompts = [[seq.prompt for _, _, seq in bucket] for bucket in buckets]
        self._buckets[low:high] = buckets
        self._prompts[low:high] = prompts
        self._sums[low:high] = map(sum, prompts)
        self._lasts[low:high] = [bucket[-1][:2] for bucket in buckets]
