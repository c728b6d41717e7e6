"""A naive walk: at every plan of a stepping host, for everybody, what keeps waiting requests out and who is where."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence as Items
from dataclasses import dataclass
from itertools import pairwise

from headway.core.batch import Batch
from headway.core.pools import PooledEngine
from headway.core.request import Request
from headway.core.scheduler import Scheduler
from headway.core.sequence import DECODING, DEMOTED, READY, WAITING, Sequence

Seconds = dict[tuple[str, str | None], float]


@dataclass(frozen=True)
class Look:
    """After a plan: why nobody else is in it, whom memory refused, who is filled, and what everybody does.

    `states` has (state, evictions so far) of everybody who has come.
    """

    time: float
    cause: str
    first: Sequence | None
    last: Sequence | None
    filled: list[tuple[Sequence, int]]
    residents: list[Sequence]
    states: dict[int, tuple[int, int]]


class WalkedScheduler(Scheduler):
    """Keeps `looks`. What the order and the memory rule were asked and answered is overheard, not worked out."""

    def __init__(self, engine, order, memory, shedding, eviction, prefill_share=None) -> None:
        self.looks: list[Look] = []
        self.seqs: list[Sequence] = []
        self.streak: list[Sequence] = []  # whom memory refused, with no admission in between
        self.asked = self.admits_next = self.nobody = False
        self.word = "interval"
        self._overhear(order, memory)
        super().__init__(engine, order, memory, shedding, eviction, prefill_share)

    def _overhear(self, order, memory) -> None:
        fits, candidate, next_ = memory.fits, order.candidate, order.next

        def overheard_fits(seq, ledger):
            answer = fits(seq, ledger)
            if not answer:
                self.streak = [seq] if self.admits_next else [*self.streak, seq]
            self.admits_next = answer
            return answer

        def overheard(ask):
            def asked(now, space, refused):
                answer = ask(now, space, refused)
                self.nobody = self.nobody or (answer is None and refused is None)
                return answer

            return asked

        memory.fits, order.candidate, order.next = overheard_fits, overheard(candidate), overheard(next_)

    def submit(self, request: Request, now: float) -> Sequence:
        seq = super().submit(request, now)
        self.seqs.append(seq)
        return seq

    def _admit(self, batch: Batch, now: float, space: int) -> None:
        self.asked, self.streak, self.admits_next, self.nobody = True, [], True, False
        super()._admit(batch, now, space)
        if self.nobody and self.admits_next:
            self.streak = []

    def plan(self, now: float, ending: Items[tuple[Sequence, int]] = ()) -> Batch:
        self.asked = False
        batch = super().plan(now, ending)
        if self.asked:
            self.word = "interval"  # unless the order had the last word
        cause = self._cause(batch)
        refused = self.streak if cause == "memory" or (self.asked and self.waiting) else []
        filled = batch.chunks if cause in ("budget", "fit") else [(seq, 1) for seq in self.partials[:1]]
        states = {seq.id: (seq.state, seq.evictions) for seq in self.seqs}
        first, last = (refused[0], refused[-1]) if refused else (None, None)
        self.looks.append(Look(now, cause, first, last, list(filled), list(self.residents), states))
        return batch

    def _cause(self, batch: Batch) -> str:
        engine = self.engine
        taken, most = sum(tokens for _, tokens in batch.chunks), engine.token_budget
        if isinstance(engine, PooledEngine):
            most = max(math.floor(engine.prompt_share * engine.token_budget), 1)
        else:
            taken += batch.decode_positions
        if batch.evicted and not self.asked:
            return "eviction"
        if len(self.partials) >= (engine.partial_prompts or engine.max_sequences):
            return "partials"
        if len(self.residents) >= engine.slots:
            return "slots"
        if batch.chunks and taken >= most:
            return "budget"
        if not self.waiting:
            self.word = "interval"
            return "boundary"
        if self.asked:
            self.word = "memory" if self.streak else "fit" if self.order.choosy else "order"
        return self.word  # between two rounds of admission that of the last one


def walk(looks: list[Look], seq: Sequence, end: float) -> dict[tuple[str, int], Seconds]:
    """Put every second of each wait of a request that ended at `end` down to a cause and a tenant.

    Returns (kind, evictions before it) → seconds.
    """
    waits: dict[tuple[str, int], Seconds] = defaultdict(lambda: defaultdict(float))
    for look, until in pairwise([*looks, None]):
        over = end if until is None else min(until.time, end)
        since = max(look.time, seq.arrival)
        state, evictions = look.states.get(seq.id, (WAITING, 0))  # or it arrives before the next one
        if over > since and state in (WAITING, DEMOTED, READY):
            kind = "held" if state == READY else "evicted" if evictions else "start"
            _blame(waits[kind, evictions], look, seq, state, over - since)
    return waits


def _blame(seconds: Seconds, look: Look, seq: Sequence, state: int, span: float) -> None:
    def divide(cause: str, among: list[tuple[Sequence, int]]) -> None:
        for other, size in among:
            seconds[cause, other.request.tenant] += span * size / sum(size for _, size in among)

    if state == READY:
        divide("decode_slots", [(one, 1) for one in look.residents if look.states[one.id][0] == DECODING])
    elif seq is look.first or (look.cause == "memory" and seq is look.last):
        seconds["refused", None] += span
    elif state == DEMOTED:
        seconds["demoted", None] += span
    elif look.cause == "memory":
        assert look.last is not None
        seconds["memory", look.last.request.tenant] += span
    elif look.cause in ("budget", "fit", "partials") and look.filled:
        divide(look.cause, look.filled)
    elif look.cause == "slots":
        divide("slots", [(one, 1) for one in look.residents])
    else:
        seconds[look.cause, None] += span
