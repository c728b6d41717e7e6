"""The simulated engine: event driven, token level, exact.

It is a host like any other: it submits what has arrived, asks the scheduler for a plan at every batch boundary, lets
the cost model say how long the batch takes, and books what ended. It alone knows how long answers really are, and
keeps a calendar of the decode iterations in which they end. Between two events nothing changes but the context, and
several iterations are taken in one exact step.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Items

from headway.core.batch import Batch
from headway.core.cost import CostModel
from headway.core.errors import HeadwayError
from headway.core.journal import Journal
from headway.core.pools import PooledEngine
from headway.core.request import Request
from headway.core.scheduler import Scheduler
from headway.core.sequence import DECODING, FINISHED, OUTCOMES, REJECTED, Sequence
from headway.simulate.memory_watch import MemoryWatch
from headway.simulate.outcomes import Decoding, Outcomes
from headway.simulate.patience import Patience
from headway.simulate.work_log import WorkLog

STEADY_AFTER = 1000  # finishes: by then a rule that learns from them has learnt
STRIDE = 1024  # arrivals from one progress report, and one packing, to the next
MOST_SAMPLES = 4000  # of the timeline: twice what is wanted, before it is thinned out


class SimulatedEngine:
    """Runs one scheduler over a list of requests whose output lengths only this host knows.

    Args:
        scheduler: fresh, built for the engine whose cost model is given.
        requests: in order of arrival; each `id` is its row, counted from 0.
        arrivals: seconds, in order, one a request; with `clients` they are not looked at.
        outputs: true output lengths in tokens, one a request.
        cost: how long an iteration takes.
        sample_every: seconds from one sample of the timeline to the next, more where a run turns out long; infinite
            for none.
        fast_forward: take iterations in which nothing is decided in one step; the result is the same either way.
        watch_future: compute what the residents' true lengths will require, after every admission round.
        steady_after: finishes after which the steady part of the run begins.
        clients: that send the requests, each its next one when its last one has ended; None for arrivals as given.
        patience: seconds without a token after which a client leaves; None for ever.
        work: takes notes of the work done for each request; None keeps none.
        journal: note what kept waiting requests out.
        progress: told how many requests have arrived, now and then.
    """

    __slots__ = (
        "_apart",
        "_booked",
        "_calendar",
        "_closed",
        "_delivered",
        "_due",
        "_fresh",
        "_joined_at",
        "_mark_at",
        "_pausing",
        "_ready_ends",
        "_residence",
        "_sample_at",
        "_segments",
        "_sent",
        "_watch_fresh",
        "arrivals",
        "arrived",
        "block",
        "cost",
        "decoding",
        "emits",
        "fast_forward",
        "finished",
        "idle",
        "journal",
        "now",
        "outcomes",
        "outputs",
        "patience",
        "progress",
        "requests",
        "sample_every",
        "scheduler",
        "timeline",
        "watch",
        "work",
        "work",
    )

    def __init__(
        self,
        scheduler: Scheduler,
        requests: Iterator[Request],
        arrivals: list[float],
        outputs: list[int],
        cost: CostModel,
        *,
        sample_every: float = math.inf,
        fast_forward: bool = True,
        watch_future: bool = False,
        steady_after: int = STEADY_AFTER,
        clients: int | None = None,
        patience: float | None = None,
        work: WorkLog | None = None,
        journal: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.scheduler = scheduler
        self.requests = requests
        self._closed = clients is not None
        if clients is not None:
            arrivals = [0.0 if row < clients else math.inf for row in range(len(outputs))]
        self.arrivals = [*arrivals, math.inf]
        self._sent: int = len(outputs) if clients is None else min(clients, len(outputs))
        self.outputs = outputs
        self.cost = cost
        self.fast_forward = fast_forward and cost.steady
        self.sample_every = sample_every
        self.progress = progress
        self.work = work
        self.block = scheduler.engine.decode_block
        self._pausing = scheduler.pauses
        self.emits = 1 if scheduler.engine.first_token == "prefill" else 0
        self._watch_fresh = self._pausing or not self.emits
        self.now: float = 0.0
        self.idle: float = 0.0
        self.arrived: int = 0
        self.outcomes = Outcomes(len(outputs))
        self.watch = MemoryWatch(scheduler, outputs, watch_future=watch_future)
        self.journal = Journal(scheduler) if journal else None
        self._mark_at: int = steady_after  # finishes at which the steady part begins
        self.finished: int = 0
        self.decoding = Decoding()
        self._segments: list[float] = []  # not yet packed: a list grows faster than an array
        self._residence: list[int] = []
        self.timeline: list[tuple[float, int, int, int]] = []
        self._sample_at: float = 0.0 if sample_every < math.inf else math.inf
        self._calendar: dict[int, list[Sequence]] = {}  # decode clock -> whose answers end in it
        self._due: list[int] = []  # heap of the calendar's keys
        self._booked: list[int] = [0] * len(outputs)  # the key under which a row stands; 0 while it is in no calendar
        self._fresh: list[Sequence] = []  # joined, and not yet through a decode iteration, where that matters
        self._joined_at: dict[Sequence, float] = {}  # of fresh sequences, while decodes are paused
        self._apart: set[Sequence] = set()  # whose first gap is noted apart
        self._ready_ends: dict[Sequence, int] = {}  # wait for a slot and end in their first block: what it leaves empty
        self._delivered: float = 0.0  # end of the last decode iteration
        self.patience = None if patience is None else Patience(patience, len(outputs))

    def run(self) -> bool:
        """Run until every request has ended; return False when interrupted before that (Ctrl-C)."""
        try:
            self._loop()
        except KeyboardInterrupt:
            return False
        finally:
            self._pack()
        return True

    def _loop(self) -> None:  # noqa: C901, PLR0912, PLR0915 - the inner loop: a call costs more than the lines it saves
        """Go on by the quiet iterations up to the next event, or by one planned iteration, until all have ended."""
        scheduler, arrivals, calendar, segments = self.scheduler, self.arrivals, self._calendar, self._segments
        ledger, plan, complete, seconds = scheduler.ledger, scheduler.plan, scheduler.complete, self.cost.seconds
        fast_forward, blocks = self.fast_forward, self.block > 1
        watching, undrained, patience = self.watch.watch_future, True, self.patience
        work, journal = self.work, self.journal
        pooled, ready_ends = isinstance(scheduler.engine, PooledEngine), self._ready_ends
        while True:
            now = self.now
            if arrivals[self.arrived] <= now:
                self._submit(now)
            if patience is not None:
                self._clients_leave(patience, now)
            if fast_forward and self._coast():
                now = self.now
                if patience is not None or arrivals[self.arrived] <= now:
                    continue  # what has arrived may change nothing
            clock = ledger.clock + 1
            due = calendar.get(clock)
            batch = plan(now, self._ending(due)) if blocks and (due or ready_ends) else plan(now)
            if batch.evicted or batch.ended:
                self._set_back(batch)
            if journal is not None and not (scheduler.partials and scheduler.partials[0] is journal.filling):
                journal.planned(now, batch)
            if pooled and batch.resumed:
                self._resume(batch.resumed, clock - 1, now)
                due = calendar.get(clock)
            if not (batch.decodes or batch.chunks):
                if batch.ended or self._wait(now):
                    continue
                return
            if patience is not None and batch.chunks:
                patience.waste.filled(batch.chunks)
            span = seconds(batch.prefill_positions, batch.decode_positions, batch.context)
            self.now = end = now + span
            finished: list[Sequence] = []
            if batch.decodes:
                gap = span + (now - self._delivered)
                if self._fresh:
                    self._first_decode(end, apart=pooled or now != self._delivered)
                segments += (clock - 1, 1, gap, gap, end)
                self._delivered = end
                if due is not None:
                    finished = calendar.pop(clock)
            else:
                clock -= 1
            if work is not None:
                work.filled(batch.chunks, end)
            if batch.joined or (pooled and batch.held):
                self._join(batch.joined, clock, end, finished, self.emits)
                if pooled:
                    self._hold(batch.held, end, finished)
                if not scheduler.decodes:
                    self._delivered = end  # nobody is paused: gaps count from here
            complete(batch, end, finished)
            if watching and scheduler.asked(batch):
                self.watch.round_ended()
            if finished:
                self._finish(finished, clock, end)
            if undrained and not scheduler.waiting and self.arrived == len(self.outputs):
                undrained = False
                self.watch.drained()
            if end >= self._sample_at:
                self._sample(now)

    def _submit(self, now: float) -> None:
        arrivals, arrived = self.arrivals, self.arrived
        submit, requests = self.scheduler.submit, self.requests
        while arrivals[arrived] <= now:
            request = next(requests)
            if self._closed:
                request = request._replace(arrival=arrivals[arrived])
            seq = submit(request, arrivals[arrived])
            if seq.state == REJECTED:
                self._end(seq, arrivals[arrived])
            elif self.patience is not None:
                self.patience.wait(seq, arrivals[arrived])
            arrived += 1
            if arrived % STRIDE == 0:
                self._pack()
                if self.progress is not None:
                    self.progress(arrived)
        self.arrived = arrived

    def _send(self, requests: int) -> None:
        """So many requests have ended: in a closed loop their clients send the next ones of the trace now."""
        first, self._sent = self._sent, min(self._sent + requests, len(self.outputs))
        for row in range(first, self._sent):
            self.arrivals[row] = self.now

    def _clients_leave(self, patience: Patience, now: float) -> None:
        """Cancel the requests whose clients have heard nothing for too long; what they send instead arrives now."""
        scheduler, heard = self.scheduler, self._heard
        while True:
            gone = patience.leaving(now, heard)
            if scheduler.decodes > len(self._fresh) and patience.over(self._delivered, now):
                # A pause has lasted too long for everybody who decoded before it.
                residents = scheduler.residents
                gone += [seq for seq in residents if seq.state == DECODING and patience.over(heard(seq), now)]
            if not gone:
                return
            for seq in sorted(set(gone), key=_ticket):
                scheduler.cancel(seq, now)
                seq.reason = "client_left"
                patience.waste.left(seq)
                self._unbook(seq)
                self._end(seq, now)
            if self.arrivals[self.arrived] <= now:
                self._submit(now)

    def _heard(self, seq: Sequence) -> float:
        """When did its client last hear something, a token or its own sending? Infinite once it has ended."""
        state = seq.state
        if state == DECODING and (self.emits or seq.joined < self.scheduler.ledger.clock):
            return self._joined_at.get(seq, self._delivered)
        if state in OUTCOMES:
            return math.inf
        last = self.outcomes.finish[seq.id]
        return self.arrivals[seq.id] if math.isnan(last) else last

    def _pack(self) -> None:
        """Move what was noted into arrays, which take a third of the memory."""
        self.decoding.segments.fromlist(self._segments)
        self.decoding.residence.fromlist(self._residence)
        self._segments.clear()
        self._residence.clear()
        if self.journal is not None:
            self.journal.pack()

    def _wait(self, now: float) -> bool:
        """Nothing to run: go to the next arrival, or to the time when the policy's answer may change."""
        waiting = self.scheduler.waiting
        wake = self.arrivals[self.arrived]
        if waiting:
            wake = min(wake, self.scheduler.steady_until())
            if self.patience is not None:
                wake = min(wake, self.patience.next(self._heard))
            if not now < wake < math.inf:
                raise HeadwayError(f"the policy leaves {waiting} requests waiting for ever on an empty engine")
        if wake == math.inf:
            return False
        self.now = wake
        self.idle += wake - now
        return True

    def _ending(self, due: list[Sequence] | None) -> list[tuple[Sequence, int]]:
        """Positions that the last blocks of these and of those who wait for a slot leave empty, where any are."""
        block, outputs = self.block, self.outputs
        ending: list[tuple[Sequence, int]] = [*self._ready_ends.items()]
        for seq in due or ():
            empty = (seq.generated - outputs[seq.id]) % block
            if empty:
                ending.append((seq, empty))
        return ending

    def _join(self, joined: Items[Sequence], clock: int, now: float, finished: list[Sequence], emitted: int) -> None:
        """Book when the answers of those that decode from now on will end; those with nothing to decode end now.

        Each has just `emitted` a first token since (re)admission, or has not.
        """
        first_token = self.outcomes.first_token
        for seq in joined:
            row = seq.id
            remaining = self.outputs[row] - seq.generated
            if remaining > 0 and emitted:
                remaining -= 1
                if self._pausing or seq.generated:
                    self._deliver_first(seq, row, now)
                else:
                    first_token[row] = now
            if remaining <= 0:
                finished.append(seq)
                continue
            due = clock - (-remaining // self.block)
            booked = self._calendar.get(due)
            if booked is None:
                self._calendar[due] = [seq]
                heapq.heappush(self._due, due)
            else:
                booked.append(seq)
            self._booked[row] = due
            if self._watch_fresh:
                self._fresh.append(seq)

    def _hold(self, held: Items[Sequence], now: float, finished: list[Sequence]) -> None:
        """Those have their prompt filled and must wait for a decode slot; those with nothing to decode end now."""
        for seq in held:
            row = seq.id
            remaining = self.outputs[row] - seq.generated
            if remaining > 0 and self.emits:
                remaining -= 1
                self._deliver_first(seq, row, now)
                self.outcomes.finish[row] = now  # its next gap counts from here
                if self.patience is not None:
                    self.patience.wait(seq, now)
            if remaining <= 0:
                finished.append(seq)
            elif remaining < self.block:
                self._ready_ends[seq] = self.block - remaining

    def _resume(self, resumed: Items[Sequence], clock: int, now: float) -> None:
        """Those have got a decode slot, after so many decode iterations."""
        self._join(resumed, clock, now, [], 0)
        for seq in resumed:
            self._ready_ends.pop(seq, None)
            if self.emits and seq.ready_at != now:  # its gap is longer than everybody else's
                self._fresh.append(seq)
                self._joined_at[seq] = seq.ready_at

    def _deliver_first(self, seq: Sequence, row: int, now: float) -> None:
        """The first token since (re)admission: the request's first one, or the end of the gap that eviction made."""
        first_token = self.outcomes.first_token
        if seq.generated:
            self._note_gap(row, now - self.outcomes.finish[row])  # where the evicted request left off
            if self.work is not None:
                self.work.returned(seq, now)
        else:
            first_token[row] = now
        if self._pausing and self.emits:
            self._joined_at[seq] = now
            if self.patience is not None:
                self.patience.wait(seq, now)  # the pause may last

    def _first_decode(self, now: float, *, apart: bool) -> None:
        """A decode iteration ends: the first one of the fresh sequences, whose gap is their own where it is `apart`.

        With pools, those that got a slot at once are not among them where prefill emits the first token.
        """
        if not self.emits:
            first_token = self.outcomes.first_token
            for seq in self._fresh:
                if self._pausing or seq.generated:
                    self._deliver_first(seq, seq.id, now)
                else:
                    first_token[seq.id] = now
        elif apart:
            # They joined in a pause, so that theirs was shorter than everybody else's, or waited for a slot.
            for seq in self._fresh:
                self._note_gap(seq.id, now - self._joined_at[seq])
                self._apart.add(seq)
        self._fresh.clear()
        self._joined_at.clear()

    def _note_gap(self, row: int, seconds: float) -> None:
        """Note a gap that is one request's alone."""
        self.decoding.stray.extend((row, seconds))

    def _coast(self) -> bool:
        """Take the iterations in which nothing is decided, up to the next arrival or ending; False if there is none."""
        scheduler = self.scheduler
        steps = scheduler.quiet()
        if steps < 1:
            return False
        ledger = scheduler.ledger
        clock = ledger.clock
        due = self._due
        while due[0] <= clock:
            heapq.heappop(due)
        if steps > due[0] - 1 - clock:
            steps = due[0] - 1 - clock
        now = self.now
        if steps < 1 or now != self._delivered:  # the gap after a pause is no part of a segment
            return False
        limit = self.arrivals[self.arrived] if scheduler.quiet_open else math.inf
        if limit > scheduler.quiet_until:
            limit = scheduler.quiet_until
        if self.patience is not None:
            limit = min(limit, self.patience.next(self._heard), self.arrivals[self.arrived] + self.patience.seconds)
        if now >= limit:
            return False
        decode, prefill = scheduler.decodes * self.block, scheduler.quiet_chunk
        taken, end, first, last = self.cost.coast(now, limit, steps, decode, ledger.used, prefill)
        scheduler.advance(taken)
        if prefill and self.work is not None:
            self.work.filled_quietly(scheduler.partials[0], prefill, clock, taken)
        if prefill and self.patience is not None:
            self.patience.waste.filled([(scheduler.partials[0], prefill * taken)])
        journal = self.journal
        if journal is not None and (
            scheduler.partials[0] is not journal.filling if prefill else journal.settled is not (scheduler.waiting > 0)
        ):
            journal.rested(now)
        if self._fresh:
            self._first_decode(now + first, apart=False)
        self._segments += (clock, taken, first, last, end)
        self.now = self._delivered = end
        if end >= self._sample_at:
            self._sample(now)
        return True

    def _leave(self, seq: Sequence, clock: int) -> None:
        """A sequence stops decoding after `clock` decode iterations: keep its residence."""
        # The first decode delivers the first token where prefill did not: no gap lies before it.
        joined = seq.joined if self.emits else seq.joined + 1
        if self._apart and seq in self._apart:
            self._apart.remove(seq)
            joined += 1
        if clock > joined:
            self._residence += (seq.id, joined, clock)
        if self.work is not None:
            self.work.stopped(seq, clock)

    def _set_back(self, batch: Batch) -> None:
        """The plan evicted or ended some sequences before this iteration."""
        self.watch.evicted(batch.evicted)
        if self.journal is not None:
            self.journal.unsettle()
        for seq in batch.evicted + batch.ended:
            self._unbook(seq)
        for seq in batch.ended:  # an evicted one may run again already, where nobody else was left
            self._end(seq, self.now)
        if self.patience is not None:
            for seq in batch.evicted:
                self.patience.wait(seq, self._heard(seq))

    def _unbook(self, seq: Sequence) -> None:
        """It decodes no more, if it did, and no answer of it ends."""
        due = self._booked[seq.id]
        if due:
            self._calendar[due].remove(seq)
            self._booked[seq.id] = 0
            self._leave(seq, self.scheduler.ledger.clock)
            self._note_last_delivery(seq)
        else:
            self._ready_ends.pop(seq, None)

    def _note_last_delivery(self, seq: Sequence) -> None:
        """An evicted sequence's next gap counts from its last token; `finish` keeps that time until it ends."""
        if seq not in self._fresh:
            self.outcomes.finish[seq.id] = self._delivered
            return
        self._fresh.remove(seq)
        if self.emits:
            self.outcomes.finish[seq.id] = self._joined_at.pop(seq, self._delivered)

    def _finish(self, finished: list[Sequence], clock: int, now: float) -> None:
        """Keep what is known of requests whose answers are complete."""
        self.finished += len(finished)
        if self.finished >= self._mark_at:
            self._mark_at = len(self.outputs) + 1
            self.watch.steady_begins()
        outcomes, booked, outputs = self.outcomes, self._booked, self.outputs
        start, finish, state, generated = outcomes.start, outcomes.finish, outcomes.state, outcomes.generated
        for seq in finished:
            row = seq.id
            if booked[row]:
                booked[row] = 0
                self._leave(seq, clock)
            start[row] = seq.start
            finish[row] = now
            state[row] = FINISHED
            generated[row] = outputs[row]
            if seq.evictions:
                outcomes.evictions[row] = seq.evictions
            if seq.demoted:
                outcomes.demoted.append(row)
        if self._closed:
            self._send(len(finished))

    def _end(self, seq: Sequence, now: float) -> None:
        """Keep what is known of a request that ended without a complete answer."""
        row = seq.id
        outcomes = self.outcomes
        if seq.start >= 0:
            outcomes.start[row] = seq.start
        outcomes.finish[row] = now
        outcomes.state[row] = seq.state
        outcomes.generated[row] = seq.generated
        outcomes.evictions[row] = seq.evictions
        if seq.demoted:
            outcomes.demoted.append(row)
        if seq.reason is not None:
            outcomes.reasons[row] = seq.reason
        if self._closed:
            self._send(1)

    def _sample(self, time: float) -> None:
        scheduler, timeline = self.scheduler, self.timeline
        timeline.append((time, scheduler.waiting, len(scheduler.residents), scheduler.ledger.used))
        if len(timeline) == MOST_SAMPLES:  # how long a run takes is not known before
            del timeline[1::2]
            self.sample_every = (time - timeline[0][0]) * 2 / MOST_SAMPLES
        self._sample_at = self.now + self.sample_every


def _ticket(seq: Sequence) -> int:
    return seq.ticket
