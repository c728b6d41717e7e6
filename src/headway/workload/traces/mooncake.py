"""Timed traces: JSON lines `{"timestamp": t, "input_length": n, "output_length": n, "hash_ids": […]}`.

Mooncake's own, those of Alibaba (Bailian), and what the benchmarks of vLLM (timed trace), GuideLLM and AIPerf replay.
The fields are the same, the unit of time is not, and no field names it. Rule: when every timestamp is a whole number,
they are milliseconds; one with a fraction makes all of them seconds. A note says how they were read, except where
they are Mooncake's beyond doubt: whole numbers, with `hash_ids`.

`hash_ids` are the hashes of the prompt's blocks, each of all that lies before it too. Mooncake's blocks have 512
tokens, Alibaba's 16, and no field says which: the blocks have the size that agrees with every request's number of
hashes, 512 where both do. Where neither does, a note says that the hashes are left out. Alibaba's other fields are not
used.
Source: Mooncake (Qin et al., FAST 2025).
"""

from __future__ import annotations

import polars as pl

from headway.workload.columns import LATEST, Column
from headway.workload.trace import Trace
from headway.workload.traces.format import Format

_BLOCKS = (512, 16)  # tokens: Mooncake's, Alibaba's


def _convert(name: str, frame: pl.DataFrame) -> Trace:
    stamps = Column(name, "timestamp", frame["timestamp"])
    times = stamps.time("milliseconds", 1000 * LATEST)
    fractions = bool((times != times.floor()).any())
    if fractions:
        arrivals, notes = stamps.time(), ("timestamps are read as seconds: some have a fraction",)
    else:
        arrivals = pl.Series(times.to_numpy() / 1000.0)  # polars would multiply by the rounded 0.001
        notes = (
            ("timestamps are read as milliseconds: all are whole numbers",) if "hash_ids" not in frame.columns else ()
        )
    requests = frame.select(
        arrivals.alias("arrival"),
        pl.col("input_length").alias("prompt_tokens"),
        pl.col("output_length").alias("output_tokens"),
    )
    if "hash_ids" in frame.columns:
        hashes = Column(name, "hash_ids", frame["hash_ids"]).hashes()
        lengths = Column(name, "input_length", frame["input_length"]).tokens(least=1)
        size = _block_tokens(lengths, hashes)
        if size is not None:
            requests = requests.with_columns(hashes.alias("blocks"), pl.lit(size).alias("block_tokens"))
        elif hashes.null_count() < len(hashes):
            notes = (*notes, "hash_ids are left out: they are too many or too few for blocks of 512 or 16 tokens")
    called = {"arrival": "timestamp", "prompt_tokens": "input_length", "output_tokens": "output_length"}
    return Trace.from_frame(name, requests, notes, called)


def _block_tokens(lengths: pl.Series, hashes: pl.Series) -> int | None:
    """Return the size of block of which every prompt has as many as hashes, its last and shorter one counted or not."""
    counts = hashes.list.len().cast(pl.Int64)
    for size in _BLOCKS:
        agrees = (counts == -(-lengths // size)) | (counts == lengths // size)
        if counts.null_count() < len(counts) and agrees.all():
            return size
    return None


MOONCAKE = Format(
    "mooncake",
    required=("timestamp", "input_length", "output_length"),
    optional=("hash_ids", "chat_id", "parent_chat_id", "type", "turn"),
    convert=_convert,
)
