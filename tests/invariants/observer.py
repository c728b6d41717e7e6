"""An observer that stands between a host and its scheduler, with books of its own.

It sees what any host sees: requests, plans, ends. From these alone it keeps who waits, runs and holds how much, and
checks every plan against the invariants of the design.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from collections.abc import Sequence as Items
from dataclasses import dataclass
from fractions import Fraction

from headway.core.batch import Batch
from headway.core.engine import EngineProfile
from headway.core.pools import PooledEngine
from headway.core.request import Request
from headway.core.rules import Eviction, MemoryRule, Order
from headway.core.scheduler import Scheduler
from headway.core.sequence import OUTCOMES, REJECTED, Sequence
from headway.policies.shedding.keep import Keep
from headway.testing.naive_cache import NaiveCache
from tests.policies.models import Model


@dataclass
class Held:
    """What the observer knows of a running request, in tokens."""

    prompt: int
    filled: int = 0
    decoded: int = 0
    joined: bool = False  # has a decode slot

    @property
    def tokens(self) -> int:
        return self.filled + self.decoded


class Both(Order):
    """Answers as one order does, and keeps a model of it up to date."""

    def __init__(self, order: Order, model: Model) -> None:
        super().__init__()
        self.order = order
        self.model = model

    def attach(self, engine: EngineProfile) -> None:
        self.model.attach(engine)
        self.order.attach(engine)

    def push(self, seq: Sequence, now: float) -> bool:
        self.model.push(seq, now)
        return self.order.push(seq, now)

    def back(self, seq: Sequence, now: float) -> None:
        self.model.back(seq, now)
        self.order.back(seq, now)

    def next(self, now: float, space: int, refused: Sequence | None) -> Sequence | None:
        return self.order.next(now, space, refused)

    def admitted(self, seq: Sequence, now: float) -> None:
        self.model.admitted(seq, now)
        self.order.admitted(seq, now)

    def prefilled(self, seq: Sequence, now: float) -> None:
        self.model.prefilled(seq, now)
        self.order.prefilled(seq, now)

    def next_ready(self, ready: dict[Sequence, None]) -> Sequence:
        return self.order.next_ready(ready)

    def finished(self, seq: Sequence, now: float) -> None:
        self.order.finished(seq, now)

    def remove(self, seq: Sequence) -> None:
        self.model.remove(seq)
        self.order.remove(seq)

    def gone(self, seq: Sequence) -> None:
        self.model.gone(seq)
        self.order.gone(seq)

    def ran(self, batch: Batch, now: float, seconds: float) -> None:
        self.model.ran(batch, now, seconds)
        self.order.ran(batch, now, seconds)

    def steady_until(self, now: float) -> float:
        return self.order.steady_until(now)


class Books:
    """Who waits, who runs, who ended; kept from what a host sees, and compared with every plan.

    Args:
        engine: sizes and modes.
        model: says whom the policy names next.
        safe: tokens up to which the memory rule admits.
    """

    def __init__(self, engine: EngineProfile, model: Model, safe: int) -> None:
        self.engine = engine
        self.model = model
        self.safe = safe
        self.line: set[Sequence] = set()
        self.held: dict[Sequence, Held] = {}
        self.ends: Counter[Sequence] = Counter()
        self.seen: list[Sequence] = []
        self.clock = 0
        self.round_at = -1  # clock of the last admission round
        self.oom_events = 0
        self.cache = NaiveCache(engine.prefix_cache or 0)
        self.prompt_part = engine.token_budget  # positions that prompts may take in an iteration
        self.decode_slots = engine.slots
        if isinstance(engine, PooledEngine):
            self.prompt_part = max(math.floor(engine.prompt_share * engine.token_budget), 1)
            self.decode_slots = (engine.token_budget - self.prompt_part) // engine.decode_block

    def submitted(self, seq: Sequence) -> None:
        self.seen.append(seq)
        # Invariant 2: a prompt above the capacity is rejected, and only that.
        assert (seq.state == REJECTED) == (seq.request.prompt_tokens > self.engine.kv_capacity)
        if seq.state == REJECTED:
            assert seq.reason == "kv_capacity"
            self.ends[seq] += 1
        else:
            self.line.add(seq)

    def cancelled(self, seq: Sequence) -> None:
        if seq in self.line or seq in self.held:
            self.ends[seq] += 1
        self.line.discard(seq)
        self.held.pop(seq, None)

    def planned(self, batch: Batch, now: float, ending: dict[Sequence, int]) -> None:
        decoding_before = bool(batch.resumed) or any(held.joined for held in self.held.values())
        self.taken_back(batch)
        self.resumed(batch)
        self.decoded(batch, ending)
        self.filled(batch)
        self.check_memory(batch)
        self.check_work(batch, now, decoding_before)

    def completed(self, batch: Batch, finished: list[Sequence]) -> None:
        self.clock += batch.decodes > 0
        for seq in batch.joined:
            self.held[seq].joined = True
        for seq in (*batch.joined, *batch.held):
            self.cache.store(seq)
        for seq in finished:
            assert self.held.pop(seq).joined or seq in batch.held
            self.ends[seq] += 1

    def taken_back(self, batch: Batch) -> None:
        assert self.engine.eviction or not batch.evicted + batch.ended
        for seq in batch.evicted:
            del self.held[seq]
            assert seq.prompt == seq.request.prompt_tokens + seq.generated
            self.line.add(seq)
        for seq in batch.ended:
            # Invariant 2: who outgrew the memory was alone, or could never come back.
            assert seq.reason == "kv_capacity"
            del self.held[seq]
            assert not self.held or seq.prompt > self.engine.kv_capacity
            self.ends[seq] += 1

    def resumed(self, batch: Batch) -> None:
        """Invariant 3: whoever waits for a decode slot gets one as soon as one is free."""
        for seq in batch.resumed:
            held = self.held[seq]
            assert held.filled == held.prompt
            assert not held.joined
            held.joined = True
        decoding = sum(held.joined for held in self.held.values())
        assert decoding <= self.decode_slots
        waits = any(held.filled == held.prompt and not held.joined for held in self.held.values())
        # What an iteration evicts leaves slots free until the next one, unless nobody would decode.
        assert not waits or decoding == self.decode_slots or (batch.evicted and decoding)

    def decoded(self, batch: Batch, ending: dict[Sequence, int]) -> None:
        """Invariant 3: everybody with a decode slot advances in every decode iteration."""
        decoding = [seq for seq, held in self.held.items() if held.joined]
        paused = self.engine.mode == "prefill-first" and batch.chunks
        assert batch.decodes == (0 if paused else len(decoding))
        if batch.decodes:
            grown = {seq: self.engine.decode_block - ending.get(seq, 0) for seq in decoding}
            assert batch.decode_positions == sum(grown.values())
            for seq, tokens in grown.items():
                self.held[seq].decoded += tokens

    def filled(self, batch: Batch) -> None:
        engine = self.engine
        assert len({seq for seq, _ in batch.chunks}) == len(batch.chunks)
        ready = {seq for seq, held in self.held.items() if held.filled == held.prompt and not held.joined}
        chunks = dict(batch.chunks)
        for seq, positions in batch.chunks:
            if seq not in batch.admitted:
                self.fill(seq, positions)
        for seq in batch.admitted:
            # Invariant 2: a prompt above the safe level is admitted alone.
            assert self.blocks(seq.prompt) <= self.safe or not self.held
            self.line.remove(seq)
            self.held[seq] = Held(seq.prompt)
            self.load(seq)
            if seq in chunks:
                self.fill(seq, chunks[seq])
            assert seq.filled == self.held[seq].filled
        complete = {seq for seq, held in self.held.items() if not held.joined and held.filled == held.prompt}
        assert {*batch.joined, *batch.held} == complete - ready
        if batch.held:
            assert not batch.joined
            assert ready or batch.decodes + len(batch.held) > self.decode_slots
        else:
            assert not (ready and batch.joined)
            assert batch.decodes + len(batch.joined) <= self.decode_slots or self.engine.mode == "prefill-first"
        # Invariant 3: the budget holds, and so do the other limits of the engine.
        assert batch.prefill_positions == sum(positions for _, positions in batch.chunks)
        assert batch.positions == batch.prefill_positions + batch.decode_positions <= engine.token_budget
        assert batch.prefill_positions <= self.prompt_part
        assert len(self.held) <= engine.slots
        assert self.partial() <= (engine.partial_prompts or engine.max_sequences)

    def load(self, seq: Sequence) -> None:
        """What a prefix cache has of a prompt is held at once, and was no position of the iteration."""
        room = self.engine.kv_capacity - self.taken() if self.engine.eviction else math.inf
        hit = self.cache.cached(seq, room)
        self.cache.touch(hit)
        self.held[seq].filled = sum(tokens for _, tokens in hit)
        assert self.held[seq].filled < seq.prompt

    def fill(self, seq: Sequence, positions: int) -> None:
        held = self.held[seq]
        assert not held.joined
        assert 1 <= positions <= (self.engine.chunk_cap or self.engine.token_budget)
        held.filled += positions
        assert held.filled <= held.prompt

    def check_memory(self, batch: Batch) -> None:
        """Invariant 2: the blocks taken never exceed the capacity, or the excess is counted."""
        live = self.live()
        if batch.positions:
            assert batch.context == live
        if self.engine.eviction:
            assert self.taken() <= self.engine.kv_capacity
        elif batch.positions:
            self.oom_events += self.taken() > self.engine.kv_capacity

    def check_work(self, batch: Batch, now: float, decoding_before: bool) -> None:
        """Invariant 8: nobody waits whom the policy names next and memory would admit."""
        engine = self.engine
        assert batch.positions or not self.line, "idle while somebody waits"
        due = engine.admission_interval == 1 or not decoding_before
        due = due or (self.clock % engine.admission_interval == 0 and self.clock != self.round_at)
        space = engine.token_budget - sum(positions for seq, positions in batch.chunks if seq not in batch.admitted)
        if engine.mode == "mixed":
            space = min(space - batch.decode_positions, self.space_of_prompts(batch))  # decodes went first
        due = due and space > 0 and not batch.evicted
        if batch.admitted or (due and self.line):
            self.round_at = self.clock
        space -= sum(positions for seq, positions in batch.chunks if seq in batch.admitted)
        if not due or space <= 0 or len(self.held) >= engine.slots:
            return
        if self.partial() >= (engine.partial_prompts or engine.max_sequences):
            return
        promised = sum(self.blocks(max(held.prompt, held.tokens)) for held in self.held.values())
        for seq in self.model.answers(now):
            assert seq in self.line
            assert self.held, "an empty engine takes anybody"
            assert promised + self.blocks(seq.prompt) > self.safe, f"{seq} would fit"

    def space_of_prompts(self, batch: Batch) -> int:
        """Positions of the prompts' part that those who had begun before have left."""
        return self.prompt_part - sum(positions for seq, positions in batch.chunks if seq not in batch.admitted)

    def check_end(self) -> None:
        """Invariant 1: everybody ended, once, and one way."""
        assert not self.line
        assert not self.held
        assert set(self.ends) == set(self.seen)
        assert set(self.ends.values()) <= {1}
        assert all(seq.state in OUTCOMES for seq in self.seen)

    def live(self) -> int:
        return sum(held.tokens for held in self.held.values())

    def blocks(self, tokens: int) -> int:
        """Tokens of the KV blocks that so many tokens take."""
        return math.ceil(tokens / self.engine.block_size) * self.engine.block_size

    def taken(self) -> int:
        return sum(self.blocks(held.tokens) for held in self.held.values())

    def partial(self) -> int:
        return sum(held.filled < held.prompt for held in self.held.values())


