"""What kept waiting requests out, iteration by iteration: the notes from which a wait is explained afterwards."""

from __future__ import annotations

from array import array

from headway.core.batch import Batch
from headway.core.pools import PooledEngine
from headway.core.scheduler import Scheduler
from headway.core.sequence import Sequence

# What keeps the next waiting request, or one that would arrive now, out of an iteration. Where several things do, the
# first of PARTIALS, SLOTS, BUDGET counts. Plain integers, as states are.
OPEN = 0  # nothing: all were admitted, and whoever comes waits for the next boundary
PARTIALS = 1  # as many prompts are partly filled as may be
SLOTS = 2  # as many requests are resident as can decode at once
BUDGET = 3  # chunks of prompts take all positions that decodes leave
EVICTION = 4  # the iteration evicted, and such a one admits nobody
MEMORY = 5  # the memory rule refused a candidate, and the order let that block the others
ORDER = 6  # the order named nobody
INTERVAL = (
    7  # the engine holds no round of admission now; where the last one ended with ORDER, MEMORY or FIT, that counts
)
FIT = 8  # no waiting prompt that a choosy order would take fits the positions that are left
BARRIERS = ("open", "partials", "slots", "budget", "eviction", "memory", "order", "interval", "fit")

# What happened to one request.
EVICTED = 0
RETURNED = 1  # it was admitted again
DEMOTED = 2
HELD = 3  # its prompt is filled, and it waits for a decode slot
DECODES = (
    4  # it has a decode slot; this and `HELD` are noted of everybody where decodes have a pool, and else of nobody
)
EVENTS = ("evicted", "returned", "demoted", "held", "decodes")

NOBODY = -1
_UNKNOWN = -1  # no barrier
_NO_ROUND = (INTERVAL, None, None)


