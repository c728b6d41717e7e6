"""Which work an engine did for which request, and when: the data that service and shares are told from."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

CHUNK_SCHEMA: dict[str, type[pl.DataType]] = {"row": pl.Int64, "time": pl.Float64, "positions": pl.Int64}
FILL_SCHEMA: dict[str, type[pl.DataType]] = {
    "row": pl.Int64,
    "after": pl.Int64,
    "until": pl.Int64,
    "positions": pl.Int64,
}
STAY_SCHEMA: dict[str, type[pl.DataType]] = {
    "row": pl.Int64,
    "joined": pl.Int64,
    "left": pl.Int64,
    "before": pl.Int64,
    "tokens": pl.Int64,
}
RETURN_SCHEMA: dict[str, type[pl.DataType]] = {"row": pl.Int64, "time": pl.Float64, "before": pl.Int64}


@dataclass(frozen=True)
class Work:
    """Prompt and decode positions of a run, each once: what an eviction made the engine compute again is left out.

    `row` is a row of the outcomes; clocks are those of `Segments`, times in seconds.

    Attributes:
        chunks: prompt positions that were filled in the iteration that ended at `time` (`CHUNK_SCHEMA`).
        fills: prompt positions filled in each of the decode iterations `after + 1 .. until` (`FILL_SCHEMA`).
        stays: who decoded in the iterations `joined + 1 .. left`, `block` tokens in each but perhaps fewer in the last;
            `before` were generated before, `tokens` in this stay (`STAY_SCHEMA`).
        returns: deliveries of evicted requests that came back, when they had generated `before` tokens: their first
            one after the eviction (`RETURN_SCHEMA`).
        block: tokens that a decoding request gains in an iteration.
    """

    chunks: pl.DataFrame
    fills: pl.DataFrame
    stays: pl.DataFrame
    returns: pl.DataFrame
    block: int