class Observer(Scheduler):
    """A scheduler whose every plan is checked.

    Args:
        engine: sizes and modes.
        order: the order, and
        model: its model.
        memory: the memory rule, and
        safety: its safe level, as a share of the capacity.
    """

    def __init__(self, engine: EngineProfile, order: Order, model: Model, memory: MemoryRule, safety: str) -> None:
        both = Both(order, model)
        both.attach(engine)
        super().__init__(engine, both, memory, Keep(), Eviction())
        self.books = Books(engine, model, math.floor(Fraction(safety) * engine.kv_capacity))

    def submit(self, request: Request, now: float) -> Sequence:
        seq = super().submit(request, now)
        self.books.submitted(seq)
        return seq

    def cancel(self, seq: Sequence, now: float) -> None:
        self.books.cancelled(seq)
        super().cancel(seq, now)

    def plan(self, now: float, ending: Items[tuple[Sequence, int]] = ()) -> Batch:
        batch = super().plan(now, ending)
        self.books.planned(batch, now, dict(ending))
        assert self.ledger.used == self.books.live()
        assert self.ledger.used + self.ledger.spare == self.books.taken()
        assert self.waiting == len(self.books.line)
        assert set(self.residents) == set(self.books.held)
        return batch

    def complete(self, batch: Batch, now: float, finished: Iterable[Sequence] = ()) -> None:
        finished = list(finished)
        self.books.completed(batch, finished)
        super().complete(batch, now, finished)

    def check_end(self) -> None:
        """Invariant 1, and nothing is left behind."""
        self.books.check_end()
        assert self.oom_events == self.books.oom_events
        assert self.ledger.clock == self.books.clock
        assert (self.waiting, self.decodes, len(self.residents)) == (0, 0, 0)
        ledger = self.ledger
        assert (ledger.used, ledger.spare, ledger.unfilled, ledger.unfilled_spare, ledger.residents) == (0, 0, 0, 0, 0)
