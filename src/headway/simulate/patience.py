"""Clients that leave: a heap of deadlines, forgotten lazily, and what was computed in vain."""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Callable, Iterable

from headway.core.sequence import Sequence

_FEW = 1024  # deadlines that are not worth tidying up

Heard = Callable[[Sequence], float]
"""When, in seconds, a client last heard something; infinite once its request has ended."""


class Waste:
    """What the engine computed for clients that left: `tokens` is prompt positions and generated tokens.

    Positions that were filled again after an eviction are not in it: they count as recomputed, whoever they were for.
    """

    __slots__ = ("_filled", "tokens")

    def __init__(self, rows: int) -> None:
        self._filled = array("q", [0]) * rows
        self.tokens: int = 0

    def filled(self, chunks: Iterable[tuple[Sequence, int]]) -> None:
        """So many prompt positions of these are filled."""
        for seq, positions in chunks:
            if not seq.evictions:
                self._filled[seq.id] += positions

    def left(self, seq: Sequence) -> None:
        """The client has left; all that was done for it was in vain."""
        self.tokens += self._filled[seq.id] + seq.generated


class Patience:
    """Whose client has heard nothing for so long that it leaves, as an HTTP client with a read timeout does?

    A deadline is entered when a wait for a token begins that may be long: a request is sent, evicted, joins while
    decodes are paused, or must wait for a decode slot. Whether it still stands when its time comes is asked of the
    host, so that tokens cost nothing here. O(log n) a deadline.

    Args:
        seconds: that a client waits, counted from what it last heard.
        rows: requests in the run.

    Attributes:
        waste: what was computed for clients that left.
    """

    __slots__ = ("_deadlines", "_entered", "_tidy_at", "seconds", "waste")

    def __init__(self, seconds: float, rows: int) -> None:
        self.seconds = seconds
        self.waste = Waste(rows)
        self._deadlines: list[tuple[float, int, Sequence]] = []
        self._entered: int = 0
        self._tidy_at: int = _FEW

    def wait(self, seq: Sequence, since: float) -> None:
        """A client last heard something at `since`, and now waits for a token."""
        self._entered += 1  # of equal deadlines the first goes first, and sequences need not compare
        heapq.heappush(self._deadlines, (since + self.seconds, self._entered, seq))

    def over(self, since: float, now: float) -> bool:
        """Has a client left by now that last heard something at `since`?"""
        return since + self.seconds <= now

    def leaving(self, now: float, heard: Heard) -> list[Sequence]:
        """Take out whose deadline has come and stands; one may be named twice."""
        deadlines = self._deadlines
        if len(deadlines) > self._tidy_at:
            self._tidy(heard)
            deadlines = self._deadlines
        gone: list[Sequence] = []
        while deadlines and deadlines[0][0] <= now:
            seq = heapq.heappop(deadlines)[2]
            if self.over(heard(seq), now):
                gone.append(seq)
        return gone

    def next(self, heard: Heard) -> float:
        """Return the earliest deadline that stands, in seconds; infinite without one."""
        deadlines = self._deadlines
        while deadlines:
            deadline, _, seq = deadlines[0]
            if heard(seq) + self.seconds <= deadline:
                return deadline
            heapq.heappop(deadlines)
        return math.inf

    def _tidy(self, heard: Heard) -> None:
        """Drop the deadlines that no longer stand, so that a long patience does not keep every request."""
        self._deadlines = [entry for entry in self._deadlines if heard(entry[2]) + self.seconds <= entry[0]]
        heapq.heapify(self._deadlines)
        self._tidy_at = 2 * len(self._deadlines) + _FEW
