"""The questions that a policy answers: who is next, may it join, who gives way, who cannot make it any more.

Plain base classes, so that they can be compiled from the same source later. A rule knows no clock and no host: time
comes in as an argument, in seconds, and every sequence it is told about belongs to one scheduler.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable

import numpy as np

from headway.core.batch import Batch
from headway.core.engine import EngineProfile
from headway.core.kv import KvLedger
from headway.core.sequence import WAITING, Sequence


class Order:
    """Who is next?

    An own order needs one method, `key`: the waiting request with the smallest key goes first, ties by arrival. A key
    is asked once, when the request arrives. The first candidate that memory refuses blocks the others.

    Orders with a structure of their own override `push` and `candidate` instead, and whichever events they count.
    Requests that return from eviction go to the head in every order; `next` sees to that.

    Attributes:
        by_arrival: nobody is served before who came earlier, so that a shedding rule knows whose work is ahead.
        choosy: it may pass over requests that do not fit the positions left in an iteration.
        chunk_cap: the most prompt positions that it lets one request take in an iteration; None for no more than the
            engine does.
    """

    by_arrival: bool = False
    choosy: bool = False
    chunk_cap: int | None = None

    def __init__(self) -> None:
        self.returned: deque[Sequence] = deque()
        self._heap: list[tuple[float, int, Sequence]] = []

    def attach(self, engine: EngineProfile) -> None:
        """Told once, before anything else: the engine that it is for."""

    def attach_cache(self, cached: Callable[[Sequence], int]) -> None:
        """Told once, before the first request, where the engine has a prefix cache.

        Args:
            cached: returns how many tokens of a waiting request's prompt the cache has now. That changes only when
                prompts are complete.
        """

    def key(self, seq: Sequence) -> float:
        """Rank of a request; smaller goes first."""
        raise NotImplementedError

    def push(self, seq: Sequence, now: float) -> bool:
        """A request arrives now; return whether the next candidate may now be another one.

        False lets a refusal stand; True only costs time.
        """
        heapq.heappush(self._heap, (self.key(seq), seq.ticket, seq))
        return self._heap[0][2] is seq

    def back(self, seq: Sequence, now: float) -> None:
        """A request returns after eviction: to the head, not the tail."""
        self.returned.appendleft(seq)

    def next(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        """Return the candidate, or None when nobody may be admitted now.

        Args:
            now: the boundary at which the iteration starts, in seconds.
            space: positions left in the iteration, at least 1.
            refused: the candidate that memory has just refused, None otherwise. The order decides whether that blocks.
        """
        returned = self.returned
        while returned:
            head = returned[0]
            if head.state == WAITING:
                return None if refused is head else head
            returned.popleft()
        return self.candidate(now, space, refused)

    def candidate(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        """Answer `next` among the requests that were never evicted."""
        heap = self._heap
        while heap:
            head = heap[0][2]
            if head.state == WAITING and head.evictions == 0:
                return None if refused is head else head
            heapq.heappop(heap)
        return None

    def admitted(self, seq: Sequence, now: float) -> None:
        """It was really started; its state is no longer waiting, so structures may forget it lazily."""

    def prefilled(self, seq: Sequence, now: float) -> None:
        """Its last prompt chunk is scheduled."""

    def next_ready(self, ready: dict[Sequence, None]) -> Sequence:
        """Name who gets a free decode slot, of those whose prompt is filled; they are in order of that, at least one.

        Asked only where prompts and decodes have pools of their own. It may cost a look at every one of them.
        """
        return next(iter(ready))

    def finished(self, seq: Sequence, now: float) -> None:
        """It ended with its answer complete."""

    def remove(self, seq: Sequence) -> None:
        """It was cancelled, shed or demoted while waiting; its state is no longer waiting."""

    def gone(self, seq: Sequence) -> None:
        """It was admitted and holds nothing any more: finished, evicted, cancelled, or ended for want of memory."""

    def ran(self, batch: Batch, now: float, seconds: float) -> None:
        """An iteration that was planned has run, in so many seconds; told before what joined and finished in it.

        Quiet iterations are planned one by one or taken together as the host likes: an answer may depend on their
        number (`rested`), and not on which of them were planned.
        """

    def rested(self, steps: int, filling: Sequence | None, positions: int) -> None:
        """So many quiet iterations have run: everybody decoded, `filling` took `positions` of its prompt in each."""

    def promotions(self) -> int:
        """How many requests has it sent ahead because they had waited long? Asked when a run is over."""
        return 0

    def steady_until(self, now: float) -> float:
        """Until when, in seconds, do the answers given at `now` hold without an event? Infinite unless time matters."""
        return math.inf

    def steady_for(self) -> int:
        """For how many quiet iterations from now do the last answers hold? Asked where iterations change them.

        In these everybody decodes and no prompt grows; where one does, the order is asked at every boundary.
        """
        raise NotImplementedError


class MemoryRule:
    """May it join, given what everyone will need?

    Attributes:
        steady: a refusal holds until something leaves: more decoding never turns it into an admission. The scheduler
            then need not ask again in between.
        draws: it uses the randomness that it is given: another seed gives another run.
    """

    steady: bool = True
    draws: bool = False

    def attach(self, engine: EngineProfile, rng: np.random.Generator) -> None:
        """Told once, before anything else: the engine that it is for, and the only randomness that it may use."""

    def round_begins(self, ledger: KvLedger) -> None:
        """The scheduler is about to ask for candidates, at one boundary."""

    def fits(self, seq: Sequence, ledger: KvLedger) -> bool:
        """May `seq` be admitted now? Not asked when nothing is resident: then everything that fits at all may join."""
        raise NotImplementedError

    def admitted(self, seq: Sequence, ledger: KvLedger) -> None:
        """It was admitted and will fill `seq.prompt` positions."""

    def joined(self, seq: Sequence, ledger: KvLedger) -> None:
        """It decodes from now on."""

    def left(self, seq: Sequence, ledger: KvLedger) -> None:
        """It holds nothing any more: evicted, cancelled or finished."""

    def finished(self, seq: Sequence, ledger: KvLedger) -> None:
        """It finished with `seq.generated` tokens; told after `left`."""


class Eviction:
    """Who gives way when memory runs out? The base class names who was admitted last."""

    def victim(self, residents: dict[Sequence, None], ledger: KvLedger) -> Sequence:
        """Name one of the residents, who are in order of admission and at least two.

        Progress needs one of them to be safe until it leaves: the rule must never turn from one resident to another
        for ever. What it asks may cost a look at every resident: evictions are rare.
        """
        return next(reversed(residents))


class Shedding:
    """Who cannot make it any more? The base class keeps everybody.

    A rule gives its `reason`, and where it knows one, after how many seconds to try again (`retry_after`). It never
    touches a request that has held KV.

    Attributes:
        idle: the rule never sheds; the scheduler then never asks.
        demotes: those who are due wait on, behind all others, instead of being rejected.
    """

    idle: bool = True
    demotes: bool = False

    def attach(self, engine: EngineProfile) -> None:
        """Told once, before anything else: the engine that it is for."""

    def watch(self, ledger: KvLedger, order: Order) -> None:
        """Told once, when it gets its scheduler: the KV totals that it may read, and the order that it works beside."""

    def push(self, seq: Sequence, now: float) -> bool:
        """A request arrived; return True to refuse it at once."""
        return False

    def left(self, seq: Sequence, now: float) -> None:
        """It waits no more: admitted, cancelled, or shed."""

    def due(self, now: float) -> list[Sequence]:
        """Waiting requests that cannot make it any more, each named once."""
        return []

    def ran(self, batch: Batch, now: float, seconds: float) -> None:
        """An iteration that was planned has run; see `Order.ran`."""

    def steady_until(self) -> float:
        """Until when, in seconds, is nobody due?"""
        return math.inf
