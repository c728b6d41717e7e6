"""Timed traces: JSON lines `{"timestamp": t, "input_length": n, "output_length": n, "hash_ids": […]}`.

Mooncake's own, those of Alibaba (Bailian), and what the benchmarks of vLLM (timed trace), GuideLLM and AIPerf replay.
The fields are the same, the unit of time is not, and no field names it. Rule: when every timestamp is a whole number,
they are milliseconds; one with a fraction makes all of them seconds. A note says how they were read, except where
they are Mooncake's beyond doubt: whole numbers, with `hash_ids`.

`hash_ids` (names of prompt blocks, for prefix caches) are not used, nor are the other fields of Alibaba's.
Source: Mooncake (Qin et al., FAST 2025).
"""

from __future__ import annotations

import polars as pl

from headway.workload.columns import LATEST, Column
from headway.workload.trace import Trace
from headway.workload.traces.format import Format


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
    called = {"arrival": "timestamp", "prompt_tokens": "input_length", "output_tokens": "output_length"}
    return Trace.from_frame(name, requests, notes, called)


MOONCAKE = Format(
    "mooncake",
    required=("timestamp", "input_length", "output_length"),
    optional=("hash_ids", "chat_id", "parent_chat_id", "type", "turn"),
    convert=_convert,
)
