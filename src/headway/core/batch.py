"""What one iteration changes."""

from __future__ import annotations

from collections.abc import Sequence as Items

from headway.core.sequence import Sequence


class Batch:
    """The plan for one iteration: changes and counts only. A live host keeps its own rows.

    Every decoding sequence advances by one decode block when `decodes` > 0, without being listed. The lists belong
    to this batch; the counts are positions and tokens.

    Attributes:
        chunks: (sequence, positions) of prompt to prefill in this iteration, in order of admission; they end at
            `sequence.filled`. What lies before the first one came from the prefix cache.
        admitted: sequences that start or resume with this iteration.
        joined: sequences whose prompt is complete with this iteration; they decode from the next decode iteration on.
        held: sequences whose prompt is complete with this iteration, but which must wait for a decode slot.
        resumed: sequences that waited for a slot, and decode from this very iteration on.
        evicted: sequences that lose their KV before this iteration runs.
        ended: sequences that the plan itself ended (shed, or outgrown the memory), each with its `reason`.
        decodes: sequences that decode.
        decode_positions: positions that they take.
        prefill_positions: positions of all chunks.
        context: live KV tokens once the iteration has run.
    """

    __slots__ = (
        "admitted",
        "chunks",
        "context",
        "decode_positions",
        "decodes",
        "ended",
        "evicted",
        "joined",
        "prefill_positions",
    )

    held: Items[Sequence] = ()
    resumed: Items[Sequence] = ()

    def __init__(self) -> None:
        self.chunks: list[tuple[Sequence, int]] = []
        self.admitted: list[Sequence] = []
        self.joined: list[Sequence] = []
        self.evicted: list[Sequence] = []
        self.ended: list[Sequence] = []
        self.decodes: int = 0
        self.decode_positions: int = 0
        self.prefill_positions: int = 0
        self.context: int = 0

    @property
    def positions(self) -> int:
        """Positions that the iteration processes; 0 means that there is nothing to run."""
        return self.decode_positions + self.prefill_positions


class PooledBatch(Batch):
    """A batch of an engine with pools; only there may anybody be held or resumed, so that others do not pay for it."""

    __slots__ = ("held", "resumed")

    def __init__(self) -> None:
        super().__init__()
        self.held: Items[Sequence] = ()
        self.resumed: Items[Sequence] = ()
