"""The naive engine: touches every request in every iteration, keeps no running total, skips nothing.

It reads the same rules as the scheduler and shares none of its bookkeeping: sums are made anew from the residents
each time they are asked for. Slow, and easy to believe; the fuzz compares every fast engine with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence as Items
from dataclasses import dataclass
from fractions import Fraction

from headway.core.batch import Batch, PooledBatch
from headway.core.cost import CostModel
from headway.core.engine import EngineProfile
from headway.core.kv import KvLedger, new_ledger
from headway.core.pools import PooledEngine
from headway.core.prefill_share import SHARE_WINDOW
from headway.core.request import Request
from headway.core.rules import Eviction, MemoryRule, Order
from headway.core.sequence import CANCELLED, DECODING, FILLING, FINISHED, OUTCOMES, READY, REJECTED, WAITING, Sequence
from headway.testing.naive_cache import NaiveCache


@dataclass(eq=False)
class NaiveRow:
    """One request; times in seconds, NaN for "never"."""

    seq: Sequence
    output: int
    held: int = 0
    produced: int = 0
    start: float = math.nan
    first_token: float = math.nan
    finish: float = math.nan
    last_token: float = math.nan
    largest_gap: float = math.nan
    computed: int = 0  # prompt positions, before any eviction


class NaiveEngine:
    """Runs requests through an order and a memory rule by the letter of the engine's description.

    Args:
        engine: sizes and modes.
        order: a fresh order.
        memory: a fresh memory rule.
        requests: in order of arrival; each `id` is its row, counted from 0.
        outputs: true output lengths in tokens.
        cost: how long an iteration takes.
        cancels: (time, row), in order of time.
        eviction: the eviction rule.
        prefill_share: what prompts are guaranteed.
        clients: that send the requests, each its next one when its last one has ended; None for arrivals as given.
        patience: seconds without a token after which a client leaves; None for ever.
    """

    def __init__(
        self,
        engine: EngineProfile,
        order: Order,
        memory: MemoryRule,
        requests: Items[Request],
        outputs: Items[int],
        cost: CostModel,
        cancels: Items[tuple[float, int]] = (),
        eviction: Eviction | None = None,
        prefill_share: Fraction | None = None,
        clients: int | None = None,
        patience: float | None = None,
    ) -> None:
        self.engine = engine
        self.order = order
        self.memory = memory
        self.eviction = eviction or Eviction()
        self.prefill_share = prefill_share or Fraction(0)
        self.most_prompt = engine.token_budget  # positions of prompts in an iteration
        self.most_decodes = engine.max_sequences
        if isinstance(engine, PooledEngine):
            self.most_prompt = max(math.floor(engine.prompt_share * engine.token_budget), 1)
            self.most_decodes = (engine.token_budget - self.most_prompt) // engine.decode_block
        self.owed = Fraction(0)  # iterations that prompts may have to themselves
        self.requests = requests
        self.outputs = outputs
        self.cost = cost
        self.cancels = list(cancels)
        self.patience = math.inf if patience is None else patience
        arrivals = [request.arrival for request in requests]
        self.sent = arrivals if clients is None else [0.0 for _ in arrivals[:clients]]
        self.rows: list[NaiveRow] = []
        self.residents: list[NaiveRow] = []  # in order of admission
        self.now = 0.0
        self.clock = 0
        self.last_round = -1
        self.iterations = 0
        self.oom_events = 0
        self.kv_token_iterations = 0
        self.kv_peak = 0
        self.cached_positions = 0
        self.cache = NaiveCache(engine.prefix_cache or 0)
        if engine.prefix_cache is not None:
            order.attach_cache(lambda seq: sum(size for _, size in self.cache.cached(seq, math.inf)))

    def run(self) -> list[NaiveRow]:
        """Run until every request has ended."""
        while True:
            self._events()
            if self._iterate():
                continue
            wake = min([*self.sent[len(self.rows) :], *map(self._leaves_at, self._queue())], default=math.inf)
            if wake == math.inf:
                return self.rows
            self.now = wake

    def _events(self) -> None:
        self._arrive()
        self._cancel_as_told()
        self._arrive()  # in a closed loop, what those that left send instead
        while self._clients_leave():
            self._arrive()

    def _arrive(self) -> None:
        while len(self.rows) < len(self.sent) and self.sent[len(self.rows)] <= self.now:
            request = self.requests[len(self.rows)]._replace(arrival=self.sent[len(self.rows)])
            row = NaiveRow(Sequence(request, len(self.rows)), self.outputs[len(self.rows)])
            self.rows.append(row)
            if request.prompt_tokens > self.engine.kv_capacity:
                self._end(row, REJECTED, "kv_capacity")
                row.finish = request.arrival
            else:
                self.order.push(row.seq, request.arrival)

    def _cancel_as_told(self) -> None:
        while self.cancels and self.cancels[0][0] <= self.now and self.cancels[0][1] < len(self.rows):
            self._cancel(self.rows[self.cancels.pop(0)[1]])

    def _clients_leave(self) -> bool:
        """Cancel what belongs to clients that have heard nothing for too long; return whether there were any."""
        gone = [row for row in self.rows if row.seq.state not in OUTCOMES and self._leaves_at(row) <= self.now]
        for row in gone:
            self._cancel(row, "client_left")
        return bool(gone)

    def _leaves_at(self, row: NaiveRow) -> float:
        return (row.seq.arrival if math.isnan(row.last_token) else row.last_token) + self.patience

    def _cancel(self, row: NaiveRow, reason: str | None = None) -> None:
        waiting = row.seq.state == WAITING
        if row.seq.state not in OUTCOMES:
            self._end(row, CANCELLED, reason)
        if waiting:
            self.order.remove(row.seq)

    def _iterate(self) -> bool:
        """Plan and run one iteration; False when there is nothing to run."""
        engine = self.engine
        pausing = engine.mode == "prefill-first" or (self.owed >= 1 and bool(self._partials()))
        space = engine.token_budget
        self.admitted: list[Sequence] = []
        self.resumed: list[Sequence] = []
        set_back = False
        decoding: list[tuple[NaiveRow, int]] = []
        chunks: list[tuple[NaiveRow, int]] = []
        while not pausing:
            self._resume()
            decoding, somebody_left = self._decode()
            set_back = set_back or somebody_left
            if self._decoding() or not self._ready():
                break
        space = min(space - sum(tokens for _, tokens in decoding), self.most_prompt)
        for row in [row for row in self.residents if row.seq.state == FILLING]:
            space -= self._fill(row, space, chunks)
        while engine.eviction and self._partials() and not chunks and not self._decoding():
            self._evict(self._victim())
            set_back = True
            for row in self._partials():
                space -= self._fill(row, space, chunks)
        evicted = set_back
        on_time = self.clock % engine.admission_interval == 0 and self.clock != self.last_round
        due = engine.admission_interval == 1 or not self._decoding() or on_time
        if due and space > 0 and not evicted and self._queue():
            self._admit(space, chunks)
        if pausing and not chunks:
            decoding, set_back = self._decode()
        if not decoding and not chunks:
            if not self._queue() or not set_back:
                return False
            self._admit(self.most_prompt, chunks)
        if self.prefill_share and (self._partials() or pausing):
            given = Fraction(sum(tokens for _, tokens in chunks), engine.token_budget)
            if given + Fraction(sum(tokens for _, tokens in decoding), engine.token_budget) < 1:
                given = Fraction(1)  # prompts took all that they could
            self.owed = min(max(self.owed + self.prefill_share - given, Fraction(0)), self.prefill_share * SHARE_WINDOW)
        self._run(decoding, chunks)
        return True

    def _run(self, decoding: list[tuple[NaiveRow, int]], chunks: list[tuple[NaiveRow, int]]) -> None:
        used = self._used()
        self.iterations += 1
        self.kv_token_iterations += used
        self.kv_peak = max(self.kv_peak, used)
        self.oom_events += self._taken() > self.engine.kv_capacity
        filled = [row for row, _ in chunks if row.seq.filled == row.seq.prompt]
        must_wait = bool(self._ready()) or len(decoding) + len(filled) > self.most_decodes
        prefill = sum(tokens for _, tokens in chunks)
        began = self.now
        self.now += self.cost.seconds(prefill, sum(tokens for _, tokens in decoding), used)
        seconds = self.now - began
        batch = self._batch(decoding, chunks)
        if must_wait:
            batch.held, batch.joined = batch.joined, []
        self.order.ran(batch, self.now, seconds)
        if decoding:
            self.clock += 1
        for row, tokens in decoding:
            self._deliver(row, tokens)
        for row in filled:
            emitted = 1 if self.engine.first_token == "prefill" else 0
            self._deliver(row, emitted)
            row.seq.generated = max(row.produced, emitted)  # the engine made a token, wanted or not
            self.cache.store(row.seq)
            if must_wait:
                row.seq.state = READY
                row.seq.ready_at = self.now
            else:
                self._start_decoding(row)
        done = [row for row in self.residents if row.seq.state in (DECODING, READY) and row.produced >= row.output]
        for row in sorted(done, key=lambda row: row.seq.ticket):
            row.seq.generated = max(row.seq.generated, row.produced)
            self._end(row, FINISHED)
            self.memory.finished(row.seq, self._ledger())
            self.order.finished(row.seq, self.now)

    def _resume(self) -> None:
        """Give free decode slots to those who wait for one."""
        while self._ready() and len(self._decoding()) < self.most_decodes:
            seq = self.order.next_ready(dict.fromkeys(row.seq for row in self._ready()))
            self._start_decoding(self.rows[seq.id])
            self.resumed.append(seq)

    def _start_decoding(self, row: NaiveRow) -> None:
        row.seq.state = DECODING
        row.seq.joined = self.clock
        self.memory.joined(row.seq, self._ledger())

    def _batch(self, decoding: list[tuple[NaiveRow, int]], chunks: list[tuple[NaiveRow, int]]) -> Batch:
        """What the scheduler would call this iteration."""
        batch = PooledBatch()
        batch.chunks = [(row.seq, tokens) for row, tokens in chunks]
        batch.joined = [row.seq for row, _ in chunks if row.seq.filled == row.seq.prompt]
        batch.admitted = self.admitted
        batch.resumed = [seq for seq in self.resumed if seq.state == DECODING]  # the others were evicted at once
        batch.decodes = len(decoding)
        batch.decode_positions = sum(tokens for _, tokens in decoding)
        batch.prefill_positions = sum(tokens for _, tokens in chunks)
        batch.context = self._used()
        return batch

    def _deliver(self, row: NaiveRow, tokens: int) -> None:
        row.produced += min(tokens, row.output - row.produced) if row.output else 0
        if row.output == 0 or tokens == 0:
            return
        if math.isnan(row.first_token):
            row.first_token = self.now
        else:
            gap = self.now - row.last_token
            row.largest_gap = gap if math.isnan(row.largest_gap) else max(gap, row.largest_gap)
        row.last_token = self.now

    def _decode(self) -> tuple[list[tuple[NaiveRow, int]], bool]:
        """Grow every decoding request by its block; evict until that fits."""
        set_back = False
        while True:
            wanted = [(row, min(self.engine.decode_block, row.output - row.produced)) for row in self._decoding()]
            growth = sum(self._blocks(row.held + tokens) - self._blocks(row.held) for row, tokens in wanted)
            if not wanted or not self.engine.eviction or self._taken() + growth <= self.engine.kv_capacity:
                break
            if len(self.residents) == 1:
                self._end(self.residents[0], REJECTED, "kv_capacity")
            else:
                self._evict(self._victim())
            set_back = True
        for row, tokens in wanted:
            row.held += tokens
        return wanted, set_back

    def _victim(self) -> NaiveRow:
        residents = dict.fromkeys(row.seq for row in self.residents)
        victim = self.eviction.victim(residents, self._ledger())
        return next(row for row in self.residents if row.seq is victim)

    def _evict(self, row: NaiveRow) -> None:
        seq = row.seq
        seq.generated = row.produced
        seq.computed = max(seq.computed, row.held)
        self.residents.remove(row)
        self.order.gone(seq)
        row.held = 0
        seq.filled = 0
        seq.prompt = seq.request.prompt_tokens + row.produced
        self.memory.left(seq, self._ledger())
        if seq.prompt > self.engine.kv_capacity:
            self._end(row, REJECTED, "kv_capacity")
            return
        seq.state = WAITING
        seq.evictions += 1
        self.order.back(seq, self.now)

    def _fill(self, row: NaiveRow, space: int, chunks: list[tuple[NaiveRow, int]]) -> int:
        if space <= 0:
            return 0
        seq = row.seq
        take = min(seq.prompt - seq.filled, space, self.engine.chunk_cap or space, self.order.chunk_cap or space)
        if self.engine.eviction:
            take = min(take, self.engine.kv_capacity - self._taken() + self._blocks(row.held) - row.held)
        if take > 0:
            seq.filled += take
            row.held += take
            row.computed += take if seq.evictions == 0 else 0
            chunks.append((row, take))
        if seq.filled == seq.prompt:
            self.order.prefilled(seq, self.now)
        return take

    def _admit(self, space: int, chunks: list[tuple[NaiveRow, int]]) -> None:
        engine = self.engine
        self.last_round = self.clock
        self.memory.round_begins(self._ledger())
        refused: Sequence | None = None
        limit = engine.partial_prompts or engine.max_sequences
        while space > 0 and len(self.residents) < engine.slots and len(self._partials()) < limit:
            seq = self.order.next(self.now, space, refused)
            if seq is None:
                return
            if self.residents and not self.memory.fits(seq, self._ledger()):
                refused = seq
                continue
            refused = None
            row = next(row for row in self.rows if row.seq is seq)
            seq.state = FILLING
            if math.isnan(row.start):
                row.start = self.now
            self.residents.append(row)
            self.admitted.append(seq)
            self.order.admitted(seq, self.now)
            self.memory.admitted(seq, self._ledger())
            self._load(row)
            space -= self._fill(row, space, chunks)

    def _load(self, row: NaiveRow) -> None:
        """Copy what the cache has of a prompt, as far as there is room."""
        room = self.engine.kv_capacity - self._taken() if self.engine.eviction else math.inf
        blocks = self.cache.cached(row.seq, room)
        self.cache.touch(blocks)
        row.held = row.seq.filled = sum(size for _, size in blocks)
        self.cached_positions += row.held

    def _end(self, row: NaiveRow, state: int, reason: str | None = None) -> None:
        row.seq.state = state
        row.seq.reason = reason
        row.finish = self.now
        if len(self.sent) < len(self.requests):
            self.sent.append(self.now)  # a client is free, and sends the next one
        if row in self.residents:
            self.residents.remove(row)
            row.held = 0
            row.seq.generated = max(row.seq.generated, row.produced)
            self.order.gone(row.seq)
            self.memory.left(row.seq, self._ledger())

    def _decoding(self) -> list[NaiveRow]:
        return [row for row in self.residents if row.seq.state == DECODING]

    def _ready(self) -> list[NaiveRow]:
        """Who waits for a decode slot, by when their prompts were filled, then by admission."""
        rows = [row for row in self.residents if row.seq.state == READY]
        return sorted(rows, key=lambda row: row.seq.ready_at)

    def _partials(self) -> list[NaiveRow]:
        return [row for row in self.residents if row.seq.state == FILLING and row.seq.filled < row.seq.prompt]

    def _queue(self) -> list[NaiveRow]:
        return [row for row in self.rows if row.seq.state == WAITING]

    def _used(self) -> int:
        return sum(row.held for row in self.residents)

    def _blocks(self, tokens: int) -> int:
        """Tokens of the KV blocks that so many tokens take."""
        return math.ceil(tokens / self.engine.block_size) * self.engine.block_size

    def _taken(self) -> int:
        return sum(self._blocks(row.held) for row in self.residents)

    def _ledger(self) -> KvLedger:
        ledger = new_ledger(self.engine.kv_capacity, self.engine.decode_block, self.engine.block_size)
        promised = sum(self._blocks(max(row.held, row.seq.prompt)) for row in self.residents)
        ledger.used = self._used()
        ledger.spare = self._taken() - ledger.used
        ledger.unfilled = sum(row.seq.prompt - row.seq.filled for row in self.residents)
        ledger.unfilled_spare = promised - self._taken() - ledger.unfilled
        ledger.residents = len(self.residents)
        ledger.clock = self.clock
        return ledger
