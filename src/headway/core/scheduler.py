"""The only loop over rules: submit, cancel, plan, complete.

A host calls `submit` as requests arrive, then, at every batch boundary, `plan`; it runs the batch and calls
`complete`. Running sequences advance in every decode iteration, so nothing touches them in between: progress is a
count of iterations, KV use a running total. An iteration costs O(1), plus O(log n) for each arrival, admission and
ending, whatever the size of the batch or of the queue.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable
from collections.abc import Sequence as Items
from fractions import Fraction

from headway.core.batch import Batch, PooledBatch
from headway.core.engine import EngineProfile
from headway.core.kv import KvLedger, PagedLedger, new_ledger
from headway.core.pools import PooledEngine
from headway.core.prefill_share import PrefillShare
from headway.core.prefix_cache import PrefixCache
from headway.core.request import Request
from headway.core.rules import Eviction, MemoryRule, Order, Shedding
from headway.core.sequence import (
    CANCELLED,
    DECODING,
    DEMOTED,
    FILLING,
    FINISHED,
    READY,
    REJECTED,
    RESERVED,
    WAITING,
    Sequence,
)

_FOR_EVER = 1 << 62  # iterations


class Scheduler:
    """Decides for one engine who runs in the next iteration.

    Attributes:
        engine: the engine's sizes and modes.
        ledger: KV totals, and the count of decode iterations.
        waiting: requests that are not running, demoted ones included.
        demoted: requests that wait behind all others, oldest first.
        decodes: requests that decode.
        ready: requests whose prompt is filled and which wait for a decode slot, oldest first; none unless the engine
            has pools.
        residents: requests that hold KV, in order of admission.
        iterations: iterations planned so far, decode positions and prompt positions in them.
        kv_token_iterations: sum over all iterations of the live KV tokens.
        kv_peak: the most live KV tokens after any plan.
        pauses: some iterations run prompts alone while others wait to decode.
        oom_events: iterations that exceeded the KV capacity (only without eviction).
        demotions: requests demoted so far.
        evictions: evictions so far.
        recomputed: prompt positions that were filled again after an eviction.
        cache: blocks of prompts that are kept; None where the engine keeps none.
        asked_at: boundary, in seconds, at which the order last had the word.
        asked_in: iterations before that one.
        refused: whom memory refused in the last round of admission, the first after the round's last admission but
            one; None if nobody.
        refused_last: whom it refused last, in the last round in which it refused anybody.
        quiet_chunk: prompt positions in each of the iterations that `quiet` has just counted.
        quiet_until: time, in seconds, at and after which none of them may start.
        quiet_open: an arrival may end them; otherwise nobody could be admitted, whoever comes, and what arrives
            meanwhile may be submitted before the next plan.
    """

    __slots__ = (
        "_ask",
        "_block",
        "_blocked",
        "_budget",
        "_capacity",
        "_chunk_cap",
        "_decode_slots",
        "_emitted_by_prefill",
        "_eviction",
        "_interval",
        "_last_round",
        "_longest_answer",
        "_memory_listens",
        "_memory_looks",
        "_new_batch",
        "_order_admits",
        "_order_counts",
        "_order_finishes",
        "_order_gone",
        "_order_prefills",
        "_order_ran",
        "_order_rested",
        "_pages",
        "_partial_limit",
        "_planned_at",
        "_pool",
        "_prefill_first",
        "_share",
        "_sheds",
        "_slots",
        "_tickets",
        "asked_at",
        "asked_in",
        "cache",
        "decode_positions",
        "decodes",
        "demoted",
        "demotions",
        "engine",
        "eviction",
        "evictions",
        "iterations",
        "kv_peak",
        "kv_token_iterations",
        "ledger",
        "memory",
        "oom_events",
        "order",
        "partials",
        "pauses",
        "prefill_positions",
        "quiet_chunk",
        "quiet_open",
        "quiet_until",
        "ready",
        "recomputed",
        "refused",
        "refused_last",
        "residents",
        "shedding",
        "waiting",
    )

    def __init__(
        self,
        engine: EngineProfile,
        order: Order,
        memory: MemoryRule,
        shedding: Shedding,
        eviction: Eviction,
        prefill_share: Fraction | None = None,
    ) -> None:
        self.engine = engine
        self.order = order
        self.memory = memory
        self.shedding = shedding
        self.eviction = eviction
        self.ledger: KvLedger = new_ledger(engine.kv_capacity, engine.decode_block, engine.block_size)
        self._pages: PagedLedger | None = self.ledger if isinstance(self.ledger, PagedLedger) else None
        self.residents: dict[Sequence, None] = {}
        self.partials: list[Sequence] = []
        self.waiting: int = 0
        self.demoted: OrderedDict[Sequence, None] = OrderedDict()
        self.ready: dict[Sequence, None] = {}
        self.decodes: int = 0
        self.iterations: int = 0
        self.decode_positions: int = 0
        self.prefill_positions: int = 0
        self.kv_token_iterations: int = 0
        self.kv_peak: int = 0
        self.oom_events: int = 0
        self.demotions: int = 0
        self.evictions: int = 0
        self.recomputed: int = 0
        self.cache: PrefixCache | None = None
        if engine.prefix_cache is not None:
            self.cache = PrefixCache(engine.prefix_cache)
            order.attach_cache(self._cached)
        self.quiet_chunk: int = 0
        self.quiet_until: float = math.inf
        self.quiet_open: bool = True
        self._tickets: int = 0
        self._planned_at: float = 0.0
        self._last_round: int = -1  # decode clock of the last admission round
        self.asked_at: float = 0.0
        self.asked_in: int = -1
        self.refused: Sequence | None = None
        self.refused_last: Sequence | None = None
        # The last word was a refusal (or "nobody") that holds until something arrives, joins, leaves or ages.
        self._blocked: bool = False
        self._listen(order, memory)
        self._size(engine, order, shedding, prefill_share)

    def _size(self, engine: EngineProfile, order: Order, shedding: Shedding, prefill_share: Fraction | None) -> None:
        """Keep what is read in every iteration."""
        self._sheds: bool = not shedding.idle
        shedding.watch(self.ledger, order)
        self._slots: int = engine.slots
        self._block: int = engine.decode_block
        self._budget: int = engine.token_budget
        self._pool: int = engine.prompt_space(0) if isinstance(engine, PooledEngine) else 0  # positions of prompts
        self._new_batch: type[Batch] = PooledBatch if self._pool else Batch
        self._decode_slots: int = engine.decode_slots
        self._capacity: int = engine.kv_capacity
        self._longest_answer: int = engine.longest_answer
        self._chunk_cap: int = min(engine.chunk_cap or engine.token_budget, order.chunk_cap or engine.token_budget)
        self._partial_limit: int = engine.partial_prompts or engine.max_sequences
        self._interval: int = engine.admission_interval
        self._eviction: bool = engine.eviction
        self._prefill_first: bool = engine.mode == "prefill-first"
        self._share: PrefillShare | None = PrefillShare(prefill_share, engine.token_budget) if prefill_share else None
        self.pauses: bool = self._prefill_first or self._share is not None
        self._emitted_by_prefill: int = 1 if engine.first_token == "prefill" else 0

    def _listen(self, order: Order, memory: MemoryRule) -> None:
        """Find out which events the rules listen to: a call for nothing costs more than everything else in it."""
        self._order_admits: bool = type(order).admitted is not Order.admitted
        self._order_prefills: bool = type(order).prefilled is not Order.prefilled
        self._order_finishes: bool = type(order).finished is not Order.finished
        self._order_gone: bool = type(order).gone is not Order.gone
        self._order_ran: bool = type(order).ran is not Order.ran
        self._order_counts: bool = type(order).steady_for is not Order.steady_for
        self._order_rested: bool = type(order).rested is not Order.rested
        self._memory_listens: bool = any(
            getattr(type(memory), event) is not getattr(MemoryRule, event)
            for event in ("admitted", "joined", "left", "finished")
        )
        self._memory_looks: bool = type(memory).round_begins is not MemoryRule.round_begins
        self._ask: Callable[[float, int, Sequence | None], Sequence | None] = (
            order.candidate if type(order).next is Order.next else order.next
        )

    def submit(self, request: Request, now: float) -> Sequence:
        """Take in a request that arrives now; return its sequence.

        A prompt above the KV capacity, or a request that the shedding rule refuses, is rejected at once: the returned
        sequence has that state and a reason.
        """
        seq = Sequence(request, self._tickets, self._longest_answer)
        self._tickets += 1
        if not self._refuses(seq, now):
            self._line_up(seq, now)
        return seq

    def reserve(self, request: Request, now: float) -> Sequence:
        """Judge a request that arrives now, before its prompt is counted: `prompt_tokens` is an estimate.

        It is rejected, with a reason, where the shedding rule refuses it. Otherwise it counts as waiting for that rule,
        so that those who come after it are judged with it in mind, and is `RESERVED` until `enter` or `cancel`. This,
        `judge` and `cancel` of who has reserved may be asked while an iteration is computed.
        """
        seq = Sequence(request, self._tickets, self._longest_answer)
        self._tickets += 1
        seq.state = REJECTED if self._sheds and self.shedding.push(seq, now) else RESERVED
        return seq

    def judge(self, seq: Sequence, request: Request, now: float) -> None:
        """Judge a reserved request once more, now that its prompt is counted: it may be rejected as in `submit`.

        One that has ended meanwhile is left as it is.
        """
        if seq.state != RESERVED:
            return
        if self._sheds:
            self.shedding.left(seq, now)
        seq.request = request
        seq.prompt = request.prompt_tokens
        seq.limit = request.max_new_tokens or self._longest_answer
        self._refuses(seq, now)

    def enter(self, seq: Sequence, now: float) -> None:
        """Let a reserved request in, between two iterations, as all who arrive; unless it has ended meanwhile."""
        if seq.state == RESERVED:
            seq.state = WAITING
            self._line_up(seq, now)

    def _refuses(self, seq: Sequence, now: float) -> bool:
        if seq.prompt > self._capacity:
            seq.reason = "kv_capacity"
        elif not self._sheds or not self.shedding.push(seq, now):
            return False
        seq.state = REJECTED
        return True

    def _line_up(self, seq: Sequence, now: float) -> None:
        self.waiting += 1
        if self.order.push(seq, now) is not False:  # an own order may have forgotten to say
            self._blocked = False

    def cancel(self, seq: Sequence, now: float) -> None:
        """Drop a request, between two iterations only; one that has ended already is left as it is."""
        if seq.state in (WAITING, DEMOTED):
            self._leave_queue(seq, CANCELLED, now)
        elif seq.state == RESERVED:
            self._give_up(seq, CANCELLED, now)
        elif seq.state in (FILLING, DECODING, READY):
            seq.generated = seq.generated_at(self.ledger.clock, self._block)
            self._release(seq)
            seq.state = CANCELLED

    def plan(self, now: float, ending: Items[tuple[Sequence, int]] = ()) -> Batch:
        """Decide the iteration that starts now.

        Args:
            now: the batch boundary, in seconds.
            ending: sequences whose answer ends within this decode block, with the positions of the block that stay
                empty, also of those that wait for a decode slot. Only the host can know; with a block of 1 there are
                none.

        Returns:
            The batch. With no positions there is nothing to run: the host waits for the next arrival, or for
            `steady_until`.
        """
        batch, pool = self._new_batch(), self._pool
        ledger = self.ledger
        self._planned_at = now
        if self._sheds:
            self._shed(batch, now)
        space = self._budget
        pausing = self._prefill_first or (self._share is not None and self._share.is_due and bool(self.partials))
        if pool:
            self._decode_in_slots(batch, now, ending)
            space = pool
        elif self.decodes and not pausing:
            self._decode(batch, now, ending)
            space -= batch.decode_positions
        if self.partials:
            space = self._continue_prompts(batch, now, space)
        # An iteration that evicts must not admit: it could take its own victim back at once.
        if self.waiting and space > 0 and not batch.evicted and (self._interval == 1 or self._round_is_due()):
            self._admit(batch, now, space)
        if self.decodes and pausing and not batch.chunks:
            self._decode(batch, now, ending)
        if not (batch.decodes or batch.chunks):
            if not self.waiting or not (batch.evicted or batch.ended):
                return batch
            self._admit(batch, now, pool or self._budget)  # nobody is left to run: the head may start
            if not batch.chunks:
                return batch
        if self._share is not None and (self.partials or pausing):
            self._share.owe(1, self._share.granted(batch.prefill_positions, batch.decode_positions))
        if pool and (self.ready or len(batch.joined) > self._decode_slots - self.decodes):
            batch.held, batch.joined = batch.joined, []  # at the next boundary the order says who goes first
        batch.context = used = ledger.used
        self.iterations += 1
        self.decode_positions += batch.decode_positions
        self.prefill_positions += batch.prefill_positions
        self.kv_token_iterations += used
        if used > self.kv_peak:
            self.kv_peak = used
        if used + ledger.spare > self._capacity:
            self.oom_events += 1
        return batch

    def complete(self, batch: Batch, now: float, finished: Iterable[Sequence] = ()) -> None:
        """Book an iteration that has run.

        Args:
            batch: what was planned.
            now: the end of the iteration, in seconds.
            finished: sequences whose answer is complete, among those that decoded, joined or were held in it.
        """
        ledger = self.ledger
        if self._order_ran:
            self.order.ran(batch, now, now - self._planned_at)
        if self._sheds:
            self.shedding.ran(batch, now, now - self._planned_at)
        if batch.decodes:
            ledger.clock += 1
        clock = ledger.clock
        if batch.joined:
            self._start_decoding(batch.joined, self._emitted_by_prefill)
        if self._pool:
            self._hold(batch.held, now)
        if self.cache is not None:
            self._store(self.cache, batch)
        if self._memory_listens:
            finished = sorted(finished, key=_ticket)  # so that it is all one in which order the host names them
        for seq in finished:
            if seq.state == READY:
                self._release(seq)  # it has nothing to decode
                seq.state = FINISHED
            else:
                decoded = (clock - seq.joined) * self._block - seq.ending
                seq.generated += decoded
                seq.state = FINISHED
                ledger.used -= seq.filled + decoded
                if self._pages is not None:
                    self._pages.stop(seq.filled + decoded, seq.ending)
                self._vacate(seq)
                self.decodes -= 1
                if self._memory_listens:
                    self.memory.left(seq, ledger)
            if self._memory_listens:
                self.memory.finished(seq, ledger)
            if self._order_finishes:
                self.order.finished(seq, now)

    def _start_decoding(self, seqs: Items[Sequence], emitted: int) -> None:
        """Let those decode from the next decode iteration on; their prompts have just emitted so many tokens."""
        ledger = self.ledger
        for seq in seqs:
            seq.state = DECODING
            seq.joined = ledger.clock
            seq.generated += emitted
            self.decodes += 1
            if self._pages is not None:
                self._pages.join(seq.filled)
            if self._memory_listens:
                self.memory.joined(seq, ledger)

    def _store(self, cache: PrefixCache, batch: Batch) -> None:
        """Keep the prompts that are complete with this iteration for those that begin like them."""
        for seq in (*batch.joined, *batch.held):
            cache.store(seq.request)
            self._blocked = False  # an order may now prefer somebody else

    def _hold(self, held: Items[Sequence], now: float) -> None:
        """Let those wait for a decode slot whose prompt has just been filled."""
        for seq in held:
            seq.state = READY
            seq.ready_at = now
            seq.generated += self._emitted_by_prefill
            self.ready[seq] = None

    def quiet(self) -> int:
        """How many of the next iterations decide nothing, if the host has no news in that time?

        In each of them everybody decodes, and at most one prompt that is being filled takes `quiet_chunk` positions
        without being done. Time may end it sooner: none of them may start at or after `quiet_until`.
        """
        self.quiet_chunk = 0
        decodes = self.decodes
        if not decodes or (self.ready and decodes < self._decode_slots):
            return 0
        growth = decodes * self._block
        steps = _FOR_EVER
        open_ = self._sheds or len(self.residents) < self._slots
        if self.partials:
            seq = self.partials[0]
            chunk = space = self._pool or self._budget - growth
            if chunk > self._chunk_cap:
                chunk = self._chunk_cap
            steps = (seq.prompt - seq.filled - 1) // chunk
            if steps < 1 or len(self.partials) > 1 or self._prefill_first:
                return 0
            if self._share is not None:
                steps = min(steps, self._share.due_in(self._share.granted(chunk, growth)))
                if steps < 1:
                    return 0
            open_ = self._sheds or (open_ and chunk < space and self._partial_limit > 1)
            self.quiet_chunk = chunk
            growth += chunk
        self.quiet_until = math.inf
        self.quiet_open = open_ or self._order_rested  # it charges by the clock at which somebody arrives
        if open_ and self.waiting:
            if self._blocked:
                self.quiet_until = self.order.steady_until(self.asked_at)
                if self._order_counts:
                    steps = 0 if self.quiet_chunk else min(steps, self.order.steady_for())
            elif self._round_is_due():
                return 0
            else:
                steps = min(steps, self._interval - self.ledger.clock % self._interval)
        if self._sheds:
            self.quiet_until = min(self.quiet_until, self.shedding.steady_until())
        room = self._capacity - self.ledger.used
        if self._pages is not None:
            return self._quiet_pages(steps, growth, room)
        if (room >= 0 or self._eviction) and steps * growth > room:
            steps = room // growth
        return steps

    def _quiet_pages(self, steps: int, growth: int, room: int) -> int:
        """The same where KV comes in blocks: as long as it fits although everybody's last block was just begun."""
        if not self._eviction and self.ledger.spare > room:
            return steps  # too much is taken already, and each step counts as that
        room -= (self.engine.block_size - 1) * len(self.residents)
        return max(min(steps, room // growth), 0)

    def advance(self, steps: int) -> None:
        """Take `steps` quiet iterations at once, at most as many as `quiet` has just said. Equal to planning each."""
        ledger = self.ledger
        decoded = self.decodes * self._block
        chunk = self.quiet_chunk
        growth = decoded + chunk
        if ledger.used + ledger.spare > self._capacity:
            self.oom_events += steps
        if self._pages is not None:
            self._pages.advance(self.decodes, steps)
        self.iterations += steps
        self.decode_positions += decoded * steps
        self.kv_token_iterations += steps * ledger.used + growth * (steps * (steps + 1) // 2)
        ledger.clock += steps
        ledger.used += growth * steps
        if chunk:
            seq = self.partials[0]
            filled = chunk * steps
            if self._pages is not None:
                self._pages.fill(seq.filled, seq.filled + filled)
            seq.filled += filled
            ledger.unfilled -= filled
            self.prefill_positions += filled
            if self._share is not None:
                self._share.owe(steps, self._share.granted(chunk, decoded))
            if seq.evictions:
                self._count_again(seq, filled)
        if self._order_rested:
            self.order.rested(steps, self.partials[0] if chunk else None, chunk)
        if ledger.used > self.kv_peak:
            self.kv_peak = ledger.used

    def asked(self, batch: Batch) -> bool:
        """Whether the order had the word in the last plan, which made this batch.

        The time alone does not tell: where prompts take no time, the next plan is made at the same moment.
        """
        return self.asked_in + bool(batch.positions) == self.iterations

    def steady_until(self) -> float:
        """Until when, in seconds, need a host with nothing to run not ask again, unless something arrives?"""
        return min(self.order.steady_until(self.asked_at), self.shedding.steady_until())

    def _shed(self, batch: Batch, now: float) -> None:
        """Reject or demote who cannot make it any more, unless it has held KV already."""
        for seq in self.shedding.due(now):
            if seq.state == RESERVED and not self.shedding.demotes:
                self._give_up(seq, REJECTED, now)
                batch.ended.append(seq)
                continue
            if seq.state != WAITING or seq.evictions:
                continue
            if self.shedding.demotes:
                seq.state = DEMOTED
                seq.demoted = True
                self.demotions += 1
                self._blocked = False
                self.order.remove(seq)
                self.demoted[seq] = None
            else:
                self._leave_queue(seq, REJECTED, now)
                batch.ended.append(seq)

    def _give_up(self, seq: Sequence, state: int, now: float) -> None:
        """End a reservation."""
        seq.state = state
        if self._sheds:
            self.shedding.left(seq, now)

    def _leave_queue(self, seq: Sequence, state: int, now: float) -> None:
        if seq.state == DEMOTED:
            del self.demoted[seq]
            seq.state = state
        else:
            seq.state = state
            self.order.remove(seq)
        self.waiting -= 1
        self._blocked = False
        if self._sheds:
            self.shedding.left(seq, now)

    def _decode_in_slots(self, batch: Batch, now: float, ending: Items[tuple[Sequence, int]]) -> None:
        """Give free decode slots to those whose prompt is filled, and let everybody with a slot decode."""
        while True:
            if self.ready and self.decodes < self._decode_slots:
                self._resume(batch)
            if not self.decodes:
                return
            self._decode(batch, now, ending)
            if self.decodes or not self.ready:  # otherwise everybody with a slot gave way
                return

    def _resume(self, batch: Batch) -> None:
        resumed = [*batch.resumed]
        while self.ready and self.decodes < self._decode_slots:
            seq = self.order.next_ready(self.ready)
            del self.ready[seq]
            self._start_decoding((seq,), 0)
            resumed.append(seq)
        batch.resumed = resumed
        self._blocked = False

    def _decode(self, batch: Batch, now: float, ending: Items[tuple[Sequence, int]]) -> None:
        """Let everybody decode."""
        growth = self.decodes * self._block
        for seq, positions in ending:
            if seq.state == DECODING:
                seq.ending = positions
                growth -= positions
        if self._pages is not None:
            growth = self._take_pages(self._pages, batch, now, growth, ending)
        elif self._eviction and self.ledger.used + growth > self._capacity:
            growth, _ = self._evict(batch, now, growth, growth, ending)
        self.ledger.used += growth
        batch.decodes = self.decodes
        batch.decode_positions = growth

    def _take_pages(
        self, pages: PagedLedger, batch: Batch, now: float, growth: int, ending: Items[tuple[Sequence, int]]
    ) -> int:
        """Take the KV blocks of everybody's next decode block; return the positions that then grow."""
        taken = self._taken(pages, ending)
        if self._eviction and pages.used + pages.spare + taken > self._capacity:
            growth, taken = self._evict(batch, now, growth, taken, ending)
        pages.spare += taken - growth
        return growth

    def _taken(self, pages: PagedLedger, ending: Items[tuple[Sequence, int]]) -> int:
        """Tokens of the KV blocks that everybody's next decode block takes."""
        taken = pages.step(self.decodes)
        for seq, positions in ending:
            if seq.state == DECODING:
                taken -= pages.unneeded(seq.held_at(pages.clock, self._block), positions)
        return taken

    def _evict(
        self, batch: Batch, now: float, growth: int, taken: int, ending: Items[tuple[Sequence, int]]
    ) -> tuple[int, int]:
        """Take KV away until what this iteration takes fits; return its positions then, and what they take."""
        ledger, pages = self.ledger, self._pages
        while ledger.used + ledger.spare + taken > self._capacity:
            alone = len(self.residents) == 1
            victim = next(iter(self.residents)) if alone else self.eviction.victim(self.residents, ledger)
            if victim.state == DECODING:
                growth -= self._block - victim.ending
            self._take_back(batch, victim, now, alone=alone)
            taken = growth if pages is None else self._taken(pages, ending)
        return growth, taken

    def _take_back(self, batch: Batch, victim: Sequence, now: float, *, alone: bool) -> None:
        """Send a resident back to the head of the queue, or end it where it can never fit."""
        victim.generated = victim.generated_at(self.ledger.clock, self._block)
        victim.computed = max(victim.computed, victim.held_at(self.ledger.clock, self._block))
        self._release(victim)
        if victim in batch.resumed:
            batch.resumed = [seq for seq in batch.resumed if seq is not victim]
        victim.prompt = victim.request.prompt_tokens + victim.generated
        victim.filled = 0
        victim.ending = 0
        if alone or victim.prompt > self._capacity:
            victim.state = REJECTED
            victim.reason = "kv_capacity"
            batch.ended.append(victim)
            return
        victim.state = WAITING
        victim.evictions += 1
        self.evictions += 1
        self.waiting += 1
        batch.evicted.append(victim)
        self.order.back(victim, now)

    def _release(self, seq: Sequence) -> None:
        """Free everything that a resident holds or was promised, before its state changes."""
        ledger, pages = self.ledger, self._pages
        held = seq.held_at(ledger.clock, self._block)
        ledger.used -= held
        if seq.state == DECODING:
            self.decodes -= 1
            if pages is not None:
                pages.stop(held)
        else:
            if pages is not None:
                pages.leave(seq.prompt, held)
            ledger.unfilled -= seq.prompt - seq.filled
            if seq.state == READY:
                del self.ready[seq]
            else:
                self.partials.remove(seq)
        self._vacate(seq)
        if self._memory_listens:
            self.memory.left(seq, ledger)

    def _vacate(self, seq: Sequence) -> None:
        del self.residents[seq]
        self.ledger.residents -= 1
        self._blocked = False
        if self._order_gone:
            self.order.gone(seq)

    def _continue_prompts(self, batch: Batch, now: float, space: int) -> int:
        """Fill prompts that earlier iterations began, oldest first; return the space left."""
        for seq in self.partials:
            if space <= 0:
                break
            space -= self._fill(batch, seq, now, space)
        if batch.joined:
            self.partials = [seq for seq in self.partials if seq.filled < seq.prompt]
        if self.partials and self._eviction and not batch.chunks and not self.decodes:
            # Half-filled prompts hold all the memory and nobody can move: the rule's victim gives way.
            self._take_back(batch, self.eviction.victim(self.residents, self.ledger), now, alone=False)
            return self._continue_prompts(batch, now, space)
        return space

    def _fill(self, batch: Batch, seq: Sequence, now: float, space: int) -> int:
        """Prefill the next chunk of a prompt; return its positions, 0 where memory has no room left."""
        ledger = self.ledger
        need = take = seq.prompt - seq.filled
        if take > space:
            take = space
        if take > self._chunk_cap:
            take = self._chunk_cap
        if self._eviction:
            room = self._capacity - ledger.used - ledger.spare
            if take > room:
                take = min(take, room + -seq.filled % ledger.block_size)
        if take > 0:
            if self._pages is not None:
                self._pages.fill(seq.filled, seq.filled + take)
            seq.filled += take
            ledger.used += take
            ledger.unfilled -= take
            batch.chunks.append((seq, take))
            batch.prefill_positions += take
            if seq.evictions:
                self._count_again(seq, take)
        if take == need:
            batch.joined.append(seq)
            if self._order_prefills:
                self.order.prefilled(seq, now)
            self._blocked = False
        return take

    def _cached(self, seq: Sequence) -> int:
        """Tokens at the start of a prompt that need not be computed; the last one is computed in any case."""
        return 0 if self.cache is None else self.cache.cached(seq.request, seq.prompt - 1)

    def _load(self, cache: PrefixCache, seq: Sequence) -> None:
        """Fill the start of a prompt from the cache, as far as memory has room."""
        ledger = self.ledger
        most = seq.prompt - 1
        if self._eviction:
            most = min(most, self._capacity - ledger.used - ledger.spare)
        tokens = cache.cached(seq.request, most)
        if tokens:
            cache.use(seq.request, tokens)
            if self._pages is not None:
                self._pages.fill(0, tokens)
            seq.filled = tokens
            ledger.used += tokens
            ledger.unfilled -= tokens

    def _count_again(self, seq: Sequence, take: int) -> None:
        """Count those of the positions just filled that had been computed before an eviction."""
        self.recomputed += max(min(take, take - seq.filled + seq.computed), 0)

    def _round_is_due(self) -> bool:
        if self._interval == 1 or not self.decodes:
            return True
        clock = self.ledger.clock
        return clock % self._interval == 0 and clock != self._last_round

    def _admit(self, batch: Batch, now: float, space: int) -> None:
        """Ask the order for candidates and the memory rule for each, while there is space."""
        self._last_round = self.ledger.clock
        self.asked_at = now
        self.asked_in = self.iterations
        self._blocked = False
        self.refused = None
        order, memory, ledger, residents = self.order, self.memory, self.ledger, self.residents
        if self._memory_looks:
            memory.round_begins(ledger)
        refused: Sequence | None = None
        while space > 0 and len(residents) < self._slots and len(self.partials) < self._partial_limit:
            seq = order.next(now, space, refused) if order.returned else self._ask(now, space, refused)
            if seq is None and self.demoted and self.waiting == len(self.demoted) and refused is None:
                seq = next(iter(self.demoted))  # nobody else is left
            if seq is None:
                # Where prompts took some of the space, a choosy order may name another one in the next iteration.
                self._blocked = (refused is None or memory.steady) and not (order.choosy and batch.chunks)
                self.refused = None if refused is None else self.refused
                return
            if residents and not memory.fits(seq, ledger):
                self.refused = seq if refused is None else self.refused
                refused = self.refused_last = seq
                continue
            refused = None
            if seq.state == DEMOTED:
                del self.demoted[seq]
                seq.state = WAITING
                order.push(seq, now)  # back in its hands, since it hears of the admission
            seq.state = FILLING
            if self._sheds and seq.start < 0:
                self.shedding.left(seq, now)
            if seq.start < 0:
                seq.start = now
            self.waiting -= 1
            residents[seq] = None
            ledger.residents += 1
            ledger.unfilled += seq.prompt
            if self._pages is not None:
                self._pages.admit(seq.prompt)
            batch.admitted.append(seq)
            if self._order_admits:
                order.admitted(seq, now)
            if self._memory_listens:
                memory.admitted(seq, ledger)
            if self.cache is not None:
                self._load(self.cache, seq)
            space -= self._fill(batch, seq, now, space)
            if seq.filled < seq.prompt:
                self.partials.append(seq)


def _ticket(seq: Sequence) -> int:
    return seq.ticket
