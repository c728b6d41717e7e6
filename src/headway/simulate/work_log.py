"""Which work was done for which request: kept where tenants or promises are to be judged, since it takes memory."""

from __future__ import annotations

from array import array

import numpy as np
import polars as pl

from headway.core.sequence import Sequence
from headway.measure.record import PROMISES
from headway.measure.work import CHUNK_SCHEMA, FILL_SCHEMA, RETURN_SCHEMA, STAY_SCHEMA, Work


def is_wanted(frame: pl.DataFrame) -> bool:
    """Return whether the requests of a trace name several tenants, or promise something."""
    if "tenant" in frame.columns and frame["tenant"].n_unique() > 1:
        return True
    return any(frame[name].null_count() < frame.height for name in PROMISES if name in frame.columns)


class WorkLog:
    """Takes notes of prompts and decodes, compactly: an entry a chunk, a quiet stretch, a stay; see `Work`."""

    def __init__(self, block: int) -> None:
        self.block = block
        self._chunks = array("q")  # row, positions
        self._chunk_ends = array("d")
        self._fills = array("q")  # row, after, until, positions
        self._stays = array("q")  # row, joined, left, before, tokens
        self._returns = array("q")  # row, before
        self._return_times = array("d")

    def filled(self, chunks: list[tuple[Sequence, int]], end: float) -> None:
        """Chunks were filled in the iteration that ended at `end`, in seconds."""
        for seq, positions in chunks:
            new = min(positions, seq.filled - seq.computed)
            if new > 0:
                self._chunks.extend((seq.id, new))
                self._chunk_ends.append(end)

    def filled_quietly(self, seq: Sequence, positions: int, clock: int, steps: int) -> None:
        """A prompt took so many positions in each of the `steps` decode iterations after `clock`."""
        whole, part = divmod(min(positions * steps, max(seq.filled - seq.computed, 0)), positions)
        until = clock + steps
        if part:
            self._fills.extend((seq.id, until - whole - 1, until - whole, part))
        if whole:
            self._fills.extend((seq.id, until - whole, until, positions))

    def stopped(self, seq: Sequence, clock: int) -> None:
        """A sequence decodes no more after `clock` decode iterations; `generated` is up to date."""
        tokens = (clock - seq.joined) * self.block - seq.ending
        self._stays.extend((seq.id, seq.joined, clock, seq.generated - tokens, tokens))

    def returned(self, seq: Sequence, time: float) -> None:
        """The first tokens after an eviction were delivered."""
        self._returns.extend((seq.id, seq.generated))
        self._return_times.append(time)

    def work(self) -> Work:
        """Return what was noted."""
        chunks, returns = _table(self._chunks, CHUNK_SCHEMA, "time"), _table(self._returns, RETURN_SCHEMA, "time")
        return Work(
            chunks=chunks.insert_column(1, pl.Series("time", np.frombuffer(self._chunk_ends), pl.Float64)),
            fills=_table(self._fills, FILL_SCHEMA),
            stays=_table(self._stays, STAY_SCHEMA),
            returns=returns.insert_column(1, pl.Series("time", np.frombuffer(self._return_times), pl.Float64)),
            block=self.block,
        )


def _table(noted: array[int], schema: dict[str, type[pl.DataType]], apart: str | None = None) -> pl.DataFrame:
    """Return whole numbers, entry after entry, as a table; the column `apart` is noted elsewhere."""
    names = [name for name in schema if name != apart]
    columns = np.frombuffer(noted, dtype=np.int64).reshape(-1, len(names))
    return pl.DataFrame({name: columns[:, index] for index, name in enumerate(names)})
