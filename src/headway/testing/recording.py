"""A scheduler that remembers its plans."""

from __future__ import annotations

from collections.abc import Sequence as Items
from fractions import Fraction

from headway.core.batch import Batch
from headway.core.engine import EngineProfile
from headway.core.rules import Eviction, MemoryRule, Order, Shedding
from headway.core.scheduler import Scheduler
from headway.core.sequence import Sequence

Plan = tuple[tuple[object, ...], ...]


class RecordingScheduler(Scheduler):
    """Keeps every plan as plain data in `plans`, quiet iterations that were taken at once included.

    Two hosts that were given the same events must have made equal plans.
    """

    def __init__(
        self,
        engine: EngineProfile,
        order: Order,
        memory: MemoryRule,
        shedding: Shedding,
        eviction: Eviction,
        prefill_share: Fraction | None = None,
    ) -> None:
        super().__init__(engine, order, memory, shedding, eviction, prefill_share)
        self.plans: list[Plan] = []

    def plan(self, now: float, ending: Items[tuple[Sequence, int]] = ()) -> Batch:
        """Plan, and remember it."""
        batch = super().plan(now, ending)
        if batch.positions or batch.evicted or batch.ended:
            self._remember(
                ("chunks", *((seq.id, positions) for seq, positions in batch.chunks)),
                ("admitted", *(seq.id for seq in batch.admitted)),
                ("joined", *(seq.id for seq in batch.joined)),
                ("held", *(seq.id for seq in batch.held)),
                ("resumed", *(seq.id for seq in batch.resumed)),
                ("evicted", *(seq.id for seq in batch.evicted)),
                ("ended", *(seq.id for seq in batch.ended)),
                ("decode", batch.decodes, batch.decode_positions, batch.context),
            )
        return batch

    def advance(self, steps: int) -> None:
        """Take quiet iterations, and remember each as the plan that it would have been."""
        used, decoded, chunk = self.ledger.used, self.decodes * self.engine.decode_block, self.quiet_chunk
        chunks = ("chunks", (self.partials[0].id, chunk)) if chunk else ("chunks",)
        super().advance(steps)
        for step in range(1, steps + 1):
            nobody = [(name,) for name in ("admitted", "joined", "held", "resumed", "evicted", "ended")]
            self._remember(chunks, *nobody, ("decode", self.decodes, decoded, used + step * (decoded + chunk)))

    def _remember(self, *parts: tuple[object, ...]) -> None:
        self.plans.append(parts)