class Journal:
    """Looks at the scheduler after every plan, and notes what has changed since the last one.

    It changes no plan. A note holds from its boundary to that of the next one, so that for every moment there is one
    that says what kept waiting requests out. They say the same whether a host takes quiet iterations together or one by
    one. Cost: O(1) an iteration, and O(1) for each chunk of an iteration that several prompts fill, for each eviction,
    and, with pools, for each prompt; nothing grows with queue or batch.

    A host calls `unsettle` when a plan took KV away, then `planned`, unless the first of the partly filled prompts is
    `filling`; and `rested` for quiet iterations, unless that is so, or they fill no prompt and `settled` is whether
    anybody waits.

    Attributes:
        barriers: notes of three: time in seconds, barrier, and a request's id or `NOBODY`: whom memory refused last
            (`MEMORY`), whose prompt was being filled (`PARTIALS`), or anyone of the tenant whose prompts were (`BUDGET`
            and `FIT`, where they were of one tenant).
        chunks: notes of three: time, id and positions, where prompts of several tenants filled an iteration.
        refusals: notes of three, each beside one of `barriers`: time, id of the first whom memory refused at that
            boundary, and the KV tokens that were neither taken nor promised then.
        events: notes of three: time, id, what happened to it.
        filling: the prompt that keeps everybody out as long as it is the first of the partly filled ones.
        settled: whether anybody has to wait for quiet iterations to be like the iteration before; None: they may
            differ.
    """

    __slots__ = (
        "_away",
        "_block",
        "_choosy",
        "_demotes",
        "_filled",
        "_first",
        "_free",
        "_free_for",
        "_known",
        "_last",
        "_limit",
        "_new",
        "_new_chunks",
        "_new_refusals",
        "_open_ends",
        "_pooled",
        "_prompts",
        "_residents",
        "_rounds",
        "_scheduler",
        "_settled_by",
        "_several",
        "_single",
        "_slots",
        "_stuck",
        "_watches",
        "_who",
        "_word",
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
        self._block: int = engine.decode_block
        self._pooled: bool = isinstance(engine, PooledEngine)
        self._prompts: int = engine.prompt_space(0)  # positions of prompts where nobody decodes
        self._choosy: bool = scheduler.order.choosy
        self._demotes: bool = scheduler.shedding.demotes
        self._open_ends: bool = self._demotes or self._pooled  # what happens to requests may be news in any iteration
        self._watches: bool = self._open_ends  # for events
        self._rounds: bool = engine.admission_interval > 1
        # Where the word of a round stands until the next one: whom memory refused first, and the KV tokens then free.
        self._free_for: Sequence | None = None
        self._free: int = 0
        self._several: bool = False  # prompts shared the last iteration in which nobody fitted
        self._single: bool = self._limit == 1
        self._settled_by: list[bool | None] = [None] * len(BARRIERS)
        if engine.admission_interval == 1 and not self._pooled:
            self._settled_by[OPEN], self._settled_by[MEMORY] = False, True
        self._filled: list[tuple[Sequence, int]] = []  # with pools: prompts of the last iteration, and what comes then
        self._last: int = OPEN
        self._who: Sequence | None = None
        self._word: tuple[int, Sequence | None, Sequence | None] | None = None  # with which the last round ended
        self._first: Sequence | None = None  # whom memory refused first, where that holds
        self._stuck: Sequence | None = None  # the only one whom memory refused, and nothing else kept anybody out
        self._away: set[Sequence] = set()  # evicted, and not back
        self._known: set[Sequence] = set()  # demoted, and noted as that
        self.barriers = array("d")
        self.chunks = array("d")
        self.refusals = array("d")
        self.events = array("d")
        self._new: list[float] = []  # barriers not yet packed: a list grows faster than an array
        self._new_chunks: list[float] = []
        self._new_refusals: list[float] = []
        self.filling: Sequence | None = None
        self.settled: bool | None = None

    def unsettle(self) -> None:
        """The plan that comes evicted or ended somebody: look at it, whatever was before."""
        self.filling = None
        self.settled = None
        self._stuck = None

    def planned(self, now: float, batch: Batch) -> None:
        """See what keeps requests out of the iteration that was planned to begin now, in seconds."""
        scheduler = self._scheduler
        partials, refused = scheduler.partials, scheduler.refused
        if partials and refused is None and self._single and not (self._watches or batch.evicted):
            # The most frequent note where prompts are filled one by one; as below, without a call.
            self.filling = self._who = filling = partials[0]
            self._last = PARTIALS
            self._first = self._stuck = self._word = self.settled = None
            self._new += (now, PARTIALS, filling.id)
            return
        chunks = batch.chunks
        stuck = refused is not None and refused is self._stuck is scheduler.refused_last
        if stuck and scheduler.waiting and not chunks:
            return  # the same again
        who: Sequence | None = None
        first: Sequence | None = None
        asked = scheduler.asked(batch)
        if asked:
            self._word = None
            if refused is not None and scheduler.waiting:
                first = refused
                if self._rounds and refused is not self._free_for:
                    self._free_for, self._free = refused, scheduler.ledger.capacity - scheduler.ledger.reserved()
        if batch.evicted and not asked:
            barrier = EVICTION
        elif len(partials) >= self._limit:
            barrier = PARTIALS
            who = partials[0]
        elif len(self._residents) >= self._slots:
            barrier = SLOTS
        elif chunks and batch.prefill_positions + (0 if self._pooled else batch.decode_positions) >= self._prompts:
            barrier = BUDGET
            who = self._filled_by(now, chunks)
        elif not scheduler.waiting:
            barrier, self._word = OPEN, None
        else:
            barrier, who, first = self._last_word(now, chunks, asked=asked)
        if barrier != self._last or who is not self._who or first is not self._first:
            self._note(now, barrier, who, first)
        if self._watches or batch.evicted:
            self._note_events(now, batch)

    def rested(self, now: float) -> None:
        """See what keeps requests out of the quiet iterations that were taken, the first of which began now."""
        scheduler = self._scheduler
        if self._pooled:
            self._note_filled(now)
        chunk = scheduler.quiet_chunk
        who: Sequence | None = None
        first: Sequence | None = None
        if chunk and self._single:
            barrier = PARTIALS
            who = scheduler.partials[0]
        elif len(self._residents) >= self._slots:
            barrier = SLOTS
        elif chunk and chunk + (0 if self._pooled else scheduler.decodes * self._block) >= self._prompts:
            barrier = BUDGET
            who = self._filled_by(now, [(scheduler.partials[0], chunk)])
        elif not scheduler.waiting:
            barrier, self._word = OPEN, None
        else:
            chunks = [(scheduler.partials[0], chunk)] if chunk else []
            barrier, who, first = self._last_word(now, chunks, asked=False)
        if barrier != self._last or who is not self._who or first is not self._first:
            self._note(now, barrier, who, first)

    def pack(self) -> None:
        """Move what was noted into arrays, which take a third of the memory."""
        for notes, new in (
            (self.barriers, self._new),
            (self.chunks, self._new_chunks),
            (self.refusals, self._new_refusals),
        ):
            notes.fromlist(new)
            new.clear()

    def _last_word(
        self, now: float, chunks: list[tuple[Sequence, int]], *, asked: bool
    ) -> tuple[int, Sequence | None, Sequence | None]:
        """Return with what the round of admission ended, which was held now or before, and whom memory refused in it.

        That is a barrier, who was refused last, or whose prompt takes the positions that nobody fits, and who was
        refused first.
        """
        if asked:
            first = self._scheduler.refused
            self._word = (FIT if self._choosy else ORDER, None, None)
            if first is not None:
                self._word = (MEMORY, self._scheduler.refused_last, first)
        barrier, who, first = self._word or _NO_ROUND
        if barrier == FIT:
            if chunks:
                who = self._filled_by(now, chunks)
            elif self._several:
                self._last = _UNKNOWN
            self._several = who is None and bool(chunks)
        return barrier, who, first

    def _note(self, now: float, barrier: int, who: Sequence | None, first: Sequence | None) -> None:
        self._last = barrier
        self._who = who
        self._first = first
        self._stuck = None
        self._new += (now, barrier, NOBODY if who is None else who.id)
        self.settled = self._settled_by[barrier]
        if first is None:
            self.filling = who if barrier == PARTIALS and self._single and not self._watches else None
            return
        self.filling = None
        ledger = self._scheduler.ledger
        free = self._free if self._rounds else ledger.capacity - ledger.reserved()
        self._new_refusals += (now, first.id, free)
        if self.settled and first is who and not self._watches:
            self._stuck = first

    def _filled_by(self, now: float, chunks: list[tuple[Sequence, int]]) -> Sequence | None:
        """Return one of the requests whose prompts fill this iteration, where they are of one tenant.

        Otherwise note their chunks, and that the iteration's barrier is news.
        """
        tenant = chunks[0][0].request.tenant
        for seq, _ in chunks:
            if seq.request.tenant != tenant:
                break
        else:
            who = self._who  # if it is that tenant's too, nothing has changed
            return who if who is not None and who.request.tenant == tenant else chunks[0][0]
        self._last = _UNKNOWN
        for seq, positions in chunks:
            self._new_chunks += (now, seq.id, positions)
        return None

    def _note_events(self, now: float, batch: Batch) -> None:
        """Note who was evicted, admitted again or demoted by this plan, and, with pools, who decodes."""
        if self._pooled:
            self._note_slots(now, batch)
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
        self._watches = self._open_ends or bool(self._away)
        if self._watches:
            self.unsettle()

    def _note_slots(self, now: float, batch: Batch) -> None:
        """Note who has got a decode slot, and who waits for one, since the last plan."""
        self._note_filled(now)
        for seq in batch.resumed:
            self.events.extend((now, seq.id, DECODES))
        self._filled = [(seq, DECODES) for seq in batch.joined] + [(seq, HELD) for seq in batch.held]

    def _note_filled(self, now: float) -> None:
        """Prompts of the last planned iteration are filled since now."""
        for seq, what in self._filled:
            self.events.extend((now, seq.id, what))
        self._filled = []
