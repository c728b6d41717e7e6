"""A shedding rule as a user writes it."""

from __future__ import annotations

from headway.core.rules import Shedding
from headway.core.sequence import WAITING, Sequence


class TooLate(Shedding):
    """Gives up on whoever has waited for `patience` seconds without being started."""

    idle = False

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.queue: list[Sequence] = []

    def push(self, seq: Sequence, now: float) -> bool:
        self.queue.append(seq)
        return False

    def due(self, now: float) -> list[Sequence]:
        self.queue = [seq for seq in self.queue if seq.state == WAITING and seq.evictions == 0]
        late = [seq for seq in self.queue if seq.arrival + self.patience <= now]
        for seq in late:
            seq.reason = "too_late"
        return late

    def steady_until(self) -> float:
        waiting = [seq.arrival + self.patience for seq in self.queue if seq.state == WAITING and seq.evictions == 0]
        return min(waiting, default=float("inf"))
