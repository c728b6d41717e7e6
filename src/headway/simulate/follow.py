"""Follow one request through a run: what it holds at every batch boundary, beside what the whole cache holds."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Items
from fractions import Fraction

import polars as pl

from headway.core.batch import Batch
from headway.core.engine import EngineProfile
from headway.core.request import Request
from headway.core.rules import Eviction, MemoryRule, Order, Shedding
from headway.core.scheduler import Scheduler
from headway.core.sequence import DECODING, FILLING, WAITING, Sequence
from headway.measure.record import FOLLOWED_SCHEMA, Followed

_PHASES = {WAITING: "waiting", FILLING: "prefill", DECODING: "decode"}


class FollowingScheduler(Scheduler):
    """Decides as any scheduler does, and notes one request's memory.

    Between two notes what is held lies on a line: several quiet iterations may have been taken at once.

    Args:
        followed: id of the request.
        engine: sizes and modes.
        order: who is next.
        memory: may it join.
        shedding: who cannot make it any more.
        eviction: who gives way.
    """

    __slots__ = ("_arrival", "_seq", "followed", "notes")

    def __init__(
        self,
        followed: int,
        engine: EngineProfile,
        order: Order,
        memory: MemoryRule,
        shedding: Shedding,
        eviction: Eviction,
        prefill_share: Fraction | None = None,
    ) -> None:
        super().__init__(engine, order, memory, shedding, eviction, prefill_share)
        self.followed = followed
        self.notes: list[tuple[float, str, int, int]] = []  # seconds, phase, tokens that it holds, that all hold
        self._arrival: float = 0.0
        self._seq: Sequence | None = None  # while it is neither unknown nor ended

    def submit(self, request: Request, now: float) -> Sequence:
        """Take in a request; the one that is followed is known from here on."""
        seq = super().submit(request, now)
        if request.id == self.followed and seq.state == WAITING:
            self._seq = seq
            self._arrival = seq.arrival
        return seq

    def plan(self, now: float, ending: Items[tuple[Sequence, int]] = ()) -> Batch:
        """Note what is held at this boundary, and plan; an eviction is noted at once."""
        seq = self._seq
        if seq is not None:
            self._note(seq, now)
        batch = super().plan(now, ending)
        if seq is not None and (seq in batch.evicted or seq in batch.ended):
            self._note(seq, now)
        return batch

    def complete(self, batch: Batch, now: float, finished: Iterable[Sequence] = ()) -> None:
        """Book the iteration, and note what is held after it: what follows until the next plan is quiet."""
        super().complete(batch, now, finished)
        if self._seq is not None:
            self._note(self._seq, now)

    def life(self) -> Followed:
        """Return what was noted."""
        return Followed(self.followed, self._arrival, pl.DataFrame(self.notes, schema=FOLLOWED_SCHEMA, orient="row"))

    def _note(self, seq: Sequence, now: float) -> None:
        phase = _PHASES.get(seq.state, "ended")
        held = seq.held_at(self.ledger.clock, self.engine.decode_block)
        self.notes.append((now, phase, held, self.ledger.used))
        if phase == "ended":
            self._seq = None
