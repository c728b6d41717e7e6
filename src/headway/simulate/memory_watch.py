"""What becomes of the KV memory in a run, start-up and steady part apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway.core.scheduler import Scheduler
from headway.core.sequence import Sequence
from headway.measure.memory import MemoryUse
from headway.policies.memory.peak import peaks


@dataclass(frozen=True)
class Mark:
    """Running totals at one moment."""

    iterations: int = 0
    kv_token_iterations: int = 0
    decode_steps: int = 0
    evictions: int = 0
    evicted_requests: int = 0
    recomputed: int = 0
    required: int = 0
    rounds: int = 0


class MemoryWatch:
    """Takes marks of a scheduler's totals, and sums up what happened between two of them.

    Args:
        scheduler: whose memory is watched.
        outputs: true output lengths in tokens, by request id.
        watch_future: compute the peak of the true lengths after every admission round.
    """

    def __init__(self, scheduler: Scheduler, outputs: list[int], *, watch_future: bool) -> None:
        self.scheduler = scheduler
        self.outputs = outputs
        self.watch_future = watch_future
        self._required: int = 0
        self._rounds: int = 0
        self._evicted_requests: int = 0
        self._steady: Mark | None = None
        self._peak_before: int = 0  # most live tokens before the steady part
        self._drained: tuple[Mark, int] | None = None

    def evicted(self, victims: list[Sequence]) -> None:
        """Count who is evicted for the first time."""
        self._evicted_requests += sum(seq.evictions == 1 for seq in victims)

    def round_ended(self) -> None:
        """Add the peak that the residents will require, given how long their answers really are."""
        scheduler = self.scheduler
        clock, block = scheduler.ledger.clock, scheduler.engine.decode_block
        residents = scheduler.residents
        held = np.array([seq.held_at(clock, block) + seq.prompt - seq.filled for seq in residents], dtype=np.int64)
        rest = [self.outputs[seq.id] - seq.generated_at(clock, block) for seq in residents]
        remaining = -(-np.array([rest], dtype=np.int64) // block)
        self._required += int(peaks(held, np.maximum(remaining, 0), block)[0])
        self._rounds += 1

    def steady_begins(self) -> None:
        """From here on the steady part counts."""
        if self._drained is None:
            self._steady = self._mark()
            self._peak_before = self.scheduler.kv_peak
            self.scheduler.kv_peak = self.scheduler.ledger.used

    def drained(self) -> None:
        """The last request has left the queue: what follows is the end of the run, and no rule's doing."""
        self._drained = (self._mark(), self.scheduler.kv_peak)

    def uses(self) -> tuple[MemoryUse, MemoryUse | None]:
        """Return the use over the whole run until the queue was empty, and of its steady part."""
        end, peak = self._drained or (self._mark(), self.scheduler.kv_peak)
        whole = self._between(Mark(), end, max(peak, self._peak_before))
        return whole, None if self._steady is None else self._between(self._steady, end, peak)

    @property
    def kv_peak(self) -> int:
        """The most live KV tokens of the whole run."""
        return max(self._peak_before, self.scheduler.kv_peak)

    def _mark(self) -> Mark:
        scheduler = self.scheduler
        return Mark(
            scheduler.iterations,
            scheduler.kv_token_iterations,
            scheduler.ledger.clock,
            scheduler.evictions,
            self._evicted_requests,
            scheduler.recomputed,
            self._required,
            self._rounds,
        )

    def _between(self, start: Mark, end: Mark, peak: int) -> MemoryUse:
        capacity = self.scheduler.engine.kv_tokens
        iterations, rounds = end.iterations - start.iterations, end.rounds - start.rounds
        used = end.kv_token_iterations - start.kv_token_iterations
        return MemoryUse(
            used_mean=used / iterations / capacity if iterations else None,
            used_max=peak / capacity,
            future_required_mean=(end.required - start.required) / rounds / capacity if rounds else None,
            decode_steps=end.decode_steps - start.decode_steps,
            eviction_events=end.evictions - start.evictions,
            evicted_requests=end.evicted_requests - start.evicted_requests,
            recomputed_tokens=end.recomputed - start.recomputed,
        )
