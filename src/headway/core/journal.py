"""What kept waiting requests out, iteration by iteration: the notes from which a wait is explained afterwards."""

from __future__ import annotations

from array import array

from headway.core.batch import Batch
from headway.core.scheduler import Scheduler
from headway.core.sequence import Sequence

# What keeps the next waiting request, or one that would arrive now, out of an iteration. Plain integers, as states are.
OPEN = 0  # nothing: all were admitted, and whoever comes waits for the next boundary
SLOTS = 1  # as many requests are resident as the engine has sequences
PARTIALS = 2  # as many prompts are partly filled as may be
BUDGET = 3  # the chunks of prompts took all positions that decodes had left
EVICTION = 4  # the iteration evicted, and such a one admits nobody
MEMORY = 5  # the memory rule refused a candidate, and the order let that block the others
ORDER = 6  # the order named nobody
INTERVAL = 7  # it is not one of the iterations in which the engine admits
BARRIERS = ("open", "slots", "partial-prompts", "budget", "eviction", "memory", "order", "interval")

# What happened to one request.
EVICTED = 0
RETURNED = 1  # admitted again
DEMOTED = 2
EVENTS = ("evicted", "returned", "demoted")

NOBODY = -1
_NEVER = object()


class Journal:
    """Looks at the scheduler after every plan, and notes what has changed since the last one.

    A note holds from its boundary to that of the next one, and all notes together say for every moment what kept
    waiting requests out. They say the same whether a host takes quiet iterations together or one by one. Cost: O(1) an
    iteration, plus O(1) for each chunk of an iteration whose budget several prompts fill; nothing grows with queue or
    batch.

    Attributes:
        barriers: notes of three: time in seconds, barrier, and a request's id or `NOBODY`: whom memory refused last
            (`MEMORY`), or whose prompt was being filled (`PARTIALS`, and `BUDGET` where it was one alone).
        chunks: notes of three: time, id and positions, where several prompts filled an iteration.
        refusals: notes of three, each beside one of `barriers`: time, id of the first whom memory refused at that
            boundary, and KV tokens that were neither taken nor promised.
        events: notes of three: time, id, what happened to it.
        filling: the prompt that keeps everybody out as long as it is the first of the partly filled ones; a host need
            not call in this time.
        settled: quiet iterations without a chunk need no call: while somebody waits (True), or nobody does (False).
    """

    __slots__ = (
        "_away",
        "_block",
        "_budget",
        "_demotes",
        "_first",
        "_known",
        "_last",
        "_limit",
        "_new",
        "_new_chunks",
        "_new_refusals",
        "_pausing",
        "_residents",
        "_scheduler",
        "_settles",
        "_slots",
        "stuck",
        "_stays",
        "_watches",
        "_who",
        "barriers",
        "chunks",
        "events",
        "filling",
        "refusals",
        "settled",
    )

    def __init__(self, scheduler: Scheduler) -> None:
        engine = scheduler.engine
        self._scheduler = scheduler
        self._residents: dict[Sequence, None] = scheduler.residents
        self._slots: int = engine.slots
        self._limit: int = engine.partial_prompts or engine.max_sequences
        self._budget: int = engine.token_budget
        self._block: int = engine.decode_block
        self._pausing: bool = engine.mode == "prefill-first"
        self._demotes: bool = scheduler.shedding.demotes
        self._stays: int = PARTIALS if self._limit == 1 else NOBODY  # barrier that lasts as long as its prompt is filled
        self._settles: list[bool | None] = [None] * len(BARRIERS)
        if engine.admission_interval == 1:
            self._settles[OPEN] = False
            self._settles[MEMORY] = True
        self._watches: bool = self._demotes
        self._last: int = OPEN
        self._who: Sequence | None = None
        self._first: Sequence | None = None  # whom memory refused first, where that holds
        self._away: set[Sequence] = set()  # evicted, and not back
        self._known: set[Sequence] = set()  # demoted, and noted as that
        self.filling: Sequence | None = None
        self.stuck = _NEVER
        self.settled: bool | None = None
        self.barriers = array("d")
        self.chunks = array("d")
        self.refusals = array("d")
        self.events = array("d")
        self._new: list[float] = []  # not yet packed: a list grows faster than an array
        self._new_chunks: list[float] = []
        self._new_refusals: list[float] = []

    def planned(self, now: float, batch: Batch) -> None:
        """See what keeps waiting requests out of the iteration that was planned to begin now, in seconds."""
        scheduler = self._scheduler
        refused = scheduler.refused
        chunks = batch.chunks
        if not chunks and refused is self.stuck is scheduler.refused_last and scheduler.waiting:
            return  # again, and nobody was admitted
        partials = scheduler.partials
        asked = scheduler.asked_at == now
        first = refused if asked and scheduler.waiting else None
        who: Sequence | None = None
        if partials and len(partials) >= self._limit:
            barrier = PARTIALS
            who = partials[0]
        elif len(self._residents) >= self._slots:
            barrier = SLOTS
        elif chunks and batch.prefill_positions + (0 if self._pausing else batch.decode_positions) >= self._budget:
            barrier = BUDGET
            if len(chunks) == 1:
                who = chunks[0][0]
            else:
                self._last = NOBODY  # no barrier: this one is noted, whatever the last was
                for seq, positions in chunks:
                    self._new_chunks += (now, seq.id, positions)
        elif not scheduler.waiting:
            barrier = OPEN
        elif asked or scheduler.blocked:
            barrier, who, first = self._word()
        else:
            barrier = INTERVAL
        if batch.evicted and not asked:
            barrier, who, first = EVICTION, None, None
        if barrier != self._last or who is not self._who or first is not self._first:
            self._note(now, barrier, who, first)
        if self._watches or batch.evicted:
            self._note_events(now, batch)

    def rested(self, now: float) -> None:
        """See what keeps waiting requests out of the quiet iterations that were taken from now on, in seconds."""
        scheduler = self._scheduler
        chunk = scheduler.quiet_chunk
        first: Sequence | None = None
        who: Sequence | None = scheduler.partials[0] if chunk else None
        if chunk and self._limit == 1:
            barrier = PARTIALS
        elif len(self._residents) >= self._slots:
            barrier, who = SLOTS, None
        elif chunk and chunk + scheduler.decodes * self._block >= self._budget:
            barrier = BUDGET
        elif not scheduler.waiting:
            barrier, who = OPEN, None
        elif scheduler.blocked:
            barrier, who, first = self._word()
        else:
            barrier, who = INTERVAL, None
        if barrier != self._last or who is not self._who or first is not self._first:
            self._note(now, barrier, who, first)

    def pack(self) -> None:
        """Move what was noted into arrays, which take a third of the memory."""
        self.barriers.fromlist(self._new)
        self.chunks.fromlist(self._new_chunks)
        self.refusals.fromlist(self._new_refusals)
        self._new.clear()
        self._new_chunks.clear()
        self._new_refusals.clear()

    def _word(self) -> tuple[int, Sequence | None, Sequence | None]:
        """The order's last word, whom memory refused last, and whom first."""
        first = self._scheduler.refused
        return (ORDER, None, None) if first is None else (MEMORY, self._scheduler.refused_last, first)

    def _note(self, now: float, barrier: int, who: Sequence | None, first: Sequence | None) -> None:
        """Note another state."""
        self._last = barrier
        self._who = who
        self._first = first
        self._new += (now, barrier, NOBODY if who is None else who.id)
        self.filling = who if first is None and barrier == self._stays else None
        self.settled = self._settles[barrier]
        self.stuck = _NEVER
        if first is not None:
            ledger = self._scheduler.ledger
            self._new_refusals += (now, first.id, ledger.capacity - ledger.reserved())
            if barrier == MEMORY and first is who and self.settled:
                self.stuck = first

    def _note_events(self, now: float, batch: Batch) -> None:
        """Note who was evicted, admitted again or demoted by this plan."""
        for seq in batch.evicted:
            self._away.add(seq)
            self.events.extend((now, seq.id, EVICTED))
        for seq in batch.admitted:
            if seq in self._away:
                self._away.remove(seq)
                self.events.extend((now, seq.id, RETURNED))
        for seq in reversed(self._scheduler.demoted):  # the newest stand last
            if seq in self._known:
                break
            self._known.add(seq)
            self.events.extend((now, seq.id, DEMOTED))
        self._watches = self._demotes or bool(self._away)
        if self._watches:
            self.filling = None
